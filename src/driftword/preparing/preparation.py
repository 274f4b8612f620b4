"""Dated text into a stored `Corpus`, stage by stage.

The texts are read once: dates are parsed, words counted, ids and documents
written to disk. Every later stage works on the ids: slices are laid over the
dates, words broken at line ends are mended, phrases joined, the vocabulary
chosen, the tokens written. Memory depends on the number of distinct words, not
on the number of documents. Where the text is while this happens, here or on many
machines, is left to a reader; see `text_stages`.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks
from driftword.basics.dask_tasks import check_dask
from driftword.basics.errors import OptionError, SourceError
from driftword.basics.polars_faults import as_source_errors, check_forked
from driftword.basics.progress import Progress, progress
from driftword.basics.workers import Workers
from driftword.corpus.corpus import Corpus
from driftword.corpus.from_ids import KIND, write_tables
from driftword.corpus.groups import check_column, choose_groups
from driftword.corpus.metadata import CorpusMetadata
from driftword.corpus.options import ANNOTATED, PrepareOptions
from driftword.corpus.passages import as_texts
from driftword.corpus.phrases import ROUNDS, PhraseRule, PhraseTable
from driftword.corpus.preparation_report import PreparationReport
from driftword.corpus.slices import Slices, make_slices
from driftword.corpus.subsampling import choose_subsample
from driftword.corpus.tokenized_text import write_facts
from driftword.corpus.tokens import TokenRule
from driftword.corpus.vocabulary import choose_words, count_suspicious, looks_unspaced
from driftword.preparing.cluster.cluster_text import check_source, open_cluster, remove_spool
from driftword.preparing.copies import note_copies
from driftword.preparing.languages import LanguageFilter
from driftword.preparing.local_text import LocalText
from driftword.preparing.phrases import find_and_join
from driftword.preparing.repeated_passages import note_repeated
from driftword.preparing.text_stages import ReadingRequest, ReadText, TextReader, WordIds
from driftword.preparing.token_writer import TokenWriter
from driftword.sources.opening import open_source
from driftword.storage import store
from driftword.storage.atomic_writes import reserved, scratch_folder
from driftword.storage.shards import shard_files


def prepare(
    source: Any,
    options: PrepareOptions | None = None,
    *,
    out: str | os.PathLike[str],
    seed: int = 0,
    dask: Any = None,
    threads: int | None = None,
    overwrite: bool = False,
    show_progress: bool | None = None,
    **changes: Any,
) -> Corpus:
    """Turn dated text into a corpus.

    Parameters
    ----------
    source
        A CSV, TSV or JSON lines file (``.gz`` and ``.zst`` too), a Parquet or Arrow file, a glob,
        a folder of such files or of ``.txt`` files, a Polars or pandas DataFrame, an
        iterable of (text, time) pairs, or ``"sotu"`` for the State of the Union addresses.
        Addresses such as ``"s3://bucket/*.parquet"`` need ``pip install 'driftword[dask]'``.
    options
        How the text is prepared. Every option of `PrepareOptions` may also be given by name, such as
        ``text="body", time="year", slices="10y"``.
    out
        Directory to write, or an address such as ``"s3://bucket/archive.corpus"``, where nobody sees the corpus before
        it is complete.
    seed
        Seed of the splits and the subsampling.
    dask
        Prepare files on many machines: the address of a Dask scheduler, such as ``"tcp://host:8786"``, a
        ``dask.distributed.Client``, or ``"local"`` for one process per core of this machine. The corpus is the same.
        What was read is kept beside `out` if the work is interrupted, and used when it is begun again.
    threads
        Number of threads, by default one for each core; the corpus is the same whatever their number.
    overwrite
        Replace a corpus at `out`.
    show_progress
        Show a progress bar; by default if standard error is a terminal.
    changes
        Options of `PrepareOptions` by name.
    """
    check_forked()
    out, overwrite = checks.location("out", out), checks.flag("overwrite", overwrite)
    show_progress, threads = checks.show_progress(show_progress), checks.threads(threads)
    source = checks.plain(source)
    if isinstance(source, str | os.PathLike):
        checks.location("source", source)
    options, seed = PrepareOptions.of(options, changes), checks.seed(seed)
    request = ReadingRequest.of(options)
    if options.language is not None:
        LanguageFilter(options.language)
    if dask is not None:
        check_dask(dask)
        if isinstance(out, str):
            raise OptionError(
                f"What a cluster reads is kept beside the corpus, and `out` is '{out}', an address; give a folder that "
                "all machines have, and copy the corpus from there"
            )
        if callable(options.tokens):
            raise OptionError(
                "A function given as `tokens` cannot be used with `dask`; split the text first and pass "
                '`tokens="whitespace"`, or leave out `dask`'
            )
    opened = open_source(source, request.files)
    if dask is not None:
        check_source(opened)
    with (
        _kept_until_complete(out) if dask is not None and isinstance(out, Path) else contextlib.nullcontext(),
        store.create(out, kind=KIND, overwrite=overwrite) as writer,
        progress(show=show_progress) as bar,
        scratch_folder(writer.folder) as spool,
        Workers(threads) as workers,  # which end before their files are removed
        as_source_errors(),
        _open_reader(spool, workers, bar, dask=dask, out=out) as reader,
    ):
        found = reader.read(opened, request)
        for name in (options.group, options.unit):
            if name is not None:
                check_column(name, found.columns)
        options = _spelled(options, found.rule)
        laid, slice_of = _lay_slices(found, options)
        documents_stored = reader.store_documents(writer, laid, slice_of >= 0)
        tokenized = _tokenize(reader, laid, slice_of >= 0, options)
        options = _resolve(options, found, tokenized.n_tokens)
        chosen = _choose_vocabulary(tokenized, options, found.report)
        token_writer = TokenWriter(writer, laid, slice_of[slice_of >= 0])
        token_writer.write(tokenized.ids, _new_ids(tokenized, chosen), seed=seed)
        copies = 0
        if options.copies != "keep":
            bar.stage("looking for copies")
            copies, token_writer.counts = note_copies(writer, token_writer.counts, drop=options.copies == "drop")
        bar.stage("looking for repeated passages")
        repeated = note_repeated(writer, laid.labels)
        _write_tables(writer, laid, tokenized, chosen, token_writer.counts)
        bar.stage("storing documents")
        documents_stored()
        names = _write_groups(writer, options)
        metadata = CorpusMetadata(
            seed=seed,
            subsample=choose_subsample(options.subsample, token_writer.counts.sum(axis=0, dtype=np.int64)),
            inputs=reader.inputs(),
            citation=opened.citation,
            options=options,
            report=replace(
                _complete_report(found.report, slice_of, tokenized, chosen, token_writer, options=options),
                copies=copies,
                copies_dropped=options.copies == "drop",
                repeated_passages=repeated,
            ),
            groups=names,
        )
        write_facts(writer, metadata)
    return Corpus.open(out)


def _signature() -> inspect.Signature:
    """Return the parameters of `prepare` with all options by name, as help and notebooks show them."""
    known = list(inspect.signature(prepare).parameters.values())[:-1]
    named = [
        inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
        for field in fields(PrepareOptions)
    ]
    return inspect.Signature([*known, *named], return_annotation=Corpus)


prepare.__signature__ = _signature()  # type: ignore[attr-defined]


@contextlib.contextmanager
def _open_reader(spool: Path, workers: Workers, bar: Progress, *, dask: Any, out: Path | str) -> Iterator[TextReader]:
    """Yield what reads the source: this process, or a cluster."""
    if dask is None:
        yield LocalText(spool, workers, bar)
        return
    assert isinstance(out, Path)
    with open_cluster(dask, out=out, bar=bar) as cluster:
        yield cluster


@contextlib.contextmanager
def _kept_until_complete(out: Path) -> Iterator[None]:
    """Keep what a cluster has read until the corpus is in its place; nobody else may write there until then."""
    store.check_path(out)
    with reserved(out):
        yield
        remove_spool(out)


# -- the options -----------------------------------------------------------------------


def _spelled(options: PrepareOptions, rule: TokenRule) -> PrepareOptions:
    """Spell the words and phrases of a user's lists as the text was spelled.

    This has to wait for the text, since a column that holds lists of words changes the rule.
    """

    def spell(words: Collection[str]) -> tuple[str, ...]:
        spelled = (" ".join(filter(None, (rule.spell(part) for part in word.split()))) for word in words)
        return tuple(sorted({word for word in spelled if word}))

    return replace(options, stopwords=spell(options.stopwords), keep=spell(options.keep))


def _phrase_rule(options: PrepareOptions) -> PhraseRule:
    return PhraseRule(
        options.phrase_threshold, options.phrase_min_count, tuple(options.connectors), frozenset(options.keep)
    )


def _min_count(options: PrepareOptions, n_tokens: int) -> int:
    """Return how often a word must occur to be kept, in a text of this length."""
    return min(5, 1 + n_tokens // 25_000) if options.min_count is None else options.min_count


def _least_count(options: PrepareOptions, n_tokens: int) -> int:
    """Return how often a word must occur to be kept or to be part of a phrase, in a text of this length."""
    if not options.phrases:
        return _min_count(options, n_tokens)
    # Joining makes the text of the second round shorter, by at most three of four words.
    return min(_min_count(options, n_tokens), _phrase_rule(options).floor(n_tokens // 4))


def _resolve(options: PrepareOptions, found: ReadText, n_tokens: int) -> PrepareOptions:
    """Replace what was left open by what was found in the source and chosen by its size."""
    return replace(
        options,
        text=found.text,
        time=found.time,
        tokens=found.rule.kind,
        lemma_language=found.rule.lemma_language,
        min_count=_min_count(options, n_tokens),
        phrase_min_count=_phrase_rule(options).floor(n_tokens),
    )


# -- the stages ------------------------------------------------------------------------


@dataclass(frozen=True)
class _TokenizedText:
    """The ids of words and phrases, the words they stand for, and how often each occurs."""

    ids: WordIds
    words: list[str]
    counts: npt.NDArray[np.int64]
    phrases: PhraseTable | None
    n_tokens: int  # before phrases were joined
    n_numbers: int
    n_distinct: int


def _lay_slices(found: ReadText, options: PrepareOptions) -> tuple[Slices, npt.NDArray[np.int32]]:
    """Lay the slices over the dates; return them, and the slice of each document, -1 for those outside."""
    slices = make_slices(options.slices, found.days, found.lengths)
    slice_of = slices.find(found.days)
    if not (slice_of >= 0).any():
        raise SourceError(
            f"Every document lies outside the slices, from {slices.first[0]} to {slices.last[-1]}; "
            "give other edges as `slices`"
        )
    return slices, slice_of


def _tokenize(
    reader: TextReader, slices: Slices, inside: npt.NDArray[np.bool_], options: PrepareOptions
) -> _TokenizedText:
    """Count words, mend those broken at line ends, and join phrases."""
    counted = reader.count_words(slices, inside, least=partial(_least_count, options), needed=options.keep)
    ids, words = counted.ids, counted.words
    n_tokens = int(ids.counts(len(words))[1:].sum())
    phrases = None
    if options.phrases:
        ids.stage("joining phrases", 3 * ROUNDS)
        ids, phrases = find_and_join(ids, words, _phrase_rule(options))
    counts = ids.counts(len(words))
    named = int((counts[[number for number, word in enumerate(words) if word]] > 0).sum())
    return _TokenizedText(ids, words, counts, phrases, n_tokens, counted.n_numbers, named + counted.nameless)


def _choose_vocabulary(
    text: _TokenizedText, options: PrepareOptions, report: PreparationReport
) -> npt.NDArray[np.int64]:
    """Return the ids of the words to keep, most frequent first."""
    assert options.min_count is not None  # `_resolve` saw to it
    chosen = choose_words(
        text.words, text.counts, size=options.vocabulary, min_count=options.min_count,
        stopwords=options.stopwords, keep=options.keep,
    )  # fmt: skip
    if len(chosen):
        return chosen
    times = "once" if options.min_count == 1 else f"{options.min_count} times"
    rare = f"No word occurs at least {times} in {text.n_tokens:,} words of text"
    if options.stopwords and (text.counts[1:] >= options.min_count).any():
        raise SourceError("The stopwords leave no word; shorten the list given as `stopwords`")
    if report.replaced_characters > text.n_tokens:
        raise SourceError(f"{rare}, and most of it cannot be decoded; name its encoding with `encoding`")
    if looks_unspaced(text.words):
        raise SourceError(
            f"{rare}, as its words are not separated by spaces; "
            'pass `tokens="chinese"` or `"japanese"`, if it is that; or split it first and pass `tokens="whitespace"`'
        )
    raise SourceError(f"{rare}; lower `min_count`, or check that the right column holds the text")


def _new_ids(text: _TokenizedText, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Return the id in the vocabulary of each word, -1 for those outside it."""
    new_id = np.full(len(text.words), -1, dtype=np.int32)
    new_id[chosen] = np.arange(len(chosen))
    return new_id


def _write_tables(
    writer: store.Writer,
    slices: Slices,
    text: _TokenizedText,
    chosen: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int32],
) -> None:
    """Write the vocabulary, the slices and the phrases."""
    write_tables(writer, [text.words[i] for i in chosen], counts.sum(axis=0, dtype=np.int64), counts, slices)
    if text.phrases is not None:
        text.phrases.table().write_parquet(writer.folder / "phrases.parquet")


def _write_groups(writer: store.Writer, options: PrepareOptions) -> tuple[str, ...]:
    """Write the group of each chunk; return the names of the groups, none if none were asked for."""
    if options.group is None:
        return ()
    paths = shard_files(writer.folder, "documents", ".parquet")
    column = pl.scan_parquet(paths, glob=False).select(pl.col(options.group)).collect()
    wanted = options.groups if isinstance(options.groups, int | None) else tuple(options.groups)
    names, group_of = choose_groups(as_texts(column.to_series()), options.group, wanted)
    document = np.load(writer.folder / "chunk_document.npy", mmap_mode="r")
    writer.array("chunk_group", group_of[document])
    return names


def _complete_report(
    report: PreparationReport,
    slice_of: npt.NDArray[np.int32],
    text: _TokenizedText,
    chosen: npt.NDArray[np.int64],
    token_writer: TokenWriter,
    *,
    options: PrepareOptions,
) -> PreparationReport:
    """Add what the stages after reading left out."""
    words = [text.words[i] for i in chosen]
    outside, length = _by_slice(token_writer)
    return replace(
        report,
        outside_vocabulary=outside,
        document_length=length,
        outside_slices=int((slice_of < 0).sum()),
        documents=int((slice_of >= 0).sum()),
        no_words=token_writer.no_words,
        no_vocabulary=token_writer.no_vocabulary,
        tokens_read=text.n_tokens,
        distinct_words=text.n_distinct,
        numbers=text.n_numbers,
        rare_tokens=int(text.counts[1:].sum() - text.counts[chosen].sum()),
        keep_missing=tuple(sorted(set(options.keep) - set(words))),
        slices_without_held_out=token_writer.training_only,
        unspaced=options.tokens == "words" and looks_unspaced(words),
        suspicious=count_suspicious(words, text.counts[chosen]) if options.tokens in ("words", ANNOTATED) else {},
    )


def _by_slice(written: TokenWriter) -> tuple[dict[str, float], dict[str, float]]:
    """Return the share of words outside the vocabulary, and the median length of documents, of slices with text."""
    outside, length = {}, {}
    for t in np.unique(written.slice_of).tolist():
        here = written.slice_of == t
        words = written.all_words[here]
        if words.sum():
            label = written.slices.labels[t]
            outside[label] = round(1 - float(written.lengths[here].sum() / words.sum()), 4)
            length[label] = float(np.median(words))
    return outside, length
