"""How the shares of a word's senses move, with intervals.

The document is the unit of evidence. A document that uses a word ten times in one sense is one piece of evidence; so
shares have wider intervals than counts of occurrences would give them, by as much as documents differ more than chance
would have it (the design effect).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from driftword.models.significance_table import HALF_WIDTH
from driftword.uses.word_uses import Array, WordUses

_SMOOTHED: Final = 0.1  # of the time, in figures


class SenseCounts(NamedTuple):
    """How often each document, or unit of evidence, has a word in each of its senses."""

    counts: Array  # (D, senses)
    slice_of: Array  # (D,)
    day: Array  # (D,)
    document: Array  # (D,) number in the corpus

    @classmethod
    def of(cls, uses: WordUses, sense: Array, n: int) -> SenseCounts:
        """Count occurrences; a document that is in several slices counts in each."""
        cell = uses.document * np.int64(len(uses.corpus.slices)) + uses.slice_of
        _, first, which = np.unique(cell, return_index=True, return_inverse=True)
        counts = np.zeros((len(first), n))
        np.add.at(counts, (which, sense), 1)
        return cls(counts, uses.slice_of[first], uses.day[first], uses.document[first])


class Shares(NamedTuple):
    """The share of every sense in every slice, with 90% intervals; NaN where the word does not occur."""

    share: Array  # (slices, senses)
    low: Array
    high: Array
    counts: Array


def shares_by_slice(found: SenseCounts, slices: int, units: Array | None = None) -> Shares:
    """Return the shares of senses, with the intervals that differences between documents allow for."""
    counts = np.zeros((slices, found.counts.shape[1]))
    np.add.at(counts, found.slice_of, found.counts)
    size = counts.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        share = counts / size
    # Expected shares are drawn to that of all slices as if one more occurrence were like the whole.
    expected = (counts + found.counts.sum(axis=0) / found.counts.sum()) / (size + 1)
    low, high = _wilson(share, size / _design_effect(found, expected, units))
    return Shares(share, low, high, counts)


def smooth_shares(found: SenseCounts, slices: int, *, summed: bool = False) -> Shares:
    """Return shares smoothed over a tenth of the time, with intervals; NaN before the first use and after the last.

    If they are to be summed, intervals are those of the share of all senses up to each: the borders of a stream.
    """
    counts = np.zeros((slices, found.counts.shape[1]))
    np.add.at(counts, found.slice_of, found.counts)
    apart = np.arange(slices)[:, None] - np.arange(slices)
    weight = np.exp(-0.5 * (apart / max(slices * _SMOOTHED / 2, 0.3)) ** 2)
    size = counts.sum(axis=1)
    reached = np.flatnonzero(size)
    inside = (np.arange(slices) >= reached.min()) & (np.arange(slices) <= reached.max())
    smooth = weight @ counts
    total = smooth.sum(axis=1, keepdims=True)
    share = np.where(inside[:, None], smooth / np.maximum(total, 1e-12), np.nan)
    told, of_documents = (np.cumsum(values, axis=1) if summed else values for values in (share, found.counts))
    pieces = total[:, 0] ** 2 / np.maximum(weight**2 @ size, 1e-12)  # that the smoothed shares are worth
    sizes = found.counts.sum(axis=1, keepdims=True)
    effect = _design_effect(found._replace(counts=of_documents), np.clip(told, 1e-3, 1 - 1e-3), None, size=sizes)
    low, high = _wilson(told, pieces[:, None] / effect)
    return Shares(share, low, high, counts)


def share_of(found: SenseCounts, chosen: Array, sense: int) -> float:
    """Return the share of a sense in some documents; NaN where there are none."""
    counts = found.counts[chosen].sum(axis=0)
    return float(counts[sense] / counts.sum()) if counts.sum() else float("nan")


def _design_effect(found: SenseCounts, expected: Array, units: Array | None, size: Array | None = None) -> Array:
    """Return how many times as much shares vary as if every occurrence were a piece of evidence, ``(senses,)``."""
    size = found.counts.sum(axis=1, keepdims=True) if size is None else size
    rest = found.counts - size * expected[found.slice_of]
    if units is not None:
        which = np.unique(units[found.document], return_inverse=True)[1]
        sums = np.zeros((int(which.max(initial=0)) + 1, rest.shape[1]))
        np.add.at(sums, which, rest)
        rest = sums
    chance = (size * (expected * (1 - expected))[found.slice_of]).sum(axis=0)
    return np.asarray(np.maximum((rest**2).sum(axis=0) / np.maximum(chance, 1e-9), 1.0))


def _wilson(share: Array, size: Array) -> tuple[Array, Array]:
    """Return the 90% interval of shares of so many pieces of evidence (Wilson's)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        z2 = HALF_WIDTH**2 / size
        middle = (share + z2 / 2) / (1 + z2)
        half = np.sqrt(share * (1 - share) * z2 + z2**2 / 4) / (1 + z2)
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)
