"""Triton kernels of the torch engine: arrays in, arrays out.

`climb` works through one block in each program, all of them at the same time: it reads
what others have written so far, and adds to it with atomic operations. `smooth` solves
the tridiagonal systems of the prior in one reading and one writing of `rho`.
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
        token = start + tl.arange(0, TOKENS)
        known = token < high
        code = tl.load(token_rows + token, mask=known, other=0)
        around = tl.load(token_word + token, mask=known, other=0)
        places = around[:, None] * DIM + k
        vectors = tl.load(alpha + places, mask=known[:, None] & inside, other=0.0, cache_modifier=".cg")
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
        token = start + tl.arange(0, TOKENS)
        known = token < high
        code = tl.load(token_rows + token, mask=known, other=0)
        around = tl.load(token_word + token, mask=known, other=0)
        gradient = tl.dot(_near(code[:, None], row[None, :]), context_gradient, input_precision=PRECISION)
        places = around[:, None] * DIM + k
        tl.atomic_add(alpha_squares + places, gradient * gradient, mask=known[:, None] & inside, sem="relaxed")
    tl.debug_barrier()
    _move(rho, rho_squares, own_places, own_known, own_gradient, rate)
    _move(rho, rho_squares, absent_places, absent_known, absent_gradient, rate)
    for start in range(low, high, TOKENS):
        token = start + tl.arange(0, TOKENS)
        known = token < high
        code = tl.load(token_rows + token, mask=known, other=0)
        around = tl.load(token_word + token, mask=known, other=0)
        gradient = tl.dot(_near(code[:, None], row[None, :]), context_gradient, input_precision=PRECISION)
        places = around[:, None] * DIM + k
        _move(alpha, alpha_squares, places, known[:, None] & inside, gradient, rate)


@triton.jit
def _compose(a1, b1, c1, d1, a2, b2, c2, d2):
    """Multiply two matrices of positive numbers, and scale the product."""
    a, b = a2 * a1 + b2 * c1, a2 * b1 + b2 * d1
    c, d = c2 * a1 + d2 * c1, c2 * b1 + d2 * d1
    scale = 1.0 / (a + b + c + d)
    return a * scale, b * scale, c * scale, d * scale


@triton.jit
def _chain(g1, h1, g2, h2):
    """Put x -> g2 + h2 x after x -> g1 + h1 x."""
    return g2 + h2 * g1, h2 * h1


@triton.jit
def smooth(rho, squares, size, inverse_rate, drift, anchor, T: tl.constexpr, TIMES: tl.constexpr, LANES: tl.constexpr):
    """Solve the tridiagonal systems of some columns of ``(T, size)``; all times are in registers.

    With e = pivot / drift less what is ahead, Thomas's forward sweep is e' = ((b + 1) e + b) / (e + 1), b the diagonal
    without drift over drift: a product of matrices of positive numbers, whose scan loses nothing to cancellation.
    """
    t = tl.arange(0, TIMES)[:, None]
    lane = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)[None, :]
    known = (t < T) & (lane < size)
    places = t.to(tl.int64) * size + lane
    metric = tl.sqrt(tl.load(squares + places, mask=known, other=1.0)) * inverse_rate
    value = tl.load(rho + places, mask=known, other=0.0)
    diagonal = (metric + anchor) / drift
    one = tl.full((TIMES, LANES), 1.0, tl.float32)
    _, over, _, under = tl.associative_scan((diagonal + 1.0, diagonal, one, one), 0, _compose)
    ahead = tl.where(t + 1 < T, 1.0, 0.0)
    factor = 1.0 / (over / under + ahead)
    right, _ = tl.associative_scan((metric * value / drift * factor, factor), 0, _chain)
    right = tl.where(t < T, right, 0.0)
    back = tl.where(t + 1 < T, factor, 0.0)
    result, _ = tl.associative_scan((right, back), 0, _chain, reverse=True)
    tl.store(rho + places, result, mask=known)
