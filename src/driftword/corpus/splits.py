"""Held-out text: chunks of consecutive words, 80/10/10 within every slice.

Documents are divided into pieces; short ones stay whole. In each slice the pieces
are shuffled in an order that depends only on the seed: the first tenth of the
words goes to validation, the second to test, the rest to training. Adjacent
pieces of one document in the same split become one chunk again, so that as few
contexts as possible are broken.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from driftword.basics import randomness

SPLITS: Final = ("train", "valid", "test")
HELD_OUT: Final = 0.1
LONGEST_PIECE: Final = 1_000
SHORTEST_PIECE: Final = 50
#: With ten of the shortest pieces, each tenth of a slice is certain to get one.
ENOUGH_WORDS: Final = 10 * SHORTEST_PIECE


def cut(
    lengths: npt.NDArray[np.int64], slice_of: npt.NDArray[np.int32], n_slices: int, *, seed: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Divide documents into chunks and assign each chunk to a split, given the words and slice of each document.

    Documents are in the order in which they are stored, by slice. Return the length, document and split of each chunk
    in the same order.
    """
    words = np.bincount(slice_of, weights=lengths, minlength=n_slices)
    longest = np.clip(words // 100, SHORTEST_PIECE, LONGEST_PIECE).astype(np.int64)
    pieces = np.maximum(-(-lengths // longest[slice_of]), 1)  # pieces of each document
    document = np.repeat(np.arange(len(lengths)), pieces)
    first = np.cumsum(pieces) - pieces
    rank = np.arange(len(document)) - first[document]
    share = lengths[document]
    length = (rank + 1) * share // pieces[document] - rank * share // pieces[document]
    piece_slice = slice_of[document]

    order = np.lexsort((randomness.bits(randomness.key(seed, "split"), np.arange(len(document))), piece_slice))
    in_order = length[order].astype(np.float64)
    before = np.cumsum(in_order) - in_order
    slice_start = np.concatenate([[0.0], np.cumsum(words)])[piece_slice[order]]
    middle = (before - slice_start + in_order / 2) / np.maximum(words[piece_slice[order]], 1)
    split = np.zeros(len(document), dtype=np.uint8)
    split[order] = np.where(middle < HELD_OUT, 1, np.where(middle < 2 * HELD_OUT, 2, 0))
    split[words[piece_slice] < ENOUGH_WORDS] = 0

    if not len(document):
        return length, document, split
    starts = np.flatnonzero(np.r_[True, (np.diff(document) != 0) | (np.diff(split) != 0)])
    return np.add.reduceat(length, starts), document[starts], split[starts]
