"""The basis of the vectors is arbitrary: rotating a model changes no answer, except that of the paper's own metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import driftword as dw
from conftest import toy_model
from driftword.explore.drift_metrics import METRICS

WORDS = [f"w{i}" for i in range(80)]
SLICES, DIM = 6, 12


@pytest.fixture(scope="module")
def models() -> tuple[dw.Model, dw.Model]:
    """Return a model without intercepts, whose movements are projected, and the same one rotated."""
    random = np.random.default_rng(5)
    rho = np.cumsum(random.normal(size=(SLICES, len(WORDS), DIM)) * 0.4, axis=0) + random.normal(size=(len(WORDS), DIM))
    alpha = random.normal(size=(len(WORDS), DIM)) + 0.5
    counts = random.integers(5, 400, (SLICES, len(WORDS)))
    rotation, _ = np.linalg.qr(random.normal(size=(DIM, DIM)))
    made = (toy_model(rho @ q, counts, WORDS, alpha=(alpha @ q).astype(np.float32)) for q in (np.eye(DIM), rotation))
    return next(made), next(made)


QUESTIONS: dict[str, Callable[[dw.Model], Any]] = {
    "neighbors": lambda m: dw.neighbors(m, "w3"),
    "neighborhoods": lambda m: dw.neighborhoods(m, ["w3", "w9"]),
    "most_similar": lambda m: pl.DataFrame(m.at(1920).most_similar("w3"), orient="row"),
    "changes": lambda m: dw.changes(m),
    "changes of words": lambda m: dw.changes(m, ["w1", "w2"]),
    "movers": lambda m: dw.movers(m, at=1930),
    "trajectory": lambda m: dw.trajectory(m, "w5"),
    "similarity": lambda m: dw.similarity(m, "w5", ["w6"]),
    "towards": lambda m: dw.towards(m, "w5", low=["w6"], high=["w7"]),
    "equivalents": lambda m: dw.equivalents(m, "w5", at=1900, to=1950),
    "analogy": lambda m: dw.analogy(m, "w1", "w2", "w3", at=1920),
    "frequency": lambda m: dw.frequency(m, "w5"),
    "drift": lambda m: dw.drift(m),
    **{f"drift by {metric}": lambda m, metric=metric: dw.drift(m, metric=metric) for metric in METRICS},  # type: ignore[misc]
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_rotated_model_gives_the_same_answer(models: tuple[dw.Model, dw.Model], question: str) -> None:
    one, other = (QUESTIONS[question](model) for model in models)
    assert one.height
    assert_frame_equal(other, one, rel_tol=1e-3, abs_tol=1e-4)


def test_the_papers_metric_depends_on_the_basis(models: tuple[dw.Model, dw.Model]) -> None:
    one, other = (dw.neighbors(model, "w3", metric="paper", n=10)["word"].to_list() for model in models)
    assert one != other
