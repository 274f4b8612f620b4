"""Documents that are copies of others, word for word or nearly.

A text that was reprinted ten times is one piece of evidence, not ten. Two documents are copies if half of the runs of
five words that occur in either occur in both (their Jaccard similarity). This is estimated: every run is hashed once,
and of all hashes of a document the smallest in each of 126 bins is kept (MinHash: Broder 1997; one hash for all bins:
Li, Owen & Zhang 2012). Documents that agree in three bins of a band are compared.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics.process import available_cores
from driftword.corpus.tokenized_text import count_by_slice, ranges_of
from driftword.storage import store
from driftword.storage.shards import ShardedArray, read_shards

RUN: Final = 5  # words
LEAST_WORDS: Final = 12  # of a document: shorter ones may be alike by chance, and are never taken for copies
BINS: Final = 126
BAND: Final = 3  # bins that make two documents candidates: copies have such a band in common in 99.6% of cases
ALIKE: Final = 0.5
MOST: Final = 20_000_000  # documents whose sketches fit into memory; of more, none are compared
_BATCH: Final = 1 << 22  # tokens that are read at a time
_CHUNKS: Final = ("chunk_slice", "chunk_split", "chunk_document")

Array = npt.NDArray[Any]


def find_copies(tokens: Any, offsets: Array, chunk_document: Array, *, threads: int | None = None) -> Array:
    """Return the documents that are copies, and the first document that each is a copy of, ``(copies, 2)``.

    The chunks of a document follow each other; the first document is the first in the order of chunks.
    """
    first = np.flatnonzero(np.diff(chunk_document, prepend=-1))
    begin, end = np.asarray(offsets)[first], np.asarray(offsets)[np.r_[first[1:], len(chunk_document)]]
    enough = end - begin >= LEAST_WORDS
    begin, end, document = begin[enough], end[enough], np.asarray(chunk_document)[first[enough]]
    if not 1 < len(document) <= MOST:
        return np.zeros((0, 2), dtype=np.int64)
    from driftword.preparing import copy_kernels as kernels  # Numba loads only where it is used

    sketches = np.full((len(document), BINS), 0xFFFFFFFF, dtype=np.uint32)
    borders = np.unique(np.r_[np.searchsorted(end, np.arange(0, int(end[-1]), _BATCH)), len(document)])

    def write(low: int, high: int) -> None:
        start = int(begin[low])
        text = np.ascontiguousarray(tokens[start : int(end[high - 1])])
        kernels.sketch(text, begin[low:high] - start, end[low:high] - start, RUN, sketches[low:high])

    with ThreadPoolExecutor(threads or available_cores()) as pool:
        list(pool.map(write, borders[:-1].tolist(), borders[1:].tolist()))
    keys, first_of = np.empty(len(document), dtype=np.uint64), np.arange(len(document))
    for column in range(0, BINS, BAND):
        kernels.band_keys(sketches, column, BAND, keys)
        kernels.link(np.argsort(keys, kind="stable"), keys, sketches, ALIKE, first_of)
    while not np.array_equal(first_of, first_of[first_of]):
        first_of = first_of[first_of]
    copies = np.flatnonzero(first_of != np.arange(len(first_of)))
    return np.stack([document[copies], document[first_of[copies]]], axis=1).astype(np.int64)


def note_copies(writer: store.Writer, counts: Array, *, drop: bool) -> tuple[int, Array]:
    """Find copies among the documents that were written, and note them, or leave them out.

    Return how many there are, and how often each word occurs in each slice, ``(T, V)``.
    """
    tokens = ShardedArray(read_shards(writer.folder, "tokens"))
    offsets, *chunks = (np.load(writer.folder / f"{name}.npy") for name in ("offsets", *_CHUNKS))
    copies = find_copies(tokens, offsets, chunks[-1])
    if not len(copies) or not drop:
        if len(copies):
            writer.array("copies", copies)
        return len(copies), counts
    kept = ~np.isin(chunks[-1], copies[:, 0])
    begin, end = offsets[:-1][kept], offsets[1:][kept]
    words: Any = ranges_of(tokens, begin, end)  # type: ignore[arg-type]
    offsets, chunks = np.r_[0, np.cumsum(end - begin)], [values[kept] for values in chunks]
    writer.remove_long_array("tokens")
    writer.long_array("tokens", words)
    for name, values in zip(("offsets", *_CHUNKS), (offsets, *chunks), strict=True):
        writer.array(name, values)
    return len(copies), count_by_slice(words, offsets, chunks[0], counts.shape).astype(counts.dtype)
