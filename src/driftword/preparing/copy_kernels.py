"""Numba loops that find copies of documents: arrays in, arrays out."""

from __future__ import annotations

from driftword.basics.jit import njit, uint32, uint64
from driftword.corpus.token_kernels import mix


@njit(cache=True, nogil=True)
def sketch(tokens, begin, end, length, out):
    """Write for each document the smallest hash, in every bin, of its runs of so many tokens; bins are of the hashes.

    `out` is (documents, bins), and holds the largest number where a bin is empty.
    """
    bins = uint64(out.shape[1])
    for d in range(len(begin)):
        for i in range(begin[d], end[d] - length + 1):
            hashed = uint64(0)
            for j in range(i, i + length):
                hashed = mix(hashed ^ uint64(tokens[j]))
            place = ((hashed >> uint64(32)) * bins) >> uint64(32)
            value = uint32(hashed & uint64(0xFFFFFFFF))
            if value < out[d, place]:
                out[d, place] = value


@njit(cache=True, nogil=True)
def band_keys(sketches, first, rows, out):
    """Write a hash of some columns of every sketch; 0 where all of them are empty."""
    for d in range(len(sketches)):
        hashed, empty = uint64(1), True
        for k in range(first, first + rows):
            empty = empty and sketches[d, k] == uint32(0xFFFFFFFF)
            hashed = mix(hashed ^ uint64(sketches[d, k]))
        out[d] = uint64(0) if empty else hashed


@njit(cache=True, nogil=True)
def link(order, keys, sketches, least, first_of):
    """Join documents with the same key to the first of them whose sketch is alike; `first_of` is a forest."""
    for i in range(1, len(order)):
        one, other = order[i - 1], order[i]
        if keys[one] != keys[other] or keys[other] == uint64(0):
            continue
        for candidate in (_root(first_of, one), one):
            if _root(first_of, candidate) != _root(first_of, other) and _alike(sketches, candidate, other, least):
                a, b = _root(first_of, candidate), _root(first_of, other)
                first_of[max(a, b)] = min(a, b)


@njit(cache=True, nogil=True)
def _root(first_of, i):
    """Return the first document of those that are joined."""
    while first_of[i] != i:
        first_of[i] = first_of[first_of[i]]
        i = first_of[i]
    return i


@njit(cache=True, nogil=True)
def _alike(sketches, a, b, least):
    """Tell whether two sketches agree in this share of the bins that either of them fills."""
    same, filled = 0, 0
    for k in range(sketches.shape[1]):
        if sketches[a, k] != uint32(0xFFFFFFFF) or sketches[b, k] != uint32(0xFFFFFFFF):
            filled += 1
            same += sketches[a, k] == sketches[b, k]
    return same >= least * filled
