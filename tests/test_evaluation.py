from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import driftword as dw
from conftest import letters
from driftword.cli import app
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
    with pytest.raises(OptionError, match="is not the corpus that the model was fitted to; use that one"):
        dw.evaluate(model, other)


def test_asking_wrongly(model: dw.Model, small: dw.Corpus) -> None:
    with pytest.raises(OptionError, match="`split` is 'dev'"):
        dw.evaluate(model, small, split="dev")
    with pytest.raises(OptionError, match="`by` is 'word'; choose one of slice, band"):
        dw.evaluate(model, small, by="word")
    with pytest.raises(OptionError, match="`models` is 'other'"):
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
    assert markdown.splitlines()[0] == "| context | model | L | L_pos | over static | over binned |"
    assert len(markdown.splitlines()) == 2 + 6
    assert latex.startswith(r"\begin{tabular}{lccccc}")
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


def test_the_fingerprint_covers_all_that_a_model_sees(small: dw.Corpus, tmp_path: Path) -> None:
    """Corpora that differ in subsampling, counts or seed alone are different corpora."""
    common = {"phrases": False, "slices": "1y"}
    corpora = {
        name: dw.prepare(list(letters()), out=tmp_path / name, **{**common, **options})
        for name, options in {
            "all": {"subsample": None}, "some": {"subsample": 1e-3}, "fewer": {"subsample": 1e-4},
        }.items()
    }  # fmt: skip
    assert len({corpus.fingerprint for corpus in corpora.values()}) == 3
    arrays = {"chunk_slice": [0], "chunk_split": ["train"], "slices": [1900]}
    one, more, seeded = (
        dw.Corpus.from_ids(["a", "b"], [0, 1], [0, 2], **arrays, **options)  # type: ignore[arg-type]
        for options in ({}, {"raw_counts": [5, 9]}, {"seed": 7})
    )
    assert len({one.fingerprint, more.fingerprint, seeded.fingerprint}) == 3
    table = dw.compare(corpora["some"], contexts=(2,), models=["static"], spec=SPEC, passes=1, out=tmp_path / "models")
    with pytest.raises(StoreError, match="static-2.model' already exists"):
        dw.compare(corpora["fewer"], contexts=(2,), models=["static"], spec=SPEC, passes=1, out=tmp_path / "models")
    assert table.height == 1
    model = dw.Model.open(tmp_path / "models" / "static-2.model")
    with pytest.raises(OptionError, match="is not the corpus that the model was fitted to"):
        dw.evaluate(model, corpora["fewer"])
    assert dw.evaluate(model).height == 1  # it knows where its own is


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
    assert "over_binned" in shown.output
    assert shown.output.count("±") >= 9
