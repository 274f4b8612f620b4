"""Pairs of words: which may be one, how often each occurs, and which become phrases.

A *pair* is two content words with nothing, one connector or two connectors between them, as one number, its code.
Pairs are counted in two passes over a text: first an upper bound by hash, in fixed memory, then exact counts of the
pairs that can be frequent. Every thread counts for itself, as does every machine, and what they counted is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from driftword.preparing.id_stream import Batch

SKETCH_BITS: Final = 21
_LARGEST: Final = np.iinfo(np.uint32).max

Sketch = npt.NDArray[np.uint32]
#: Codes of pairs, and how often each occurs.
PairCounts = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


class PairShape(NamedTuple):
    """Which words may form a pair."""

    role: npt.NDArray[np.int16]  # of each word, as the kernels know it
    n_connectors: int

    @classmethod
    def of(cls, eligible: npt.NDArray[np.bool_], connectors: Sequence[int]) -> PairShape:
        """Return the shape for words that may be part of a phrase, and words that may occur inside one."""
        from driftword.preparing import phrase_kernels as kernels  # Numba loads only where it is used

        role = np.where(eligible, kernels.CONTENT, kernels.NEITHER).astype(np.int16)
        role[list(connectors)] = np.arange(len(connectors))
        return cls(role, len(connectors))


class Joins(NamedTuple):
    """Pairs that become phrases."""

    pair: npt.NDArray[np.int64]  # codes
    phrase_id: npt.NDArray[np.uint32]
    score: npt.NDArray[np.float64]  # decides between two pairs that overlap


class HashTable(NamedTuple):
    """Numbers by code, as the kernels read and write them."""

    keys: npt.NDArray[np.int64]
    values: npt.NDArray[np.int64]
    filled: npt.NDArray[np.int64]  # one number: how many slots are not empty

    @classmethod
    def make(cls, size: int, keys: npt.NDArray[np.int64], values: npt.NDArray[np.int64]) -> HashTable:
        """Return a table with room for `size` keys, a power of two, that holds some of them."""
        from driftword.preparing import phrase_kernels as kernels

        table = cls(np.full(size, kernels.EMPTY), np.zeros(size, dtype=np.int64), np.array([len(keys)]))
        kernels.insert(keys, values, table)
        return table


class PairCounter:
    """Counts pairs in a hash table that grows before it is more than half full."""

    def __init__(self) -> None:
        nothing = np.zeros(0, dtype=np.int64)
        self._table = HashTable.make(1 << 12, nothing, nothing)

    def add(self, batch: Batch, shape: PairShape, sketch: Sketch, floor: int) -> None:
        """Count the pairs of a batch whose upper bound reaches `floor`."""
        from driftword.preparing import phrase_kernels as kernels

        document = 0
        while (document := kernels.count_pairs(batch, document, shape, sketch, floor, self._table)) < len(batch.ends):
            self._table = HashTable.make(2 * len(self._table.keys), *self.counts())

    def counts(self) -> PairCounts:
        """Return the pairs and how often each occurs."""
        used = self._table.values > 0
        return self._table.keys[used], self._table.values[used]


def add_sketches(sketches: Sequence[Sketch]) -> Sketch:
    """Return the sum of upper bounds; one that would be too large for its type stays at the largest number."""
    total = sketches[0]
    for sketch in sketches[1:]:
        total = np.where(total > _LARGEST - sketch, _LARGEST, total + sketch).astype(np.uint32)
    return total


def add_pairs(found: Sequence[PairCounts]) -> PairCounts:
    """Return the sum of what was counted in parts of the text, ordered by code."""
    pair, where = np.unique(np.concatenate([pairs for pairs, _ in found]), return_inverse=True)
    counts = np.zeros(len(pair), dtype=np.int64)
    np.add.at(counts, where, np.concatenate([counted for _, counted in found]))
    return pair, counts
