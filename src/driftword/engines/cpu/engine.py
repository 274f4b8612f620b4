"""The CPU engine: float32, Numba, all cores.

The blocks of a wave are computed by all threads at once, each with its own place for its
gradients. Then each thread takes the steps of its share of the words, in the order of the
blocks. Nothing depends on how many threads there are, or on which of them is faster: the
same fit gives the same bytes on one thread and on eight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from driftword.basics.process import available_cores
from driftword.engines.array_engine import ArrayEngine
from driftword.engines.cpu import block_kernels as kernels
from driftword.engines.cpu.matmul_kernels import LANES, TILE, padded
from driftword.engines.parameters import INTERCEPT_UNIT, Floats, Parameters, Table, by_slice
from driftword.engines.prior import Chain
from driftword.engines.rounds import Blocks, Sampler, Step, Text


class CpuEngine(ArrayEngine):
    """Runs rounds on all cores."""

    def __init__(self, parameters: Parameters, sampler: Sampler, *, threads: int | None = None) -> None:
        super().__init__(parameters, sampler)
        self.threads = threads or available_cores()
        self.machine = f"{self.threads} threads"
        self._pool = ThreadPoolExecutor(self.threads)

    def likelihood_step(self, blocks: Blocks, step: Step) -> float:
        """Take the likelihood step of every block; return the text's summed log-likelihood."""
        totals = np.zeros(blocks.n_blocks)
        if not blocks.n_blocks:
            return 0.0
        rho, alpha = self.parameters.table("rho"), self.parameters.table("alpha").by_slice()
        max_rows = int(np.add.reduceat(blocks.run_end - blocks.run_begin, blocks.run_offsets[:-1]).max())
        max_tokens = max_rows + int(np.diff(blocks.run_offsets).max()) * 2 * step.half_window
        rows, pool, columns = padded(max_rows, max(LANES, TILE)), padded(step.pool_size, TILE), rho.values.shape[2]
        wave = int(np.diff(blocks.wave_offsets).max())
        gradients = [kernels.Gradients.allocate(wave, n, columns) for n in (rows + pool, max_tokens)]
        counters = np.zeros(len(blocks.wave_offsets), np.int64)
        weight, learning_rate = np.float32(step.negatives / step.pool_size), np.float32(step.learning_rate)
        options = kernels.Options(step.half_window, step.pool_size, weight, learning_rate, step.frozen)

        def run(thread: int) -> None:
            work = kernels.Workspace.allocate(rows, columns, pool, max_tokens)
            kernels.likelihood_step(
                blocks, self.sampler, rho, alpha, options, *gradients, work, totals, counters, thread, self.threads
            )

        self._map(run, range(self.threads))
        return float(totals.sum())

    def score(
        self, text: Text, *, sampler: Sampler, half_window: int, negatives: int, key: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return log sigmoid(eta) of each word, and the summed log sigmoid(-eta) of its negatives."""
        scores = np.zeros((2, len(text.ids)))
        borders = np.searchsorted(text.offsets, np.linspace(0, len(text.ids), 8 * self.threads + 1))
        borders = np.unique(np.r_[0, borders[1:-1], len(text.slice_of)])
        rho, alpha = self.parameters.rho.view(), by_slice(self.parameters.alpha).view()
        rho.flags.writeable = alpha.flags.writeable = False  # as in a stored model, or Numba would compile this twice

        def score_chunks(low: int, high: int) -> None:
            kernels.score(text, low, high, sampler, np.uint64(key), negatives, half_window, rho, alpha, scores)

        list(self._pool.map(score_chunks, borders[:-1], borders[1:]))
        return scores[0], scores[1]

    def prior_step(self, step: Step) -> None:
        """Take the proximal step of the prior, and centre contexts if there are intercepts."""
        prior, rho, alpha = step.prior, self.parameters.table("rho"), self.parameters.table("alpha").by_slice()
        n_slices, n_words, dim = alpha.values.shape
        learning_rate, intercepts = np.float32(step.learning_rate), _as_float32(prior.intercept)

        def move(table: Table, chain: Chain, center: Floats | None, mean_context: Floats, words: slice) -> None:
            if center is not None:
                table.values[:, words] -= center[:, words]
            kernels.prior_step(table, words.start, words.stop, learning_rate, chain, intercepts, mean_context)
            if center is not None:
                table.values[:, words] += center[:, words]

        mean, of_alpha = np.zeros((n_slices, dim), dtype=np.float32), _as_float32(prior.alpha)
        alpha_center = None if prior.alpha_center is None else prior.alpha_center[None]
        borders = np.linspace(0, n_words, 4 * self.threads + 1).astype(np.int64)
        moving = [slice(low, high) for low, high in pairwise(np.maximum(borders, step.frozen).tolist())]
        self._map(lambda words: move(alpha, of_alpha, alpha_center, mean, words), moving)

        size = step.centering.size if step.centering is not None and self.parameters.has_intercepts else 0.0
        if step.centering is not None and size:
            for t in range(n_slices):
                for k in range(dim):  # BLAS might add in another order on another number of threads
                    mean[t, k] = (step.centering.frequencies * alpha.values[t, :, k]).sum()
        mean_context, of_rho = (size / INTERCEPT_UNIT * mean).astype(np.float32), _as_float32(prior.rho)

        def move_words(words: slice) -> None:
            move(rho, of_rho, prior.center, mean_context, words)
            if size:
                alpha.values[:, words] -= mean[:, None]

        self._map(move_words, [slice(low, high) for low, high in pairwise(borders.tolist())])

    def _map(self, task: Callable[[Any], None], items: Iterable[Any]) -> None:
        """Run a task on every item, in threads if there are several."""
        list(map(task, items) if self.threads == 1 else self._pool.map(task, items))


def _as_float32(chain: Chain) -> Chain:
    """Return a chain as the kernels take it, with a walk by words."""
    return Chain(chain.precision.astype(np.float32), np.ascontiguousarray(chain.walk_by_word, dtype=np.float32))
