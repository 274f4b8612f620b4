"""When meaning changed: dates, evidence, and how unusual a change is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import driftword as dw
from conftest import toy_model
from driftword.explore import changepoints

WORDS = [f"word{i}" for i in range(400)]


def make(rho: Any, counts: Any) -> dw.Model:
    return toy_model(rho, counts, WORDS[: np.shape(counts)[1]])


def slow_split(way: np.ndarray, seen: np.ndarray) -> tuple[int, float, float]:
    """Return slice, gain and distance of a word's best change point, worked out split by split."""
    times = np.flatnonzero(seen)
    found = {}
    for i in range(1, len(times)):
        before, after = way[times[:i]], way[times[i:]]
        within = sum(((part - part.mean(axis=0)) ** 2).sum() for part in (before, after))
        gain = ((way[times] - way[times].mean(axis=0)) ** 2).sum() - within
        step = ((way[times[i]] - way[times[i - 1]]) ** 2).sum() / (times[i] - times[i - 1])
        apart = np.linalg.norm(before.mean(axis=0) - after.mean(axis=0))
        found[int(times[i])] = (float(gain), float(step), float(apart))
    if not found:
        return 0, 0.0, 0.0
    most = max(gain for gain, _, _ in found.values())
    best = max((t for t in found if found[t][0] >= 0.7 * most), key=lambda t: found[t][1])
    return best, found[best][0], found[best][2]


@given(st.integers(1, 14), st.integers(1, 8), st.integers(1, 12), st.floats(0.1, 1), st.integers(0, 2**32))
def test_trajectories_are_split_as_by_the_slow_twin(slices: int, size: int, dim: int, share: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    ways = (random.normal(size=(slices, size, dim)).cumsum(axis=0) + 3 * random.normal()).astype(np.float32)
    seen = random.random((slices, size)) < share
    found = changepoints._split(ways, seen)
    for w in range(size):
        place, gain, distance = slow_split(ways[:, w].astype(np.float64), seen[:, w])
        assert found.slice[w] == place
        assert found.gain[w] == pytest.approx(gain, rel=1e-3, abs=1e-4)
        assert found.distance[w] == pytest.approx(distance, rel=1e-3, abs=1e-4)


def test_what_stands_still_does_not_change() -> None:
    still = np.repeat(np.random.default_rng(0).normal(size=(1, 60, 20)) * 5, 30, axis=0)
    model = make(still, np.full((30, 60), 40))
    assert dw.changes(model).is_empty()
    assert dw.changes(model, WORDS[3]).is_empty()


def test_a_change_is_compared_with_words_as_frequent() -> None:
    """Rare words tremble ten times as much: what is usual for them is unusual for a frequent word."""
    random = np.random.default_rng(4)
    order = random.permutation(400)  # a user's own ids need not be sorted
    frequency = np.empty(400, dtype=int)
    frequency[order] = np.repeat([1000, 100, 60, 10], 100)
    rho = random.normal(size=(9, 400, 20)) * (frequency[None, :, None] == 10) + random.normal(size=(400, 20))
    rho += 0.1 * random.normal(size=(9, 400, 20))
    rare, frequent = order[350], order[50]
    for v in (rare, frequent):
        rho[5:, v] += 0.25
    model = make(rho, np.repeat(frequency[None], 9, axis=0))
    assert dw.changes(model, WORDS[rare], n=1)["rank"][0] < 0.9
    assert dw.changes(model, WORDS[frequent], n=1)["rank"][0] == 1
    table = dw.changes(model, n=400)
    for row in table.sample(30, seed=0).iter_slices(1):
        assert_frame_equal(dw.changes(model, row["word"][0], n=1), row, rel_tol=1e-3)


def test_a_word_without_peers_is_not_unusual() -> None:
    model = make(np.arange(12.0).reshape(6, 1, 2), np.full((6, 1), 9))
    assert dw.changes(model, WORDS[0], n=1)["rank"].to_list() == [0]


def test_small_change_points_are_noise_and_need_evidence() -> None:
    rho = np.zeros((12, 3, 4))
    rho[4:, 0] = 1
    rho[8:, 0] = 0.8  # explains about 3% of all
    rho[4:, 1] = 1
    rho[8:, 1] = 0.5  # explains a fifth
    counts = np.full((12, 3), 9)
    counts[:4, 2] = 1
    rho[4:, 2] = 1
    model = make(rho, counts)
    assert dw.changes(model, WORDS[0])["slice"].to_list() == ["1940"]
    assert sorted(dw.changes(model, WORDS[1])["slice"]) == ["1940", "1980"]
    assert dw.changes(model, WORDS[2], min_count=5).is_empty()
    assert dw.changes(model, WORDS[2], min_count=4)["slice"].to_list() == ["1940"]


def smoothed(way: np.ndarray, precision: float = 8.0) -> np.ndarray:
    """Smooth a way as a random walk does."""
    steps = np.diff(np.eye(len(way)), axis=0)
    return np.asarray(np.linalg.solve(np.eye(len(way)) + precision * steps.T @ steps, way))


@pytest.mark.slow
@pytest.mark.parametrize("true", [2, 3, 5, 7, 8])
def test_a_smoothed_change_is_dated_right(true: int) -> None:
    random = np.random.default_rng(true)
    rho = 0.1 * random.normal(size=(11, 60, 20)) + random.normal(size=(60, 20))
    rho[true:, 7] += 1.5 * random.normal(size=20)
    model = make(np.apply_along_axis(smoothed, 0, rho), np.full((11, 60), 40))
    for table in (dw.changes(model, WORDS[7], n=1), dw.changes(model, n=1)):
        row = table.row(0, named=True)
        assert (row["word"], row["slice"]) == (WORDS[7], model.slices.labels[true])
        assert row["rank"] == 1
    others = [dw.changes(model, word, n=1)["rank"].to_list() for word in WORDS[10:20]]
    assert 0.2 < np.mean([one for row in others for one in row]) < 0.8  # they are as usual as each other


def test_changes_are_dated_where_a_word_occurs() -> None:
    random = np.random.default_rng(1)
    rho, counts = 0.05 * random.normal(size=(11, 60, 20)) + 1, np.full((11, 60), 40)
    rho[3:8, 7] += np.linspace(0, 1, 5)[:, None]  # what interpolation makes of a gap
    rho[8:, 7] += 1
    counts[3:8, 7] = 0
    counts[:8, 9] = 0  # a new word
    model = make(rho, counts)
    assert dw.changes(model, WORDS[7], n=1)["slice"].to_list() == [model.slices.labels[8]]
    assert dw.changes(model, n=1).select("word", "slice").row(0) == (WORDS[7], model.slices.labels[8])
    assert set(dw.changes(model, WORDS[9])["slice"]) <= set(model.slices.labels[9:])


def test_changes_count_up_to_the_next_one() -> None:
    rho = np.random.default_rng(1).normal(size=(9, 60, 20))
    rho[:, 7] = np.repeat([[0.0], [9.0], [2.0]], 3, axis=0) + np.zeros((9, 20))
    model = make(rho, np.arange(9 * 60).reshape(9, 60))
    table = dw.changes(model, WORDS[7], n=2).sort("slice")
    assert table["slice"].to_list() == [model.slices.labels[3], model.slices.labels[6]]
    thirds = model.counts[:, 7].reshape(3, 3).sum(axis=1).tolist()
    assert table["count_before"].to_list() == thirds[:2]
    assert table["count_after"].to_list() == thirds[1:]
