"""Numba loops of the significance test: arrays in, arrays out.

Contexts and embeddings have one number more than the model has dimensions, 1 in contexts and the intercept in
embeddings, so that their product is the log odds of the word; they are then padded with zeros to whole SIMD vectors
(see `matmul_kernels`). Contexts relative to their documents have the first dimensions only. The result of a word does
not depend on the words computed beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from driftword.basics.jit import float32, njit, uint64
from driftword.corpus.token_kernels import mix
from driftword.engines.cpu.block_kernels import sigmoid
from driftword.engines.cpu.matmul_kernels import TILE, add_product

_FAST = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}, "cache": True, "nogil": True, "error_model": "numpy"}
Array = npt.NDArray[Any]


class Text(NamedTuple):
    """Tokens, and the chunks and documents they belong to."""

    ids: Array  # (tokens,)
    chunk_of: Array  # (tokens,)
    offsets: Array  # (chunks + 1,)
    document_of: Array  # (chunks,)


class ContextModel(NamedTuple):
    """How contexts are measured, and what the documents they stand in would lead one to expect."""

    alpha: Array  # (V, dim) context vectors
    half_window: int
    sums: Array  # (documents, K) of the context vectors of their words
    sizes: Array  # (documents,) in words
    mean: Array  # (K,) context vector of a word of the text
    prior: np.float32  # words of every document that this mean counts for


@njit(**_FAST)
def repeat_numbers(offsets, out):
    """Write the number of its range to every position: i from ``offsets[i]`` to ``offsets[i + 1]``."""
    for i in range(len(offsets) - 1):
        for j in range(offsets[i], offsets[i + 1]):
            out[j] = i


@njit(**_FAST)
def sum_documents(ids, offsets, low, high, alpha, sums):
    """Sum the context vectors of the words of documents low..high-1."""
    for d in range(low, high):
        sums[d] = float32(0.0)
        for i in range(offsets[d], offsets[d + 1]):
            word = ids[i]
            for k in range(sums.shape[1]):
                sums[d, k] += alpha[word, k]


@njit(**_FAST, inline="always")
def _context(text, i, alpha, half_window, context):
    """Sum the context vectors around position i; return how many there are."""
    chunk = text.chunk_of[i]
    begin, end = text.offsets[chunk], text.offsets[chunk + 1]
    size = 0
    context[:] = float32(0.0)
    for j in range(max(begin, i - half_window), min(end, i + half_window + 1)):
        if j != i:
            size += 1
            for k in range(alpha.shape[1]):
                context[k] += alpha[text.ids[j], k]
    return size


@njit(**_FAST)
def contexts(text, positions, alpha, half_window, out):
    """Write the contexts of positions."""
    for p in range(len(positions)):
        _context(text, positions[p], alpha, half_window, out[p])


@njit(**_FAST, inline="always")
def _relative(context, size, word, document, model, relative):
    """Subtract from a context what the rest of its document would lead one to expect.

    This is the mean context vector of the rest, drawn towards that of all text as if it had been seen `prior` times.
    """
    share = float32(size) / float32(max(model.sizes[document] - size - 1, 0) + model.prior)
    for k in range(len(model.mean)):
        rest = model.sums[document, k] - context[k] - model.alpha[word, k] + model.prior * model.mean[k]
        relative[k] = context[k] - share * rest


@njit(**_FAST)
def background(text, model, positions, rows, low, high, contexts, relative):
    """Write the contexts of positions low..high-1, as columns, and relative to their documents, as rows."""
    dim = model.alpha.shape[1]
    context = np.zeros(dim, dtype=np.float32)
    for p in range(low, high):
        i, row = positions[p], rows[p]
        d = text.document_of[text.chunk_of[i]]
        size = _context(text, i, model.alpha, model.half_window, context)
        _relative(context, size, text.ids[i], d, model, relative[row])
        relative[row, len(model.mean)] = float32(1.0)
        for k in range(dim):
            contexts[k, row] = context[k]
        contexts[dim, row] = float32(1.0)


@njit(**_FAST)
def expected(rho, contexts, relative, group_begin, group_end, chance, out):
    """Sum the contexts of each group of positions, weighted by how likely each word is there.

    `rho` has a multiple of TILE rows; `chance` is room for as many rows, and some positions. Groups begin and end at
    multiples of LANES.
    """
    rows, width = rho.shape
    room = chance.shape[1]
    for g in range(len(group_begin)):
        for first in range(group_begin[g], group_end[g], room):
            n = min(room, group_end[g] - first)
            for v in range(rows):
                for j in range(n):
                    chance[v, j] = float32(0.0)
            add_product(rho, contexts[:, first:], rows, n, width, chance)
            for v in range(rows):
                for j in range(n):
                    chance[v, j] = sigmoid(chance[v, j])
            add_product(chance, relative[first:], rows, relative.shape[1], n, out[g])


@njit(**_FAST)
def document_scores(text, model, positions, rho):
    """Sum what is surprising about the contexts of a word at its positions, document by document.

    Return the documents, (D,), the sums, (D, K), and those of the surprises, (D,).
    """
    dim, size_of_sum = model.alpha.shape[1], len(model.mean)
    context, relative = np.zeros(dim, dtype=np.float32), np.zeros(size_of_sum, dtype=np.float32)
    document = np.empty(len(positions), dtype=np.int64)
    sums = np.empty((len(positions), size_of_sum), dtype=np.float32)
    surprises = np.empty(len(positions), dtype=np.float32)
    n = 0
    for p in range(len(positions)):
        i = positions[p]
        d = text.document_of[text.chunk_of[i]]
        if n == 0 or document[n - 1] != d:
            document[n] = d
            surprises[n] = float32(0.0)
            sums[n, :] = float32(0.0)
            n += 1
        size = _context(text, i, model.alpha, model.half_window, context)
        _relative(context, size, text.ids[i], d, model, relative)
        eta = rho[dim]
        for k in range(dim):
            eta += rho[k] * context[k]
        surprise = float32(1.0) - sigmoid(eta)
        surprises[n - 1] += surprise
        for k in range(size_of_sum):
            sums[n - 1, k] += surprise * relative[k]
    return document[:n], sums[:n], surprises[:n]


@njit(**_FAST)
def orthonormal(waves, least, kept):
    """Make centred waves, the rows of (n, D), orthonormal in place; note which ones are kept; return how many.

    A row of which no more than the share `least` is new is dropped (Gram-Schmidt).
    """
    n = 0
    for k in range(len(waves)):
        length = np.sqrt((waves[k] * waves[k]).sum())
        for _ in range(2):  # the second time removes what rounding has left
            for other in range(n):
                product = (waves[other] * waves[k]).sum()
                for d in range(waves.shape[1]):
                    waves[k, d] -= waves[other, d] * product
        rest = np.sqrt((waves[k] * waves[k]).sum())
        if rest > least * max(length, 1e-12) and length > 1e-9:
            for d in range(waves.shape[1]):
                waves[n, d] = waves[k, d] / rest
            kept[n] = k
            n += 1
    return n


@njit(**_FAST)
def rotated_lengths(sums, kept, cycle, turn, noise, signs, out):
    """Write the squared lengths of one wave's sums over time, for some rotations of some cycles, (rotations,).

    `sums` holds those of all rotations, (dim, cycles, length); `kept`, (dim, cycles), is the part of documents that
    keep their dates; noise, (blocks, dim), is added with random signs, (blocks, rotations).
    """
    n = len(out)
    row = np.zeros(n, dtype=np.float32)
    for j in range(n):
        out[j] = float32(0.0)
    for k in range(len(sums)):
        for j in range(n):
            row[j] = sums[k, cycle[j], turn[j]] + kept[k, cycle[j]]
        for b in range(signs.shape[0]):
            size = noise[b, k]
            for j in range(n):
                row[j] += signs[b, j] * size
        for j in range(n):
            out[j] += row[j] * row[j]


@njit(**_FAST)
def exchange(begin, members, key, counter, label):
    """Exchange dates within strata: ``members[i]`` gets that of document ``label[i]``; return the next counter.

    Stratum s holds documents ``members[begin[s]:begin[s + 1]]``.
    """
    for i in range(len(members)):  # Numba takes seconds to compile a copy of the whole array
        label[i] = members[i]
    for s in range(len(begin) - 1):
        for i in range(begin[s + 1] - 1, begin[s], -1):  # Fisher-Yates
            random = mix(uint64(key) ^ counter) >> uint64(32)
            counter += uint64(1)
            j = begin[s] + np.int64((random * uint64(i + 1 - begin[s])) >> uint64(32))
            label[i], label[j] = label[j], label[i]
    return counter


@njit(**_FAST)
def permuted_lengths(scores, waves, begin, members, key, noise, signs, out, spreads):
    """Exchange dates many times; write the squared lengths of sums over time, and of all that is summed.

    Both are (waves, permutations). Noise is added as in `rotated_lengths`. `scores`, (D, width), and `noise`, (waves,
    blocks, width), are padded to whole SIMD vectors, `signs`, (permutations, blocks), to whole tiles of permutations.
    """
    n, n_waves = waves.shape
    width, permutations = scores.shape[1], out.shape[1]
    exchanged = np.zeros((n, TILE * n_waves), dtype=np.float32)  # of a tile, one permutation after the other
    sums = np.empty((TILE * n_waves, width), dtype=np.float32)
    label = np.empty(n, dtype=np.int64)
    squares = np.zeros(n, dtype=np.float32)
    for i in range(n):
        for k in range(width):
            squares[i] += scores[i, k] * scores[i, k]
    counter = uint64(0)
    for first in range(0, permutations, TILE):
        count = min(TILE, permutations - first)
        for p in range(count):
            counter = exchange(begin, members, key, counter, label)
            for q in range(n_waves):
                spreads[q, first + p] = float32(0.0)
            for i in range(n):
                here, there = exchanged[members[i]], waves[label[i]]
                for q in range(n_waves):
                    here[p * n_waves + q] = there[q]
                    spreads[q, first + p] += there[q] * there[q] * squares[members[i]]
        for i in range(len(sums)):
            for k in range(width):
                sums[i, k] = float32(0.0)
        add_product(exchanged.T, scores, len(sums), width, n, sums)
        for q in range(n_waves):
            add_product(signs[first:], noise[q], TILE, width, noise.shape[1], sums[q::n_waves])
            for p in range(count):
                row = sums[p * n_waves + q]
                length = float32(0.0)
                for k in range(width):
                    length += row[k] * row[k]
                out[q, first + p] = length


@njit(**_FAST)
def permuted_residuals(scores, waves, constant, begin, members, key, noise, signs, out, spreads):
    """Exchange residuals many times; write the squared lengths of sums along waves, and of all that is summed.

    Both are (waves, permutations); the latter are of what is left when `constant` courses, (D, c), are taken away
    again; these and the waves are orthonormal. Noise, (waves, blocks, dim), is added with random signs, (blocks,
    permutations).
    """
    n, dim = scores.shape
    n_waves, n_constant = waves.shape[1], constant.shape[1]
    sums, means = np.empty((n_waves, dim), dtype=np.float32), np.empty((n_constant, dim), dtype=np.float32)
    label, counter = np.empty(n, dtype=np.int64), uint64(0)
    for p in range(out.shape[1]):
        counter = exchange(begin, members, key, counter, label)
        for k in range(dim):
            for c in range(n_constant):
                means[c, k] = float32(0.0)
            for q in range(n_waves):
                sums[q, k] = float32(0.0)
                for j in range(len(signs)):
                    sums[q, k] += signs[j, p] * noise[q, j, k]
        for i in range(n):
            row = scores[members[i]]
            for q in range(n_waves):
                size = waves[label[i], q]
                for k in range(dim):
                    sums[q, k] += size * row[k]
            for c in range(n_constant):
                size = constant[label[i], c]
                for k in range(dim):
                    means[c, k] += size * row[k]
        for q in range(n_waves):
            length = float32(0.0)
            for k in range(dim):
                length += sums[q, k] * sums[q, k]
            out[q, p], spreads[q, p] = length, float32(0.0)
        for i in range(n):
            row, square = scores[members[i]], float32(0.0)
            for k in range(dim):
                rest = row[k]
                for c in range(n_constant):
                    rest -= constant[label[i], c] * means[c, k]
                square += rest * rest
            for q in range(n_waves):
                spreads[q, p] += waves[label[i], q] * waves[label[i], q] * square


@njit(**_FAST)
def permuted_splits(scores, squares, place, squared_steps, factors, begin, members, key, noise, signs, out, spreads):
    """Exchange dates many times; write the squared lengths of sums since each border, and of all that is summed.

    Both are (borders, permutations). A document belongs to the sums of as many borders as its date has as `place`.
    `squared_steps`, (D, borders), are those that dates have; `factors`, (borders,), scale the sums. Noise, (borders,
    blocks, dim), is added with random signs, (blocks, permutations).
    """
    n, dim = scores.shape
    borders = len(factors)
    sums = np.empty((borders + 1, dim), dtype=np.float32)
    since, row = np.empty((2, dim), dtype=np.float32)
    spread = np.empty(borders, dtype=np.float32)
    label = np.empty(n, dtype=np.int64)
    counter = uint64(0)
    for p in range(out.shape[1]):
        counter = exchange(begin, members, key, counter, label)
        for b in range(borders + 1):
            for k in range(dim):
                sums[b, k] = float32(0.0)
        for b in range(borders):
            spread[b] = float32(0.0)
        for i in range(n):
            here, scored, step = sums[place[label[i]]], scores[members[i]], squared_steps[label[i]]
            for k in range(dim):
                here[k] += scored[k]
            for b in range(borders):
                spread[b] += step[b] * squares[members[i]]
        for k in range(dim):
            since[k] = float32(0.0)
        for b in range(borders - 1, -1, -1):
            for k in range(dim):
                since[k] += sums[b + 1, k]
                row[k] = factors[b] * since[k]
            for j in range(len(signs)):
                for k in range(dim):
                    row[k] += signs[j, p] * noise[b, j, k]
            length = float32(0.0)
            for k in range(dim):
                length += row[k] * row[k]
            out[b, p], spreads[b, p] = length, spread[b]


@njit(**_FAST)
def add_rows(rows, factors, place, out):
    """Add each row, times its factor, to the row of `out` that is its place."""
    for i in range(len(rows)):
        for k in range(rows.shape[1]):
            out[place[i], k] += factors[i] * rows[i, k]


@njit(**_FAST)
def change_evidence(projections, norms, noise, sizes, out):
    """Write the log evidence for changes along some curves over time, for every size of change, (sizes, curves).

    `norms`, (curves,), are the sums of the squares of the curves, which are centred; `projections`, (curves, K), those
    of their products with the scores; `noise`, (K,), is the variance of the scores in each direction.
    """
    for c in range(len(norms)):
        for g in range(len(sizes)):
            value, product = 0.0, 1.0
            for k in range(len(noise)):
                signal = sizes[g] * norms[c] * noise[k]
                value += signal / (1.0 + signal) * projections[c, k] * projections[c, k] / (norms[c] * noise[k])
                product *= 1.0 + signal
                if product > 1e200:  # one logarithm of many factors
                    value -= np.log(product)
                    product = 1.0
            out[g, c] = (value - np.log(product)) / 2
