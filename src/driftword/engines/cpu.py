"""The CPU engine: float32, Numba, all cores.

Threads own slices: no two write the same row of `rho`. What they share, `alpha`
and in the static model `rho`, each of them works on in a copy of its own; many
times in a round the copies' movements are added up. Nothing depends on which
thread is faster, so a fit with a given number of threads is the same to the last
bit each time; another number of threads gives another fit, as good as the first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.engines import cpu_kernels as kernels
from driftword.engines.rounds import Blocks, Ints, Parameters, Sampler, Step, Text

#: Positions that a thread works through before the copies are added up.
SYNC_POSITIONS: Final = 20_000


class CpuEngine:
    """Runs rounds on all cores."""

    name = "cpu"
    dtype = np.float32

    def __init__(self, parameters: Parameters, sampler: Sampler, *, threads: int | None = None) -> None:
        self.parameters = parameters
        self.sampler = sampler
        self.threads = threads or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self.threads)
        self._copies: list[Parameters] = []

    def round(self, blocks: Blocks, step: Step) -> float:
        """Climb the likelihood over some blocks, then apply the prior; return the summed log-likelihood of the text."""
        if not len(blocks.slice_of):
            return 0.0
        shares = self._share(blocks)
        size = int(np.add.reduceat(blocks.end - blocks.begin, blocks.first[:-1]).max())
        longest = size + int(np.diff(blocks.first).max()) * 2 * step.reach
        text = (blocks.ids, blocks.begin, blocks.end, blocks.low, blocks.high, blocks.first, blocks.slice_of)

        def climb(mine: Ints, held: Parameters) -> float:
            return float(
                kernels.climb(
                    *text, blocks.number, mine, np.uint64(blocks.key), self.sampler.threshold, self.sampler.other,
                    held.rho, held.rho_squares, held.alpha, held.alpha_squares, size, longest,
                    step.pool, np.float32(step.negatives / step.pool), step.reach, np.float32(step.learning_rate),
                )
            )  # fmt: skip

        if self.threads == 1:
            total = climb(shares[0], self.parameters)
        else:
            total = 0.0
            parts = max(1, blocks.positions // (SYNC_POSITIONS * self.threads))
            self._start_copies()
            for part in range(parts):
                mine = [share[part * len(share) // parts : (part + 1) * len(share) // parts] for share in shares]
                total += sum(self._pool.map(climb, mine, self._copies))
                self._add_up_copies()
        self._apply_prior(step)
        return total

    def score(self, text: Text, *, reach: int, negatives: int, key: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return log s(eta) of each word and the summed log s(-eta) of its negatives."""
        positive, negative = np.zeros(len(text.ids)), np.zeros(len(text.ids))
        parts = np.searchsorted(text.offsets, np.linspace(0, len(text.ids), 8 * self.threads + 1))
        parts = np.unique(np.r_[0, parts[1:-1], len(text.slice_of)])

        def part(low: int, high: int) -> None:
            kernels.score(
                text.ids, text.offsets, text.slice_of, text.position, low, high, np.uint64(key),
                self.sampler.threshold, self.sampler.other, self.parameters.rho, self.parameters.alpha,
                negatives, reach, positive, negative,
            )  # fmt: skip

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
        return [np.flatnonzero(owner[blocks.slice_of] == n) for n in range(self.threads)]

    def _start_copies(self) -> None:
        """Give each thread its own copy of what all of them change."""
        held = self.parameters
        shared = len(held.rho) == 1
        if not self._copies:
            self._copies = [
                Parameters(
                    held.rho.copy() if shared else held.rho,
                    held.alpha.copy(),
                    held.rho_squares.copy() if shared else held.rho_squares,
                    held.alpha_squares.copy(),
                )
                for _ in range(self.threads)
            ]
            return
        for mine in self._copies:
            for name in ("alpha", "alpha_squares", *(("rho", "rho_squares") if shared else ())):
                getattr(mine, name)[:] = getattr(held, name)

    def _add_up_copies(self) -> None:
        """Add the movements of all copies, and let every copy go on from there."""
        held = self.parameters
        names = ("alpha", "alpha_squares", *(("rho", "rho_squares") if len(held.rho) == 1 else ()))
        borders = np.linspace(0, len(held.alpha), self.threads + 1).astype(np.int64)

        def part(low: int, high: int) -> None:
            for name in names:
                whole = getattr(held, name).reshape(-1, held.alpha.shape[1])[low:high]
                copies = [getattr(mine, name).reshape(-1, held.alpha.shape[1])[low:high] for mine in self._copies]
                kernels.merge(whole, copies[0], copies[1]) if len(copies) == 2 else _merge(whole, copies)

        list(self._pool.map(part, borders[:-1], borders[1:]))

    def _apply_prior(self, step: Step) -> None:
        held = self.parameters
        rate, drift, prior = np.float32(step.learning_rate), np.float32(step.drift), np.float32(step.prior)
        borders = np.linspace(0, len(held.alpha), 4 * self.threads + 1).astype(np.int64)
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


def _merge(whole: npt.NDArray[Any], copies: Sequence[npt.NDArray[Any]]) -> None:
    moved = whole + sum(mine - whole for mine in copies)
    for array in (whole, *copies):
        array[:] = moved
