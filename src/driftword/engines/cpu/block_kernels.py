"""Numba loops of the CPU engine: arrays in, arrays out.

Work arrays are padded with zeros to the whole tiles and vectors of `matmul_kernels`.
No compiler flag rules out NaN: a diverging fit must stay visible. Numba compiles a function once more for every literal
it is called with, so numbers such as `_ZERO` have a type here.
"""

from __future__ import annotations

import numpy as np
from numba import float32, int32, njit, uint32, uint64

from driftword.corpus.token_kernels import mix
from driftword.engines.cpu.adagrad_kernels import fetch, take_step
from driftword.engines.cpu.matmul_kernels import LANES, TILE, add_product, padded
from driftword.engines.cpu.thread_barrier import add_and_get, wait_for_all

_ZERO = np.int64(0)
_AHEAD = 6  # rows that are fetched before it is their turn
_FAST = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}, "cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_FAST, inline="always")
def _draw(key, counter, threshold, alias):
    """Draw a word, as `Sampler.draw` does."""
    random = mix(uint64(key) ^ uint64(counter))
    word = ((random >> uint64(32)) * uint64(len(alias))) >> uint64(32)
    if uint32(random & uint64(0xFFFFFFFF)) <= threshold[word]:
        return int32(word)
    return alias[word]


@njit(**_FAST, inline="always")
def sigmoid(x):
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
def _adagrad(words, gradients, count, thread, threads, frozen, values, accumulator, learning_rate):
    """Take the Adagrad step of one block, for the words of one thread; the first `frozen` ones do not move.

    All squared gradients are accumulated first, then every word is updated: the order of words does not matter.
    """
    width = values.shape[1]
    for r in range(count):
        word = words[r]
        if r + _AHEAD < count and words[r + _AHEAD] % threads == thread:
            fetch(accumulator, words[r + _AHEAD])
            fetch(values, words[r + _AHEAD])
        if word % threads == thread and word >= frozen:
            for k in range(width):
                accumulator[word, k] += gradients[r, k] * gradients[r, k]
    for r in range(count):
        word = words[r]
        if word % threads == thread and word >= frozen:
            take_step(values, accumulator, gradients, word, r, learning_rate)


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
    wave_offsets,
    slice_of,
    number,
    key,
    threshold,
    alias,
    rho,
    rho_accumulator,
    alpha,
    alpha_accumulator,
    rho_words,
    rho_gradients,
    n_rho,
    alpha_words,
    alpha_gradients,
    n_alpha,
    log_likelihood,
    counters,
    thread,
    threads,
    max_rows,
    pool,
    weight,
    half_window,
    intercept,
    learning_rate,
    frozen,
):
    """Take the steps of all blocks, wave by wave, as one of several threads that call this at the same time.

    Each block of a wave writes its gradients to its own row of `rho_gradients` (wave, rows and negatives, K) and
    `alpha_gradients` (wave, tokens, K). Then every thread takes the steps of its share of the words, block by block.
    """
    columns_of_rho = rho.shape[2]
    width = rho_gradients.shape[2]
    rows = padded(padded(max_rows, LANES), TILE)
    columns = padded(pool, TILE)
    max_tokens = alpha_gradients.shape[1]
    context = np.zeros((rows, width), dtype=np.float32)
    context_transposed = np.zeros((columns_of_rho, rows), dtype=np.float32)  # (K, B)
    context_gradient = np.zeros((rows, width), dtype=np.float32)
    negative_vectors = np.zeros((columns, width), dtype=np.float32)  # (M, K)
    negative_residual = np.zeros((columns, rows), dtype=np.float32)  # eta of the negatives, later its gradient
    token_vectors = np.zeros((max_tokens, width), dtype=np.float32)  # alpha of the tokens
    prefix_sums = np.zeros((max_tokens + 2, width), dtype=np.float32)
    for w in range(len(wave_offsets) - 1):
        first = wave_offsets[w]
        while True:
            b = first + add_and_get(counters, w + 1, 1) - 1
            if b >= wave_offsets[w + 1]:
                break
            log_likelihood[b] = _gradients(
                ids, run_begin, run_end, chunk_begin, chunk_end, run_offsets[b], run_offsets[b + 1],
                rho[slice_of[b]], alpha[min(slice_of[b], len(alpha) - 1)], key, uint64(number[b]), threshold, alias,
                pool, weight, half_window, intercept,
                rho_words[b - first], rho_gradients[b - first], n_rho[b - first : b - first + 1],
                alpha_words[b - first], alpha_gradients[b - first], n_alpha[b - first : b - first + 1],
                context, context_transposed, context_gradient, negative_vectors, negative_residual, token_vectors,
                prefix_sums, rows, columns,
            )  # fmt: skip
        wait_for_all(counters, 0, threads)
        for b in range(first, wave_offsets[w + 1]):
            j, t = b - first, slice_of[b]
            a = min(t, len(alpha) - 1)
            _adagrad(
                rho_words[j],
                rho_gradients[j],
                n_rho[j],
                thread,
                threads,
                _ZERO,
                rho[t],
                rho_accumulator[t],
                learning_rate,
            )
            _adagrad(
                alpha_words[j], alpha_gradients[j], n_alpha[j], thread, threads, frozen, alpha[a],
                alpha_accumulator[a], learning_rate,
            )  # fmt: skip
        wait_for_all(counters, 0, threads)


@njit(**_FAST)
def _gradients(
    ids,
    run_begin,
    run_end,
    chunk_begin,
    chunk_end,
    first_run,
    end_run,
    values,
    alpha,
    key,
    number,
    threshold,
    alias,
    pool,
    weight,
    half_window,
    intercept,
    rho_words,
    rho_gradients,
    n_rho,
    alpha_words,
    alpha_gradients,
    n_alpha,
    context,
    context_transposed,
    context_gradient,
    negative_vectors,
    negative_residual,
    token_vectors,
    prefix_sums,
    rows,
    columns,
):
    """Write the gradients of a block, one for each occurrence; return the text's log-likelihood."""
    dim, columns_of_rho, width = alpha.shape[1], values.shape[1], context.shape[1]
    n_rows = _ZERO
    for r in range(first_run, end_run):
        for j in range(max(chunk_begin[r], run_begin[r] - half_window), min(chunk_end[r], run_end[r] + half_window)):
            fetch(alpha, ids[j])
        for j in range(run_begin[r], run_end[r]):
            rho_words[n_rows] = ids[j]
            n_rows += 1
    for m in range(pool):
        rho_words[n_rows + m] = _draw(key, number * uint64(pool) + uint64(m), threshold, alias)
    for r in range(n_rows + pool):
        fetch(values, rho_words[r])
    n_rows = _ZERO
    for r in range(first_run, end_run):
        length = run_end[r] - run_begin[r]
        left = max(chunk_begin[r], run_begin[r] - half_window) - run_begin[r]
        right = min(chunk_end[r], run_end[r] + half_window) - run_begin[r]
        for j in range(left, right):
            word = ids[run_begin[r] + j]
            for k in range(dim):
                token_vectors[j - left, k] = alpha[word, k]
        _window_sums(token_vectors, left, right, prefix_sums, half_window, _ZERO, length, context[n_rows:])
        n_rows += length
    if columns_of_rho > dim:
        for i in range(n_rows):
            context[i, dim] = intercept
    for m in range(pool):
        word = rho_words[n_rows + m]
        for k in range(columns_of_rho):
            negative_vectors[m, k] = values[word, k]
    total = 0.0
    for i in range(n_rows):
        word = rho_words[i]
        eta = float32(0.0)
        for k in range(columns_of_rho):
            eta += values[word, k] * context[i, k]
        residual = float32(1.0) - sigmoid(eta)
        total += np.log(max(float32(1.0) - residual, float32(1e-30)))
        for k in range(columns_of_rho):
            rho_gradients[i, k] = residual * context[i, k]
            context_gradient[i, k] = residual * values[word, k]
    for i in range(n_rows):
        for k in range(columns_of_rho):
            context_transposed[k, i] = context[i, k]
    for i in range(n_rows, padded(n_rows, TILE)):  # rows that only pad the last tile
        for k in range(width):
            context_gradient[i, k] = float32(0.0)
    for m in range(columns):
        for i in range(rows):
            negative_residual[m, i] = float32(0.0)
    n_padded = padded(n_rows, LANES)
    add_product(negative_vectors, context_transposed, columns, n_padded, columns_of_rho, negative_residual)
    for m in range(pool):
        for i in range(n_rows):
            negative_residual[m, i] = -weight * sigmoid(negative_residual[m, i])
    add_product(negative_residual.T, negative_vectors, padded(n_rows, TILE), width, pool, context_gradient)
    for m in range(n_rows, n_rows + columns):
        for k in range(width):
            rho_gradients[m, k] = float32(0.0)
    add_product(negative_residual, context, columns, width, n_rows, rho_gradients[n_rows:])
    n_rho[0] = n_rows + pool

    row = 0
    n_tokens = 0
    for r in range(first_run, end_run):
        length = run_end[r] - run_begin[r]
        left = max(chunk_begin[r], run_begin[r] - half_window) - run_begin[r]
        right = min(chunk_end[r], run_end[r] + half_window) - run_begin[r]
        # The gradient of a context vector is a sum over the positions that see it: the same windows.
        _window_sums(
            context_gradient[row:], _ZERO, length, prefix_sums, half_window, left, right, alpha_gradients[n_tokens:]
        )
        for j in range(left, right):
            alpha_words[n_tokens + j - left] = ids[run_begin[r] + j]
        n_tokens += right - left
        row += length
    n_alpha[0] = n_tokens
    return total


@njit(**_FAST)
def prior_step(
    values,
    accumulator,
    low,
    high,
    learning_rate,
    precision,
    walk,
    intercept_precision,
    intercept_walk,
    dim,
    mean_context,
):
    """Take the proximal step of the prior for words low..high-1: tridiagonal systems (Thomas algorithm).

    `walk` has a column for each word, or one for all. Column `dim`, if there is one, holds intercepts: they have a
    chain of their own. What the mean context (of each slice, or of all) contributes to log odds, in their unit, is then
    added to them.
    """
    last = len(values) - 1
    upper = np.zeros((last + 1, dim), dtype=np.float32)
    rhs = np.zeros((last + 1, dim), dtype=np.float32)
    carried = np.zeros(dim, dtype=np.float32)  # what earlier slices add to the diagonal
    shifts = np.zeros(last + 1, dtype=np.float32)
    inverse_learning_rate = float32(1.0) / learning_rate
    for v in range(low, high):
        w = min(v, walk.shape[1] - 1)
        after = walk[0, w] if last else float32(0.0)
        own = precision[0]
        for k in range(dim):
            metric = np.sqrt(accumulator[0, v, k]) * inverse_learning_rate
            diagonal = metric + own
            inverse_pivot = float32(1.0) / (diagonal + after)
            upper[0, k] = after * inverse_pivot
            rhs[0, k] = metric * values[0, v, k] * inverse_pivot
            carried[k] = after * diagonal * inverse_pivot  # this is after * (1 - upper), without cancellation
        for t in range(1, last + 1):
            before = walk[t - 1, w]
            after = walk[t, w] if t < last else float32(0.0)
            own = precision[t]
            for k in range(dim):
                metric = np.sqrt(accumulator[t, v, k]) * inverse_learning_rate
                diagonal = metric + own + carried[k]
                inverse_pivot = float32(1.0) / (diagonal + after)
                upper[t, k] = after * inverse_pivot
                rhs[t, k] = (metric * values[t, v, k] + before * rhs[t - 1, k]) * inverse_pivot
                carried[k] = after * diagonal * inverse_pivot
        mean = mean_context[min(last, len(mean_context) - 1)]
        shift = float32(0.0)
        for k in range(dim):
            values[last, v, k] = rhs[last, k]
            shift += rhs[last, k] * mean[k]
        shifts[last] = shift
        for t in range(last - 1, -1, -1):
            mean = mean_context[min(t, len(mean_context) - 1)]
            shift = float32(0.0)
            for k in range(dim):
                value = rhs[t, k] + upper[t, k] * values[t + 1, v, k]
                values[t, v, k] = value
                shift += value * mean[k]
            shifts[t] = shift
        if values.shape[2] > dim:
            _intercept_step(
                values, accumulator, v, inverse_learning_rate, intercept_precision, intercept_walk[:, 0], upper[:, 0],
                rhs[:, 0],
            )  # fmt: skip
            for t in range(last + 1):
                values[t, v, dim] += shifts[t]


@njit(**_FAST)
def _intercept_step(values, accumulator, v, inverse_learning_rate, precision, walk, upper, rhs):
    """Take the same step for one word's intercepts, in the last column."""
    n_slices, column = len(values), values.shape[2] - 1
    carried = value = before = float32(0.0)
    for t in range(n_slices):
        after = walk[t] if t + 1 < n_slices else float32(0.0)
        metric = np.sqrt(accumulator[t, v, column]) * inverse_learning_rate
        diagonal = metric + precision[t] + carried
        inverse_pivot = float32(1.0) / (diagonal + after)
        upper[t] = after * inverse_pivot
        rhs[t] = (metric * values[t, v, column] + before * value) * inverse_pivot
        carried = after * diagonal * inverse_pivot
        value, before = rhs[t], after
    values[n_slices - 1, v, column] = value
    for t in range(n_slices - 2, -1, -1):
        values[t, v, column] = rhs[t] + upper[t] * values[t + 1, v, column]


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
    intercept,
    positive,
    negative,
):
    """Score the words of chunks low..high-1: log sigmoid(eta), and the summed log sigmoid(-eta) of their negatives."""
    dim, columns = alpha.shape[2], rho.shape[2]
    context = np.zeros(columns, dtype=np.float32)
    for c in range(low, high):
        values = rho[min(slice_of[c], len(rho) - 1)]
        vectors = alpha[min(slice_of[c], len(alpha) - 1)]
        for i in range(offsets[c], offsets[c + 1]):
            context[:] = float32(0.0)
            for j in range(max(offsets[c], i - half_window), min(offsets[c + 1], i + half_window + 1)):
                if j != i:
                    for k in range(dim):
                        context[k] += vectors[ids[j], k]
            if columns > dim:
                context[dim] = intercept
            eta = float32(0.0)
            for k in range(columns):
                eta += values[ids[i], k] * context[k]
            positive[i] = _log_sigmoid(np.float64(eta))
            total = 0.0
            for n in range(negatives):
                word = _draw(key, uint64(position[i]) * uint64(negatives) + uint64(n), threshold, alias)
                eta = float32(0.0)
                for k in range(columns):
                    eta += values[word, k] * context[k]
                total += _log_sigmoid(-np.float64(eta))
            negative[i] = total


@njit(**_FAST, inline="always")
def _log_sigmoid(x):
    if x < 0:
        return x - np.log1p(np.exp(x))
    return -np.log1p(np.exp(-x))
