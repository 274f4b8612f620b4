"""Passages that many documents share: letterheads, formulas, footers. Their words change when they come or go.

A passage is a run of ten words of the vocabulary. Runs are sampled by what they begin with, so that the same passage is
looked at in all documents or in none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics import randomness
from driftword.storage import store
from driftword.storage.shards import ShardedArray, read_shards

RUN: Final = 10  # words
SHARED: Final = 5  # documents with the same run
_MOST: Final = 1_000_000  # runs that are looked at
_BATCH: Final = 1 << 22  # tokens that are read at a time

Array = npt.NDArray[Any]


def note_repeated(writer: store.Writer, labels: Sequence[str]) -> dict[str, float]:
    """Return which share of what was written of each slice is repeated."""
    names = ("offsets", "chunk_document", "chunk_slice")
    offsets, document, slice_of = (np.load(writer.folder / f"{name}.npy") for name in names)
    path = writer.folder / "copies.npy"
    copies = np.load(path)[:, 0] if path.exists() else np.zeros(0, dtype=np.int64)
    tokens = ShardedArray(read_shards(writer.folder, "tokens"))
    return share_repeated(tokens, offsets, document=document, slice_of=slice_of, labels=labels, copies=copies)


def share_repeated(
    tokens: Any, offsets: Array, *, document: Array, slice_of: Array, labels: Sequence[str], copies: Array
) -> dict[str, float]:
    """Return which share of the runs of each slice are in several documents, by label; copies are left out.

    `document` and `slice_of` are those of chunks.
    """
    offsets, kept = np.asarray(offsets), ~np.isin(document, copies)
    rate = max(-(-len(tokens) // _MOST), 1)  # of so many runs, one is looked at
    first_word, second_word, spread = np.array([0x9E3779B1, 0x85EBCA77, 0x2C1B3C6D], dtype=np.uint32)
    hashes, chunks = [], []
    for first in range(0, int(offsets[-1]), _BATCH):
        text = np.asarray(tokens[first : first + _BATCH + RUN - 1]).astype(np.uint32)
        n = min(len(text) - RUN + 1, _BATCH)
        if n < 1:
            break
        begins = text[:n] * first_word + text[1 : n + 1] * second_word
        begins ^= begins >> np.uint32(15)
        begins *= spread
        at = np.flatnonzero(begins <= np.uint32(2**32 // rate - 1))
        chunk = np.searchsorted(offsets, at + first, side="right") - 1
        inside = (at + first + RUN <= offsets[chunk + 1]) & kept[chunk]
        at, chunk = at[inside], chunk[inside]
        hashed = np.zeros(len(at), dtype=np.uint64)
        for j in range(RUN):
            hashed = randomness.bits(randomness.key(0, "passages", j), hashed ^ text[at + j])
        hashes.append(hashed)
        chunks.append(chunk)
    if not hashes:
        return {}
    run, chunk = np.concatenate(hashes), np.concatenate(chunks)
    order = np.lexsort((chunk, run))  # a document has consecutive chunks
    run, owner, slices = run[order], document[chunk[order]], slice_of[chunk[order]]
    another = np.r_[True, run[1:] != run[:-1]]
    which = np.cumsum(another) - 1
    in_documents = np.bincount(which, another | np.r_[True, owner[1:] != owner[:-1]])
    repeated = in_documents[which] >= SHARED
    total = np.bincount(slices, minlength=len(labels))
    share = np.bincount(slices, repeated, minlength=len(labels)) / np.maximum(total, 1)
    return {label: round(float(share[t]), 4) for t, label in enumerate(labels) if total[t]}
