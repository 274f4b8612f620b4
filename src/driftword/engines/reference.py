"""The reference engine: float64 NumPy, as plain as the equations.

It is slow and obviously right. Fast engines are compared with it, number by
number: same blocks, same negatives, same order of updates.

For a block of positions i of slice t, with pool S of M negatives weighted n/M:

    C_i    = sum of alpha over the context of i
    L      = sum_i log s(rho[x_i] . C_i) + n/M sum_i sum_{v in S} log s(-rho[v] . C_i)

Adagrad sees one gradient per occurrence: per position for the words of the text,
per draw for the negatives, per token for the context vectors. The squares of the
whole block are added first, then every row moves, so the order of occurrences
does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from driftword import randomness
from driftword.engines.array_engine import HostEngine, spread
from driftword.engines.rounds import Blocks, Parameters, Sampler, Step, Text

Array = npt.NDArray[np.float64]


class ReferenceEngine(HostEngine):
    """Runs rounds in float64, one block after the other."""

    name = "reference"
    machine = "NumPy, one thread"

    def __init__(self, parameters: Parameters, sampler: Sampler) -> None:
        super().__init__(parameters)
        self.sampler = sampler

    def spread(self, slices: int, squares: float) -> ReferenceEngine:
        """Return an engine in which every slice has the static embeddings."""
        return ReferenceEngine(spread(self.parameters, slices, squares), self.sampler)

    def round(self, blocks: Blocks, step: Step) -> float:
        """Climb the likelihood over some blocks, then apply the prior; return the summed log-likelihood of the text."""
        total = 0.0
        for b in range(len(blocks.slice_of)):
            runs = range(blocks.first[b], blocks.first[b + 1])
            spans = [tuple(int(a[r]) for a in (blocks.begin, blocks.end, blocks.low, blocks.high)) for r in runs]
            negatives = self.sampler.draw(blocks.key, int(blocks.number[b]) * step.pool + np.arange(step.pool))
            total += climb(self.parameters, Block(int(blocks.slice_of[b]), blocks.ids, spans, negatives), step)
        apply_prior(self.parameters, step)
        return total

    def score(self, text: Text, *, sampler: Sampler, reach: int, negatives: int, key: int) -> tuple[Array, Array]:
        """Return log s(eta) of each word and the summed log s(-eta) of its negatives."""
        rho, alpha = self.parameters.rho, self.parameters.alpha
        positive, negative = np.zeros(len(text.ids)), np.zeros(len(text.ids))
        for c in range(len(text.slice_of)):
            low, high = text.offsets[c], text.offsets[c + 1]
            t = text.slice_of[c] if len(rho) > 1 else 0
            for i in range(low, high):
                context = context_sum(alpha, text.ids, i, bounds=(low, high), reach=reach)
                drawn = sampler.draw(key, text.position[i] * negatives + np.arange(negatives))
                positive[i] = log_sigmoid(rho[t, text.ids[i]] @ context)
                negative[i] = log_sigmoid(-(rho[t, drawn] @ context)).sum()
        return positive, negative


@dataclass(frozen=True)
class Block:
    """One block: its slice, its runs as (begin, end, chunk begins, chunk ends), its negatives."""

    t: int
    ids: Any
    spans: list[tuple[int, ...]]
    negatives: Any


def log_sigmoid(x: Any) -> Any:
    """Return log(1 / (1 + exp(-x))) without overflow."""
    return -np.logaddexp(0.0, -x)


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return np.asarray(np.exp(log_sigmoid(x)))


def context_sum(alpha: Any, ids: Any, i: int, *, bounds: tuple[int, int], reach: int) -> Array:
    """Sum alpha over the words around position i, within its chunk."""
    low, high = bounds
    around = [j for j in range(max(low, i - reach), min(high, i + reach + 1)) if j != i]
    return np.asarray(alpha[ids[around]].sum(axis=0))


def block_gradients(
    parameters: Parameters, block: Block, step: Step
) -> tuple[float, list[tuple[int, Array]], list[tuple[int, Array]]]:
    """Return the text's log-likelihood in one block and the gradients of rho[t] and alpha, one per occurrence."""
    rho, alpha, ids, negatives = parameters.rho[block.t], parameters.alpha, block.ids, block.negatives
    positions = [(i, low, high) for begin, end, low, high in block.spans for i in range(begin, end)]
    context = np.array(
        [context_sum(alpha, ids, i, bounds=(low, high), reach=step.reach) for i, low, high in positions]
    )  # (B, K)
    words = ids[[i for i, _, _ in positions]]
    eta = (rho[words] * context).sum(axis=1)  # (B,)
    gain = 1 - sigmoid(eta)  # (B,)
    loss = -step.negatives / step.pool * sigmoid(context @ rho[negatives].T)  # (B, M)
    rho_gradients = list(zip(words.tolist(), gain[:, None] * context, strict=True))
    rho_gradients += zip(negatives.tolist(), loss.T @ context, strict=True)
    context_gradient = gain[:, None] * rho[words] + loss @ rho[negatives]  # (B, K)
    alpha_gradients = []
    start = 0
    for begin, end, low, high in block.spans:
        for j in range(max(low, begin - step.reach), min(high, end + step.reach)):
            near = [
                start + i - begin for i in range(max(begin, j - step.reach), min(end, j + step.reach + 1)) if i != j
            ]
            alpha_gradients.append((int(ids[j]), context_gradient[near].sum(axis=0)))
        start += end - begin
    return float(log_sigmoid(eta).sum()), rho_gradients, alpha_gradients


def climb(parameters: Parameters, block: Block, step: Step) -> float:
    """Move along the gradients of one block with Adagrad."""
    t = block.t
    value, rho_gradients, alpha_gradients = block_gradients(parameters, block, step)
    for gradients, values, squares in (
        (rho_gradients, parameters.rho[t], parameters.rho_squares[t]),
        (alpha_gradients, parameters.alpha, parameters.alpha_squares),
    ):
        for word, gradient in gradients:
            squares[word] += gradient**2
        for word, gradient in gradients:
            values[word] += step.learning_rate * gradient / np.sqrt(squares[word])
    return value


def apply_prior(parameters: Parameters, step: Step) -> None:
    """Take the exact proximal step of the prior in Adagrad's own metric.

    For each word and dimension it minimises, with h = sqrt(squares) / learning rate,
    sum_t h_t (x_t - y_t)^2 / 2 + drift/2 sum_t (x_t - x_{t-1})^2 + anchor/2 sum_t x_t^2.
    """
    rho, alpha = parameters.rho, parameters.alpha
    metric = np.sqrt(parameters.alpha_squares) / step.learning_rate
    alpha *= metric / (metric + step.prior)
    metric = np.sqrt(parameters.rho_squares) / step.learning_rate
    slices = len(rho)
    if not step.chained:
        rho *= metric / (metric + step.anchor)
        return
    matrix = np.zeros((*rho.shape[1:], slices, slices))  # (V, K, T, T)
    for t in range(slices):
        matrix[..., t, t] = metric[t] + step.anchor + step.drift * ((t > 0) + (t + 1 < slices))
        if t > 0:
            matrix[..., t, t - 1] = matrix[..., t - 1, t] = -step.drift
    target = np.moveaxis(metric * rho, 0, -1)[..., None]  # (V, K, T, 1)
    rho[:] = np.moveaxis(np.linalg.solve(matrix, target)[..., 0], -1, 0)


def start_parameters(n_words: int, dim: int, *, seed: int, squares: float, dtype: Any) -> Parameters:
    """Draw a static start: small Gaussian numbers, the same on every machine."""
    counters = np.arange(2 * n_words * dim)
    key = randomness.key(seed, "start")
    first, second = randomness.uniform(key, 2 * counters), randomness.uniform(key, 2 * counters + 1)
    normal = np.sqrt(-2 * np.log1p(-first)) * np.cos(2 * np.pi * second)  # Box and Muller
    rho, alpha = (0.1 * normal).astype(dtype).reshape(2, n_words, dim)
    rho = rho[None].copy()
    return Parameters(rho, alpha.copy(), np.full_like(rho, squares), np.full_like(alpha, squares))
