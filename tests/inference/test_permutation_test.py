"""The permutation test of one word, beside plain sums over explicit permutations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftword.basics import randomness
from driftword.inference import permutation_test as test
from driftword.inference import score_kernels as kernels
from driftword.inference.document_scores import Expected, Scores, smooth
from driftword.inference.false_discovery import false_discovery_rates
from driftword.models.significance_table import HALF_WIDTH


def random_word(documents: int, *, slices: int = 6, dim: int = 5, shift: float = 0.0, seed: int = 0) -> Any:
    """Return scores of a word whose contexts move by `shift` over the time, and what is expected of it."""
    random = np.random.default_rng(seed)
    slice_of = np.sort(random.integers(0, slices, documents)).astype(np.int32)
    weights = random.uniform(0.2, 3, documents).astype(np.float32)
    contexts = random.normal(size=(documents, dim)) * np.sqrt(weights)[:, None]
    contexts[:, 0] += shift * weights * slice_of / slices
    nothing = np.zeros((slices, dim))
    scores = Scores(np.arange(documents), slice_of, contexts.astype(np.float32), weights)
    return scores, Expected(nothing, nothing, np.ones(slices)), smooth(np.bincount(slice_of, minlength=slices))


def prepared(documents: int, *, strata: Any = None, **options: Any) -> test.PreparedWord:
    scores, expected, smoothing = random_word(documents, **options)
    word = test.prepare(test.WordDocuments(scores, scores.slice_of, strata), expected, smoothing, n_times=6)
    assert word is not None
    return word


@pytest.mark.parametrize("documents", [70, 97, 250])  # of which two are no products of small factors
def test_rotations_are_permutations_of_the_dates(documents: int) -> None:
    word, random = prepared(documents), np.random.default_rng(documents)
    scores, waves = word.documents.scores.astype(np.float32), word.waves.astype(np.float32)
    noise = random.normal(size=(waves.shape[1], 4, scores.shape[1])).astype(np.float32)
    signs = random.choice([-1, 1], size=(4, 300)).astype(np.float32)
    squares = (scores**2).sum(axis=1)
    found = test.rotated(scores, waves, waves.T @ scores, squares @ waves**2, noise=noise, signs=signs, seed=4, v=2)
    order, cycle, turn = test.rotations(documents, 300, 4, 2)
    assert (turn != 0).all()  # which would change nothing
    assert (turn < order.shape[1]).all()
    assert len(set(zip(cycle, turn, strict=True))) == 300
    for p in (0, 17, 299):
        chosen = order[cycle[p]]
        dates = np.arange(documents)  # the date that each document gets
        dates[chosen] = np.roll(chosen, -turn[p])
        assert sorted(dates) == list(range(documents))
        sums = waves[dates].T @ scores + np.tensordot(signs[:, p], noise, axes=(0, 1))
        np.testing.assert_allclose(found.lengths[:, p], (sums**2).sum(axis=1), rtol=1e-4)
        np.testing.assert_allclose(found.spreads[:, p], squares @ waves[dates] ** 2, rtol=1e-4)


def exchanged(strata: Any, permutations: int, key: int = 5) -> Any:
    """Return the document whose date each gets, permutation by permutation."""
    members, begin = test.by_stratum(np.asarray(strata))
    label, dates = np.empty(len(members), dtype=np.int64), np.empty((permutations, len(members)), dtype=np.int64)
    counter = np.uint64(0)
    for row in dates:
        counter = np.uint64(kernels.exchange(begin, members, np.uint64(key), counter, label))
        row[members] = label
    return dates


def test_few_documents_are_permuted_one_by_one() -> None:
    found = exchanged(np.zeros(12, dtype=np.int64), 500)
    np.testing.assert_array_equal(np.sort(found, axis=1), np.tile(np.arange(12), (500, 1)))
    for document in range(12):
        times = np.bincount(found[:, document], minlength=12)
        assert times.min() > 15
        assert times.max() < 80
    assert len({tuple(row) for row in found.tolist()}) == 500


def test_dates_are_exchanged_within_strata() -> None:
    strata = np.array([2, 0, 1, 0, 2, 1, 0, 2, 2, 1, 3, 0])
    found = exchanged(strata, 200)
    np.testing.assert_array_equal(strata[found], np.tile(strata, (200, 1)))
    assert len({tuple(row) for row in found.tolist()}) > 150


@pytest.mark.parametrize(("documents", "dim", "permutations"), [(9, 3, 19), (40, 33, 200), (63, 100, 21)])
@pytest.mark.parametrize("n_strata", [1, 3])
def test_lengths_are_those_of_sums_over_exchanged_dates(
    documents: int, dim: int, permutations: int, n_strata: int
) -> None:
    random = np.random.default_rng(documents)
    strata = random.integers(0, n_strata, documents)
    scores, waves = (random.normal(size=(documents, n)).astype(np.float32) for n in (dim, 4))
    noise = random.normal(size=(4, 5, dim)).astype(np.float32)
    signs = random.choice([-1, 1], size=(5, permutations)).astype(np.float32)
    found = test.permuted(scores, waves, strata, noise=noise, signs=signs, seed=3, v=8)
    dates = exchanged(strata, permutations, key=randomness.key(3, "permutations", 8))
    for p in range(permutations):
        sums = waves[dates[p]].T @ scores + np.tensordot(signs[:, p], noise, axes=(0, 1))
        np.testing.assert_allclose(found.lengths[:, p], (sums**2).sum(axis=1), rtol=1e-4)
        spreads = (scores**2).sum(axis=1) @ waves[dates[p]] ** 2
        np.testing.assert_allclose(found.spreads[:, p], spreads, rtol=1e-4)


def undated(time: Any, strata: Any = None) -> test.WordDocuments:
    """Return documents of which only their times are known."""
    none: Any = None
    return test.WordDocuments(none, time, strata)


def test_waves_are_orthonormal_within_strata() -> None:
    slice_of, strata = np.repeat(np.arange(8), 9), np.tile(np.arange(9), 8)
    for chosen in (None, strata):
        waves, weights = test.waves_over_time(undated(slice_of, chosen), 8)
        np.testing.assert_allclose(waves.T @ waves, np.eye(len(weights)), atol=1e-9)
        np.testing.assert_allclose(waves.sum(axis=0), 0, atol=1e-9)
        assert weights.tolist() == [1 / k for k in range(1, test.WAVES + 1)]
    two, weights = test.waves_over_time(undated(np.array([0, 0, 1, 1, 1])), 2)
    assert two.shape == (5, 1)  # two slices differ in one way only
    assert test.waves_over_time(undated(np.zeros(5, dtype=int)), 2)[0].shape == (5, 0)


def test_a_word_that_changes_is_found_and_one_that_does_not_is_not() -> None:
    for documents in (40, 200):
        changed = test.run(prepared(documents, shift=4.0), permutations=999, seed=0, v=0)
        assert changed.p == 0.001
        assert changed.z > 5
        assert changed.effect - 1.6449 * changed.error > 0
    p = np.array([test.run(prepared(60, seed=s), permutations=199, seed=0, v=s).p for s in range(200)])
    assert 0.02 < (p <= 0.05).mean() < 0.09
    assert 0.4 < p.mean() < 0.6
    assert p.min() >= 1 / 200  # never 0


def test_the_effect_is_the_share_that_time_explains() -> None:
    """Of all variation; its interval holds the mean over many samples in about 90% of them."""
    effects = []
    for seed in range(150):
        found = test.run(prepared(150, shift=1.2, dim=3, seed=seed), permutations=199, seed=0, v=seed)
        effects.append((found.effect, found.error))
    mean = np.mean([effect for effect, _ in effects])
    held = [abs(effect - mean) <= HALF_WIDTH * error for effect, error in effects]
    assert 0.82 <= np.mean(held) <= 0.98
    assert 0.02 < mean < 0.08  # the shift has a variance of 1.2² / 12 x (weights), beside 3 dimensions of noise


def test_the_effect_of_few_documents_is_no_smaller() -> None:
    """A step that explains a quarter of the variation, and the share of that which waves can follow."""
    for documents in (12, 20, 60):
        random, effects, held = np.random.default_rng(documents), [], []
        for seed in range(150):
            slice_of = np.sort(random.integers(0, 6, documents)).astype(np.int32)
            ones, nothing = np.ones(documents, dtype=np.float32), np.zeros((6, 8))
            contexts = random.normal(size=(documents, 8)) / np.sqrt(8)
            contexts[:, 0] += 2 / np.sqrt(3) * (slice_of >= 3)  # a variance of 1/3, beside one of 1
            scores = Scores(np.arange(documents), slice_of, contexts.astype(np.float32), ones)
            smoothing = smooth(np.bincount(slice_of, minlength=6))
            word = test.prepare(
                test.WordDocuments(scores, slice_of, None), Expected(nothing, nothing, np.ones(6)), smoothing, n_times=6
            )
            assert word is not None
            found = test.run(word, permutations=99, seed=0, v=seed)
            effects.append(found.effect)
            held.append(abs(found.effect - 0.25) <= HALF_WIDTH * found.error)
        assert np.mean(effects) == pytest.approx(0.25, abs=0.03)
        assert np.mean(held) > 0.84


def test_a_few_noisy_documents_at_one_end_are_no_change() -> None:
    """They would be one for every third word, if sums over time were not divided by their spread."""
    p, undivided = [], []
    for seed in range(150):
        random = np.random.default_rng(seed)
        slice_of = np.where(random.random(80) < 0.12, 0, random.integers(1, 6, 80)).astype(np.int32)
        contexts = random.normal(size=(80, 10)) * np.where(slice_of == 0, 2.5, 1)[:, None]
        scores = Scores(np.arange(80), slice_of, contexts.astype(np.float32), np.ones(80, dtype=np.float32))
        nothing = np.zeros((6, 10))
        word = test.prepare(
            test.WordDocuments(scores, slice_of, None), Expected(nothing, nothing, np.ones(6)),
            smooth(np.bincount(slice_of, minlength=6)), n_times=6,
        )  # fmt: skip
        assert word is not None
        p.append(test.run(word, permutations=199, seed=0, v=seed).p)
        exchanged = test.permuted(
            word.documents.scores.astype(np.float32), word.waves.astype(np.float32), np.zeros(80, dtype=np.int64),
            noise=word.noise.astype(np.float32), signs=test.signs(word, 0, 199, 0, seed), seed=0, v=seed,
        )  # fmt: skip
        null = word.weights @ exchanged.lengths
        undivided.append((1 + (null >= word.weights @ word.own.lengths[:, 0]).sum()) / 200)
    assert 0.01 < np.mean(np.array(p) <= 0.05) < 0.11
    assert np.mean(np.array(undivided) <= 0.05) > 0.25


def test_words_that_are_surely_unchanged_take_fewer_exchanges() -> None:
    for documents in (40, 150):
        unchanged, changed = (
            test.run(prepared(documents, shift=shift), permutations=999, seed=0, v=0) for shift in (0, 4)
        )
        assert len(unchanged.null) == test.FIRST
        assert unchanged.p >= (1 + test.ENOUGH_ABOVE) / (1 + test.FIRST)
        assert len(changed.null) == 999
        assert changed.p == 0.001


def test_noise_of_the_expected_contexts_makes_a_test_careful() -> None:
    scores, expected, smoothing = random_word(200, shift=0.6, seed=1)
    noisy = Expected(expected.mean, np.random.default_rng(0).normal(size=expected.noise.shape), expected.chances)
    documents = test.WordDocuments(scores, scores.slice_of, None)
    words = [test.prepare(documents, e, smoothing, n_times=6) for e in (expected, noisy)]
    sure, unsure = (test.run(word, permutations=499, seed=0, v=0) for word in words if word is not None)
    assert sure.z > unsure.z + 1


def test_strata_hide_a_change_of_who_speaks() -> None:
    """Two speakers use a word differently, and one follows upon the other."""
    results = {}
    for difference in (0, 3):
        scores, expected, smoothing = random_word(200, slices=6, seed=3)
        speaker = (scores.slice_of + np.random.default_rng(0).integers(-1, 2, 200) > 2).astype(np.int64)
        scores.contexts[:, 1] += difference * scores.weights * speaker
        for strata in (None, speaker):
            word = test.prepare(test.WordDocuments(scores, scores.slice_of, strata), expected, smoothing, n_times=6)
            assert word is not None
            results[difference, strata is not None] = test.run(word, permutations=499, seed=0, v=0)
    assert results[3, False].p == 0.002
    assert results[3, True].p == results[0, True].p > 0.05
    np.testing.assert_allclose(results[3, True].effect, results[0, True].effect, atol=1e-5)


@given(st.integers(2, 20_000))
def test_smooth_lengths_are_close(n: int) -> None:
    length = test.smooth_length(n)
    assert 0.9 * n <= length <= n
    assert length == n or n > 10


def test_false_discovery_rates_follow_the_evidence() -> None:
    random = np.random.default_rng(0)
    z = np.r_[random.normal(size=950), random.normal(8, 1, size=50)]
    results = []
    for value in z:
        null = random.normal(size=400).astype(np.float32)
        p = (1 + (null >= value).sum()) / 401
        results.append(test.TestResult(0.0, 1.0, p, float(value), null))
    rates = false_discovery_rates(results, np.arange(1000))
    assert (rates > 0).all()
    assert (rates <= 1).all()
    called = rates <= 0.1
    assert called[950:].mean() > 0.95
    assert called[:950].sum() <= 15
    rare = np.array([result.p for result in results]) <= 0.02
    order = np.argsort(-z[rare])
    assert np.corrcoef(np.argsort(np.argsort(-rates[rare])), np.argsort(np.argsort(z[rare])))[0, 1] > 0.95
    assert len(order)
    assert false_discovery_rates([], np.zeros(0)).shape == (0,)


def test_nothing_is_called_where_nothing_changes() -> None:
    random = np.random.default_rng(1)
    for _ in range(5):
        results = []
        for value in random.normal(size=500):
            null = random.normal(size=200).astype(np.float32)
            results.append(test.TestResult(0.0, 1.0, (1 + (null >= value).sum()) / 201, float(value), null))
        assert (false_discovery_rates(results, np.arange(500)) <= 0.05).sum() <= 1
