"""The reference engine: float64 NumPy, as plain as the equations.

It is slow and easy to check. The fast engines are compared with it number by number:
same blocks, same negatives, same order of updates.

For a block of positions i of slice t, with pool S of M negatives weighted n/M:

    C_i    = sum of alpha over the context of i, and with intercepts their unit as its last number
    L      = sum_i log sigmoid(rho[x_i] . C_i) + n/M sum_i sum_{v in S} log sigmoid(-rho[v] . C_i)

Adagrad sees one gradient per occurrence: one per position for the words of the text, one
per draw for the negatives, one per token for the context vectors. A vector has one
accumulator, of the mean squares of its gradients; an intercept has its own. Squares are
accumulated first, then every row is moved, so that the order of occurrences does not
matter. Embeddings are moved by one block after the other. Context vectors, which all
slices share, are moved by all blocks of a wave together; and so are embeddings where there
are few slices.

At the end of a round the mean context vector is moved into the intercepts, which leaves
every log odds as it was: a common part of all contexts says how frequent a word is.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from driftword.engines.array_engine import ArrayEngine
from driftword.engines.parameters import INTERCEPT_UNIT, Parameters, Table, by_slice
from driftword.engines.prior import Chain
from driftword.engines.rounds import Blocks, Centering, Sampler, Step, Text, moves_at_once

Array = npt.NDArray[np.float64]


class ReferenceEngine(ArrayEngine):
    """Runs rounds in float64, one block after the other."""

    machine = "NumPy, one thread"

    def likelihood_step(self, blocks: Blocks, step: Step) -> float:
        """Take the likelihood step of every block; return the text's summed log-likelihood."""
        counters = blocks.number[:, None] * step.pool_size + np.arange(step.pool_size)
        negatives = self.sampler.draw(blocks.key, counters)  # (blocks, M)
        waves = (range(first, end) for first, end in pairwise(blocks.wave_offsets))
        return sum(likelihood_step(self.parameters, blocks, wave, negatives, step) for wave in waves)

    def prior_step(self, step: Step) -> None:
        """Take the proximal step of the prior, and centre contexts if there are intercepts."""
        prior_step(self.parameters, step)
        if step.centering is not None and self.parameters.has_intercepts:
            center_contexts(self.parameters, step.centering)

    def score(self, text: Text, *, sampler: Sampler, half_window: int, negatives: int, key: int) -> tuple[Array, Array]:
        """Return log sigmoid(eta) of each word, and the summed log sigmoid(-eta) of its negatives."""
        rho, contexts = self.parameters.rho, by_slice(self.parameters.alpha)
        positive, negative = np.zeros(len(text.ids)), np.zeros(len(text.ids))
        for c in range(len(text.slice_of)):
            begin, end = text.offsets[c], text.offsets[c + 1]
            t = text.slice_of[c] if len(rho) > 1 else 0
            alpha = contexts[min(t, len(contexts) - 1)]
            for i in range(begin, end):
                context = context_sum(alpha, text.ids, i, chunk=(begin, end), half_window=half_window)
                context = with_intercept(context, rho, alpha)
                drawn = sampler.draw(key, text.position[i] * negatives + np.arange(negatives))
                positive[i] = log_sigmoid(rho[t, text.ids[i]] @ context)
                negative[i] = log_sigmoid(-(rho[t, drawn] @ context)).sum()
        return positive, negative


def log_sigmoid(x: Any) -> Any:
    """Return log(1 / (1 + exp(-x))) without overflow."""
    return -np.logaddexp(0.0, -x)


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return np.asarray(np.exp(log_sigmoid(x)))


def context_sum(alpha: Any, ids: Any, i: int, *, chunk: tuple[int, int], half_window: int) -> Array:
    """Sum alpha over the words around position i, within its chunk."""
    begin, end = chunk
    context = [j for j in range(max(begin, i - half_window), min(end, i + half_window + 1)) if j != i]
    return np.asarray(alpha[ids[context]].sum(axis=0))


def with_intercept(context: Array, rho: Any, alpha: Any) -> Array:
    """Give contexts the number that multiplies the intercepts, if rho has any."""
    if rho.shape[-1] == alpha.shape[-1]:
        return context
    return np.concatenate([context, np.full((*context.shape[:-1], 1), INTERCEPT_UNIT)], axis=-1)


def block_gradients(
    parameters: Parameters, blocks: Blocks, b: int, negatives: Any, step: Step
) -> tuple[float, list[tuple[int, int, Array]], list[tuple[int, int, Array]]]:
    """Return the text's log-likelihood in block b, and gradients in rho and alpha: slice, word and vector of each."""
    t, ids, half_window = blocks.slice_of[b], blocks.ids, step.half_window
    rho, contexts = parameters.rho[t], by_slice(parameters.alpha)
    s = min(t, len(contexts) - 1)
    alpha = contexts[s]
    first, end = blocks.run_offsets[b : b + 2]
    of_runs = (blocks.run_begin, blocks.run_end, blocks.chunk_begin, blocks.chunk_end)
    runs = list(zip(*(values[first:end].tolist() for values in of_runs), strict=True))
    positions = [(i, chunk) for begin, end, *chunk in runs for i in range(begin, end)]
    sums = [context_sum(alpha, ids, i, chunk=(low, high), half_window=half_window) for i, (low, high) in positions]
    context = with_intercept(np.array(sums), rho, alpha)  # (B, K), or (B, K + 1)
    words = ids[[i for i, _ in positions]]
    eta = (rho[words] * context).sum(axis=1)  # (B,)
    # Gradients of the objective in eta: what occurs or does not, less its probability.
    residual = 1 - sigmoid(eta)  # (B,)
    negative_residual = -step.negatives / step.pool_size * sigmoid(context @ rho[negatives].T)  # (B, M)
    vectors = np.concatenate([residual[:, None] * context, negative_residual.T @ context])
    rho_gradients = [(t, v, vector) for v, vector in zip([*words.tolist(), *negatives.tolist()], vectors, strict=True)]
    context_gradient = residual[:, None] * rho[words] + negative_residual @ rho[negatives]  # (B, K)
    alpha_gradients = []
    row = 0  # of the run's first position
    for begin, end, low, high in runs:
        for j in range(max(low, begin - half_window), min(high, end + half_window)):
            rows = [
                row + i - begin for i in range(max(begin, j - half_window), min(end, j + half_window + 1)) if i != j
            ]  # of the positions that have token j in their context
            if ids[j] >= step.frozen:
                alpha_gradients.append((s, int(ids[j]), context_gradient[rows, : alpha.shape[1]].sum(axis=0)))
        row += end - begin
    return float(log_sigmoid(eta).sum()), rho_gradients, alpha_gradients


def likelihood_step(parameters: Parameters, blocks: Blocks, wave: range, negatives: Any, step: Step) -> float:
    """Take the Adagrad steps of the blocks of a wave; return the text's log-likelihood before it."""
    total, rho, alpha = 0.0, parameters.table("rho"), parameters.table("alpha").by_slice()
    of_rho: list[Any] = []
    of_alpha: list[Any] = []
    for b in wave:
        log_likelihood, rho_gradients, alpha_gradients = block_gradients(parameters, blocks, b, negatives[b], step)
        if moves_at_once(len(rho.values)):
            adagrad(rho, rho_gradients, step.learning_rate)
        else:
            of_rho += rho_gradients
        of_alpha += alpha_gradients
        total += log_likelihood
    adagrad(rho, of_rho, step.learning_rate)
    adagrad(alpha, of_alpha, step.learning_rate)
    return total


def adagrad(table: Table, gradients: list[tuple[int, int, Array]], learning_rate: float) -> None:
    """Accumulate the mean squares of gradients, and apart those of intercepts; then move every row."""
    values, accumulator = table
    dim = values.shape[2] + 1 - accumulator.shape[2]
    columns = np.minimum(np.arange(values.shape[2]) // dim, 1)  # the accumulator of each
    for t, word, gradient in gradients:
        accumulator[t, word, 0] += (gradient[:dim] ** 2).mean()
        accumulator[t, word, 1:] += gradient[dim:] ** 2
    for t, word, gradient in gradients:
        values[t, word] += learning_rate * gradient / np.sqrt(accumulator[t, word, columns])


def prior_step(parameters: Parameters, step: Step) -> None:
    """Take the exact proximal step of the prior, in the metric of Adagrad.

    For each word and dimension it minimises, with h = sqrt(accumulator) / learning rate,
    sum_t h_t (x_t - y_t)^2 / 2 + sum_t walk_t / 2 (x_t - x_{t-1})^2 + sum_t precision_t / 2 x_t^2.
    Intercepts have precisions and a walk of their own. Where the prior has a center, all of this is about
    the differences from it.
    """
    rho, prior, rate = parameters.rho, step.prior, step.learning_rate
    alpha, accumulator = by_slice(parameters.alpha), by_slice(parameters.alpha_accumulator)
    center = 0 if prior.alpha_center is None else prior.alpha_center
    solved = center + chain_step(alpha - center, accumulator, prior.alpha, rate)
    alpha[:, step.frozen :] = solved[:, step.frozen :]
    center = 0 if prior.center is None else prior.center
    rho -= center
    dim = alpha.shape[2]
    for columns, squares, chain in (
        (np.s_[..., :dim], np.s_[..., :1], prior.rho),
        (np.s_[..., dim:], np.s_[..., 1:], prior.intercept),
    ):
        rho[columns] = chain_step(rho[columns], parameters.rho_accumulator[squares], chain, rate)
    rho += center


def chain_step(values: Any, accumulator: Any, chain: Chain, learning_rate: float) -> Array:
    """Solve the system of a chain for every word and column of ``(T, V, K)``."""
    n_slices, words, columns = values.shape
    metric = np.broadcast_to(np.sqrt(accumulator) / learning_rate, values.shape)
    walk = chain.walk_by_word[..., None]  # (T - 1, V or 1, 1)
    matrix = np.zeros((words, columns, n_slices, n_slices))
    for t in range(n_slices):
        matrix[..., t, t] += metric[t] + chain.precision[t]
        if t > 0:
            matrix[..., t, t] += walk[t - 1]
            matrix[..., t - 1, t - 1] += walk[t - 1]
            matrix[..., t, t - 1] = matrix[..., t - 1, t] = -walk[t - 1]
    target = np.moveaxis(metric * values, 0, -1)[..., None]  # (V, K, T, 1)
    return np.moveaxis(np.linalg.solve(matrix, target)[..., 0], -1, 0)


def center_contexts(parameters: Parameters, centering: Centering) -> None:
    """Subtract the mean context vector from all of them, and add to intercepts what it contributed to log odds."""
    rho, alpha = parameters.rho, by_slice(parameters.alpha)
    mean = centering.frequencies @ alpha  # (1, K) or (T, K)
    rho[..., -1] += centering.size / INTERCEPT_UNIT * (rho[..., :-1] @ mean[..., None])[..., 0]
    alpha -= mean[:, None]
