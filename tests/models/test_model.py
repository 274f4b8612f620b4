from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftword as dw
from driftword.basics.errors import ExistsError, OptionError, StoreError, UnknownSliceError, UnknownWordError
from driftword.storage import store
from driftword.storage.stored_arrays import StoredArray

QUICK = {"dim": 8, "context": 4, "rounds": 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "dynamics"}, "`model` is 'dynamics'; choose one of static, frequency, binned, dynamic"),
        ({"resample": "never"}, "`resample` is 'never'"),
        ({"context": 3}, "`context` is 3; it must be even"),
        ({"context": 0}, "`context` is 0"),
        ({"dim": 0}, "`dim` is 0; it must be from 1 to 100,000"),
        ({"pool_size": 2.5}, "`pool_size` is 2.5; it must be a whole number"),
        ({"learning_rate": 0}, "`learning_rate` is 0; it must be a positive number"),
        ({"drift_precision": float("nan")}, "`drift_precision` is nan"),
        ({"prior_precision": -1}, "`prior_precision` is -1"),
        ({"final_rate": 2}, "`final_rate` is 2"),
    ],
)
def test_options_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        dw.Spec(**options)


def test_a_spec_is_frozen_and_comes_back() -> None:
    spec = dw.Spec(model="binned", drift_precision=50.0)
    assert dw.Spec.from_dict({**spec.to_dict(), "of_a_later_version": 1}) == spec
    with pytest.raises(AttributeError):
        spec.dim = 5  # type: ignore[misc]


def test_a_model_is_stored_and_opened(small: dw.Corpus, tmp_path: Path) -> None:
    made = dw.fit(small, dw.Spec(**QUICK), passes=2, out=tmp_path / "m", threads=1)
    model = dw.Model.open(tmp_path / "m")
    assert model.rho.shape == (10, len(small.words), 8)
    assert model.rho.dtype == np.float32
    assert (model.rho == made.rho).all()
    assert model["harbour"].shape == (10, 8)
    assert (model["harbour", 1853] == model.rho[3, small.word_id("harbour")]).all()
    assert "harbour" in model
    assert "unicorn" not in model
    assert model.words == small.words
    assert model.slices == small.slices
    info = model.info()
    assert info["provenance"]["corpus"] == small.fingerprint
    assert len(info["history"]) == 2
    assert repr(model).startswith("Model(dynamic, 27 words, 10 slices 1850 to 1859")
    with pytest.raises(UnknownWordError, match="did you mean 'harbour'"):
        _ = model["harbor"]
    with pytest.raises(UnknownSliceError):
        _ = model["harbour", 1700]
    halved = dw.fit(small, dw.Spec(**QUICK), passes=2, out=tmp_path / "h", half_precision=True, threads=1)
    assert halved.rho.dtype == np.float16
    np.testing.assert_allclose(halved.rho, made.rho, atol=2e-3)
    with pytest.raises(StoreError, match="is a model, but a corpus is needed"):
        dw.Corpus.open(tmp_path / "m")


def test_a_model_is_saved_and_shown(small_model: dw.Model, tmp_path: Path) -> None:
    copy = small_model.save(tmp_path / "copy")
    assert (copy.rho == small_model.rho).all()
    assert (copy.vocabulary.train_counts == small_model.vocabulary.train_counts).all()
    assert copy.info() | {"path": None} == small_model.info() | {"path": None}
    with pytest.raises(ExistsError, match="already exists"):
        small_model.save(tmp_path / "copy")
    with pytest.raises(FileExistsError):
        small_model.save(tmp_path / "copy")
    small_model.save(tmp_path / "copy", overwrite=True)
    shown = small_model._repr_html_()
    assert shown.startswith("<table>")
    assert "dynamic, 8 dimensions" in shown
    assert "27" in shown
    shown = dw.Spec(dim=50)._repr_html_()
    assert "50 (usually 100)" in shown
    assert shown.count("usually") == 1


def test_models_move_or_not(small_model: dw.Model, small: dw.Corpus) -> None:
    assert small_model.moves
    assert not dw.fit(small, dw.Spec(model="static", **QUICK), passes=1).moves
    assert not dw.fit(small, dw.Spec(**QUICK), passes=1).moves  # of a single pass, which is static


def test_numbers_of_numpy_are_welcome() -> None:
    spec = dw.Spec(dim=np.int64(8), learning_rate=np.float32(0.5))  # type: ignore[arg-type]
    assert type(spec.dim) is int
    assert json.loads(json.dumps(spec.to_dict()))["learning_rate"] == 0.5


def test_a_model_finds_its_corpus(small_model: dw.Model, small: dw.Corpus, tmp_path: Path) -> None:
    found = small_model.open_corpus()
    assert found is not None
    assert found.fingerprint == small.fingerprint
    other = dw.prepare([("one two three " * 100, 1900), ("two three four " * 100, 1901)], out=tmp_path / "other")
    with pytest.raises(OptionError, match="is not the corpus that the model was fitted to"):
        small_model.open_corpus(other.path)
    with pytest.raises(StoreError, match="There is no corpus"):
        small_model.open_corpus(tmp_path / "nothing")


def test_a_mapped_model_and_corpus_answer_as_those_in_memory(
    small: dw.Corpus, small_model: dw.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large arrays are mapped, and checked part by part; every question must be able to read them so."""
    assert small.path is not None
    questions: list[Callable[[dw.Model, dw.Corpus], Any]] = [
        lambda model, _: dw.neighbors(model, "harbour", at="all"),
        lambda model, _: dw.drift(model, metric="thirds"),
        lambda model, _: dw.drift(model, ["harbour"], metric="path"),
        lambda model, _: dw.changes(model),
        lambda model, _: dw.changes(model, ["harbour", "wheat"]),
        lambda model, _: dw.trajectory(model, ["harbour", "wheat"]),
        lambda model, _: dw.movers(model, at=1854),
        lambda model, _: dw.similarity(model, "harbour", "wheat"),
        lambda model, _: dw.towards(model, "ship", low="harbour", high="wheat"),
        lambda model, _: dw.equivalents(model, "harbour", at=1850, to=1859),
        lambda model, corpus: dw.evaluate(model, corpus=corpus, threads=1),
        lambda _, corpus: corpus.passages("harbour", n=5),
        lambda _, corpus: corpus.sample("train", pass_number=3)[0].tolist(),
        lambda _, corpus: (corpus.fingerprint, corpus.info(), corpus.phrases.table().to_dicts()),
    ]
    model = small_model.save(tmp_path / "m")
    expected = [str(ask(model, small)) for ask in questions]
    monkeypatch.setattr(store, "_SMALL", 0)
    mapped, corpus = dw.Model.open(tmp_path / "m"), dw.Corpus.open(small.path)
    assert isinstance(mapped._rho, StoredArray)
    assert [str(ask(mapped, corpus)) for ask in questions] == expected
    copied = pickle.loads(pickle.dumps((mapped, corpus)))
    assert (copied[0].rho == model.rho).all()
    assert (copied[1].tokens == small.tokens).all()
