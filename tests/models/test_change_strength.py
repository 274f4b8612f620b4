"""The order of words that changed: a slow twin, and who is ranked at all."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl
import pytest

import driftword as dw
from conftest import random_model, with_changes
from driftword.models import change_strength
from driftword.models.change_strength import among_peers, distances, least_documents, with_strength
from driftword.models.significance_table import ranked

WORDS = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60)]


def a_tested_model() -> dw.Model:
    return with_changes(random_model(WORDS, slices=6), dict.fromkeys(WORDS[:40], "1993"))


def test_distances_are_those_between_mean_vectors_before_and_since() -> None:
    model = random_model(WORDS, slices=6)
    random = np.random.default_rng(1)
    counts = random.integers(0, 12, size=(6, len(WORDS)))
    counts[:3, 7] = 0  # never before
    vocabulary = type(model.vocabulary)(model.words, model.slices, counts, counts)
    model = dw.Model(model.rho, model.alpha, vocabulary=vocabulary, spec=model.spec, provenance=model.provenance)
    words = np.arange(30)
    change = np.array([(date(1993, 5, 1) - date(1970, 1, 1)).days] * 30)
    found = distances(model, words, change)
    for v in words:
        sides = []
        for slices in (range(3), range(3, 6)):
            rows = [(model.rho[t, v] - model.rho[t][counts[t] >= 5].mean(axis=0)) * counts[t, v] for t in slices]
            sides.append(np.sum(rows, axis=0) / max(sum(counts[t, v] for t in slices), 1))
        expected = 0 if v == 7 else np.linalg.norm(sides[1] - sides[0])
        assert found[v] == pytest.approx(expected, abs=1e-4)


def test_peers_are_words_of_similar_frequency(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_strength, "PEERS", 20)
    random = np.random.default_rng(0)
    frequency = random.permutation(100).astype(float)
    measure = frequency + random.normal(size=100)
    found = among_peers(measure, frequency)
    inner = (frequency > 10) & (frequency < 90)
    assert abs(np.corrcoef(found[inner], frequency[inner])[0, 1]) < 0.3
    place = int(np.flatnonzero(frequency == 50)[0])
    peers = measure[(frequency >= 40) & (frequency < 60)]
    middle = np.median(peers)
    spread = 1.4826 * np.median(np.abs(peers - middle))
    assert found[place] == pytest.approx((measure[place] - middle) / spread)
    assert np.isfinite(among_peers(np.ones(3), np.ones(3))).all()


@pytest.mark.parametrize(
    "left_out",
    [
        {"kind": "name"}, {"kind": "function"}, {"documents_since": 7}, {"documents_before": 3}, {"lasting": 0.3},
        {"q": 0.06}, {"low": -0.01},
    ],
)  # fmt: skip
def test_only_words_with_enough_evidence_are_ranked(left_out: dict[str, object]) -> None:
    model = a_tested_model()
    assert model.significance is not None
    table = model.significance.table
    assert table["strength"].is_not_null().sum() == 40
    changed = table.with_columns(
        pl.when(pl.col("word") == WORDS[3]).then(pl.lit(value)).otherwise(pl.col(name)).alias(name)
        for name, value in left_out.items()
    )
    again = with_strength(changed, model)
    assert again["strength"][3] is None
    assert again["strength"].is_not_null().sum() == 39


@pytest.mark.parametrize(("every", "least"), [(40, 8), (237, 11), (399, 19), (400, 20), (90_000, 20)])
def test_small_corpora_need_fewer_documents(every: int, least: int) -> None:
    assert least_documents(pl.DataFrame({"documents": [3, every, 8]})) == least


def test_every_list_has_the_same_order() -> None:
    model = a_tested_model()
    assert model.significance is not None
    table = ranked(model.significance.table)
    strongest = table["word"][:16].to_list()
    assert table["strength"][:40].is_sorted(descending=True)
    assert dw.drift(model)["word"].to_list() == strongest
    assert dw.significance(model)["word"][:16].to_list() == strongest
    assert dw.plot.drift(model).to_dict()["layer"]
    assert [model.words[v] for v in model.significance.order[:16]] == strongest


def test_a_static_model_has_no_order_of_its_own() -> None:
    model = random_model(WORDS, slices=6, moves=False)
    still = with_changes(model, dict.fromkeys(WORDS[:4], "1993"))
    assert still.significance is not None
    assert still.significance.table["strength"].is_null().all()
