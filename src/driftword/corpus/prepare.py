"""Dated text into a stored `Corpus`, in batches.

The texts are read once: dates parsed, words counted, ids and documents written
to disk. Everything after that works on the ids: words broken over line ends are
mended, phrases joined, the vocabulary chosen, tokens laid out by slice, chunks
cut. Memory depends on the number of distinct words, not of documents.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time as clock
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword import store
from driftword.corpus import sources, splits
from driftword.corpus.build import id_type, versions, write_tables
from driftword.corpus.corpus import KIND, Corpus
from driftword.corpus.dates import DateReader
from driftword.corpus.phrases import CONNECTORS, ROUNDS, PhraseRule, find_and_join
from driftword.corpus.slices import SliceRule, Slices, check_rule, make_slices
from driftword.corpus.stream import IdStream
from driftword.corpus.tokens import BREAK, Tokenizer, TokenRule, make_rule, mend
from driftword.corpus.vocabulary import choose_subsample, choose_words
from driftword.errors import OptionError, SourceError
from driftword.progress import Progress, progress

_ROW_GROUP_BYTES: Final = 1 << 20  # what one passage has to read
_ROW, _DAY = "\0row", "\0day"  # columns of ours that no user's column can be called
_OURS: Final = ("text", "date", "slice", "document", "left", "keyword", "right")


def prepare(
    source: Any,
    *,
    out: str | os.PathLike[str],
    text: str | None = None,
    time: str | None = None,
    slices: SliceRule = "1y",
    vocabulary: int = 25_000,
    min_count: int | None = None,
    stop: Collection[str] = (),
    keep: Collection[str] = (),
    tokens: str | Tokenizer = "words",
    numbers: bool = False,
    phrases: bool = True,
    phrase_threshold: float = PhraseRule.threshold,
    phrase_min_count: int | None = None,
    connectors: Iterable[str] = CONNECTORS,
    subsample: float | str | None = "auto",
    seed: int = 0,
    time_format: str | None = None,
    time_from_name: str | None = None,
    skip_bad_dates: bool = False,
    skip_bad_rows: bool = False,
    overwrite: bool = False,
    show_progress: bool | None = None,
) -> Corpus:
    """Turn dated text into a corpus.

    Parameters
    ----------
    source
        A CSV, TSV, JSON lines, Parquet or Arrow file (``.gz`` and ``.zst`` too), a glob,
        a folder of such files or of ``.txt`` files, a Polars or pandas DataFrame, an
        iterable of (text, time) pairs, or ``"sotu"`` for the State of the Union addresses.
    out
        Directory to write.
    text, time
        Names of the columns; by default usual names such as ``text`` and ``year`` are looked for.
    slices
        ``"1y"``, ``"10y"``, ``"1q"``, ``"1mo"``, ``"1w"``, ``"equal:N"``, or a list of edges.
    vocabulary
        Number of words to keep, the most frequent ones.
    min_count
        Least occurrences of a word; by default 5, fewer in texts of under 100,000 words.
    stop, keep
        Words to leave out, and words to keep however rare they are.
    tokens
        ``"words"``, ``"whitespace"`` for text that is split already, or a function from text to words.
    numbers
        Keep numbers as words.
    phrases
        Join frequent collocations into one word.
    phrase_threshold, phrase_min_count, connectors
        See `PhraseRule`.
    subsample
        Threshold t of the subsampling; ``"auto"`` chooses by the size of the corpus, None keeps all tokens.
    seed
        Seed of the splits and the subsampling.
    time_format
        Format of the dates, such as ``"%d/%m/%Y"``, or ``"seconds"`` since 1970.
    time_from_name
        Regular expression that finds the date in the path of a ``.txt`` file.
    skip_bad_dates, skip_bad_rows
        Leave out, and report, documents whose date cannot be read and rows that are malformed.
    overwrite
        Replace a corpus at `out`.
    show_progress
        Show a progress bar; by default where standard error is a terminal.
    """
    check_rule(slices)
    if vocabulary < 1:
        raise OptionError(f"vocabulary is {vocabulary}; keep at least one word")
    if min_count is not None and min_count < 1:
        raise OptionError(f"min_count is {min_count}; the least that makes sense is 1")
    if not -1 <= phrase_threshold <= 1:
        raise OptionError(f"phrase_threshold is {phrase_threshold}; normalised PMI lies between -1 and 1")
    if phrase_min_count is not None and phrase_min_count < 1:
        raise OptionError(f"phrase_min_count is {phrase_min_count}; the least that makes sense is 1")
    if not 0 <= seed < 1 << 63:
        raise OptionError(f"seed is {seed}; it must be a whole number from 0 up")
    choose_subsample(subsample, np.ones(1, dtype=np.int64))
    rule = make_rule(tokens, numbers=numbers)
    stop, keep = {_spelled(rule, word) for word in stop}, {_spelled(rule, word) for word in keep}
    phrase_rule = PhraseRule(phrase_threshold, phrase_min_count, tuple(connectors))
    opened = sources.open_source(source, time_from_name=time_from_name, skip_bad_rows=skip_bad_rows)

    with (
        store.create(out, kind=KIND, overwrite=overwrite) as writer,
        progress(show=show_progress) as bar,
        tempfile.TemporaryDirectory(dir=writer.folder, prefix="spool-") as spool,
    ):
        reading = _Reading(Path(spool), rule, DateReader(time or "date", time_format), bar)
        reading.read(opened, text, time, skip_bad_dates=skip_bad_dates)
        stream, words = _mended(reading)
        read_tokens = int(stream.counts(len(words))[1:].sum())
        found_table = None
        if phrases:
            bar.stage("joining phrases", total=3 * ROUNDS * max(read_tokens, 1))
            stream, found_table = find_and_join(stream, words, phrase_rule, progress=lambda n: bar.update(more=n))
        bar.stage("choosing words")
        counts = stream.counts(len(words))
        least = min(5, 1 + read_tokens // 25_000) if min_count is None else min_count
        chosen = choose_words(words, counts, size=vocabulary, min_count=least, stop=stop, keep=keep)
        if not len(chosen):
            raise SourceError(
                f"no word occurs at least {least} times in {read_tokens:,} words of text; "
                "lower --min-count, or check that the right column holds the text"
            )
        made = make_slices(slices, reading.days, stream.lengths)
        slice_of = made.find(reading.days)
        if (slice_of < 0).all():
            raise SourceError(
                f"every document lies outside the slices, which run from {made.labels[0]} to {made.labels[-1]}; "
                "give other edges"
            )
        bar.stage("laying out slices", total=2 * max(read_tokens, 1))
        new_id = np.full(len(words), -1, dtype=np.int32)
        new_id[chosen] = np.arange(len(chosen))
        layout = _Layout(writer, stream, made, slice_of)
        layout.write(new_id, seed=seed, bar=bar)
        bar.stage("storing documents")
        reading.store_documents(writer.folder / "documents.parquet", made)
        kept_words = [words[i] for i in chosen]
        raw = layout.counts.sum(axis=0, dtype=np.int64)
        write_tables(writer, kept_words, raw, layout.counts, made)
        if found_table is not None:
            found_table.table().write_parquet(writer.folder / "phrases.parquet")
        writer.meta = {
            "seed": seed,
            "subsample": choose_subsample(subsample, raw),
            "citation": opened.citation,
            "inputs": sources.digest(opened, reading.digest),
            "options": {
                "text": reading.text,
                "time": reading.time,
                "time_format": time_format,
                "slices": slices if isinstance(slices, str) else [str(edge) for edge in slices],
                "vocabulary": vocabulary,
                "min_count": least,
                "tokens": rule.kind,
                "numbers": numbers,
                "phrases": phrases,
                "phrase_threshold": phrase_threshold,
                "phrase_min_count": phrase_rule.floor(read_tokens),
                "connectors": list(phrase_rule.connectors),
                "stop": sorted(stop),
                "keep": sorted(keep),
                "subsample": subsample,
            },
            "report": {
                **reading.report,
                "bad_rows": opened.notes.bad_rows,
                "outside_slices": int((slice_of < 0).sum()),
                "documents": int((slice_of >= 0).sum()),
                "tokens_read": read_tokens,
                "distinct_words": int((counts[1:] > 0).sum()),
                "rare_tokens": int(counts[1:].sum() - counts[chosen].sum()),
                "keep_missing": sorted(keep - set(kept_words)),
                "slices_without_held_out": layout.training_only,
            },
            "versions": versions(),
        }
    return Corpus.open(out)


def _spelled(rule: TokenRule, word: str) -> str:
    """Spell a word or phrase of a user's list as the text will be spelled."""
    return " ".join(filter(None, (rule.spell(part) for part in word.split())))


@dataclass
class _Reading:
    """The one reading of the source: documents and ids to disk, distinct words in memory."""

    spool: Path
    rule: TokenRule
    dates: DateReader
    bar: Progress
    text: str = ""
    time: str = ""
    words: list[str] = field(default_factory=lambda: [""])  # id 0: a token that is dropped
    parts: list[Path] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stream = IdStream(self.spool)
        self.digest = hashlib.sha256()
        self._ids: dict[str, int] = {"": 0}
        self._raw: dict[str, int] = {}
        self._days: list[npt.NDArray[np.int32]] = []
        self._text_bytes = 0

    @property
    def days(self) -> npt.NDArray[np.int32]:
        """Date of each document, as days since 1970-01-01."""
        return np.concatenate(self._days)

    def read(self, source: sources.Source, text: str | None, time: str | None, *, skip_bad_dates: bool) -> None:
        rows = no_text = bad_dates = replaced = n_tokens = 0
        examples: list[tuple[int, Any]] = []
        whole = source.total_bytes or source.total_rows
        self.bar.stage("reading", total=whole)
        started = clock.monotonic()
        for batch in source.batches():
            if not self.text:
                self.text = sources.choose_column(text, batch.columns, role="text", usual=sources.TEXT_NAMES)
                self.time = sources.choose_column(time, batch.columns, role="time", usual=sources.TIME_NAMES)
                self.dates = DateReader(self.time, self.dates.form)
                if batch[self.text].dtype != pl.String and batch.height:
                    raise SourceError(
                        f"column '{self.text}' holds {batch[self.text].dtype}, not text; name another with --text"
                    )
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
                examples += batch.filter(bad).head(5 - len(examples)).select(_ROW, self.time).rows()
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
            raise self._bad_dates(bad_dates, examples, skipped=skip_bad_dates)
        if kept == 0:
            raise SourceError(f"all {rows:,} rows have an empty text; name another column with --text")
        self.report = {
            "rows": rows,
            "no_text": no_text,
            "bad_dates": bad_dates,
            "bad_date_examples": [[row, str(value)] for row, value in examples],
            "replaced_characters": replaced,
            "numbers": 0,
        }

    def _bad_dates(self, count: int, examples: list[tuple[int, Any]], *, skipped: bool) -> SourceError:
        shown = ", ".join(f"row {row}: {_shown(value)}" for row, value in examples)
        some = "document has" if count == 1 else "documents have"
        remedy = "pass --skip-bad-dates to leave them out, or --time-format for a format of your own"
        if skipped:
            remedy = "not one could be used; name another column with --time, or pass --time-format"
        return SourceError(f"{count:,} {some} a date in column '{self.time}' that cannot be read ({shown}); {remedy}")

    def _update_digest(self, batch: pl.DataFrame) -> None:
        for text, time in zip(batch[self.text].cast(pl.String), batch[self.time].cast(pl.String), strict=True):
            self.digest.update(f"{text}\0{time}\0".encode(errors="surrogatepass"))

    def _add(self, batch: pl.DataFrame) -> int:
        """Write one batch of documents and their ids."""
        tokens, lengths = self.rule.split(batch[self.text])
        codes = tokens.cast(pl.Categorical)
        distinct = codes.unique()
        number = np.array([self._id(raw) for raw in distinct.cast(pl.String)], dtype=np.uint32)
        lookup = np.zeros(int(distinct.to_physical().max() or 0) + 1, dtype=np.uint32)  # type: ignore[arg-type]
        lookup[distinct.to_physical().to_numpy()] = number
        self.stream.append(lookup[codes.to_physical().to_numpy()], lengths)
        self._days.append(batch[_DAY].to_physical().to_numpy().astype(np.int32))
        replaced = {self.text, _DAY, *({"date"} if self.time == "date" else ())}
        frame = batch.select(
            pl.col(self.text).alias("text"),
            pl.col(_DAY).alias("date"),
            *(pl.col(name).alias(name + "_" * (name in _OURS)) for name in batch.columns if name not in replaced),
        )
        self._text_bytes += int(frame["text"].str.len_bytes().sum())
        self.parts.append(self.spool / f"documents-{len(self.parts):06}.parquet")
        frame.write_parquet(self.parts[-1], compression="lz4")
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

    def store_documents(self, path: Path, slices: Slices) -> None:
        """Join the parts into one table, with the slice of each document; rows outside all slices are left out."""

        def label(days: pl.Series) -> pl.Series:
            slot = slices.find(days.to_physical().to_numpy())
            return pl.Series([None if t < 0 else slices.labels[t] for t in slot], dtype=pl.String)

        documents = sum(map(len, self._days))
        rows = max(1, documents * _ROW_GROUP_BYTES // max(self._text_bytes, 1))
        slice_column = pl.col("date").map_batches(label, return_dtype=pl.String, is_elementwise=True)
        frame = pl.concat([pl.scan_parquet(part) for part in self.parts], how="diagonal_relaxed")
        frame = frame.with_columns(slice_column.alias("slice")).filter(pl.col("slice").is_not_null())
        first = ["text", "date", "slice"]
        rest = [name for name in frame.collect_schema() if name not in first]
        frame.select(*first, *rest).sink_parquet(path, row_group_size=rows, maintain_order=True)


def _shown(value: Any) -> str:
    return "empty" if value is None or str(value) == "" else f"'{str(value)[:40]}'"


def _mended(reading: _Reading) -> tuple[IdStream, list[str]]:
    """Give words that were broken over a line end the id of the whole word."""
    words, stream = reading.words, reading.stream
    counts = stream.counts(len(words))
    reading.report["numbers"] = int(counts[0])
    broken = [number for number, word in enumerate(words) if BREAK in word]
    if not broken:
        return stream, words
    by_word = dict(zip(words, counts.tolist(), strict=True))
    ids = {word: number for number, word in enumerate(words)}
    new_id = np.arange(len(words), dtype=np.uint32)
    for number in broken:
        whole = mend(words[number], by_word)
        if whole not in ids:
            ids[whole] = number
            words[number] = whole
        else:
            new_id[number] = ids[whole]
    return stream.map(new_id), words


class _Layout:
    """Tokens of the vocabulary in order of their slices, and the chunks they form."""

    def __init__(self, writer: store.Writer, stream: IdStream, slices: Slices, slice_of: npt.NDArray[np.int32]) -> None:
        self.writer, self.stream, self.slices, self.slice_of = writer, stream, slices, slice_of
        self.training_only: list[str] = []

    def write(self, new_id: npt.NDArray[np.int32], *, seed: int, bar: Progress) -> None:
        """Write tokens and chunks; `new_id` gives each id of the stream its place in the vocabulary, or -1."""
        self.new_id = new_id
        self.n_words = int(new_id.max()) + 1
        self.counts = np.zeros((len(self.slices), self.n_words), dtype=np.int32)
        lengths = np.concatenate([self._lengths(ids, ends, bar) for ids, ends in self.stream.batches()])
        inside = np.flatnonzero(self.slice_of >= 0)
        lengths, slice_of = lengths[inside], self.slice_of[inside]
        order = np.argsort(slice_of, kind="stable")
        size, document, split = splits.cut(lengths[order], slice_of[order], len(self.slices), seed=seed)
        filled = size > 0
        size, document, split = size[filled], document[filled], split[filled]
        self.writer.array("offsets", np.r_[0, np.cumsum(size)].astype(np.int64))
        self.writer.array("chunk_slice", slice_of[order][document].astype(np.int32))
        self.writer.array("chunk_split", split)
        self.writer.array("chunk_document", order[document].astype(np.int64))
        per_slice = np.bincount(slice_of, weights=lengths, minlength=len(self.slices))
        small = np.flatnonzero((per_slice > 0) & (per_slice < splits.ENOUGH_WORDS))
        self.training_only = [self.slices.labels[t] for t in small]
        self._write_tokens(np.r_[0, np.cumsum(per_slice)].astype(np.int64), bar)

    def _lengths(
        self, ids: npt.NDArray[np.uint32], ends: npt.NDArray[np.int64], bar: Progress
    ) -> npt.NDArray[np.int64]:
        """Count the words of the vocabulary in each document."""
        bar.update(more=len(ids))
        known = np.r_[0, np.cumsum(self.new_id[ids] >= 0)]
        return np.asarray(np.diff(known[np.r_[0, ends]]))

    def _write_tokens(self, cursor: npt.NDArray[np.int64], bar: Progress) -> None:
        """Put the tokens of each batch behind those already written for their slices."""
        kind = np.dtype(id_type(self.n_words))
        flat = self.counts.reshape(-1)
        with (self.writer.folder / "tokens.npy").open("wb") as file:
            shape = {"descr": kind.str, "fortran_order": False, "shape": (int(cursor[-1]),)}
            np.lib.format.write_array_header_1_0(file, shape)
            header = file.tell()
            document = 0
            for ids, ends in self.stream.batches():
                slot = np.repeat(self.slice_of[document : document + len(ends)], np.diff(ends, prepend=0))
                document += len(ends)
                words = self.new_id[ids]
                wanted = (words >= 0) & (slot >= 0)
                words, slot = words[wanted], slot[wanted]
                np.add.at(flat, slot.astype(np.int64) * self.n_words + words, 1)
                if (np.diff(slot) < 0).any():
                    order = np.argsort(slot, kind="stable")
                    words, slot = words[order], slot[order]
                present, start = np.unique(slot, return_index=True)
                for t, run in zip(present, np.split(words.astype(kind), start[1:]), strict=True):
                    file.seek(header + int(cursor[t]) * kind.itemsize)
                    file.write(run.data)
                    cursor[t] += len(run)
                bar.update(more=len(ids))
