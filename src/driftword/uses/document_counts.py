"""How often every document has every word: what frequencies and keywords are tested with.

Documents, or the units of evidence that a user named, are rows; copies are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftword.corpus import Corpus
from driftword.corpus.groups import group_number
from driftword.corpus.tokenized_text import chunks_of
from driftword.uses.word_uses import Array

_BATCH = 1 << 22  # tokens that are counted at a time


class DocumentSizes(NamedTuple):
    """The documents that count as evidence, in order."""

    number: Array  # (D,) in the corpus
    size: Array  # (D,) words of the vocabulary
    day: Array
    slice_of: Array
    unit: Array  # (D,) of evidence

    @classmethod
    def of(cls, corpus: Corpus) -> DocumentSizes:
        """Find the documents of a corpus that have words and are no copies."""
        from driftword.inference.designs import units_of_evidence  # Numba loads only where it is used

        size = np.bincount(corpus.chunk_document, np.diff(np.asarray(corpus.offsets)))
        day, slice_of = np.zeros((2, len(size)), dtype=np.int64)
        day[corpus.chunk_document], slice_of[corpus.chunk_document] = corpus.chunk_day, corpus.chunk_slice
        original = size > 0
        original[corpus.copies[:, 0]] = False
        number = np.flatnonzero(original)
        units = units_of_evidence(corpus)
        unit = np.arange(len(number)) if units is None else np.unique(units[number], return_inverse=True)[1]
        return cls(number, size[number], day[number], slice_of[number], unit)

    def counts(self, corpus: Corpus, v: int) -> Array:
        """Return how often each document has a word."""
        document = corpus.chunk_document[chunks_of(corpus, corpus.positions_of(corpus.words[v]))]
        return np.bincount(document, minlength=int(self.number.max(initial=0)) + 1)[self.number].astype(np.float64)


class WordCounts(NamedTuple):
    """Words in documents, those that occur, sorted by word."""

    word: Array
    document: Array  # place in `DocumentSizes`
    times: Array  # that the document has the word

    @classmethod
    def of(cls, corpus: Corpus, documents: DocumentSizes) -> WordCounts:
        """Count the words of all documents."""
        place = np.full(int(max(documents.number.max(initial=0), corpus.chunk_document.max(initial=0))) + 1, -1)
        place[documents.number] = np.arange(len(documents.number))
        offsets = np.asarray(corpus.offsets)
        keys, counts = [], []
        n_documents = np.int64(max(len(documents.number), 1))
        begin = 0
        while begin < len(offsets) - 1:  # whole chunks at a time
            end = max(int(np.searchsorted(offsets, offsets[begin] + _BATCH, side="right")) - 1, begin + 1)
            of = np.repeat(place[corpus.chunk_document[begin:end]], np.diff(offsets[begin : end + 1]))
            tokens = np.asarray(corpus.tokens[int(offsets[begin]) : int(offsets[end])], dtype=np.int64)
            here, count = np.unique((tokens * n_documents + of)[of >= 0], return_counts=True)
            keys.append(here)
            counts.append(count)
            begin = end
        key, which = np.unique(np.concatenate(keys), return_inverse=True)  # of documents in several chunks
        total = np.bincount(which, np.concatenate(counts), minlength=len(key))
        return cls(key // n_documents, key % n_documents, total)


def sides_of_documents(corpus: Corpus, groups: tuple[str, str]) -> Array:
    """Return for every document whether it is of the first group (0), of the second (1), or of neither (-1)."""
    first, second = (group_number(corpus.groups, name) for name in groups)
    of_chunk = np.asarray(corpus.chunk_group)
    return of_documents(corpus, np.where(of_chunk == first, 0, np.where(of_chunk == second, 1, -1)))


def of_documents(corpus: Corpus, of_chunk: Array) -> Array:
    """Return what is known of each chunk, the same for all of a document, for every document; -1 without text."""
    found = np.full(int(corpus.chunk_document.max(initial=0)) + 1, -1)
    found[corpus.chunk_document] = of_chunk
    return found
