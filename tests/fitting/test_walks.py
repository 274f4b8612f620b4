"""Walks as chains: what they say about trajectories, before and after some are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import driftword as dw
from driftword.engines.prior import Chain
from driftword.fitting.schedule import Schedule
from driftword.fitting.walks import KNOWN_BEFORE, TAIL, adapted, walk_chain
from driftword.models.spec import WALKS

STEPS = np.array([0.1, 0.25, 0.65])


def precision_matrix(chain: Chain) -> np.ndarray:
    """Return the precision of one number in all slices."""
    difference = np.diff(np.eye(len(chain.precision)), axis=0)
    return np.asarray(np.diag(chain.precision) + difference.T @ np.diag(chain.walk) @ difference)


@pytest.mark.parametrize("time", [0.05, 0.5, 30.0])
def test_an_ornstein_uhlenbeck_process_is_a_chain(time: float) -> None:
    """Its covariance is that of the process: the variance in the end, times e to the distance over the time scale."""
    spec = dw.Spec(walk="ou", ou_time=time, drift_precision=7)
    when = np.r_[0, np.cumsum(STEPS)]
    expected = time / (2 * 7) * np.exp(-np.abs(when[:, None] - when) / time)
    chain = walk_chain(spec, STEPS, np.zeros(4))
    assert (chain.precision >= 0).all()
    np.testing.assert_allclose(np.linalg.inv(precision_matrix(chain)), expected, rtol=1e-9)


def test_with_endless_time_it_is_the_random_walk() -> None:
    far = walk_chain(dw.Spec(walk="ou", ou_time=1e6), STEPS, np.zeros(4))
    np.testing.assert_allclose(far.walk, walk_chain(dw.Spec(), STEPS, np.zeros(4)).walk, rtol=1e-5)
    np.testing.assert_allclose(far.precision, 0, atol=1e-3)


def prior_at(rho: np.ndarray, counts: np.ndarray, **options: Any) -> Any:
    spec = dw.Spec(dim=rho.shape[2] - 1, **options)
    return adapted(spec, Schedule(spec, 2, np.ones(len(rho) - 1), 0, None).prior, rho, counts)


@pytest.fixture
def rho() -> np.ndarray:
    """Return 60 words that move a little in six slices; word 7 jumps once, and word 9 does not move."""
    random = np.random.default_rng(0)
    values = 0.1 * random.normal(size=(6, 60, 5)).cumsum(axis=0)
    values[3:, 7] += 3
    values[:, 9] = values[0, 9]
    return values


def test_a_jump_costs_less_and_rest_costs_more(rho: np.ndarray) -> None:
    chain = prior_at(rho, np.arange(60) + 1, walk="jumps").rho
    usual = prior_at(rho, np.arange(60) + 1).rho
    assert usual.walk.shape == (5,)
    relative = chain.walk / usual.walk[:, None]  # (T - 1, V)
    assert relative[2, 7] < 0.1 < 0.7 < np.delete(relative[:, 7], 2).min()
    np.testing.assert_allclose(relative[:, 9], (TAIL + 1) / TAIL)
    assert np.median(relative) == pytest.approx(1, abs=0.1)


def test_a_word_that_moves_may_move(rho: np.ndarray) -> None:
    chain, usual = (prior_at(rho, np.arange(60) + 1, walk=walk).rho for walk in ("words", "random"))
    relative = chain.walk / usual.walk[:, None]
    assert (relative == relative[0]).all()  # in all steps
    assert relative[0].argmin() == 7
    assert relative[0].argmax() == 9


def test_before_anything_moved_all_words_are_alike() -> None:
    still = np.ones((4, 30, 3))
    for walk in set(WALKS) - set(KNOWN_BEFORE):
        chain = prior_at(still, np.ones(30), walk=walk).rho
        expected = np.broadcast_to(prior_at(still, np.ones(30)).rho.walk[:, None], (3, 30))
        np.testing.assert_allclose(np.broadcast_to(chain.walk, (3, 30)), expected)


def test_words_are_compared_with_words_as_frequent() -> None:
    """Rare words move more: that is noise, and no reason to let them."""
    random = np.random.default_rng(1)
    counts = np.r_[np.full(200, 5), np.full(200, 5000)]
    rho = random.normal(size=(5, 400, 6)) * np.where(counts < 100, 1.0, 0.1)[:, None]
    chain, usual = (prior_at(rho, counts, walk=walk).rho for walk in ("jumps", "random"))
    relative = (chain.walk / usual.walk[:, None]).mean(axis=0)
    assert relative[:200].mean() == pytest.approx(relative[200:].mean(), rel=0.1)


def test_the_mean_that_a_word_tends_to_is_its_own(rho: np.ndarray) -> None:
    prior = prior_at(rho, np.ones(60), walk="ou")
    assert prior.center.shape == (1, 60, 5)
    assert (prior.center[..., -1] == 0).all()  # intercepts have a walk of their own
    weights = prior.rho.precision
    expected = (weights[:, None, None] * rho[..., :-1]).sum(axis=0) / (weights.sum() + dw.Spec().prior)
    np.testing.assert_allclose(prior.center[0, :, :-1], expected, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("options", [*({"walk": walk} for walk in WALKS[1:]), {"dynamic_context": True}], ids=str)
def test_every_walk_is_fitted_resumed_and_asked(small: dw.Corpus, tmp_path: Any, options: dict[str, Any]) -> None:
    spec = dw.Spec(dim=6, context=4, rounds=2, **options)
    whole = dw.fit(small, spec, passes=3)
    usual = dw.fit(small, dw.Spec(dim=6, context=4, rounds=2), passes=3)
    assert not np.array_equal(whole.rho, usual.rho)
    assert whole.history[-1]["L"] == pytest.approx(usual.history[-1]["L"], abs=0.1)
    model = whole.save(tmp_path / "m.model")
    assert model.spec == spec
    assert model.summary()["walk"] == ("random, contexts drift" if spec.dynamic_context else spec.walk)
    assert "walk" not in usual.summary()
    assert dw.evaluate(model, corpus=small)["L"][0] == pytest.approx(dw.evaluate(whole, corpus=small)["L"][0])
    word = model.words[0]
    table = dw.trajectory(model, word, intervals=True, corpus=small)
    assert (table["position_low"] < table["position_high"]).all()
    assert len(dw.neighbors(model, word, at=model.slices.labels[0], n=3)) == 3
