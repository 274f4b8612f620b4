"""Numba loops of the CPU engine over words: the proximal step of the prior."""

from __future__ import annotations

import numpy as np

from driftword.basics.jit import float32, njit
from driftword.engines.cpu.block_kernels import FAST
from driftword.engines.cpu.row_kernels import add_row, blend_row, dot


@njit(**FAST)
def prior_step(table, low, high, learning_rate, chain, intercepts, dim, mean_context):
    """Take the proximal step of the prior for words low..high-1: tridiagonal systems (Thomas algorithm).

    The walk of `chain` has a column for each word, or one for all. Intercepts, which have accumulators of their own,
    also have a chain of their own; what the mean context (of each slice, or of all) contributes to log odds, in their
    unit, is then added to them.
    """
    values, accumulator = table.values, table.accumulator
    precision, walk = chain.precision, chain.walk
    last = len(values) - 1
    upper = np.empty(last + 1, np.float32)
    own = np.empty(last + 1, np.float32)
    has_intercepts = accumulator.shape[2] > 1
    inverse_learning_rate = float32(1.0) / learning_rate
    for v in range(low, high):
        w = min(v, walk.shape[1] - 1)
        if has_intercepts:
            for t in range(last + 1):
                own[t] = values[t, v, dim]
                values[t, v, dim] = float32(0.0)
        carried = before = float32(0.0)  # what earlier slices add to the diagonal, and the step from them
        for t in range(last + 1):
            after = walk[t, w] if t < last else float32(0.0)
            metric = np.sqrt(accumulator[t, v, 0]) * inverse_learning_rate
            diagonal = metric + precision[t] + carried
            inverse_pivot = float32(1.0) / (diagonal + after)
            upper[t] = after * inverse_pivot
            carried = after * diagonal * inverse_pivot  # this is after * (1 - upper), without cancellation
            blend_row(values[t], v, values[max(t - 1, 0)], v, before * inverse_pivot, metric * inverse_pivot)
            before = after
        for t in range(last - 1, -1, -1):
            add_row(values[t], v, values[t + 1], v, upper[t])
        if has_intercepts:
            _intercept_step(accumulator, v, inverse_learning_rate, intercepts, upper, own)
            for t in range(last + 1):
                shift = dot(values[t], v, mean_context, min(t, len(mean_context) - 1))
                values[t, v, dim] = own[t] + shift


@njit(**FAST)
def _intercept_step(accumulator, v, inverse_learning_rate, chain, upper, own):
    """Take the same step for one word's intercepts."""
    n_slices = len(own)
    carried = before = value = float32(0.0)
    for t in range(n_slices):
        after = chain.walk[t, 0] if t + 1 < n_slices else float32(0.0)
        metric = np.sqrt(accumulator[t, v, 1]) * inverse_learning_rate
        diagonal = metric + chain.precision[t] + carried
        inverse_pivot = float32(1.0) / (diagonal + after)
        upper[t] = after * inverse_pivot
        value = own[t] = (metric * own[t] + before * value) * inverse_pivot
        carried = after * diagonal * inverse_pivot
        before = after
    for t in range(n_slices - 2, -1, -1):
        own[t] += upper[t] * own[t + 1]
