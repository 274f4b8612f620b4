"""The documents of a stored corpus: a table in one file, or in several that are read as one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import IO, Final

import polars as pl

ONE_BY_ONE: Final = pl.QueryOptFlags(comm_subplan_elim=False)


class StoredDocuments:
    """Chosen columns of documents in open files, of which `ends` says how many are in each file and those before it."""

    def __init__(self, files: list[IO[bytes]], ends: Sequence[int], columns: pl.Expr) -> None:
        self._files, self._borders, self._columns = files, list(pairwise([0, *ends])), columns

    @cached_property
    def _parts(self) -> list[pl.LazyFrame]:  # kept, or the list of what a file holds would be read again and again
        return [pl.scan_parquet(file) for file in self._files]

    def __len__(self) -> int:
        return self._borders[-1][1]

    @property
    def frame(self) -> pl.LazyFrame:
        """All of them."""
        if len({type(file) for file in self._files}) > 1:  # Polars takes no file in memory beside others
            return pl.concat([part.select(self._columns) for part in self._parts])
        return pl.scan_parquet(self._files).select(self._columns)

    def rows(self, first: int, number: int) -> pl.LazyFrame:
        """Return adjacent documents. A slice of `frame` holds the same, and reads the lists of all files before it."""
        last = first + number
        found = [
            part.slice(max(first - begin, 0), min(last, end) - max(first, begin)).select(self._columns)
            for part, (begin, end) in zip(self._parts, self._borders, strict=True)
            if begin < last and first < end
        ]
        return pl.concat(found) if found else self._parts[0].head(0).select(self._columns)

    def each(self, documents: Sequence[int]) -> pl.DataFrame:
        """Read documents that are far apart, one by one.

        What their plans have in common is a whole file: Polars must not read that once for all of them.
        """
        plans = [self.rows(0, 0), *(self.rows(i, 1) for i in documents)]
        return pl.concat(pl.collect_all(plans, optimizations=ONE_BY_ONE))
