"""The CPU engine: float32, Numba, all cores.

Threads own slices: no two write the same row of `rho`. They share `alpha`, and in
the static model `rho` too, and write to it without locks, as word2vec does. A fit
with several threads is as good as one with a single thread, but not the same to the
last bit each time. Where it must be, each thread works on its own replica of the
shared parameters, and the updates of all replicas are merged at fixed points, so
that nothing depends on which thread is faster.
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
from driftword.engines.array_engine import ArrayEngine
from driftword.engines.parameters import Parameters, broadcast
from driftword.engines.rounds import Blocks, Ints, Sampler, Step, Text

#: Positions that a thread works through between two merges of the replicas. In the static model a merge costs more:
#: negatives touch most words within a few thousand positions.
MERGE_POSITIONS: Final = 4_000
MERGE_POSITIONS_STATIC: Final = 16_000
MIN_MERGES: Final = 8  # in a round, however little text there is


class CpuEngine(ArrayEngine):
    """Runs rounds on all cores."""

    def __init__(
        self, parameters: Parameters, sampler: Sampler, *, threads: int | None = None, reproducible: bool = False
    ) -> None:
        super().__init__(parameters)
        self.sampler = sampler
        self.threads = threads or os.cpu_count() or 1
        self.machine = f"{self.threads} threads"
        self._reproducible = reproducible
        self._pool = ThreadPoolExecutor(self.threads)
        self._replicas = _Replicas(parameters, self.threads) if self.threads > 1 and reproducible else None

    def broadcast(self, n_slices: int, initial_accumulator: float) -> CpuEngine:
        """Return an engine in which every slice has the static embeddings, with Adagrad accumulators reset."""
        parameters = broadcast(self.parameters, n_slices, initial_accumulator)
        return CpuEngine(parameters, self.sampler, threads=self.threads, reproducible=self._reproducible)

    def round(self, blocks: Blocks, step: Step) -> float:
        """Take the likelihood step of every block, then the prior's; return the text's summed log-likelihood."""
        if not len(blocks.slice_of):  # no text, but still a share of the prior
            self._prior_step(step)
            return 0.0
        assigned = self._assign(blocks)
        max_rows = int(np.add.reduceat(blocks.run_end - blocks.run_begin, blocks.run_offsets[:-1]).max())
        max_tokens = max_rows + int(np.diff(blocks.run_offsets).max()) * 2 * step.half_window
        text = (
            blocks.ids, blocks.run_begin, blocks.run_end, blocks.chunk_begin, blocks.chunk_end, blocks.run_offsets,
            blocks.slice_of, blocks.number,
        )  # fmt: skip

        def likelihood_step(chosen: Ints, parameters: Parameters, updated: npt.NDArray[np.uint8]) -> float:
            return float(
                kernels.likelihood_step(
                    *text, chosen, np.uint64(blocks.key), self.sampler.threshold, self.sampler.alias,
                    parameters.rho, parameters.rho_accumulator, parameters.alpha, parameters.alpha_accumulator,
                    updated, max_rows, max_tokens, step.pool, np.float32(step.negatives / step.pool),
                    step.half_window, np.float32(step.learning_rate),
                )
            )  # fmt: skip

        if self._replicas is None:
            unused = np.zeros(0, dtype=np.uint8)
            total = sum(self._map(lambda chosen: likelihood_step(chosen, self.parameters, unused), assigned), 0.0)
        else:
            total = 0.0
            self._replicas.copy_parameters()
            positions = MERGE_POSITIONS_STATIC if len(self.parameters.rho) == 1 else MERGE_POSITIONS
            parts = max(MIN_MERGES, blocks.positions // (positions * self.threads))
            for part in range(parts):
                chosen = [n[part * len(n) // parts : (part + 1) * len(n) // parts] for n in assigned]
                total += sum(self._pool.map(likelihood_step, chosen, self._replicas.of_thread, self._replicas.updated))
                self._map(self._replicas.merge, self._word_ranges(self.threads))
        self._prior_step(step)
        return total

    def score(
        self, text: Text, *, sampler: Sampler, half_window: int, negatives: int, key: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return log sigmoid(eta) of each word, and the summed log sigmoid(-eta) of its negatives."""
        positive, negative = np.zeros(len(text.ids)), np.zeros(len(text.ids))
        borders = np.searchsorted(text.offsets, np.linspace(0, len(text.ids), 8 * self.threads + 1))
        borders = np.unique(np.r_[0, borders[1:-1], len(text.slice_of)])

        def score_chunks(low: int, high: int) -> None:
            kernels.score(
                text.ids, text.offsets, text.slice_of, text.position, low, high, np.uint64(key),
                sampler.threshold, sampler.alias, self.parameters.rho, self.parameters.alpha,
                negatives, half_window, positive, negative,
            )  # fmt: skip

        list(self._pool.map(score_chunks, borders[:-1], borders[1:]))
        return positive, negative

    def _assign(self, blocks: Blocks) -> list[Ints]:
        """Return the blocks of each thread: whole slices of about equally many; of a single slice, every n-th block."""
        count = np.bincount(blocks.slice_of)
        if len(count) < 2 or self.threads == 1:
            return [np.arange(n, len(blocks.slice_of), self.threads) for n in range(self.threads)]
        owner = np.zeros(len(count), dtype=np.int64)
        load = np.zeros(self.threads)
        for t in np.argsort(-count, kind="stable"):
            owner[t] = int(load.argmin())
            load[owner[t]] += count[t]
        return [np.flatnonzero(owner[blocks.slice_of] == n) for n in range(self.threads)]

    def _prior_step(self, step: Step) -> None:
        """Take the proximal step of the prior."""
        p = self.parameters
        learning_rate, drift_precision, alpha_precision, rho_precision = (
            np.float32(x) for x in (step.learning_rate, step.drift_precision, step.alpha_precision, step.rho_precision)
        )

        def step_words(words: tuple[int, int]) -> None:
            low, high = words
            kernels.independent_prior_step(
                p.alpha[low:high], p.alpha_accumulator[low:high], learning_rate, alpha_precision
            )
            if step.coupled:
                kernels.random_walk_step(
                    p.rho, p.rho_accumulator, low, high, learning_rate, drift_precision, rho_precision
                )
            else:
                for t in range(len(p.rho)):
                    kernels.independent_prior_step(
                        p.rho[t, low:high], p.rho_accumulator[t, low:high], learning_rate, rho_precision
                    )

        self._map(step_words, self._word_ranges(4 * self.threads))

    def _word_ranges(self, count: int) -> list[tuple[int, int]]:
        """Divide the vocabulary into ranges."""
        borders = np.linspace(0, len(self.parameters.alpha), count + 1).astype(np.int64).tolist()
        return list(pairwise(borders))

    def _map(self, task: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Run a task on every item, in threads if there are several."""
        return [task(item) for item in items] if self.threads == 1 else list(self._pool.map(task, items))


class _Replicas:
    """One replica per thread of the parameters that threads share: alpha, and in the static model rho."""

    def __init__(self, parameters: Parameters, threads: int) -> None:
        self._parameters = parameters
        self._static = len(parameters.rho) == 1
        shared = ("alpha", "alpha_accumulator", *(("rho", "rho_accumulator") if self._static else ()))
        self._replicas = {
            name: np.empty((threads, *getattr(parameters, name).shape), dtype=np.float32) for name in shared
        }
        #: Which words each thread has updated since the last merge, 0 or 1.
        self.updated = np.zeros((threads, len(parameters.alpha)), dtype=np.uint8)  # (threads, V)
        #: The parameters as each thread sees them: its replicas, and what it need not share.
        self.of_thread = [
            Parameters(**{**vars(parameters), **{name: values[n] for name, values in self._replicas.items()}})
            for n in range(threads)
        ]

    def copy_parameters(self) -> None:
        """Set every replica to the parameters, which the prior has changed since the last merge."""
        for name, replicas in self._replicas.items():
            replicas[:] = getattr(self._parameters, name)

    def merge(self, words: tuple[int, int]) -> None:
        """Merge what all replicas updated, for a range of words, and set every replica to the result."""
        p, replicas = self._parameters, self._replicas
        kernels.merge_replicas(
            p.alpha, p.alpha_accumulator, replicas["alpha"], replicas["alpha_accumulator"], self.updated, *words
        )
        if self._static:
            rho, accumulator = replicas["rho"][:, 0], replicas["rho_accumulator"][:, 0]
            kernels.merge_replicas(p.rho[0], p.rho_accumulator[0], rho, accumulator, self.updated, *words)
        self.updated[:, words[0] : words[1]] = 0
