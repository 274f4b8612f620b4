from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import driftword as dw
from conftest import letters
from driftword.basics.errors import OptionError, StoreError
from driftword.cli import app
from driftword.fitting.comparison import comparison_table

pytestmark = pytest.mark.slow

SPEC = dw.Spec(dim=8, context=4, rounds=2, learning_rate=0.1)


def test_compare_is_the_papers_table(small: dw.Corpus, tmp_path: Path) -> None:
    table = dw.compare(small, contexts=(2, 4), spec=SPEC, passes=2, out=tmp_path / "models")
    assert table.select("context", "model").rows() == [
        (c, m) for c in (2, 4) for m in ("static", "frequency", "binned", "dynamic")
    ]
    gains = table.filter(model="dynamic")
    assert (gains["over_static"] != gains["over_frequency"]).all()
    for row in table.iter_rows(named=True):
        assert row["L_pos_se"] > 0
        for base in ("static", "frequency", "binned"):
            if row["model"] == base:
                assert row[f"over_{base}"] is None
                continue
            other = table.filter((pl.col("context") == row["context"]) & (pl.col("model") == base))["L"][0]
            assert row[f"over_{base}"] == pytest.approx(row["L"] - other)
            assert row[f"over_{base}_se"] > 0
    markdown, latex = (comparison_table(table, format=format) for format in ("markdown", "latex"))
    assert markdown.splitlines()[0] == "| context | model | L | L_pos | over static | over frequency | over binned |"
    assert len(markdown.splitlines()) == 2 + 8
    assert latex.startswith(r"\begin{tabular}{lcccccc}")
    assert r"\pm" in latex
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "models").glob("*.model")}
    assert len(stamps) == 8
    again = dw.compare(small, contexts=(2, 4), spec=SPEC, passes=2, out=tmp_path / "models")
    assert again.equals(table)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "models").glob("*.model")} == stamps
    other = {"contexts": (2,), "models": ["static"], "spec": SPEC, "passes": 3, "out": tmp_path / "models"}
    with pytest.raises(StoreError, match="static-2.model' already exists; pass `overwrite=True`"):
        dw.compare(small, **other)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "models").glob("*.model")} == stamps
    longer = dw.compare(small, **other, overwrite=True)
    assert longer["L"][0] != table["L"][0]  # another number of passes is another protocol


def test_comparisons_over_several_seeds(small: dw.Corpus, tmp_path: Path) -> None:
    options = {"contexts": (2,), "models": ["dynamic", "static"], "spec": SPEC, "passes": 2}
    both = dw.compare(small, **options, seeds=[0, 1], out=tmp_path / "models", threads=1)
    assert sorted(path.name for path in (tmp_path / "models").glob("*.model")) == [
        f"{name}-2-seed{seed}.model" for name in ("dynamic", "static") for seed in (0, 1)
    ]
    single = [dw.compare(small, **options, seeds=seed, threads=1) for seed in (0, 1)]
    mean = sum(table["L"] for table in single) / 2
    assert both["L"].to_list() == pytest.approx(mean.to_list(), abs=1e-9)
    assert both["seeds"].to_list() == [2, 2]
    assert both["L_seed_sd"].null_count() == 0
    assert single[0]["L_seed_sd"].null_count() == 2
    shown = CliRunner().invoke(
        app, ["compare", str(small.path), "--contexts", "2", "--dim", "4", "--drift-precision", "50", "--rounds", "1",
              "--passes", "2", "--seeds", "0,1"], env={"COLUMNS": "160"},
    )  # fmt: skip
    assert shown.exit_code == 0, shown.output
    assert "gain in L over" in shown.output
    assert shown.output.count("±") >= 9


def test_frequency_alone_moves_no_embedding(small: dw.Corpus, tmp_path: Path) -> None:
    dw.compare(small, contexts=4, models="frequency", spec=SPEC, passes=3, out=tmp_path / "models")
    model = dw.Model.open(tmp_path / "models" / "frequency-4.model")
    assert model.rho.shape[0] == 1
    intercepts = np.asarray(model.intercepts)
    assert intercepts.shape == (len(model.slices), len(model.words))
    assert np.abs(intercepts - intercepts[0]).max() > 0.1
    shown = dw.frequency(model, model.words[0])["intercept"]
    assert shown.to_list() == pytest.approx(intercepts[:, 0].tolist())
    with pytest.raises(OptionError, match="A model of frequency alone has one embedding for all slices"):
        dw.drift(model)
    with pytest.raises(OptionError, match="no model of frequency alone"):
        dw.compare(small, models=["frequency"], spec=dw.Spec(intercept=False))
    table = dw.compare(small, contexts=2, spec=dw.Spec.paper(dim=4, rounds=1), passes=2)
    assert table["model"].to_list() == ["static", "binned", "dynamic"]


def test_each_model_is_tuned_with_the_same_budget(small: dw.Corpus, tmp_path: Path) -> None:
    options = {"contexts": 2, "models": ["static", "binned", "dynamic"], "spec": SPEC, "passes": 1, "tune": True}
    table = dw.compare(small, **options, seeds=[3, 4], out=tmp_path / "models")
    for row in table.iter_rows(named=True):
        kept = json.loads((tmp_path / "models" / f"{row['model']}-2.model.tuning.json").read_text())
        assert len(kept["tried"]) == 16
        assert kept["asked"]["seed"] == 3
        model = dw.Model.open(tmp_path / "models" / f"{row['model']}-2-seed4.model")
        assert model.spec == dw.Spec.from_dict(kept["spec"])
        assert row["learning_rate"] == model.spec.learning_rate
    assert [value is None for value in table["drift_precision"]] == [True, True, False]
    assert [value is None for value in table["intercept_precision"]] == [True, False, True]
    stamp = (tmp_path / "models" / "binned-2.model.tuning.json").stat().st_mtime_ns
    assert dw.compare(small, **options, seeds=[3, 4], out=tmp_path / "models").equals(table)
    assert (tmp_path / "models" / "binned-2.model.tuning.json").stat().st_mtime_ns == stamp
    with pytest.raises(OptionError, match="was made with another passes; use the same options, or remove it"):
        dw.compare(small, **{**options, "passes": 2}, seeds=[3, 4], out=tmp_path / "models")
    shown = CliRunner().invoke(
        app, ["compare", str(small.path), "--contexts", "2", "--models", "static", "--dim", "4", "--rounds", "1",
              "--passes", "1", "--tune"], env={"COLUMNS": "160"},
    )  # fmt: skip
    assert shown.exit_code == 0, shown.output
    assert "learning_rate" in shown.output


def test_the_options_of_the_paper_by_command(tmp_path: Path) -> None:
    out, corpus = tmp_path / "paper.model", tmp_path / "some.corpus"
    dw.prepare(list(letters()), out=corpus, subsample=1e-3)
    command = ["fit", str(corpus), "--out", str(out), "--paper", "--dim", "4", "--passes", "2"]
    shown = CliRunner().invoke(app, [*command, "--drift-precision", "3"])
    assert shown.exit_code == 0, shown.output
    assert "The paper subsamples text with t = 1e-05" in shown.stderr
    assert dw.Model.open(out).spec == dw.Spec.paper(dim=4, drift_precision=3.0)
    assert dw.Model.open(out).spec.prior == 0.003
