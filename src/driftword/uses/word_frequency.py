"""How many times as frequent a word is since its change as before, with documents as the unit of evidence.

Words come in bursts, so documents differ by more than chance in how often they use one. The ratio of both shares of the
text has the interval that the differences between documents themselves allow for.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from driftword.corpus import Corpus
from driftword.models.significance_table import HALF_WIDTH
from driftword.uses.document_counts import DocumentSizes
from driftword.uses.sense_shares import SenseCounts
from driftword.uses.sides import Sides
from driftword.uses.word_uses import Array

_PERMUTATIONS: Final = 1000


class FrequencyRatio(NamedTuple):
    """How many times as frequent a word is on one side as on the other, and the 90% interval."""

    ratio: float
    low: float
    high: float


def frequency_p(corpus: Corpus, v: int) -> float | None:
    """Return p of the claim that how often a word occurs does not depend on time; None with too few documents.

    Documents, or units of evidence, exchange their dates: the test of the shares of senses (`share_test`), with the
    word and all other words in the place of two senses.
    """
    from driftword.inference.designs import units_of_evidence
    from driftword.uses import share_test

    found, units = counts_of_word(corpus, DocumentSizes.of(corpus), v), units_of_evidence(corpus)
    time = np.arange(len(corpus.slices))
    tested = share_test.run(found, time=time, strata=None, units=units, permutations=_PERMUTATIONS, seed=0, v=v)
    return None if tested is None else tested.p


def counts_of_word(corpus: Corpus, documents: DocumentSizes, v: int) -> SenseCounts:
    """Return how often each document has a word, and how often another."""
    own = documents.counts(corpus, v)
    return SenseCounts(np.c_[own, documents.size - own], documents.slice_of, documents.day, documents.number)


def frequency_ratio(sides: Sides) -> FrequencyRatio:
    """Return how many times as frequent a word is since its change, or in the second of two periods or groups."""
    documents = DocumentSizes.of(sides.corpus)
    own = documents.counts(sides.corpus, sides.corpus.word_index[sides.word])
    side = sides.side_of_document[documents.number]
    return ratio_of(own, documents.size, side == 0, side == 1)


def ratio_of(own: Array, sizes: Array, before: Array, since: Array) -> FrequencyRatio:
    """Return how many times as frequent a word is in some documents as in others, given how often each has it."""
    shares, variance = [], 0.0
    for side in (before, since):
        total, text = own[side].sum(), max(sizes[side].sum(), 1.0)
        if not total:
            return FrequencyRatio(float("nan"), 0.0, float("inf"))
        shares.append(total / text)
        variance += float(((own[side] - total / text * sizes[side]) ** 2).sum()) / total**2
    ratio, half = shares[1] / shares[0], HALF_WIDTH * np.sqrt(variance)
    return FrequencyRatio(float(ratio), float(ratio * np.exp(-half)), float(ratio * np.exp(half)))
