"""The documents of a corpus while it is prepared: tables of some of them each, in files, one after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl
import polars.selectors as cs

from driftword.basics.polars_faults import POLARS_ERRORS
from driftword.corpus.slices import Slices
from driftword.sources.dates import within_calendar
from driftword.sources.json_files import as_text

_OURS: Final = ("text", "date", "slice", "document", "left", "keyword", "right")
#: What one passage has to read: more of long texts, whose list of row groups must not become long, too.
_ROW_GROUP_BYTES: Final = (1 << 18, 1 << 20)
_ROW_GROUPS: Final = 1 << 12


class DocumentParts:
    """Files of documents, in order; how many documents they hold, and how long the texts are in all."""

    def __init__(self, paths: Sequence[Path], documents: int, text_bytes: int) -> None:
        self.paths, self.documents, self.text_bytes = list(paths), documents, text_bytes

    @cached_property
    def _schemas(self) -> list[pl.Schema]:
        return [pl.scan_parquet(path, glob=False).collect_schema() for path in self.paths]

    @property
    def columns(self) -> list[str]:
        """The columns of the documents besides text and date."""
        names = dict.fromkeys(name for schema in self._schemas for name in schema)
        return [name for name in names if name not in ("text", "date")]

    def store(self, path: Path, slices: Slices) -> None:
        """Store the documents dated within the slices as one table, with the labels of their slices."""

        def label(days: pl.Series) -> pl.Series:
            slice_of = slices.find(days.to_physical().to_numpy())
            return pl.Series([None if t < 0 else slices.labels[t] for t in slice_of], dtype=pl.String)

        kinds: dict[str, set[pl.DataType]] = {}
        for schema in self._schemas:
            for name, kind in schema.items():
                kinds.setdefault(name, set()).update({kind} - {pl.Null()})
        mixed = [name for name, types in kinds.items() if len(types) > 1]  # where files disagree: as text
        frames = [
            pl.scan_parquet(part, glob=False).with_columns(cs.by_name(*mixed, require_all=False).cast(pl.String))
            for part in self.paths
        ]
        frame = pl.concat(frames, how="diagonal_relaxed")
        labels = pl.col("date").map_batches(label, return_dtype=pl.String, is_elementwise=True)
        frame = frame.with_columns(labels.alias("slice")).filter(pl.col("slice").is_not_null())
        least, most = _ROW_GROUP_BYTES
        group_bytes = min(max(self.text_bytes // _ROW_GROUPS, least), most)
        rows = max(1, self.documents * group_bytes // max(self.text_bytes, 1))
        frame.select("text", "date", "slice", *self.columns).sink_parquet(
            path, row_group_size=rows, maintain_order=True
        )


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
