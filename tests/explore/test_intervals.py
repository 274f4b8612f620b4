"""Intervals and support: what answers would be with other documents."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import polars as pl
import pytest

import driftword as dw
from driftword.explore.first_use import displacement_interval
from driftword.explore.intervals import chosen_excess, square_without_noise, true_directions
from driftword.inference.uncertainty import Uncertainty, solve_chain


@pytest.fixture(scope="module")
def uncertainty(small: dw.Corpus, small_model: dw.Model) -> Uncertainty:
    return Uncertainty(small_model, small)


def test_a_chain_is_solved_as_one_system() -> None:
    random = np.random.default_rng(0)
    slices, size = 5, 3
    roots = random.normal(size=(slices, size, size))
    blocks = roots @ roots.transpose(0, 2, 1)
    diagonal, couplings = random.uniform(1, 2, (slices, size)), random.uniform(0, 3, (slices - 1, size))
    right = random.normal(size=(slices, size, 4))
    whole = np.zeros((slices * size, slices * size))
    for t in range(slices):
        here = slice(t * size, (t + 1) * size)
        whole[here, here] += blocks[t] + np.diag(diagonal[t])
        if t + 1 < slices:
            there = slice((t + 1) * size, (t + 2) * size)
            step = np.diag(couplings[t])
            whole[here, here] += step
            whole[there, there] += step
            whole[here, there] -= step
            whole[there, here] -= step
    expected = np.linalg.solve(whole, right.reshape(-1, 4)).reshape(right.shape)
    np.testing.assert_allclose(solve_chain(blocks, diagonal, couplings, right), expected, rtol=1e-6, atol=1e-9)


def test_draws_are_the_same_twice_and_average_to_nothing(uncertainty: Uncertainty, small_model: dw.Model) -> None:
    draws = uncertainty.draws(3, 400)
    np.testing.assert_array_equal(draws, uncertainty.draws(3, 400))
    assert draws.shape == (400, len(small_model.slices), 8)
    error = draws.std(axis=0) / np.sqrt(400)
    assert (np.abs(draws.mean(axis=0)) < 5 * error).all()


def test_more_documents_make_it_surer(small: dw.Corpus, small_model: dw.Model) -> None:
    """Four copies of every document, and the same embeddings: with a weak prior, half the spread."""
    n = len(small.chunk_slice)
    order = np.tile(np.arange(n), 4)
    lengths = np.diff(small.offsets)[order]
    corpus = dw.Corpus.from_ids(
        small.words,
        np.tile(small.tokens, 4),
        np.r_[0, np.cumsum(lengths)],
        chunk_slice=small.chunk_slice[order],
        chunk_split=small.chunk_split[order],
        chunk_document=small.chunk_document[order] + 1000 * np.repeat(np.arange(4), n),
        slices=small.slices,
        subsample=None,
    )
    spec = dataclasses.replace(small_model.spec, drift_precision=1e-3)
    spreads = []
    for text in (small, corpus):
        model = dw.Model(
            small_model.rho, small_model.alpha, small_model.intercepts, vocabulary=text.vocabulary, spec=spec,
            provenance=small_model.provenance,
        )  # fmt: skip
        spreads.append(Uncertainty(model, text).draws(model.word_id("ship")).std(axis=0).mean())
    assert 1.4 < spreads[0] / spreads[1] < 2.6


def test_intervals_hold_what_they_are_about(small_model: dw.Model) -> None:
    tables: dict[str, pl.DataFrame] = {
        "position": dw.trajectory(small_model, ["ship", "judge"], intervals=True),
        "similarity": dw.similarity(small_model, "ship", ["harbour", "court"], intervals=True),
        "drift": dw.drift(small_model, n=3, intervals=True),
    }
    tables["towards"] = dw.towards(small_model, "ship", low="court", high="harbour", intervals=True)
    for name, table in tables.items():
        column = "position" if name == "towards" else name
        filled = table.drop_nulls(column)
        assert len(filled)
        assert (filled[f"{column}_low"] <= filled[column]).all()
        assert (filled[column] <= filled[f"{column}_high"]).all()
        assert (filled[f"{column}_low"] < filled[f"{column}_high"]).any()
        assert filled.drop(f"{column}_low", f"{column}_high").width == table.width - 2
    for metric in ("absolute", "cosine"):
        assert dw.drift(small_model, "ship", metric=metric, intervals=True)["drift_low"].is_not_null().all()


@pytest.mark.parametrize("size", [0.0, 1.0, 10.0])
def test_a_length_is_as_uncertain_as_its_signal_and_noise_make_it(size: float) -> None:
    """Noise of unequal variances: as uncertain as many samples show; a little more where there is no signal."""
    random = np.random.default_rng(0)
    deviations = np.geomspace(1, 0.1, 30)
    signal = size * deviations * random.normal(size=30)
    samples = signal + deviations * random.normal(size=(400, 30))
    true = float((samples**2).sum(axis=1).std())
    found = [square_without_noise(x, x + deviations * random.normal(size=(200, 30))) for x in samples[:100]]
    squares, errors = np.array(found).T
    assert 0.93 < np.mean(errors) / true < (1.25 if size == 0 else 1.07)
    assert abs(squares.mean() - float(signal @ signal)) < 3 * true / 10


def test_directions_without_noise_have_length_one() -> None:
    random = np.random.default_rng(0)
    signal = np.full((1, 50), 1.0)
    noisy = [signal + random.normal(size=(1, 50)) for _ in range(200)]
    found = [true_directions(rows, rows + random.normal(size=(200, 1, 50)))[0][0] for rows in noisy]
    shared = np.array(found) @ (signal[0] / np.sqrt(50))
    assert shared.mean() == pytest.approx(1, abs=0.06)


@pytest.mark.slow
def test_where_nothing_changes_intervals_show_no_change(sotu: dw.Corpus) -> None:
    """Dates are exchanged before the fit; 90% intervals of nearly all words begin at 0, and bands overlap."""
    corpus = sotu.shuffle_dates(seed=1)
    model = dw.fit(corpus, dw.Spec(dim=30), passes=4)
    counts = np.asarray(model.counts).sum(axis=0)
    words = [model.words[v] for v in np.flatnonzero((counts >= 200) & (counts < 10_000))[::30]]
    assert len(words) >= 30
    for metric in ("absolute", "cosine"):
        table = dw.drift(model, words, n=None, metric=metric, intervals=True, corpus=corpus)
        assert (table["drift_low"] > 0).mean() <= 0.15  # type: ignore[operator]
    apart, moved = [], []
    for word in words:
        ends = dw.trajectory(model, word, intervals=True, corpus=corpus).filter("observed")[[0, -1]]
        low, high = ends["position_low"].to_list(), ends["position_high"].to_list()
        apart.append(high[0] < low[1] or high[1] < low[0])
        moved.append(displacement_interval(model, word, corpus)[0][-1] > 0)
    assert np.mean(apart) <= 0.15
    assert np.mean(moved) <= 0.15


def test_more_occurrences_are_surer(uncertainty: Uncertainty) -> None:
    counts = np.asarray(uncertainty.model.counts)
    often, seldom = int(counts.sum(axis=0).argmax()), int(counts.sum(axis=0).argmin())
    errors = [uncertainty.count_error(v, [0, len(counts) - 1]) for v in (often, seldom)]
    assert 0 < errors[0] < errors[1]
    assert uncertainty.count_error(often, []) == 0


def test_support_is_a_share_of_draws(small_model: dw.Model) -> None:
    for table in (
        dw.neighbors(small_model, "ship", n=5, intervals=True),
        dw.neighbors(small_model, "ship", n=5, metric="paper", intervals=True),
        dw.equivalents(small_model, "ship", at=1850, to=[1855, 1859], n=5, intervals=True),
    ):
        assert table["support"].is_between(0, 1).all()
        assert table.group_by("slice").agg(pl.col("support").sum())["support"].max() <= 5 + 1e-9  # type: ignore[operator]
    everybody = dw.neighbors(small_model, "ship", n=26, at=1853, min_count=0, intervals=True)
    assert (everybody["support"] == 1).all()


def test_being_chosen_adds_to_similarities() -> None:
    random = np.random.default_rng(0)
    alike = 0.3 + 0.1 * random.normal(size=(40, 4000))  # only noise decides which of these words are nearest
    assert chosen_excess(alike, 1) == pytest.approx(
        0.1 * np.sort(random.normal(size=(40, 4000)), axis=0)[-1].mean(), rel=0.03
    )
    assert 0 < chosen_excess(alike, 10) < chosen_excess(alike, 1)
    assert chosen_excess(alike, 40) == pytest.approx(0, abs=1e-12)  # all of them: nothing is chosen
    assert chosen_excess(np.repeat(random.random((40, 1)), 50, axis=1), 3) == pytest.approx(0, abs=1e-12)  # no noise
    assert chosen_excess(np.empty((0, 50)), 3) == 0
    listed, corrected, again = [], [], []
    for _ in range(200):
        truth = random.normal(0.3, 0.1, 40)
        seen = truth + 0.1 * random.normal(size=40)
        top = np.argsort(-seen)[:3]
        listed.append(seen[top].mean())
        corrected.append(listed[-1] - chosen_excess(seen[:, None] + 0.1 * random.normal(size=(40, 50)), 3))
        again.append((truth + 0.1 * random.normal(size=40))[top].mean())
    # Most of it: the words that were seen are farther apart than they are, so draws exchange too few of them.
    left = (np.mean(corrected) - np.mean(again)) / (np.mean(listed) - np.mean(again))
    assert 0 < left < 0.6


def test_neighbors_are_less_similar_elsewhere(small_model: dw.Model) -> None:
    for metric in ("cosine", "uncentered", "paper"):
        plain = dw.neighbors(small_model, "ship", n=5, metric=metric)
        table = dw.neighbors(small_model, "ship", n=5, metric=metric, intervals=True)
        assert table.drop("support", "similarity_elsewhere").equals(plain)
        excess = table.with_columns(excess=pl.col("similarity") - pl.col("similarity_elsewhere"))
        assert (excess["excess"] > 0).all()
        assert excess.group_by("slice").agg(pl.col("excess").max() - pl.col("excess").min())["excess"].max() < 1e-9  # type: ignore[operator]
    everybody = dw.neighbors(small_model, "ship", n=26, at=1853, min_count=0, intervals=True)
    np.testing.assert_allclose(everybody["similarity"], everybody["similarity_elsewhere"])  # no word is chosen


def test_a_date_of_change_has_an_interval(small_model: dw.Model) -> None:
    table = dw.changes(small_model, ["ship", "judge"], intervals=True)
    assert (table["slice_low"] <= table["slice"]).all()
    assert (table["slice"] <= table["slice_high"]).all()
    plain = dw.changes(small_model, ["ship", "judge"])
    assert table.drop("slice_low", "slice_high").equals(plain)
    with pytest.raises(dw.OptionError, match="name some with `words`"):
        dw.changes(small_model, intervals=True)


@pytest.mark.slow
def test_models_without_slices_or_intercepts(small: dw.Corpus) -> None:
    static = dw.fit(small, dw.Spec(model="static", dim=6, context=4), passes=3)
    near = dw.neighbors(static, "ship", n=3, intervals=True, corpus=small)
    assert near["support"].is_between(0, 1).all()
    assert (near["similarity_elsewhere"] < near["similarity"]).all()
    plain = dw.fit(small, dw.Spec(dim=6, context=4, intercept=False), passes=3)
    assert dw.trajectory(plain, "ship", intervals=True, corpus=small)["position_low"].is_not_null().all()
    binned = dw.fit(small, dw.Spec(model="binned", dim=6, context=4), passes=3)
    bands = dw.trajectory(binned, "ship", intervals=True, corpus=small)
    assert (bands["position_high"] - bands["position_low"]).min() > 0  # type: ignore[operator]


def test_intervals_need_the_corpus(small: dw.Corpus, small_model: dw.Model) -> None:
    lost = dw.Model(
        small_model.rho, small_model.alpha, small_model.intercepts, vocabulary=small_model.vocabulary,
        spec=small_model.spec, provenance=type(small_model.provenance)("cpu", corpus=small.fingerprint),
    )  # fmt: skip
    with pytest.raises(dw.OptionError, match="no longer where it was; name it with `corpus`"):
        dw.trajectory(lost, "ship", intervals=True)
    assert dw.trajectory(lost, "ship", intervals=True, corpus=small).height == 10
    with pytest.raises(dw.OptionError, match="intervals are known for relative, absolute and cosine"):
        dw.drift(small_model, metric="path", intervals=True)


@pytest.mark.slow
def test_figures_have_a_band(small_model: dw.Model) -> None:
    def marks(chart: Any) -> list[str]:
        return [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]

    assert "area" in marks(dw.plot.trajectory(small_model, "ship", intervals=True))
    assert "area" not in marks(dw.plot.trajectory(small_model, "ship"))
