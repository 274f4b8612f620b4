"""Numba loops of the CPU engine: arrays in, arrays out.

Work arrays are padded with zeros to the whole tiles and vectors of `product_kernels`.
No flag promises the absence of NaN: a diverging fit must stay visible.
"""

from __future__ import annotations

import numpy as np
from numba import float32, int32, njit, uint32, uint64

from driftword.engines.matmul_kernels import LANES, TILE, add_product

_FAST = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}, "cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_FAST, inline="always")
def _padded(count, unit):
    return (count + unit - 1) // unit * unit


@njit(**_FAST, inline="always")
def _mix(x):
    x = x + uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return x ^ (x >> uint64(31))


@njit(**_FAST, inline="always")
def _draw(key, counter, threshold, other):
    random = _mix(uint64(key) ^ uint64(counter))
    place = ((random >> uint64(32)) * uint64(len(other))) >> uint64(32)
    if uint32(random & uint64(0xFFFFFFFF)) <= threshold[place]:
        return int32(place)
    return other[place]


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
def _adagrad(rows, gradients, count, values, squares, rate):
    """Add all squares first, then move every row: the order of rows does not matter."""
    width = values.shape[1]
    for r in range(count):
        row = rows[r]
        for k in range(width):
            squares[row, k] += gradients[r, k] * gradients[r, k]
    for r in range(count):
        row = rows[r]
        for k in range(width):
            values[row, k] += rate * gradients[r, k] / np.sqrt(squares[row, k])


@njit(**_FAST)
def _window_sums(rows, low, high, sums, reach, start, stop, out):
    """Sum rows over the window of each place start..stop-1, its own row left out.

    Row 0 of `rows` belongs to place `low`, the last one to ``high - 1``. Sums of the first
    rows make every window a difference of two.
    """
    width = rows.shape[1]
    total = sums[-1]  # apart from the row it is copied to, so that the loop can be vectorised
    for k in range(width):
        total[k] = sums[0, k] = float32(0.0)
    for j in range(high - low):
        for k in range(width):
            total[k] += rows[j, k]
        for k in range(width):
            sums[j + 1, k] = total[k]
    for i in range(start, stop):
        before = sums[max(low, i - reach) - low]
        behind = sums[min(high, i + reach + 1) - low]
        if low <= i < high:
            own = rows[i - low]
            for k in range(width):
                out[i - start, k] = behind[k] - before[k] - own[k]
        else:
            for k in range(width):
                out[i - start, k] = behind[k] - before[k]


@njit(**_FAST)
def climb(
    ids,
    begin,
    end,
    low,
    high,
    first,
    slice_of,
    number,
    mine,
    key,
    threshold,
    other,
    rho,
    rho_squares,
    alpha,
    alpha_squares,
    moved,
    size,
    longest,
    pool,
    weight,
    reach,
    rate,
):
    """Move along the gradients of the blocks in `mine`, one after the other; return the text's log-likelihood."""
    dim = alpha.shape[1]
    width = _padded(dim, LANES)
    rows = _padded(_padded(size, LANES), TILE)
    columns = _padded(pool, TILE)
    context = np.zeros((rows, width), dtype=np.float32)
    turned = np.zeros((dim, rows), dtype=np.float32)  # the same, transposed
    context_gradient = np.zeros((rows, width), dtype=np.float32)
    vectors = np.zeros((columns, width), dtype=np.float32)  # the negatives
    gradients = np.zeros((rows + columns, width), dtype=np.float32)  # of words of the text, then of negatives
    touched = np.zeros(rows + columns, dtype=np.int32)
    loss = np.zeros((columns, rows), dtype=np.float32)
    around = np.zeros((longest, width), dtype=np.float32)  # context vectors, later their gradients
    around_words = np.zeros(longest, dtype=np.int32)
    sums = np.zeros((longest + 2, width), dtype=np.float32)
    total = 0.0
    for b in mine:
        t = slice_of[b]
        values = rho[t]
        count = 0
        for r in range(first[b], first[b + 1]):
            here = end[r] - begin[r]
            left = max(low[r], begin[r] - reach) - begin[r]
            right = min(high[r], end[r] + reach) - begin[r]
            for j in range(left, right):
                word = ids[begin[r] + j]
                for k in range(dim):
                    around[j - left, k] = alpha[word, k]
            _window_sums(around, left, right, sums, reach, 0, here, context[count:])
            for i in range(here):
                touched[count + i] = ids[begin[r] + i]
            count += here
        for m in range(pool):
            word = _draw(key, uint64(number[b]) * uint64(pool) + uint64(m), threshold, other)
            touched[count + m] = word
            for k in range(dim):
                vectors[m, k] = values[word, k]
        for i in range(count):
            word = touched[i]
            eta = float32(0.0)
            for k in range(dim):
                eta += values[word, k] * context[i, k]
            gain = float32(1.0) - _sigmoid(eta)
            total += np.log(max(float32(1.0) - gain, float32(1e-30)))
            for k in range(dim):
                gradients[i, k] = gain * context[i, k]
                context_gradient[i, k] = gain * values[word, k]
        for i in range(count):
            for k in range(dim):
                turned[k, i] = context[i, k]
        for i in range(count, _padded(count, TILE)):  # rows that only fill the last tile
            for k in range(width):
                context_gradient[i, k] = float32(0.0)
        for m in range(columns):
            for i in range(rows):
                loss[m, i] = float32(0.0)
        add_product(vectors, turned, columns, _padded(count, LANES), dim, loss)
        for m in range(pool):
            for i in range(count):
                loss[m, i] = -weight * _sigmoid(loss[m, i])
        add_product(loss.T, vectors, _padded(count, TILE), width, pool, context_gradient)
        for m in range(count, count + columns):
            for k in range(width):
                gradients[m, k] = float32(0.0)
        add_product(loss, context, columns, width, count, gradients[count:])
        _adagrad(touched, gradients, count + pool, values, rho_squares[t], rate)

        start = 0
        used = 0
        for r in range(first[b], first[b + 1]):
            here = end[r] - begin[r]
            left = max(low[r], begin[r] - reach) - begin[r]
            right = min(high[r], end[r] + reach) - begin[r]
            # The gradient of a context vector sums over the positions whose context it is in: the same windows.
            _window_sums(context_gradient[start:], 0, here, sums, reach, left, right, around[used:])
            for j in range(left, right):
                around_words[used + j - left] = ids[begin[r] + j]
            used += right - left
            start += here
        _adagrad(around_words, around, used, alpha, alpha_squares, rate)
        if len(moved):  # one of several copies
            for j in range(used):
                moved[around_words[j]] = 1
            if len(rho) == 1:
                for i in range(count + pool):
                    moved[touched[i]] = 1
    return total


@njit(**_FAST)
def shrink(values, squares, rate, prior):
    """Proximal step of independent Gaussian priors, on rows of any array of two dimensions."""
    for v in range(values.shape[0]):
        for k in range(values.shape[1]):
            metric = np.sqrt(squares[v, k]) / rate
            values[v, k] *= metric / (metric + prior)


@njit(**_FAST)
def smooth(rho, squares, low, high, rate, drift, anchor):
    """Proximal step of the random walk for words low..high-1: a tridiagonal system over time (Thomas)."""
    slices, _, dim = rho.shape
    upper = np.zeros((slices, dim), dtype=np.float32)
    right = np.zeros((slices, dim), dtype=np.float32)
    before = np.zeros(dim, dtype=np.float32)  # what the slices before add to the diagonal
    inverse_rate = float32(1.0) / rate
    for v in range(low, high):
        for k in range(dim):
            metric = np.sqrt(squares[0, v, k]) * inverse_rate
            own = metric + anchor
            pivot = float32(1.0) / (own + (drift if slices > 1 else float32(0.0)))
            upper[0, k] = drift * pivot
            right[0, k] = metric * rho[0, v, k] * pivot
            before[k] = drift * own * pivot  # drift (1 - upper), without the loss of digits
        for t in range(1, slices):
            ahead = drift if t + 1 < slices else float32(0.0)
            for k in range(dim):
                metric = np.sqrt(squares[t, v, k]) * inverse_rate
                own = metric + anchor + before[k]
                pivot = float32(1.0) / (own + ahead)
                upper[t, k] = drift * pivot
                right[t, k] = (metric * rho[t, v, k] + drift * right[t - 1, k]) * pivot
                before[k] = drift * own * pivot
        for k in range(dim):
            rho[slices - 1, v, k] = right[slices - 1, k]
        for t in range(slices - 2, -1, -1):
            for k in range(dim):
                rho[t, v, k] = right[t, k] + upper[t, k] * rho[t + 1, v, k]


@njit(**_FAST)
def score(
    ids, offsets, slice_of, position, low, high, key, threshold, other, rho, alpha, negatives, reach, positive, negative
):
    """Score the words of chunks low..high-1: log s(eta), and the summed log s(-eta) of their negatives."""
    dim = alpha.shape[1]
    context = np.zeros(dim, dtype=np.float32)
    for c in range(low, high):
        values = rho[slice_of[c] if len(rho) > 1 else 0]
        for i in range(offsets[c], offsets[c + 1]):
            context[:] = float32(0.0)
            for j in range(max(offsets[c], i - reach), min(offsets[c + 1], i + reach + 1)):
                if j != i:
                    for k in range(dim):
                        context[k] += alpha[ids[j], k]
            eta = float32(0.0)
            for k in range(dim):
                eta += values[ids[i], k] * context[k]
            positive[i] = _log_sigmoid(np.float64(eta))
            total = 0.0
            for n in range(negatives):
                word = _draw(key, uint64(position[i]) * uint64(negatives) + uint64(n), threshold, other)
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
def merge(whole, whole_squares, copies, squares, moved, low, high):
    """Add the movements of all copies to the whole, and set them to it, for words low..high-1 that moved.

    Each copy divided its gradients by the root of its own sums of squares; what it would have moved with the
    sums of all of them is smaller by the root of their ratio.
    """
    for v in range(low, high):
        anywhere = False
        for n in range(len(copies)):
            anywhere |= moved[n, v] != 0
        if not anywhere:
            continue
        for k in range(whole.shape[1]):
            total = whole_squares[v, k]
            for n in range(len(copies)):
                total += squares[n, v, k] - whole_squares[v, k]
            value = whole[v, k]
            for n in range(len(copies)):
                value += (copies[n, v, k] - whole[v, k]) * np.sqrt(squares[n, v, k] / total)
            whole[v, k] = value
            whole_squares[v, k] = total
        for n in range(len(copies)):
            for k in range(whole.shape[1]):
                copies[n, v, k] = whole[v, k]
                squares[n, v, k] = whole_squares[v, k]
