"""Triton kernels of the torch engine: arrays in, arrays out.

In `likelihood_step` each program works on one block, all of them at the same time: it reads
what others have written so far, and adds to it atomically. Where results must not depend on
which is first, it writes its gradients down instead, and `take_steps` adds those of each word
in a fixed order. `prior_step` solves the tridiagonal systems of the prior, and `score`
scores held-out text.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def _window(code, row):
    """Tell which rows see each token, 0 or 1."""
    first, end, own = code & 255, (code >> 8) & 255, code >> 16
    return tl.where((row >= first) & (row < end) & (row != own), 1.0, 0.0)


@triton.jit
def _tokens(batch, start, end, TOKENS: tl.constexpr):
    """Return which rows see some tokens, their words, and which of them exist."""
    token = start + tl.arange(0, TOKENS)
    exists = token < end
    code = tl.load(batch.token_rows + token, mask=exists, other=0)
    word = tl.load(batch.token_word + token, mask=exists, other=0)
    return code, word, exists


@triton.jit
def _accumulate(accumulator, word, exists, gradients, k, DIM: tl.constexpr, COLUMNS: tl.constexpr):
    """Add the mean squares of gradients to the accumulators of their words, and apart those of intercepts."""
    squares = gradients * gradients
    size: tl.constexpr = 2 if COLUMNS > DIM else 1  # accumulators of a word
    mean = tl.sum(tl.where(k < DIM, squares, 0.0), axis=1) / DIM
    tl.atomic_add(accumulator + word * size, mean, mask=exists, sem="relaxed")
    if COLUMNS > DIM:
        intercept = tl.sum(tl.where(k == DIM, squares, 0.0), axis=1)
        tl.atomic_add(accumulator + word * size + 1, intercept, mask=exists, sem="relaxed")


@triton.jit
def _adagrad(table, word, exists, gradients, k, learning_rate, DIM: tl.constexpr, COLUMNS: tl.constexpr):
    """Move rows, after all squared gradients of the block have been accumulated."""
    values, accumulator = table
    size: tl.constexpr = 2 if COLUMNS > DIM else 1  # accumulators of a word
    total = tl.load(accumulator + word * size, mask=exists, other=1.0, cache_modifier=".cg")
    movement = gradients * (learning_rate / tl.sqrt(total))[:, None]
    if COLUMNS > DIM:
        total = tl.load(accumulator + word * size + 1, mask=exists, other=1.0, cache_modifier=".cg")
        movement = tl.where(k < DIM, movement, gradients * (learning_rate / tl.sqrt(total))[:, None])
    mask = exists[:, None] & (k < COLUMNS)
    tl.atomic_add(values + word[:, None] * COLUMNS + k, movement, mask=mask, sem="relaxed")


@triton.jit
def likelihood_step(
    rho_table,
    alpha_table,
    batch,
    totals,
    gradients,
    first_negative,
    first_block,
    words,
    alpha_stride,
    learning_rate,
    weight,
    intercept,
    frozen,
    DIM: tl.constexpr,
    COLUMNS: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    POOL: tl.constexpr,
    POOL_WIDTH: tl.constexpr,
    TOKENS: tl.constexpr,
    PRECISION: tl.constexpr,
    WRITE_DOWN: tl.constexpr,
):
    """Take the Adagrad step of one block, or only write its gradients down.

    Gradients of rho are written in the order of rows, and of negatives from `first_negative` on; those of alpha in the
    order of tokens. `alpha_stride` is 0 where all slices share context vectors.
    """
    b = first_block + tl.program_id(0)
    k = tl.arange(0, WIDTH)[None, :]
    inside = k < COLUMNS
    t = tl.load(batch.slice_of + b).to(tl.int64)
    rho = rho_table[0] + t * words * COLUMNS
    rho_accumulator = rho_table[1] + t * words * (2 if COLUMNS > DIM else 1)
    alpha = alpha_table[0] + t * alpha_stride
    alpha_accumulator = alpha_table[1] + t * (alpha_stride // DIM)

    begin = tl.load(batch.row_offsets + b)
    count = tl.load(batch.row_offsets + b + 1) - begin
    row = tl.arange(0, ROWS)
    row_mask = row < count
    word = tl.load(batch.row_word + begin + row, mask=row_mask, other=0)
    own_offsets = word[:, None] * COLUMNS + k
    own_mask = row_mask[:, None] & inside
    column = tl.arange(0, POOL_WIDTH)
    column_mask = column < POOL
    negative_word = tl.load(batch.negatives + b.to(tl.int64) * POOL + column, mask=column_mask, other=0)
    negative_offsets = negative_word[:, None] * COLUMNS + k
    negative_mask = column_mask[:, None] & inside

    context = tl.zeros((ROWS, WIDTH), dtype=tl.float32) + tl.where(k == DIM, intercept, 0.0)
    low = tl.load(batch.token_offsets + b)
    high = tl.load(batch.token_offsets + b + 1)
    for start in range(low, high, TOKENS):
        code, token, exists = _tokens(batch, start, high, TOKENS)
        offsets, mask = token[:, None] * DIM + k, exists[:, None] & (k < DIM)
        vectors = tl.load(alpha + offsets, mask=mask, other=0.0, cache_modifier=".cg")
        context += tl.dot(_window(code[None, :], row[:, None]), vectors, input_precision=PRECISION)

    own = tl.load(rho + own_offsets, mask=own_mask, other=0.0, cache_modifier=".cg")
    negative = tl.load(rho + negative_offsets, mask=negative_mask, other=0.0, cache_modifier=".cg")
    eta = tl.sum(own * context, axis=1)
    probability = _sigmoid(eta)
    tl.store(totals + b, tl.sum(tl.where(row_mask, tl.log(tl.maximum(probability, 1e-30)), 0.0)))
    residual = tl.where(row_mask, 1.0 - probability, 0.0)[:, None]
    negative_residual = -weight * _sigmoid(tl.dot(context, tl.trans(negative), input_precision=PRECISION))
    negative_residual = tl.where(row_mask[:, None] & column_mask[None, :], negative_residual, 0.0)
    context_gradient = residual * own + tl.dot(negative_residual, negative, input_precision=PRECISION)
    own_gradient = residual * context
    negative_gradient = tl.dot(tl.trans(negative_residual), context, input_precision=PRECISION)

    if WRITE_DOWN:
        own_place = begin - tl.load(batch.row_offsets + first_block) + row
        tl.store(gradients[0] + own_place[:, None].to(tl.int64) * COLUMNS + k, own_gradient, mask=own_mask)
        drawn_place = first_negative + tl.program_id(0) * POOL + column
        tl.store(gradients[0] + drawn_place[:, None].to(tl.int64) * COLUMNS + k, negative_gradient, mask=negative_mask)
        first_token = tl.load(batch.token_offsets + first_block)
        for start in range(low, high, TOKENS):
            code, token, exists = _tokens(batch, start, high, TOKENS)
            gradient = tl.dot(_window(code[:, None], row[None, :]), context_gradient, input_precision=PRECISION)
            place = start - first_token + tl.arange(0, TOKENS)
            mask = exists[:, None] & (k < DIM)
            tl.store(gradients[1] + place[:, None].to(tl.int64) * DIM + k, gradient, mask=mask)
        return
    _accumulate(rho_accumulator, word, row_mask, own_gradient, k, DIM, COLUMNS)
    _accumulate(rho_accumulator, negative_word, column_mask, negative_gradient, k, DIM, COLUMNS)
    for start in range(low, high, TOKENS):
        code, token, exists = _tokens(batch, start, high, TOKENS)
        gradient = tl.dot(_window(code[:, None], row[None, :]), context_gradient, input_precision=PRECISION)
        _accumulate(alpha_accumulator, token, exists & (token >= frozen), gradient, k, DIM, DIM)
    tl.debug_barrier()
    _adagrad((rho, rho_accumulator), word, row_mask, own_gradient, k, learning_rate, DIM, COLUMNS)
    _adagrad((rho, rho_accumulator), negative_word, column_mask, negative_gradient, k, learning_rate, DIM, COLUMNS)
    for start in range(low, high, TOKENS):
        code, token, exists = _tokens(batch, start, high, TOKENS)
        gradient = tl.dot(_window(code[:, None], row[None, :]), context_gradient, input_precision=PRECISION)
        moves = exists & (token >= frozen)
        _adagrad((alpha, alpha_accumulator), token, moves, gradient, k, learning_rate, DIM, DIM)


@triton.jit
def take_steps(
    table,
    moved,
    gradients,
    first_row,
    words,
    learning_rate,
    frozen,
    DIM: tl.constexpr,
    COLUMNS: tl.constexpr,
    WIDTH: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Take the Adagrad step of one row, by the sums of its gradients, which stand at `places`, and their squares.

    The first `frozen` of the `words` rows of each slice do not move.
    """
    n = first_row + tl.program_id(0)
    if tl.load(moved.rows + n) % words < frozen:
        return
    values, accumulator = table
    k = tl.arange(0, WIDTH)
    total = tl.zeros((WIDTH,), dtype=tl.float32)
    squares = tl.zeros((WIDTH,), dtype=tl.float32)
    end = tl.load(moved.offsets + n + 1)
    for start in range(tl.load(moved.offsets + n), end, CHUNK):
        here = start + tl.arange(0, CHUNK)
        place = tl.load(moved.places + here, mask=here < end, other=0).to(tl.int64)
        mask = (here < end)[:, None] & (k < COLUMNS)[None, :]
        gradient = tl.load(gradients + place[:, None] * COLUMNS + k[None, :], mask=mask, other=0.0)
        total += tl.sum(gradient, axis=0)
        squares += tl.sum(gradient * gradient, axis=0)
    size: tl.constexpr = 2 if COLUMNS > DIM else 1  # accumulators of a word
    row = tl.load(moved.rows + n)
    of_row = tl.load(accumulator + row * size) + tl.sum(tl.where(k < DIM, squares, 0.0), axis=0) / DIM
    tl.store(accumulator + row * size, of_row)
    movement = learning_rate * total / tl.sqrt(of_row)
    if COLUMNS > DIM:
        of_row = tl.load(accumulator + row * size + 1) + tl.sum(tl.where(k == DIM, squares, 0.0), axis=0)
        tl.store(accumulator + row * size + 1, of_row)
        movement = tl.where(k < DIM, movement, learning_rate * total / tl.sqrt(of_row))
    at = row * COLUMNS + k
    value = tl.load(values + at, mask=k < COLUMNS, other=0.0)
    tl.store(values + at, value + movement, mask=k < COLUMNS)


@triton.jit
def prior_step(
    table,
    scratch,
    size,
    tiles,
    slices,
    inverse_learning_rate,
    prior,
    row,
    ACCUMULATORS: tl.constexpr,
    COLUMNS: tl.constexpr,
    BY_WORD: tl.constexpr,
):
    """Solve the tridiagonal system of each column of ``(slices, size)`` (Thomas algorithm), tile by tile.

    Every `row` columns another word begins, with its accumulators and the precisions of the prior. With `BY_WORD` the
    walk of the first columns is multiplied by the factors of each word.
    """
    values, accumulator = table
    lane = tl.arange(0, COLUMNS)
    upper = scratch + tl.program_id(0).to(tl.int64) * slices * COLUMNS + lane
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        column = tile * COLUMNS + lane
        mask = column < size
        stride = tl.zeros((COLUMNS,), dtype=tl.int64) + size  # from one slice to the next; the product may be large
        carried = tl.zeros((COLUMNS,), dtype=tl.float32)  # what earlier slices add to the diagonal
        k = column % row
        of_word = column // row * ACCUMULATORS + tl.where(k < prior.dim, 0, ACCUMULATORS - 1)
        before = tl.zeros((COLUMNS,), dtype=tl.float32)  # precision of the step into a slice
        rhs = tl.zeros((COLUMNS,), dtype=tl.float32)
        for t in range(slices):
            offsets = t * stride + column
            squares = tl.load(accumulator + t * (stride // row) * ACCUMULATORS + of_word, mask=mask, other=1.0)
            metric = tl.sqrt(squares) * inverse_learning_rate
            value = tl.load(values + offsets, mask=mask, other=0.0)
            after = tl.load(prior.walk + (t + 1) * row + k)
            if BY_WORD:
                factor = tl.load(prior.factors + (t + 1) * (size // row) + column // row, mask=mask, other=0.0)
                after *= tl.where(k < prior.dim, factor, 1.0)
            diagonal = metric + tl.load(prior.precision + t * row + k) + carried
            inverse_pivot = 1.0 / (diagonal + after)
            rhs = (metric * value + before * rhs) * inverse_pivot
            # This is after * (1 - upper), without cancellation.
            carried = after * diagonal * inverse_pivot
            tl.store(values + offsets, rhs, mask=mask)
            tl.store(upper + t * COLUMNS, after * inverse_pivot)
            before = after
        value = rhs
        for back in range(1, slices):
            t = slices - 1 - back
            offsets = t * stride + column
            rhs = tl.load(values + offsets, mask=mask, other=0.0)
            value = rhs + tl.load(upper + t * COLUMNS) * value
            tl.store(values + offsets, value, mask=mask)


@triton.jit
def score(
    rho,
    alpha,
    text,
    negatives,
    positive,
    negative,
    count,
    words,
    alpha_stride,
    intercept,
    HALF_WINDOW: tl.constexpr,
    NEGATIVES: tl.constexpr,
    DIM: tl.constexpr,
    COLUMNS: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Write log sigmoid(eta) of each word, and the summed log sigmoid(-eta) of its negatives."""
    k = tl.arange(0, WIDTH)[None, :]
    inside = k < COLUMNS
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    mask = row < count
    here = tl.load(text.at + row, mask=mask, other=0)
    begin = tl.load(text.chunk_begin + row, mask=mask, other=0)
    end = tl.load(text.chunk_end + row, mask=mask, other=0)
    context = tl.zeros((ROWS, WIDTH), dtype=tl.float32) + tl.where(k == DIM, intercept, 0.0)
    slice_number = tl.load(text.slice_of + row, mask=mask, other=0)[:, None]
    for distance in tl.static_range(1, HALF_WINDOW + 1):
        for side in tl.static_range(-1, 2, 2):
            neighbor = here + side * distance
            exists = mask & (neighbor >= begin) & (neighbor < end)
            word = tl.load(text.ids + neighbor, mask=exists, other=0)
            offsets = slice_number * alpha_stride + word[:, None] * DIM + k
            context += tl.load(alpha + offsets, mask=exists[:, None] & (k < DIM), other=0.0)
    slice_offset = slice_number * words * COLUMNS + k
    word = tl.load(text.ids + here, mask=mask, other=0)
    own = tl.load(rho + slice_offset + word[:, None] * COLUMNS, mask=mask[:, None] & inside, other=0.0)
    tl.store(positive + row, _log_sigmoid(tl.sum(own * context, axis=1)), mask=mask)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    for n in range(NEGATIVES):
        word = tl.load(negatives + row * NEGATIVES + n, mask=mask, other=0).to(tl.int64)
        vector = tl.load(rho + slice_offset + word[:, None] * COLUMNS, mask=mask[:, None] & inside, other=0.0)
        total += _log_sigmoid(-tl.sum(vector * context, axis=1))
    tl.store(negative + row, total, mask=mask)


@triton.jit
def _log_sigmoid(x):
    return tl.minimum(x, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(x)))
