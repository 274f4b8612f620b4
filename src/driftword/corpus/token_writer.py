"""Writes the tokens of the vocabulary in the order of their slices, and the chunks they form."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from driftword import store
from driftword.corpus import splits
from driftword.corpus.from_ids import id_type
from driftword.corpus.id_stream import IdStream
from driftword.corpus.slices import Slices
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

    def __init__(self, writer: store.Writer, slices: Slices, slice_of: npt.NDArray[np.int32]) -> None:
        self.writer, self.slices, self.slice_of = writer, slices, slice_of
        self.counts = np.zeros((len(slices), 0), dtype=np.int32)
        self.training_only: tuple[str, ...] = ()
        self.no_words = self.no_vocabulary = 0

    def write(self, stream: IdStream, new_id: npt.NDArray[np.int32], *, seed: int, bar: Progress) -> None:
        """Write tokens and chunks; `new_id` gives the vocabulary's id for each id of the stream, or -1."""
        n_words = int(new_id.max()) + 1
        self.counts = np.zeros((len(self.slices), n_words), dtype=np.int32)
        lengths, has_words = _vocabulary_words(stream, new_id, bar)
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
        self._write_tokens(stream, new_id, np.r_[0, np.cumsum(per_slice)].astype(np.int64), bar)

    def _write_tokens(
        self, stream: IdStream, new_id: npt.NDArray[np.int32], cursor: npt.NDArray[np.int64], bar: Progress
    ) -> None:
        """Write the tokens of each batch after those already written for their slices."""
        n_words = self.counts.shape[1]
        kind = np.dtype(id_type(n_words))
        flat = self.counts.reshape(-1)
        with (self.writer.folder / "tokens.npy").open("wb") as file:
            shape = {"descr": kind.str, "fortran_order": False, "shape": (int(cursor[-1]),)}
            np.lib.format.write_array_header_1_0(file, shape)
            header = file.tell()
            document = 0
            for ids, ends in stream.batches():
                slot = np.repeat(self.slice_of[document : document + len(ends)], np.diff(ends, prepend=0))
                document += len(ends)
                words = new_id[ids]
                words, slot = words[words >= 0], slot[words >= 0]
                np.add.at(flat, slot.astype(np.int64) * n_words + words, 1)
                if (np.diff(slot) < 0).any():
                    order = np.argsort(slot, kind="stable")
                    words, slot = words[order], slot[order]
                present, start = np.unique(slot, return_index=True)
                for t, run in zip(present, np.split(words.astype(kind), start[1:]), strict=len(present) > 0):
                    file.seek(header + int(cursor[t]) * kind.itemsize)
                    file.write(run.data)
                    cursor[t] += len(run)
                bar.update(more=len(ids))


def _vocabulary_words(
    stream: IdStream, new_id: npt.NDArray[np.int32], bar: Progress
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Count the words of the vocabulary in each document, and tell which documents have any word at all."""
    lengths, has_words = [], []
    for ids, ends in stream.batches():
        borders = np.r_[0, ends]
        lengths.append(np.diff(np.r_[0, np.cumsum(new_id[ids] >= 0)][borders]))
        has_words.append(np.diff(np.r_[0, np.cumsum(ids > 0)][borders]) > 0)
        bar.update(more=len(ids))
    return np.concatenate(lengths), np.concatenate(has_words)
