"""Numba loops over streams of word ids: counting pairs and joining them.

A *pair* is two content words with nothing, one connector or two connectors
between them. It is one number, ``(first * n_ids + second) * n_gaps + gap``.
Hash tables are open-addressed arrays whose size is a power of two; -1 marks an
empty slot. Batches, shapes, tables and joins are the tuples of `id_stream` and
`pairs`.
"""

from __future__ import annotations

import numpy as np

from driftword.basics.jit import njit, uint64
from driftword.basics.randomness import GOLDEN_GAMMA

EMPTY = -1
#: The role of a word: a connector has its number.
NEITHER, CONTENT = -1, -2


@njit(cache=True, inline="always")
def _slot(key, mask):
    x = uint64(key) * uint64(GOLDEN_GAMMA)
    return np.int64((x ^ (x >> uint64(32))) & uint64(mask))


@njit(cache=True)
def _pair_at(ids, i, end, shape):
    """Return the pair that starts at position i and the position of its second word; -1 for none."""
    role, n_connectors = shape.role, shape.n_connectors
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
def sketch_pairs(batch, shape, sketch):
    """Count pairs by hash alone: an upper bound of each pair's count in fixed memory."""
    mask = sketch.shape[0] - 1
    begin = 0
    for end in batch.ends:
        for i in range(begin, end):
            pair, _ = _pair_at(batch.ids, i, end, shape)
            if pair != EMPTY:
                sketch[_slot(pair, mask)] += 1
        begin = end


@njit(cache=True, nogil=True)
def count_pairs(batch, document, shape, sketch, floor, table):
    """Count exactly the pairs whose bound reaches `floor`, from a document on.

    Return the document before which it stopped, because it might fill the table to more than a half, or how many there
    are.
    """
    keys, counts, filled = table.keys, table.values, table.filled
    ids, ends = batch.ids, batch.ends
    sketch_mask = sketch.shape[0] - 1
    mask = keys.shape[0] - 1
    begin = ends[document - 1] if document else 0
    for d in range(document, len(ends)):
        if 2 * (filled[0] + ends[d] - begin) > len(keys):
            return d
        for i in range(begin, ends[d]):
            pair, _ = _pair_at(ids, i, ends[d], shape)
            if pair == EMPTY or sketch[_slot(pair, sketch_mask)] < floor:
                continue
            slot = _slot(pair, mask)
            while keys[slot] != pair and keys[slot] != EMPTY:
                slot = (slot + 1) & mask
            if keys[slot] == EMPTY:
                keys[slot] = pair
                filled[0] += 1
            counts[slot] += 1
        begin = ends[d]
    return len(ends)


@njit(cache=True, nogil=True)
def insert(new_keys, new_values, table):
    """Put keys with their values into a table that has room for them."""
    keys, values = table.keys, table.values
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
def join_pairs(batch, shape, table, joins, out, out_ends):
    """Replace pairs by their phrase from left to right; return how many ids were written.

    The table has the number of each pair among the joins. Where two pairs share a word, the first gives way if the
    second scores higher.
    """
    ids, ends, score = batch.ids, batch.ends, joins.score
    keys, values = table.keys, table.values
    written = 0
    begin = np.int64(0)  # not a literal, for which Numba would compile `_pair_at` once more
    for d in range(ends.shape[0]):
        end = ends[d]
        i = begin
        while i < end:
            key, j = _pair_at(ids, i, end, shape)
            here = _find(key, keys, values)
            if here != EMPTY:
                rival, _ = _pair_at(ids, j, end, shape)
                after = _find(rival, keys, values)
                if after != EMPTY and score[after] > score[here]:
                    here = np.int64(EMPTY)
            if here == EMPTY:
                out[written] = ids[i]
                i += 1
            else:
                out[written] = joins.phrase_id[here]
                i = j + 1
            written += 1
        out_ends[d] = written
        begin = end
    return written
