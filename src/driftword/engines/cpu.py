"""The CPU engine: float32, Numba, all cores.

Threads own slices: no two write the same row of `rho`. They share `alpha`, and
in the static model `rho` too, and write to them without locks, as word2vec does:
with more than one thread a fit is good but not the same to the last bit each
time. One thread is bit-for-bit reproducible.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from driftword.engines import cpu_kernels as kernels
from driftword.engines.rounds import Blocks, Ints, Parameters, Sampler, Step, Text


class CpuEngine:
    """Runs rounds on all cores."""

    name = "cpu"
    dtype = np.float32

    def __init__(self, parameters: Parameters, sampler: Sampler, *, threads: int | None = None) -> None:
        self.parameters = parameters
        self.sampler = sampler
        self.threads = threads or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self.threads)

    def round(self, blocks: Blocks, step: Step) -> float:
        """Climb the likelihood over some blocks, then apply the prior; return the summed log-likelihood of the text."""
        held = self.parameters
        if not len(blocks.slice_of):
            return 0.0
        size = int(np.add.reduceat(blocks.end - blocks.begin, blocks.first[:-1]).max())
        longest = size + int(np.diff(blocks.first).max()) * 2 * step.reach
        text = (blocks.ids, blocks.begin, blocks.end, blocks.low, blocks.high, blocks.first, blocks.slice_of)

        def climb(mine: Ints) -> float:
            return float(
                kernels.climb(
                    *text,
                    blocks.number,
                    mine,
                    np.uint64(blocks.key),
                    self.sampler.threshold,
                    self.sampler.other,
                    held.rho,
                    held.rho_squares,
                    held.alpha,
                    held.alpha_squares,
                    size,
                    longest,
                    step.pool,
                    np.float32(step.negatives / step.pool),
                    step.reach,
                    np.float32(step.learning_rate),
                )
            )

        total = float(sum(self._each(climb, self._share(blocks))))
        self._apply_prior(step)
        return total

    def score(self, text: Text, *, reach: int, negatives: int, key: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return log s(eta) of each word and the summed log s(-eta) of its negatives."""
        positive, negative = np.zeros(len(text.ids)), np.zeros(len(text.ids))
        parts = np.searchsorted(text.offsets, np.linspace(0, len(text.ids), 8 * self.threads + 1))
        parts = np.unique(np.r_[0, parts[1:-1], len(text.slice_of)])

        def part(low: int, high: int) -> None:
            kernels.score(
                text.ids,
                text.offsets,
                text.slice_of,
                text.position,
                low,
                high,
                np.uint64(key),
                self.sampler.threshold,
                self.sampler.other,
                self.parameters.rho,
                self.parameters.alpha,
                negatives,
                reach,
                positive,
                negative,
            )

        list(self._pool.map(part, parts[:-1], parts[1:]))
        return positive, negative

    def _share(self, blocks: Blocks) -> list[Ints]:
        """Give each thread whole slices of about equally many blocks; of a single slice, every n-th block."""
        count = np.bincount(blocks.slice_of)
        if len(count) < 2 or self.threads == 1:
            return [np.arange(n, len(blocks.slice_of), self.threads) for n in range(self.threads)]
        owner = np.zeros(len(count), dtype=np.int64)
        load = np.zeros(self.threads)
        for t in np.argsort(-count, kind="stable"):
            owner[t] = int(load.argmin())
            load[owner[t]] += count[t]
        # A thread goes through its slices side by side, so that alpha does not follow one of them for long.
        rank = np.arange(len(blocks.slice_of)) - np.searchsorted(blocks.slice_of, blocks.slice_of)
        order = np.argsort(rank / count[blocks.slice_of], kind="stable")
        return [order[owner[blocks.slice_of[order]] == n] for n in range(self.threads)]

    def _apply_prior(self, step: Step) -> None:
        held = self.parameters
        rate, drift, prior = np.float32(step.learning_rate), np.float32(step.drift), np.float32(step.prior)
        n_words = len(held.alpha)
        borders = np.linspace(0, n_words, 4 * self.threads + 1).astype(np.int64)
        spans = list(zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True))

        def part(span: tuple[int, int]) -> None:
            low, high = span
            kernels.shrink(held.alpha[low:high], held.alpha_squares[low:high], rate, prior)
            if step.chained:
                kernels.smooth(held.rho, held.rho_squares, low, high, rate, drift, prior)
            else:
                for t in range(len(held.rho)):
                    kernels.shrink(held.rho[t, low:high], held.rho_squares[t, low:high], rate, prior)

        self._each(part, spans)

    def _each(self, task: Callable[[Any], Any], shares: Sequence[Any]) -> list[Any]:
        return [task(share) for share in shares] if self.threads == 1 else list(self._pool.map(task, shares))
