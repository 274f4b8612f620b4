"""The reference engine against the equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import NAMES, make_parameters, make_plan, make_step, make_text

from driftword.engines.parameters import INTERCEPT_UNIT, Parameters
from driftword.engines.prior import Chain
from driftword.engines.reference import ReferenceEngine, block_gradients, center_contexts, log_sigmoid, prior_step
from driftword.engines.rounds import Blocks, Centering, Sampler, Step, Text, make_rounds


def likelihood(parameters: Parameters, blocks: Blocks, negatives: np.ndarray, step: Step) -> float:
    """Write the objective of the only block out, position by position."""
    total, rho = 0.0, parameters.rho[blocks.slice_of[0]]
    runs = zip(blocks.run_begin, blocks.run_end, blocks.chunk_begin, blocks.chunk_end, strict=True)
    for begin, end, low, high in runs:
        for i in range(begin, end):
            around = [j for j in range(max(low, i - step.half_window), min(high, i + step.half_window + 1)) if j != i]
            context = sum((parameters.alpha[blocks.ids[j]] for j in around), np.zeros(parameters.alpha.shape[1]))
            context = np.r_[context, [INTERCEPT_UNIT] * (rho.shape[1] - len(context))]
            total += log_sigmoid(rho[blocks.ids[i]] @ context)
            for v in negatives:
                total += step.negatives / step.pool_size * log_sigmoid(-rho[v] @ context)
    return total


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("half_window", [1, 3])
def test_gradients_are_finite_differences(half_window: int, intercept: bool) -> None:
    text = make_text([9, 1, 6], [0, 0, 0], 7)
    parameters = make_parameters(2, 7, 4, intercept=intercept)
    step = make_step(half_window=half_window, pool_size=5)
    runs = np.array([(2, 7, 0, 9), (9, 10, 9, 10), (10, 16, 10, 16)]).T
    one = np.array([0, 1])  # block, in one wave
    block = Blocks(text.ids, *runs, np.array([0, 3]), one, np.array([1]), np.array([0]), np.uint64(0))
    negatives = np.array([0, 3, 3, 6, 5])
    _, rho_gradients, alpha_gradients = block_gradients(parameters, block, 0, negatives, step)
    for values, gradients in ((parameters.rho[1], rho_gradients), (parameters.alpha, alpha_gradients)):
        summed = np.zeros_like(values)
        for _, word, gradient in gradients:
            summed[word] += gradient
        for word, k in np.ndindex(values.shape):
            value = values[word, k]
            ends = []
            for change in (1e-5, -1e-5):
                values[word, k] = value + change
                ends.append(likelihood(parameters, block, negatives, step))
            values[word, k] = value
            assert summed[word, k] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)


def test_the_proximal_step_minimises_what_it_says() -> None:
    """No small change of the result lowers the proximal objective."""
    parameters = make_parameters(6, 3, 2, intercept=True)
    parameters.rho_accumulator[:] = np.random.default_rng(3).uniform(0, 4, parameters.rho_accumulator.shape)
    step = make_step(6, rho=Chain(np.linspace(0.3, 0.1, 6), np.linspace(1, 2, 15).reshape(5, 3)))  # of three words
    before = parameters.rho.copy()
    metric = np.sqrt(parameters.rho_accumulator[..., [0, 0, 1]]) / step.learning_rate
    prior_step(parameters, step)
    walk = step.prior.rho.walk[..., None] * [1, 1, 0] + step.prior.intercept.walk[:, None, None] * [0, 0, 1]
    precision = step.prior.rho.precision[:, None, None] * [1, 1, 0]

    def objective(x: np.ndarray) -> float:
        drift = (walk * (x[1:] - x[:-1]) ** 2).sum()
        return float(((metric * (x - before) ** 2).sum() + drift + (precision * x**2).sum()) / 2)

    least = objective(parameters.rho)
    random = np.random.default_rng(4)
    for _ in range(200):
        assert objective(parameters.rho + 1e-3 * random.normal(size=before.shape)) > least
    slope = metric * (parameters.rho - before)
    steps = np.diff(parameters.rho, axis=0) * walk
    slope[1:] += steps
    slope[:-1] -= steps
    slope += precision * parameters.rho
    np.testing.assert_allclose(slope, 0, atol=1e-9)


def test_words_never_seen_are_interpolated_and_an_endless_precision_freezes() -> None:
    parameters = make_parameters(3, 2, 2, accumulator=1.0)
    parameters.rho_accumulator[1, 0] = 0.0  # word 0 does not occur in the middle slice
    prior_step(parameters, make_step(3, rho=Chain(np.zeros(3), np.full(2, 2.0))))
    np.testing.assert_allclose(parameters.rho[1, 0], (parameters.rho[0, 0] + parameters.rho[2, 0]) / 2)
    prior_step(parameters, make_step(3, rho=Chain(np.zeros(3), np.full(2, 1e7))))
    mean = np.broadcast_to(parameters.rho.mean(axis=0), parameters.rho.shape)
    np.testing.assert_allclose(parameters.rho, mean, atol=1e-4)


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

    class Relabelled:
        """Draws the same words under their new names."""

        def __init__(self, inner: Sampler) -> None:
            self.inner = inner

        def draw(self, key: int, counters: Any) -> Any:
            return new[self.inner.draw(key, counters)].astype(np.int32)

    sampler = Sampler.make(np.bincount(text.ids, minlength=9), 0.75)
    plan = make_plan(run_length=5, seed=3)
    ReferenceEngine(parameters, sampler).round(make_rounds(text, plan)[0], make_step(2))
    ReferenceEngine(other, Relabelled(sampler)).round(make_rounds(relabelled, plan)[0], make_step(2))  # type: ignore[arg-type]
    np.testing.assert_allclose(other.rho[:, new], parameters.rho, atol=1e-12)
    np.testing.assert_allclose(other.alpha[new], parameters.alpha, atol=1e-12)


def test_centring_contexts_changes_no_log_odds() -> None:
    parameters = make_parameters(2, 9, 4, intercept=True)
    frequencies = (np.arange(1.0, 10) / 45).astype(np.float32)
    context = [0, 3, 3, 8]  # of two words on either side
    before = parameters.rho[..., :-1] @ parameters.alpha[context].sum(axis=0) + INTERCEPT_UNIT * parameters.rho[..., -1]
    center_contexts(parameters, Centering(frequencies, 4.0))
    after = parameters.rho[..., :-1] @ parameters.alpha[context].sum(axis=0) + INTERCEPT_UNIT * parameters.rho[..., -1]
    np.testing.assert_allclose(after, before)
    np.testing.assert_allclose(frequencies @ parameters.alpha, 0, atol=1e-6)
