"""Which words changed their use by more than chance? A test of every word, and false discovery rates."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks, randomness
from driftword.basics.dask_tasks import Tasks, check_dask, check_workers, connect
from driftword.basics.errors import DriftwordWarning, OptionError, StoreError
from driftword.basics.process import available_cores
from driftword.basics.progress import Progress, progress
from driftword.corpus import Corpus
from driftword.corpus.passages import document_values
from driftword.engines.registry import check_package, choose_engine
from driftword.evidence import change_dates, permutation_test
from driftword.evidence.change_dates import ChangeDate
from driftword.evidence.document_scores import FREQUENT, DocumentScores, Scores
from driftword.evidence.occurrences import Cells, DocumentText, read_documents
from driftword.evidence.permutation_test import Centered, Result, center, testable
from driftword.models.model import Model, as_model, corpus_of
from driftword.models.significance_table import HALF_WIDTH, LEVEL, SCHEMA, SignificanceTable, ranked

Array = npt.NDArray[Any]
_BATCH: Final = 64  # words whose expected contexts are computed at a time
_DEVICE_BATCH: Final = 1024  # on a device
_THREADS: Final = 4  # that test words, at most: with more it takes longer, as they wait for each other (docs/scale.md)
_PARTS_PER_WORKER: Final = 3  # into which words are divided: each reads the text again, and the last one is waited for
_QUICKEST: Final = 1e-3  # seconds that a core needs for a word, at least
_POOLED: Final = 400  # permuted values of every word that are pooled
_GROUPS: Final = 16  # of words in a similar number of documents
_ALIKE: Final = 100  # words in such a group, at least
_SHOWN: Final = 10  # permuted values at least as large as the observed one, from which on a p-value is taken as it is
_PERIODS: Final = "give two slices, such as (1950, 2000), or two periods, such as ((1946, 1960), (2000, 2015))"


@dataclass(frozen=True)
class Question:
    """What is tested: whether the documents of a word depend on their time, or on whatever else is called so here."""

    time: Array  # (slices,) or (cells,) the time that each stands for; -1 where documents are left out
    permutations: int
    seed: int
    strata: Array | None = None  # of each document of the corpus, within which times are exchanged
    strata_of_slice: Array | None = None  # (slices,) or (cells,) the same
    dated: bool = False  # whether to find when words changed

    @property
    def n_times(self) -> int:
        """How many times there are."""
        return int(self.time.max()) + 1

    def documents(self, own: Scores) -> tuple[Scores, Array]:
        """Return the documents of a word that are tested, and their times."""
        time = self.time[own.slice_of]
        here = time >= 0
        if here.all():
            return own, time
        return Scores(*(a[here] for a in (own.document, own.slice_of, own.contexts, own.weights))), time[here]

    def strata_of(self, own: Scores, text: DocumentText) -> Array | None:
        """Return within what the documents of a word exchange their times."""
        if self.strata_of_slice is not None:
            return np.asarray(self.strata_of_slice[own.slice_of])
        return None if self.strata is None else np.asarray(self.strata[text.document[own.document]])


@dataclass
class Found:
    """What was found about a word."""

    documents: int
    slices: int
    result: Result | None = None
    change: ChangeDate | None = None


def significance(
    model: Model | str | os.PathLike[str],
    corpus: Corpus | str | os.PathLike[str] | None = None,
    words: str | Sequence[str] | None = None,
    *,
    between: Sequence[Any] | None = None,
    within: str | None = None,
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
    change. So documents exchange their dates, many times, and the dependence on time is compared with what it is then.

    A test of the whole vocabulary over all of the time is kept with the model; `drift`, `changes`, pages and reports
    use it, and asking again with the same options returns it.

    Parameters
    ----------
    model
        A model of any kind, or its path.
    corpus
        The corpus it was fitted to, or its path; by default where it was then.
    words
        A word, or several; None tests the whole vocabulary.
    between
        Two slices, such as ``(1950, 2000)``, or two periods, each given by its first and its last slice: tests whether
        the use of a word differs between them. By default all of the time is looked at.
    within
        Dates are exchanged only between documents with the same value in this column, such as ``"country"``, so that
        a change of who speaks is not taken for a change of use.
    permutations
        How many times dates are exchanged.
    seed
        Seed of the exchanges; the same seed gives the same table on any number of threads.
    threads
        Number of threads; all cores by default, of which at most four test words at a time: many cores are better used
        with ``dask="local"``.
    engine, device
        As in `fit`: auto takes a GPU where PyTorch sees one. Its exchanges are others than those of a CPU.
    dask
        A cluster whose workers test the words, as in `prepare`: the address of a scheduler, ``"local"``, or a
        ``dask.distributed.Client``. The table is the same as without.
    show_progress
        Show a progress bar; by default in a terminal only.

    Returns
    -------
    One row per word, significant ones first, by effect: word; effect, the share of the variation between documents
    that time explains beyond chance, with its 90% interval, low and high; p, the share of exchanges with as much
    dependence on time, never 0; q, the false discovery rate if this word and all those with more evidence are called
    changed, over the whole vocabulary where that is tested, otherwise over the words given; change, the first slice of
    the new use where the word is significant (q up to 0.05), as if it had changed at once, with its 90% interval,
    change_low and change_high (null with `between`); and the number of documents and slices in which the word occurs.
    A word in fewer than 8 documents, or in a single slice, is not tested: only its documents and slices are given.
    """
    model = as_model(model)
    permutations = checks.whole("permutations", permutations, least=19, most=1_000_000)
    seed, threads = checks.seed(seed), checks.threads(threads) or available_cores()
    show_progress = checks.show_progress(show_progress)
    if dask is not None:
        check_dask(dask)
        if engine == "torch" or device is not None:
            raise OptionError("Workers of a cluster test words on their processors; leave out `engine` and `device`")
    place = find_place(engine if dask is None else "cpu", device)
    within = checks.optional(checks.text, "within", within)
    names = None if words is None else checks.words("words", words)
    chosen = None if names is None else np.array([model.word_id(word) for word in names], dtype=np.int64)
    if len(model.slices) < 2:
        raise OptionError("The model has a single slice, so nothing changes; prepare the corpus with shorter slices")
    periods = None if between is None else _periods(model, between)
    text = None if corpus is None else corpus_of(model, corpus)
    kept = model.significance
    asked = {"permutations": permutations, "seed": seed, "within": within}
    if periods is None and kept is not None and kept.options() == asked:
        return ranked(kept.table) if chosen is None else kept.table[chosen]
    text = text or corpus_of(model)
    if dask is not None and (model.path is None or text.path is None or text.shuffled is not None):
        raise OptionError("Workers of a cluster open the model and its corpus themselves; store both first")
    strata = None if within is None else document_values(text, within, option="within")
    if strata is not None and len(np.unique(strata)) == len(strata):
        raise OptionError(
            f"Every document has a value of its own in the column {checks.quoted(str(within))}, so no dates can be "
            "exchanged; name another column with `within`"
        )
    tested = np.arange(len(model.words)) if chosen is None else np.unique(chosen)
    question = Question(
        _times(len(model.slices), periods), permutations, seed, strata=strata, dated=periods is None
    )  # fmt: skip
    with progress(show=show_progress) as bar:
        if dask is None:
            table = run_tests(model, text, tested, question, threads=threads, bar=bar, device=place)
        else:
            table = _run_on_cluster(model, text, tested, question, dask=dask, bar=bar)
    if chosen is not None:
        return table[np.searchsorted(tested, chosen)]
    if periods is None:
        try:
            model.keep_significance(SignificanceTable(table, permutations, seed, within))
        except StoreError as error:
            warnings.warn(f"The result is not kept with the model: {error}", DriftwordWarning, stacklevel=2)
    return ranked(table)


def takes_less_than(
    seconds: float, model: Model, corpus: Corpus, *, threads: int | None = None, engine: str = "auto",
    device: str | None = None,
) -> bool:  # fmt: skip
    """Tell whether a test of all words would take less time than this, by testing a few of them."""
    n_words, clock = len(model.words), _Clock()
    threads = threads or available_cores()
    if n_words * _QUICKEST / threads > seconds:
        return False  # it need not be tried
    few = np.unique(np.linspace(0, n_words - 1, min(n_words, 2 * _BATCH)).astype(np.int64))
    question = Question(np.arange(len(model.slices)), 1000, 0, dated=True)
    run_tests(model, corpus, few, question, threads=threads, bar=clock, device=find_place(engine, device))
    began, read = clock.times
    return read - began + (time.perf_counter() - read) * n_words / len(few) < seconds


class _Clock(Progress):
    """Notes when each stage began."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def stage(self, name: str, total: float | None = None) -> None:
        self.times.append(time.perf_counter())
        super().stage(name, total)


def run_tests(
    model: Model,
    corpus: Corpus,
    words: Array,
    question: Question,
    *,
    threads: int,
    bar: Progress,
    device: str | None,
    cells: Cells | None = None,
) -> pl.DataFrame:
    """Test words, given by their ids, in parallel or on a device of PyTorch; return a row for each."""
    found = _find(model, corpus, words, question, threads=threads, bar=bar, device=device, cells=cells)
    return _table(model, words, [found[int(v)] for v in words])


def _find(
    model: Model,
    corpus: Corpus,
    words: Array,
    question: Question,
    *,
    threads: int,
    bar: Progress,
    device: str | None,
    cells: Cells | None = None,
) -> dict[int, Found]:
    """Test words, given by their ids; return what was found about each."""
    results: dict[int, Found] = {}
    pool = ThreadPoolExecutor(threads)
    try:
        bar.stage("reading")
        text = read_documents(corpus, threads, cells=cells)
        scores = DocumentScores(model, text, seed=question.seed, pool=pool, threads=threads)
        if len(words) > 1:
            _ = text.by_word  # sorted once, by one thread
        bar.stage("testing words", total=len(words))
        if device is None:
            pool.shutdown()
            pool = ThreadPoolExecutor(min(threads, _THREADS))
            batches = [words[i : i + _BATCH] for i in range(0, len(words), _BATCH)]
            tests = as_completed([pool.submit(_test_batch, scores, batch, question) for batch in batches])
            found: Iterator[dict[int, Found]] = (done.result() for done in tests)
        else:
            found = _test_on_device(scores, words, question, pool, device)
        for some in found:
            results |= some
            bar.update(done=len(results))
    finally:
        pool.shutdown(cancel_futures=True)
    return results


def _run_on_cluster(
    model: Model, corpus: Corpus, words: Array, question: Question, *, dask: Any, bar: Progress
) -> pl.DataFrame:
    """Test words on the workers of a cluster; return a row for each."""
    bar.stage("connecting")
    with connect(dask) as client:
        check_workers(client)
        number = min(len(words), _PARTS_PER_WORKER * len(client.scheduler_info(n_workers=-1)["workers"]))
        parts = [words[i::number] for i in range(number)]  # frequent words take longer, so every part has some
        bar.stage("testing words", total=number)
        paths = model.location, corpus.location
        tasks = Tasks(client, bar)
        try:
            found = tasks.map(_find_on_worker, [(*paths, part, question) for part in parts])
        except BaseException:
            tasks.cancel()
            raise
    results = {v: one for part in found for v, one in part.items()}
    return _table(model, words, [results[int(v)] for v in words])


def _find_on_worker(model: str, corpus: str, words: Array, question: Question) -> dict[int, Found]:
    """Test some words, as a task of a cluster."""
    try:
        opened = Model.open(model), Corpus.open(corpus)
    except StoreError as error:
        raise OptionError(
            f"A worker cannot open what this process can ({error}); keep the model and its corpus on storage that all "
            "share, under the same path"
        ) from error
    return _find(*opened, words, question, threads=1, bar=Progress(), device=None)


def _test_batch(scores: DocumentScores, words: Array, question: Question) -> dict[int, Found]:
    """Test a few words; return what was found for each, and its documents and slices."""
    documents = {v: question.documents(scores.of_word(v)) for v in words.tolist()}
    found = _untested(documents)
    for frequent in (False, True):
        chosen = _chosen(found, frequent=frequent)
        for v, expected in zip(chosen, scores.expected(np.array(chosen), frequent=frequent), strict=True):
            own, time = documents[v]
            prepared = permutation_test.prepare(
                own, expected, scores.smoothing, time=time, n_times=question.n_times,
                strata=question.strata_of(own, scores.text),
            )  # fmt: skip
            if prepared is not None:
                result = permutation_test.run(prepared, permutations=question.permutations, seed=question.seed, v=v)
                found[v].result = result
                found[v].change = _change(scores, question, prepared.documents, result)
    return found


def _change(
    scores: DocumentScores, question: Question, documents: Centered, result: Result | None
) -> ChangeDate | None:
    """Return when a word changed, if it may be significant, over all of the time."""
    if not question.dated or result is None or result.p > LEVEL:
        return None
    return change_dates.find(documents, scores.variance)


def _test_on_device(
    scores: DocumentScores, words: Array, question: Question, pool: ThreadPoolExecutor, device: str
) -> Iterator[dict[int, Found]]:
    """Test words on a device of PyTorch; yield what was found, some words at a time."""
    import torch

    from driftword.evidence import torch_permutations

    expected = torch_permutations.ExpectedContexts(scores, device)
    for first in range(0, len(words), _DEVICE_BATCH):
        block = words[first : first + _DEVICE_BATCH].tolist()
        own = pool.map(lambda v: question.documents(scores.of_word(v)), block)
        documents = dict(zip(block, own, strict=True))
        found = _untested(documents)
        generator = torch.Generator(device).manual_seed(randomness.key(question.seed, "permutations", first) >> 1)
        for frequent in (False, True):
            for batch in torch_permutations.batches(
                _chosen(found, frequent=frequent), documents, question.permutations
            ):
                tested = [(*documents[v], question.strata_of(documents[v][0], scores.text)) for v in batch]
                contexts = expected(batch, frequent=frequent)
                results = torch_permutations.run_batch(
                    tested, contexts, scores.smoothing, n_times=question.n_times, permutations=question.permutations,
                    generator=generator,
                )  # fmt: skip
                when = pool.map(
                    lambda own, result, mean: _change(scores, question, center(own[0], mean, own[2]), result),
                    tested, results, contexts[0].cpu().numpy(),
                )  # fmt: skip
                for v, result, change in zip(batch, results, when, strict=True):
                    found[v].result, found[v].change = result, change
        yield found


def _untested(documents: dict[int, tuple[Scores, Array]]) -> dict[int, Found]:
    """Return in how many documents and slices words occur."""
    return {v: Found(len(own.document), len(np.unique(own.slice_of))) for v, (own, _) in documents.items()}


def _chosen(found: dict[int, Found], *, frequent: bool) -> list[int]:
    """Return the words that can be tested and are frequent, or are not."""
    return [
        v
        for v, word in found.items()
        if (word.documents >= FREQUENT) == frequent and testable(word.documents, word.slices)
    ]


def find_place(engine: str, device: str | None) -> str | None:
    """Return the device of PyTorch to use; None for the CPU without PyTorch."""
    if choose_engine(engine, device) != "torch":
        return None
    check_package("torch")
    from driftword.engines.torch.engine import find_device

    return str(find_device(device))


def _table(model: Model, words: Array, found: list[Found]) -> pl.DataFrame:
    tested = [word for word in found if word.result is not None]
    rates = iter(
        false_discovery_rates([word.result for word in tested if word.result], np.array([w.documents for w in tested]))
    )
    labels, rows = model.slices.labels, []
    for v, word in zip(words.tolist(), found, strict=True):
        values: tuple[float | None, ...] = (None,) * 5
        dates: tuple[str | None, ...] = (None,) * 3
        if (result := word.result) is not None:
            half, rate = HALF_WIDTH * result.error, float(next(rates))
            values = (result.effect, result.effect - half, result.effect + half, result.p, rate)
            if rate <= LEVEL and word.change is not None:
                dates = tuple(labels[t] for t in word.change)
        rows.append((model.words[v], *values, *dates, word.documents, word.slices))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def false_discovery_rates(results: list[Result], documents: Array) -> Array:
    """Return for every word the false discovery rate if it and all with more evidence are called changed.

    This is the procedure of Benjamini and Hochberg. It needs p-values far smaller than a word's own permutations can
    show, so those of words in a similar number of documents are pooled. A p-value that a word's own permutations do
    show is taken from them.
    """
    if not results:
        return np.zeros(0)
    p, z = (np.array([getattr(result, name) for result in results]) for name in ("p", "z"))
    tail = np.where(p < (_SHOWN + 1) / (len(results[0].null) + 1), _pooled(results, documents), p)
    order = np.lexsort((-z, tail))
    rates = tail[order] * len(tail) / np.arange(1, len(tail) + 1)
    rates = np.minimum.accumulate(rates[::-1])[::-1]
    rates = np.maximum(rates, p[order])  # no word is surer among many than alone
    result = np.empty(len(tail))
    # Words with less evidence have larger rates, if only a little, so that a table can be sorted by them.
    result[order] = np.minimum(rates * (1 + 1e-9 * np.arange(len(tail))), 1)
    return result


def _pooled(results: list[Result], documents: Array) -> Array:
    """Return the share of permuted values as large as the observed one, of words in a similar number of documents."""
    z = np.array([result.z for result in results])
    pooled = np.empty(len(z))
    for members in np.array_split(np.argsort(documents, kind="stable"), max(1, min(_GROUPS, len(z) // _ALIKE))):
        most = _POOLED if len(members) > _ALIKE else None
        null = np.sort(np.concatenate([results[i].null[:most] for i in members]))
        above = len(null) - np.searchsorted(null, z[members])
        pooled[members] = (1 + above) / (1 + len(null))
    return pooled


def _times(n_slices: int, periods: tuple[Array, Array] | None) -> Array:
    """Return the time that each slice stands for: itself, or one of two periods."""
    if periods is None:
        return np.arange(n_slices)
    time = np.full(n_slices, -1)
    time[periods[0]], time[periods[1]] = 0, 1
    return time


def _periods(model: Model, between: Sequence[Any]) -> tuple[Array, Array]:
    """Return the slices of two periods, each given as a slice or as its first and last one."""
    ends = checks.several("between", between, remedy=_PERIODS)
    if len(ends) != 2 or isinstance(between, set | frozenset):
        raise OptionError(f"`between` is {checks.shown(between)}; {_PERIODS}")
    first, last = (slices_of_period(model, end, option="between", remedy=_PERIODS) for end in ends)
    if first[-1] >= last[0]:
        raise OptionError(f"`between` is {checks.shown(between)}; give two different periods, the earlier one first")
    return first, last


def slices_of_period(model: Model, period: Any, *, option: str, remedy: str) -> Array:
    """Return the slices of a period that a user gives as a slice, or as its first and last one."""
    if not isinstance(period, list | tuple):
        return np.array([model.slices.index(period)])
    if len(period) != 2:
        raise OptionError(f"`{option}` holds {checks.shown(period)}; {remedy}")
    first, last = (model.slices.index(at) for at in period)
    if first > last:
        raise OptionError(f"`{option}` holds {checks.shown(period)}; give the first slice of a period first")
    return np.arange(first, last + 1)
