"""What a pass reads and how large its steps are, from the options of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import driftword as dw
from driftword.engines.parameters import INTERCEPT_UNIT
from driftword.fitting.schedule import FROZEN, Schedule

YEARS = np.array([1.0, 1.0, 4.0])  # between four slices


def schedule(spec: dw.Spec, **options: Any) -> Schedule:
    return Schedule(spec, **{"passes": 10, "distances": YEARS, "seed": 0, "centering": None, **options})


def whole_prior(spec: dw.Spec) -> Any:
    return schedule(spec).step(1, 0).prior.share(spec.rounds)


def test_the_rate_falls_linearly_from_the_static_pass_to_the_last() -> None:
    spec = dw.Spec(learning_rate=0.5, final_rate=0.2, rounds=4)
    plan = schedule(spec)
    rates = [plan.step(number, r).learning_rate for number in range(10) for r in range(4)]
    np.testing.assert_allclose(np.diff(rates), -0.5 * 0.8 / 40)
    assert rates[0] == 0.5


def test_a_long_context_takes_smaller_steps() -> None:
    assert schedule(dw.Spec(context=16)).step(0, 0).learning_rate == dw.Spec().learning_rate / 2


def test_the_binned_model_takes_smaller_steps_of_its_own() -> None:
    plan = schedule(dw.Spec(model="binned", final_rate=1, binned_rate=0.3, learning_rate=0.2))
    assert [plan.step(number, 0).learning_rate for number in (0, 1)] == pytest.approx([0.2, 0.06])


@pytest.mark.parametrize(("unit", "steps"), [("span", 6 / YEARS), ("year", 1 / YEARS), ("slice", np.ones(3))])
def test_the_walk_is_weighted_by_the_distance_of_slices(unit: str, steps: Any) -> None:
    prior = whole_prior(dw.Spec(drift_precision=30, drift_unit=unit, intercept_precision=2))
    np.testing.assert_allclose(prior.rho.walk, 30 * steps)
    np.testing.assert_allclose(prior.intercept.walk, 2 * INTERCEPT_UNIT**2 * steps)


def test_the_walk_of_each_model() -> None:
    assert (whole_prior(dw.Spec(model="binned")).rho.walk == 0).all()
    assert (whole_prior(dw.Spec(model="frequency")).rho.walk >= FROZEN).all()
    frequency, dynamic = (whole_prior(dw.Spec(model=model)).intercept.walk for model in ("frequency", "dynamic"))
    assert (frequency == dynamic).all()


def test_which_slices_the_prior_on_embeddings_applies_to() -> None:
    np.testing.assert_allclose(whole_prior(dw.Spec(prior_precision=8)).rho.precision, [2, 2, 2, 2])
    first = dw.Spec(prior_precision=8, prior_slices="first")
    np.testing.assert_allclose(whole_prior(first).rho.precision, [8, 0, 0, 0])
    assert whole_prior(first).alpha.precision == pytest.approx([8])
    independent = dw.Spec(model="binned", prior_precision=8, prior_slices="first")  # where every slice is a first one
    np.testing.assert_allclose(whole_prior(independent).rho.precision, [8, 8, 8, 8])


def test_the_protocol_of_the_paper() -> None:
    """As its section on experiments and its appendix describe it."""
    spec = dw.Spec.paper(drift_precision=5.0)
    assert (spec.dim, spec.negatives, spec.intercept, spec.select_by) == (100, 20, False, "L_pos")
    assert (spec.initial_scale, spec.prior, spec.resample) == (0.01, 0.005, "once")
    assert spec.block_size * spec.pool_size == spec.negatives  # twenty for each position, and no other shares them
    prior = whole_prior(spec)
    np.testing.assert_allclose(prior.rho.walk, 5.0)  # for each step
    np.testing.assert_allclose(prior.rho.precision, [0.005, 0, 0, 0])
    plan = schedule(spec)
    assert [plan.is_static(number) for number in range(10)] == [True] + [False] * 9
    assert {plan.plan(number).subsample for number in range(10)} == {1}
    assert dw.Spec.from_dict(spec.to_dict()) == spec
    binned = schedule(dw.Spec.paper(model="binned"))
    assert binned.step(5, 0).learning_rate == plan.step(5, 0).learning_rate == spec.learning_rate
