from __future__ import annotations

from pathlib import Path

import pytest

import driftword as dw
from conftest import letters
from driftword.basics.errors import OptionError, StoreError

SPEC = dw.Spec(dim=8, context=4, rounds=2, learning_rate=0.1)


@pytest.fixture(scope="module")
def model(small: dw.Corpus) -> dw.Model:
    return dw.fit(small, SPEC, passes=3)


def test_scores_add_up(model: dw.Model, small: dw.Corpus) -> None:
    whole = dw.evaluate(model, corpus=small).row(0, named=True)
    assert whole["L"] == pytest.approx(whole["L_pos"] + whole["L_neg"])
    assert whole["positions"] == small.split_sizes()["test"]
    for by in ("slice", "band"):
        parts = dw.evaluate(model, corpus=small, by=by)
        assert parts["positions"].sum() == whole["positions"]
        weighted = (parts["L"] * parts["positions"]).sum() / whole["positions"]
        assert weighted == pytest.approx(whole["L"])
    assert dw.evaluate(model, corpus=small, by="slice")["slice"].to_list() == list(small.slices.labels)
    assert dw.evaluate(model, corpus=small, threads=1).equals(dw.evaluate(model, corpus=small, threads=2))


def test_a_model_meets_only_its_own_corpus(model: dw.Model, tmp_path: Path) -> None:
    other = dw.prepare(list(letters(seed=5)), out=tmp_path / "c")
    with pytest.raises(OptionError, match="is not the corpus that the model was fitted to; use that one"):
        dw.evaluate(model, corpus=other)


def test_asking_wrongly(model: dw.Model, small: dw.Corpus) -> None:
    with pytest.raises(OptionError, match="`split` is 'dev'"):
        dw.evaluate(model, corpus=small, split="dev")
    with pytest.raises(OptionError, match="`by` is 'word'; choose one of slice, band"):
        dw.evaluate(model, corpus=small, by="word")
    with pytest.raises(OptionError, match="`models` is 'other'"):
        dw.compare(small, models=["other"])


@pytest.mark.slow
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
        dw.evaluate(model, corpus=corpora["fewer"])
    assert dw.evaluate(model).height == 1  # it knows where its own is
