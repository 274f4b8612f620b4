"""Tests of many words: in threads, in processes, or by the workers of a cluster."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics.child_processes import in_processes
from driftword.basics.dask_tasks import LOCAL, Tasks, check_shared, check_workers, connect
from driftword.basics.errors import DriftwordWarning, OptionError, StoreError
from driftword.basics.process import available_cores
from driftword.basics.progress import Progress
from driftword.basics.shared_arrays import SharedObject, share
from driftword.corpus import Corpus
from driftword.engines.registry import check_package, choose_engine
from driftword.fitting.static_fit import static_vectors
from driftword.inference import best_split, change_dates, parting, permutation_test
from driftword.inference.best_split import Border
from driftword.inference.change_dates import ChangeDate
from driftword.inference.document_scores import FREQUENT, DocumentScores, Scores
from driftword.inference.false_discovery import false_discovery_rates
from driftword.inference.occurrences import Array, read_documents
from driftword.inference.permutation_test import (
    LEAST_DOCUMENTS,
    CenteredScores,
    TestResult,
    WordDocuments,
)
from driftword.inference.usage_scores import UsageScores
from driftword.models.model import Model
from driftword.models.significance_table import HALF_WIDTH, LEVEL, SCHEMA, SignificanceTable
from driftword.models.usage import Usage
from driftword.storage.atomic_writes import scratch_folder, writing

BATCH: Final = 64  # words whose expected contexts are computed at a time
THREADS: Final = 4  # that test words, at most: more wait longer for Python's lock than they compute
AnyScores = DocumentScores | UsageScores
_WORTH_PROCESSES: Final = 4096  # words, for which processes are started; these do not wait for each other


@dataclass(frozen=True)
class TestDesign:
    """What is tested: whether the documents of a word depend on their time, or on what takes its place."""

    time: Array  # (slices,) the time that each stands for; -1 where documents are left out
    permutations: int
    seed: int
    cells: Array | None = None  # (chunks,) what takes the place of slices; see `read_documents`
    strata: Array | None = None  # of each document of the corpus, within which times are exchanged
    strata_of_slice: Array | None = None  # (slices,) the same, where slices decide
    clusters: Array | None = None  # of each document of the corpus: those of one are one piece of evidence
    dated: bool = False  # whether to find when words changed
    best: bool = False  # whether to look for the border that divides the time best
    without: Array | None = None  # ids of words that are left out of contexts
    parting: bool = False  # whether times are groups, strata are slices, and groups part, or come together, over time

    @property
    def n_times(self) -> int:
        """The number of times."""
        return int(self.time.max()) + 1

    def documents(self, scores: AnyScores, v: int) -> WordDocuments:
        """Return the documents of a word that are tested."""
        own = scores.of_word(v)
        here = self.time[own.slice_of] >= 0
        if not here.all():
            own = Scores(*(array[here] for array in own))
        strata = None
        if self.strata_of_slice is not None:
            strata = self.strata_of_slice[own.slice_of]
        elif self.strata is not None:
            strata = self.strata[scores.text.document[own.document]]
        units = None
        if self.clusters is not None:
            units = np.unique(self.clusters[scores.text.document[own.document]], return_inverse=True)[1]
        return WordDocuments(own, self.time[own.slice_of], strata, units)

    def change(
        self, scores: AnyScores, word: WordDocuments, centered: CenteredScores, result: TestResult
    ) -> ChangeDate | None:
        """Return when a word changed, if that is wanted and the word may be significant."""
        if not self.dated or result.p > LEVEL:
            return None
        day = np.rint(word.mean_of_units(scores.text.day[word.scores.document])).astype(np.int64)
        return change_dates.find(centered, day, scores.variance, scores.text.calendar, tempering=scores.tempering)


@dataclass
class WordResult:
    """What was found about a word."""

    documents: int
    slices: int
    test: TestResult | None = None  # None where it cannot be tested
    change: ChangeDate | Border | None = None


def score_documents(
    model: Model,
    corpus: Corpus,
    design: TestDesign | None = None,
    *,
    threads: int,
    bar: Progress,
    device: str | None = None,
) -> DocumentScores:
    """Read the text that is tested, or all text, beside a fit that knows no dates."""
    vectors = static_vectors(model, corpus, threads=threads, device=device, bar=bar)
    bar.stage("reading")
    cells, n_cells, seed = (None, 0, 0) if design is None else (design.cells, len(design.time), design.seed)
    with pool_of(threads) as pool:
        text = read_documents(corpus, threads, cells=cells, n_cells=n_cells)
        half_window = model.spec.context // 2
        without = None if design is None else design.without
        return DocumentScores(
            vectors, text, half_window=half_window, seed=seed, pool=pool, threads=threads, without=without
        )


def run_tests(
    scores: AnyScores, words: Array, design: TestDesign, *, threads: int, bar: Progress
) -> dict[int, WordResult]:
    """Test words, given by their ids, in threads or in processes; return what was found about each.

    The result does not depend on their number.
    """
    if len(words) > 1:
        _ = scores.text.by_word  # sorted once, by one thread
    bar.stage("testing words", total=len(words))
    results: dict[int, WordResult] = {}
    with pool_of(min(threads, THREADS)) as pool:
        if threads > 1 and len(words) >= _WORTH_PROCESSES:
            found = _test_in_processes(scores, words, design, threads)
        else:
            done = as_completed([pool.submit(_test_batch, scores, design, batch) for batch in _batches(words)])
            found = (batch.result() for batch in done)
        for some in found:
            results |= some
            bar.update(done=len(results))
    return results


def _batches(words: Array) -> list[Array]:
    """Divide words into batches; those of frequent words, which take longest, come first."""
    return [words[i : i + BATCH] for i in range(0, len(words), BATCH)]


@contextmanager
def pool_of(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Run threads, and give up what they have not begun when there is an error or an interrupt."""
    pool = ThreadPoolExecutor(threads)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def run_on_cluster(
    model: Model, corpus: Corpus, words: Array, design: TestDesign, *, dask: Any, bar: Progress
) -> dict[int, WordResult]:
    """Test words on a cluster, whose workers read what this process has computed from a folder that all share."""
    place = None if dask == LOCAL or not isinstance(model.path, Path) else model.path.absolute().parent
    if place is None and dask != LOCAL:
        raise OptionError(
            "Workers of a cluster read what they need from a folder beside the model; store the model first, on "
            "storage that all of them share"
        )
    scores = score_documents(model, corpus, design, threads=available_cores(), bar=bar)
    _ = scores.text.by_word
    bar.stage("connecting")
    with connect(dask) as client, _shared(scores, design, place) as shared:
        check_workers(client)
        if place is not None:
            check_shared(client, Path(shared.path).parent, "keep the model")
        jobs = [(shared, batch) for batch in _batches(words)]
        bar.stage("testing words", total=len(jobs))
        tasks = Tasks(client, bar)
        try:
            found = tasks.map(_test_shared, jobs)
        except BaseException:
            tasks.cancel()
            raise
    return {v: result for part in found for v, result in part.items()}


def _test_in_processes(
    scores: AnyScores, words: Array, design: TestDesign, number: int
) -> Iterator[dict[int, WordResult]]:
    """Test words in processes of this machine; yield what was found, a few words at a time."""
    with _shared(scores, design) as shared:
        yield from in_processes(_test_shared, [(shared, batch) for batch in _batches(words)], number)


@contextmanager
def _shared(scores: AnyScores, design: TestDesign, place: Path | None = None) -> Iterator[SharedObject]:
    """Let other processes read what words are tested with, from a file that is removed in the end."""
    with scratch_folder(place) as folder:
        with writing(folder):
            shared = share((scores, design), folder / "scores")
        yield shared


def _test_shared(shared: SharedObject, words: Array) -> dict[int, WordResult]:
    """Test a few words in another process."""
    return _test_batch(*_opened(shared), words)


@lru_cache(maxsize=1)
def _opened(shared: SharedObject) -> tuple[AnyScores, TestDesign]:
    """Return what words are tested with; the last file stays mapped."""
    scores, design = shared.open()
    return scores, design


def _test_batch(scores: AnyScores, design: TestDesign, words: Array) -> dict[int, WordResult]:
    """Test a few words."""
    documents = {v: design.documents(scores, v) for v in words.tolist()}
    found = _untested(documents)
    for frequent in (False, True):
        chosen = _testable(found, frequent=frequent)
        for v, expected in zip(chosen, scores.expected(np.array(chosen), frequent=frequent), strict=True):
            test: Any = {"permutations": design.permutations, "seed": design.seed, "v": v}
            if design.best:
                days = scores.text.day[documents[v].scores.document]
                split = best_split.run(documents[v], expected, scores.smoothing, days, **test)
                found[v].test, found[v].change = split or (None, None)
                continue
            if design.parting:
                assert design.strata_of_slice is not None
                n_slices = int(design.strata_of_slice.max()) + 1
                found[v].test = parting.run(documents[v], expected, scores.smoothing, n_slices=n_slices, **test)
                continue
            word = permutation_test.prepare(documents[v], expected, scores.smoothing, n_times=design.n_times)
            if word is not None:
                result = permutation_test.run(word, **test)
                found[v].test, found[v].change = result, design.change(scores, documents[v], word.documents, result)
    return found


def _untested(documents: dict[int, WordDocuments]) -> dict[int, WordResult]:
    """Return in how many documents and slices words occur."""
    return {v: WordResult(own.number, len(np.unique(own.scores.slice_of))) for v, own in documents.items()}


def _testable(found: dict[int, WordResult], *, frequent: bool) -> list[int]:
    """Return the words that can be tested and are frequent, or are not."""
    return [
        v
        for v, word in found.items()
        if (word.documents >= FREQUENT) == frequent and word.documents >= LEAST_DOCUMENTS and word.slices > 1
    ]


def torch_device(engine: str, device: str | None) -> str | None:
    """Return the device of PyTorch on which to fit what a test begins with; None for the CPU without PyTorch."""
    if choose_engine(engine, device) != "torch":
        return None
    check_package("torch")
    from driftword.engines.torch.engine import find_device

    return str(find_device(device))


def _dates(found: ChangeDate | Border) -> tuple[date | float | None, ...]:
    """Return when a word changed as a table has it; only what is more likely gradual has a beginning and an end."""
    if isinstance(found, Border):
        change, before = (date(1970, 1, 1) + timedelta(days=day) for day in (found.change, found.last_before))
        return change, None, None, before, None, None, None
    change, low, high, before, begin, end = (
        date(1970, 1, 1) + timedelta(days=day)
        for day in (found.change, found.low, found.high, found.last_before, found.begin, found.end)
    )
    return change, low, high, before, found.gradual, *((begin, end) if found.gradual > 0.5 else (None, None))


def results_table(model: Model | Usage, found: dict[int, WordResult], *, of_all: bool) -> pl.DataFrame:
    """Return what was found about words as a table, in the order of their ids.

    A false discovery rate is one over a vocabulary. A few words that a user names may be the few that looked best, so
    they have none.
    """
    tests = {v: word.test for v, word in sorted(found.items()) if word.test is not None}
    q: dict[int, float] = {}
    if of_all:
        rates = false_discovery_rates(list(tests.values()), np.array([found[v].documents for v in tests]))
        q = dict(zip(tests, rates.tolist(), strict=True))
    rows = []
    for v, word in sorted(found.items()):
        values: tuple[float | None, ...] = (None,) * 5
        dates: tuple[date | float | None, ...] = (None,) * 7
        sides: tuple[float | None, ...] = (None,) * 3
        if (test := word.test) is not None:
            half = HALF_WIDTH * test.error
            values = (test.effect, test.effect - half, min(test.effect + half, 1.0), test.p, q.get(v))
            if q.get(v, test.p) <= LEVEL and word.change is not None:
                dates = _dates(word.change)
                sides = (word.change.before, word.change.since, getattr(word.change, "lasting", None))
        rows.append((model.words[v], *values, *dates, word.documents, word.slices, *sides, None, None))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def keep(source: Model | Usage, found: SignificanceTable) -> None:
    """Keep the test of all words with a model, or with vectors; where it cannot be stored, warn."""
    try:
        source.keep_significance(found)
    except StoreError as error:
        warnings.warn(f"The result is not kept with what was tested: {error}", DriftwordWarning, stacklevel=3)
