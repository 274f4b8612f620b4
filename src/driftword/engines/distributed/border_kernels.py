"""The Numba twin of `borders.eliminate`: a chain of slices without those inside it."""

from __future__ import annotations

import numpy as np

from driftword.basics.jit import njit


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz", "nnan", "ninf", "arcp"})
def eliminate(table, low, high, first, end, inverse_learning_rate, precision, walk, factors, dim, equations):
    """Write what is left of the equations of slices first..end-1, for words low..high-1.

    See `borders.eliminate`; `walk` and `factors` have a row for the step into each slice, and one more.
    """
    values, accumulator = table.values, table.accumulator
    columns = values.shape[2]
    behind, ahead, share = np.zeros(columns), np.zeros(columns), np.zeros(columns)
    pivot, target, far = np.zeros(columns), np.zeros(columns), np.zeros(columns)
    excess, metric = np.zeros(columns), np.zeros(columns)
    for v in range(low, high):
        w = min(v, factors.shape[1] - 1)
        for backwards in range(2):
            begin, stop, direction = (end - 1, first - 1, -1) if backwards else (first, end, 1)
            into = begin + 1 if backwards else begin  # the step that leads into the part
            for k in range(columns):
                ahead[k] = walk[into, k] * (factors[into, w] if k < dim else 1.0)
                target[k], far[k] = 0.0, ahead[k]
            # Short loops with few arrays each: longer ones are not vectorised.
            for t in range(begin, stop, direction):
                own, numbers, last = precision[t], values[t, v], accumulator.shape[2] - 1
                of_vector = np.sqrt(accumulator[t, v, 0]) * inverse_learning_rate
                of_intercept = np.sqrt(accumulator[t, v, last]) * inverse_learning_rate
                next_step = walk[t if backwards else t + 1]
                factor = np.float64(factors[t if backwards else t + 1, w])
                for k in range(columns):
                    behind[k] = ahead[k]
                for k in range(columns):
                    ahead[k] = next_step[k]
                for k in range(dim):
                    ahead[k] *= factor
                if t != begin:
                    for k in range(columns):
                        share[k] = behind[k] / pivot[k]
                    for k in range(columns):
                        target[k] *= share[k]
                    for k in range(columns):
                        far[k] *= share[k]
                    for k in range(columns):
                        excess[k] *= share[k]
                else:
                    for k in range(columns):
                        excess[k] = behind[k]
                for k in range(dim):
                    metric[k] = of_vector
                for k in range(dim, columns):
                    metric[k] = of_intercept
                for k in range(columns):
                    excess[k] += metric[k] + own[k]
                for k in range(columns):
                    pivot[k] = excess[k] + ahead[k]
                for k in range(columns):
                    target[k] += metric[k] * numbers[k]
            for k in range(columns):
                equations[backwards, 0, v, k] = pivot[k]
                equations[backwards, 1, v, k] = target[k]
                equations[backwards, 2, v, k] = far[k]
