"""The commands that ask a model: tables for people and for programs, sentences for mistakes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import driftword as dw
from conftest import run_here, toy_model
from driftword.cli import answers, app, terminal


@pytest.fixture(scope="module")
def model(small: dw.Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("models") / "small.model"
    dw.fit(small, dw.Spec(dim=8, context=4, rounds=2, prior_precision=0.1), passes=4, out=out, patience=4)
    dw.fit(small, dw.Spec(model="static", dim=4, rounds=1), passes=1, out=out.with_name("static.model"))
    return out


def run(*arguments: str | Path, status: int = 0) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "100"})
    assert done.exit_code == status, done.output
    return done.output


QUESTIONS = {
    "neighbors": ["ship", "--at", "1850,1859"],
    "drift": ["--min-count", "1", "-n", "5", "--skip", "0"],
    "trajectory": ["ship", "wheat"],
    "similarity": ["ship", "wheat", "barn"],
    "towards": ["ship", "--low", "wheat,barn", "--high", "court"],
    "equivalents": ["ship", "--at", "1850", "--to", "1859"],
    "analogy": ["ship", "sailor", "barn", "--at", "1855"],
    "changes": ["-n", "3"],
    "movers": ["--at", "1855"],
}


@pytest.mark.slow
def test_which_words_changed(model: Path, small: dw.Corpus) -> None:
    out = model.with_name("tested.model")
    fitted = run("fit", small.path, "--dim", "4", "--passes", "2", "--no-significance", "--out", out)
    assert "not tested" not in fitted  # it was not wanted
    done = run("significance", out, "-n", "3", "--permutations", "99")
    assert "words that were tested" in done
    assert "q: false discovery rate over all words (5% or less: significant)" in " ".join(done.split())
    assert "ship" in run("significance", out, "ship", "--between", "best", "--permutations", "99")
    periods = run("significance", out, "ship", "--between", "1850:1854,1855:1859", "--json")
    assert json.loads(periods)[0]["word"] == "ship"
    for options, message in (
        (["--within", "colour"], "no column 'colour'"),
        (["--between", "1855"], "--between is '1855'"),
        (["--permutations", "3"], "--permutations is 3"),
    ):
        assert message in run("significance", out, *options, status=2)


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_has_three_forms(model: Path, question: str) -> None:
    given = QUESTIONS[question]
    text = run(question, model, *given)
    assert text.strip()
    held = json.loads(run(question, model, *given, "--json"))
    rows = list(csv.DictReader(io.StringIO(run(question, model, *given, "--csv"))))
    assert len(held) == len(rows) > 0
    assert list(held[0]) == list(rows[0])
    assert "driftword " + question in run(question, "--help")
    paper = run(question, model, *given, "--format", "markdown").splitlines()
    assert len(paper) == len(rows) + 2
    assert len({line.replace("\\|", "").count("|") for line in paper}) == 1
    paper = run(question, model, *given, "--format", "latex").splitlines()
    assert paper[0].startswith(r"\begin{tabular}{")
    assert len({line.count(" & ") for line in paper if line.endswith(r"\\")}) == 1


@pytest.mark.slow
def test_tables_are_those_of_python(model: Path) -> None:
    opened = dw.Model.open(model)
    assert json.loads(run("drift", model, "-n", "3", "--json")) == dw.drift(opened, n=3).to_dicts()
    between = run("drift", model, "--between", "1852,1857", "--json", "-n", "3")
    assert json.loads(between) == dw.drift(opened, n=3, between=("1852", "1857")).to_dicts()
    assert json.loads(run("changes", model, "ship", "--json")) == dw.changes(opened, "ship").to_dicts()
    assert json.loads(run("neighbors", model, "ship", "--json")) == dw.neighbors(opened, "ship").to_dicts()
    everywhere = run("neighbors", model, "ship", "--at", "all", "-n", "2", "--min-count", "0", "--json")
    assert json.loads(everywhere) == dw.neighbors(opened, "ship", at="all", n=2, min_count=0).to_dicts()
    several = dw.changes(opened, ["ship", "wheat"]).to_dicts()
    assert json.loads(run("changes", model, "ship", "wheat", "--json")) == several
    ship = dw.neighbors(opened, "ship", at=1850, n=10)["word"].to_list()
    assert all(word in run("neighbors", model, "ship", "--at", "1850") for word in ship)
    assert run("neighbors", model, "ship", "--at", "all").count("\n") >= 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["neighbors", "{}", "shipp"], "did you mean 'ship'"),
        (["neighbors", "{}", "ship", "--at", "1700"], "1700"),
        (
            ["neighbors", "{}", "ship", "--metric", "taxi"],
            "--metric is 'taxi'; choose one of cosine, uncentered",
        ),
        (["neighbors", "{}", "ship", "-n", "0"], "-n is 0; it must be at least 1"),
        (["drift", "{}", "--between", "1859,1850"], "give two different slices, the earlier one first"),
        (["drift", "{}/../static.model"], "static model"),
        (["trajectory", "{}/../static.model", "ship"], "static model"),
        (["towards", "{}", "ship", "--low", "", "--high", "court"], "--low is empty; name at least one word"),
        (["towards", "{}", "ship", "--low", "court", "--high", "court"], "is at both poles"),
        (["similarity", "{}", "ship", "ship"], "nearest to itself"),
        (["drift", "{}", "--min-count", "-3"], "--min-count is -3; it must be at least 0"),
        (["drift", "{}", "--between", "1850"], "--between is '1850'; write two slices separated by a comma"),
        (["drift", "{}", "--json", "--csv"], "json and csv were given; choose one"),
        (["plot", "{}", "--kind", "drift", "--min-count", "100000"], "There is nothing to draw"),
        (["movers", "{}", "--at", "1850"], "the first slice"),
        (
            ["changes", "{}", "--format", "word"],
            "--format is 'word'; choose one of table, json, csv",
        ),
        (["drift", "{}/nothing"], "nothing"),
    ],
)
def test_mistakes_end_in_a_sentence(model: Path, arguments: list[str], sentence: str) -> None:
    output = run(*(argument.format(model) for argument in arguments), status=2)
    assert sentence in output
    assert output.startswith("driftword: ")
    assert output.count("\n") == 1


@pytest.mark.slow
def test_words_that_look_like_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    words = ["[red]", "[/x]", "</script><script>alert(1)</script>", "x" * 90, "plain"]
    rho = np.random.default_rng(0).normal(size=(4, 5, 3)).astype(np.float32)
    model = toy_model(rho, np.full((4, 5), 9), words, dim=3)
    console = Console(width=80, file=io.StringIO())
    terminal.print_table(dw.drift(model), console)
    answers.print_neighbors(dw.neighbors(model, "plain", at=[1900, 1930]), model, "plain", console)
    answers.print_trajectories(dw.trajectory(model, "plain"), console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert shown.count("[red]") >= 4
    assert shown.count("[/x]") >= 4
    assert "interpolated" in shown
    assert max(map(len, shown.splitlines())) <= 80
    page = dw.plot.save(dw.plot.drift(model), tmp_path / "x.html").read_text()
    assert "<script>alert" not in page
    assert "alert(1)" in page


def test_a_static_model_shows_neighbours_where_words_occur(model: Path) -> None:
    assert "1850" in run("neighbors", model.with_name("static.model"), "ship")


def test_a_wrong_command_line_is_answered_in_a_sentence(model: Path) -> None:
    for arguments, sentence in (
        (["neighbors", model], "missing argument 'word'"),
        (["neighbors", model, "ship", "sail"], "put a phrase into quotes"),
        (["drift", model, "-n", "x"], "invalid value for '-n'"),
        (["drift", model, "--colour", "red"], "--colour"),
        (["dance"], "dance"),
    ):
        done = run_here(*arguments)
        assert done.returncode == 2
        assert sentence in done.stderr.lower()  # versions of Typer differ in that
        assert done.stderr.startswith("driftword: ")
        assert done.stderr.count("\n") == 1


def test_more_than_there_are_is_all_there_are(model: Path) -> None:
    words = len(dw.Model.open(model).words)
    given = ["-n", "100000", "--min-count", "0", "--skip", "0", "--interpolated", "--json"]
    assert len(json.loads(run("drift", model, *given))) == words


@pytest.mark.slow
def test_figures_are_written_in_every_format(model: Path, tmp_path: Path) -> None:
    starts = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!DOCTYPE html>", "json": b"{"}
    for form, start in starts.items():
        out = tmp_path / "new" / f"ship.{form}"
        assert run("plot", model, "ship", "--out", out).strip() == f"Wrote {out}"
        content = out.read_bytes()
        assert content.startswith(start)
        if form in ("svg", "html", "json"):
            assert "“ship” through time".encode() in content or b"\\u201cship" in content
        if form == "html":
            assert b"cdn.jsdelivr.net" not in content.split(b"<body")[1]
    for kind, words in {
        "neighbors": ["ship"], "similarity": ["ship", "wheat", "barn"], "frequency": ["ship"], "map": ["ship"],
        "changes": ["ship"], "drift": [], "history": [],
    }.items():  # fmt: skip
        out = tmp_path / f"{kind}.svg"
        options = ["--between", "1851,1858", "--skip", "2", "-n", "3"] if kind == "drift" else []
        run("plot", model, *words, "--kind", kind, "--out", out, *options)
        assert all(word in out.read_text() for word in words)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ship", "--out", "ship.bmp"], "'ship.bmp' has no ending that figures can have"),
        (["ship", "--kind", "pie"], "--kind is 'pie'; choose one of"),
        (["ship", "wheat"], "shows one word, and 2 were given"),
        (["ship", "--kind", "similarity"], "at least one other"),
        (["ship", "--kind", "drift"], "leave 'ship' out"),
        (["--kind", "map"], "0 were given"),
        (["shipp"], "did you mean 'ship'"),
        (["shipp", "--kind", "frequency"], "did you mean 'ship'"),
        (["ship", "--kind", "map", "--skip", "3"], "A figure of map has no --skip"),
        (["ship", "--at", "1700"], "1700"),
    ],
)
def test_figures_that_cannot_be(model: Path, arguments: list[str], sentence: str) -> None:
    output = run("plot", model, *arguments, status=2)
    assert sentence in output
    assert output.count("\n") == 1


@pytest.mark.parametrize("kind", ["trajectory", "frequency", "changes"])
def test_what_does_not_move_is_not_drawn_moving(model: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "x.svg"
    output = run("plot", model.with_name("static.model"), "ship", "--kind", kind, "--out", out, status=2)
    assert "static model" in output
    assert not out.exists()
