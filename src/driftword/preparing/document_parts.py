"""The documents of a corpus while it is prepared: tables of some of them each, in files, one after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics.polars_faults import POLARS_ERRORS
from driftword.corpus.slices import Slices
from driftword.sources.dates import within_calendar
from driftword.sources.json_files import as_text
from driftword.storage.shards import shard_names

NAME: Final = "documents"
#: Bytes of text that a file of a corpus has: a share of all, but not so few that there are more files than work.
LEAST_BYTES = 256 << 20
SHARES: Final = 256
_OURS: Final = ("text", "date", "slice", "document", "left", "keyword", "right")
#: What one passage has to read: more of long texts, whose list of row groups must not become long, too.
_ROW_GROUP_BYTES: Final = (1 << 18, 1 << 20)
_ROW_GROUPS: Final = 1 << 12


@dataclass(frozen=True)
class DocumentTable:
    """A file of documents that is to be written: adjacent ones, those outside the slices left out."""

    name: str
    pieces: tuple[tuple[Path, int, int], ...]  # of files that were read: the first row, and how many
    schema: Mapping[str, pl.DataType]
    group_rows: int
    slices: Slices

    def write(self, path: Path) -> None:
        """Write it, with the labels of the slices."""

        def label(days: pl.Series) -> pl.Series:
            slice_of = self.slices.find(days.to_physical().to_numpy())
            return pl.Series([None if t < 0 else self.slices.labels[t] for t in slice_of], dtype=pl.String)

        labels = pl.col("date").map_batches(label, return_dtype=pl.String, is_elementwise=True)
        frame = pl.concat([self._read(*piece) for piece in self.pieces]).with_columns(labels.alias("slice"))
        columns = [name for name in self.schema if name not in ("text", "date")]
        frame.filter(pl.col("slice").is_not_null()).select("text", "date", "slice", *columns).sink_parquet(
            path, row_group_size=self.group_rows, maintain_order=True
        )

    def _read(self, path: Path, first: int, rows: int) -> pl.LazyFrame:
        """Return rows of a file with the columns that all have."""
        found = pl.scan_parquet(path, glob=False)
        here = found.collect_schema()
        columns = [
            (pl.col(name) if name in here else pl.lit(None)).cast(kind).alias(name)
            for name, kind in self.schema.items()
            if here.get(name) != kind
        ]
        return found.slice(first, rows).with_columns(columns).select(*self.schema)


class DocumentParts:
    """Files of documents, in order, with the number of rows of each, and how long the texts are in all.

    `schemas` has every schema that some of them have.
    """

    def __init__(
        self, paths: Sequence[Path], rows: Sequence[int], schemas: Sequence[pl.Schema], *, text_bytes: int
    ) -> None:
        self._paths, self._rows, self._text_bytes = list(paths), list(rows), text_bytes
        kinds: dict[str, set[pl.DataType]] = {}
        for schema in schemas:
            for name, kind in schema.items():
                kinds.setdefault(name, set()).update({kind} - {pl.Null()})
        # Where files disagree, all values become text.
        self._schema = {
            name: pl.String() if len(found) > 1 else next(iter(found), pl.Null()) for name, found in kinds.items()
        }

    @property
    def columns(self) -> list[str]:
        """The columns of the documents besides text and date."""
        return [name for name in self._schema if name not in ("text", "date")]

    def divide(self, slices: Slices, inside: npt.NDArray[np.bool_]) -> list[DocumentTable]:
        """Divide the documents inside the slices into the files of a corpus, whoever writes these.

        All have the same number of documents, or one less. That number depends on the documents alone, not on the
        files that hold them here.
        """
        chosen, size = np.flatnonzero(inside), max(self._text_bytes, 1)
        least, most = _ROW_GROUP_BYTES
        group_bytes = min(max(self._text_bytes // _ROW_GROUPS, least), most)
        group_rows, rows = (
            max(1, len(inside) * wanted // size) for wanted in (group_bytes, max(size // SHARES, LEAST_BYTES))
        )
        number = -(-len(chosen) // rows)
        ends = np.r_[0, np.cumsum(self._rows)]
        tables = []
        for name, borders in zip(shard_names(NAME, number), pairwise(range(number + 1)), strict=True):
            begin, end = (len(chosen) * border // number for border in borders)
            first, last = int(chosen[begin]), int(chosen[end - 1]) + 1
            pieces = []
            for i in range(int(np.searchsorted(ends, first, side="right")) - 1, int(np.searchsorted(ends, last))):
                low, high = max(first, int(ends[i])), min(last, int(ends[i + 1]))
                if high > low:
                    pieces.append((self._paths[i], low - int(ends[i]), high - low))
            tables.append(DocumentTable(f"{name}.parquet", tuple(pieces), self._schema, group_rows, slices))
        return tables


def look_at(paths: Sequence[Path]) -> tuple[list[int], list[pl.Schema]]:
    """Return how many rows files have, and every schema that some of them have."""
    rows, schemas = [], []
    for path in paths:
        found = pl.scan_parquet(path, glob=False)
        rows.append(int(found.select(pl.len()).collect().item()))
        if (schema := found.collect_schema()) not in schemas:
            schemas.append(schema)
    return rows, schemas


def stored_columns(batch: pl.DataFrame, used: Collection[str]) -> Iterator[pl.Series]:
    """Yield the columns of a source as they are stored, each under a name that is free, except those that are used."""
    taken = {*_OURS, *batch.columns}
    for column in batch:
        if column.name in used:
            continue
        free = column.name
        while free in _OURS or _is_pattern(free) or (free != column.name and free in taken):
            free += "_"
        taken.add(free)
        yield _storable(column.alias("values")).alias(free)


def _is_pattern(name: str) -> bool:
    """Tell whether Polars would take a name for a pattern of names."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def _storable(values: pl.Series) -> pl.Series:
    """Return a column that Parquet, CSV and Python can hold; lists and objects become JSON."""
    kind = values.dtype
    if kind in (pl.Date, pl.Datetime):
        return within_calendar(values)
    if kind == pl.Duration:
        return values.dt.to_string("polars")
    if kind.is_nested() or kind in (pl.Object, pl.Binary):
        return pl.Series(values.name, [as_text(value, as_json=True) for value in to_list(values)], dtype=pl.String)
    return values


def to_list(values: pl.Series) -> list[Any]:
    """Return the values of a column; null for those that Python cannot hold, such as lists of dates after 9999."""
    unheld = (ValueError, OverflowError, *POLARS_ERRORS)
    try:
        return values.to_list()
    except unheld:
        if len(values) == 1:
            return [None]
        return [value for i in range(len(values)) for value in to_list(values.slice(i, 1))]
