from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from safetensors import safe_open
from typer.testing import CliRunner

import driftword as dw
from conftest import toy_model
from driftword.basics.errors import ExistsError, OptionError, SourceError, UnknownSliceError
from driftword.cli import app
from driftword.exchange.exporting import FORMATS

WORDS = ["ship", "social security", "naïve", "rare"]


@pytest.fixture(scope="module")
def model() -> dw.Model:
    rho = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
    counts = np.array([[9, 9, 9, 0], [9, 9, 9, 0], [9, 9, 9, 7]], dtype=np.int32)
    slices = dw.Slices.from_labels([1990, 1991, 1992])
    return toy_model(rho, counts, WORDS, slices=slices, alpha=rho[0] * 2, dim=5)


@pytest.mark.parametrize(("form", "ending"), [("word2vec", "vec"), ("word2vec-binary", "bin")])
def test_word2vec_files_come_back(model: dw.Model, tmp_path: Path, form: str, ending: str) -> None:
    out = dw.export(model, out=tmp_path / "vectors", format=form, min_count=1)
    files = {year: out / f"{year}.{ending}" for year in (1990, 1991, 1992)}
    assert sorted(out.iterdir()) == sorted([*files.values(), out / "export.json"])
    back = dw.read_word2vec(files, out=tmp_path / "back.model")
    assert back.words == ("ship", "social security", "naïve", "rare")
    np.testing.assert_allclose(back.rho[:, :3], model.rho[:, :3], rtol=1e-5)
    assert (back.vocabulary.observed == (model.counts > 0)).all()
    np.testing.assert_allclose(back["rare", 1990], model["rare", 1992], rtol=1e-5)  # of the nearest slice that has it
    assert dw.neighbors(back, "ship", at=1990, n=5)["word"].sort().to_list() == ["naïve", "social security"]
    assert dw.drift(back, n=1).height == 1
    assert "imported" in CliRunner().invoke(app, ["info", str(tmp_path / "back.model")]).output


@pytest.mark.parametrize(("form", "ending"), [("word2vec", "vec"), ("word2vec-binary", "bin")])
def test_gensim_loads_them(model: dw.Model, tmp_path: Path, form: str, ending: str) -> None:
    keyed = importlib.import_module("gensim.models").KeyedVectors
    out = dw.export(model, out=tmp_path / "vectors", format=form, at=1991)
    loaded = keyed.load_word2vec_format(str(out / f"1991.{ending}"), binary=ending == "bin")
    assert loaded.index_to_key == [word.replace(" ", "_") for word in WORDS]
    np.testing.assert_allclose(loaded["social_security"], model["social security", 1991], rtol=1e-5)
    assert [word for word, _ in loaded.most_similar("ship")] == [
        word.replace(" ", "_") for word, _ in model.at(1991, metric="uncentered").most_similar("ship", min_count=0)
    ]


def test_tables_and_arrays_hold_everything(model: dw.Model, tmp_path: Path) -> None:
    table = pl.read_parquet(dw.export(model, out=tmp_path / "m.parquet", format="parquet", min_count=1))
    assert table.columns == ["word", "slice", "count", "intercept", "vector"]
    assert table["intercept"].null_count() == 10
    assert table.height == 10
    row = table.filter((pl.col("word") == "rare") & (pl.col("slice") == "1992")).row(0, named=True)
    np.testing.assert_allclose(row["vector"], model["rare", 1992])
    held = np.load(dw.export(model, out=tmp_path / "m.npz", format="numpy"))
    np.testing.assert_array_equal(held["rho"], model.rho)
    assert held["words"].tolist() == WORDS
    assert held["slices"].tolist() == ["1990", "1991", "1992"]
    with safe_open(dw.export(model, out=tmp_path / "m.safetensors", format="safetensors"), framework="numpy") as file:
        for name in ("rho", "alpha"):
            np.testing.assert_array_equal(file.get_tensor(name), getattr(model, name))
        assert json.loads(file.metadata()["driftword"])["words"] == WORDS
    folder = dw.export(model, out=tmp_path / "projector", format="projector", at=[1990])
    assert np.loadtxt(folder / "1990.vectors.tsv").shape == (4, 5)
    assert pl.read_csv(folder / "1990.metadata.tsv", separator="\t")["word"].to_list() == WORDS


@pytest.mark.slow
def test_intercepts_are_written_where_there_are_any(small_model: dw.Model, small: dw.Corpus, tmp_path: Path) -> None:
    static = dw.fit(small, dw.Spec(model="static", dim=4, rounds=1), passes=1)
    frequency = dw.fit(small, dw.Spec(model="frequency", dim=4, rounds=1), passes=2)
    for number, model in enumerate((small_model, static, frequency)):
        every = np.asarray(model.intercepts)
        right = every[[2, 4]] if len(every) > 1 else every
        at = [model.slices.labels[t] for t in (2, 4)]
        held = np.load(dw.export(model, out=tmp_path / f"{number}.npz", format="numpy", at=at))
        np.testing.assert_array_equal(held["intercepts"], right)
        with safe_open(dw.export(model, out=tmp_path / f"{number}.st", format="safetensors", at=at), "numpy") as file:
            np.testing.assert_array_equal(file.get_tensor("intercepts"), right)
            np.testing.assert_array_equal(file.get_tensor("alpha"), model.alpha)
        table = pl.read_parquet(dw.export(model, out=tmp_path / f"{number}.parquet", format="parquet", at=at))
        last = table.filter(pl.col("slice") == at[1], pl.col("word") == "wheat")["intercept"]
        assert last[0] == right[-1, model.word_index["wheat"]]


def test_some_slices_and_what_cannot_be_left_out(model: dw.Model, tmp_path: Path) -> None:
    held = np.load(dw.export(model, out=tmp_path / "m.npz", format="numpy", at=[1991, 1991]))
    np.testing.assert_array_equal(held["rho"], model.rho[1:2])
    assert held["slices"].tolist() == ["1991"]
    with safe_open(dw.export(model, out=tmp_path / "m.st", format="safetensors", at=1992), framework="numpy") as file:
        np.testing.assert_array_equal(file.get_tensor("rho"), model.rho[2:])
        np.testing.assert_array_equal(file.get_tensor("alpha"), model.alpha)
    with pytest.raises(OptionError, match="The format numpy holds every word"):
        dw.export(model, out=tmp_path / "x.npz", format="numpy", min_count=5)
    with pytest.raises(OptionError, match="No word occurs at least 50 times in '1990'"):
        dw.export(model, out=tmp_path / "deep" / "x", min_count=50)
    with pytest.raises(UnknownSliceError):
        dw.export(model, out=tmp_path / "deep" / "x", at=1800)
    assert not (tmp_path / "deep").exists()


def test_nothing_is_replaced_unasked_or_left_half(model: dw.Model, tmp_path: Path) -> None:
    out = tmp_path / "m.npz"
    dw.export(model, out=out, format="numpy")
    with pytest.raises(ExistsError, match="already exists"):
        dw.export(model, out=out, format="numpy")
    dw.export(model, out=out, format="numpy", overwrite=True)
    with pytest.raises(OptionError, match=f"`format` is 'xml'; choose one of {', '.join(FORMATS)}"):
        dw.export(model, out=out, format="xml")
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]


def test_a_folder_of_other_things_is_never_replaced(model: dw.Model, tmp_path: Path) -> None:
    folder = dw.export(model, out=tmp_path / "vectors")
    dw.export(model, out=folder, format="word2vec-binary", overwrite=True)
    assert {path.suffix for path in folder.iterdir()} == {".bin", ".json"}
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "results.tsv").write_text("years of work")
    for form in ("word2vec", "parquet"):
        with pytest.raises(ExistsError, match="holds 'results.tsv', which no export wrote"):
            dw.export(model, out=mine, format=form, overwrite=True)
    (folder / "thesis.txt").write_text("years of work")
    for form in ("word2vec", "numpy"):
        with pytest.raises(ExistsError, match="holds 'thesis.txt', which no export wrote"):
            dw.export(model, out=folder, format=form, overwrite=True)
    assert (folder / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "not in word2vec's format"),
        ("2 3\na 1 2 3\n", "line 3 holds"),
        ("1 3\na 1 2\n", "line 2 holds 2 numbers and should hold 3"),
        ("1 2\na 1 x\n", "not in word2vec's format"),
        ("2 1\na 1\na 2\n", "holds a word twice"),
        ("2 1\na_b 1\na b 2\n", "holds a word twice"),
        ("2 1\na 1\nb nan\n", "not finite, in the vector of 'b'"),
        ("the 0.1 0.2 0.3\nof 0.1 0.2 0.3\n", "its first line must say how many words"),
        ("999999999999 300\na 1\n", "promises 999,999,999,999 words"),
    ],
)
def test_files_that_are_no_vectors(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "x.vec").write_text(content)
    with pytest.raises(SourceError, match=sentence):
        dw.read_word2vec({1990: tmp_path / "x.vec"})


def test_other_wrong_files(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        dw.read_word2vec({1990: tmp_path / "nothing.vec"})
    with pytest.raises(OptionError, match="`files` is empty"):
        dw.read_word2vec({})
    (tmp_path / "a.vec").write_text("1 1\na 1\n")
    (tmp_path / "b.vec").write_text("1 2\na 1 2\n")
    with pytest.raises(SourceError, match="different lengths"):
        dw.read_word2vec({1990: tmp_path / "a.vec", 1991: tmp_path / "b.vec"})
    (tmp_path / "c.bin").write_bytes(b"2 2\na " + b"\0" * 8 + b"\nb ")
    with pytest.raises(SourceError, match="ends in word 2 of 2"):
        dw.read_word2vec({1990: tmp_path / "c.bin"})


@pytest.mark.slow
def test_counts_that_nobody_knows_are_shown_as_unknown(model: dw.Model, tmp_path: Path) -> None:
    """Our own labels come back, and no count is made up: rank, page, table and figure say null or unknown."""
    slices = dw.Slices.from_labels(["1990-2009", "2010-2019", "2020s"])
    named = toy_model(model.rho, model.counts, WORDS, slices=slices, dim=5)
    out = dw.export(named, out=tmp_path / "vectors", min_count=1)
    back = dw.read_word2vec({label: out / f"{label}.vec" for label in slices.labels}, out=tmp_path / "back.model")
    assert back.slices == slices
    assert not back.vocabulary.counted
    near = dw.neighbors(back, "ship", at="1990-2009")
    assert near["count"].to_list() == [None] * len(near)
    assert near.height == 2
    table = dw.drift(back, n=None)
    assert table["count_first"].to_list() == [None] * 3
    assert set(table["word"]) == set(WORDS) - {"rare"}  # which the first file does not have
    assert dw.trajectory(back, "ship")["count"].to_list() == [None] * 3
    assert dw.trajectory(back, "rare")["count"].to_list() == [0, 0, None]
    assert dw.frequency(back, "ship")["per_million"].to_list() == [None] * 3
    assert dw.changes(back, "ship", min_count=5).height <= 2
    with pytest.raises(OptionError, match="counts of this model are unknown, so `skip` cannot be used"):
        dw.drift(back, skip=1)
    with pytest.raises(OptionError, match="counts of this model are unknown"):
        dw.drift(back, metric="relative")
    for kind in ("trajectory", "neighbors", "frequency", "map", "changes"):
        dw.plot.save(getattr(dw.plot, kind)(back, "ship"), tmp_path / f"{kind}.svg")
    dw.plot.save(dw.plot.drift(back), tmp_path / "drift.svg")
    page = dw.report(back, out=tmp_path / "r.html", n=2).read_text()
    assert "Occurs" not in page  # nobody knows how often
    shown = CliRunner().invoke(app, ["neighbors", str(tmp_path / "back.model"), "ship"]).output
    assert "count unknown" in shown
    parquet = pl.read_parquet(dw.export(back, out=tmp_path / "m.parquet", format="parquet"))
    assert parquet.filter(parquet["word"] == "ship")["count"].null_count() == 3
