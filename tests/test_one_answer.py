"""One question, one answer: "which words changed most" is the same in Python, command, figure, page and report."""

from __future__ import annotations

import csv
import io
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

import driftword as dw
from conftest import toy_model
from driftword import explore
from driftword.cli import app
from driftword.web.app import make_app

WORDS = [f"word{i}" for i in range(120)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> dw.Model:
    """Return a model with thin slices at both ends, words absent there, and words only in held-out text."""
    random = np.random.default_rng(0)
    rho = random.normal(size=(8, 120, 10)).cumsum(axis=0)
    counts = np.sort(random.integers(5, 400, size=(8, 120)), axis=1)[:, ::-1].copy()
    counts[0] = counts[-1] = 1
    counts[1, 20:30] = 0
    train = counts.copy()
    train[6, 40:50] = 0  # their occurrences in that slice are held out
    made = toy_model(rho, counts, WORDS, train_counts=train, dim=10)
    return made.save(tmp_path_factory.mktemp("models") / "toy.model")


@pytest.fixture(scope="module")
def client(model: dw.Model) -> TestClient:
    """Return a reader of one explorer: each starts a process that draws figures, which takes seconds."""
    return TestClient(make_app(model, None), base_url="http://127.0.0.1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "arguments", "query"),
    [
        ({}, [], ""),
        ({"metric": "cosine", "n": 7}, ["--metric", "cosine", "-n", "7"], "metric=cosine&n=7"),
        (
            {"between": (1920, 1950), "min_count": 60, "skip": 9},
            ["--between", "1920,1950", "--min-count", "60", "--skip", "9"],
            "from=1920&to=1950&min_count=60&skip=9",
        ),
        (
            {"interpolated": True, "metric": "neighbors"},
            ["--interpolated", "--metric", "neighbors"],
            "interpolated=1&metric=neighbors",
        ),
    ],
)
def test_all_surfaces_list_the_same_words_in_the_same_order(
    model: dw.Model, client: TestClient, tmp_path: Path, options: dict[str, Any], arguments: list[str], query: str
) -> None:
    n = options.get("n", 16)
    expected = dw.drift(model, **{"n": n, **options})["word"].to_list()
    assert len(expected) == n
    run = CliRunner().invoke(app, ["drift", str(model.path), "-n", str(n), *arguments, "--csv"])
    assert [row["word"] for row in csv.DictReader(io.StringIO(run.stdout))] == expected
    chart = dw.plot.drift(model, **{"n": n, **options}).to_dict()
    rows = next(rows for rows in chart["datasets"].values() if "drift" in rows[0])
    assert [row["word"] for row in rows] == expected
    for page in ("/index.json", "/between.json"):
        table = client.get(f"{page}?n={n}&{query}").json()
        assert [row["word"] for row in table["table"]] == expected
    shown = unescape(client.get(f"/?n={n}&{query}").text)
    assert re.findall(r'<th scope="row" data-value="(\w+)"', shown) == expected
    printed = client.get(f"/print/drift.svg?n={n}&{query}")
    assert re.findall(r">(word\d+)<", printed.text) == expected
    options = {"n": n, **options}
    html = dw.report(model, out=tmp_path / "r.html", **options).read_text()
    assert re.findall(r'<th scope="row" data-value="(\w+)"', html) == expected
    assert re.findall(r'<section class="page" id="[^"]*" data-word="(\w+)"', html) == expected


def test_the_range_is_attested_and_the_answer_says_who_was_eligible(model: dw.Model) -> None:
    ranking = explore.rank_drift(model, n=None)
    assert ranking.between == ("1910", "1960")  # not the first and last slice, which hold next to nothing
    assert ranking.eligible == len(ranking.table) == 120 - 2 - 20
    assert (ranking.too_frequent, ranking.too_rare) == (2, 20)
    assert ranking.describe() == (
        "Change from 1910 to 1960 (the widest range with enough text): 98 of 120 words are eligible. Of the others, "
        "20 occur fewer than 5 times in the training text of one of these slices and 2 are the most frequent."
    )
    printed = CliRunner().invoke(app, ["drift", str(model.path)], env={"COLUMNS": "300"}).output
    assert "98 of 120 words are eligible" in printed


def test_no_interpolated_vector_ranks_unless_asked_for(model: dw.Model) -> None:
    absent = set(WORDS[20:30]) | set(WORDS[40:50])
    assert not absent & set(dw.drift(model, n=None, min_count=0)["word"])
    asked = dw.drift(model, n=None, interpolated=True)
    assert absent <= set(asked["word"])
    assert set(asked.filter(asked["interpolated"])["word"]) == absent
    named = dw.drift(model, words=[WORDS[21], WORDS[41], WORDS[0]])
    assert set(named["word"]) == {WORDS[21], WORDS[41], WORDS[0]}  # a word that is named is asked for
    rare = dw.drift(model, words=[WORDS[21], WORDS[0]], metric="neighbors")
    assert dict(rare.select("word", "drift").iter_rows())[WORDS[21]] is None  # and no number is made up for it
    assert rare["drift"].null_count() == 1


def test_observed_means_observed_in_training_text() -> None:
    """The word "b" occurs in 1901, but only in text that is held out."""
    ids = [0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1]
    corpus = dw.Corpus.from_ids(
        ["a", "b"], ids, [0, 4, 6, 8, 12], chunk_slice=[0, 1, 1, 2], chunk_split=[0, 0, 1, 0], slices=[1900, 1901, 1902]
    )
    assert corpus.counts[1].tolist() == [3, 1]
    assert corpus.train_counts[1].tolist() == [2, 0]
    model = dw.fit(corpus, dw.Spec(dim=2, context=2, rounds=1), passes=2)
    assert dw.trajectory(model, "b", min_count=1)["observed"].to_list() == [True, False, True]
    assert dw.trajectory(model, "b", min_count=1)["count"].to_list() == [2, 1, 2]
    row = dw.drift(model, words="b", between=(1900, 1901)).row(0, named=True)
    assert (row["interpolated"], row["count_last"], row["slices"]) == (True, 1, 1)
    assert dw.similarity(model, "a", "b")["similarity"].is_null().to_list() == [False, True, False]
    assert "b" not in dw.neighbors(model, "a", at=1901, min_count=1)["word"]


def test_similarity_gives_no_value_where_a_word_is_missing(model: dw.Model) -> None:
    table = dw.similarity(model, WORDS[0], [WORDS[21], WORDS[1]])
    assert table["slice"].to_list() == [*model.slices.labels] * 2
    missing = table.filter(table["similarity"].is_null())
    assert missing.select("other", "slice").rows() == [(WORDS[21], "1910")]
    assert dw.similarity(model, WORDS[0], WORDS[21], interpolated=True)["similarity"].null_count() == 0
    drawn = dw.plot.similarity(model, WORDS[0], WORDS[21]).to_dict()
    values = next(rows for rows in drawn["datasets"].values() if len(rows) == 8)
    assert [row["similarity"] is None for row in values] == [False, True] + [False] * 6
    between = dw.towards(model, WORDS[0], low=WORDS[21], high=[WORDS[1], WORDS[22]])
    assert between["position"].is_null().to_list() == [False, True] + [False] * 6


def test_neighbours_do_not_depend_on_the_basis(model: dw.Model) -> None:
    rotation, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(10, 10)))
    turned = toy_model(np.asarray(model.rho) @ rotation, model.counts, WORDS, dim=10,
                       train_counts=model.vocabulary.train_counts)  # fmt: skip
    for word in WORDS[:10]:
        before, after = (dw.neighbors(one, word, at="all", n=10) for one in (model, turned))
        assert before["word"].to_list() == after["word"].to_list()
        view = [name for name, _ in model.at(1930).most_similar(word)]
        assert view == dw.neighbors(model, word, at=1930)["word"].to_list()


@pytest.mark.slow
def test_only_notable_change_points_are_marked() -> None:
    """Words that all tremble alike have change points, and none that a figure or a page should name."""
    random = np.random.default_rng(2)
    rho = random.normal(size=(9, 120, 10))
    rho[5:, 7] += 9
    model = toy_model(rho, np.full((9, 120), 50), WORDS, dim=10)
    usual = next(word for word in WORDS if dw.changes(model, word, n=3)["rank"].max() < 0.9)
    drawn = json.dumps(dw.plot.changes(model, usual).to_dict())
    assert "no change point stands out" in drawn
    assert "%)" not in drawn
    drawn = json.dumps(dw.plot.changes(model, WORDS[7]).to_dict())
    assert "1950 (100%)" in drawn
    client = TestClient(make_app(model, None), base_url="http://127.0.0.1")
    assert client.get(f"/word/{usual}.json").json()["changes"] == []
    assert [row["slice"] for row in client.get(f"/word/{WORDS[7]}.json").json()["changes"]] == ["1950"]


def test_a_path_serves_in_the_place_of_a_model(model: dw.Model, tmp_path: Path) -> None:
    assert model.path is not None
    assert dw.neighbors(str(model.path), WORDS[0]).equals(dw.neighbors(model, WORDS[0]))
    assert dw.drift(model.path).equals(dw.drift(model))
    with pytest.raises(dw.StoreError, match="There is no model at"):
        dw.drift(tmp_path / "nothing")
    for question in (dw.drift, dw.changes, lambda m: dw.frequency(m, "x"), lambda m: dw.plot.history(m)):
        with pytest.raises(dw.OptionError, match="is not a model; give a Model or the path of one"):
            question(17)  # type: ignore[arg-type]
    with pytest.raises(dw.OptionError, match="is not a corpus; give a Corpus or the path of one"):
        dw.fit(model)  # type: ignore[arg-type]


def test_a_static_model_does_not_seem_to_change(model: dw.Model) -> None:
    static = toy_model(model.rho[:1], model.counts, WORDS, model="static", dim=10)
    values = dw.similarity(static, WORDS[0], WORDS[1], interpolated=True)["similarity"]
    assert values.to_list() == pytest.approx([values[0]] * len(values))


@pytest.mark.slow
def test_no_answer_is_built_on_a_guess(model: dw.Model, client: TestClient) -> None:
    absent = WORDS[21]  # in 1910
    assert dw.neighbors(model, absent, at=[1910, 1930])["observed"].to_list() == [False] * 10 + [True] * 10
    shown = CliRunner().invoke(app, ["neighbors", str(model.path), absent, "--at", "1910"]).output
    assert "(0, interpolated)" in shown
    assert "its neighbours are a guess" in shown
    for question in (
        lambda: dw.equivalents(model, absent, at=1910, to=1930),
        lambda: dw.analogy(model, WORDS[0], absent, WORDS[1], at=1910),
    ):
        with pytest.raises(dw.OptionError, match=f"'{absent}' does not occur in the training text of 1910"):
            question()
    page = client.get(f"/word/{absent}?at=1930&at=1940&reference=1910")
    assert page.status_code == 200
    assert "so its vector there is a guess" in page.text
    assert client.get(f"/word/{absent}?at=1910").status_code == 200


@pytest.mark.slow
def test_tables_name_the_slices_they_compare(model: dw.Model) -> None:
    table = dw.drift(model, WORDS[:3], between=(1920, 1940))
    assert table.select("first", "last").unique().rows() == [("1920", "1940")]
    run = CliRunner().invoke(
        app, ["drift", str(model.path), "word0,word1", "word2", "--between", "1920,1940", "--json"]
    )
    assert {row["word"] for row in json.loads(run.output)} == set(WORDS[:3])
    for wrong in (",", "1920", " , "):
        assert CliRunner().invoke(app, ["drift", str(model.path), "--between", wrong]).exit_code == 2
    assert CliRunner().invoke(app, ["neighbors", str(model.path), "word0", "--at", ","]).exit_code == 2
    with pytest.raises(dw.OptionError, match="room for 8 lists of neighbours, not 9"):
        many = toy_model(np.repeat(np.asarray(model.rho[:1]), 9, axis=0), np.full((9, 120), 50), WORDS, dim=10)
        dw.plot.neighbors(many, WORDS[0], at="all")
