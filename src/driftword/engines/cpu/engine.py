"""The CPU engine: float32, Numba, all cores.

The blocks of a wave are computed by all threads at once. Each writes down how its text moves the context vectors, and
when all are done, threads take these steps, each for other words, in the order of the blocks. Embeddings of a slice
are moved at once by the thread that has all its blocks in a wave; where a model has too few slices to keep threads
busy in this way, they are moved as context vectors are. Threads take the next piece of work when they are done with
one. Nothing depends on how many threads there are, or on which of them is faster: the same fit gives the same bytes on
one thread and on eight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from driftword.basics.process import available_cores
from driftword.engines.array_engine import ArrayEngine
from driftword.engines.cpu import block_kernels as kernels
from driftword.engines.cpu.matmul_kernels import LANES, TILE, padded
from driftword.engines.cpu.prior_kernels import prior_step
from driftword.engines.cpu.row_kernels import aligned_zeros
from driftword.engines.parameters import INTERCEPT_UNIT, Floats, Parameters, Table, by_slice
from driftword.engines.prior import Chain
from driftword.engines.rounds import Blocks, Sampler, Step, Text, moves_at_once

PARTS: Final = 4  # for each thread, into which words are divided for their steps; results do not depend on it
PRIOR_TASKS: Final = 16  # for each thread, into which words are divided


class CpuEngine(ArrayEngine):
    """Runs rounds on all cores."""

    def __init__(self, parameters: Parameters, sampler: Sampler, *, threads: int | None = None) -> None:
        super().__init__(parameters, sampler)
        self.threads = threads or available_cores()
        self.machine = f"{self.threads} threads"
        self._pool = ThreadPoolExecutor(self.threads)
        self._padded: dict[str, Floats] = {}  # rho and alpha as kernels take them, once they are to be moved

    def broadcast(self, n_slices: int, initial_accumulator: float, *, contexts: bool = False) -> Self:
        """Give every slice the static embeddings, and reset the Adagrad accumulators."""
        self._padded = {}
        return super().broadcast(n_slices, initial_accumulator, contexts=contexts)

    def likelihood_step(self, blocks: Blocks, step: Step) -> float:
        """Take the likelihood step of every block; return the text's summed log-likelihood."""
        totals = np.zeros(blocks.n_blocks)
        if not blocks.n_blocks:
            return 0.0
        rho, alpha, dim = self.table("rho"), self.table("alpha").by_slice(), self.parameters.alpha.shape[-1]
        at_once, columns = moves_at_once(len(rho.values)), self.parameters.rho.shape[-1]
        n_slices, n_words, _ = alpha.values.shape
        units, wave_units = _units(blocks, by_slice=at_once)
        max_rows = int(np.add.reduceat(blocks.run_end - blocks.run_begin, blocks.run_offsets[:-1]).max())
        max_tokens = max_rows + int(np.diff(blocks.run_offsets).max()) * 2 * step.half_window
        rows, pool = padded(max_rows, max(LANES, TILE)), padded(step.pool_size, TILE)
        wave = int(np.diff(blocks.wave_offsets).max())
        parts = PARTS * self.threads if self.threads > 1 else 1
        of_rho = kernels.Gradients.allocate(0 if at_once else wave, rows + pool, columns, parts)
        of_alpha = kernels.Gradients.allocate(wave, max_tokens, columns, parts)
        most = max(len(of_rho.words), len(of_alpha.words))
        table_rows = n_words * (n_slices if at_once else len(rho.values))
        counters = np.zeros(2 * len(blocks.wave_offsets), np.int64)
        weight, learning_rate = np.float32(step.negatives / step.pool_size), np.float32(step.learning_rate)
        options = kernels.Options(
            step.half_window, step.pool_size, weight, learning_rate, step.frozen, n_words, n_slices, dim, columns,
            at_once,
        )  # fmt: skip
        tables = [Table(*(part.reshape(-1, part.shape[-1]) for part in table)) for table in (rho, alpha)]

        def run(_: int) -> None:
            work = kernels.Workspace.allocate(rows, columns, pool, max_tokens, most, table_rows)
            kernels.likelihood_step(
                blocks, units, wave_units, self.sampler, *tables, options, of_rho, of_alpha, work, totals, counters,
                self.threads,
            )  # fmt: skip

        self._map(run, range(self.threads))
        return float(totals.sum())

    def score(
        self, text: Text, *, sampler: Sampler, half_window: int, negatives: int, key: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return log sigmoid(eta) of each word, and the summed log sigmoid(-eta) of its negatives."""
        scores = np.zeros((2, len(text.ids)))
        borders = np.searchsorted(text.offsets, np.linspace(0, len(text.ids), 8 * self.threads + 1))
        borders = np.unique(np.r_[0, borders[1:-1], len(text.slice_of)])
        rho, alpha = (self._padded.get(name, getattr(self.parameters, name)) for name in ("rho", "alpha"))
        rho, alpha = rho.view(), by_slice(alpha).view()
        rho.flags.writeable = alpha.flags.writeable = False  # as in a stored model, or Numba would compile this twice
        dim, columns = self.parameters.alpha.shape[-1], self.parameters.rho.shape[-1]

        def score_chunks(low: int, high: int) -> None:
            kernels.score(
                text, low, high, sampler, np.uint64(key), negatives, half_window, rho, alpha, dim, columns, scores
            )

        list(self._pool.map(score_chunks, borders[:-1], borders[1:]))
        return scores[0], scores[1]

    def prior_step(self, step: Step) -> None:
        """Take the proximal step of the prior, and centre contexts if there are intercepts."""
        prior, rho, alpha = step.prior, self.table("rho"), self.table("alpha").by_slice()
        n_slices, n_words, width = alpha.values.shape
        dim = self.parameters.alpha.shape[-1]
        learning_rate, intercepts = np.float32(step.learning_rate), _as_float32(prior.intercept)

        def move(table: Table, chain: Chain, center: Floats | None, mean_context: Floats, words: slice) -> None:
            if center is not None:
                table.values[:, words, : center.shape[2]] -= center[:, words]
            prior_step(table, words.start, words.stop, learning_rate, chain, intercepts, dim, mean_context)
            if center is not None:
                table.values[:, words, : center.shape[2]] += center[:, words]

        mean, of_alpha = np.zeros((n_slices, width), dtype=np.float32), _as_float32(prior.alpha)
        alpha_center = None if prior.alpha_center is None else prior.alpha_center[None]
        borders = np.linspace(0, n_words, PRIOR_TASKS * self.threads + 1).astype(np.int64)
        moving = [slice(low, high) for low, high in pairwise(np.maximum(borders, step.frozen).tolist())]
        self._map(lambda words: move(alpha, of_alpha, alpha_center, mean, words), moving)

        size = step.centering.size if step.centering is not None and self.parameters.has_intercepts else 0.0
        if step.centering is not None and size:
            # BLAS might add in another order on another number of threads.
            mean = np.einsum("v,tvk->tk", step.centering.frequencies, alpha.values, dtype=np.float64, optimize=False)
            mean = mean.astype(np.float32)
        mean_context, of_rho = (size / INTERCEPT_UNIT * mean).astype(np.float32), _as_float32(prior.rho)

        def move_words(words: slice) -> None:
            move(rho, of_rho, prior.center, mean_context, words)
            if size:
                alpha.values[:, words] -= mean[:, None]

        self._map(move_words, [slice(low, high) for low, high in pairwise(borders.tolist())])

    def table(self, name: str) -> Table:
        """Return `rho` or `alpha`, with padded rows that hold the parameters from now on, and its accumulators."""
        values, accumulator = self.parameters.table(name)
        if name not in self._padded:
            columns = self.parameters.rho.shape[-1]  # so that rows of both are equally long
            self._padded[name] = aligned_zeros(*values.shape[:-1], columns)
            self._padded[name][..., : values.shape[-1]] = values
            setattr(self.parameters, name, self._padded[name][..., : values.shape[-1]])
        return Table(self._padded[name], accumulator)

    def _map(self, task: Callable[[Any], None], items: Iterable[Any]) -> None:
        """Run a task on every item, in threads if there are several."""
        list(map(task, items) if self.threads == 1 else self._pool.map(task, items))


def _units(blocks: Blocks, *, by_slice: bool) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return where units begin, which are blocks or all blocks of a slice in a wave, and which are first in a wave."""
    begins = np.ones(blocks.n_blocks, np.bool_)
    if by_slice:
        begins[1:] = np.diff(blocks.slice_of) != 0
        begins[blocks.wave_offsets[:-1]] = True
    units = np.flatnonzero(np.r_[begins, True])
    return units, np.searchsorted(units, blocks.wave_offsets)


def _as_float32(chain: Chain) -> Chain:
    """Return a chain as the kernels take it, with a walk by words."""
    return Chain(chain.precision.astype(np.float32), np.ascontiguousarray(chain.walk_by_word, dtype=np.float32))
