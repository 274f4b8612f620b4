"""Numba loops of the CPU engine: arrays in, arrays out.

Work arrays are padded with zeros to the whole tiles and vectors of `matmul_kernels`.
No compiler flag rules out NaN: a diverging fit must stay visible. Numba compiles a function once more for every literal
it is called with, so numbers such as `_ZERO` have a type here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from driftword.basics.jit import float32, int32, njit, uint32, uint64
from driftword.corpus.token_kernels import mix
from driftword.engines.cpu.adagrad_kernels import fetch, take_step
from driftword.engines.cpu.matmul_kernels import LANES, TILE, add_product, padded
from driftword.engines.cpu.thread_barrier import add_and_get, wait_for_all
from driftword.engines.parameters import INTERCEPT_UNIT

_ZERO = np.int64(0)
_UNIT = np.float32(INTERCEPT_UNIT)
_AHEAD = 6  # rows that are fetched before it is their turn
_FAST = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}, "cache": True, "nogil": True, "error_model": "numpy"}


class Options(NamedTuple):
    """The numbers that every block of a round is worked on with."""

    half_window: int
    pool_size: int
    weight: np.float32  # of each negative in the pool
    learning_rate: np.float32
    frozen: int  # words, the first ones, whose context vectors do not move


class Gradients(NamedTuple):
    """The gradients of the blocks of a wave: for each block a list of words, with a gradient for each occurrence."""

    words: npt.NDArray[np.int32]  # (wave, rows)
    values: npt.NDArray[np.float32]  # (wave, rows, columns)
    sizes: npt.NDArray[np.int64]  # (wave,) rows that each block has filled

    @classmethod
    def allocate(cls, blocks: int, rows: int, columns: int) -> Gradients:
        """Make room for the gradients of so many blocks."""
        values = np.empty((blocks, rows, padded(columns, LANES)), np.float32)
        return cls(np.empty((blocks, rows), np.int32), values, np.empty(blocks, np.int64))


class Workspace(NamedTuple):
    """The arrays in which a thread works on one block after the other."""

    context: npt.NDArray[np.float32]  # (B, K)
    context_transposed: npt.NDArray[np.float32]  # (K, B)
    context_gradient: npt.NDArray[np.float32]  # (B, K)
    negative_vectors: npt.NDArray[np.float32]  # (M, K)
    negative_residual: npt.NDArray[np.float32]  # (M, B) eta of the negatives, later its gradient
    token_vectors: npt.NDArray[np.float32]  # (tokens, K) alpha of the tokens of a run
    prefix_sums: npt.NDArray[np.float32]  # (tokens + 2, K)

    @classmethod
    def allocate(cls, rows: int, columns: int, pool: int, tokens: int) -> Workspace:
        """Make room for a block of so many rows, with vectors of so many columns."""
        width = padded(columns, LANES)
        shapes = (rows, width), (columns, rows), (rows, width), (pool, width), (pool, rows)
        return cls(*(np.zeros(shape, np.float32) for shape in (*shapes, (tokens, width), (tokens + 2, width))))


@njit(**_FAST, inline="always")
def _draw(sampler, key, counter):
    """Draw a word, as `Sampler.draw` does."""
    random = mix(uint64(key) ^ uint64(counter))
    word = ((random >> uint64(32)) * uint64(len(sampler.alias))) >> uint64(32)
    if uint32(random & uint64(0xFFFFFFFF)) <= sampler.threshold[word]:
        return int32(word)
    return sampler.alias[word]


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
def _adagrad(gradients_of_blocks, b, table, t, learning_rate, frozen, thread, threads):
    """Take the Adagrad step of one block, for the words of one thread; the first `frozen` ones do not move.

    All squared gradients are accumulated first, then every word is updated: the order of words does not matter.
    """
    words, gradients = gradients_of_blocks.words[b], gradients_of_blocks.values[b]
    values, accumulator = table.values[t], table.accumulator[t]
    count, width = gradients_of_blocks.sizes[b], values.shape[1]
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


@njit(**_FAST, inline="always")
def _tokens_of_run(blocks, r, half_window):
    """Return where the tokens that the positions of a run have in their contexts begin and end."""
    left = max(blocks.chunk_begin[r], blocks.run_begin[r] - half_window)
    return left, min(blocks.chunk_end[r], blocks.run_end[r] + half_window)


@njit(**_FAST)
def likelihood_step(
    blocks, sampler, rho, alpha, options, rho_gradients, alpha_gradients, work, totals, counters, thread, threads
):
    """Take the steps of all blocks, wave by wave, as one of several threads that call this at the same time.

    Each block of a wave writes its gradients to a place of its own: those of rho for its positions and then its
    negatives, those of alpha for the tokens in their contexts. Then every thread takes the steps of its share of the
    words, block by block. The log-likelihood of each block goes to `totals`. Of the `counters`, all 0 at first, one
    counts threads that have arrived, the others the blocks of each wave that are taken.
    """
    for w in range(len(blocks.wave_offsets) - 1):
        first, end = blocks.wave_offsets[w], blocks.wave_offsets[w + 1]
        while True:
            b = first + add_and_get(counters, w + 1, 1) - 1
            if b >= end:
                break
            totals[b] = _block_gradients(
                blocks, b, sampler, rho, alpha, options, rho_gradients, alpha_gradients, b - first, work
            )
        wait_for_all(counters, 0, threads)
        for b in range(first, end):
            t = np.int64(blocks.slice_of[b])  # the type of `a`, so that the step is compiled once
            a = min(t, len(alpha.values) - 1)
            _adagrad(rho_gradients, b - first, rho, t, options.learning_rate, _ZERO, thread, threads)
            _adagrad(alpha_gradients, b - first, alpha, a, options.learning_rate, options.frozen, thread, threads)
        wait_for_all(counters, 0, threads)


@njit(**_FAST)
def _block_gradients(blocks, b, sampler, rho, alpha, options, rho_gradients, alpha_gradients, place, work):
    """Write the gradients of a block, one for each occurrence; return the text's log-likelihood."""
    ids, runs, t = blocks.ids, range(blocks.run_offsets[b], blocks.run_offsets[b + 1]), blocks.slice_of[b]
    values, vectors = rho.values[t], alpha.values[min(t, len(alpha.values) - 1)]
    pool, half_window = options.pool_size, options.half_window
    rho_words, rho_gradient = rho_gradients.words[place], rho_gradients.values[place]
    alpha_words, alpha_gradient = alpha_gradients.words[place], alpha_gradients.values[place]
    context, context_transposed, context_gradient = work.context, work.context_transposed, work.context_gradient
    negative_vectors, negative_residual = work.negative_vectors, work.negative_residual
    token_vectors, prefix_sums = work.token_vectors, work.prefix_sums
    dim, columns_of_rho, width = vectors.shape[1], values.shape[1], context.shape[1]
    columns, rows = negative_residual.shape
    n_rows = _ZERO
    for r in runs:
        left, right = _tokens_of_run(blocks, r, half_window)
        for j in range(left, right):
            fetch(vectors, ids[j])
        for j in range(blocks.run_begin[r], blocks.run_end[r]):
            rho_words[n_rows] = ids[j]
            n_rows += 1
    number = uint64(blocks.number[b])
    for m in range(pool):
        rho_words[n_rows + m] = _draw(sampler, blocks.key, number * uint64(pool) + uint64(m))
    for r in range(n_rows + pool):
        fetch(values, rho_words[r])
    n_rows = _ZERO
    for r in runs:
        begin, end = blocks.run_begin[r], blocks.run_end[r]
        left, right = _tokens_of_run(blocks, r, half_window)
        for j in range(left, right):
            word = ids[j]
            for k in range(dim):
                token_vectors[j - left, k] = vectors[word, k]
        _window_sums(token_vectors, left, right, prefix_sums, half_window, begin, end, context[n_rows:])
        n_rows += end - begin
    if columns_of_rho > dim:
        for i in range(n_rows):
            context[i, dim] = _UNIT
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
            rho_gradient[i, k] = residual * context[i, k]
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
            negative_residual[m, i] = -options.weight * sigmoid(negative_residual[m, i])
    add_product(negative_residual.T, negative_vectors, padded(n_rows, TILE), width, pool, context_gradient)
    for m in range(n_rows, n_rows + columns):
        for k in range(width):
            rho_gradient[m, k] = float32(0.0)
    add_product(negative_residual, context, columns, width, n_rows, rho_gradient[n_rows:])
    rho_gradients.sizes[place] = n_rows + pool

    row = n_tokens = _ZERO
    for r in runs:
        begin, end = blocks.run_begin[r], blocks.run_end[r]
        left, right = _tokens_of_run(blocks, r, half_window)
        # The gradient of a context vector is a sum over the positions that see it: the same windows.
        _window_sums(
            context_gradient[row:], begin, end, prefix_sums, half_window, left, right, alpha_gradient[n_tokens:]
        )
        for j in range(left, right):
            alpha_words[n_tokens + j - left] = ids[j]
        n_tokens += right - left
        row += end - begin
    alpha_gradients.sizes[place] = n_tokens
    return total


@njit(**_FAST)
def prior_step(table, low, high, learning_rate, chain, intercepts, mean_context):
    """Take the proximal step of the prior for words low..high-1: tridiagonal systems (Thomas algorithm).

    The walk of `chain` has a column for each word, or one for all. A column beyond those of `mean_context` holds
    intercepts, which have a chain of their own. What the mean context (of each slice, or of all) contributes to log
    odds, in their unit, is then added to them.
    """
    values, accumulator = table.values, table.accumulator
    precision, walk = chain.precision, chain.walk
    dim = mean_context.shape[1]
    last = len(values) - 1
    upper = np.empty((last + 1, dim), dtype=np.float32)
    rhs = np.empty((last + 1, dim), dtype=np.float32)
    carried = np.empty(dim, dtype=np.float32)  # what earlier slices add to the diagonal
    shifts = np.empty(last + 1, dtype=np.float32)
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
            _intercept_step(table, v, inverse_learning_rate, intercepts, upper[:, 0], rhs[:, 0])
            for t in range(last + 1):
                values[t, v, dim] += shifts[t]


@njit(**_FAST)
def _intercept_step(table, v, inverse_learning_rate, chain, upper, rhs):
    """Take the same step for one word's intercepts, in the last column."""
    values, accumulator = table.values, table.accumulator
    n_slices, column = len(values), values.shape[2] - 1
    carried = value = before = float32(0.0)
    for t in range(n_slices):
        after = chain.walk[t, 0] if t + 1 < n_slices else float32(0.0)
        metric = np.sqrt(accumulator[t, v, column]) * inverse_learning_rate
        diagonal = metric + chain.precision[t] + carried
        inverse_pivot = float32(1.0) / (diagonal + after)
        upper[t] = after * inverse_pivot
        rhs[t] = (metric * values[t, v, column] + before * value) * inverse_pivot
        carried = after * diagonal * inverse_pivot
        value, before = rhs[t], after
    values[n_slices - 1, v, column] = value
    for t in range(n_slices - 2, -1, -1):
        values[t, v, column] = rhs[t] + upper[t] * values[t + 1, v, column]


@njit(**_FAST)
def score(text, low, high, sampler, key, negatives, half_window, rho, alpha, scores):
    """Score the words of chunks low..high-1: log sigmoid(eta), and the summed log sigmoid(-eta) of their negatives."""
    ids, offsets = text.ids, text.offsets
    dim, columns = alpha.shape[2], rho.shape[2]
    context = np.empty(columns, dtype=np.float32)
    for c in range(low, high):
        values = rho[min(text.slice_of[c], len(rho) - 1)]
        vectors = alpha[min(text.slice_of[c], len(alpha) - 1)]
        for i in range(offsets[c], offsets[c + 1]):
            context[:] = float32(0.0)
            for j in range(max(offsets[c], i - half_window), min(offsets[c + 1], i + half_window + 1)):
                if j != i:
                    for k in range(dim):
                        context[k] += vectors[ids[j], k]
            if columns > dim:
                context[dim] = _UNIT
            eta = float32(0.0)
            for k in range(columns):
                eta += values[ids[i], k] * context[k]
            scores[0, i] = _log_sigmoid(np.float64(eta))
            total = 0.0
            for n in range(negatives):
                word = _draw(sampler, key, uint64(text.position[i]) * uint64(negatives) + uint64(n))
                eta = float32(0.0)
                for k in range(columns):
                    eta += values[word, k] * context[k]
                total += _log_sigmoid(-np.float64(eta))
            scores[1, i] = total


@njit(**_FAST, inline="always")
def _log_sigmoid(x):
    if x < 0:
        return x - np.log1p(np.exp(x))
    return -np.log1p(np.exp(-x))
