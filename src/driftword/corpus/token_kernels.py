"""Numba loops that turn streams of ids into the tokens of a corpus, and choose those that a pass sees."""

from __future__ import annotations

from driftword.basics.jit import float64, njit, uint64
from driftword.basics.randomness import GOLDEN_GAMMA, MULTIPLIER_1, MULTIPLIER_2


@njit(cache=True, nogil=True, inline="always")
def mix(x):
    """Hash a 64-bit number, as `randomness.mix` does."""
    x = x + uint64(GOLDEN_GAMMA)
    x = (x ^ (x >> uint64(30))) * uint64(MULTIPLIER_1)
    x = (x ^ (x >> uint64(27))) * uint64(MULTIPLIER_2)
    return x ^ (x >> uint64(31))


@njit(cache=True, nogil=True)
def sample(chunks, key, keep, seen):
    """Write what a pass sees of some chunks, as `sampling.are_sampled` says; return how many tokens these are."""
    tokens, ids, positions = chunks.tokens, seen.ids, seen.positions
    i = n = 0
    for chunk in range(len(chunks.begin)):
        before = n
        for position in range(chunks.begin[chunk], chunks.end[chunk]):
            if float64(mix(key ^ uint64(position)) >> uint64(11)) * 2.0**-53 < keep[tokens[i]]:
                ids[n], positions[n] = tokens[i], position
                n += 1
            i += 1
        seen.counts[chunk] = n - before
    return n


@njit(cache=True, nogil=True)
def words_of_documents(batch, new_id, lengths, all_words):
    """Count the words of the vocabulary in each document, and all of its words."""
    begin = 0
    for d in range(len(batch.ends)):
        known, words = 0, 0
        for i in range(begin, batch.ends[d]):
            known += new_id[batch.ids[i]] >= 0
            words += batch.ids[i] > 0
        lengths[d], all_words[d] = known, words
        begin = batch.ends[d]


@njit(cache=True, nogil=True)
def sort_by_slice(batch, slice_of, new_id, cursor, words):
    """Write the words of the vocabulary to `words`, by slices, in the order of documents within each.

    `cursor` tells where the words of each slice begin, and in the end where they end.
    """
    begin = 0
    for d in range(len(batch.ends)):
        place = cursor[slice_of[d]]
        for i in range(begin, batch.ends[d]):
            word = new_id[batch.ids[i]]
            if word >= 0:
                words[place] = word
                place += 1
        cursor[slice_of[d]] = place
        begin = batch.ends[d]


@njit(cache=True, nogil=True)
def add_counts(words, counts):
    """Count each word."""
    for i in range(len(words)):
        counts[words[i]] += 1


@njit(cache=True, nogil=True)
def count_words(ids, counts):
    """Add up how often every word occurs."""
    for i in range(len(ids)):
        counts[ids[i]] += 1


@njit(cache=True, nogil=True)
def sort_by_word(ids, begin, order):
    """Write the positions of every word, in their order: those of word v from ``begin[v]`` on."""
    filled = begin.copy()
    for i in range(len(ids)):
        order[filled[ids[i]]] = i
        filled[ids[i]] += 1
