"""Writes the tokens of the vocabulary in the order of their slices, and the chunks they form."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from driftword import store
from driftword.corpus import splits
from driftword.corpus.from_ids import id_type
from driftword.corpus.id_stream import Batch, IdStream
from driftword.corpus.slices import Slices
from driftword.corpus.workers import Workers
from driftword.progress import Progress


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

    def __init__(self, writer: store.Writer, slices: Slices, slice_of: npt.NDArray[np.int32], workers: Workers) -> None:
        self.writer, self.slices, self.slice_of, self.workers = writer, slices, slice_of, workers
        self.counts = np.zeros((len(slices), 0), dtype=np.int32)
        self.training_only: tuple[str, ...] = ()
        self.no_words = self.no_vocabulary = 0

    def write(self, stream: IdStream, new_id: npt.NDArray[np.int32], *, seed: int, bar: Progress) -> None:
        """Write tokens and chunks; `new_id` gives the vocabulary's id for each id of the stream, or -1."""
        n_words = int(new_id.max()) + 1
        self.counts = np.zeros((len(self.slices), n_words), dtype=np.int32)
        lengths, has_words = self._vocabulary_words(stream, new_id, bar)
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
        per_slice = np.bincount(self.slice_of, weights=lengths, minlength=len(self.slices))
        small = np.flatnonzero((per_slice > 0) & (per_slice < splits.ENOUGH_WORDS))
        self.training_only = tuple(self.slices.labels[t] for t in small)
        self._write_tokens(stream, new_id, lengths, bar)

    def _write_tokens(
        self, stream: IdStream, new_id: npt.NDArray[np.int32], lengths: npt.NDArray[np.int64], bar: Progress
    ) -> None:
        """Write the tokens of each batch after those already written for their slices."""
        from driftword.corpus import token_kernels as kernels

        kind = np.dtype(id_type(self.counts.shape[1]))
        size = np.bincount(self.slice_of, weights=lengths, minlength=len(self.slices)).astype(np.int64)
        cursor = np.r_[0, np.cumsum(size)]

        def sort(batch: Batch) -> tuple[int, npt.NDArray[Any], npt.NDArray[np.int64]]:
            """Return how many ids a batch has, the words among them by slices, and where each slice begins."""
            here = slice(batch.first, batch.first + len(batch.ends))
            size = np.bincount(self.slice_of[here], weights=lengths[here], minlength=len(self.slices))
            begin = np.r_[0, np.cumsum(size)].astype(np.int64)
            words = np.empty(begin[-1], dtype=kind)
            kernels.sort_by_slice(batch.ids, batch.ends, self.slice_of[here], new_id, begin[:-1].copy(), words)
            return len(batch.ids), words, begin

        with (self.writer.folder / "tokens.npy").open("wb") as file:
            shape = {"descr": kind.str, "fortran_order": False, "shape": (int(cursor[-1]),)}
            np.lib.format.write_array_header_1_0(file, shape)
            header = file.tell()
            for read, words, begin in self.workers.map(sort, stream.batches()):
                for t in np.flatnonzero(np.diff(begin)):
                    part = words[begin[t] : begin[t + 1]]
                    kernels.add_counts(part, self.counts[t])
                    file.seek(header + int(cursor[t]) * kind.itemsize)
                    file.write(part.data)
                    cursor[t] += len(part)
                bar.update(more=read)

    def _vocabulary_words(
        self, stream: IdStream, new_id: npt.NDArray[np.int32], bar: Progress
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Count the words of the vocabulary in each document, and tell which documents have any word at all."""
        from driftword.corpus import token_kernels as kernels

        def count(batch: Batch) -> tuple[int, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
            lengths, has_words = np.empty(len(batch.ends), np.int64), np.empty(len(batch.ends), np.bool_)
            kernels.words_of_documents(batch.ids, batch.ends, new_id, lengths, has_words)
            return len(batch.ids), lengths, has_words

        lengths, has_words = [], []
        for read, known, any_word in self.workers.map(count, stream.batches()):
            lengths.append(known)
            has_words.append(any_word)
            bar.update(more=read)
        return np.concatenate(lengths), np.concatenate(has_words)
