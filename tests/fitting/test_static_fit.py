"""The fit without dates that tests compare documents with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import driftword as dw
from driftword.basics.errors import StoreError
from driftword.fitting.static_fit import static_vectors


def test_it_knows_neither_dates_nor_the_options_of_the_model(small: dw.Corpus, small_model: dw.Model) -> None:
    own = static_vectors(_copy(small_model), small, threads=2)
    spec = dw.Spec(dim=small_model.spec.dim, context=small_model.spec.context, drift_precision=0.1)
    loose = dw.fit(small, spec, passes=2, seed=7)
    for one, other in zip(own, static_vectors(loose, small, threads=1), strict=True):
        np.testing.assert_array_equal(one, other)
    assert own.rho.shape == own.alpha.shape == (len(small.words), small_model.spec.dim)
    assert own.intercepts.shape == (len(small.words),)


def test_it_is_kept_with_the_model(small: dw.Corpus, small_model: dw.Model, tmp_path: Path) -> None:
    folder = tmp_path
    stored = _copy(small_model).save(folder / "a.model")
    assert stored.static is None
    found = static_vectors(stored, small, threads=2)
    again = dw.Model.open(folder / "a.model")
    assert again.static is not None
    moved = again.save(folder / "b.model").static
    assert moved is not None
    for kept in (again.static, moved):
        for one, other in zip(found, kept, strict=True):
            np.testing.assert_array_equal(one, other)


def test_vectors_of_other_words_are_refused(small: dw.Corpus, small_model: dw.Model, tmp_path: Path) -> None:
    model = _copy(small_model)
    vectors = static_vectors(model, small, threads=2)
    model.keep_static(vectors._replace(intercepts=vectors.intercepts[1:]))
    with pytest.raises(StoreError, match="static vectors"):
        _ = model.save(tmp_path / "c.model").static
    model.keep_static(vectors._replace(intercepts=vectors.intercepts * np.float32("nan")))
    with pytest.raises(StoreError, match="static vectors"):
        _ = model.save(tmp_path / "d.model").static


def _copy(model: dw.Model) -> dw.Model:
    """Return a model in memory without what was kept with it."""
    return dw.Model(
        model.rho, model.alpha, model.intercepts, vocabulary=model.vocabulary, spec=model.spec,
        provenance=model.provenance,
    )  # fmt: skip
