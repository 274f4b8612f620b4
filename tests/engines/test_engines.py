"""The fast engine against the reference, and the reference against the equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from settings import NAMES, SETTING, make_case, make_parameters, make_step, make_text, single

from driftword.engines.cpu import CpuEngine
from driftword.engines.matmul_kernels import LANES, TILE, add_product
from driftword.engines.reference import Block, ReferenceEngine, apply_prior, block_gradients, log_sigmoid
from driftword.engines.rounds import Parameters, Sampler, Step, Text, plan


@settings(max_examples=80)
@given(SETTING)
def test_a_round_of_the_cpu_engine_is_a_round_of_the_reference(setting: dict[str, Any]) -> None:
    text, exact, sampler, step = make_case(setting)
    fast = single(exact)
    reference, cpu = ReferenceEngine(exact, sampler), CpuEngine(fast, sampler, threads=1)
    rounds = plan(text, block=setting["block"], run=setting["run"], rounds=setting["rounds"], seed=1, pass_number=2)
    assert sum(part.positions for part in rounds) == len(text.ids)
    for part in rounds:
        assert cpu.round(part, step) == pytest.approx(reference.round(part, step), rel=1e-3, abs=1e-3)
    for name in NAMES:
        np.testing.assert_allclose(getattr(fast, name), getattr(exact, name), rtol=2e-3, atol=2e-3, err_msg=name)
    key = 12345
    for a, b in zip(
        reference.score(text, sampler=sampler, reach=step.reach, negatives=5, key=key),
        cpu.score(text, sampler=sampler, reach=step.reach, negatives=5, key=key),
        strict=True,
    ):
        np.testing.assert_allclose(b, a, rtol=5e-3, atol=5e-3)


def likelihood(parameters: Parameters, block: Block, step: Step) -> float:
    """Write the objective of a block out, position by position."""
    total = 0.0
    for begin, end, low, high in block.spans:
        for i in range(begin, end):
            around = [j for j in range(max(low, i - step.reach), min(high, i + step.reach + 1)) if j != i]
            context = sum((parameters.alpha[block.ids[j]] for j in around), np.zeros(parameters.alpha.shape[1]))
            total += log_sigmoid(parameters.rho[block.t, block.ids[i]] @ context)
            for v in block.negatives:
                total += step.negatives / step.pool * log_sigmoid(-parameters.rho[block.t, v] @ context)
    return total


@pytest.mark.parametrize("reach", [1, 3])
def test_gradients_are_finite_differences(reach: int) -> None:
    text = make_text([9, 1, 6], [0, 0, 0], 7)
    parameters = make_parameters(2, 7, 4)
    step = make_step(reach=reach, pool=5)
    spans = [(2, 7, 0, 9), (9, 10, 9, 10), (10, 16, 10, 16)]
    block = Block(1, text.ids, spans, np.array([0, 3, 3, 6, 5]))
    _, rho_gradients, alpha_gradients = block_gradients(parameters, block, step)
    for values, gradients in ((parameters.rho[1], rho_gradients), (parameters.alpha, alpha_gradients)):
        summed = np.zeros_like(values)
        for word, gradient in gradients:
            summed[word] += gradient
        for word, k in np.ndindex(values.shape):
            value = values[word, k]
            ends = []
            for change in (1e-5, -1e-5):
                values[word, k] = value + change
                ends.append(likelihood(parameters, block, step))
            values[word, k] = value
            assert summed[word, k] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)


def test_the_proximal_step_minimises_what_it_says() -> None:
    """No small change of the result lowers the proximal objective."""
    parameters = make_parameters(6, 3, 2)
    parameters.rho_squares[:] = np.random.default_rng(3).uniform(0, 4, parameters.rho.shape)
    step = make_step(drift=5.0, anchor=0.3)
    before = parameters.rho.copy()
    metric = np.sqrt(parameters.rho_squares) / step.learning_rate
    apply_prior(parameters, step)

    def objective(x: np.ndarray) -> float:
        drift = step.drift * ((x[1:] - x[:-1]) ** 2).sum()
        return float(((metric * (x - before) ** 2).sum() + drift + step.anchor * (x**2).sum()) / 2)

    least = objective(parameters.rho)
    random = np.random.default_rng(4)
    for _ in range(200):
        assert objective(parameters.rho + 1e-3 * random.normal(size=before.shape)) > least
    slope = metric * (parameters.rho - before)
    steps = np.diff(parameters.rho, axis=0) * step.drift
    slope[1:] += steps
    slope[:-1] -= steps
    slope += step.anchor * parameters.rho
    np.testing.assert_allclose(slope, 0, atol=1e-9)


def test_words_never_seen_are_interpolated_and_an_endless_precision_freezes() -> None:
    parameters = make_parameters(3, 2, 2, squares=1.0)
    parameters.rho_squares[1, 0] = 0.0  # word 0 does not occur in the middle slice
    apply_prior(parameters, make_step(drift=2.0, anchor=0.0))
    np.testing.assert_allclose(parameters.rho[1, 0], (parameters.rho[0, 0] + parameters.rho[2, 0]) / 2)
    for values in (parameters, single(parameters)):
        step = make_step(drift=1e7, anchor=0.0)
        engine = CpuEngine(values, Sampler.make(np.ones(2), 1), threads=1) if values.rho.dtype == np.float32 else None
        engine._apply_prior(step) if engine else apply_prior(values, step)
        np.testing.assert_allclose(values.rho, np.broadcast_to(values.rho.mean(axis=0), values.rho.shape), atol=1e-4)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 40), st.booleans())
def test_the_product_kept_in_registers_is_a_matrix_product(tiles: int, vectors: int, n: int, turned: bool) -> None:
    random = np.random.default_rng(n)
    left = random.normal(size=(n, tiles * TILE) if turned else (tiles * TILE, n)).astype(np.float32)
    left = left.T if turned else left
    right, out = (random.normal(size=(rows, vectors * LANES)).astype(np.float32) for rows in (n, tiles * TILE))
    exact = out + left.astype(np.float64) @ right
    add_product(left, right, *out.shape, n, out)
    np.testing.assert_allclose(out, exact, atol=1e-4)


def test_relabelling_words_commutes_with_a_round() -> None:
    text = make_text([30, 20], [0, 1], 9)
    parameters = make_parameters(2, 9, 4)
    new = np.random.default_rng(1).permutation(9)
    other = Parameters(*(np.empty_like(getattr(parameters, name)) for name in NAMES))
    for name in NAMES:
        if name.startswith("rho"):
            getattr(other, name)[:, new] = getattr(parameters, name)
        else:
            getattr(other, name)[new] = getattr(parameters, name)
    relabelled = Text(new[text.ids].astype(np.int32), text.offsets, text.chunk, text.slice_of, text.position)

    class Named:
        """Draws the same words under their new names."""

        def __init__(self, inner: Sampler) -> None:
            self.inner = inner

        def draw(self, key: int, counters: Any) -> Any:
            return new[self.inner.draw(key, counters)].astype(np.int32)

    sampler = Sampler.make(np.bincount(text.ids, minlength=9), 0.75)
    options = {"block": 16, "run": 5, "rounds": 1, "seed": 3, "pass_number": 0}
    ReferenceEngine(parameters, sampler).round(plan(text, **options)[0], make_step())
    ReferenceEngine(other, Named(sampler)).round(plan(relabelled, **options)[0], make_step())  # type: ignore[arg-type]
    np.testing.assert_allclose(other.rho[:, new], parameters.rho, atol=1e-12)
    np.testing.assert_allclose(other.alpha[new], parameters.alpha, atol=1e-12)


@pytest.mark.parametrize("slices", [1, 6])
def test_a_number_of_threads_always_gives_the_same_numbers(slices: int) -> None:
    text = make_text([400] * 30, sorted(i % slices for i in range(30)), 50)
    results = []
    for _ in range(2):
        parameters = single(make_parameters(slices, 50, 8))
        engine = CpuEngine(parameters, Sampler.make(np.ones(50), 1), threads=3, reproducible=True)
        parts = plan(text, block=32, run=8, rounds=3, seed=0, pass_number=0)
        total = sum(engine.round(part, make_step(chained=slices > 1)) for part in parts)
        results.append((parameters, total))
    (first, a), (second, b) = results
    assert a == b
    assert all((getattr(first, name) == getattr(second, name)).all() for name in NAMES)


def test_negatives_follow_the_counts() -> None:
    counts = np.array([1000, 100, 10, 0, 1])
    drawn = Sampler.make(counts, 0.75).draw(7, np.arange(400_000))
    share = np.bincount(drawn, minlength=5) / 400_000
    expected = counts**0.75 / (counts**0.75).sum()
    np.testing.assert_allclose(share, expected, atol=0.003)
    assert share[3] == 0


def test_rounds_share_every_slice_and_blocks_stay_in_theirs() -> None:
    text = make_text([50, 3, 200, 80, 1], [0, 0, 1, 2, 2], 10)
    parts = plan(text, block=16, run=4, rounds=3, seed=0, pass_number=0)
    seen = np.zeros(len(text.ids), dtype=int)
    for part in parts:
        for b, t in enumerate(part.slice_of):
            runs = range(part.first[b], part.first[b + 1])
            assert sum(part.end[r] - part.begin[r] for r in runs) <= 16
            for r in runs:
                seen[part.begin[r] : part.end[r]] += 1
                chunk = np.searchsorted(text.offsets, part.begin[r], side="right") - 1
                assert text.slice_of[chunk] == t
                assert (part.low[r], part.high[r]) == (text.offsets[chunk], text.offsets[chunk + 1])
        assert set(part.slice_of) == {0, 1, 2}
    assert (seen == 1).all()
    numbers = np.concatenate([part.number for part in parts])
    assert len(np.unique(numbers)) == len(numbers)
