"""Did the difference between two groups change over time? A permutation test.

The scores y_d of a word's documents (see `permutation_test`) may depend on their slice t in any way that both groups
share, and on their group g by a difference that stays as it is:

    y_d = common course (t_d) + constant difference x g_d + (what is tested: waves of t_d) x g_d + noise

The common course is taken away as the mean of every slice, and documents of a slice exchange what is left of them, as
in `contrast`. The constant difference is estimated and taken away before (Freedman & Lane 1983), from the scores and
from the courses along which they are summed: the waves over time, with one sign in each group. So neither of the two
makes a word significant, also where one group has most of the early documents and the other of the late ones.

What is estimated and taken away makes the residuals smaller, most so those of documents that are alone with their group
in a slice. So it is estimated and taken away from exchanged residuals again, where their spread is measured.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from driftword.basics import randomness
from driftword.inference import permutation_test as test
from driftword.inference import score_kernels as kernels
from driftword.inference.document_scores import Expected, Smoothing
from driftword.inference.occurrences import Array
from driftword.inference.permutation_test import CenteredScores, PreparedWord, TestResult, TimeSums, WordDocuments


class Courses(NamedTuple):
    """What a difference between the groups can look like in the scores of a word; all orthonormal."""

    constant: Array  # (D, c) if it stays as it is
    waves: Array  # (D, n) if it changes over time
    weights: Array  # (n,) of the waves

    @classmethod
    def of(cls, word: WordDocuments, n_slices: int) -> Courses:
        """Return the courses of a word whose times are groups, 0 and 1, and whose strata are slices, from 0 on."""
        assert word.strata is not None
        time, group = (word.strata + 0.5) / n_slices, 2.0 * word.time[:, None] - 1
        cosines = np.cos(np.pi * time[:, None] * np.arange(test.WAVES + 1)) * group  # the first does not change
        courses = test.centered(word.mean_of_units(cosines), word.strata_of_units)
        # A constant difference may be one of occurrences, or of documents, however often they use the word.
        columns = np.ascontiguousarray(np.concatenate([constant_difference(word)[:, None], courses], axis=1).T)
        kept = np.empty(len(columns), dtype=np.int64)
        n = kernels.orthonormal(columns, test.COLLINEAR, kept)
        constant = int((kept[:n] < 2).sum())
        waves = np.ascontiguousarray(columns[constant:n].T)
        return cls(np.ascontiguousarray(columns[:constant].T), waves, 1 / (kept[constant:n] - 1.0))


def constant_difference(word: WordDocuments) -> Array:
    """Return how a difference of one between the groups would show in the centred scores of every unit, ``(D,)``."""
    scores = word.scores
    differing = scores._replace(contexts=scores.weights[:, None].astype(np.float64) * word.time[:, None])
    nothing = np.zeros((int(scores.slice_of.max()) + 1, 1))
    return test.center(word._replace(scores=differing), nothing).scores[:, 0]


def run(
    word: WordDocuments,
    expected: Expected,
    smoothing: Smoothing,
    *,
    n_slices: int,
    permutations: int,
    seed: int,
    v: int,
) -> TestResult | None:
    """Test one word; None where the groups do not share two slices."""
    courses = Courses.of(word, n_slices)
    if not len(courses.weights):
        return None
    prepared = residuals(word, expected, smoothing, courses)

    def exchange(begin: int, end: int) -> TimeSums:
        return exchanged(prepared, courses.constant, begin, end, seed=seed, v=v)

    return test.summarize(prepared, test.in_stages(exchange, prepared, permutations))


def residuals(word: WordDocuments, expected: Expected, smoothing: Smoothing, courses: Courses) -> PreparedWord:
    """Prepare a word whose scores are without the constant difference."""
    prepared = test.prepare_along(word, expected, smoothing, courses.waves, courses.weights)
    scores, constant = prepared.documents.scores, courses.constant
    rest = scores - np.einsum("dc,ck->dk", constant, np.einsum("dc,dk->ck", constant, scores))
    return replace(prepared, documents=CenteredScores(rest, prepared.documents.root))


def exchanged(word: PreparedWord, constant: Array, begin: int, end: int, *, seed: int, v: int) -> TimeSums:
    """Let the documents of every slice exchange their residuals."""
    assert word.strata is not None
    members, first = test.by_stratum(word.strata)
    scores, waves, constant, noise = (
        array.astype(np.float32) for array in (word.documents.scores, word.waves, constant, word.noise)
    )
    lengths, spreads = np.empty((2, waves.shape[1], end - begin), dtype=np.float32)
    kernels.permuted_residuals(
        scores, waves, constant, first, members, np.uint64(randomness.key(seed, "permutations", v + (begin << 40))),
        noise, test.signs(word, begin, end, seed, v), lengths, spreads,
    )  # fmt: skip
    return TimeSums(lengths, spreads)
