"""What shows change at a glance: distances from the first use, when words changed, and journeys among neighbours."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import driftword as dw
from conftest import grouped_model, random_model, with_changes
from driftword import explore
from driftword.explore import dated_changes, first_use, vectors
from driftword.explore.vectors import MIN_COUNT
from explore.test_before_and_after import SLICE_COUNT, WORDS, moving_model, with_counts


def unit_path(model: dw.Model, word: str) -> np.ndarray:
    """Return the centred directions of a word, one slice after the other."""
    rows = []
    for t in range(len(model.slices)):
        vectors_of = np.asarray(model.rho_at(t), dtype=np.float64)
        often = np.asarray(model.vocabulary.train_counts)[t] >= MIN_COUNT
        row = vectors_of[model.word_id(word)] - vectors_of[often].mean(axis=0)
        rows.append(row / np.linalg.norm(row))
    return np.array(rows)


def test_distances_are_those_of_a_plain_computation() -> None:
    model = moving_model()
    for word in WORDS:
        path = unit_path(model, word)
        table = explore.displacement(model, word)
        assert table["distance"].to_list() == pytest.approx([1 - float(row @ path[0]) for row in path], abs=1e-6)
        assert table["count"].to_list() == np.asarray(model.counts)[:, model.word_id(word)].tolist()
    moved = explore.displacement(model, "energy")
    assert (moved["distance"][6:] > 0.7).all()
    assert (moved["distance"][:6] < 0.1).all()
    # The others stay, and so does the band: the word that moved is far outside of it.
    tested = explore.displacement(with_changes(model, {"energy": "1906"}), "energy")
    assert (tested["usual_high"] < moved["distance"].max()).all()
    assert tested["usual_high"].max() < 0.3  # type: ignore[operator]
    assert (moved["usual_low"] <= moved["usual_high"]).all()


def test_distances_begin_where_a_word_is_first_attested() -> None:
    model = moving_model()
    counts = np.array(model.counts)
    counts[:3, 0] = 1  # too few to count
    late = with_counts(model, counts)
    assert first_use.first_attested(late, 0) == 3
    assert explore.displacement(late, "energy")["distance"][3] == pytest.approx(0, abs=1e-9)


def test_words_that_changed_are_not_among_those_that_are_usual() -> None:
    """All but a few words move; where a test found that, the band is that of the few."""
    random = np.random.default_rng(1)
    words = [f"w{i}" for i in range(60)]
    base = random.normal(size=(1, 60, 8)).repeat(6, axis=0).astype(np.float32)
    base[3:, :40] = random.normal(size=(1, 40, 8))
    model = random_model(words, slices=6)
    model = dw.Model(
        base, base[0], vocabulary=model.vocabulary, spec=dw.Spec(dim=8), provenance=model.provenance
    )  # fmt: skip
    tested = with_changes(model, {f"w{i}": "1993" for i in range(40)})
    assert explore.displacement(model, "w0")["usual_high"][-1] > 0.5
    assert explore.displacement(tested, "w0")["usual_high"][-1] < 0.2


def test_the_interval_holds_the_line(small_model: dw.Model, small: dw.Corpus) -> None:
    distance = explore.displacement(small_model, "ship")["distance"].to_numpy()
    low, high = (np.array(end) for end in explore.displacement_interval(small_model, "ship", small))
    assert (low <= distance + 1e-9).all()
    assert (distance <= high + 1e-9).all()
    first = first_use.first_attested(small_model, small_model.word_id("ship"))
    assert (low[first], high[first]) == (pytest.approx(0, abs=1e-6), pytest.approx(0, abs=1e-6))
    assert (np.delete(high - low, first) > 0).all()


def test_groups_are_measured_from_the_first_use_in_all_text() -> None:
    model = grouped_model(["a", "b", "c"])
    found = explore.group_displacement(model, "wheat", ["c", "a"])
    assert found["group"].to_list() == ["c"] * 4 + ["a"] * 4
    v = model.word_id("wheat")
    for name, t in (("c", 1), ("a", 0), ("a", 3)):
        here = model.group(name).rho[t, v] - model.rho[t].mean(axis=0)
        start = model.rho[0, v] - model.rho[0].mean(axis=0)
        row = found.row(
            by_predicate=(pl.col("group") == name) & (pl.col("slice") == model.slices.labels[t]), named=True
        )
        cosine = here @ start / np.linalg.norm(here) / np.linalg.norm(start)
        assert row["distance"] == pytest.approx(1 - cosine, abs=1e-5)
        assert row["count"] == model.group(name).counts[t][v]


def test_a_timeline_has_the_words_that_changed_most() -> None:
    random = np.random.default_rng(2)
    words = [f"w{i}" for i in range(300)]
    rho = random.normal(size=(1, 300, 6)).repeat(8, axis=0) + 0.05 * random.normal(size=(8, 300, 6))
    changes = {f"w{i}": str(1991 + i % 7) for i in range(250, 300)}
    for i in range(250, 300):
        rho[1 + i % 7 :, i] += (i - 249) / 25 * random.normal(size=6)
    counts = random.integers(5, 60, size=(8, 300))
    model = random_model(words, slices=8)
    vocabulary = type(model.vocabulary)(model.words, model.slices, counts, counts)
    rho = rho.astype(np.float32)
    moving = dw.Model(rho, rho[0], vocabulary=vocabulary, spec=dw.Spec(dim=6), provenance=model.provenance)
    assert explore.timeline(moving).is_empty()
    assert explore.changes_by_slice(moving) is None
    tested = with_changes(moving, changes)
    assert sum(explore.changes_by_slice(tested) or []) == 50
    assert tested.significance is not None
    strength = dict(zip(tested.words, tested.significance.strength, strict=True))
    strongest = sorted(changes, key=lambda word: -strength[word])
    table = explore.timeline(tested)
    assert table["strength"].to_list() == [strength[word] for word in table["word"]]
    assert table["word"][: dated_changes.OVERALL].to_list() == strongest[: dated_changes.OVERALL]
    for at in set(changes.values()):
        best = [word for word in strongest if changes[word] == at][: dated_changes.PER_SLICE]
        assert set(best) <= set(table["word"])


def test_a_journey_goes_from_the_former_neighbours_to_the_later_ones() -> None:
    model = moving_model()
    found = explore.journey(model, "energy")
    path = np.array(found["path"])
    assert path[:6, 0].max() < path[6:, 0].min()  # from left to right
    assert found["shown"] > 0.8
    places = {anchor["word"]: anchor["place"] for anchor in found["anchors"]}
    assert set(places) == set(WORDS[1:])
    assert max(places[word][0] for word in ("vigour", "zeal", "effort")) < min(
        places[word][0] for word in ("oil", "gas", "coal")
    )
    own = unit_path(model, "energy")
    for anchor in found["anchors"]:
        plain = [float(a @ b) for a, b in zip(own, unit_path(model, anchor["word"]), strict=True)]
        assert anchor["similarity"] == pytest.approx(plain, abs=6e-4)
    peaks = [anchor["peak"] for anchor in found["anchors"]]
    assert peaks == sorted(peaks)
    by_word = {anchor["word"]: anchor["peak"] for anchor in found["anchors"]}
    assert by_word["oil"] >= 6 > by_word["zeal"]


@pytest.mark.parametrize(("words", "slices"), [(1, 4), (2, 2), (3, 1 + 1)])
def test_the_smallest_models_have_journeys(words: int, slices: int) -> None:
    model = random_model([f"w{i}" for i in range(words)], slices=slices)
    found = explore.journey(model, "w0")
    assert len(found["path"]) == slices
    assert len(found["anchors"]) == words - 1
    assert np.isfinite(found["path"]).all()


@pytest.mark.slow
def test_similarities_are_kept_and_bounded() -> None:
    model = moving_model()
    for t in range(SLICE_COUNT):
        for v in range(len(WORDS)):
            found = vectors.similarities(model, t, v)
            own = unit_path(model, WORDS[v])[t]
            assert found[v] == pytest.approx(1, abs=1e-5)
            plain = [float(unit_path(model, other)[t] @ own) for other in WORDS]
            assert found.tolist() == pytest.approx(plain, abs=1e-5)
    assert vectors.similarities(model, 3, 2) is vectors.similarities(model, 3, 2)
    assert len(model.cached("similarities", dict)) <= vectors._KEPT


def test_words_that_moved_by_chance_are_told_apart() -> None:
    model = random_model([f"w{i}" for i in range(40)], slices=5)
    assert explore.by_chance(model) == []
    tested = with_changes(model, {f"w{i}": "1992" for i in range(20)})
    found = explore.by_chance(tested)
    ranked = dw.drift(model, n=None, metric="cosine", skip=0)["word"].to_list()
    assert found == [word for word in ranked if int(word[1:]) >= 20][:5]
