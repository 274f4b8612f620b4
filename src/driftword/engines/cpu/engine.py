"""The CPU engine: float32, Numba, all cores.

The blocks of a wave are computed by all threads at once, each with its own place for its
gradients. Then each thread takes the steps of its share of the words, in the order of the
blocks. Nothing depends on how many threads there are, or on which of them is faster: the
same fit gives the same bytes on one thread and on eight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from driftword.basics.process import available_cores
from driftword.engines.array_engine import ArrayEngine
from driftword.engines.cpu import block_kernels as kernels
from driftword.engines.cpu.matmul_kernels import LANES, TILE, padded
from driftword.engines.parameters import INTERCEPT_UNIT, Parameters, broadcast, by_slice
from driftword.engines.prior import Chain
from driftword.engines.rounds import Blocks, Sampler, Step, Text


class CpuEngine(ArrayEngine):
    """Runs rounds on all cores."""

    def __init__(self, parameters: Parameters, sampler: Sampler, *, threads: int | None = None) -> None:
        super().__init__(parameters)
        self.sampler = sampler
        self.threads = threads or available_cores()
        self.machine = f"{self.threads} threads"
        self._pool = ThreadPoolExecutor(self.threads)

    def broadcast(self, n_slices: int, initial_accumulator: float, *, contexts: bool = False) -> CpuEngine:
        """Return an engine in which every slice has the static embeddings, with Adagrad accumulators reset."""
        parameters = broadcast(self.parameters, n_slices, initial_accumulator, contexts=contexts)
        return CpuEngine(parameters, self.sampler, threads=self.threads)

    def likelihood_step(self, blocks: Blocks, step: Step) -> float:
        """Take the likelihood step of every block; return the text's summed log-likelihood."""
        log_likelihood = np.zeros(len(blocks.slice_of))
        if not len(log_likelihood):
            return 0.0
        p = self.parameters
        alpha, alpha_accumulator = by_slice(p.alpha), by_slice(p.alpha_accumulator)
        max_rows = int(np.add.reduceat(blocks.run_end - blocks.run_begin, blocks.run_offsets[:-1]).max())
        max_tokens = max_rows + int(np.diff(blocks.run_offsets).max()) * 2 * step.half_window
        wave = int(np.diff(blocks.wave_offsets).max())
        width = padded(p.rho.shape[2], LANES)
        rho_rows = padded(max_rows, max(LANES, TILE)) + padded(step.pool_size, TILE)
        buffers = [
            (np.empty((wave, rows), np.int32), np.empty((wave, rows, width), np.float32), np.empty(wave, np.int64))
            for rows in (rho_rows, max_tokens)
        ]
        counters = np.zeros(len(blocks.wave_offsets), np.int64)  # threads that have arrived, then blocks of each wave

        def run(thread: int) -> None:
            kernels.likelihood_step(
                blocks.ids, blocks.run_begin, blocks.run_end, blocks.chunk_begin, blocks.chunk_end, blocks.run_offsets,
                blocks.wave_offsets, blocks.slice_of, blocks.number, np.uint64(blocks.key), self.sampler.threshold,
                self.sampler.alias, p.rho, p.rho_accumulator, alpha, alpha_accumulator, *buffers[0], *buffers[1],
                log_likelihood, counters, thread, self.threads, max_rows, step.pool_size,
                np.float32(step.negatives / step.pool_size), step.half_window, np.float32(INTERCEPT_UNIT),
                np.float32(step.learning_rate), step.frozen,
            )  # fmt: skip

        self._map(run, range(self.threads))
        return float(log_likelihood.sum())

    def score(
        self, text: Text, *, sampler: Sampler, half_window: int, negatives: int, key: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return log sigmoid(eta) of each word, and the summed log sigmoid(-eta) of its negatives."""
        positive, negative = np.zeros(len(text.ids)), np.zeros(len(text.ids))
        borders = np.searchsorted(text.offsets, np.linspace(0, len(text.ids), 8 * self.threads + 1))
        borders = np.unique(np.r_[0, borders[1:-1], len(text.slice_of)])
        rho, alpha = self.parameters.rho.view(), by_slice(self.parameters.alpha).view()
        rho.flags.writeable = alpha.flags.writeable = False  # as in a stored model, or Numba would compile this twice

        def score_chunks(low: int, high: int) -> None:
            kernels.score(
                text.ids, text.offsets, text.slice_of, text.position, low, high, np.uint64(key),
                sampler.threshold, sampler.alias, rho, alpha, negatives, half_window, np.float32(INTERCEPT_UNIT),
                positive, negative,
            )  # fmt: skip

        list(self._pool.map(score_chunks, borders[:-1], borders[1:]))
        return positive, negative

    def prior_step(self, step: Step) -> None:
        """Take the proximal step of the prior, and centre contexts if there are intercepts."""
        p, prior = self.parameters, step.prior
        alpha, alpha_accumulator = by_slice(p.alpha), by_slice(p.alpha_accumulator)
        learning_rate, dim = np.float32(step.learning_rate), alpha.shape[2]
        mean = np.zeros((len(alpha), dim), dtype=np.float32)
        of_alpha, of_rho, of_intercepts = map(_as_arrays, (prior.alpha, prior.rho, prior.intercept))

        def step_contexts(words: tuple[int, int]) -> None:
            low, high = max(words[0], step.frozen), max(words[1], step.frozen)
            if prior.alpha_center is not None:
                alpha[:, low:high] -= prior.alpha_center[low:high]
            kernels.prior_step(
                alpha, alpha_accumulator, low, high, learning_rate, *of_alpha, *of_intercepts, dim, mean
            )  # fmt: skip
            if prior.alpha_center is not None:
                alpha[:, low:high] += prior.alpha_center[low:high]

        ranges = self._word_ranges(4 * self.threads)
        self._map(step_contexts, ranges)
        size = step.centering.size if step.centering is not None and p.has_intercepts else 0.0
        if step.centering is not None and size:
            for t in range(len(alpha)):
                for k in range(dim):  # BLAS might add in another order on another number of threads
                    mean[t, k] = (step.centering.frequencies * alpha[t, :, k]).sum()
        mean_context = (size / INTERCEPT_UNIT * mean).astype(np.float32)

        def step_words(words: tuple[int, int]) -> None:
            low, high = words
            if prior.center is not None:
                p.rho[:, low:high] -= prior.center[:, low:high]
            kernels.prior_step(
                p.rho, p.rho_accumulator, low, high, learning_rate, *of_rho, *of_intercepts, dim, mean_context
            )
            if prior.center is not None:
                p.rho[:, low:high] += prior.center[:, low:high]
            if size:
                alpha[:, low:high] -= mean[:, None]

        self._map(step_words, ranges)

    def _word_ranges(self, count: int) -> list[tuple[int, int]]:
        """Divide the vocabulary into ranges."""
        borders = np.linspace(0, self.parameters.alpha.shape[-2], count + 1).astype(np.int64).tolist()
        return list(pairwise(borders))

    def _map(self, task: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Run a task on every item, in threads if there are several."""
        return [task(item) for item in items] if self.threads == 1 else list(self._pool.map(task, items))


def _as_arrays(chain: Chain) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return precisions and the walk by words, as the kernels take them."""
    return chain.precision.astype(np.float32), np.ascontiguousarray(chain.walk_by_word, dtype=np.float32)
