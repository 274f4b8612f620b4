"""Numba loops of the CPU engine: arrays in, arrays out.

Work arrays are padded with zeros to the whole tiles and vectors of `matmul_kernels`.
No compiler flag rules out NaN: a diverging fit must stay visible.
"""

from __future__ import annotations

import numpy as np
from numba import float32, int32, njit, uint32, uint64

from driftword.engines.matmul_kernels import LANES, TILE, add_product
from driftword.randomness import GOLDEN_GAMMA, MULTIPLIER_1, MULTIPLIER_2

_FAST = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}, "cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_FAST, inline="always")
def _padded(count, unit):
    """Round up to a multiple."""
    return (count + unit - 1) // unit * unit


@njit(**_FAST, inline="always")
def _mix(x):
    """Hash a 64-bit number, as `randomness.mix` does."""
    x = x + uint64(GOLDEN_GAMMA)
    x = (x ^ (x >> uint64(30))) * uint64(MULTIPLIER_1)
    x = (x ^ (x >> uint64(27))) * uint64(MULTIPLIER_2)
    return x ^ (x >> uint64(31))


@njit(**_FAST, inline="always")
def _draw(key, counter, threshold, alias):
    """Draw a word, as `Sampler.draw` does."""
    random = _mix(uint64(key) ^ uint64(counter))
    word = ((random >> uint64(32)) * uint64(len(alias))) >> uint64(32)
    if uint32(random & uint64(0xFFFFFFFF)) <= threshold[word]:
        return int32(word)
    return alias[word]


@njit(**_FAST, inline="always")
def _sigmoid(x):
    """1 / (1 + exp(-x)) to about 1e-7, in operations that vectorise."""
    x = min(max(x, float32(-80.0)), float32(80.0))
    power = x * float32(-1.4426950408889634)
    whole = np.floor(power + float32(0.5))
    rest = power - whole  # in [-0.5, 0.5]
    p = float32(1.5403530e-4)
    p = p * rest + float32(1.3333558e-3)
    p = p * rest + float32(9.6181291e-3)
    p = p * rest + float32(5.5504109e-2)
    p = p * rest + float32(2.4022651e-1)
    p = p * rest + float32(6.9314718e-1)
    p = p * rest + float32(1.0)
    scale = np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)
    return float32(1.0) / (float32(1.0) + p * scale)


@njit(**_FAST)
def _adagrad(words, gradients, count, values, accumulator, learning_rate):
    """Accumulate all squared gradients, then update every word: the order of words does not matter."""
    width = values.shape[1]
    for r in range(count):
        word = words[r]
        for k in range(width):
            accumulator[word, k] += gradients[r, k] * gradients[r, k]
    for r in range(count):
        word = words[r]
        for k in range(width):
            values[word, k] += learning_rate * gradients[r, k] / np.sqrt(accumulator[word, k])


@njit(**_FAST)
def _window_sums(rows, begin, end, prefix_sums, half_window, start, stop, out):
    """Sum rows over the window around each of start..stop-1, without its own row.

    Row 0 of `rows` belongs to position `begin`, the last one to ``end - 1``. Every window is the
    difference of two prefix sums.
    """
    width = rows.shape[1]
    total = prefix_sums[-1]  # not the row it is copied to, so that the loop can be vectorised
    for k in range(width):
        total[k] = prefix_sums[0, k] = float32(0.0)
    for j in range(end - begin):
        for k in range(width):
            total[k] += rows[j, k]
        for k in range(width):
            prefix_sums[j + 1, k] = total[k]
    for i in range(start, stop):
        lower = prefix_sums[max(begin, i - half_window) - begin]
        upper = prefix_sums[min(end, i + half_window + 1) - begin]
        if begin <= i < end:
            own = rows[i - begin]
            for k in range(width):
                out[i - start, k] = upper[k] - lower[k] - own[k]
        else:
            for k in range(width):
                out[i - start, k] = upper[k] - lower[k]


@njit(**_FAST)
def likelihood_step(
    ids,
    run_begin,
    run_end,
    chunk_begin,
    chunk_end,
    run_offsets,
    slice_of,
    number,
    chosen,
    key,
    threshold,
    alias,
    rho,
    rho_accumulator,
    alpha,
    alpha_accumulator,
    updated,
    max_rows,
    max_tokens,
    pool,
    weight,
    half_window,
    learning_rate,
):
    """Take the Adagrad step of the `chosen` blocks, in turn; return the text's summed log-likelihood."""
    dim = alpha.shape[1]
    width = _padded(dim, LANES)
    rows = _padded(_padded(max_rows, LANES), TILE)
    columns = _padded(pool, TILE)
    context = np.zeros((rows, width), dtype=np.float32)
    context_transposed = np.zeros((dim, rows), dtype=np.float32)  # (K, B)
    context_gradient = np.zeros((rows, width), dtype=np.float32)
    negative_vectors = np.zeros((columns, width), dtype=np.float32)  # (M, K)
    rho_words = np.zeros(rows + columns, dtype=np.int32)  # of the rows, then of the negatives
    rho_gradients = np.zeros((rows + columns, width), dtype=np.float32)
    negative_residual = np.zeros((columns, rows), dtype=np.float32)  # eta of the negatives, later its gradient
    token_vectors = np.zeros((max_tokens, width), dtype=np.float32)  # alpha of the tokens, later its gradients
    token_words = np.zeros(max_tokens, dtype=np.int32)
    prefix_sums = np.zeros((max_tokens + 2, width), dtype=np.float32)
    total = 0.0
    for b in chosen:
        t = slice_of[b]
        values = rho[t]
        n_rows = 0
        for r in range(run_offsets[b], run_offsets[b + 1]):
            length = run_end[r] - run_begin[r]
            left = max(chunk_begin[r], run_begin[r] - half_window) - run_begin[r]
            right = min(chunk_end[r], run_end[r] + half_window) - run_begin[r]
            for j in range(left, right):
                word = ids[run_begin[r] + j]
                for k in range(dim):
                    token_vectors[j - left, k] = alpha[word, k]
            _window_sums(token_vectors, left, right, prefix_sums, half_window, 0, length, context[n_rows:])
            for i in range(length):
                rho_words[n_rows + i] = ids[run_begin[r] + i]
            n_rows += length
        for m in range(pool):
            word = _draw(key, uint64(number[b]) * uint64(pool) + uint64(m), threshold, alias)
            rho_words[n_rows + m] = word
            for k in range(dim):
                negative_vectors[m, k] = values[word, k]
        for i in range(n_rows):
            word = rho_words[i]
            eta = float32(0.0)
            for k in range(dim):
                eta += values[word, k] * context[i, k]
            residual = float32(1.0) - _sigmoid(eta)
            total += np.log(max(float32(1.0) - residual, float32(1e-30)))
            for k in range(dim):
                rho_gradients[i, k] = residual * context[i, k]
                context_gradient[i, k] = residual * values[word, k]
        for i in range(n_rows):
            for k in range(dim):
                context_transposed[k, i] = context[i, k]
        for i in range(n_rows, _padded(n_rows, TILE)):  # rows that only pad the last tile
            for k in range(width):
                context_gradient[i, k] = float32(0.0)
        for m in range(columns):
            for i in range(rows):
                negative_residual[m, i] = float32(0.0)
        add_product(negative_vectors, context_transposed, columns, _padded(n_rows, LANES), dim, negative_residual)
        for m in range(pool):
            for i in range(n_rows):
                negative_residual[m, i] = -weight * _sigmoid(negative_residual[m, i])
        add_product(negative_residual.T, negative_vectors, _padded(n_rows, TILE), width, pool, context_gradient)
        for m in range(n_rows, n_rows + columns):
            for k in range(width):
                rho_gradients[m, k] = float32(0.0)
        add_product(negative_residual, context, columns, width, n_rows, rho_gradients[n_rows:])
        _adagrad(rho_words, rho_gradients, n_rows + pool, values, rho_accumulator[t], learning_rate)

        row = 0
        n_tokens = 0
        for r in range(run_offsets[b], run_offsets[b + 1]):
            length = run_end[r] - run_begin[r]
            left = max(chunk_begin[r], run_begin[r] - half_window) - run_begin[r]
            right = min(chunk_end[r], run_end[r] + half_window) - run_begin[r]
            # The gradient of a context vector is a sum over the positions that see it: the same windows.
            _window_sums(
                context_gradient[row:], 0, length, prefix_sums, half_window, left, right, token_vectors[n_tokens:]
            )
            for j in range(left, right):
                token_words[n_tokens + j - left] = ids[run_begin[r] + j]
            n_tokens += right - left
            row += length
        _adagrad(token_words, token_vectors, n_tokens, alpha, alpha_accumulator, learning_rate)
        if len(updated):  # one of several replicas
            for j in range(n_tokens):
                updated[token_words[j]] = 1
            if len(rho) == 1:
                for i in range(n_rows + pool):
                    updated[rho_words[i]] = 1
    return total


@njit(**_FAST)
def independent_prior_step(values, accumulator, learning_rate, precision):
    """Take the proximal step of independent Gaussian priors, on an array of two dimensions."""
    for v in range(values.shape[0]):
        for k in range(values.shape[1]):
            metric = np.sqrt(accumulator[v, k]) / learning_rate
            values[v, k] *= metric / (metric + precision)


@njit(**_FAST)
def random_walk_step(rho, accumulator, low, high, learning_rate, drift_precision, rho_precision):
    """Take the proximal step of the random walk for words low..high-1: a tridiagonal system (Thomas algorithm)."""
    n_slices, _, dim = rho.shape
    upper = np.zeros((n_slices, dim), dtype=np.float32)
    rhs = np.zeros((n_slices, dim), dtype=np.float32)
    carried = np.zeros(dim, dtype=np.float32)  # what earlier slices add to the diagonal
    inverse_learning_rate = float32(1.0) / learning_rate
    for v in range(low, high):
        for k in range(dim):
            metric = np.sqrt(accumulator[0, v, k]) * inverse_learning_rate
            diagonal = metric + rho_precision
            inverse_pivot = float32(1.0) / (diagonal + (drift_precision if n_slices > 1 else float32(0.0)))
            upper[0, k] = drift_precision * inverse_pivot
            rhs[0, k] = metric * rho[0, v, k] * inverse_pivot
            # This is drift_precision * (1 - upper), without cancellation.
            carried[k] = drift_precision * diagonal * inverse_pivot
        for t in range(1, n_slices):
            coupling = drift_precision if t + 1 < n_slices else float32(0.0)
            for k in range(dim):
                metric = np.sqrt(accumulator[t, v, k]) * inverse_learning_rate
                diagonal = metric + rho_precision + carried[k]
                inverse_pivot = float32(1.0) / (diagonal + coupling)
                upper[t, k] = drift_precision * inverse_pivot
                rhs[t, k] = (metric * rho[t, v, k] + drift_precision * rhs[t - 1, k]) * inverse_pivot
                carried[k] = drift_precision * diagonal * inverse_pivot
        for k in range(dim):
            rho[n_slices - 1, v, k] = rhs[n_slices - 1, k]
        for t in range(n_slices - 2, -1, -1):
            for k in range(dim):
                rho[t, v, k] = rhs[t, k] + upper[t, k] * rho[t + 1, v, k]


@njit(**_FAST)
def score(
    ids,
    offsets,
    slice_of,
    position,
    low,
    high,
    key,
    threshold,
    alias,
    rho,
    alpha,
    negatives,
    half_window,
    positive,
    negative,
):
    """Score the words of chunks low..high-1: log sigmoid(eta), and the summed log sigmoid(-eta) of their negatives."""
    dim = alpha.shape[1]
    context = np.zeros(dim, dtype=np.float32)
    for c in range(low, high):
        values = rho[slice_of[c] if len(rho) > 1 else 0]
        for i in range(offsets[c], offsets[c + 1]):
            context[:] = float32(0.0)
            for j in range(max(offsets[c], i - half_window), min(offsets[c + 1], i + half_window + 1)):
                if j != i:
                    for k in range(dim):
                        context[k] += alpha[ids[j], k]
            eta = float32(0.0)
            for k in range(dim):
                eta += values[ids[i], k] * context[k]
            positive[i] = _log_sigmoid(np.float64(eta))
            total = 0.0
            for n in range(negatives):
                word = _draw(key, uint64(position[i]) * uint64(negatives) + uint64(n), threshold, alias)
                eta = float32(0.0)
                for k in range(dim):
                    eta += values[word, k] * context[k]
                total += _log_sigmoid(-np.float64(eta))
            negative[i] = total


@njit(**_FAST, inline="always")
def _log_sigmoid(x):
    if x < 0:
        return x - np.log1p(np.exp(x))
    return -np.log1p(np.exp(-x))


@njit(**_FAST)
def merge_replicas(values, accumulator, replicas, replica_accumulators, updated, low, high):
    """Add the updates of all replicas to the values and reset the replicas, for words low..high-1 that were updated.

    Each replica divided its gradients by the root of its own accumulator. With the accumulator of
    all of them its update would have been smaller, by the root of the ratio of the two.
    """
    for v in range(low, high):
        any_updated = False
        for n in range(len(replicas)):
            any_updated |= updated[n, v] != 0
        if not any_updated:
            continue
        for k in range(values.shape[1]):
            total = accumulator[v, k]
            for n in range(len(replicas)):
                total += replica_accumulators[n, v, k] - accumulator[v, k]
            value = values[v, k]
            for n in range(len(replicas)):
                value += (replicas[n, v, k] - values[v, k]) * np.sqrt(replica_accumulators[n, v, k] / total)
            values[v, k] = value
            accumulator[v, k] = total
        for n in range(len(replicas)):
            for k in range(values.shape[1]):
                replicas[n, v, k] = values[v, k]
                replica_accumulators[n, v, k] = accumulator[v, k]
