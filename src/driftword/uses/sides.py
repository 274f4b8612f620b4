"""The occurrences of a word on both sides of its change, or in two periods or groups.

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
from driftword.corpus.tokenized_text import count_by_slice
from driftword.models.model import Model, two_groups, two_of
from driftword.models.usage import Usage
from driftword.uses.document_counts import of_documents, sides_of_documents
from driftword.uses.usage_vectors import EncodedVectors, UsageVectors, usage_vectors
from driftword.uses.word_uses import Array, WordUses, find_uses

_LEAST_DOCUMENTS: Final = 2  # on either side
_LEAST_SHARE: Final = 0.1  # of the documents, on either side of a day that was not dated by a test

BEFORE, AFTER = "before", "after"


@dataclass(frozen=True, kw_only=True)
class Sides(WordUses):
    """Occurrences of a word, and whether each is before a change or since, or of which of two periods or groups."""

    side_of_document: Array  # (D,) 0 for the first side, 1 for the second, -1 for neither
    vectors_of: UsageVectors | EncodedVectors
    names: tuple[str, str] = (BEFORE, AFTER)
    change: date | None = None  # None of two periods or groups
    significant: bool = False  # whether a test found this change

    @cached_property
    def since(self) -> Array:
        """Whether each occurrence is on the second side: since the change."""
        return np.asarray(self.side_of_document[self.document] == 1)

    @cached_property
    def vectors(self) -> Array:
        """The vector of each occurrence."""
        return self.vectors_of.of(self.positions, self.around)

    @cached_property
    def background_shift(self) -> Array:
        """How contexts anywhere in the text differ between the sides, ``(2 K,)``."""
        every, side = self.vectors_of.background, self.side_of_document[self.vectors_of.background_document]
        if not (side == 0).any() or not (side == 1).any():
            return np.zeros(every.shape[1])
        return np.asarray(every[side == 1].mean(axis=0) - every[side == 0].mean(axis=0))

    @cached_property
    def text_counts(self) -> Array:
        """How often each word occurs in the text of each side, ``(2, V)``.

        The slice of a change counts for both sides: it is the share of a word in about the same text that matters.
        """
        corpus = self.corpus
        of_chunk = self.side_of_document[corpus.chunk_document]
        if self.names != (BEFORE, AFTER):
            return count_by_slice(corpus.tokens, corpus.offsets, of_chunk, (2, len(corpus.words)))
        parts = [np.unique(corpus.chunk_slice[of_chunk == side]) for side in (0, 1)]
        return np.array([np.asarray(corpus.counts[part], dtype=np.float64).sum(axis=0) for part in parts])

    def of_side(self, side: str) -> Array:
        """Tell which occurrences are on a side."""
        return self.since if side == self.names[1] else ~self.since


def find_sides(
    model: Model | Usage, corpus: Corpus, word: str, between: Sequence[Any] | None = None, *,
    at: date | None = None, groups: Sequence[str] | None = None,
) -> Sides:  # fmt: skip
    """Find the occurrences of a word before and since its change, or a day, or in two periods or groups."""
    uses = find_uses(model, corpus, word)
    vectors_of, names, significant = usage_vectors(model, corpus), (BEFORE, AFTER), False
    if groups is not None:
        if between is not None:
            raise OptionError("Groups are compared over all of the time; leave out `between`, or `groups`")
        names = two_of(corpus.groups, groups) if isinstance(model, Usage) else two_groups(model, groups)
        side_of_document = sides_of_documents(corpus, names)
    elif between is not None:
        from driftword.inference.designs import two_periods  # Numba loads only where it is used

        side_of_document = of_documents(corpus, two_periods(model, between)[corpus.chunk_slice])
    else:
        if at is None and model.significance is not None:
            at = model.significance.table["change"][model.word_id(word)]
            significant = at is not None
        if at is None:
            at = _likeliest_day(uses, vectors_of)
        side_of_document = of_documents(corpus, corpus.chunk_day >= (at - date(1970, 1, 1)).days)
    found = Sides(
        corpus=corpus, word=uses.word, positions=uses.positions[side_of_document[uses.document] >= 0],
        side_of_document=side_of_document, vectors_of=vectors_of, names=names, change=at, significant=significant,
    )  # fmt: skip
    for side in names:
        if len(np.unique(found.document[found.of_side(side)])) < _LEAST_DOCUMENTS:
            where = "the two groups" if groups else "the two periods" if between else "a change and since"
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
