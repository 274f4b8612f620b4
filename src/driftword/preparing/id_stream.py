"""A long sequence of word ids on disk, read and written in batches of whole documents.

Preparation passes over the corpus several times. With the ids in a plain file and
ordinary reads (not a memory map, whose pages would count as ours), memory is the
same for any number of documents.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from driftword.basics.system_calls import MOVES_OPEN_FILES

BATCH_TOKENS: Final = 1 << 19

#: The ids of some whole documents, and how many each document has.
Documents = tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]


class Batch(NamedTuple):
    """Some whole documents of a stream, as kernels take them."""

    ids: npt.NDArray[np.uint32]
    ends: npt.NDArray[np.int64]  # of each document among them
    first: int  # number of the first document

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """How many ids each document has."""
        return np.diff(self.ends, prepend=0)


class IdStream:
    """Ids of all documents, one after the other, and how many each document has.

    Its file, and those of streams made of it, are in `folder`. A saved stream is read from its own file, given the
    lengths of its documents.
    """

    def __init__(self, folder: Path, saved: Path | None = None, lengths: npt.NDArray[np.int64] | None = None) -> None:
        self.folder = folder
        # It has no name and is gone with the process. On Windows it has one, and `folder` could not be removed.
        place = folder if MOVES_OPEN_FILES else None
        self._file: IO[Any] = saved.open("rb") if saved else tempfile.TemporaryFile(dir=place)  # noqa: SIM115
        self._lengths = [np.zeros(0, dtype=np.int64) if lengths is None else lengths]
        self._counts: npt.NDArray[np.int64] | None = None

    def save(self, path: Path) -> None:
        """Write the ids to a file."""
        self._file.seek(0)
        with path.open("wb") as file:
            shutil.copyfileobj(self._file, file, 1 << 22)

    def append(self, ids: npt.NDArray[np.uint32], lengths: npt.NDArray[np.int64]) -> None:
        """Add whole documents."""
        self._file.seek(0, 2)
        self._file.write(np.ascontiguousarray(ids, dtype=np.uint32).data)
        self._lengths.append(np.asarray(lengths, dtype=np.int64))
        self._counts = None

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """How many ids each document has."""
        return np.concatenate(self._lengths)

    def batches(self) -> Iterator[Batch]:
        """Yield the documents, a batch at a time."""
        ends = np.cumsum(self.lengths)
        begin = start = 0
        while begin < len(ends):
            stop = max(int(np.searchsorted(ends, start + BATCH_TOKENS, side="right")), begin + 1)
            self._file.seek(4 * start)
            ids = np.fromfile(self._file, dtype=np.uint32, count=int(ends[stop - 1]) - start)
            yield Batch(ids, ends[begin:stop] - start, begin)
            begin, start = stop, int(ends[stop - 1])

    def counts(self, n_ids: int) -> npt.NDArray[np.int64]:
        """Count how often each id occurs."""
        from driftword.corpus import token_kernels as kernels  # Numba loads only where it is used

        if self._counts is None:
            self._counts = np.zeros(n_ids, dtype=np.int64)
            for batch in self.batches():
                kernels.add_counts(batch.ids, self._counts)
        return padded(self._counts, n_ids)

    def replace(self, documents: Iterable[Documents]) -> IdStream:
        """Return a stream of documents made of the batches of this one, and close this one."""
        replaced = IdStream(self.folder)
        for ids, lengths in documents:
            replaced.append(ids, lengths)
        self.close()
        return replaced

    def map(self, new_id: npt.NDArray[np.uint32]) -> IdStream:
        """Return the stream with every id replaced, and close this one."""
        return self.replace((new_id[batch.ids], batch.lengths) for batch in self.batches())

    def select(self, wanted: npt.NDArray[np.bool_]) -> IdStream:
        """Return the stream of some of the documents, and close this one if it has others."""
        if wanted.all():
            return self
        here = ((batch, wanted[batch.first : batch.first + len(batch.ends)]) for batch in self.batches())
        return self.replace((batch.ids[np.repeat(kept, batch.lengths)], batch.lengths[kept]) for batch, kept in here)

    def close(self) -> None:
        """Free the disk space."""
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


def padded(counts: npt.NDArray[np.int64], n_ids: int) -> npt.NDArray[np.int64]:
    """Return a copy of the counts with zeros for the ids of words that have joined since they were counted."""
    return np.pad(counts, (0, n_ids - len(counts)))
