"""The border that divides the time of a word best, beside plain sums over explicit permutations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.inference.test_permutation_test import exchanged

from driftword.basics import randomness
from driftword.inference import best_split
from driftword.inference import permutation_test as test
from driftword.inference.best_split import LEAST_ON_A_SIDE, Splits
from driftword.inference.document_scores import Expected, Scores, smooth

SLICES = 9


def a_word(
    documents: int, *, shift: float = 0.0, border: int = 4, noisy: float = 1.0, strata: Any = None, units: Any = None,
    seed: int = 0,
) -> tuple[Any, ...]:  # fmt: skip
    """Return documents of a word whose contexts are others since a border; those of the first slice may be noisy."""
    random = np.random.default_rng(seed)
    slice_of = np.sort(random.integers(0, SLICES, documents)).astype(np.int32)
    weights = random.uniform(0.2, 3, documents).astype(np.float32)
    contexts = random.normal(size=(documents, 5)) * (np.sqrt(weights) * np.where(slice_of == 0, noisy, 1))[:, None]
    contexts[:, 0] += shift * weights * (slice_of >= border)
    scores = Scores(np.arange(documents), slice_of, contexts.astype(np.float32), weights)
    nothing = np.zeros((SLICES, 5))
    expected = Expected(nothing, nothing, np.ones(SLICES))
    word = test.WordDocuments(scores, slice_of, strata, units)
    return word, expected, smooth(np.bincount(slice_of, minlength=SLICES))


def run(*word: Any, permutations: int = 199, v: int = 0) -> Any:
    return best_split.run(*word, 10 * word[0].time, permutations=permutations, seed=0, v=v)


@pytest.mark.parametrize("n_strata", [1, 3])
def test_sums_are_those_of_exchanged_dates(n_strata: int) -> None:
    """Cumulative sums, beside products of all steps with all scores."""
    random = np.random.default_rng(n_strata)
    strata = random.integers(0, n_strata, 50) if n_strata > 1 else None
    word, expected, smoothing = a_word(50, strata=strata)
    noisy = Expected(expected.mean, random.normal(size=expected.noise.shape), expected.chances)
    splits = Splits.of(word)
    prepared = test.prepare_along(word, noisy, smoothing, splits.steps, np.ones(len(splits.time)))
    found = best_split.exchanged(prepared, splits, 0, 30, seed=3, v=8)
    dates = exchanged(np.zeros(50, dtype=int) if strata is None else strata, 30, randomness.key(3, "permutations", 8))
    signs = test.signs(prepared, 0, 30, 3, 8)
    for p in range(30):
        steps = splits.steps[dates[p]]
        sums = steps.T @ prepared.documents.scores + np.tensordot(signs[:, p], prepared.noise, axes=(0, 1))
        lengths, spreads = (sums**2).sum(axis=1), prepared.squares @ steps**2
        best = np.argmax(lengths / spreads)
        np.testing.assert_allclose(found.lengths[0, p], lengths[best], rtol=1e-4)
        np.testing.assert_allclose(found.spreads[0, p], spreads[best], rtol=1e-4)


def test_borders_have_documents_on_both_sides() -> None:
    time = np.repeat([0, 2, 3, 7], [2, 9, 9, 3])
    none: Any = None
    splits = Splits.of(test.WordDocuments(none, time, None))
    assert splits.time.tolist() == [3]  # two documents before 2, and three since 7, are not enough
    assert LEAST_ON_A_SIDE == 4
    np.testing.assert_allclose(np.square(splits.steps).sum(axis=0), 1)
    np.testing.assert_allclose(splits.steps.sum(axis=0), 0, atol=1e-12)
    assert splits.place.tolist() == [0] * 11 + [1] * 12
    nested = Splits.of(test.WordDocuments(none, time, (time >= 3).astype(np.int64)))
    assert nested.time.tolist() == []  # those who exchange dates are on one side of it
    assert run(*a_word(7)) is None


def test_the_border_is_found() -> None:
    for border in (2, 4, 7):
        found, where = run(*a_word(120, shift=3.0, border=border), permutations=999)
        assert found.p == 0.001
        assert where.change == 10 * border
        assert where.last_before == 10 * (border - 1)
        assert where.before + where.since == 120
        assert found.effect - 1.6449 * found.error > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["alike", "noisy", "strata", "units"])
def test_having_looked_is_accounted_for(kind: str) -> None:
    """Of words that do not change, one in twenty has p up to 0.05; the best of the borders alone would be in more."""
    p, effects = [], []
    for seed in range(200):
        random = np.random.default_rng(seed)
        options: dict[str, Any] = {
            "alike": {}, "noisy": {"noisy": 2.5}, "strata": {"strata": random.integers(0, 3, 60)},
            "units": {"units": np.arange(60) // 2},
        }[kind]  # fmt: skip
        found, _ = run(*a_word(60, seed=seed, **options), v=seed)
        p.append(found.p)
        effects.append(found.effect)
    assert 0.01 < np.mean(np.array(p) <= 0.05) < 0.1
    assert abs(np.mean(effects)) < 0.01  # nor does the best border seem to explain anything
