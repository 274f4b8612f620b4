"""One pass over a source: documents and word ids to disk, distinct words in memory."""

from __future__ import annotations

import hashlib
import json
import time as clock
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics.errors import OptionError, SourceError
from driftword.basics.progress import Progress
from driftword.basics.workers import Workers
from driftword.corpus.lemmas import check_languages, language_for_lemmas
from driftword.corpus.options import ANNOTATED, FORM, LEMMA, LEMMA_POS
from driftword.corpus.preparation_report import PreparationReport
from driftword.corpus.tokens import TokenRule
from driftword.preparing.document_parts import stored_columns, to_list
from driftword.preparing.id_stream import IdStream
from driftword.preparing.languages import SAMPLED_CHARACTERS, LanguageFilter, LanguageSample, count_languages
from driftword.preparing.reading_tally import EXAMPLES, Tally, shown_value
from driftword.preparing.text_stages import ReadingRequest
from driftword.sources import limits
from driftword.sources.annotated_text import ANNOTATION
from driftword.sources.dates import DateReader, within_calendar
from driftword.sources.opening import TEXT_NAMES, TIME_NAMES, Source, choose_column, is_words, listed

_PIECE_BYTES: Final = 1 << 21  # of text that one thread splits at a time
_NO_ID: Final = np.uint32(0xFFFFFFFF)
_TEXT_TYPES: Final = (pl.String, pl.Categorical, pl.Enum, pl.Null)


class Ingestion:
    """Reads batches of rows; see `read`.

    With `settled`, the request says which columns hold text and time, and how text is split, as was noticed at the
    beginning of a source of which this reads a part.
    """

    def __init__(
        self,
        spool: Path,
        request: ReadingRequest,
        *,
        settled: bool = False,
        workers: Workers | None = None,
        bar: Progress | None = None,
    ) -> None:
        self.rule = request.rule  # another one if the source turns out to hold lists of words
        self.text, self.time = (request.text or "", request.time or "") if settled else ("", "")  # columns
        self.words = [""]  # in order of appearance; id 0 means a token that is dropped
        self.stream = IdStream(spool)  # the ids of all documents
        self.digest = hashlib.sha256()  # of the rows, where they come from no file
        self._spool, self._request, self._settled = spool, request, settled
        self._workers, self._bar = workers or Workers(1), bar or Progress()
        self._numbers = _WordNumbers(self.words)
        self._dates = DateReader(self.time or "date", request.time_format)
        self._language = None if request.language is None else LanguageFilter(request.language)
        self._sample = LanguageSample()
        self._writing: Future[None] | None = None
        self._days: list[npt.NDArray[np.int32]] = [np.zeros(0, dtype=np.int32)]
        self.document_files: list[Path] = []  # of the spool
        self.text_bytes = 0

    @property
    def days(self) -> npt.NDArray[np.int32]:
        """Date of each document, as days since 1970-01-01."""
        return np.concatenate(self._days)

    def look(self, source: Source) -> None:
        """Look at the first rows only: which columns hold text and time, and how text is split."""
        batch = next(source.batches(), None)
        if batch is not None:
            self._check_columns(source, batch)

    def read(self, source: Source) -> PreparationReport:
        """Read all rows and return what was left out; raise `SourceError` if they cannot make a corpus."""
        tally = self.read_rows(source)
        tally.check(self._dates, self._request, named_files=source.named_files)
        report = tally.report()
        return report if self._language else replace(report, language_sample=count_languages(self._sample.texts))

    def read_rows(self, source: Source) -> Tally:
        """Read all rows, which may be a part of a larger source, and return what was counted."""
        tally = Tally()
        self._bar.stage("reading", total=source.total_bytes or source.total_rows)
        started = clock.monotonic()
        texts = self._texts(source, tally)
        # A user's tokenizer may not like threads.
        encoded = map(self._encode, texts) if self.rule.custom else self._workers.map(self._encode, texts)
        n_tokens = 0
        for part in encoded:
            self.stream.append(self._numbers.complete(part, self.rule), part.lengths)
            n_tokens += len(part.ids)
            rate = n_tokens / max(clock.monotonic() - started, 1e-9)
            self._bar.update(
                done=source.state.bytes_read if source.total_bytes else tally.rows,
                facts=f"{tally.rows:,} rows, {n_tokens / 1e6:.1f}M tokens, {rate / 1e6:.1f}M/s",
            )
        self._finish_writing()
        tally.notice(source.state)
        tally.documents = len(self.days)
        tally.magnitudes.update(self._dates.magnitudes)
        if self._language:
            tally.other_languages.update(self._language.others)
        return tally

    def _texts(self, source: Source, tally: Tally) -> Iterator[pl.Series]:
        """Read batches of rows; keep what they say of documents, and yield the texts, a few at a time."""
        for batch in source.batches():
            self._check_columns(source, batch)
            if not source.files:
                for text, time in zip(_as_text(batch[self.text]), _as_text(batch[self.time]), strict=True):
                    self.digest.update(f"{text}\0{time}\0".encode())
            batch = batch.with_columns(self._readable(batch[self.text]))
            self._check_lengths(batch, tally.rows)
            numbers = pl.Series(range(tally.rows + 1, tally.rows + batch.height + 1))
            has_text = self._joined(batch, "").str.contains(r"\S").fill_null(value=False)
            tally.rows += batch.height
            batch, numbers = batch.filter(has_text), numbers.filter(has_text)
            tally.no_text += len(has_text) - batch.height
            days = self._dates.read(batch[self.time])
            bad = days.is_null()
            if bad.any():
                tally.bad_dates += int(bad.sum())
                shown = batch[self.time].filter(bad).head(EXAMPLES - len(tally.examples))
                tally.examples += zip(numbers.filter(bad), _as_text(shown), strict=False)
            if tally.bad_dates and not self._request.skip_bad_dates:
                continue  # there will be no corpus: only count the rest for the error
            batch, days = batch.filter(~bad), days.filter(~bad)
            if self._language is not None and batch.height:
                chosen = self._language.select(self._joined(batch, " "))
                batch, days = batch.filter(chosen), days.filter(chosen)
            if batch.height:
                written = self._joined(batch, " ")
                tally.replaced += int(written.str.count_matches("\ufffd", literal=True).sum())
                self._days.append(days.to_physical().to_numpy().astype(np.int32))
                self._write_documents(batch, written, days)
                texts = batch[ANNOTATION if self.rule.kind == ANNOTATED else self.text].alias("text")
                tally.no_lemma += self._without_lemma(texts)
                rows = max(1, texts.len() * _PIECE_BYTES // max(int(texts.estimated_size()), 1))
                yield from (texts.slice(first, rows) for first in range(0, texts.len(), rows))

    def _encode(self, texts: pl.Series) -> _Encoded:
        return self._numbers.encode(*self.rule.split(texts))

    # -- columns -------------------------------------------------------------------------

    def _check_columns(self, source: Source, batch: pl.DataFrame) -> None:
        if not self.text:
            self.text = choose_column(self._request.text, batch.columns, role="text", usual=TEXT_NAMES)
            self.time = choose_column(self._request.time, batch.columns, role="time", usual=TIME_NAMES)
            self._dates = replace(self._dates, column=self.time)
            limits.check_columns(source.name, batch.width)
        for name in (self.text, self.time):
            if name not in batch.columns:
                file = f"'{batch['file'][0]}'" if "file" in batch.columns and batch.height else "A part of the source"
                raise SourceError(f"{file} has no column '{name}'; it has: {listed(batch.columns)}")
        self._dates.check_type(batch[self.time].dtype)
        kind = batch[self.text].dtype
        nested = isinstance(kind, pl.List | pl.Array) or self.text in source.state.nested
        if nested and self.rule.kind == "words" and not (len(self.days) or self._settled):
            self.rule = TokenRule("list")  # the default is for text, and this is already split
        if nested and self.rule.kind != "list":
            raise SourceError(f"Column '{self.text}' holds lists; if they are lists of words, pass `tokens=\"list\"`")
        if not (nested or kind in _TEXT_TYPES):
            raise SourceError(f"Column '{self.text}' holds {kind}, not text; name another with `text`")

        self._check_words(source, batch)

    def _check_words(self, source: Source, batch: pl.DataFrame) -> None:
        """Check that the source says of words what is asked for; where lemmas are made here, tell their language."""
        rule, annotated = self.rule, bool(source.state.annotated)
        if annotated and rule.kind == "words" and not (len(self.days) or self._settled):
            self.rule = rule = replace(rule, kind=ANNOTATED)
        if annotated != (rule.kind == ANNOTATED):
            if annotated:
                raise SourceError("The source says what its words are, so it is not split; leave `tokens` out")
            raise SourceError(
                "The source does not say what its words are, as that of this corpus did; give one that does"
            )
        if rule.words == LEMMA_POS and not annotated:
            raise OptionError(
                "The source does not say which parts of speech its words are; annotate it first, as CoNLL-U for "
                'example, or count lemmas alone with `lemmas=True, words="lemma"`'
            )
        if rule.words == LEMMA and not annotated and not self._request.lemmas:
            raise OptionError("The source does not say the lemmas of its words; pass `lemmas=True` to make them here")
        if self._request.lemmas and not (len(self.days) or self._settled):
            language = rule.lemma_language or self._request.language
            if language is None:
                texts = self._joined(batch.with_columns(self._readable(batch[self.text])), " ").drop_nulls()
                language = language_for_lemmas(texts.str.slice(0, SAMPLED_CHARACTERS).to_list())
            self.rule = replace(rule, lemma_language=check_languages(language))

    def _without_lemma(self, annotation: pl.Series) -> int:
        """Return how many words of an annotation have no lemma, where lemmas are counted."""
        if self.rule.kind != ANNOTATED or self.rule.words == FORM:
            return 0
        return int(annotation.str.count_matches(r"(?m)^[^\t\n]+\t\t").sum())

    def _check_lengths(self, batch: pl.DataFrame, rows_before: int) -> None:
        """Refuse a document with more text than may be read, and any other cell that is as long."""
        for name in batch.columns:
            values = batch[name].alias("values")  # a name that Polars takes for no pattern
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

    def _readable(self, texts: pl.Series) -> pl.Series:
        """Return the texts as strings, or as lists of strings where they are split already."""
        if self.rule.kind != "list":
            return texts.cast(pl.String)
        if not isinstance(texts.dtype, pl.List | pl.Array):
            texts = pl.Series(self.text, [self._decoded(text) for text in texts.cast(pl.String)], pl.List(pl.String))
        inner = texts.dtype.inner  # type: ignore[attr-defined]
        if inner not in _TEXT_TYPES:
            raise SourceError(f"Column '{self.text}' holds lists of {inner}, not of words; name another with `text`")
        return texts.cast(pl.List(pl.String))

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

    def _joined(self, batch: pl.DataFrame, separator: str) -> pl.Series:
        """Return the texts as strings; lists of words are joined, and stored with spaces between them."""
        texts = batch[self.text].alias("text")
        return texts.list.join(separator, ignore_nulls=True) if self.rule.kind == "list" else texts

    # -- documents -----------------------------------------------------------------------

    def _write_documents(self, batch: pl.DataFrame, texts: pl.Series, days: pl.Series) -> None:
        """Write one batch of documents with all their columns, while the next one is read."""
        if self._language is None:
            self._sample.add(texts)
        used = {self.text, "date"} if self.time == "date" else {self.text}
        if self.rule.kind == ANNOTATED:
            used.add(ANNOTATION)
        columns = [texts, days.alias("date"), *stored_columns(batch, used)]
        if self.rule.kind == ANNOTATED:
            columns.append(batch[ANNOTATION])
        frame = pl.DataFrame({column.name: column for column in columns})  # by name, as one may be empty
        self.text_bytes += int(texts.str.len_bytes().sum())
        path = self._spool / f"documents-{len(self.document_files):06}.parquet"
        self._finish_writing()
        self._writing = self._workers.submit(_write_parquet, frame, path)
        self.document_files.append(path)

    def _finish_writing(self) -> None:
        if self._writing is not None:
            self._writing.result()


def _write_parquet(frame: pl.DataFrame, path: Path) -> None:
    frame.write_parquet(path, compression="lz4")


class _Encoded(NamedTuple):
    """The tokens of some texts."""

    ids: npt.NDArray[np.uint32]
    unknown: npt.NDArray[np.int64]  # positions of those whose ids were not known yet
    numbers: npt.NDArray[np.uint32]  # of these tokens
    lengths: npt.NDArray[np.int64]  # how many tokens each text has


class _WordNumbers:
    """The ids of raw tokens: threads look up those that are known, and one thread at a time adds the others."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._ids = {word: number for number, word in enumerate(words)}
        self._categories = pl.Categories.random()  # raw tokens, numbered as they are found
        # The numbers last as long as some column has these categories.
        self._kept = pl.Series([""], dtype=pl.Categorical(self._categories))
        self._id_of_token = np.zeros(0, dtype=np.uint32)

    def encode(self, tokens: pl.Series, lengths: npt.NDArray[np.int64]) -> _Encoded:
        """Look up the ids of raw tokens that are known."""
        numbers = tokens.cast(pl.Categorical(self._categories)).to_physical().to_numpy()
        known = self._id_of_token  # it may be replaced by a longer one meanwhile
        ids = np.full(len(numbers), _NO_ID)
        inside = numbers < len(known)
        ids[inside] = known[numbers[inside]]
        unknown = np.flatnonzero(ids == _NO_ID)
        return _Encoded(ids, unknown, numbers[unknown], lengths)

    def complete(self, encoded: _Encoded, rule: TokenRule) -> npt.NDArray[np.uint32]:
        """Return the ids of all tokens; those that are new are spelled."""
        ids, numbers = encoded.ids, encoded.numbers
        if len(numbers):
            most, length = int(numbers.max()) + 1, len(self._id_of_token)
            if most > length:
                self._id_of_token = np.concatenate([self._id_of_token, np.full(max(most, 2 * length) - length, _NO_ID)])
            fresh = np.unique(numbers[self._id_of_token[numbers] == _NO_ID]).tolist()
            # In the order of the alphabet: how tokens are numbered depends on which thread was first.
            for raw, number in sorted((str(self._categories[number]), number) for number in fresh):
                word = rule.spell(raw)
                if word not in self._ids:
                    self._ids[word] = len(self._words)
                    self._words.append(word)
                self._id_of_token[number] = self._ids[word]
            ids[encoded.unknown] = self._id_of_token[numbers]
        return ids


def _as_text(values: pl.Series) -> list[str | None]:
    """Return values as errors show them, and as the digest of rows has them."""
    values, kind = values.alias("values"), values.dtype
    if kind in (pl.Date, pl.Datetime):
        texts = within_calendar(values).cast(pl.String)
        outside = values.is_not_null() & texts.is_null()
        return texts.set(outside, "outside the years 1 to 9999").to_list()
    if kind.is_numeric() or kind in (*_TEXT_TYPES, pl.Boolean):
        return values.cast(pl.String, strict=False).to_list()
    return [None if value is None else str(value) for value in to_list(values)]
