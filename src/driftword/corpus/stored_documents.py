"""The documents of a stored corpus: a table in one file, or in several that are read as one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import IO

import polars as pl


class StoredDocuments:
    """Chosen columns of documents in open files, of which `ends` says how many are in each file and those before it."""

    def __init__(self, files: list[IO[bytes]], ends: Sequence[int], columns: pl.Expr) -> None:
        self._files, self._borders, self._columns = files, list(pairwise([0, *ends])), columns

    @cached_property
    def _parts(self) -> list[pl.LazyFrame]:  # kept, or the list of what a file holds would be read again and again
        return [pl.scan_parquet(file).select(self._columns) for file in self._files]

    def __len__(self) -> int:
        return self._borders[-1][1]

    @property
    def frame(self) -> pl.LazyFrame:
        """All of them."""
        if len({type(file) for file in self._files}) > 1:  # Polars takes no file in memory beside others
            return pl.concat(self._parts)
        return pl.scan_parquet(self._files).select(self._columns)

    def rows(self, first: int, number: int) -> pl.LazyFrame:
        """Return adjacent documents. A slice of `frame` holds the same, and reads the lists of all files before it."""
        last = first + number
        found = [
            part.slice(max(first - begin, 0), min(last, end) - max(first, begin))
            for part, (begin, end) in zip(self._parts, self._borders, strict=True)
            if begin < last and first < end
        ]
        return pl.concat(found) if found else self._parts[0].head(0)
