"""Every question against a model small enough to answer by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import driftword as dw
from conftest import toy_model
from driftword import explore
from driftword.basics.errors import DriftwordError, OptionError
from driftword.explore import representative_slices, vectors
from driftword.explore.drift_metrics import METRICS

SLICES = 9
WORDS = ["still", "slow", "sudden", "returning", "rare", "late", *(f"other{i}" for i in range(54))]


def make(rho: Any, counts: Any, words: list[str] | None = None, **options: Any) -> dw.Model:
    return toy_model(rho, counts, words or WORDS, **options)


@pytest.fixture(scope="module")
def model() -> dw.Model:
    """Return words that move in known ways among others that only tremble."""
    random = np.random.default_rng(0)
    base = random.normal(size=(len(WORDS), 20))
    rho = np.repeat(base[None], SLICES, axis=0) + random.normal(size=(SLICES, len(WORDS), 20)) * 0.02
    goal = random.normal(size=20) * 1.5
    for t in range(SLICES):
        rho[t, 1] = base[1] + (goal - base[1]) * t / (SLICES - 1)
        rho[t, 2] = goal + 0.5 if t >= 6 else base[2]
        rho[t, 3] = goal - 0.5 if 3 <= t <= 5 else base[3]
    counts = np.full((SLICES, len(WORDS)), 50)
    counts[:, 4] = 2
    counts[:5, 5] = 0
    return make(rho, counts)


def test_neighbours_are_those_of_the_papers_equation(model: dw.Model) -> None:
    table = dw.neighbors(model, "slow", at=1940, n=60, min_count=0, metric="paper")
    v, rho = model.word_id("slow"), model.rho[4].astype(float)
    for row in table.iter_rows(named=True):
        w = model.word_id(row["word"])
        exact = np.sign(rho[v]) @ rho[w] / (np.linalg.norm(rho[v]) * np.linalg.norm(rho[w]))
        assert row["similarity"] == pytest.approx(exact, abs=1e-5)
    assert table["similarity"].is_sorted(descending=True)
    assert len(table) == len(WORDS) - 1
    assert "slow" not in table["word"]
    cosine = dw.neighbors(model, "slow", at=1940, n=1, metric="uncentered").row(0, named=True)
    x, y = rho[v], rho[model.word_id(cosine["word"])]
    assert cosine["similarity"] == pytest.approx(x @ y / np.linalg.norm(x) / np.linalg.norm(y), abs=1e-5)


def test_only_words_that_occur_are_neighbours(model: dw.Model) -> None:
    for metric in ("paper", "uncentered", "cosine"):
        early = dw.neighbors(model, "still", at=1900, n=100, metric=metric)
        assert not {"rare", "late"} & set(early["word"])
        assert "late" in dw.neighbors(model, "still", at=1980, n=100, metric=metric)["word"]
    assert {"rare", "late"} <= set(dw.neighbors(model, "still", at=1900, n=100, min_count=0)["word"])


def test_neighbours_of_several_slices_stand_together(model: dw.Model) -> None:
    table = dw.neighbors(model, "slow", at=[1900, "1980"], n=3)
    assert table["slice"].to_list() == ["1900"] * 3 + ["1980"] * 3
    assert table["rank"].to_list() == [1, 2, 3] * 2
    assert dw.neighbors(model, "slow", at="all", n=2)["slice"].n_unique() == SLICES
    few = [model.slices.labels[t] for t in representative_slices(model, "slow")]
    assert dw.neighbors(model, "slow", n=2).equals(dw.neighbors(model, "slow", at=few, n=2))
    for label in ("1900", "1980"):
        alone = dw.neighbors(model, "slow", at=label, n=3)
        assert alone.equals(table.filter(pl.col("slice") == label))


def test_drift_is_the_papers_and_carries_its_evidence(model: dw.Model) -> None:
    table = dw.drift(model, n=None, metric="absolute", min_count=0, skip=0, interpolated=True)
    assert len(table) == len(WORDS)
    for row in table.iter_rows(named=True):
        way = model[row["word"]]
        assert row["drift"] == pytest.approx(float(np.linalg.norm(way[-1] - way[0])), rel=1e-4)
    assert set(dw.drift(model, n=2, metric="absolute")["word"]) == {"slow", "sudden"}
    evidence = {row["word"]: row for row in table.iter_rows(named=True)}
    late = evidence["late"]
    assert (late["count_first"], late["count_last"], late["slices"], late["interpolated"]) == (0, 50, 4, True)
    assert evidence["still"]["interpolated"] is False
    assert not {"late", "rare"} & set(dw.drift(model, n=None)["word"])
    assert "late" not in dw.drift(model, n=None, min_count=0)["word"]  # interpolated in the first slice
    half = dw.drift(model, n=1, metric="absolute", between=(1900, 1940)).row(0, named=True)
    assert half["word"] == "returning"  # it has not come back yet
    assert half["drift"] == pytest.approx(
        float(np.linalg.norm(model["returning"][4] - model["returning"][0])), rel=1e-4
    )
    assert dw.drift(model, words=["still"], n=5)["word"].to_list() == ["still"]
    most = {"n": None, "min_count": 0, "interpolated": True}
    assert set(dw.drift(model, **most, skip=len(WORDS) - 2)["word"]) == {"rare", "late"}


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_finds_what_moved(model: dw.Model, metric: str) -> None:
    moved = {"slow", "sudden", "returning"} if metric in ("farthest", "path", "step") else {"slow", "sudden"}
    if metric == "step":
        moved = {"sudden", "returning"}
    found = dw.drift(model, n=len(moved), metric=metric, min_count=5)
    assert set(found["word"]) == moved
    assert found["drift"].is_sorted(descending=True)


def test_replaced_neighbours_are_counted() -> None:
    groups = np.repeat(np.eye(2), 30, axis=0) * 5
    noise = np.random.default_rng(0).normal(size=(60, 2)) * 0.01
    early, late = groups + noise, groups + noise
    late[0] = late[0][::-1]  # the first word leaves its group for the other
    model = make([early, late], np.full((2, 60), 9))
    table = dw.drift(model, n=None, metric="neighbors", skip=0)
    assert table.row(0, named=True)["word"] == WORDS[0]
    assert table.row(0, named=True)["drift"] == 1
    assert table.filter(pl.col("word") != WORDS[0])["drift"].max() < 0.2


def test_relative_drift_is_measured_among_equals() -> None:
    random = np.random.default_rng(1)
    frequency = np.geomspace(5, 5000, 400).astype(int)
    step = random.lognormal(sigma=0.2, size=400) * frequency**-0.5  # rare words tremble more
    step[390] *= 4
    rho = np.zeros((2, 400, 3))
    rho[1, :, 0] = step
    words = [f"w{i}" for i in range(400)]
    model = make(rho, np.stack([frequency, frequency]), words)
    assert dw.drift(model, n=1, skip=0)["word"].to_list() == ["w390"]  # by default
    assert "w390" not in dw.drift(model, n=20, metric="absolute", skip=0)["word"]


def test_a_trajectory_is_a_line_through_time(model: dw.Model) -> None:
    way = dw.trajectory(model, "slow", at=[1900, 1980], n=3)
    assert way["slice"].to_list() == list(model.slices.labels)
    assert way["position"].is_sorted()
    steps = np.diff(way["position"].to_numpy())
    assert steps == pytest.approx(np.full(SLICES - 1, steps.mean()), rel=1e-3)
    assert way["similarity_first"][0] == pytest.approx(1)
    assert way["similarity_last"][-1] == pytest.approx(1)
    assert way["similarity_first"].is_sorted(descending=True)
    told = way.filter(pl.col("neighbors").is_not_null())
    assert told["slice"].to_list() == ["1900", "1980"]
    assert told["neighbors"][1].to_list() == dw.neighbors(model, "slow", at=1980, n=3)["word"].to_list()
    assert dw.trajectory(model, "late")["observed"].to_list() == [False] * 5 + [True] * 4
    assert dw.trajectory(model, "slow").filter(pl.col("neighbors").is_not_null()).height == 4


def test_representative_slices_are_observed_and_far_apart(model: dw.Model) -> None:
    assert representative_slices(model, "late", n=2) == [5, 8]
    chosen = representative_slices(model, "returning", n=3)
    assert chosen[0] == 0
    assert chosen[2] == 8
    assert 3 <= chosen[1] <= 5
    assert representative_slices(model, "rare", n=2) == [0, 8]


def test_similarity_and_poles_through_time(model: dw.Model) -> None:
    near = dw.similarity(model, "slow", "sudden")
    assert near["similarity"][8] > near["similarity"][0] + 0.3
    assert near["count"].to_list() == near["count_other"].to_list() == [50] * SLICES
    place = dw.towards(model, "slow", low=["other1", "other2"], high="sudden")
    assert place["position"][8] > place["position"][0]
    other_way = dw.towards(model, "slow", low=["sudden"], high=["other1", "other2"])
    np.testing.assert_allclose(place["position"], -other_way["position"].to_numpy(), atol=1e-6)


def test_equivalents_stand_where_a_word_stood() -> None:
    random = np.random.default_rng(2)
    base = random.normal(size=(60, 30))
    rho = np.stack([base, base + 3])  # everything moves, which says nothing
    rho[1, [10, 11]] = rho[1, [11, 10]]  # two words change places
    model = make(rho, np.full((2, 60), 9))
    found = dw.equivalents(model, WORDS[10], at=1900, to=1910, n=1).row(0, named=True)
    assert found["word"] == WORDS[11]
    assert found["similarity"] == pytest.approx(1, abs=0.01)
    assert dw.equivalents(model, WORDS[20], at=1900, to=1910, n=1)["word"][0] == WORDS[20]
    both = dw.equivalents(model, WORDS[10], at=1900, n=1)
    assert both["word"].to_list() == [WORDS[10], WORDS[11]]


def test_an_analogy_completes_a_parallelogram() -> None:
    random = np.random.default_rng(3)
    base = random.normal(size=(60, 40))
    base[3] = base[1] - base[0] + base[2]
    model = make([base, base], np.full((2, 60), 9))
    table = dw.analogy(model, *WORDS[:3], at=1900, n=2)
    assert table["word"][0] == WORDS[3]
    assert not set(WORDS[:3]) & set(table["word"])


def test_changes_say_when(model: dw.Model) -> None:
    first = dw.changes(model, n=1).row(0, named=True)
    assert (first["word"], first["slice"]) == ("sudden", "1960")
    assert first["explained"] == pytest.approx(1, abs=0.02)
    way = model["sudden"]
    assert first["distance"] == pytest.approx(float(np.linalg.norm(way[6] - way[0])), rel=0.02)
    assert (first["count_before"], first["count_after"]) == (300, 150)
    cuts = dw.changes(model, "returning", n=5)
    assert set(cuts["slice"][:2]) == {"1930", "1960"}
    assert len(cuts) == 2  # what is left is trembling
    alone = dw.changes(model, "sudden", n=1).row(0, named=True)
    assert alone["distance"] == pytest.approx(first["distance"], rel=1e-3)


def test_movers_of_a_slice(model: dw.Model) -> None:
    assert dw.movers(model, at=1930, n=1)["word"].to_list() == ["returning"]
    assert set(dw.movers(model, at=1960, n=2)["word"]) == {"returning", "sudden"}
    with pytest.raises(OptionError, match="'1900' is the first slice"):
        dw.movers(model, at=1900)


def test_a_slice_has_gensims_habits(model: dw.Model) -> None:
    view = model.at(1940)
    assert "slow" in view
    assert "nothing" not in view
    assert view.key_to_index["slow"] == 1
    assert view.index_to_key[1] == "slow"
    assert len(view) == len(WORDS)
    np.testing.assert_array_equal(view["slow"], model["slow", 1940])
    assert view[["slow", "still"]].shape == (2, 20)
    plain = model.at(1940, metric="uncentered")
    x, y = view["slow"], view["still"]
    assert plain.similarity("slow", "still") == pytest.approx(
        float(x @ y / np.linalg.norm(x) / np.linalg.norm(y)), abs=1e-5
    )
    found = view.most_similar("slow", topn=3)
    assert found == view.most_similar(positive=["slow"], topn=3)
    assert [word for word, _ in found] == dw.neighbors(model, "slow", at=1940, n=3)["word"].to_list()
    cosine = dw.neighbors(model, "slow", at=1940, n=3, metric="uncentered")
    assert plain.most_similar("slow", topn=3) == [
        (word, pytest.approx(value, abs=1e-5)) for word, value in cosine.select("word", "similarity").iter_rows()
    ]
    between = dw.similarity(model, "slow", "still").filter(pl.col("slice") == "1940")["similarity"][0]
    assert view.similarity("slow", "still") == pytest.approx(between, abs=1e-5)
    mixed = view.most_similar(positive=["slow", "still"], negative=["sudden"], topn=100, min_count=0)
    assert not {"slow", "still", "sudden"} & {word for word, _ in mixed}
    assert view.most_similar(view["slow"], topn=1)[0][0] == "slow"
    assert view.similar_by_word("slow", topn=3) == found
    assert view.most_similar([("slow", 2.0)], topn=3) == found
    assert view.similar_by_vector(view["slow"], topn=1)[0][0] == "slow"
    assert view.distance("slow", "still") == pytest.approx(1 - view.similarity("slow", "still"))
    np.testing.assert_array_equal(view[1], view.get_vector("slow"))
    assert list(view) == list(model) == list(WORDS)
    assert "SLOW" in view
    assert "SLOW" in model
    with pytest.raises(OptionError, match="at least one word"):
        view.most_similar()
    with pytest.raises(OptionError, match="`topn` is -1"):
        view.most_similar("slow", topn=-1)
    with pytest.raises(OptionError, match="here they have 20 numbers"):
        view.most_similar(np.ones(3))
    with pytest.raises(DriftwordError, match="slow"):
        view["sloww"]


def test_wrong_questions_get_a_sentence(model: dw.Model) -> None:
    with pytest.raises(DriftwordError, match="slow"):
        dw.neighbors(model, "slwo", at=1900)
    with pytest.raises(DriftwordError, match="1850"):
        dw.neighbors(model, "slow", at=1850)
    with pytest.raises(OptionError, match="`metric` is 'euclid'"):
        dw.neighbors(model, "slow", metric="euclid")
    with pytest.raises(OptionError, match="`metric` is 'far'"):
        dw.drift(model, metric="far")
    with pytest.raises(OptionError, match="`n` is 0; it must be at least 1"):
        dw.neighbors(model, "slow", n=0)
    with pytest.raises(OptionError, match="is not a word"):
        dw.neighbors(model, ["slow", "still"])  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="give two slices"):
        dw.drift(model, between=(1900,))  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="No slice was named"):
        dw.neighbors(model, "slow", at=[])
    assert dw.drift(model, words="slow")["word"].to_list() == ["slow"]
    for question in (dw.trajectory, dw.changes, lambda m, words: dw.drift(m, words=words)):
        with pytest.raises(OptionError, match="`words` is empty"):
            question(model, [])
    with pytest.raises(DriftwordError, match="1.5"):
        dw.neighbors(model, "slow", at=1.5)  # type: ignore[arg-type]
    assert dw.changes(model, "sudden", min_count=10**9).is_empty()
    twice = dw.neighbors(model, "slow", at=[1900, "1900"])
    assert twice.equals(dw.neighbors(model, "slow", at=1900))
    with pytest.raises(OptionError, match="give two different slices, the earlier one first"):
        dw.drift(model, between=(1940, 1900))
    with pytest.raises(OptionError, match="`low` is empty; name at least one word"):
        dw.towards(model, "slow", low=[], high="late")
    static = make(model.rho[:1], model.counts)
    with pytest.raises(OptionError, match="a single pass"):
        dw.drift(static)
    static.spec = dw.Spec(model="static")
    for question in (dw.drift, dw.changes, lambda m: dw.trajectory(m, "slow"), lambda m: dw.movers(m, at=1930)):
        with pytest.raises(OptionError, match="static model"):
            question(static)
    assert len(dw.neighbors(static, "slow", at=1930, n=3)) == 3
    with pytest.raises(OptionError, match="a change point needs three"):
        dw.changes(make(model.rho[:2], model.counts[:2]))


def test_neighbours_of_many_words_are_those_of_each(model: dw.Model) -> None:
    asked = ["slow", "sudden", "other7"]
    table = dw.neighborhoods(model, asked, at=[1900, 1980], n=5)
    assert table["slice"].to_list() == ["1900"] * 3 + ["1980"] * 3
    assert table["word"].to_list() == asked * 2
    for label, word, near in table.iter_rows():
        assert near == dw.neighbors(model, word, at=label, n=5)["word"].to_list()
    assert len(dw.neighborhoods(model, asked)) == 3 * SLICES
    assert dw.neighborhoods(model, []).columns == ["slice", "word", "neighbors"]


def test_centered_cosines_are_those_of_centered_vectors(model: dw.Model) -> None:
    rho = model.rho[4].astype(float)
    held = rho - rho[np.asarray(model.counts[4]) >= 5].mean(axis=0)
    held /= np.linalg.norm(held, axis=1, keepdims=True)
    for row in dw.neighbors(model, "slow", at=1940, n=60, metric="cosine", min_count=5).iter_rows(named=True):
        exact = held[model.word_id("slow")] @ held[model.word_id(row["word"])]
        assert row["similarity"] == pytest.approx(exact, abs=1e-5)


def test_a_drift_of_no_words_is_a_table_all_the_same(model: dw.Model) -> None:
    table = dw.drift(model, min_count=10**6)
    assert table.is_empty()
    assert table.schema["word"] == pl.String


def test_a_question_about_some_slices_reads_those_alone(model: dw.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model may be larger than memory."""
    fresh = make(model.rho, model.counts)  # of which nothing is known yet
    read: set[int] = set()
    slice_vectors = vectors.slice_vectors
    monkeypatch.setattr(vectors, "slice_vectors", lambda model, t: (read.add(t), slice_vectors(model, t))[1])
    dw.equivalents(fresh, "slow", at=1910, to=1930)
    dw.neighbors(fresh, "slow", at=1930, metric="cosine")
    dw.drift(fresh, metric="cosine", between=(1910, 1930))
    assert read == {1, 3}


def test_frequency_stands_beside_movement(model: dw.Model) -> None:
    table = dw.frequency(model, "sudden")
    v, counts = model.word_id("sudden"), np.asarray(model.counts)
    assert table["count"].to_list() == counts[:, v].tolist()
    assert table["per_million"].to_list() == pytest.approx((1e6 * counts[:, v] / counts.sum(axis=1)).tolist())
    way = model.rho[:, v].astype(float)
    assert table["step"][0] is None
    assert table["step"].to_list()[1:] == pytest.approx(np.linalg.norm(np.diff(way, axis=0), axis=1).tolist())
    assert table["slice"][table["step"].arg_max()] == "1960"
    assert dw.frequency(make(model.rho[:1], model.counts), "sudden")["step"].to_list() == [None] * SLICES


def test_thin_slices_are_not_compared_by_default(model: dw.Model) -> None:
    counts = np.array(model.counts)
    assert explore.attested_range(make(model.rho, counts)) == ("1900", "1980")
    counts[0, 10:] = counts[1, 10:] = counts[-1, 20:] = 1
    assert explore.attested_range(make(model.rho, counts)) == ("1920", "1970")
    counts[:, :] = 0
    counts[4] = 50
    assert explore.attested_range(make(model.rho, counts)) == ("1900", "1980")


def test_a_word_that_only_becomes_rarer_does_not_move() -> None:
    """Without intercepts frequency is movement along the mean context, and is left out; with them nothing is."""
    random = np.random.default_rng(2)
    words, slices, dim = 60, 6, 8
    alpha = random.normal(size=(words, dim)) + 3
    direction = alpha.mean(axis=0) / np.linalg.norm(alpha.mean(axis=0))
    rho = np.repeat(random.normal(size=(1, words, dim)), slices, axis=0)
    rho[:, 0] += np.linspace(0, 5, slices)[:, None] * direction  # a word that only becomes more frequent
    rho[:, 1] += np.linspace(0, 1, slices)[:, None] * np.eye(dim)[0]
    names, counts = [f"w{i}" for i in range(words)], np.full((slices, words), 50)
    toy = toy_model(rho, counts, names)
    plain, with_intercepts = (
        dw.Model(rho, alpha, intercepts, vocabulary=toy.vocabulary, spec=toy.spec, provenance=toy.provenance)
        for intercepts in (None, np.zeros((slices, words)))
    )
    asked: dict[str, Any] = {"n": 1, "metric": "absolute", "skip": 0}
    assert dw.drift(plain, **asked)["word"].to_list() == ["w1"]
    assert dw.drift(with_intercepts, **asked)["word"].to_list() == ["w0"]
    assert dw.frequency(plain, "w0")["step"].drop_nulls().max() < 0.2  # type: ignore[operator]
    assert dw.frequency(plain, "w0")["intercept"].null_count() == slices
    assert dw.frequency(with_intercepts, "w0")["intercept"].to_list() == [0.0] * slices
