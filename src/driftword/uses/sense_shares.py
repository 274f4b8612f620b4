"""How the shares of a word's senses move, with intervals.

The document is the unit of evidence. A document that uses a word ten times in one sense is one piece of evidence; so
shares have wider intervals than counts of occurrences would give them, by as much as documents differ more than chance
would have it (the design effect).

Many occurrences do not say plainly of which sense they are, and counting each as the likelier one draws shares towards
the middle. So each is counted in part, by its probability given also when it is: where a sense is frequent, what may be
of it more likely is. (What is usual at all times counts half, by its root: groups are as likely beforehand, but
large ones have been learnt better. Chosen on pseudo-words.) Probabilities and smoothed shares are computed from each
other in turns (expectation maximization, with the likelihoods fixed). What is not known of occurrences makes intervals
wider.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from driftword.models.significance_table import HALF_WIDTH
from driftword.uses.word_uses import Array, WordUses

_SMOOTHED: Final = 0.1  # of the time, in figures and behind probabilities
_TURNS: Final = 30


class SenseCounts(NamedTuple):
    """How often each document, or unit of evidence, has a word in each of its senses."""

    counts: Array  # (D, senses)
    slice_of: Array  # (D,)
    day: Array  # (D,)
    document: Array  # (D,) number in the corpus
    told: Array | float = 1.0  # (senses,) share of what could be known of them that occurrences tell

    @classmethod
    def of(cls, uses: WordUses, belongs: Array, told: Array | float = 1.0) -> SenseCounts:
        """Count occurrences, each in its senses, ``(n, senses)``; a document in several slices counts in each."""
        cell = uses.document * np.int64(len(uses.corpus.slices)) + uses.slice_of
        _, first, which = np.unique(cell, return_index=True, return_inverse=True)
        counts = np.array([np.bincount(which, column, minlength=len(first)) for column in belongs.T]).T
        return cls(counts, uses.slice_of[first], uses.day[first], uses.document[first], told)

    @classmethod
    def estimate(cls, uses: WordUses, likely: Array, side: Array | None = None) -> SenseCounts:
        """Count occurrences by their probabilities, given also when they are, or on which of some sides.

        `likely` are their probabilities without that, ``(n, senses)``.
        """
        if side is None:
            cell, weight = uses.slice_of, _smoothing(len(uses.corpus.slices))
        else:
            cell = np.unique(side, return_inverse=True)[1]
            weight = np.eye(int(cell.max()) + 1)
        size, usual = np.bincount(cell, minlength=len(weight)), likely.mean(axis=0)
        belongs = likely
        for _ in range(_TURNS):
            sums = np.array([np.bincount(cell, column, minlength=len(weight)) for column in belongs.T]).T
            share = (weight @ sums + usual) / ((weight @ size)[:, None] + 1)
            belongs = likely / np.sqrt(np.maximum(usual, 1e-12)) * share[cell]
            belongs /= np.maximum(belongs.sum(axis=1, keepdims=True), 1e-300)
        expected = share[cell]
        known = ((belongs - expected) ** 2).sum(axis=0) / np.maximum((expected * (1 - expected)).sum(axis=0), 1e-9)
        return cls.of(uses, belongs, np.clip(known, 0.05, 1.0))


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
    weight = _smoothing(slices)
    size = counts.sum(axis=1)
    reached = np.flatnonzero(size)
    inside = (np.arange(slices) >= reached.min()) & (np.arange(slices) <= reached.max())
    smooth = weight @ counts
    total = smooth.sum(axis=1, keepdims=True)
    share = np.where(inside[:, None], smooth / np.maximum(total, 1e-12), np.nan)
    told, of_documents = (np.cumsum(values, axis=1) if summed else values for values in (share, found.counts))
    pieces = total[:, 0] ** 2 / np.maximum(weight**2 @ size, 1e-12)  # that the smoothed shares are worth
    sizes = found.counts.sum(axis=1, keepdims=True)
    certain = np.minimum.accumulate(found.told) if summed and isinstance(found.told, np.ndarray) else found.told
    both = found._replace(counts=of_documents, told=certain)
    effect = _design_effect(both, np.clip(told, 1e-3, 1 - 1e-3), None, size=sizes)
    low, high = _wilson(told, pieces[:, None] / effect)
    return Shares(share, low, high, counts)


def share_of(found: SenseCounts, chosen: Array, sense: int) -> float:
    """Return the share of a sense in some documents; NaN where there are none."""
    counts = found.counts[chosen].sum(axis=0)
    return float(counts[sense] / counts.sum()) if counts.sum() else float("nan")


def _design_effect(found: SenseCounts, expected: Array, units: Array | None, size: Array | None = None) -> Array:
    """Return how many times as much shares vary as if every occurrence were a piece of evidence, ``(senses,)``.

    With parts of occurrences it is the sandwich variance of the likelihood's maximum.
    """
    size = found.counts.sum(axis=1, keepdims=True) if size is None else size
    rest = found.counts - size * expected[found.slice_of]
    if units is not None:
        which = np.unique(units[found.document], return_inverse=True)[1]
        sums = np.zeros((int(which.max(initial=0)) + 1, rest.shape[1]))
        np.add.at(sums, which, rest)
        rest = sums
    chance = (size * (expected * (1 - expected))[found.slice_of]).sum(axis=0)
    spread = (rest**2).sum(axis=0) / np.maximum(chance, 1e-9)
    return np.asarray(np.maximum(spread / np.square(found.told), 1 / np.asarray(found.told)))


def _smoothing(slices: int) -> Array:
    """Return how much each slice counts for each, ``(slices, slices)``."""
    apart = np.arange(slices)[:, None] - np.arange(slices)
    return np.asarray(np.exp(-0.5 * (apart / max(slices * _SMOOTHED / 2, 0.3)) ** 2))


def _wilson(share: Array, size: Array) -> tuple[Array, Array]:
    """Return the 90% interval of shares of so many pieces of evidence (Wilson's)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        z2 = HALF_WIDTH**2 / size
        middle = (share + z2 / 2) / (1 + z2)
        half = np.sqrt(share * (1 - share) * z2 + z2**2 / 4) / (1 + z2)
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)
