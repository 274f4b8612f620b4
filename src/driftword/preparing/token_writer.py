"""Writes the tokens of the vocabulary in the order of their slices, and the chunks they form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from driftword.corpus import splits
from driftword.corpus.from_ids import id_type
from driftword.corpus.slices import Slices
from driftword.preparing.id_stream import Batch, IdStream
from driftword.preparing.workers import Workers
from driftword.storage import store


@dataclass(frozen=True)
class TokenPlaces:
    """Where the tokens of documents go: by slices, and in the order of documents within each.

    Parameters
    ----------
    slice_of, lengths
        The slice of each document, and how many words of the vocabulary it has.
    n_slices, n_words
        The number of slices, and of words of the vocabulary.
    """

    slice_of: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int64]
    n_slices: int
    n_words: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the tokens."""
        return np.dtype(id_type(self.n_words))

    @property
    def n_tokens(self) -> int:
        """How many tokens there are."""
        return int(self.lengths.sum())

    def sizes(self) -> npt.NDArray[np.int64]:
        """Return how many tokens each slice has."""
        return np.bincount(self.slice_of, weights=self.lengths, minlength=self.n_slices).astype(np.int64)

    def of_documents(self, begin: int, end: int) -> TokenPlaces:
        """Return the places of some of the documents as if there were no others."""
        return TokenPlaces(self.slice_of[begin:end], self.lengths[begin:end], self.n_slices, self.n_words)


class TokenIds(Protocol):
    """The word ids of all documents, wherever they are: what writing tokens asks of them."""

    def stage(self, name: str, passes: int) -> None:
        """Begin a stage that reads the ids so many times."""
        ...

    def vocabulary_words(self, new_id: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Count the words of the vocabulary in each document, and tell which documents have any word at all."""
        ...

    def write_tokens(self, folder: Path, new_id: npt.NDArray[np.int32], places: TokenPlaces) -> npt.NDArray[np.int32]:
        """Write the tokens of the vocabulary by slices into a folder; return how often each word occurs in each."""
        ...


class TokenWriter:
    """Writes the arrays of a corpus; see `write`.

    Attributes
    ----------
    counts
        Occurrences of each word in each slice.
    training_only
        Slices that are too small to hold out text.
    no_words, no_vocabulary
        Documents of which nothing remains: without any word, or without a word of the vocabulary.
    """

    def __init__(self, writer: store.Writer, slices: Slices, slice_of: npt.NDArray[np.int32]) -> None:
        self.writer, self.slices, self.slice_of = writer, slices, slice_of
        self.counts = np.zeros((len(slices), 0), dtype=np.int32)
        self.training_only: tuple[str, ...] = ()
        self.no_words = self.no_vocabulary = 0

    def write(self, ids: TokenIds, new_id: npt.NDArray[np.int32], *, seed: int) -> None:
        """Write tokens and chunks; `new_id` gives the vocabulary's id for each id of the text, or -1."""
        ids.stage("writing tokens", 2)
        lengths, has_words = ids.vocabulary_words(new_id)
        self.no_words = int((~has_words).sum())
        self.no_vocabulary = int((has_words & (lengths == 0)).sum())
        order = np.argsort(self.slice_of, kind="stable")
        slice_of = self.slice_of[order]
        size, document, split = splits.cut(lengths[order], slice_of, len(self.slices), seed=seed)
        filled = size > 0
        size, document, split = size[filled], document[filled], split[filled]
        self.writer.array("offsets", np.r_[0, np.cumsum(size)].astype(np.int64))
        self.writer.array("chunk_slice", slice_of[document].astype(np.int32))
        self.writer.array("chunk_split", split)
        self.writer.array("chunk_document", order[document].astype(np.int64))
        places = TokenPlaces(self.slice_of, lengths, len(self.slices), int(new_id.max()) + 1)
        per_slice = places.sizes()
        small = np.flatnonzero((per_slice > 0) & (per_slice < splits.ENOUGH_WORDS))
        self.training_only = tuple(self.slices.labels[t] for t in small)
        self.counts = ids.write_tokens(self.writer.folder, new_id, places)


def write_by_slice(
    stream: IdStream,
    new_id: npt.NDArray[np.int32],
    places: TokenPlaces,
    write: Callable[[int, npt.NDArray[Any]], None],
    *,
    workers: Workers,
    progress: Callable[[int], None],
) -> npt.NDArray[np.int32]:
    """Write the tokens of each batch after those already written for their slices; `write` takes a position first.

    Return how often each word occurs in each slice.
    """
    from driftword.corpus import token_kernels as kernels

    counts = np.zeros((places.n_slices, places.n_words), dtype=np.int32)
    cursor = np.r_[0, np.cumsum(places.sizes())]

    def sort(batch: Batch) -> tuple[int, npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Return how many ids a batch has, the words among them by slices, and where each slice begins."""
        here = places.of_documents(batch.first, batch.first + len(batch.ends))
        begin = np.r_[0, np.cumsum(here.sizes())]
        words = np.empty(begin[-1], dtype=places.dtype)
        kernels.sort_by_slice(batch.ids, batch.ends, here.slice_of, new_id, begin[:-1].copy(), words)
        return len(batch.ids), words, begin

    for read, words, begin in workers.map(sort, stream.batches()):
        for t in np.flatnonzero(np.diff(begin)):
            part = words[begin[t] : begin[t + 1]]
            kernels.add_counts(part, counts[t])
            write(int(cursor[t]), part)
            cursor[t] += len(part)
        progress(read)
    return counts


def count_vocabulary_words(
    stream: IdStream, new_id: npt.NDArray[np.int32], *, workers: Workers, progress: Callable[[int], None]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Count the words of the vocabulary in each document, and tell which documents have any word at all."""
    from driftword.corpus import token_kernels as kernels

    def count(batch: Batch) -> tuple[int, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        lengths, has_words = np.empty(len(batch.ends), np.int64), np.empty(len(batch.ends), np.bool_)
        kernels.words_of_documents(batch.ids, batch.ends, new_id, lengths, has_words)
        return len(batch.ids), lengths, has_words

    lengths, has_words = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.bool_)]
    for read, known, any_word in workers.map(count, stream.batches()):
        lengths.append(known)
        has_words.append(any_word)
        progress(read)
    return np.concatenate(lengths), np.concatenate(has_words)
