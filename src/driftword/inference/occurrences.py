"""Where words occur: the text as one pass sees it, document after document.

All splits are read: a test is a claim about the whole text, not a prediction. Copies of a document are not: they are no
more evidence than the document itself.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics.shared_arrays import empty_array
from driftword.corpus import Corpus, token_kernels
from driftword.corpus.sampling import sample_parts
from driftword.corpus.splits import SPLITS
from driftword.inference import score_kernels as kernels

Array = npt.NDArray[Any]
PASS: Final = 1  # whose subsample is read
_PARTS: Final = 8  # of the work for each thread, so that none waits long for another


@dataclass(frozen=True)
class DocumentText:
    """Tokens of all splits, sorted by document; a document that spans several slices counts as one in each."""

    ids: Array  # (n,)
    offsets: Array  # (chunks + 1,)
    chunk_document: Array  # (chunks,) numbered from 0, ascending
    slice_of: Array  # (documents,)
    document: Array  # (documents,) number of each in the corpus
    day: Array  # (documents,) since 1970-01-01
    calendar: Array | None  # days on which something can begin; None for any day
    n_slices: int
    n_words: int

    @cached_property
    def chunk_of(self) -> Array:
        """The chunk of each token."""
        chunk_of = empty_array(len(self.ids), np.int32)
        kernels.repeat_numbers(self.offsets, chunk_of)
        return chunk_of

    @cached_property
    def for_kernels(self) -> kernels.Text:
        """The arrays that kernels read."""
        return kernels.Text(self.ids, self.chunk_of, self.offsets, self.chunk_document)

    @cached_property
    def document_offsets(self) -> Array:
        """Where the tokens of each document begin, and where those of the last end."""
        first = np.searchsorted(self.chunk_document, np.arange(len(self.slice_of) + 1))
        return np.asarray(self.offsets[first])

    @cached_property
    def sizes(self) -> Array:
        """The number of tokens in each document."""
        return np.diff(self.document_offsets)

    @cached_property
    def documents_per_slice(self) -> Array:
        """The number of documents in each slice."""
        return np.bincount(self.slice_of, minlength=self.n_slices)

    @cached_property
    def by_word(self) -> tuple[Array, Array]:
        """The positions of all words, one word after the other, and where those of each begin."""
        begin = np.zeros(self.n_words + 1, dtype=np.int64)
        token_kernels.count_words(self.ids, begin[1:])
        begin = np.cumsum(begin)
        order = empty_array(len(self.ids), np.int32 if len(self.ids) < 1 << 31 else np.int64)
        token_kernels.sort_by_word(self.ids, begin[:-1], order)
        return order, begin

    def positions(self, v: int) -> Array:
        """Return the positions of one word, without sorting those of all words for its sake."""
        if "by_word" in self.__dict__:
            order, begin = self.by_word
            return order[begin[v] : begin[v + 1]]
        return np.flatnonzero(self.ids == v)


def read_documents(
    corpus: Corpus, threads: int, *, train: bool = False, cells: Array | None = None, n_cells: int = 0
) -> DocumentText:
    """Read what one pass sees of a corpus, or of its training text alone.

    Documents may be divided into other cells than slices, for instance the slices of each group: `cells` is then the
    cell of each chunk, -1 for chunks that are left out.
    """
    document = np.asarray(corpus.chunk_document, dtype=np.int64)
    slice_of = np.asarray(corpus.chunk_slice if cells is None else cells, dtype=np.int64)
    n_slices = len(corpus.slices) if cells is None else n_cells
    wanted = (slice_of >= 0) & ((corpus.chunk_split == SPLITS.index("train")) | (not train))
    chosen = np.flatnonzero(wanted & ~np.isin(document, corpus.copies[:, 0]))
    units, first, chunk_document = np.unique(
        (document * n_slices + slice_of)[chosen], return_index=True, return_inverse=True
    )
    order = np.argsort(chunk_document, kind="stable")
    days = corpus.chunk_day[chosen[first]]
    chunks = chosen[order]
    ids = empty_array(int((corpus.offsets[1:][chunks] - corpus.offsets[:-1][chunks]).sum()), np.int32)
    offsets, n = [np.zeros(1, dtype=np.int64)], 0
    for part in sample_parts(corpus, chunks, PASS, threads=threads):
        ids[n : n + len(part.ids)] = part.ids
        offsets.append(n + np.cumsum(part.counts))
        n += len(part.ids)
    return DocumentText(
        ids[:n], np.concatenate(offsets), chunk_document[order].astype(np.int32), (units % n_slices).astype(np.int32),
        units // n_slices, days, calendar_of(corpus, days), n_slices, len(corpus.words),
    )  # fmt: skip


def calendar_of(corpus: Corpus, days: Array) -> Array | None:
    """Return the first days of years or months, where documents are dated by these, or of slices without dates."""
    if not corpus.has_documents:
        return np.array(corpus.slices.first, dtype="datetime64[D]").astype(np.int64)
    return calendar_of_days(days)


def calendar_of_days(days: Array) -> Array | None:
    """Return the first days of years or months, where all days are such; None where they are not."""
    distinct = np.unique(days).astype("datetime64[D]")
    for unit in ("Y", "M"):
        if len(distinct) and (distinct.astype(f"datetime64[{unit}]").astype("datetime64[D]") == distinct).all():
            first, last = (np.datetime64(day, unit) for day in (distinct[0], distinct[-1]))
            return np.arange(first, last + 1).astype("datetime64[D]").astype(np.int64)
    return None


def in_parts(task: Callable[[int, int], None], weights: Array, pool: ThreadPoolExecutor, threads: int) -> None:
    """Call a task for ranges of items of about equal weight."""
    filled = np.cumsum(weights)
    total = int(filled[-1]) if len(filled) else 0
    borders = np.searchsorted(filled, np.linspace(0, total, _PARTS * threads + 1)[1:-1])
    borders = np.unique(np.r_[0, borders, len(filled)])
    list(pool.map(task, borders[:-1].tolist(), borders[1:].tolist()))
