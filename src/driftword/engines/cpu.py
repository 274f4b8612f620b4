"""The CPU engine: float32, Numba, all cores.

Threads own slices: no two write the same row of `rho`. They share `alpha`, and in
the static model `rho` too, and write to it without locks, as word2vec does: a fit
with several threads is as good as one with one, but not the same to the last bit
each time. Where it must be, each thread works on a copy of what they share, and
now and then the movements of all copies are added up; nothing then depends on
which thread is faster.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.engines import cpu_kernels as kernels
from driftword.engines.array_engine import HostEngine, spread
from driftword.engines.rounds import Blocks, Ints, Parameters, Sampler, Step, Text

#: Positions that a thread works through before the copies are added up. The static model has more to add up:
#: negatives touch most words within a few thousand positions.
SYNC_POSITIONS: Final = 4_000
SYNC_POSITIONS_STATIC: Final = 16_000
#: Least number of times in a round that this happens, however little text there is.
LEAST_SYNCS: Final = 8


class CpuEngine(HostEngine):
    """Runs rounds on all cores."""

    name = "cpu"

    def __init__(
        self, parameters: Parameters, sampler: Sampler, *, threads: int | None = None, reproducible: bool = False
    ) -> None:
        super().__init__(parameters)
        self.sampler = sampler
        self.threads = threads or os.cpu_count() or 1
        self.machine = f"{self.threads} threads"
        self._reproducible = reproducible
        self._pool = ThreadPoolExecutor(self.threads)
        self._copies = _Copies(parameters, self.threads) if self.threads > 1 and reproducible else None

    def spread(self, slices: int, squares: float) -> CpuEngine:
        """Return an engine in which every slice has the static embeddings."""
        parameters = spread(self.parameters, slices, squares)
        return CpuEngine(parameters, self.sampler, threads=self.threads, reproducible=self._reproducible)

    def round(self, blocks: Blocks, step: Step) -> float:
        """Climb the likelihood over some blocks, then apply the prior; return the summed log-likelihood of the text."""
        if not len(blocks.slice_of):  # no text, but still a share of the prior
            self._apply_prior(step)
            return 0.0
        shares = self._share(blocks)
        size = int(np.add.reduceat(blocks.end - blocks.begin, blocks.first[:-1]).max())
        longest = size + int(np.diff(blocks.first).max()) * 2 * step.reach
        text = (blocks.ids, blocks.begin, blocks.end, blocks.low, blocks.high, blocks.first, blocks.slice_of)

        def climb(mine: Ints, held: Parameters, moved: npt.NDArray[np.uint8]) -> float:
            return float(
                kernels.climb(
                    *text, blocks.number, mine, np.uint64(blocks.key), self.sampler.threshold, self.sampler.other,
                    held.rho, held.rho_squares, held.alpha, held.alpha_squares, moved, size, longest,
                    step.pool, np.float32(step.negatives / step.pool), step.reach, np.float32(step.learning_rate),
                )
            )  # fmt: skip

        total = 0.0
        if self._copies is None:
            total = sum(self._each(lambda mine: climb(mine, self.parameters, np.zeros(0, dtype=np.uint8)), shares))
        else:
            self._copies.start()
            span = SYNC_POSITIONS_STATIC if len(self.parameters.rho) == 1 else SYNC_POSITIONS
            parts = max(LEAST_SYNCS, blocks.positions // (span * self.threads))
            for part in range(parts):
                mine = [share[part * len(share) // parts : (part + 1) * len(share) // parts] for share in shares]
                total += sum(self._pool.map(climb, mine, self._copies.views, self._copies.moved))
                self._each(self._copies.add_up, self._spans(self.threads))
        self._apply_prior(step)
        return total

    def score(
        self, text: Text, *, sampler: Sampler, reach: int, negatives: int, key: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return log s(eta) of each word and the summed log s(-eta) of its negatives."""
        positive, negative = np.zeros(len(text.ids)), np.zeros(len(text.ids))
        parts = np.searchsorted(text.offsets, np.linspace(0, len(text.ids), 8 * self.threads + 1))
        parts = np.unique(np.r_[0, parts[1:-1], len(text.slice_of)])

        def part(low: int, high: int) -> None:
            kernels.score(
                text.ids, text.offsets, text.slice_of, text.position, low, high, np.uint64(key),
                sampler.threshold, sampler.other, self.parameters.rho, self.parameters.alpha,
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

    def _apply_prior(self, step: Step) -> None:
        held = self.parameters
        rate, drift, prior, anchor = (np.float32(x) for x in (step.learning_rate, step.drift, step.prior, step.anchor))

        def part(span: tuple[int, int]) -> None:
            low, high = span
            kernels.shrink(held.alpha[low:high], held.alpha_squares[low:high], rate, prior)
            if step.chained:
                kernels.smooth(held.rho, held.rho_squares, low, high, rate, drift, anchor)
            else:
                for t in range(len(held.rho)):
                    kernels.shrink(held.rho[t, low:high], held.rho_squares[t, low:high], rate, anchor)

        self._each(part, self._spans(4 * self.threads))

    def _spans(self, count: int) -> list[tuple[int, int]]:
        """Cut the vocabulary into parts."""
        borders = np.linspace(0, len(self.parameters.alpha), count + 1).astype(np.int64).tolist()
        return list(pairwise(borders))

    def _each(self, task: Callable[[Any], Any], shares: Sequence[Any]) -> list[Any]:
        return [task(share) for share in shares] if self.threads == 1 else list(self._pool.map(task, shares))


class _Copies:
    """What threads share, once for each of them; the rows they moved are added up now and then."""

    def __init__(self, parameters: Parameters, threads: int) -> None:
        self._whole = parameters
        self._static = len(parameters.rho) == 1
        names = ("alpha", "alpha_squares", *(("rho", "rho_squares") if self._static else ()))
        self._copies = {name: np.empty((threads, *getattr(parameters, name).shape), dtype=np.float32) for name in names}
        self.moved = np.zeros((threads, len(parameters.alpha)), dtype=np.uint8)
        self.views = [
            Parameters(
                **{name: self._copies[name][n] if name in names else array for name, array in vars(parameters).items()}
            )
            for n in range(threads)
        ]

    def start(self) -> None:
        """Copy the whole, as it is after the prior."""
        for name, copies in self._copies.items():
            copies[:] = getattr(self._whole, name)

    def add_up(self, span: tuple[int, int]) -> None:
        """Add the movements of some words in all copies to the whole, and let every copy go on from there."""
        whole, copies = self._whole, self._copies
        kernels.merge(whole.alpha, whole.alpha_squares, copies["alpha"], copies["alpha_squares"], self.moved, *span)
        if self._static:
            mine, squares = copies["rho"][:, 0], copies["rho_squares"][:, 0]
            kernels.merge(whole.rho[0], whole.rho_squares[0], mine, squares, self.moved, *span)
        self.moved[:, span[0] : span[1]] = 0
