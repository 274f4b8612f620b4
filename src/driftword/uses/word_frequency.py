"""How many times as frequent a word is since its change as before, with documents as the unit of evidence.

Words come in bursts, so documents differ by more than chance in how often they use one. The ratio of both shares of the
text has the interval that the differences between documents themselves allow for.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from driftword.corpus import Corpus
from driftword.corpus.tokenized_text import chunks_of
from driftword.models.significance_table import HALF_WIDTH
from driftword.storage import shards
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
    from driftword.uses.sense_shares import SenseCounts

    sizes = document_sizes(corpus)
    document = corpus.chunk_document[chunks_of(corpus, shards.find(corpus.tokens, v))]
    own = np.bincount(document, minlength=len(sizes)).astype(np.float64)
    day, slice_of = np.zeros((2, len(sizes)), dtype=np.int64)
    day[corpus.chunk_document], slice_of[corpus.chunk_document] = corpus.chunk_day, corpus.chunk_slice
    original = sizes > 0
    original[corpus.copies[:, 0]] = False
    every = np.flatnonzero(original)
    found = SenseCounts(np.c_[own, sizes - own][every], slice_of[every], day[every], every)
    time, units = np.arange(len(corpus.slices)), units_of_evidence(corpus)
    tested = share_test.run(found, time=time, strata=None, units=units, permutations=_PERMUTATIONS, seed=0, v=v)
    return None if tested is None else tested.p


def frequency_ratio(sides: Sides) -> FrequencyRatio:
    """Return how many times as frequent a word is since its change, or in the second period."""
    corpus = sides.corpus
    sizes, since, before = _documents(sides)
    document = corpus.chunk_document[chunks_of(corpus, shards.find(corpus.tokens, corpus.word_index[sides.word]))]
    own = np.bincount(document, minlength=len(sizes)).astype(np.float64)
    shares, variance = [], 0.0
    for side in (before, since):
        total, text = own[side].sum(), max(sizes[side].sum(), 1.0)
        if not total:
            return FrequencyRatio(float("nan"), 0.0, float("inf"))
        shares.append(total / text)
        variance += float(((own[side] - total / text * sizes[side]) ** 2).sum()) / total**2
    ratio, half = shares[1] / shares[0], HALF_WIDTH * np.sqrt(variance)
    return FrequencyRatio(float(ratio), float(ratio * np.exp(-half)), float(ratio * np.exp(half)))


def _documents(sides: Sides) -> tuple[Array, Array, Array]:
    """Return how long all documents are, and which of them are since the change and before, without copies."""
    corpus = sides.corpus
    sizes = document_sizes(corpus)
    day, slices = np.zeros(len(sizes), dtype=np.int64), np.zeros(len(sizes), dtype=np.int64)
    day[corpus.chunk_document], slices[corpus.chunk_document] = corpus.chunk_day, corpus.chunk_slice
    original = sizes > 0
    original[corpus.copies[:, 0]] = False
    if sides.periods is not None:
        before, since = (np.isin(slices, period) for period in sides.periods)
    else:
        since = day >= np.datetime64(sides.change, "D").astype(np.int64)
        before = ~since
    return sizes, since & original, before & original


def document_sizes(corpus: Corpus) -> Array:
    """Return how many words of the vocabulary each document has."""
    return np.bincount(corpus.chunk_document, np.diff(np.asarray(corpus.offsets)))
