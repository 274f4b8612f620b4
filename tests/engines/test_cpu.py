"""The CPU engine against the reference, its threads, and its copy of the hash."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import NAMES, SETTING, make_case, make_parameters, make_plan, make_step, make_text, single
from hypothesis import given, settings
from hypothesis import strategies as st

from driftword.basics import randomness
from driftword.engines.cpu.block_kernels import mix
from driftword.engines.cpu.engine import CpuEngine
from driftword.engines.prior import Chain
from driftword.engines.reference import ReferenceEngine
from driftword.engines.rounds import Centering, Sampler, make_rounds


@pytest.mark.slow
@settings(max_examples=80)
@given(SETTING)
def test_a_round_of_the_cpu_engine_is_a_round_of_the_reference(setting: dict[str, Any]) -> None:
    text, plan, exact, sampler, step = make_case(setting)
    reference, cpu = ReferenceEngine(exact, sampler), CpuEngine(single(exact), sampler, threads=1)
    rounds = make_rounds(text, plan)
    assert sum(part.positions for part in rounds) == len(text.ids)
    for part in rounds:
        assert cpu.round(part, step) == pytest.approx(reference.round(part, step), rel=1e-3, abs=1e-3)
    for name in NAMES:
        np.testing.assert_allclose(
            getattr(cpu.parameters, name), getattr(exact, name), rtol=2e-3, atol=2e-3, err_msg=name
        )
    options: dict[str, Any] = {"sampler": sampler, "half_window": step.half_window, "negatives": 5, "key": 12345}
    for a, b in zip(reference.score(text, **options), cpu.score(text, **options), strict=True):
        np.testing.assert_allclose(b, a, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("slices", [1, 6, 20])
def test_any_number_of_threads_gives_the_same_numbers(slices: int) -> None:
    text = make_text([400] * 30, sorted(i % slices for i in range(30)), 50)
    held_out = {"sampler": Sampler.make(np.ones(50), 1), "half_window": 2, "negatives": 5, "key": 12345}
    results = []
    for threads in (1, 2, 3, 4, 8):
        parameters = single(make_parameters(slices, 50, 8, intercept=True))
        engine = CpuEngine(parameters, Sampler.make(np.ones(50), 1), threads=threads)
        step = make_step(slices, centering=Centering(np.full(50, 0.02, dtype=np.float32), 3.5))
        parts = make_rounds(text, make_plan(block_size=32, run_length=8, rounds=3, passes_before=20))
        assert max(np.diff(part.wave_offsets).max() for part in parts) > 20
        total = sum(engine.round(part, step) for part in parts)
        results.append((engine.parameters, total, engine.score(text, **held_out)))  # type: ignore[arg-type]
    for parameters, total, scores in results[1:]:
        assert total == results[0][1]
        np.testing.assert_array_equal(scores, results[0][2])
        for name in NAMES:
            np.testing.assert_array_equal(getattr(parameters, name), getattr(results[0][0], name))


def test_an_endless_drift_precision_freezes_the_slices() -> None:
    parameters = single(make_parameters(3, 2, 2, accumulator=1.0))
    engine = CpuEngine(parameters, Sampler.make(np.ones(2), 1), threads=1)
    engine.prior_step(make_step(3, rho=Chain(np.zeros(3), np.full(2, 1e7))))
    parameters = engine.parameters
    mean = np.broadcast_to(parameters.rho.mean(axis=0), parameters.rho.shape)
    np.testing.assert_allclose(parameters.rho, mean, atol=1e-4)


@given(st.integers(0, 2**64 - 1))
def test_the_hash_of_the_kernels_is_that_of_randomness(number: int) -> None:
    assert int(mix(np.uint64(number))) == randomness.mix(number)
