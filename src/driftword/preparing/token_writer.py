"""Writes the tokens of the vocabulary in the order of their slices, and the chunks they form."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from driftword.corpus import splits
from driftword.corpus.slices import Slices
from driftword.preparing.text_stages import TokenPlaces, WordIds
from driftword.storage import store


class TokenWriter:
    """Writes the arrays of a corpus, and remembers what is worth reporting; see `write`."""

    def __init__(self, writer: store.Writer, slices: Slices, slice_of: npt.NDArray[np.int32]) -> None:
        self.writer, self.slices, self.slice_of = writer, slices, slice_of
        self.counts = np.zeros((len(slices), 0), dtype=np.int32)  # of each word in each slice
        self.training_only: tuple[str, ...] = ()  # slices that are too small to hold out text
        self.no_words = self.no_vocabulary = 0  # documents without any word, or without one of the vocabulary
        self.lengths = self.all_words = np.zeros(0, dtype=np.int64)  # of each document: of the vocabulary, and all

    def write(self, ids: WordIds, new_id: npt.NDArray[np.int32], *, seed: int) -> None:
        """Write tokens and chunks; `new_id` gives the vocabulary's id for each id of the text, or -1."""
        ids.stage("writing tokens", 2)
        lengths, all_words = ids.vocabulary_words(new_id)
        self.lengths, self.all_words = lengths, all_words
        self.no_words = int((all_words == 0).sum())
        self.no_vocabulary = int(((all_words > 0) & (lengths == 0)).sum())
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
        self.counts = ids.write_tokens(self.writer, new_id, places)
