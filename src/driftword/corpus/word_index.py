"""Where every word occurs, written once with a long text, so that nobody has to read all of it for one word.

The text is divided into segments; within each, the positions of one word follow those of another. So a segment is
sorted on its own, and what is read for a word is one range of each.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics.workers import Workers
from driftword.storage.shards import ShardedArray, ShardWriter
from driftword.storage.store import Writer
from driftword.storage.stored_arrays import StoredArray

#: Tokens of a segment; a text of no more than this is read faster than it is worth an index.
SEGMENT = 1 << 25
POSITIONS: Final = "occurrences"  # (tokens,) within their segments
ENDS: Final = "occurrence_ends"  # (segments, words) of each word among the positions of a segment
_THREADS: Final = 4  # each holds a segment and its positions


def write_index(writer: Writer, tokens: ShardedArray, n_words: int) -> None:
    """Write the index of a text, if it is a long one."""
    from driftword.corpus import token_kernels as kernels  # Numba loads only where it is used

    if len(tokens) <= SEGMENT:
        return
    begins = range(0, len(tokens), SEGMENT)
    ends = np.zeros((len(begins), n_words), dtype=np.uint32)

    def sort(begin: int) -> npt.NDArray[np.uint32]:
        segment = np.asarray(tokens[begin : begin + SEGMENT])
        counts = np.zeros(n_words, dtype=np.int64)
        kernels.count_words(segment, counts)
        order = np.empty(len(segment), dtype=np.uint32)
        kernels.sort_by_word(segment, np.cumsum(counts) - counts, order)
        ends[begin // SEGMENT] = np.cumsum(counts)
        return order

    with ShardWriter(writer.folder, POSITIONS, np.uint32, len(tokens)) as file, Workers(_THREADS) as workers:
        for begin, order in zip(begins, workers.map(sort, begins), strict=True):
            file.write(begin, order)
    writer.array(ENDS, ends)


def find(
    occurrences: npt.NDArray[Any] | StoredArray | ShardedArray, ends: npt.NDArray[Any], word: int
) -> npt.NDArray[np.int64]:
    """Return the positions of a word, given by its number; raise ValueError where they cannot be those of a text."""
    found = [np.zeros(0, dtype=np.int64)]
    for number, of_words in enumerate(ends):
        base = number * SEGMENT
        inside = np.asarray(
            occurrences[base + (int(of_words[word - 1]) if word else 0) : base + int(of_words[word])], dtype=np.int64
        )
        if len(inside) and not (inside[0] >= 0 and inside[-1] < SEGMENT and (np.diff(inside) > 0).all()):
            raise ValueError("positions are not in order")
        found.append(base + inside)
    return np.concatenate(found)
