"""When a word changed, as its documents show it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftword.inference import change_dates
from driftword.inference.change_dates import ChangeDate
from driftword.inference.permutation_test import CenteredScores

Days = npt.NDArray[np.int64]
VARIANCE = np.array([2.0, 1.0, 0.5, 0.5])
LAST = 3650  # day


def documents(
    n: int, *, change: float, shift: float, length: float = 0, seed: int = 0, days: Days | None = None
) -> tuple[CenteredScores, Days]:
    """Return documents, and their days, of a word whose mean moves in a random direction, at once or gradually."""
    random = np.random.default_rng(seed)
    day = random.integers(0, LAST, n) if days is None else random.choice(days, n)
    root = np.sqrt(random.uniform(0.3, 3, n))
    direction = random.normal(size=4) * VARIANCE
    noise = random.normal(size=(n, 4)) * np.sqrt(VARIANCE)
    moved = np.clip((day - change) / length + 0.5, 0, 1) if length else (day >= change) * 1.0
    return CenteredScores(noise + shift * root[:, None] * direction * moved[:, None], root), day


def find(found: tuple[CenteredScores, Days], calendar: Days | None = None) -> ChangeDate:
    result = change_dates.find(*found, VARIANCE, calendar)
    assert result is not None
    return result


@pytest.mark.parametrize("seed", range(3))
def test_evidence_is_that_of_a_normal_distribution(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one size of changes: the density of all scores, each direction a normal vector with a common mean."""
    found, day = documents(25, change=3, shift=1.0, seed=seed, days=np.arange(5))
    n, root, size = len(found.root), found.root, 0.7
    monkeypatch.setattr(change_dates, "SIZES", np.array([size]) * VARIANCE.sum() / len(VARIANCE))
    course = change_dates.Course.of(found, day, VARIANCE)
    assert course is not None
    course = change_dates.Course(course.days, course.number, course.weights, course.sums, VARIANCE, tempering=1.0)
    before, weight = np.cumsum(course.sums, axis=0)[:-1], np.cumsum(course.weights)[:-1]
    total = (root**2).sum()
    evidence = course.evidence(before, weight * (total - weight) / total)

    def log_density(x: npt.NDArray[np.float64], covariance: npt.NDArray[np.float64]) -> float:
        return float(-0.5 * (np.linalg.slogdet(covariance)[1] + x @ np.linalg.solve(covariance, x)))

    for t, one in zip(course.days[1:], evidence, strict=True):
        expected = 0.0
        for k, noise in enumerate(VARIANCE):
            flat = noise * np.eye(n) + 1e7 * np.outer(root, root)  # the mean may be anything
            late = root * (day >= t)
            step = late - root * (late @ root) / total  # the change, apart from the mean
            changed = flat + size * noise**2 * np.outer(step, step)
            expected += log_density(found.scores[:, k], changed) - log_density(found.scores[:, k], flat)
        assert one == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_intervals_hold_the_day_of_an_abrupt_change() -> None:
    """In about nine of ten cases, whether it is easily seen or hardly; and they are no wider than needed."""
    widths = []
    for shift, n in ((2.0, 200), (0.6, 200), (0.4, 120)):
        held, wide = [], []
        for seed in range(100):
            change = 600 + 25 * seed
            found = find(documents(n, change=change, shift=shift, seed=seed))
            held.append(found.low <= change <= found.high)
            wide.append(found.high - found.low + 1)
            assert found.low <= found.change <= found.high
            assert found.last_before < found.change
        assert np.mean(held) > 0.84
        widths.append(np.mean(wide))
    assert widths[0] < 250 < widths[1] < widths[2] < 3000


def test_abrupt_changes_are_told_from_gradual_ones() -> None:
    abrupt = [find(documents(300, change=1800, shift=1.5, seed=seed)) for seed in range(20)]
    gradual = [find(documents(300, change=1800, length=1500, shift=1.5, seed=seed)) for seed in range(20)]
    assert np.mean([found.gradual < 0.5 for found in abrupt]) >= 0.9
    assert np.mean([found.gradual > 0.5 for found in gradual]) >= 0.9
    assert np.median([found.begin for found in gradual]) == pytest.approx(1200, abs=250)  # 10% of it had happened
    assert np.median([found.end for found in gradual]) == pytest.approx(2400, abs=250)
    assert np.mean([found.low <= 1800 <= found.high for found in gradual]) >= 0.8


def test_a_gap_is_seen() -> None:
    gap = np.r_[np.arange(0, 1000), np.arange(2500, LAST)]
    found = find(documents(300, change=1700, shift=3.0, days=gap))
    assert found.last_before < 1000 < 2500 <= found.change <= found.high
    assert found.low < 2500 - 1000


def test_dates_of_years_are_years() -> None:
    years = np.arange("1960", "1990", dtype="datetime64[Y]").astype("datetime64[D]").astype(np.int64)
    change = int(years[12])
    for when in (change, change - 200):  # between two of them is the second
        found = find(documents(400, change=when, shift=2.0, days=years), years)
        assert (found.low, found.change, found.high) == (change, change, change)
        assert {found.begin, found.end} <= set(years.tolist())


def test_many_days_are_compared_as_if_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [documents(1500, change=300 * seed, shift=0.7, seed=seed) for seed in range(2, 8)]
    few = [find(word) for word in words]
    monkeypatch.setattr(change_dates, "MOST_DAYS", 10**6)
    for one, exact in zip(few, map(find, words), strict=True):
        assert one.change == exact.change
        assert one.gradual == pytest.approx(exact.gradual, abs=0.02)
        assert (one.low, one.high) == pytest.approx((exact.low, exact.high), abs=10)


def test_a_word_of_one_day_has_no_date() -> None:
    one, _ = documents(30, change=5, shift=3.0)
    assert change_dates.find(one, np.full(30, 7), VARIANCE, None) is None
    assert change_dates.find(one.among(one.root < 0), np.zeros(0, dtype=np.int64), VARIANCE, None) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12).filter(lambda chances: sum(chances) > 1e-3))
def test_the_shortest_time(chances: list[float]) -> None:
    grid = np.arange(len(chances) + 1, dtype=np.float64)
    chance = np.r_[0, np.cumsum(chances)] / sum(chances)
    chance = (chance + 1e-9 * grid / grid[-1]) / (1 + 1e-9)
    low, high = change_dates.shortest(grid, chance)
    assert np.diff(np.interp([low, high], grid, chance)) == pytest.approx(0.9, abs=1e-6)
    begin = np.linspace(0, grid[-1], 400)  # what is shorter does not hold as much, wherever it begins
    held = np.interp(begin + (high - low) - 1e-3, grid, chance) - np.interp(begin, grid, chance)
    assert held.max() < 0.9 + 1e-6
