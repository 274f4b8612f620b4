"""Which words changed their use by more than chance? A test of every word, with false discovery rates."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks, randomness
from driftword.basics.dask_tasks import check_dask
from driftword.basics.errors import OptionError
from driftword.basics.jit import compiling_shown
from driftword.basics.process import available_cores
from driftword.basics.progress import Progress, progress
from driftword.corpus import Corpus
from driftword.corpus.word_kinds import word_kinds
from driftword.inference import word_tests
from driftword.inference.designs import strata_of, times_compared, units_of_evidence
from driftword.inference.usage_tests import test_usage
from driftword.inference.word_tests import TestDesign
from driftword.models.change_strength import with_strength
from driftword.models.model import Model, corpus_of
from driftword.models.significance_table import LEVEL, SignificanceTable, ranked
from driftword.models.usage import Usage, as_source

_QUICKEST: Final = 1e-3  # seconds that a core needs for a word, at least


def significance(
    model: Model | Usage | str | os.PathLike[str],
    words: str | Sequence[str] | None = None,
    *,
    corpus: Corpus | str | os.PathLike[str] | None = None,
    between: str | Sequence[Any] | None = None,
    within: str | None = None,
    clusters: str | None = None,
    without: str | Sequence[str] | None = None,
    holdout: bool = False,
    permutations: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    engine: str = "auto",
    device: str | None = None,
    dask: Any = None,
    show_progress: bool | None = None,
) -> pl.DataFrame:
    """Test whether words changed their use by more than chance, with documents as the unit of evidence.

    For each word, the contexts in each document are compared with those that the model expects there. If the use of the
    word does not change, these differences do not depend on dates, however the text as a whole and the word's frequency
    change. So documents exchange their dates many times, and the dependence on time is compared with that of exchanged
    dates.

    A test of the whole vocabulary over all slices is kept with the model; `drift`, `changes`, pages and reports use it,
    and asking again with the same options returns it.

    Parameters
    ----------
    model
        A model of any kind, or its path; or vectors of occurrences (see `usage`), whose distances from the mean of
        their word then take the place of contexts, as far as all words do not move at the same time.
    words
        A word, or several; None tests the whole vocabulary, or all words that have vectors.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.
    between
        Two slices, such as ``(1950, 2000)``, or two periods, each given by its first and its last slice: tests whether
        the use of a word differs between them. ``"best"`` divides all slices in two where the word differs most; p
        accounts for having looked at every border. By default all slices are compared.
    within
        Dates are exchanged only between documents with the same value in this column, such as ``"country"``, so that
        a change of who speaks is not taken for a change of use.
    clusters
        Documents with the same value in this column, such as the volume they were printed in, are one piece of
        evidence: they exchange their dates as a whole. By default the `unit` that the corpus was prepared with; without
        one, every document is a piece of evidence. Copies of a document never are, unless `prepare` kept them.
    without
        A word, or several, that are left out of contexts. Where *energy* changes, *oil* beside it gets other company;
        ``significance(model, "oil", without="energy")`` asks whether its other company changed as well. Such a table is
        not kept with the model.
    holdout
        Choose words on one half of the documents, drawn at random, and test these on the other: the table has the words
        that were significant in the first half, with all numbers from the second. It is not kept with the model.
    permutations
        Number of times that dates are exchanged.
    seed
        Seed of the exchanges; the same seed gives the same table on any number of threads.
    threads
        Number of threads, or of processes where many words are tested; all cores by default.
    engine, device
        As in `fit`: auto takes a GPU where PyTorch sees one, for the fit without dates that a test begins with. Words
        are tested on processors, which are faster at it.
    dask
        A cluster whose workers test the words, as in `prepare`: the address of a scheduler, ``"local"``, or a
        ``dask.distributed.Client``. The table is the same as without.
    show_progress
        Show a progress bar; by default in a terminal only.

    Returns
    -------
    One row per word, the strongest significant changes first: word; effect, the share of the variation between
    documents that time explains beyond chance, with its 90% interval, low and high; p, the share of exchanges with
    as much dependence on time, never 0; q, the false discovery rate if this word and all those with more evidence
    are called changed, over the whole vocabulary (null for words that are named before all have been tested); where
    the word is significant (q up to 0.05, or else p): change, the date of the first document of the new use, or the
    middle of a gradual change, with its 90% interval, change_low and change_high; last_before, the date of the last
    document before it; gradual, the probability that it was gradual, and if that is more likely than not,
    change_begin and change_end, between which 10% to 90% of it happened (all null with `between`, except that
    ``"best"`` gives change, the date of the first document since the border, and last_before); and the number
    of documents, or of units of evidence, and of slices in which the word occurs. A word in fewer than 8 of them,
    or in a single slice, is not tested: only these numbers are given. Then, for lists: documents_before and
    documents_since the change; lasting, the least share of those of either side that are not of its most crowded
    time; and, where the whole vocabulary was tested, kind (word, name, phrase, function, number, fragment or
    foreign) and strength, by which words come first that have enough documents on both sides (null for others).
    """
    model = as_source(model)
    permutations = checks.whole("permutations", permutations, least=19, most=1_000_000)
    seed, threads = checks.seed(seed), checks.threads(threads) or available_cores()
    show_progress = checks.show_progress(show_progress)
    if dask is not None:
        check_dask(dask)
        if engine == "torch" or device is not None:
            raise OptionError("Workers of a cluster test words on their processors; leave out `engine` and `device`")
    if isinstance(model, Usage):
        if without is not None or checks.flag("holdout", holdout) or dask is not None or device is not None:
            raise OptionError(
                "Vectors of occurrences are tested as they are; leave out `without`, `holdout`, `dask` and `device`"
            )
        return test_usage(
            model, words, corpus=corpus, between=between, within=within, clusters=clusters, permutations=permutations,
            seed=seed, threads=threads, show_progress=show_progress,
        )  # fmt: skip
    place = word_tests.torch_device(engine if dask is None else "cpu", device)
    within = checks.optional(checks.text, "within", within)
    clusters = checks.optional(checks.text, "clusters", clusters)
    holdout = checks.flag("holdout", holdout)
    if holdout and (words is not None or dask is not None):
        raise OptionError("With `holdout`, one half of the documents chooses the words; leave out `words` and `dask`")
    names = None if words is None else checks.words("words", words)
    left_out = None if without is None else np.array([model.word_id(w) for w in checks.words("without", without)])
    named = None if names is None else np.array([model.word_id(word) for word in names], dtype=np.int64)
    if len(model.slices) < 2:
        raise OptionError("The model has a single slice, so nothing changes; prepare the corpus with shorter slices")
    times, best = times_compared(model, between)
    text = None if corpus is None else corpus_of(model, corpus)  # checked, whether or not it is needed
    kept = model.significance
    asked = {"permutations": permutations, "seed": seed, "within": within, "clusters": clusters}
    plain = between is None and not holdout and left_out is None
    if plain and kept is not None and kept.options() == asked:
        return ranked(kept.table) if named is None else kept.table[named]
    text = text or corpus_of(model)
    strata = None if within is None else strata_of(text, within)
    together = units_of_evidence(text, clusters)
    tested = np.arange(len(model.words)) if named is None else np.unique(named)
    design = TestDesign(
        times, permutations, seed, strata=strata, clusters=together, dated=between is None, best=best, without=left_out
    )
    with progress(show=show_progress) as bar, compiling_shown(bar):
        if holdout:
            return ranked(_held_out(model, text, design, threads=threads, bar=bar, device=place))
        if dask is None:
            scores = word_tests.score_documents(model, text, design, threads=threads, bar=bar, device=place)
            found = word_tests.run_tests(scores, tested, design, threads=threads, bar=bar)
        else:
            found = word_tests.run_on_cluster(model, text, tested, design, dask=dask, bar=bar)
    table = word_tests.results_table(model, found, of_all=named is None)
    if named is not None:
        return table[np.searchsorted(tested, named)]
    table = with_strength(table.with_columns(kind=pl.Series(word_kinds(text), dtype=pl.String)), model)
    if plain:
        word_tests.keep(model, SignificanceTable(table, permutations, seed, within, clusters))
    return ranked(table)


def _held_out(
    model: Model, corpus: Corpus, design: TestDesign, *, threads: int, bar: Progress, device: str | None
) -> pl.DataFrame:
    """Choose words on one half of the units of evidence, and test them on the other."""
    unit = design.clusters if design.clusters is not None else np.arange(int(corpus.chunk_document.max(initial=0)) + 1)
    half = randomness.bits(randomness.key(design.seed, "holdout"), unit) & np.uint64(1)
    words, table = np.arange(len(model.words)), pl.DataFrame()
    for number in (0, 1):
        cells = np.where(half[corpus.chunk_document] == number, corpus.chunk_slice, -1)
        part = replace(design, cells=cells, dated=design.dated and number == 1)
        scores = word_tests.score_documents(model, corpus, part, threads=threads, bar=bar, device=device)
        found = word_tests.run_tests(scores, words, part, threads=threads, bar=bar)
        table = word_tests.results_table(model, found, of_all=True)
        words = words[(table["q"] <= LEVEL).fill_null(value=False).to_numpy()] if number == 0 else words
    return table.with_columns(kind=pl.Series(word_kinds(corpus), dtype=pl.String).gather(words))


def takes_less_than(
    seconds: float, model: Model, corpus: Corpus, *, threads: int | None = None, engine: str = "auto",
    device: str | None = None,
) -> bool:  # fmt: skip
    """Tell whether a test of all words would take less time than this, by testing a few of them."""
    n_words, threads = len(model.words), threads or available_cores()
    if n_words * _QUICKEST / threads > seconds:
        return False  # it need not be tried
    static = [entry["seconds"] for entry in model.history if entry["kind"] == "static"]
    if model.static is None and static and static[0] > seconds:
        return False  # nor this: a test begins with at least one such pass
    few = np.unique(np.linspace(0, n_words - 1, min(n_words, 2 * word_tests.BATCH)).astype(np.int64))
    design = TestDesign(np.arange(len(model.slices)), permutations=1000, seed=0, dated=True)
    place, began = word_tests.torch_device(engine, device), time.perf_counter()
    scores = word_tests.score_documents(model, corpus, design, threads=threads, bar=Progress(), device=place)
    read = time.perf_counter()
    word_tests.run_tests(scores, few, design, threads=threads, bar=Progress())
    tests = (time.perf_counter() - read) * n_words / len(few) * min(threads, word_tests.THREADS) / threads
    return read - began + tests < seconds
