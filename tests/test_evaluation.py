from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import driftword as dw
from conftest import letters
from driftword.errors import OptionError, StoreError
from driftword.evaluation import as_table

SPEC = dw.Spec(dim=8, context=4, rounds=2, learning_rate=0.1)


@pytest.fixture(scope="module")
def model(small: dw.Corpus) -> dw.Model:
    return dw.fit(small, SPEC, passes=3)


def test_scores_add_up(model: dw.Model, small: dw.Corpus) -> None:
    whole = dw.evaluate(model, small).row(0, named=True)
    assert whole["L"] == pytest.approx(whole["L_pos"] + whole["L_neg"])
    assert whole["positions"] == small.split_sizes()["test"]
    for by in ("slice", "band"):
        parts = dw.evaluate(model, small, by=by)
        assert parts["positions"].sum() == whole["positions"]
        weighted = (parts["L"] * parts["positions"]).sum() / whole["positions"]
        assert weighted == pytest.approx(whole["L"])
    assert dw.evaluate(model, small, by="slice")["slice"].to_list() == list(small.slices.labels)
    assert dw.evaluate(model, small, threads=1).equals(dw.evaluate(model, small, threads=2))


def test_a_model_meets_only_its_own_corpus(model: dw.Model, tmp_path: Path) -> None:
    other = dw.prepare(list(letters(seed=5)), out=tmp_path / "c")
    with pytest.raises(StoreError, match="was fitted to another corpus .* open the one it was made from"):
        dw.evaluate(model, other)


def test_asking_wrongly(model: dw.Model, small: dw.Corpus) -> None:
    with pytest.raises(OptionError, match="there is no split 'dev'"):
        dw.evaluate(model, small, split="dev")
    with pytest.raises(OptionError, match="not by 'word'"):
        dw.evaluate(model, small, by="word")
    with pytest.raises(OptionError, match="there is no model 'other'"):
        dw.compare(small, models=["other"])


def test_compare_is_the_papers_table(small: dw.Corpus, tmp_path: Path) -> None:
    table = dw.compare(small, contexts=(2, 4), spec=SPEC, passes=2, out=tmp_path / "models")
    assert table.select("context", "model").rows() == [(c, m) for c in (2, 4) for m in ("static", "binned", "dynamic")]
    assert table.filter(pl.col("model") == "static")["L_gain"].null_count() == 2
    for row in table.filter(pl.col("model") != "static").iter_rows(named=True):
        static = table.filter((pl.col("context") == row["context"]) & (pl.col("model") == "static"))["L"][0]
        assert row["L_gain"] == pytest.approx(row["L"] - static)
        assert row["L_gain_se"] > 0
    markdown, latex = (as_table(table, form=form) for form in ("markdown", "latex"))
    assert markdown.splitlines()[0] == "|  | context 2 | context 4 |"
    assert latex.startswith(r"\\begin{tabular}{lcc}".replace("\\\\", "\\"))
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "models").glob("*.model")}
    assert len(stamps) == 6
    again = dw.compare(small, contexts=(2, 4), spec=SPEC, passes=2, out=tmp_path / "models")
    assert again.equals(table)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "models").glob("*.model")} == stamps
    other = {"contexts": (2,), "models": ["static"], "spec": SPEC, "passes": 3, "out": tmp_path / "models"}
    with pytest.raises(StoreError, match="static-2.model' exists; use --overwrite"):
        dw.compare(small, **other)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "models").glob("*.model")} == stamps
    longer = dw.compare(small, **other, overwrite=True)
    assert longer["L"][0] != table["L"][0]  # another number of passes is another protocol
