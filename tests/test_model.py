from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftword as dw
from driftword.errors import OptionError, StoreError, UnknownSliceError, UnknownWordError

QUICK = {"dim": 8, "context": 4, "rounds": 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "dynamics"}, "There is no model 'dynamics'; choose one of static, binned, dynamic"),
        ({"resample": "never"}, "There is no resample 'never'"),
        ({"context": 3}, "`context` is 3; it must be even"),
        ({"context": 0}, "`context` is 0"),
        ({"dim": 0}, "`dim` is 0; it must be at least 1"),
        ({"pool": 2.5}, "`pool` is 2.5; it must be a whole number"),
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
    assert spec.prior == 2.5
    assert dw.Spec.from_dict({**spec.to_dict(), "of_a_later_version": 1}) == spec
    assert dw.Spec.from_dict({"squares": 0.5}).initial_accumulator == 0.5  # its name in the first file format
    assert dw.Spec.from_dict({"squares": 0.5}) == dw.Spec(initial_accumulator=0.5)  # its name in older models
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
