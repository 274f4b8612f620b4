"""Numba loops that turn streams of ids into the tokens of a corpus."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def words_of_documents(ids, ends, new_id, lengths, has_words):
    """Count the words of the vocabulary in each document, and tell which documents have any word at all."""
    begin = 0
    for d in range(len(ends)):
        known, words = 0, False
        for i in range(begin, ends[d]):
            known += new_id[ids[i]] >= 0
            words |= ids[i] > 0
        lengths[d], has_words[d] = known, words
        begin = ends[d]


@njit(cache=True, nogil=True)
def sort_by_slice(ids, ends, slice_of, new_id, cursor, words):
    """Write the words of the vocabulary to `words`, by slices, in the order of documents within each.

    `cursor` tells where the words of each slice begin, and in the end where they end.
    """
    begin = 0
    for d in range(len(ends)):
        place = cursor[slice_of[d]]
        for i in range(begin, ends[d]):
            word = new_id[ids[i]]
            if word >= 0:
                words[place] = word
                place += 1
        cursor[slice_of[d]] = place
        begin = ends[d]


@njit(cache=True, nogil=True)
def add_counts(words, counts):
    """Count each word."""
    for i in range(len(words)):
        counts[words[i]] += 1
