"""The CPU engine against the reference, its threads, and its copy of the hash."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import NAMES, SETTING, make_case, make_parameters, make_plan, make_step, make_text, single
from hypothesis import given, settings
from hypothesis import strategies as st

from driftword import randomness
from driftword.engines.cpu import CpuEngine
from driftword.engines.cpu_kernels import _mix
from driftword.engines.reference import ReferenceEngine
from driftword.engines.rounds import Sampler, make_rounds


@settings(max_examples=80)
@given(SETTING)
def test_a_round_of_the_cpu_engine_is_a_round_of_the_reference(setting: dict[str, Any]) -> None:
    text, plan, exact, sampler, step = make_case(setting)
    fast = single(exact)
    reference, cpu = ReferenceEngine(exact, sampler), CpuEngine(fast, sampler, threads=1)
    rounds = make_rounds(text, plan)
    assert sum(part.positions for part in rounds) == len(text.ids)
    for part in rounds:
        assert cpu.round(part, step) == pytest.approx(reference.round(part, step), rel=1e-3, abs=1e-3)
    for name in NAMES:
        np.testing.assert_allclose(getattr(fast, name), getattr(exact, name), rtol=2e-3, atol=2e-3, err_msg=name)
    options: dict[str, Any] = {"sampler": sampler, "half_window": step.half_window, "negatives": 5, "key": 12345}
    for a, b in zip(reference.score(text, **options), cpu.score(text, **options), strict=True):
        np.testing.assert_allclose(b, a, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("slices", [1, 6])
def test_a_number_of_threads_always_gives_the_same_numbers(slices: int) -> None:
    text = make_text([400] * 30, sorted(i % slices for i in range(30)), 50)
    results = []
    for _ in range(2):
        parameters = single(make_parameters(slices, 50, 8))
        engine = CpuEngine(parameters, Sampler.make(np.ones(50), 1), threads=3, reproducible=True)
        parts = make_rounds(text, make_plan(block=32, run=8, rounds=3))
        total = sum(engine.round(part, make_step(coupled=slices > 1)) for part in parts)
        results.append((parameters, total))
    (first, a), (second, b) = results
    assert a == b
    assert all((getattr(first, name) == getattr(second, name)).all() for name in NAMES)


def test_an_endless_drift_precision_freezes_the_slices() -> None:
    parameters = single(make_parameters(3, 2, 2, accumulator=1.0))
    engine = CpuEngine(parameters, Sampler.make(np.ones(2), 1), threads=1)
    engine._prior_step(make_step(drift_precision=1e7, rho_precision=0.0))
    mean = np.broadcast_to(parameters.rho.mean(axis=0), parameters.rho.shape)
    np.testing.assert_allclose(parameters.rho, mean, atol=1e-4)


@given(st.integers(0, 2**64 - 1))
def test_the_hash_of_the_kernels_is_that_of_randomness(number: int) -> None:
    assert int(_mix(np.uint64(number))) == randomness.mix(number)
