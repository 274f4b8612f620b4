"""The one reading of a source: documents and word ids to disk, distinct words in memory."""

from __future__ import annotations

import hashlib
import json
import time as clock
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.corpus import sources
from driftword.corpus.dates import DateReader, within_calendar
from driftword.corpus.id_stream import IdStream
from driftword.corpus.tokens import TokenRule
from driftword.errors import SourceError
from driftword.progress import Progress

_ROW_GROUP_BYTES: Final = 1 << 20  # what one passage has to read
_ROW, _DAY = "\0row", "\0day"  # columns of ours that no user's column can be called
_OURS: Final = ("text", "date", "slice", "document", "left", "keyword", "right")


@dataclass
class Reading:
    """Reads batches of rows; see `read`.

    Attributes
    ----------
    text, time
        The columns that hold text and time.
    words
        Distinct words in order of appearance; id 0 stands for a token that is dropped.
    stream
        The ids of all documents.
    report
        What was left out and why.
    """

    spool: Path
    rule: TokenRule
    time_format: str | None
    bar: Progress
    text: str = ""
    time: str = ""
    words: list[str] = field(default_factory=lambda: [""])
    report: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.dates = DateReader("date", self.time_format)
        self.stream = IdStream(self.spool)
        self.digest = hashlib.sha256()
        self._ids: dict[str, int] = {"": 0}
        self._raw: dict[str, int] = {}
        self._days: list[npt.NDArray[np.int32]] = []
        self._parts: list[tuple[Path, pl.Schema]] = []
        self._text_bytes = 0

    @property
    def days(self) -> npt.NDArray[np.int32]:
        """Date of each document, as days since 1970-01-01."""
        return np.concatenate(self._days)

    def read(self, source: sources.Source, text: str | None, time: str | None, *, skip_bad_dates: bool) -> None:
        """Read all rows; raise `SourceError` where they make no corpus."""
        rows = no_text = bad_dates = replaced = n_tokens = 0
        examples: list[tuple[int, Any]] = []
        self.bar.stage("reading", total=source.total_bytes or source.total_rows)
        started = clock.monotonic()
        for batch in source.batches():
            self._check_columns(source, batch, text, time)
            if not source.files:
                self._update_digest(batch)
            batch = batch.with_row_index(_ROW, offset=rows + 1)
            rows += batch.height
            no_text += batch.height
            batch = batch.filter(pl.col(self.text).str.contains(r"\S"))
            no_text -= batch.height
            days = self.dates.read(batch[self.time])
            bad = days.is_null()
            if bad.any():
                bad_dates += int(bad.sum())
                shown = batch.filter(bad).head(5 - len(examples))
                examples += zip(shown[_ROW], _as_text(shown[self.time]), strict=True)
            if bad_dates and not skip_bad_dates:
                continue  # nothing more to make: count the rest, then say so
            batch = batch.drop(_ROW).with_columns(days.alias(_DAY)).filter(~bad)
            if batch.height:
                replaced += int(batch[self.text].str.count_matches("\ufffd", literal=True).sum())
                n_tokens += self._add(batch)
            rate = n_tokens / max(clock.monotonic() - started, 1e-9)
            self.bar.update(
                done=source.notes.bytes_read if source.total_bytes else rows,
                facts=f"{rows:,} rows, {n_tokens / 1e6:.1f}M tokens, {rate / 1e6:.1f}M/s",
            )
        kept = sum(map(len, self._days))
        if rows == 0:
            raise SourceError("the source has no rows; it needs at least one document with a text and a date")
        if bad_dates and (not skip_bad_dates or not kept):
            raise self._bad_dates(source, bad_dates, examples, skipped=skip_bad_dates)
        if kept == 0:
            raise SourceError(f"all {rows:,} rows have an empty text; name another column with --text")
        self.report = {
            "rows": rows,
            "no_text": no_text,
            "bad_dates": bad_dates,
            "bad_date_examples": [[row, str(value)] for row, value in examples],
            "replaced_characters": replaced,
        }

    def _check_columns(self, source: sources.Source, batch: pl.DataFrame, text: str | None, time: str | None) -> None:
        if not self.text:
            self.text = sources.choose_column(text, batch.columns, role="text", usual=sources.TEXT_NAMES)
            self.time = sources.choose_column(time, batch.columns, role="time", usual=sources.TIME_NAMES)
            self.dates = DateReader(self.time, self.time_format)
        for name in (self.text, self.time):
            if name not in batch.columns:
                file = batch["file"][0] if "file" in batch.columns and batch.height else "a part of the source"
                raise SourceError(f"'{file}' has no column '{name}'; it has: {', '.join(batch.columns)}")
        kind = batch[self.text].dtype
        if kind == pl.Null:
            return
        if kind not in (pl.String, pl.Categorical, pl.Enum) or self.text in source.notes.nested:
            what = "lists or objects" if kind == pl.String else str(kind)
            raise SourceError(f"column '{self.text}' holds {what}, not text; name another with --text")

    def _bad_dates(
        self, source: sources.Source, count: int, examples: list[tuple[int, Any]], *, skipped: bool
    ) -> SourceError:
        if source.files and source.files[0].suffixes[:1] == [".txt"]:
            names = ", ".join(f"'{value}'" for _, value in examples)
            return SourceError(
                f"{count:,} of the files have no date in their name or folder ({names}); "
                "pass --time-from-name REGEX to say where it stands, or --skip-bad-dates to leave them out"
            )
        shown = ", ".join(f"row {row}: {_shown(value)}" for row, value in examples)
        some = "document has" if count == 1 else "documents have"
        remedy = "pass --skip-bad-dates to leave them out, or --time-format for a format of your own"
        if skipped:
            remedy = "not one could be used; name another column with --time, or pass --time-format"
        return SourceError(f"{count:,} {some} a date in column '{self.time}' that cannot be read ({shown}); {remedy}")

    def _update_digest(self, batch: pl.DataFrame) -> None:
        for text, time in zip(_as_text(batch[self.text]), _as_text(batch[self.time]), strict=True):
            self.digest.update(f"{text}\0{time}\0".encode())

    def _add(self, batch: pl.DataFrame) -> int:
        """Write one batch of documents and their ids."""
        texts = batch[self.text].cast(pl.String)
        tokens, lengths = self.rule.split(texts)
        codes = tokens.cast(pl.Categorical)
        distinct = codes.unique()
        number = np.array([self._id(raw) for raw in distinct.cast(pl.String)], dtype=np.uint32)
        lookup = np.zeros(int(distinct.to_physical().max() or 0) + 1, dtype=np.uint32)  # type: ignore[arg-type]
        lookup[distinct.to_physical().to_numpy()] = number
        self.stream.append(lookup[codes.to_physical().to_numpy()], lengths)
        self._days.append(batch[_DAY].to_physical().to_numpy().astype(np.int32))
        columns = [texts.alias("text"), batch[_DAY].alias("date")]
        taken = {*_OURS, *batch.columns}
        for name in batch.columns:
            if name in (self.text, _DAY) or (name == self.time == "date"):
                continue
            new = name
            while new in _OURS or (new != name and new in taken):
                new += "_"
            taken.add(new)
            columns.append(_storable(batch[name]).alias(new))
        frame = pl.DataFrame(columns)
        self._text_bytes += int(frame["text"].str.len_bytes().sum())
        path = self.spool / f"documents-{len(self._parts):06}.parquet"
        frame.write_parquet(path, compression="lz4")
        self._parts.append((path, frame.schema))
        return len(tokens)

    def _id(self, raw: str) -> int:
        number = self._raw.get(raw)
        if number is None:
            word = self.rule.spell(raw)
            number = self._ids.get(word)
            if number is None:
                number = self._ids[word] = len(self.words)
                self.words.append(word)
            self._raw[raw] = number
        return number

    def store_documents(self, path: Path, label: Callable[[pl.Series], pl.Series]) -> None:
        """Join the parts into one table; `label` names the slice of days, null for documents to leave out."""
        kinds: dict[str, set[pl.DataType]] = {}
        for _, schema in self._parts:
            for name, kind in schema.items():
                kinds.setdefault(name, set()).update({kind} - {pl.Null()})
        mixed = [name for name, found in kinds.items() if len(found) > 1]  # files that disagree: as text
        frames = [
            pl.scan_parquet(part, glob=False).with_columns(
                pl.col(name).cast(pl.String) for name in mixed if name in schema
            )
            for part, schema in self._parts
        ]
        frame = pl.concat(frames, how="diagonal_relaxed")
        slices = pl.col("date").map_batches(label, return_dtype=pl.String, is_elementwise=True)
        frame = frame.with_columns(slices.alias("slice")).filter(pl.col("slice").is_not_null())
        first = ["text", "date", "slice"]
        rows = max(1, sum(map(len, self._days)) * _ROW_GROUP_BYTES // max(self._text_bytes, 1))
        frame = frame.select(*first, *(name for name in kinds if name not in first))
        frame.sink_parquet(path, row_group_size=rows, maintain_order=True)


def _storable(values: pl.Series) -> pl.Series:
    """Return a column that Parquet, CSV and Python can hold; lists and objects become JSON."""
    kind = values.dtype
    if kind in (pl.Date, pl.Datetime):
        return within_calendar(values)
    if kind == pl.Duration:
        return values.dt.to_string("polars")
    if kind.is_nested() or kind in (pl.Object, pl.Binary):
        texts = [None if v is None else json.dumps(v, ensure_ascii=False, default=str) for v in values.to_list()]
        return pl.Series(values.name, texts, dtype=pl.String)
    return values


def _as_text(values: pl.Series) -> list[str | None]:
    if values.dtype in (pl.Date, pl.Datetime):
        values = within_calendar(values)
    if values.dtype.is_nested() or values.dtype == pl.Object:
        return [None if value is None else str(value) for value in values.to_list()]
    return values.cast(pl.String, strict=False).to_list()


def _shown(value: str | None) -> str:
    return "empty" if value is None or value == "" else f"'{value[:40]}'"
