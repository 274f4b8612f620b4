"""When a word changed, as its documents show it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftword.evidence import change_dates
from driftword.evidence.permutation_test import CenteredScores

VARIANCE = np.array([2.0, 1.0, 0.5, 0.5])


def documents(n: int, *, change: int, shift: float, slices: int = 10, seed: int = 0) -> CenteredScores:
    """Return documents of a word whose mean moves in slice `change`, in a random direction."""
    random = np.random.default_rng(seed)
    slice_of, root = random.integers(0, slices, n), np.sqrt(random.uniform(0.3, 3, n))
    direction = random.normal(size=4) * VARIANCE
    noise = random.normal(size=(n, 4)) * np.sqrt(VARIANCE)
    return CenteredScores(noise + shift * root[:, None] * direction * (slice_of >= change)[:, None], root, slice_of)


@pytest.mark.parametrize("seed", range(3))
def test_evidence_is_that_of_a_normal_distribution(seed: int) -> None:
    """With one size of changes: the density of all scores, each direction a normal vector with a common mean."""
    found, size = documents(25, change=3, shift=1.0, slices=5, seed=seed), 0.7
    n, root = len(found.root), found.root
    slices = np.arange(5)
    sums = np.stack([(found.scores * root[:, None])[found.slice_of == t].sum(axis=0) for t in slices])
    weights = np.array([(root[found.slice_of == t] ** 2).sum() for t in slices])
    out = np.empty((1, 4))
    change_dates.kernels.change_evidence(sums, weights, VARIANCE, np.array([size]), out)

    def log_density(x: np.ndarray, covariance: np.ndarray) -> float:
        return float(-0.5 * (np.linalg.slogdet(covariance)[1] + x @ np.linalg.solve(covariance, x)))

    for t in slices[1:]:
        expected = 0.0
        for k, noise in enumerate(VARIANCE):
            flat = noise * np.eye(n) + 1e7 * np.outer(root, root)  # the mean may be anything
            total, late = (root**2).sum(), root * (found.slice_of >= t)
            step = late - root * (late @ root) / total  # the change, apart from the mean
            changed = flat + size * noise**2 * np.outer(step, step)
            expected += log_density(found.scores[:, k], changed) - log_density(found.scores[:, k], flat)
        assert out[0, t - 1] == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_intervals_hold_the_date() -> None:
    """In at least nine of ten cases, whether it is easily seen or hardly; and they are no wider than needed."""
    widths = []
    for shift, n in ((2.0, 200), (0.5, 200), (0.25, 120)):
        held, wide = [], []
        for seed in range(120):
            change = 2 + seed % 7
            found = change_dates.find(documents(n, change=change, shift=shift, seed=seed), VARIANCE)
            assert found is not None
            held.append(found.low <= change <= found.high)
            wide.append(found.high - found.low + 1)
            assert found.low <= found.slice <= found.high
        assert np.mean(held) > 0.84
        widths.append(np.mean(wide))
    assert widths[0] < 1.2 < widths[1] < widths[2] < 9


def test_dates_are_those_of_slices_with_documents() -> None:
    word = documents(60, change=5, shift=3.0)
    kept = word.among((word.slice_of < 3) | (word.slice_of > 6))
    chance = change_dates.probabilities(kept, VARIANCE)
    assert chance.argmax() == 7
    assert chance.sum() == pytest.approx(1)
    assert not chance[[0, 3, 4, 5, 6]].any()  # the first slice is no change
    assert change_dates.find(word.among(word.slice_of == 4), VARIANCE) is None
    assert change_dates.find(word.among(word.slice_of == 99), VARIANCE) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12).filter(lambda chances: sum(chances) > 1e-3))
def test_the_shortest_period(chances: list[float]) -> None:
    chance = np.array(chances) / sum(chances)
    low, high = change_dates.shortest(chance)
    assert chance[low : high + 1].sum() >= 0.9 - 1e-9
    n, width = len(chance), high - low  # one slice less would not do
    assert all(chance[i : i + width].sum() < 0.9 + 1e-9 for i in range(n - width + 1)) or width == 0
