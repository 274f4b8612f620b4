"""Corpora made of another one: of some of its documents, without its groups, or with its dates exchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from driftword.basics import randomness
from driftword.corpus.slices import Slices
from driftword.corpus.tokenized_text import TokenizedText, count_by_slice, ranges_of

Text = TypeVar("Text", bound=TokenizedText)


def with_shuffled_dates(text: Text, seed: int) -> Text:
    """Return the corpus with its documents' dates exchanged at random."""
    documents, first, number = np.unique(text.chunk_document, return_index=True, return_inverse=True)
    random = randomness.bits(randomness.key(seed, "dates"), np.arange(len(documents)))
    order = np.argsort(random, kind="stable")
    chunk_slice, chunk_day = (np.asarray(array)[first][order][number] for array in (text.chunk_slice, text.chunk_day))
    counts = count_by_slice(text.tokens, text.offsets, chunk_slice, text.counts.shape)
    arrays = {**text._arrays, "chunk_slice": chunk_slice, "chunk_day": chunk_day}
    arrays["counts"] = counts.astype(text.counts.dtype)
    arrays.pop("train_counts", None)
    shuffled = _made_of(text, arrays, text.slices, text.groups)
    shuffled.shuffled = seed
    return shuffled


def without_groups(text: Text) -> Text:
    """Return the same text as a corpus without groups."""
    if not text.groups:
        return text
    plain = _made_of(text, {name: array for name, array in text._arrays.items() if name != "chunk_group"}, text.slices)
    plain.shuffled = text.shuffled
    return plain


def some_chunks(text: Text, wanted: npt.NDArray[np.bool_], first: int = 0) -> Text:
    """Return some chunks, in the slices from `first` on, as a corpus with the same words and splits."""
    begin, end = text.offsets[:-1][wanted], text.offsets[1:][wanted]
    slices = Slices(text.slices.labels[first:], text.slices.first[first:], text.slices.last[first:])
    tokens, offsets = ranges_of(text.tokens, begin, end), np.r_[0, np.cumsum(end - begin)]
    chunk_slice = text.chunk_slice[wanted] - np.int32(first)
    counts = count_by_slice(tokens, offsets, chunk_slice, (len(slices), len(text.words)))
    arrays = {
        "tokens": tokens,
        "offsets": offsets,
        "chunk_slice": chunk_slice,
        "chunk_split": text.chunk_split[wanted],
        "chunk_document": text.chunk_document[wanted],
        "counts": counts.astype(text.counts.dtype),
        "raw_counts": text.raw_counts,
    }
    if "chunk_day" in text._arrays:
        arrays["chunk_day"] = text.chunk_day[wanted]
    return _made_of(text, arrays, slices)


def _made_of(text: Text, arrays: Mapping[str, Any], slices: Slices, groups: tuple[str, ...] = ()) -> Text:
    """Return a corpus with the words and documents of another, and arrays of its own, which become read-only."""
    for array in arrays.values():
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    metadata = replace(text._metadata, groups=groups)
    return type(text)(arrays, text.words, slices, metadata=metadata, stored=text._store)
