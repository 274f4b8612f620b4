"""New documents after those of a corpus: its words, phrases, slices and options go on.

What was there stays as it was: tokens, splits, documents and the ids of words. Words that are new and frequent enough
join at the end of the vocabulary.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError, SourceError
from driftword.basics.polars_faults import as_source_errors, check_forked
from driftword.basics.progress import Progress
from driftword.basics.workers import Workers
from driftword.corpus.corpus import Corpus
from driftword.corpus.from_ids import KIND, id_type, write_tables
from driftword.corpus.options import CUSTOM
from driftword.corpus.slices import Slices, is_grid, make_slices
from driftword.corpus.tokenized_text import ranges_of, write_facts
from driftword.corpus.tokens import make_rule
from driftword.preparing.copies import note_copies
from driftword.preparing.local_text import LocalText
from driftword.preparing.phrases import join_known
from driftword.preparing.text_stages import ReadingRequest
from driftword.preparing.token_writer import TokenWriter
from driftword.sources.opening import ReadingOptions, open_source
from driftword.storage import store
from driftword.storage.atomic_writes import scratch_folder
from driftword.storage.shards import read_shards, shard_files

MOST_NEW: Final = 0.1  # of the vocabulary, at most, that new words may add to it
LEAST_KNOWN: Final = 0.25  # of the new text that must be words of the vocabulary
_EPOCH: Final = date(1970, 1, 1)
_ARRAYS: Final = ("tokens", "offsets", "chunk_slice", "chunk_split", "chunk_document")


def extend_corpus(
    corpus: Corpus,
    source: Any,
    *,
    out: str | os.PathLike[str],
    text: str | None = None,
    time: str | None = None,
    first: int | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    bar: Progress,
) -> Corpus:
    """Store a corpus that has the documents of another and new ones; return it.

    New documents must be in slices from number `first` on, which by default is the one after the last.
    """
    check_forked()
    options = corpus.options
    if not corpus.has_documents:
        raise OptionError("The model's corpus was made of ids, so it is not known how its text was prepared")
    if corpus.groups:
        raise OptionError("A corpus with groups cannot be extended; prepare and fit all of its documents again")
    if corpus.shuffled is not None:
        raise OptionError("The dates of the model's documents were shuffled, so there is nothing to go on from")
    if options.tokens == CUSTOM:
        raise OptionError("The model's text was split by a function, which is not stored; prepare and fit it again")
    files = ReadingOptions(options.time_from_name, options.encoding, element=options.element, columns=options.columns)
    rule = make_rule(options)
    request = ReadingRequest(
        rule, text, time, options.time_format, options.language, skip_bad_dates=False, lemmas=options.lemmas,
        files=files,
    )  # fmt: skip
    opened = open_source(source, files)
    with (
        store.create(out, kind=KIND, overwrite=overwrite) as writer,
        scratch_folder(writer.folder) as spool,
        Workers(threads) as workers,
        as_source_errors(),
    ):
        reader = LocalText(spool, workers, bar)
        read = reader.read(opened, request)
        slices = _longer(corpus.slices, options.slices, read.days, first)
        slice_of = slices.find(read.days)
        found = reader.count_words(slices, slice_of >= 0)
        ids = found.ids
        if options.phrases:
            ids = join_known(ids, found.words, corpus.phrases, tuple(options.connectors))
        found_counts = ids.counts(len(found.words))
        _check_known(corpus, found.words, found_counts)
        words, new_id = _vocabulary(corpus, found.words, found_counts)
        token_writer = TokenWriter(writer, slices, slice_of)
        token_writer.write(ids, new_id, seed=corpus.seed)
        _append(writer, corpus, len(words))
        copies = 0
        if options.copies == "one":
            copies, _ = note_copies(writer, token_writer.counts, drop=False)
        counts = np.zeros((len(slices), len(words)), dtype=np.int32)
        counts[:, : token_writer.counts.shape[1]] = token_writer.counts
        raw_counts = counts.sum(axis=0, dtype=np.int64)
        raw_counts[: len(corpus.words)] += corpus.raw_counts
        counts[: len(corpus.slices), : len(corpus.words)] += corpus.counts
        write_tables(writer, words, raw_counts, counts, slices)
        if options.phrases:
            corpus.phrases.table().write_parquet(writer.folder / "phrases.parquet")
        bar.stage("storing documents")
        reader.store_documents(writer, slices, slice_of >= 0)()
        _append_documents(writer.folder, corpus)
        old = corpus.report
        metadata = replace(
            corpus._metadata,
            inputs=(*corpus.inputs, *reader.inputs()),
            report=replace(
                old,
                rows=old.rows + read.report.rows,
                documents=old.documents + len(slice_of),
                no_text=old.no_text + read.report.no_text,
                no_words=old.no_words + token_writer.no_words,
                no_vocabulary=old.no_vocabulary + token_writer.no_vocabulary,
                copies=copies if options.copies == "one" else old.copies,
                tokens_read=old.tokens_read + int(found_counts[1:].sum()),
            ),
        )
        write_facts(writer, metadata)
    return Corpus.open(out)


def _longer(slices: Slices, rule: Any, days: npt.NDArray[np.int32], first: int | None) -> Slices:
    """Return the slices with those that the new documents need; refuse documents in slices that stay."""
    kept = slices.last[-1 if first is None else first - 1]
    early = days[days <= (kept - _EPOCH).days]
    if len(early):
        documents = "1 document is" if len(early) == 1 else f"{len(early):,} documents are"
        earliest = int(slices.find(early[[early.argmin()]])[0])
        remedy = "prepare and fit all documents again"
        if earliest > 0:
            label = slices.labels[earliest]
            remedy = f"fit the slices from {label} on again with `refit_from={checks.shown(label)}`"
        raise SourceError(
            f"{documents} dated {kept} or earlier, in slices that stay as they are; leave these out, or {remedy}"
        )
    if is_grid(rule):
        ends = [(day - _EPOCH).days for day in (slices.first[0], slices.last[-1])]
        longer = make_slices(rule, np.r_[ends, days].astype(np.int32), np.ones(len(days) + 2, dtype=np.int64))
        n = len(slices)
        if (longer.first[:n], longer.last[:n]) == (slices.first, slices.last):
            return Slices((*slices.labels, *longer.labels[n:]), longer.first, longer.last)
    raise OptionError(
        f"The slices of the corpus ({checks.shown(rule)}) do not go on by themselves; prepare and fit all documents "
        "again, with slices of a fixed length such as 1y"
    )


def _check_known(corpus: Corpus, found: list[str], counts: npt.NDArray[np.int64]) -> None:
    """Refuse text that is hardly made of the words of the corpus: it is in another language, or another column."""
    index, total = corpus.word_index, int(counts[1:].sum())
    known = sum(int(counts[i]) for i, word in enumerate(found) if i and word in index)
    if known < LEAST_KNOWN * total or not total:
        raise SourceError(
            f"Only {100 * known / max(total, 1):.0f}% of the new text are words of the vocabulary; it seems to be in "
            "another language than the old, or the wrong column: name the right one with `text`"
        )


def _vocabulary(
    corpus: Corpus, found: list[str], counts: npt.NDArray[np.int64]
) -> tuple[list[str], npt.NDArray[np.int32]]:
    """Return the words, new ones last, and the id in the vocabulary of each word that was found, or -1.

    A new word must be as frequent in the new text as the rarest word of the vocabulary is in the old.
    """
    index = corpus.word_index
    new_id = np.array([index.get(word, -1) for word in found], dtype=np.int32)
    new_id[0] = -1  # tokens that are not words
    options = corpus.options
    rarest = int(corpus.raw_counts.min()) / max(int(corpus.raw_counts.sum()), 1)
    least = max(options.min_count or 1, math.ceil(rarest * int(counts[1:].sum())), 1)
    stopwords = set(options.stopwords)
    fresh = [i for i in np.flatnonzero((new_id < 0) & (counts >= least)).tolist() if i and found[i] not in stopwords]
    fresh = sorted(fresh, key=lambda i: (-int(counts[i]), found[i]))[: int(MOST_NEW * len(index))]
    new_id[fresh] = len(index) + np.arange(len(fresh))
    return [*corpus.words, *(found[i] for i in fresh)], new_id


def _append(writer: store.Writer, corpus: Corpus, n_words: int) -> None:
    """Put the tokens and chunks of a corpus before those that were written, within each slice."""
    new = {name: np.load(writer.folder / f"{name}.npy") for name in _ARRAYS if name != "tokens"}
    new["tokens"] = np.concatenate(read_shards(writer.folder, "tokens"))
    old: dict[str, npt.NDArray[Any]] = {name: np.asarray(getattr(corpus, name)) for name in _ARRAYS}
    n_documents = corpus.documents.select(pl.len()).collect().item()
    new["chunk_document"] = new["chunk_document"] + n_documents
    new["offsets"] = new["offsets"][1:] + old["offsets"][-1]
    both = {name: np.concatenate([old[name], new[name]]) for name in _ARRAYS}
    both["tokens"] = both["tokens"].astype(id_type(n_words))
    order = np.argsort(both["chunk_slice"], kind="stable")
    begin, end = both["offsets"][:-1][order], both["offsets"][1:][order]
    both["tokens"] = ranges_of(both["tokens"], begin, end)
    both["offsets"] = np.r_[0, np.cumsum(end - begin)]
    both |= {name: both[name][order] for name in ("chunk_slice", "chunk_split", "chunk_document")}
    writer.remove_long_array("tokens")
    writer.long_array("tokens", both.pop("tokens"))
    for name, array in both.items():
        writer.array(name, array)


def _append_documents(folder: Path, corpus: Corpus) -> None:
    """Put the documents of a corpus before those that were written, all in one file."""
    new = shard_files(folder, "documents", ".parquet")
    both = pl.concat([corpus.documents, pl.scan_parquet(new, glob=False)], how="diagonal_relaxed")
    both.sink_parquet(folder / "both.parquet", maintain_order=True)
    for path in new:
        path.unlink()
    (folder / "both.parquet").rename(folder / "documents.parquet")
