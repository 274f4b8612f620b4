"""Texts as vectors, alone and in scikit-learn's pipelines."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

import driftword as dw
from conftest import toy_model

WORDS = ["new", "york", "new york", "ship", "sails", "court"]


@pytest.fixture
def model() -> dw.Model:
    random = np.random.default_rng(0)
    return toy_model(random.normal(size=(2, 6, 5)), [[10, 5, 8, 20, 9, 300]] * 2, WORDS, dim=5, intercept=False)


def expected(model: dw.Model, words: list[str], a: float | None) -> np.ndarray:
    """Return the mean vector by a plain computation."""
    rows = np.asarray(model.rho[1])
    rows = rows - rows.mean(axis=0)
    counts = np.asarray(model.counts).sum(axis=0)
    found = []
    for word in words:
        v = WORDS.index(word)
        weight = 1 if a is None else a / (a + counts[v] / counts.sum())
        found.append(weight * rows[v] / np.linalg.norm(rows[v]))
    return np.mean(found, axis=0)


@pytest.mark.parametrize("a", [None, 1e-3, 0.5])
def test_a_text_is_the_mean_of_its_words(model: dw.Model, a: float | None) -> None:
    made = dw.TextVectorizer(model, at=1910, smoothing=a)
    texts = ["The SHIP sails: to New York!", "", "nothing known", ["ship", "ship", "court"], "new york new"]
    found = made.fit_transform(texts)
    assert found.shape == (5, 5)
    assert found[0] == pytest.approx(expected(model, ["ship", "sails", "new york"], a), abs=1e-6)
    assert not found[1].any()
    assert not found[2].any()
    assert found[3] == pytest.approx(expected(model, ["ship", "ship", "court"], a), abs=1e-6)
    assert found[4] == pytest.approx(expected(model, ["new york", "new"], a), abs=1e-6)
    assert list(made.get_feature_names_out()) == [f"dimension{k}" for k in range(5)]


def test_it_is_a_step_of_a_pipeline(model: dw.Model) -> None:
    texts, classes = ["ship sails", "the ship", "court", "the court"] * 5, [0, 0, 1, 1] * 5
    pipeline = make_pipeline(dw.TextVectorizer(model, at=1900), LogisticRegression())
    assert pipeline.fit(texts, classes).score(texts, classes) == 1
    later = clone(pipeline).set_params(textvectorizer__at=1910)
    assert later.fit(texts, classes).score(texts, classes) == 1
    step = pipeline[0]
    check_is_fitted(step)
    assert "TextVectorizer" in repr(pipeline)
    first = step.transform(["ship"])
    assert not np.allclose(first, step.set_params(at=1910).transform(["ship"]))
    assert clone(step).get_params() == step.get_params() == {
        "model": model, "at": 1910, "smoothing": 1e-3, "group": None,
    }  # fmt: skip


def test_wrong_use_ends_in_a_sentence(model: dw.Model) -> None:
    for made, message in (
        (dw.TextVectorizer(model), "Say which slice of the model to use: give `at`"),
        (dw.TextVectorizer(model, at=1700), "1700"),
        (dw.TextVectorizer(model, at=1900, smoothing=-1), "smoothing"),
        (dw.TextVectorizer("nowhere.model", at=1900), "nowhere.model"),
    ):
        with pytest.raises(dw.DriftwordError, match=message):
            made.fit()
    made = dw.TextVectorizer(model, at=1900)
    for wrong in ("one text", 3, [3], [["ship", 5]], None):
        with pytest.raises(dw.OptionError, match="`texts`"):
            made.transform(wrong)  # type: ignore[arg-type]
    with pytest.raises(dw.OptionError, match="parameters"):
        made.set_params(colour="red")
    imported = dw.from_vectors({1990: {"ship": [1.0, 2.0], "court": [2.0, 1.0]}})
    with pytest.raises(dw.OptionError, match="give `smoothing=None`"):
        dw.TextVectorizer(imported).fit()
    assert dw.TextVectorizer(imported, smoothing=None).fit_transform(["ship"]).shape == (1, 2)
