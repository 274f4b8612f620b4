"""Numba loops of the CPU engine over text: its blocks, the steps they take, and scores.

Rows of tables and of work arrays are padded with zeros (see `row_kernels`), and work arrays have whole tiles of
`matmul_kernels`. No compiler flag rules out NaN: a diverging fit must stay visible. Numba compiles a function once
more for every literal it is called with, so numbers such as `_ZERO` have a type here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from driftword.basics.jit import float32, int32, njit, uint32, uint64
from driftword.corpus.token_kernels import mix
from driftword.engines.cpu.matmul_kernels import LANES, TILE, add_product, padded
from driftword.engines.cpu.row_kernels import (
    add_row,
    aligned_zeros,
    dot,
    fetch,
    prefix_sums,
    prefix_sums_of,
    set_row,
    transpose,
    window_sum,
)
from driftword.engines.cpu.thread_barrier import add_and_get, wait_for_all
from driftword.engines.parameters import INTERCEPT_UNIT

_AHEAD = 2  # rows that are fetched before it is their turn
_ZERO = np.int64(0)
_ONE = np.float32(1)
_UNIT = np.float32(INTERCEPT_UNIT)
FAST = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}, "cache": True, "nogil": True, "error_model": "numpy"}


class Options(NamedTuple):
    """The numbers that every block of a round is worked on with."""

    half_window: int
    pool_size: int
    weight: np.float32  # of each negative in the pool
    learning_rate: np.float32
    frozen: int  # words, the first ones, whose context vectors do not move
    words: int  # of the vocabulary
    alpha_slices: int  # that have context vectors of their own
    dim: int  # columns of embeddings; where rho has one more, it holds intercepts
    columns: int  # of rho
    at_once: bool  # whether a block moves rho itself, instead of writing its gradients down


class Gradients(NamedTuple):
    """The gradients that the blocks of a wave write down for one table, each block at a place of its own."""

    rows: npt.NDArray[np.float32]  # (wave * gradients, columns)
    squares: npt.NDArray[np.float32]  # (wave * gradients, 2) mean square of each, and the square of its intercept
    words: npt.NDArray[np.int32]  # (wave * gradients,) that they move
    order: npt.NDArray[np.int32]  # (wave * gradients,) gradients by block and the part of their words
    offsets: npt.NDArray[np.int32]  # (wave, parts + 1) where those of each part begin in `order`
    following: npt.NDArray[np.int32]  # (wave * gradients,) the next gradient of the same row of the table, or -1

    @classmethod
    def allocate(cls, blocks: int, gradients: int, columns: int, parts: int) -> Gradients:
        """Make room for so many blocks, and divide words into parts."""
        rows, squares = aligned_zeros(blocks * gradients, columns), np.zeros((blocks * gradients, 2), np.float32)
        words, order, following = np.zeros((3, blocks * gradients), np.int32)
        return cls(rows, squares, words, order, np.zeros((blocks, parts + 1), np.int32), following)


class Workspace(NamedTuple):
    """The arrays in which a thread works on one block after the other."""

    words: npt.NDArray[np.int64]  # (B + M,) rows of rho, of positions and then negatives
    squares: npt.NDArray[np.float32]  # (B,) of the length of contexts
    residual: npt.NDArray[np.float32]  # (B,)
    context: npt.NDArray[np.float32]  # (B, K)
    context_transposed: npt.NDArray[np.float32]  # (K, B)
    context_gradient: npt.NDArray[np.float32]  # (B, K)
    sums: npt.NDArray[np.float32]  # (tokens + 1, K) prefix sums of the vectors of a run
    negative_vectors: npt.NDArray[np.float32]  # (M, K)
    negative_residual: npt.NDArray[np.float32]  # (M, B) eta of the negatives, later its gradient
    negative_gradient: npt.NDArray[np.float32]  # (M, K)
    total: npt.NDArray[np.float32]  # (1, K) sum of the gradients of a row
    moved: npt.NDArray[np.int64]  # (rows that a wave moves, 3) the row of a table, its first and its last gradient
    place: npt.NDArray[np.int32]  # (rows of a table,) where in `moved` it is, or -1

    @classmethod
    def allocate(cls, rows: int, columns: int, pool: int, tokens: int, gradients: int, table_rows: int) -> Workspace:
        """Make room for a block of so many rows, with vectors of so many columns."""
        vectors, transposed = (rows, columns), (padded(columns, LANES), rows)
        shapes = vectors, transposed, vectors, (tokens + 1, columns), (pool, columns)
        return cls(
            np.zeros(rows + pool, np.int64), *np.zeros((2, rows), np.float32),
            *(aligned_zeros(*shape) for shape in shapes), np.zeros((pool, rows), np.float32),
            aligned_zeros(pool, columns), aligned_zeros(1, columns), np.zeros((gradients, 3), np.int64),
            np.full(table_rows, -1, np.int32),
        )  # fmt: skip


@njit(**FAST, inline="always")
def _draw(sampler, key, counter):
    """Draw a word, as `Sampler.draw` does."""
    random = mix(uint64(key) ^ uint64(counter))
    word = ((random >> uint64(32)) * uint64(len(sampler.alias))) >> uint64(32)
    if uint32(random & uint64(0xFFFFFFFF)) <= sampler.threshold[word]:
        return int32(word)
    return sampler.alias[word]


@njit(**FAST, inline="always")
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


@njit(**FAST, inline="always")
def _tokens_of_run(blocks, r, half_window):
    """Return where the tokens that the positions of a run have in their contexts begin and end."""
    left = max(blocks.chunk_begin[r], blocks.run_begin[r] - half_window)
    return left, min(blocks.chunk_end[r], blocks.run_end[r] + half_window)


@njit(**FAST)
def likelihood_step(
    blocks, units, wave_units, sampler, rho, alpha, options, rho_gradients, alpha_gradients, work, totals, counters,
    threads,
):  # fmt: skip
    """Take the steps of all blocks, wave by wave, as one of several threads that call this at the same time.

    First threads take the units of a wave, which are blocks, or where blocks move rho `at_once`, all blocks of a slice.
    Each block writes its gradients to a place of its own: those of rho (where it does not move them) for its positions
    and then its negatives, those of alpha for the tokens in their contexts. Then threads take parts of the words,
    and move each of these words by the sum of its gradients. The log-likelihood of each block goes to `totals`. Of the
    `counters`, all 0 at first, one counts threads that have arrived, the others the units and parts of each wave that
    are taken.
    """
    for w in range(len(wave_units) - 1):
        first, end = units[wave_units[w]], units[wave_units[w + 1]]
        while True:
            u = wave_units[w] + add_and_get(counters, 2 * w + 1, 1) - 1
            if u >= wave_units[w + 1]:
                break
            for b in range(units[u], units[u + 1]):
                totals[b] = _block(
                    blocks, b, sampler, rho, alpha, options, rho_gradients, alpha_gradients, b - first, work
                )
        wait_for_all(counters, 0, threads)
        while True:
            part = add_and_get(counters, 2 * w + 2, 1) - 1
            if part >= alpha_gradients.offsets.shape[1] - 1:
                break
            slice_of = blocks.slice_of[first:end]
            if not options.at_once:
                _take_steps(rho_gradients, slice_of, part, rho, options, work)
            _take_steps(alpha_gradients, slice_of, part, alpha, options, work)
        wait_for_all(counters, 0, threads)


@njit(**FAST)
def _take_steps(gradients, slice_of, part, table, options, work):
    """Take the Adagrad steps of a wave for the words of one part: each row by the sum of its gradients.

    They are added in the order of blocks.
    """
    moved, place, following, n_moved = work.moved, work.place, gradients.following, _ZERO
    last_slice = len(table.values) // options.words - 1
    for b in range(len(slice_of)):
        first_row = np.int64(min(slice_of[b], last_slice)) * options.words
        for n in range(gradients.offsets[b, part], gradients.offsets[b, part + 1]):
            g = gradients.order[n]
            row = first_row + gradients.words[g]
            following[g] = int32(-1)
            if place[row] < 0:
                place[row] = n_moved
                moved[n_moved, 0] = row
                moved[n_moved, 1] = moved[n_moved, 2] = g
                n_moved += 1
            else:
                following[moved[place[row], 2]] = g
                moved[place[row], 2] = g
    for m in range(n_moved):
        if m + _AHEAD < n_moved:
            fetch(table.values, moved[m + _AHEAD, 0])
            fetch(gradients.rows, moved[m + _AHEAD, 1])
        row, g = moved[m, 0], int32(moved[m, 1])
        place[row] = int32(-1)
        if following[g] < 0:
            _add_squares(table.accumulator, row, gradients.squares, g)
            _step(table, row, gradients.rows, g, _ONE, options)
            continue
        set_row(work.total, _ZERO, gradients.rows, g, _ONE)
        _add_squares(table.accumulator, row, gradients.squares, g)
        while following[g] >= 0:
            g = following[g]
            if following[g] >= 0:
                fetch(gradients.rows, following[g])
            add_row(work.total, _ZERO, gradients.rows, g, _ONE)
            _add_squares(table.accumulator, row, gradients.squares, g)
        _step(table, row, work.total, _ZERO, _ONE, options)


@njit(**FAST, inline="always")
def _add_squares(accumulator, row, squares, g):
    for k in range(accumulator.shape[1]):
        accumulator[row, k] += squares[g, k]


@njit(**FAST, inline="always")
def _step(table, row, gradients, r, factor, options):
    """Move a row by a gradient times a factor; intercepts have an accumulator of their own."""
    values, accumulator, rate, dim = table.values, table.accumulator, options.learning_rate * factor, options.dim
    intercept = float32(0.0)
    if accumulator.shape[1] > 1:
        intercept = values[row, dim] + rate / np.sqrt(accumulator[row, 1]) * gradients[r, dim]
    add_row(values, row, gradients, r, rate / np.sqrt(accumulator[row, 0]))
    if accumulator.shape[1] > 1:
        values[row, dim] = intercept


@njit(**FAST)
def _sort_by_part(gradients, place, count, frozen):
    """List the gradients of a block by the part of their words; those of the first `frozen` words are left out."""
    words, order, offsets, parts = gradients.words, gradients.order, gradients.offsets, gradients.offsets.shape[1] - 1
    first = int32(len(words) // len(offsets) * place)
    for p in range(parts + 1):
        offsets[place, p] = int32(0)
    for g in range(first, first + count):
        if words[g] >= frozen:
            offsets[place, _part(words[g], parts) + 1] += int32(1)
    offsets[place, 0] = first
    for p in range(parts):
        offsets[place, p + 1] += offsets[place, p]
    for g in range(first, first + count):
        if words[g] >= frozen:
            p = _part(words[g], parts)
            order[offsets[place, p]] = g
            offsets[place, p] += int32(1)
    for p in range(parts, 0, -1):
        offsets[place, p] = offsets[place, p - 1]
    offsets[place, 0] = first


@njit(**FAST, inline="always")
def _part(word, parts):
    """Return the part of a word: a few words that are next to each other share one, but not all frequent ones."""
    mixed = uint32(uint32(uint32(word) >> uint32(2)) * uint32(2654435769))
    return np.int64((uint64(mixed) * uint64(parts)) >> uint64(32))


@njit(**FAST)
def _block(blocks, b, sampler, rho, alpha, options, rho_gradients, alpha_gradients, place, work):
    """Compute the gradients of a block, one for each occurrence, and take rho's steps; return its log-likelihood."""
    ids, runs = blocks.ids, range(blocks.run_offsets[b], blocks.run_offsets[b + 1])
    t = np.int64(blocks.slice_of[b])
    values, vectors, first_row = rho.values, alpha.values, t * options.words
    first_vector = min(t, options.alpha_slices - 1) * options.words
    pool, half_window, dim, columns = options.pool_size, options.half_window, options.dim, options.columns
    words, squares, residual, context = work.words, work.squares, work.residual, work.context
    context_transposed, context_gradient = work.context_transposed, work.context_gradient
    negative_vectors, negative_residual, sums = work.negative_vectors, work.negative_residual, work.sums
    n_rows = _ZERO
    for r in runs:
        left, right = _tokens_of_run(blocks, r, half_window)
        for j in range(left, right):
            fetch(vectors, first_vector + ids[j])
        for j in range(blocks.run_begin[r], blocks.run_end[r]):
            words[n_rows] = first_row + ids[j]
            n_rows += 1
    number = uint64(blocks.number[b])
    for m in range(pool):
        words[n_rows + m] = first_row + _draw(sampler, blocks.key, number * uint64(pool) + uint64(m))
    for r in range(n_rows + pool):
        fetch(values, words[r])
        fetch(rho.accumulator, words[r])
    row = _ZERO
    for r in runs:
        left, right = _tokens_of_run(blocks, r, half_window)
        prefix_sums_of(sums, vectors, first_vector, ids, left, right - left)
        for i in range(blocks.run_begin[r] - left, blocks.run_end[r] - left):
            low, high = max(i - half_window, 0), min(i + half_window + 1, right - left)
            squares[row] = window_sum(context, row, sums, low, high, i, i + 1)
            row += 1
    if columns > dim:
        for i in range(n_rows):
            context[i, dim] = _UNIT
    total, product = 0.0, 1.0
    for i in range(n_rows):
        probability = sigmoid(dot(values, words[i], context, i))
        residual[i] = float32(1.0) - probability
        product *= max(probability, float32(1e-30))
        if i % 8 == 7 or i == n_rows - 1:  # a logarithm takes long, and the product of more numbers might vanish
            total += np.log(product)
            product = 1.0
        set_row(context_gradient, i, values, words[i], residual[i])
    for m in range(pool):
        set_row(negative_vectors, m, values, words[n_rows + m], _ONE)
    rows, width = padded(n_rows, TILE), padded(columns, LANES)
    for i in range(n_rows, rows):  # these only pad the last tile
        for k in range(width):
            context[i, k] = context_gradient[i, k] = float32(0.0)
    transpose(context, context_transposed, rows)
    pool_rows = padded(pool, TILE)
    add_product(
        negative_vectors, context_transposed, pool_rows, padded(n_rows, LANES), columns, negative_residual, True
    )
    for m in range(pool):
        for i in range(rows):
            negative_residual[m, i] = -options.weight * sigmoid(negative_residual[m, i])
    add_product(negative_residual.T, negative_vectors, rows, width, pool, context_gradient)
    add_product(negative_residual, context, pool_rows, width, rows, work.negative_gradient, True)
    if options.at_once:
        _move_rho(rho, n_rows, work, options)
    else:
        _write_rho(rho_gradients, place, first_row, n_rows, work, options)

    row = _ZERO
    first = g = len(alpha_gradients.words) // len(alpha_gradients.offsets) * place
    for i in range(n_rows):
        for k in range(dim, width):
            context_gradient[i, k] = float32(0.0)
    for r in runs:
        begin, end = blocks.run_begin[r], blocks.run_end[r]
        left, right = _tokens_of_run(blocks, r, half_window)
        prefix_sums(sums, _ZERO, context_gradient, row, end - begin)
        for j in range(left - begin, right - begin):
            # The gradient of a context vector is a sum over the positions that see it: a window as well.
            low, high = max(j - half_window, 0), min(j + half_window + 1, end - begin)
            own, after = (j, j + 1) if 0 <= j < end - begin else (low, low)
            square = window_sum(alpha_gradients.rows, g, sums, low, high, own, after)
            alpha_gradients.squares[g, 0] = square / float32(dim)
            alpha_gradients.words[g] = ids[begin + j]
            g += 1
        row += end - begin
    _sort_by_part(alpha_gradients, place, g - first, options.frozen)
    return total


@njit(**FAST, inline="always")
def _square(gradients, r, dim):
    """Return the sum of the squares of a gradient, without that of the intercept."""
    total = float32(0.0)
    for k in range(dim):
        total += gradients[r, k] * gradients[r, k]
    return total


@njit(**FAST)
def _move_rho(rho, n_rows, work, options):
    """Take the steps of rho of a block: all squares are accumulated first."""
    words, residual, gradients, dim = work.words, work.residual, work.negative_gradient, options.dim
    accumulator, has_intercepts = rho.accumulator, options.columns > options.dim
    for i in range(n_rows):
        square = residual[i] * residual[i]
        accumulator[words[i], 0] += square * work.squares[i] / float32(dim)
        if has_intercepts:
            accumulator[words[i], 1] += square * _UNIT * _UNIT
    for m in range(options.pool_size):
        accumulator[words[n_rows + m], 0] += _square(gradients, m, dim) / float32(dim)
        if has_intercepts:
            accumulator[words[n_rows + m], 1] += gradients[m, dim] * gradients[m, dim]
    for i in range(n_rows):
        _step(rho, words[i], work.context, i, residual[i], options)
    for m in range(options.pool_size):
        _step(rho, words[n_rows + m], gradients, m, _ONE, options)


@njit(**FAST)
def _write_rho(gradients, place, first_row, n_rows, work, options):
    """Write the gradients of rho of a block down."""
    first, count = len(gradients.words) // len(gradients.offsets) * place, n_rows + options.pool_size
    for i in range(n_rows):
        set_row(gradients.rows, first + i, work.context, i, work.residual[i])
    for m in range(options.pool_size):
        set_row(gradients.rows, first + n_rows + m, work.negative_gradient, m, _ONE)
    for r in range(count):
        g = first + r
        gradients.words[g] = work.words[r] - first_row
        gradients.squares[g, 0] = _square(gradients.rows, g, options.dim) / float32(options.dim)
        if options.columns > options.dim:
            gradients.squares[g, 1] = gradients.rows[g, options.dim] * gradients.rows[g, options.dim]
    _sort_by_part(gradients, place, count, _ZERO)


@njit(**FAST)
def score(text, low, high, sampler, key, negatives, half_window, rho, alpha, dim, columns, scores):
    """Score the words of chunks low..high-1: log sigmoid(eta), and the summed log sigmoid(-eta) of their negatives."""
    ids, offsets = text.ids, text.offsets
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


@njit(**FAST, inline="always")
def _log_sigmoid(x):
    if x < 0:
        return x - np.log1p(np.exp(x))
    return -np.log1p(np.exp(-x))
