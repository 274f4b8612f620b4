from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import driftword as dw
from conftest import letters
from driftword.errors import OptionError, StoreError
from driftword.evaluation import comparison_table

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
    with pytest.raises(StoreError, match="was fitted to another corpus .* open that one"):
        dw.evaluate(model, other)


def test_asking_wrongly(model: dw.Model, small: dw.Corpus) -> None:
    with pytest.raises(OptionError, match="There is no split 'dev'"):
        dw.evaluate(model, small, split="dev")
    with pytest.raises(OptionError, match="There is no by 'word'; choose one of slice, band"):
        dw.evaluate(model, small, by="word")
    with pytest.raises(OptionError, match="There is no model 'other'"):
        dw.compare(small, models=["other"])


def test_compare_is_the_papers_table(small: dw.Corpus, tmp_path: Path) -> None:
    table = dw.compare(small, contexts=(2, 4), spec=SPEC, passes=2, out=tmp_path / "models")
    assert table.select("context", "model").rows() == [(c, m) for c in (2, 4) for m in ("static", "binned", "dynamic")]
    for row in table.iter_rows(named=True):
        assert row["L_pos_se"] > 0
        for base in ("static", "binned"):
            if row["model"] == base:
                assert row[f"over_{base}"] is None
                continue
            other = table.filter((pl.col("context") == row["context"]) & (pl.col("model") == base))["L"][0]
            assert row[f"over_{base}"] == pytest.approx(row["L"] - other)
            assert row[f"over_{base}_se"] > 0
    markdown, latex = (comparison_table(table, format=format) for format in ("markdown", "latex"))
    assert markdown.splitlines()[0] == "|  | context 2: L | context 2: L_pos | context 4: L | context 4: L_pos |"
    assert latex.startswith(r"\begin{tabular}{lcccc}")
    assert r"\pm" in latex
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "models").glob("*.model")}
    assert len(stamps) == 6
    again = dw.compare(small, contexts=(2, 4), spec=SPEC, passes=2, out=tmp_path / "models")
    assert again.equals(table)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "models").glob("*.model")} == stamps
    other = {"contexts": (2,), "models": ["static"], "spec": SPEC, "passes": 3, "out": tmp_path / "models"}
    with pytest.raises(StoreError, match="static-2.model' already exists; pass `overwrite=True`"):
        dw.compare(small, **other)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "models").glob("*.model")} == stamps
    longer = dw.compare(small, **other, overwrite=True)
    assert longer["L"][0] != table["L"][0]  # another number of passes is another protocol
