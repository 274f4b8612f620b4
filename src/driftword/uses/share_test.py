"""Whether the shares of a word's senses changed, and when.

Senses are found without dates. So if shares do not change, documents may exchange their dates: the test is that of
`permutation_test`, with the numbers of occurrences in each sense in the place of contexts, and changes are dated as
everywhere (`change_dates`).
"""

from __future__ import annotations

import numpy as np

from driftword.corpus import Corpus
from driftword.inference import change_dates, permutation_test
from driftword.inference.change_dates import ChangeDate
from driftword.inference.document_scores import TEMPERING, Scores
from driftword.inference.occurrences import calendar_of
from driftword.inference.permutation_test import LEAST_DOCUMENTS, NOISE_BLOCKS, PreparedWord, TestResult, WordDocuments
from driftword.uses.sense_shares import SenseCounts
from driftword.uses.word_uses import Array


def run(
    found: SenseCounts, *, time: Array, strata: Array | None, units: Array | None, permutations: int, seed: int, v: int
) -> TestResult | None:
    """Test whether shares depend on time, or on what takes its place.

    `time` is that of each slice, -1 where documents are left out; `strata` are those of each document of the corpus,
    within which times are exchanged.
    """
    strata_here = None if strata is None else strata[found.document]
    return run_along(
        found, time[found.slice_of], strata_here, units, n_times=int(time.max()) + 1, permutations=permutations,
        seed=seed, v=v,
    )  # fmt: skip


def run_along(
    found: SenseCounts, time: Array, strata: Array | None, units: Array | None, *, n_times: int, permutations: int,
    seed: int, v: int,
) -> TestResult | None:  # fmt: skip
    """Test whether shares depend on a time that every row of counts has, and a stratum."""
    word = _documents(found, time, strata, units)
    if word is None:
        return None
    waves, weights = permutation_test.waves_over_time(word, n_times)
    if not len(weights):
        return None
    width = found.counts.shape[1]
    centered = permutation_test.center(word, np.zeros((int(found.slice_of.max()) + 1, width)))
    noise = np.zeros((len(weights), NOISE_BLOCKS, width))  # shares need no expectation
    prepared = PreparedWord(centered, waves, weights, noise, word.strata_of_units)
    return permutation_test.run(prepared, permutations=permutations, seed=seed, v=v)


def when(corpus: Corpus, found: SenseCounts, units: Array | None) -> ChangeDate | None:
    """Return when shares changed."""
    word = _documents(found, found.slice_of, None, units)
    if word is None:
        return None
    centered = permutation_test.center(word, np.zeros((len(corpus.slices), found.counts.shape[1])))
    day = np.rint(word.mean_of_units(found.day.astype(np.float64))).astype(np.int64)
    total = found.counts.sum(axis=0) / found.counts.sum()
    variance = np.maximum(total * (1 - total), 1e-6)
    n = len(total)  # shares add up to 1, so that of the last says what the others have said
    return change_dates.find(centered, day, variance, calendar_of(corpus, found.day), tempering=TEMPERING * (n - 1) / n)


def _documents(found: SenseCounts, time: Array, strata: Array | None, units: Array | None) -> WordDocuments | None:
    """Return the documents as a test takes them; None where there are too few."""
    here = time >= 0
    counts, slices, document = found.counts[here], found.slice_of[here], found.document[here]
    scores = Scores(document, slices, counts, counts.sum(axis=1))
    unit = None if units is None else np.unique(units[document], return_inverse=True)[1]
    word = WordDocuments(scores, time[here], None if strata is None else strata[here], unit)
    return word if word.number >= LEAST_DOCUMENTS and len(np.unique(word.time)) > 1 else None
