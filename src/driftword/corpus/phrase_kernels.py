"""Numba loops over streams of word ids: counting pairs and joining them.

A *pair* is two content words with nothing, one connector or two connectors
between them. It is one number, ``(first * n_ids + second) * n_gaps + gap``.
Hash tables are open-addressed arrays whose size is a power of two; -1 marks an
empty slot.
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

from driftword.randomness import GOLDEN_GAMMA

EMPTY = -1
#: The role of a word: a connector has its number.
NEITHER, CONTENT = -1, -2


@njit(cache=True, inline="always")
def _slot(key, mask):
    x = uint64(key) * uint64(GOLDEN_GAMMA)
    return np.int64((x ^ (x >> uint64(32))) & uint64(mask))


@njit(cache=True)
def _pair_at(ids, i, end, role, n_connectors):
    """Return the pair that starts at position i and the position of its second word; -1 for none."""
    first = ids[i]
    if role[first] != CONTENT:
        return np.int64(EMPTY), i
    gap = np.int64(0)
    j = i + 1
    while j < end and j <= i + 2 and role[ids[j]] >= 0:
        gap = 1 + role[ids[j]] + (0 if gap == 0 else gap * n_connectors)
        j += 1
    if j >= end:
        return np.int64(EMPTY), i
    second = ids[j]
    if role[second] != CONTENT:
        return np.int64(EMPTY), i
    n_gaps = 1 + n_connectors + n_connectors * n_connectors
    return (np.int64(first) * len(role) + np.int64(second)) * n_gaps + gap, j


@njit(cache=True, nogil=True)
def find_pairs(ids, ends, first, last, role, n_connectors, mask, pairs, slots):
    """Write the pair that begins at each position of documents first..last-1, and its slot in a sketch; -1 for none."""
    begin = ends[first - 1] if first else 0
    for d in range(first, last):
        for i in range(begin, ends[d]):
            pair, _ = _pair_at(ids, i, ends[d], role, n_connectors)
            pairs[i] = pair
            slots[i] = EMPTY if pair == EMPTY else _slot(pair, mask)
        begin = ends[d]


@njit(cache=True, nogil=True)
def sketch_pairs(slots, low, high, sketch):
    """Count the pairs of slots low..high-1 by their slots alone: an upper bound of each one's count in fixed memory."""
    for i in range(len(slots)):
        if low <= slots[i] < high:
            sketch[slots[i]] += 1


@njit(cache=True, nogil=True)
def count_pairs(pairs, slots, begin, low, high, sketch, floor, keys, counts, filled):
    """Count exactly the pairs of slots low..high-1 whose bound reaches `floor`, from position `begin` on.

    Return where it stopped: at the end, or where the table is half full; `filled[0]` is how many slots of it are.
    """
    mask = keys.shape[0] - 1
    for i in range(begin, len(pairs)):
        if not (low <= slots[i] < high) or sketch[slots[i]] < floor:
            continue
        pair = pairs[i]
        slot = _slot(pair, mask)
        while keys[slot] != pair and keys[slot] != EMPTY:
            slot = (slot + 1) & mask
        if keys[slot] == EMPTY:
            if 2 * (filled[0] + 1) > len(keys):
                return i
            keys[slot] = pair
            filled[0] += 1
        counts[slot] += 1
    return len(pairs)


@njit(cache=True, nogil=True)
def insert(new_keys, new_values, keys, values):
    """Put keys with their values into a table that has room for them."""
    mask = keys.shape[0] - 1
    for k in range(new_keys.shape[0]):
        slot = _slot(new_keys[k], mask)
        while keys[slot] != EMPTY:
            slot = (slot + 1) & mask
        keys[slot] = new_keys[k]
        values[slot] = new_values[k]


@njit(cache=True)
def _find(key, keys, values):
    """Return the value of a key; -1 where it is not in the table, or no key at all."""
    mask = keys.shape[0] - 1
    slot = _slot(key, mask)
    while key != EMPTY and keys[slot] != EMPTY:
        if keys[slot] == key:
            return values[slot]
        slot = (slot + 1) & mask
    return np.int64(EMPTY)


@njit(cache=True, nogil=True)
def join_pairs(ids, ends, role, n_connectors, keys, which, phrase, score, out, out_ends):
    """Replace pairs by their phrase from left to right; return how many ids were written.

    Where two pairs share a word, the first gives way if the second scores higher.
    """
    written = 0
    begin = 0
    for d in range(ends.shape[0]):
        end = ends[d]
        i = begin
        while i < end:
            key, j = _pair_at(ids, i, end, role, n_connectors)
            here = _find(key, keys, which)
            if here != EMPTY:
                rival, _ = _pair_at(ids, j, end, role, n_connectors)
                after = _find(rival, keys, which)
                if after != EMPTY and score[after] > score[here]:
                    here = np.int64(EMPTY)
            if here == EMPTY:
                out[written] = ids[i]
                i += 1
            else:
                out[written] = phrase[here]
                i = j + 1
            written += 1
        out_ends[d] = written
        begin = end
    return written
