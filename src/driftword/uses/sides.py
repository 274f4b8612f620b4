"""The occurrences of a word on both sides of its change, or in two periods.

A change that a test has found is dated. Where there is none, the sides are those of the day before and since which the
occurrences differ most: something differs between any two halves of a text, so that proves nothing, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any, Final

import numpy as np

from driftword.basics.errors import OptionError
from driftword.corpus import Corpus
from driftword.models.model import Model
from driftword.models.usage import Usage
from driftword.uses.usage_vectors import EncodedVectors, UsageVectors, usage_vectors
from driftword.uses.word_uses import Array, WordUses, find_uses

_LEAST_DOCUMENTS: Final = 2  # on either side
_LEAST_SHARE: Final = 0.1  # of the documents, on either side of a day that was not dated by a test

BEFORE, AFTER = "before", "after"


@dataclass(frozen=True, kw_only=True)
class Sides(WordUses):
    """Occurrences of a word, and whether each is since a change or before."""

    since: Array  # (n,) bool
    vectors_of: UsageVectors | EncodedVectors
    change: date | None  # None between two periods
    significant: bool  # whether a test found this change
    periods: tuple[Array, Array] | None = None  # the slices of two periods

    @cached_property
    def vectors(self) -> Array:
        """The vector of each occurrence."""
        return self.vectors_of.of(self.positions, self.around)

    @cached_property
    def background_shift(self) -> Array:
        """How contexts anywhere in the text moved from one side to the other, ``(2 K,)``."""
        every = self.vectors_of.background
        if self.periods is None:
            assert self.change is not None
            since = self.vectors_of.background_day >= (self.change - date(1970, 1, 1)).days
            before = ~since
        else:
            before, since = (np.isin(self.vectors_of.background_slice, period) for period in self.periods)
        if not before.any() or not since.any():
            return np.zeros(every.shape[1])
        return np.asarray(every[since].mean(axis=0) - every[before].mean(axis=0))

    def of_side(self, side: str) -> Array:
        """Tell which occurrences are on a side."""
        return self.since if side == AFTER else ~self.since


def find_sides(
    model: Model | Usage, corpus: Corpus, word: str, between: Sequence[Any] | None = None, at: date | None = None
) -> Sides:
    """Find the occurrences of a word before and since its change, or a day, or in two periods."""
    uses = find_uses(model, corpus, word)
    vectors_of, periods, significant = usage_vectors(model, corpus), None, False
    if between is not None:
        from driftword.inference.designs import two_periods  # Numba loads only where it is used

        times = two_periods(model, between)
        uses = uses.among(times[uses.slice_of] >= 0)
        since = times[uses.slice_of] == 1
        periods = np.flatnonzero(times == 0), np.flatnonzero(times == 1)
    else:
        if at is None and model.significance is not None:
            at = model.significance.table["change"][model.word_id(word)]
            significant = at is not None
        if at is None:
            at = _likeliest_day(uses, vectors_of)
        since = uses.day >= (at - date(1970, 1, 1)).days
    found = Sides(
        corpus=corpus, word=uses.word, positions=uses.positions, since=np.asarray(since), vectors_of=vectors_of,
        change=at, significant=significant, periods=periods,
    )  # fmt: skip
    for side in (BEFORE, AFTER):
        if len(np.unique(found.document[found.of_side(side)])) < _LEAST_DOCUMENTS:
            where = "the two periods" if between is not None else "a change and since"
            raise OptionError(
                f"'{found.word}' occurs in too few documents to compare {where}: at least {_LEAST_DOCUMENTS} are "
                "needed on either side; name a more frequent word"
            )
    return found


def _likeliest_day(uses: WordUses, vectors_of: UsageVectors | EncodedVectors) -> date:
    """Return the day before and since which the occurrences of a word differ most."""
    vectors = vectors_of.of(uses.positions, uses.around).astype(np.float64)
    days, which = np.unique(uses.day, return_inverse=True)
    sums = np.zeros((len(days), vectors.shape[1]))
    np.add.at(sums, which, vectors - vectors.mean(axis=0))
    number = np.cumsum(np.bincount(which))
    total = number[-1]
    spread = (np.cumsum(sums, axis=0) ** 2).sum(axis=1) * total / np.maximum(number * (total - number), 1)
    inside = (number >= _LEAST_SHARE * total) & (number <= (1 - _LEAST_SHARE) * total)
    inside[-1] = False
    if not inside.any():
        inside[:-1] = True
    if not inside.any():
        raise OptionError("All occurrences of the word have the same date, so nothing can be compared; name another")
    last_before = int(np.argmax(np.where(inside, spread, -1)))
    return date(1970, 1, 1) + timedelta(days=int(days[last_before + 1]))
