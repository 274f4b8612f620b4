"""Pairs of words in streams of ids: counted, and joined into phrases.

A *pair* is two content words with nothing, one connector or two connectors between them, as one number, its code.
Pairs are counted in two passes over a stream: first an upper bound by hash, in fixed memory, then exact counts of the
pairs that can be frequent. Every thread counts for itself, as does every machine, and what they counted is added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Final

import numpy as np
import numpy.typing as npt

from driftword.preparing.id_stream import Batch, IdStream
from driftword.preparing.workers import Workers

SKETCH_BITS: Final = 21
_LARGEST: Final = np.iinfo(np.uint32).max

Sketch = npt.NDArray[np.uint32]
#: Codes of pairs, and how often each occurs.
PairCounts = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


@dataclass(frozen=True)
class PairShape:
    """Which words may form a pair.

    Parameters
    ----------
    role
        The role of each word, as the kernels know it.
    n_connectors
        How many words are connectors.
    """

    role: npt.NDArray[np.int16]
    n_connectors: int

    @classmethod
    def of(cls, eligible: npt.NDArray[np.bool_], connectors: Sequence[int]) -> PairShape:
        """Return the shape for words that may be part of a phrase, and words that may occur inside one."""
        from driftword.preparing import phrase_kernels as kernels  # Numba loads only where it is used

        role = np.where(eligible, kernels.CONTENT, kernels.NEITHER).astype(np.int16)
        role[list(connectors)] = np.arange(len(connectors))
        return cls(role, len(connectors))


@dataclass(frozen=True)
class Joins:
    """Pairs that become phrases.

    Parameters
    ----------
    pair, phrase_id, score
        The code of each pair, the id of its phrase, and its score, by which one of two overlapping pairs is chosen.
    """

    pair: npt.NDArray[np.int64]
    phrase_id: npt.NDArray[np.uint32]
    score: npt.NDArray[np.float64]


def bound_pairs(stream: IdStream, shape: PairShape, *, workers: Workers, progress: Callable[[int], None]) -> Sketch:
    """Count the pairs of a stream by hash alone: an upper bound for each of them."""
    from driftword.preparing import phrase_kernels as kernels

    sketches: SimpleQueue[Sketch] = SimpleQueue()  # one for each thread
    for _ in range(workers.threads):
        sketches.put(np.zeros(1 << SKETCH_BITS, dtype=np.uint32))

    def bound(batch: Batch) -> int:
        own = sketches.get()
        try:
            kernels.sketch_pairs(batch.ids, batch.ends, shape.role, shape.n_connectors, own)
        finally:
            sketches.put(own)
        return len(batch.ids)

    for read in workers.map(bound, stream.batches()):
        progress(read)
    return add_sketches([sketches.get() for _ in range(workers.threads)])


def add_sketches(sketches: Sequence[Sketch]) -> Sketch:
    """Return the sum of bounds; one that would be too large for its type stays at the largest number."""
    total = sketches[0]
    for sketch in sketches[1:]:
        total = np.where(total > _LARGEST - sketch, _LARGEST, total + sketch).astype(np.uint32)
    return total


def count_pairs(
    stream: IdStream,
    shape: PairShape,
    sketch: Sketch,
    floor: int,
    *,
    workers: Workers,
    progress: Callable[[int], None],
) -> PairCounts:
    """Return the pairs whose upper bound reaches `floor`, and how often each occurs in a stream."""
    tables: SimpleQueue[_PairTable] = SimpleQueue()
    for _ in range(workers.threads):
        tables.put(_PairTable())

    def count(batch: Batch) -> int:
        own = tables.get()
        try:
            own.add(batch, shape, sketch, floor)
        finally:
            tables.put(own)
        return len(batch.ids)

    for read in workers.map(count, stream.batches()):
        progress(read)
    return add_pairs([tables.get().used() for _ in range(workers.threads)])


def add_pairs(found: Sequence[PairCounts]) -> PairCounts:
    """Return the sum of what was counted in parts of the text, ordered by code."""
    pair, where = np.unique(np.concatenate([pairs for pairs, _ in found]), return_inverse=True)
    counts = np.zeros(len(pair), dtype=np.int64)
    np.add.at(counts, where, np.concatenate([counted for _, counted in found]))
    return pair, counts


def join_pairs(
    stream: IdStream, shape: PairShape, joins: Joins, *, workers: Workers, progress: Callable[[int], None]
) -> IdStream:
    """Return the stream with pairs joined into phrases; this one is closed."""
    from driftword.preparing import phrase_kernels as kernels

    keys = np.full(1 << max(4, (2 * len(joins.pair)).bit_length()), kernels.EMPTY, dtype=np.int64)
    which = np.zeros(len(keys), dtype=np.int64)
    kernels.insert(joins.pair, np.arange(len(joins.pair)), keys, which)

    def join(batch: Batch) -> tuple[int, npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """Return how many ids a batch has, those that are left of them, and how many of these each document has."""
        ids, ends = np.empty_like(batch.ids), np.empty_like(batch.ends)
        written = kernels.join_pairs(
            batch.ids, batch.ends, shape.role, shape.n_connectors, keys, which, joins.phrase_id, joins.score, ids, ends
        )
        return len(batch.ids), ids[:written], np.diff(ends, prepend=0)

    joined = IdStream(stream.folder)
    for read, ids, lengths in workers.map(join, stream.batches()):
        joined.append(ids, lengths)
        progress(read)
    stream.close()
    return joined


class _PairTable:
    """A hash table of pairs that grows before it is more than half full."""

    def __init__(self) -> None:
        self._make(1 << 12)

    def _make(self, size: int) -> None:
        from driftword.preparing.phrase_kernels import EMPTY

        self.keys, self.counts = np.full(size, EMPTY, dtype=np.int64), np.zeros(size, dtype=np.int64)
        self.filled = np.zeros(1, dtype=np.int64)

    def add(self, batch: Batch, shape: PairShape, sketch: Sketch, floor: int) -> None:
        """Count the pairs of a batch whose upper bound reaches `floor`."""
        from driftword.preparing import phrase_kernels as kernels

        document = 0
        while True:
            document = kernels.count_pairs(
                batch.ids, batch.ends, document, shape.role, shape.n_connectors, sketch, floor, self.keys, self.counts,
                self.filled,
            )  # fmt: skip
            if document == len(batch.ends):
                return
            old = self.used()
            self._make(2 * len(self.keys))
            self.filled[0] = len(old[0])
            kernels.insert(*old, self.keys, self.counts)

    def used(self) -> PairCounts:
        """Return the pairs and their counts."""
        used = self.counts > 0
        return self.keys[used], self.counts[used]
