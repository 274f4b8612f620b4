from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import driftword as dw
from conftest import letters
from driftword.basics.errors import OptionError, StoreError
from driftword.cli import app

SPEC = dw.Spec(dim=8, context=4, rounds=2, learning_rate=0.05)


@pytest.mark.slow
def test_the_best_of_those_tried_is_chosen(small: dw.Corpus) -> None:
    tuned = dw.tune(small, SPEC, candidates=16, passes=4, threads=1)
    tried = tuned.tried
    assert tried["passes"].to_list() == [2] * 16 + [4] * 4
    first, last = tried.head(16), tried.tail(4)
    options = ["learning_rate", "drift_precision", "prior_precision", "block_size"]
    assert first.select(options).n_unique() == 16
    assert first.select(options).row(0) == (
        SPEC.learning_rate,
        SPEC.drift_precision,
        SPEC.prior_precision,
        SPEC.block_size,
    )
    best_quarter = first.sort("L", descending=True).head(4)
    assert set(last.select(options).rows()) == set(best_quarter.select(options).rows())
    winner = last.sort("L", descending=True).select(options).row(0)
    spec = tuned.spec
    assert winner == (spec.learning_rate, spec.drift_precision, spec.prior_precision, spec.block_size)
    again = dw.fit(small, spec, passes=4, threads=1)
    assert max(entry["L"] for entry in again.history[1:]) == pytest.approx(last["L"].max())


def test_options_that_a_model_does_not_have_are_not_tuned(small: dw.Corpus) -> None:
    tuned = dw.tune(small, dw.Spec(model="static", dim=4, rounds=1), candidates=3, passes=1)
    assert "drift_precision" not in tuned.tried.columns
    assert len(tuned.tried) == 3
    assert np.isfinite(tuned.tried["L"].to_numpy()).all()


def test_what_was_found_is_taken_up_again(small: dw.Corpus, tmp_path: Path) -> None:
    out = tmp_path / "m.model"
    first = dw.tune(small, SPEC, candidates=2, passes=1, out=out)
    held = json.loads((tmp_path / "m.model.tuning.json").read_text())
    assert dw.Spec.from_dict(held["spec"]) == first.spec
    again = dw.tune(small, SPEC, candidates=2, passes=1, out=out, resume=True)
    assert again.spec == first.spec
    assert again.tried.equals(first.tried)
    with pytest.raises(OptionError, match="was made with another spec and seed"):
        dw.tune(small, replace(SPEC, context=2), seed=1, passes=1, out=out, resume=True)
    (tmp_path / "m.model.tuning.json").write_text("{")
    with pytest.raises(StoreError, match="cannot be read; remove it"):
        dw.tune(small, SPEC, passes=1, out=out, resume=True)


def test_impossible_requests_are_refused(small: dw.Corpus) -> None:
    with pytest.raises(OptionError, match="`candidates` is 1; it must be at least 2"):
        dw.tune(small, candidates=1)
    alone = dw.Corpus.from_ids(["a", "b"], [0, 1], [0, 2], chunk_slice=[0], chunk_split=["train"], slices=[1900])
    with pytest.raises(OptionError, match="no validation text"):
        dw.tune(alone)


@pytest.mark.slow
def test_the_command_prints_what_was_tried(tmp_path: Path) -> None:
    dw.prepare(letters(), slices="5y", out=tmp_path / "c", subsample=None)
    arguments = ["fit", str(tmp_path / "c"), "--out", str(tmp_path / "m"), "--dim", "4", "--passes", "2", "--tune"]
    done = CliRunner(env={"COLUMNS": "140"}).invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "learning_rate" in done.output
    held = json.loads((tmp_path / "m.tuning.json").read_text())
    assert dw.Model.open(tmp_path / "m").spec == dw.Spec.from_dict(held["spec"])
