"""Did the difference between two groups change over time? Simulated words, of which the answer is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.inference.test_permutation_test import exchanged

from driftword.basics import randomness
from driftword.inference import parting
from driftword.inference import permutation_test as test
from driftword.inference.document_scores import Expected, Scores, smooth

SLICES = 6


def a_word(
    documents: int = 90, *, differ: float = 0.0, course: float = 0.0, part: float = 0.0, noisy: float = 1.0,
    units: Any = None, seed: int = 0,
) -> tuple[Any, ...]:  # fmt: skip
    """Return a word of two groups that differ, change alike, and part; the second has most of the late documents."""
    random = np.random.default_rng(seed)
    slice_of = np.sort(random.integers(0, SLICES, documents)).astype(np.int32)
    group = (random.random(documents) < 0.2 + 0.6 * slice_of / (SLICES - 1)).astype(np.int64)
    weights = random.uniform(0.2, 3, documents).astype(np.float32)
    contexts = random.normal(size=(documents, 5)) * (np.sqrt(weights) * np.where(group == 1, noisy, 1))[:, None]
    late = slice_of >= SLICES // 2
    contexts[:, 0] += weights * (differ * group + course * (slice_of == 3))  # a course that few waves can follow
    contexts[:, 1] += weights * part * group * late
    cell = (slice_of + SLICES * group).astype(np.int32)
    scores = Scores(np.arange(documents), cell, contexts.astype(np.float32), weights)
    nothing = np.zeros((2 * SLICES, 5))
    expected = Expected(nothing, nothing, np.ones(2 * SLICES))
    word = test.WordDocuments(scores, group, slice_of.astype(np.int64), units)
    return word, expected, smooth(np.bincount(cell, minlength=2 * SLICES))


def p_of(word: tuple[Any, ...], *, permutations: int = 199, v: int = 0) -> float:
    found = parting.run(*word, n_slices=SLICES, permutations=permutations, seed=0, v=v)
    assert found is not None
    return found.p


def prepared(*word: Any) -> tuple[test.PreparedWord, parting.Courses]:
    courses = parting.Courses.of(word[0], SLICES)
    return parting.residuals(*word, courses), courses


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [{}, {"differ": 3.0}, {"course": 3.0}, {"differ": 3.0, "course": 3.0, "noisy": 2.0}], ids=str
)
def test_what_stays_and_what_is_shared_does_not_count(kind: dict[str, float]) -> None:
    p = np.array([p_of(a_word(seed=seed, **kind), v=seed) for seed in range(200)])
    assert 0.01 < (p <= 0.05).mean() < 0.1
    assert 0.4 < p.mean() < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("documents", [20, 40])
def test_a_few_documents_are_not_taken_for_more_than_they_are(documents: int) -> None:
    """What is estimated before the test makes residuals smaller; every third word of 20 documents would be called."""
    p = []
    for seed in range(200):
        found = parting.run(*a_word(documents, seed=seed), n_slices=SLICES, permutations=199, seed=0, v=seed)
        p += [] if found is None else [found.p]
    assert len(p) > 150
    assert np.mean(np.array(p) <= 0.05) < 0.09


def test_a_constant_difference_is_taken_away() -> None:
    plain, other = (prepared(*a_word(part=1.0, **more))[0] for more in ({}, {"differ": 2.0}))
    np.testing.assert_allclose(plain.documents.scores, other.documents.scores, atol=1e-5)
    np.testing.assert_array_equal(plain.waves, other.waves)


def test_sums_are_those_of_exchanged_residuals() -> None:
    word, expected, smoothing = a_word(50)
    random = np.random.default_rng(0)
    noisy = Expected(expected.mean, random.normal(size=expected.noise.shape), expected.chances)
    made, courses = prepared(word, noisy, smoothing)
    found = parting.exchanged(made, courses.constant, 0, 20, seed=3, v=8)
    dates = exchanged(word.strata, 20, randomness.key(3, "permutations", 8))
    signs = test.signs(made, 0, 20, 3, 8)
    for p in range(20):
        waves, constant = made.waves[dates[p]], courses.constant[dates[p]]
        sums = waves.T @ made.documents.scores + np.tensordot(signs[:, p], made.noise, axes=(0, 1))
        rest = made.documents.scores - constant @ (constant.T @ made.documents.scores)
        np.testing.assert_allclose(found.lengths[:, p], (sums**2).sum(axis=1), rtol=1e-3)
        np.testing.assert_allclose(found.spreads[:, p], (rest**2).sum(axis=1) @ waves**2, rtol=1e-3)


def test_groups_that_part_are_found() -> None:
    assert p_of(a_word(300, part=2.0), permutations=999) == 0.001
    found = np.mean([p_of(a_word(part=1.5, differ=2.0, course=2.0, seed=seed), v=seed) <= 0.05 for seed in range(40)])
    assert found > 0.6
    units = np.arange(300) // 2
    word = a_word(300, part=2.0)
    same = word[0]._replace(units=units)  # two documents of a slice, mostly
    assert p_of((same, *word[1:])) < 0.05


def test_courses_are_orthonormal_and_say_nothing_of_slices_and_groups() -> None:
    word = a_word()
    made, courses = prepared(*word)
    both = np.concatenate([courses.constant, courses.waves], axis=1)
    np.testing.assert_allclose(both.T @ both, np.eye(both.shape[1]), atol=1e-9)
    for t in range(SLICES):
        np.testing.assert_allclose(both[word[0].strata == t].sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(courses.constant.T @ made.documents.scores, 0, atol=1e-9)
    assert courses.waves.shape[1] == SLICES - 1  # as many ways in which a difference can change
    assert courses.weights[0] == 1


def test_groups_must_share_slices() -> None:
    apart, expected, smoothing = a_word()
    options: Any = {"n_slices": SLICES, "permutations": 19, "seed": 0, "v": 0}
    by_group = apart._replace(strata=apart.time * 3)  # each has slices of its own
    assert parting.run(by_group, expected, smoothing, **options) is None
    once = apart._replace(strata=np.where(apart.strata == 3, 3, 4 + apart.time))  # they share one
    assert parting.run(once, expected, smoothing, **options) is None
