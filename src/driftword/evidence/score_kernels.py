"""Numba loops of the significance test: arrays in, arrays out.

Vectors have one number more than the model has dimensions, and are then padded with zeros to whole vectors of
`matmul_kernels`. The additional number is 1 in contexts and the intercept in embeddings, so that their product is the
log odds of the word. Contexts relative to their documents have the first dimensions only. Every word's result is the
same whatever words are computed beside it.
"""

from __future__ import annotations

import numpy as np
from numba import float32, njit, uint64

from driftword.corpus.token_kernels import mix
from driftword.engines.cpu.block_kernels import sigmoid
from driftword.engines.cpu.matmul_kernels import TILE, add_product

_FAST = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}, "cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_FAST)
def sort_by_word(ids, begin, order):
    """Write the positions of every word, in their order: those of word v from ``begin[v]`` on."""
    filled = begin.copy()
    for i in range(len(ids)):
        order[filled[ids[i]]] = i
        filled[ids[i]] += 1


@njit(**_FAST)
def sum_documents(ids, begin, end, low, high, alpha, sums):
    """Sum the context vectors of the words of documents low..high-1."""
    for d in range(low, high):
        sums[d] = float32(0.0)
        for i in range(begin[d], end[d]):
            word = ids[i]
            for k in range(sums.shape[1]):
                sums[d, k] += alpha[word, k]


@njit(**_FAST, inline="always")
def _context(ids, i, begin, end, half_window, alpha, context):
    """Sum the context vectors around position i of a chunk; return how many there are."""
    size = 0
    context[:] = float32(0.0)
    for j in range(max(begin, i - half_window), min(end, i + half_window + 1)):
        if j != i:
            size += 1
            for k in range(alpha.shape[1]):
                context[k] += alpha[ids[j], k]
    return size


@njit(**_FAST)
def contexts(ids, positions, chunk_of, offsets, alpha, half_window, out):
    """Write the contexts of positions."""
    for p in range(len(positions)):
        c = chunk_of[positions[p]]
        _context(ids, positions[p], offsets[c], offsets[c + 1], half_window, alpha, out[p])


@njit(**_FAST, inline="always")
def _relative(context, size, word, document_sum, document_size, alpha, mean, weight, relative):
    """Subtract from a context what the rest of its document would lead one to expect.

    That is the mean context vector of the rest, towards `mean` as if that had been seen `weight` times more.
    """
    share = float32(size) / float32(max(document_size - size - 1, 0) + weight)
    for k in range(len(mean)):
        rest = document_sum[k] - context[k] - alpha[word, k] + weight * mean[k]
        relative[k] = context[k] - share * rest


@njit(**_FAST)
def background(
    ids, positions, rows, low, high, chunk_of, offsets, document_of, sums, sizes, alpha, mean, weight, half_window,
    contexts, relative,
):  # fmt: skip
    """Write the contexts of positions low..high-1, as columns, and relative to their documents, as rows."""
    dim = alpha.shape[1]
    context = np.zeros(dim, dtype=np.float32)
    for p in range(low, high):
        i, row = positions[p], rows[p]
        c = chunk_of[i]
        d = document_of[c]
        size = _context(ids, i, offsets[c], offsets[c + 1], half_window, alpha, context)
        _relative(context, size, ids[i], sums[d], sizes[d], alpha, mean, weight, relative[row])
        relative[row, len(mean)] = float32(1.0)
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
def document_scores(
    word, begin, end, order, ids, chunk_of, offsets, document_of, sums, sizes, alpha, rho, mean, weight, half_window,
    document, scores, weights,
):  # fmt: skip
    """Sum what is surprising about the contexts of a word, document by document; return how many there are."""
    dim = alpha.shape[1]
    context, relative = np.zeros(dim, dtype=np.float32), np.zeros(len(mean), dtype=np.float32)
    n = 0
    for o in range(begin, end):
        i = order[o]
        c = chunk_of[i]
        d = document_of[c]
        if n == 0 or document[n - 1] != d:
            document[n] = d
            weights[n] = float32(0.0)
            scores[n, :] = float32(0.0)
            n += 1
        size = _context(ids, i, offsets[c], offsets[c + 1], half_window, alpha, context)
        _relative(context, size, word, sums[d], sizes[d], alpha, mean, weight, relative)
        eta = rho[dim]
        for k in range(dim):
            eta += rho[k] * context[k]
        surprise = float32(1.0) - sigmoid(eta)
        weights[n - 1] += surprise
        for k in range(len(mean)):
            scores[n - 1, k] += surprise * relative[k]
    return n


@njit(**_FAST)
def orthonormal(columns, least, kept):
    """Make centred columns, the rows of (n, D), orthonormal in place; note which ones are kept; return how many.

    A column of which no more than the share `least` is new is dropped (Gram and Schmidt).
    """
    n = 0
    for k in range(len(columns)):
        length = np.sqrt((columns[k] * columns[k]).sum())
        for _ in range(2):  # the second time removes what rounding has left
            for other in range(n):
                product = (columns[other] * columns[k]).sum()
                for d in range(columns.shape[1]):
                    columns[k, d] -= columns[other, d] * product
        rest = np.sqrt((columns[k] * columns[k]).sum())
        if rest > least * max(length, 1e-12) and length > 1e-9:
            for d in range(columns.shape[1]):
                columns[n, d] = columns[k, d] / rest
            kept[n] = k
            n += 1
    return n


@njit(**_FAST)
def rotated_lengths(sums, kept, cycle, turn, noise, signs, out):
    """Write the squared lengths of sums over time, of one wave, for some rotations of some cycles, (rotations,).

    `sums` holds those of all rotations, (dim, cycles, length), to which `kept`, (dim, cycles), comes from documents
    that keep their dates; noise, (blocks, dim), is added with random signs, (blocks, rotations).
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
        for i in range(begin[s + 1] - 1, begin[s], -1):  # Fisher and Yates
            random = mix(uint64(key) ^ counter) >> uint64(32)
            counter += uint64(1)
            j = begin[s] + np.int64((random * uint64(i + 1 - begin[s])) >> uint64(32))
            label[i], label[j] = label[j], label[i]
    return counter


@njit(**_FAST)
def permuted_lengths(scores, waves, begin, members, key, noise, signs, exchanged, sums, out):
    """Exchange dates many times; write the squared lengths of the sums over time, (waves, permutations).

    Noise is added as in `rotated_lengths`. `scores`, (D, width), and `noise`, (waves, blocks, width), are padded to
    whole vectors, `signs`, (permutations, blocks), to whole tiles; `exchanged`, (D, TILE * waves), and `sums`,
    (TILE * waves, width), are room for a tile of permutations, one after the other.
    """
    n, n_waves = waves.shape
    width, permutations = scores.shape[1], out.shape[1]
    label = np.empty(n, dtype=np.int64)
    counter = uint64(0)
    for first in range(0, permutations, TILE):
        count = min(TILE, permutations - first)
        for p in range(count):
            counter = exchange(begin, members, key, counter, label)
            for i in range(n):
                here, there = exchanged[members[i]], waves[label[i]]
                for q in range(n_waves):
                    here[p * n_waves + q] = there[q]
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
def change_evidence(sums, weights, noise, sizes, out):
    """Write the log evidence of a change after each slice but the last, for every size of changes, (sizes, T - 1).

    `sums` are those of the scores of every slice, (T, K), with their weights, (T,); `noise` is the variance of scores
    in each direction, (K,).
    """
    n, dim = sums.shape
    before, total = np.zeros(dim), np.zeros(dim)
    all_weights, weight = 0.0, 0.0
    for t in range(n):
        all_weights += weights[t]
        for k in range(dim):
            total[k] += sums[t, k]
    for t in range(n - 1):
        weight += weights[t]
        after = all_weights - weight
        share = weight * after / all_weights
        for k in range(dim):
            before[k] += sums[t, k]
        for g in range(len(sizes)):
            value = 0.0
            for k in range(dim):
                difference = (total[k] - before[k]) / after - before[k] / weight
                signal = sizes[g] * share * noise[k]
                value += signal / (1.0 + signal) * share * difference * difference / noise[k] - np.log1p(signal)
            out[g, t] = value / 2
