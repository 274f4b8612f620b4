"""Triton kernels of the torch engine: arrays in, arrays out.

`climb` works through one block in each program, all of them at the same time: it reads
what others have written so far, and adds to it with atomic operations. `smooth` solves
the tridiagonal systems of the prior, `score` is for held-out text.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def _near(code, row):
    """Tell which rows each token stands around, 0 or 1."""
    first, last, own = code & 255, (code >> 8) & 255, code >> 16
    return tl.where((row >= first) & (row < last) & (row != own), 1.0, 0.0)


@triton.jit
def _tokens(token_word, token_rows, start, high, k, DIM: tl.constexpr, TOKENS: tl.constexpr):
    """Return which rows some tokens stand around, where their context vectors are, and which numbers there count."""
    token = start + tl.arange(0, TOKENS)
    known = token < high
    code = tl.load(token_rows + token, mask=known, other=0)
    word = tl.load(token_word + token, mask=known, other=0)
    return code, word[:, None] * DIM + k, known[:, None] & (k < DIM)


@triton.jit
def _move(values, squares, places, known, gradients, rate):
    """Take Adagrad's step after all squares of the block have been added."""
    total = tl.load(squares + places, mask=known, other=1.0, cache_modifier=".cg")
    tl.atomic_add(values + places, rate * gradients / tl.sqrt(total), mask=known, sem="relaxed")


@triton.jit
def climb(
    rho,
    rho_squares,
    alpha,
    alpha_squares,
    row_word,
    row_first,
    token_word,
    token_rows,
    token_first,
    slice_of,
    negatives,
    totals,
    first_block,
    words,
    rate,
    weight,
    DIM: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    POOL: tl.constexpr,
    COLUMNS: tl.constexpr,
    TOKENS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Move along the gradients of one block."""
    b = first_block + tl.program_id(0)
    k = tl.arange(0, WIDTH)[None, :]
    inside = k < DIM
    base = tl.load(slice_of + b).to(tl.int64) * words * DIM
    rho += base
    rho_squares += base

    begin = tl.load(row_first + b)
    count = tl.load(row_first + b + 1) - begin
    row = tl.arange(0, ROWS)
    row_known = row < count
    word = tl.load(row_word + begin + row, mask=row_known, other=0)
    own_places = word[:, None] * DIM + k
    own_known = row_known[:, None] & inside
    column = tl.arange(0, COLUMNS)
    column_known = column < POOL
    absent_word = tl.load(negatives + b.to(tl.int64) * POOL + column, mask=column_known, other=0)
    absent_places = absent_word[:, None] * DIM + k
    absent_known = column_known[:, None] & inside

    context = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    low = tl.load(token_first + b)
    high = tl.load(token_first + b + 1)
    for start in range(low, high, TOKENS):
        code, places, known = _tokens(token_word, token_rows, start, high, k, DIM, TOKENS)
        vectors = tl.load(alpha + places, mask=known, other=0.0, cache_modifier=".cg")
        context += tl.dot(_near(code[None, :], row[:, None]), vectors, input_precision=PRECISION)

    own = tl.load(rho + own_places, mask=own_known, other=0.0, cache_modifier=".cg")
    absent = tl.load(rho + absent_places, mask=absent_known, other=0.0, cache_modifier=".cg")
    eta = tl.sum(own * context, axis=1)
    likely = _sigmoid(eta)
    tl.store(totals + b, tl.sum(tl.where(row_known, tl.log(tl.maximum(likely, 1e-30)), 0.0)))
    gain = tl.where(row_known, 1.0 - likely, 0.0)[:, None]
    loss = -weight * _sigmoid(tl.dot(context, tl.trans(absent), input_precision=PRECISION))
    loss = tl.where(row_known[:, None] & column_known[None, :], loss, 0.0)
    context_gradient = gain * own + tl.dot(loss, absent, input_precision=PRECISION)
    own_gradient = gain * context
    absent_gradient = tl.dot(tl.trans(loss), context, input_precision=PRECISION)

    tl.atomic_add(rho_squares + own_places, own_gradient * own_gradient, mask=own_known, sem="relaxed")
    tl.atomic_add(rho_squares + absent_places, absent_gradient * absent_gradient, mask=absent_known, sem="relaxed")
    for start in range(low, high, TOKENS):
        code, places, known = _tokens(token_word, token_rows, start, high, k, DIM, TOKENS)
        gradient = tl.dot(_near(code[:, None], row[None, :]), context_gradient, input_precision=PRECISION)
        tl.atomic_add(alpha_squares + places, gradient * gradient, mask=known, sem="relaxed")
    tl.debug_barrier()
    _move(rho, rho_squares, own_places, own_known, own_gradient, rate)
    _move(rho, rho_squares, absent_places, absent_known, absent_gradient, rate)
    for start in range(low, high, TOKENS):
        code, places, known = _tokens(token_word, token_rows, start, high, k, DIM, TOKENS)
        gradient = tl.dot(_near(code[:, None], row[None, :]), context_gradient, input_precision=PRECISION)
        _move(alpha, alpha_squares, places, known, gradient, rate)


@triton.jit
def smooth(rho, squares, scratch, size, tiles, slices, inverse_rate, drift, anchor, LANES: tl.constexpr):
    """Solve the tridiagonal systems of the columns of ``(slices, size)`` (Thomas), some columns at a time."""
    column = tl.arange(0, LANES)
    mine = scratch + tl.program_id(0).to(tl.int64) * slices * LANES + column
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        lane = tile * LANES + column
        known = lane < size
        stride = tl.zeros((LANES,), dtype=tl.int64) + size  # from one slice to the next; the product may be large
        before = tl.zeros((LANES,), dtype=tl.float32)  # what the slices before add to the diagonal
        right = tl.zeros((LANES,), dtype=tl.float32)
        for t in range(slices):
            places = t * stride + lane
            metric = tl.sqrt(tl.load(squares + places, mask=known, other=1.0)) * inverse_rate
            value = tl.load(rho + places, mask=known, other=0.0)
            own = metric + anchor + before
            pivot = 1.0 / (own + tl.where(t + 1 < slices, drift, 0.0))
            right = (metric * value + drift * right) * pivot
            before = drift * own * pivot  # drift (1 - drift pivot), without the loss of digits
            tl.store(rho + places, right, mask=known)
            tl.store(mine + t * LANES, drift * pivot)
        value = right
        for behind in range(1, slices):
            t = slices - 1 - behind
            places = t * stride + lane
            right = tl.load(rho + places, mask=known, other=0.0)
            value = right + tl.load(mine + t * LANES) * value
            tl.store(rho + places, value, mask=known)


@triton.jit
def score(
    rho,
    alpha,
    ids,
    place,
    slice_of,
    low,
    high,
    negatives,
    positive,
    negative,
    count,
    words,
    REACH: tl.constexpr,
    NEGATIVES: tl.constexpr,
    DIM: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Write log s(eta) of each word and the summed log s(-eta) of its negatives."""
    k = tl.arange(0, WIDTH)[None, :]
    inside = k < DIM
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    known = row < count
    here = tl.load(place + row, mask=known, other=0)
    first = tl.load(low + row, mask=known, other=0)
    last = tl.load(high + row, mask=known, other=0)
    context = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    for distance in tl.static_range(1, REACH + 1):
        for side in tl.static_range(-1, 2, 2):
            other = here + side * distance
            there = known & (other >= first) & (other < last)
            word = tl.load(ids + other, mask=there, other=0)
            context += tl.load(alpha + word[:, None] * DIM + k, mask=there[:, None] & inside, other=0.0)
    base = tl.load(slice_of + row, mask=known, other=0)[:, None] * words * DIM + k
    word = tl.load(ids + here, mask=known, other=0)
    own = tl.load(rho + base + word[:, None] * DIM, mask=known[:, None] & inside, other=0.0)
    tl.store(positive + row, _log_sigmoid(tl.sum(own * context, axis=1)), mask=known)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    for n in range(NEGATIVES):
        word = tl.load(negatives + row * NEGATIVES + n, mask=known, other=0).to(tl.int64)
        absent = tl.load(rho + base + word[:, None] * DIM, mask=known[:, None] & inside, other=0.0)
        total += _log_sigmoid(-tl.sum(absent * context, axis=1))
    tl.store(negative + row, total, mask=known)


@triton.jit
def _log_sigmoid(x):
    return tl.minimum(x, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(x)))
