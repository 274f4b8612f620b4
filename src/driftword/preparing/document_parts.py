"""The documents of a corpus while it is prepared: tables of some of them each, in files, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

import polars as pl
import polars.selectors as cs

from driftword.corpus.slices import Slices

_ROW_GROUP_BYTES: Final = 1 << 20  # what one passage has to read


class DocumentParts:
    """Files with the documents that were read, in order.

    Parameters
    ----------
    paths
        The files.
    documents, text_bytes
        How many documents they hold, and how long their texts are together.
    """

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
        """Store the documents that lie in the slices as one table, with the labels of these."""

        def label(days: pl.Series) -> pl.Series:
            slice_of = slices.find(days.to_physical().to_numpy())
            return pl.Series([None if t < 0 else slices.labels[t] for t in slice_of], dtype=pl.String)

        kinds: dict[str, set[pl.DataType]] = {}
        for schema in self._schemas:
            for name, kind in schema.items():
                kinds.setdefault(name, set()).update({kind} - {pl.Null()})
        mixed = [name for name, types in kinds.items() if len(types) > 1]  # where files disagree: as text
        frames = [
            pl.scan_parquet(part, glob=False).with_columns(
                cs.by_name(*(name for name in mixed if name in schema)).cast(pl.String)
            )
            for part, schema in zip(self.paths, self._schemas, strict=True)
        ]
        frame = pl.concat(frames, how="diagonal_relaxed")
        labels = pl.col("date").map_batches(label, return_dtype=pl.String, is_elementwise=True)
        frame = frame.with_columns(labels.alias("slice")).filter(pl.col("slice").is_not_null())
        first = ["text", "date", "slice"]
        rows = max(1, self.documents * _ROW_GROUP_BYTES // max(self.text_bytes, 1))
        frame = frame.select(*first, *(name for name in kinds if name not in first))
        frame.sink_parquet(path, row_group_size=rows, maintain_order=True)
