"""One pass over a source: documents and word ids to disk, distinct words in memory."""

from __future__ import annotations

import hashlib
import json
import time as clock
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics.errors import SourceError
from driftword.basics.polars_faults import POLARS_ERRORS
from driftword.basics.progress import Progress
from driftword.corpus.preparation_report import PreparationReport
from driftword.corpus.tokens import TokenRule
from driftword.preparing.document_parts import DocumentParts
from driftword.preparing.id_stream import IdStream
from driftword.preparing.languages import LanguageFilter, LanguageSample
from driftword.preparing.reading_tally import EXAMPLES, Tally, shown_value
from driftword.preparing.workers import Workers
from driftword.sources import limits
from driftword.sources.dates import DateReader, within_calendar
from driftword.sources.json_files import as_text
from driftword.sources.opening import TEXT_NAMES, TIME_NAMES, Source, choose_column, is_words, listed

_PIECE_BYTES: Final = 1 << 21  # of text that one thread splits at a time
_NO_ID: Final = np.uint32(0xFFFFFFFF)
_OURS: Final = ("text", "date", "slice", "document", "left", "keyword", "right")


@dataclass(frozen=True)
class _Encoded:
    """The tokens of some texts."""

    ids: npt.NDArray[np.uint32]
    unknown: npt.NDArray[np.int64]  # positions of those whose ids were not known yet
    numbers: npt.NDArray[np.uint32]  # of these tokens
    lengths: npt.NDArray[np.int64]  # how many tokens each text has


class Ingestion:
    """Reads batches of rows; see `read`.

    Attributes
    ----------
    text, time
        The columns that hold text and time.
    rule
        How text is split; lists of words are noticed in the source.
    words
        Distinct words in order of appearance; id 0 means a token that is dropped.
    stream
        The ids of all documents.
    digest
        Hash of the rows, where they come from no file.
    """

    def __init__(
        self,
        spool: Path,
        rule: TokenRule,
        *,
        time_format: str | None = None,
        language: LanguageFilter | None = None,
        workers: Workers | None = None,
        bar: Progress | None = None,
    ) -> None:
        self.rule = rule
        self.text = self.time = ""
        self.words = [""]
        self.stream = IdStream(spool)
        self.digest = hashlib.sha256()
        self._spool = spool
        self._dates = DateReader("date", time_format)
        self._language = language
        self._workers, self._bar = workers or Workers(1), bar or Progress()
        self._sample = LanguageSample()
        self._ids: dict[str, int] = {"": 0}
        self._categories = pl.Categories.random()  # raw tokens, numbered as they are found
        self._kept = pl.Series(
            [""], dtype=pl.Categorical(self._categories)
        )  # numbers last as long as a column has them
        self._id_of_token = np.zeros(0, dtype=np.uint32)
        self._writing: Future[None] | None = None
        self._days: list[npt.NDArray[np.int32]] = []
        self._parts: list[Path] = []
        self._text_bytes = 0
        self._settled = False  # whether the rule is that of earlier rows

    @property
    def days(self) -> npt.NDArray[np.int32]:
        """Date of each document, as days since 1970-01-01."""
        return np.concatenate(self._days) if self._days else np.zeros(0, dtype=np.int32)

    @property
    def documents(self) -> DocumentParts:
        """The documents in files of the spool."""
        return DocumentParts(self._parts, sum(map(len, self._days)), self._text_bytes)

    def begin_as(self, text: str, time: str, rule: TokenRule) -> None:
        """Take columns and rule from the beginning of a source, of which this reads a part."""
        self.text, self.time, self.rule, self._settled = text, time, rule, True
        self._dates = replace(self._dates, column=time)

    def look(self, source: Source, text: str | None, time: str | None) -> None:
        """Look at the first rows only: which columns hold text and time, and how text is split."""
        batch = next(source.batches(), None)
        if batch is not None:
            self._check_columns(source, batch, text, time)

    def read(self, source: Source, text: str | None, time: str | None, *, skip_bad_dates: bool) -> PreparationReport:
        """Read all rows and return what was left out; raise `SourceError` if they cannot make a corpus."""
        tally = self.read_rows(source, text, time, skip_bad_dates=skip_bad_dates)
        language = self._language.language if self._language else None
        tally.check(self._dates, skip_bad_dates=skip_bad_dates, language=language, named_files=source.named_files)
        report = tally.report()
        return report if self._language else replace(report, language_sample=self._sample.languages())

    def read_rows(self, source: Source, text: str | None, time: str | None, *, skip_bad_dates: bool) -> Tally:
        """Read all rows, which may be a part of a larger source, and return what was counted."""
        tally = Tally()
        self._bar.stage("reading", total=source.total_bytes or source.total_rows)
        started = clock.monotonic()
        texts = self._texts(source, text, time, tally, skip_bad_dates=skip_bad_dates)
        # A user's tokenizer may not like threads.
        encoded = map(self._encode, texts) if self.rule.custom else self._workers.map(self._encode, texts)
        n_tokens = 0
        for part in encoded:
            self.stream.append(self._complete(part), part.lengths)
            n_tokens += len(part.ids)
            rate = n_tokens / max(clock.monotonic() - started, 1e-9)
            self._bar.update(
                done=source.state.bytes_read if source.total_bytes else tally.rows,
                facts=f"{tally.rows:,} rows, {n_tokens / 1e6:.1f}M tokens, {rate / 1e6:.1f}M/s",
            )
        self._finish_writing()
        tally.notice(source.state)
        tally.documents = sum(map(len, self._days))
        tally.magnitudes.update(self._dates.magnitudes)
        if self._language:
            tally.other_languages.update(self._language.others)
        return tally

    def _texts(
        self, source: Source, text: str | None, time: str | None, tally: Tally, *, skip_bad_dates: bool
    ) -> Iterator[pl.Series]:
        """Read batches of rows; keep what they say of documents, and yield the texts, a few at a time."""
        for batch in source.batches():
            self._check_columns(source, batch, text, time)
            if not source.files:
                self._update_digest(batch)
            batch = self._with_texts(batch)
            self._check_lengths(batch, tally.rows)
            numbers = pl.Series(range(tally.rows + 1, tally.rows + batch.height + 1))
            has_text = self._has_text(batch[self.text])
            tally.rows += batch.height
            batch, numbers = batch.filter(has_text), numbers.filter(has_text)
            tally.no_text += len(has_text) - batch.height
            days = self._dates.read(batch[self.time])
            bad = days.is_null()
            if bad.any():
                tally.bad_dates += int(bad.sum())
                shown = batch[self.time].filter(bad).head(EXAMPLES - len(tally.examples))
                tally.examples += zip(numbers.filter(bad), _as_text(shown), strict=False)
            if tally.bad_dates and not skip_bad_dates:
                continue  # there will be no corpus: only count the rest for the error
            batch, days = batch.filter(~bad), days.filter(~bad)
            if self._language is not None and batch.height:
                chosen = self._language.select(self._as_written(batch))
                batch, days = batch.filter(chosen), days.filter(chosen)
            if batch.height:
                tally.replaced += int(self._as_written(batch).str.count_matches("\ufffd", literal=True).sum())
                self._days.append(days.to_physical().to_numpy().astype(np.int32))
                self._spool_documents(batch, days)
                texts = _plainly_named(batch[self.text])
                rows = max(1, texts.len() * _PIECE_BYTES // max(int(texts.estimated_size()), 1))
                yield from (texts.slice(first, rows) for first in range(0, texts.len(), rows))

    def _check_columns(self, source: Source, batch: pl.DataFrame, text: str | None, time: str | None) -> None:
        if not self.text:
            self.text = choose_column(text, batch.columns, role="text", usual=TEXT_NAMES)
            self.time = choose_column(time, batch.columns, role="time", usual=TIME_NAMES)
            self._dates = replace(self._dates, column=self.time)
            limits.check_columns(source.name, batch.width)
        for name in (self.text, self.time):
            if name not in batch.columns:
                file = f"'{batch['file'][0]}'" if "file" in batch.columns and batch.height else "A part of the source"
                raise SourceError(f"{file} has no column '{name}'; it has: {listed(batch.columns)}")
        self._dates.check_type(batch[self.time].dtype)
        kind = batch[self.text].dtype
        nested = isinstance(kind, pl.List | pl.Array) or self.text in source.state.nested
        if nested and self.rule.kind == "words" and not (self._days or self._settled):
            self.rule = TokenRule("list")  # the default is for text, and this is already split
        if nested and self.rule.kind != "list":
            raise SourceError(f"Column '{self.text}' holds lists; if they are lists of words, pass `tokens=\"list\"`")
        if not (nested or kind in (pl.String, pl.Categorical, pl.Enum, pl.Null)):
            raise SourceError(f"Column '{self.text}' holds {kind}, not text; name another with `text`")

    def _check_lengths(self, batch: pl.DataFrame, rows_before: int) -> None:
        """Refuse a document with more text than may be read, and any other cell that is as long."""
        for name in batch.columns:
            values = _plainly_named(batch[name])
            if values.dtype in (pl.String, pl.Binary):
                lengths = values.str.len_bytes() if values.dtype == pl.String else values.bin.size()
            elif name == self.text:  # lists of words
                lengths = values.list.eval(pl.element().str.len_bytes()).list.sum()
            else:
                continue
            if (longest := lengths.arg_max()) is not None and lengths[longest] > limits.LONGEST_DOCUMENT:
                row = f"Row {rows_before + longest + 1}"
                if self._settled:  # rows are counted in this part alone
                    row = f"A document in '{batch['file'][longest]}'" if "file" in batch.columns else "A document"
                raise limits.too_long(f"{row} (column '{name}')")

    def _with_texts(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return the batch with its texts as strings, or as lists of strings where they are split already."""
        texts = batch[self.text]
        if self.rule.kind != "list":
            return batch.with_columns(texts.cast(pl.String))
        if not isinstance(texts.dtype, pl.List | pl.Array):
            texts = pl.Series(self.text, [self._decoded(text) for text in texts.cast(pl.String)], pl.List(pl.String))
        inner = texts.dtype.inner  # type: ignore[attr-defined]
        if inner not in (pl.String, pl.Categorical, pl.Enum, pl.Null):
            raise SourceError(f"Column '{self.text}' holds lists of {inner}, not of words; name another with `text`")
        return batch.with_columns(texts.cast(pl.List(pl.String)))

    def _decoded(self, text: str | None) -> list[str] | None:
        """Return the words of a list that is written as JSON."""
        if text is None or not text.strip():
            return None
        try:
            words = json.loads(text)
        except (ValueError, RecursionError):
            words = None
        if not is_words(words):
            raise SourceError(
                f"Column '{self.text}' holds {shown_value(text)}, which is not a list of words; name another column "
                "with `text`, or leave `tokens` out if it holds plain text"
            )
        return list(words)

    def _has_text(self, texts: pl.Series) -> pl.Series:
        texts = _plainly_named(texts)
        if self.rule.kind == "list":
            texts = texts.list.join("", ignore_nulls=True)
        return texts.str.contains(r"\S").fill_null(value=False)

    def _as_written(self, batch: pl.DataFrame) -> pl.Series:
        """Return the texts as they are stored: those that are lists of words with spaces between them."""
        texts = _plainly_named(batch[self.text])
        return texts.list.join(" ", ignore_nulls=True) if self.rule.kind == "list" else texts

    def _update_digest(self, batch: pl.DataFrame) -> None:
        for text, time in zip(_as_text(batch[self.text]), _as_text(batch[self.time]), strict=True):
            self.digest.update(f"{text}\0{time}\0".encode())

    def _encode(self, texts: pl.Series) -> _Encoded:
        """Split some texts into raw tokens, and look up the ids of those that are known."""
        tokens, lengths = self.rule.split(texts)
        numbers = tokens.cast(pl.Categorical(self._categories)).to_physical().to_numpy()
        known = self._id_of_token  # it may be replaced by a longer one meanwhile
        ids = np.full(len(numbers), _NO_ID)
        inside = numbers < len(known)
        ids[inside] = known[numbers[inside]]
        unknown = np.flatnonzero(ids == _NO_ID)
        return _Encoded(ids, unknown, numbers[unknown], lengths)

    def _complete(self, encoded: _Encoded) -> npt.NDArray[np.uint32]:
        """Return the ids of all tokens of some texts; those that are new are spelled."""
        ids, numbers = encoded.ids, encoded.numbers
        if len(numbers):
            most, length = int(numbers.max()) + 1, len(self._id_of_token)
            if most > length:
                self._id_of_token = np.concatenate([self._id_of_token, np.full(max(most, 2 * length) - length, _NO_ID)])
            fresh = np.unique(numbers[self._id_of_token[numbers] == _NO_ID]).tolist()
            # In the order of the alphabet: how tokens are numbered depends on which thread was first.
            for raw, number in sorted((str(self._categories[number]), number) for number in fresh):
                self._id_of_token[number] = self._id(raw)
            ids[encoded.unknown] = self._id_of_token[numbers]
        return ids

    def _spool_documents(self, batch: pl.DataFrame, days: pl.Series) -> None:
        """Write one batch of documents with all their columns, each under a name that is free."""
        texts = self._as_written(batch)
        if self._language is None:
            self._sample.add(texts)
        columns = [texts.alias("text"), days.alias("date")]
        taken = {*_OURS, *batch.columns}
        for name in batch.columns:
            if name == self.text or (name == self.time == "date"):
                continue
            free = name
            while free in _OURS or _is_pattern(free) or (free != name and free in taken):
                free += "_"
            taken.add(free)
            columns.append(_storable(_plainly_named(batch[name])).alias(free))
        frame = pl.DataFrame({column.name: column for column in columns})
        self._text_bytes += int(frame["text"].str.len_bytes().sum())
        path = self._spool / f"documents-{len(self._parts):06}.parquet"
        self._finish_writing()
        self._writing = self._workers.submit(_write_documents, frame, path)
        self._parts.append(path)

    def _finish_writing(self) -> None:
        """Wait for the last documents to be written, beside which the next ones were read."""
        if self._writing is not None:
            self._writing.result()

    def _id(self, raw: str) -> int:
        word = self.rule.spell(raw)
        number = self._ids.get(word)
        if number is None:
            number = self._ids[word] = len(self.words)
            self.words.append(word)
        return number


def _write_documents(frame: pl.DataFrame, path: Path) -> None:
    frame.write_parquet(path, compression="lz4")


def _is_pattern(name: str) -> bool:
    """Tell whether Polars would take a name for a pattern of names."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def _plainly_named(values: pl.Series) -> pl.Series:
    """Return a column under a name that is certainly no pattern."""
    return values.alias("values")


def _storable(values: pl.Series) -> pl.Series:
    """Return a column that Parquet, CSV and Python can hold; lists and objects become JSON."""
    kind = values.dtype
    if kind in (pl.Date, pl.Datetime):
        return within_calendar(values)
    if kind == pl.Duration:
        return values.dt.to_string("polars")
    if kind.is_nested() or kind in (pl.Object, pl.Binary):
        return pl.Series(values.name, [as_text(value, as_json=True) for value in _to_list(values)], dtype=pl.String)
    return values


def _to_list(values: pl.Series) -> list[Any]:
    """Return the values of a column; null for those that Python cannot hold, such as lists of dates after 9999."""
    unheld = (ValueError, OverflowError, *POLARS_ERRORS)
    try:
        return values.to_list()
    except unheld:
        listed: list[Any] = []
        for i in range(len(values)):
            try:
                listed += values.slice(i, 1).to_list()
            except unheld:
                listed.append(None)
        return listed


def _as_text(values: pl.Series) -> list[str | None]:
    values = _plainly_named(values)
    kind = values.dtype
    if kind in (pl.Date, pl.Datetime):
        texts = within_calendar(values).cast(pl.String)
        outside = values.is_not_null() & texts.is_null()
        return texts.set(outside, "outside the years 1 to 9999").to_list()
    if kind.is_numeric() or kind in (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Null):
        return values.cast(pl.String, strict=False).to_list()
    return [None if value is None else str(value) for value in _to_list(values)]
