"""Tests of many words: in threads, on a device of PyTorch, or by the workers of a cluster."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import randomness
from driftword.basics.dask_tasks import Tasks, check_workers, connect
from driftword.basics.errors import DriftwordWarning, OptionError, StoreError
from driftword.basics.process import available_cores
from driftword.basics.progress import Progress
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

BATCH: Final = 64  # words whose expected contexts are computed at a time
_DEVICE_BATCH: Final = 1024  # on a device
THREADS: Final = 4  # that test words, at most: more wait for each other, so that it takes longer (docs/scale.md)
AnyScores = DocumentScores | UsageScores
_PARTS_PER_WORKER: Final = 3  # into which words are divided: each reads the text again, and the last one is waited for


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
    scores: AnyScores, words: Array, design: TestDesign, *, threads: int, bar: Progress, device: str | None
) -> dict[int, WordResult]:
    """Test words, given by their ids, in threads or on a device of PyTorch; return what was found about each."""
    if len(words) > 1:
        _ = scores.text.by_word  # sorted once, by one thread
    bar.stage("testing words", total=len(words))
    results: dict[int, WordResult] = {}
    with pool_of(threads if device is not None else min(threads, THREADS)) as pool:
        plain = design.clusters is None and not design.best and not design.parting
        if isinstance(scores, UsageScores) or device is None or not plain:
            batches = [words[i : i + BATCH] for i in range(0, len(words), BATCH)]
            done = as_completed([pool.submit(_test_batch, scores, batch, design) for batch in batches])
            found: Iterator[dict[int, WordResult]] = (batch.result() for batch in done)
        else:
            found = _test_on_device(scores, words, design, pool, device)
        for some in found:
            results |= some
            bar.update(done=len(results))
    return results


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
    """Test words on the workers of a cluster."""
    static_vectors(model, corpus, threads=available_cores(), bar=bar)  # once, not by every worker
    bar.stage("connecting")
    with connect(dask) as client:
        check_workers(client)
        number = min(len(words), _PARTS_PER_WORKER * len(client.scheduler_info(n_workers=-1)["workers"]))
        parts = [words[i::number] for i in range(number)]  # frequent words take longer, so every part has some
        bar.stage("testing words", total=number)
        tasks = Tasks(client, bar)
        try:
            found = tasks.map(_run_on_worker, [(model.location, corpus.location, part, design) for part in parts])
        except BaseException:
            tasks.cancel()
            raise
    return {v: result for part in found for v, result in part.items()}


def _run_on_worker(model: str, corpus: str, words: Array, design: TestDesign) -> dict[int, WordResult]:
    """Test some words, as a task of a cluster."""
    try:
        opened = Model.open(model), Corpus.open(corpus)
    except StoreError as error:
        raise OptionError(
            f"A worker cannot open what this process can ({error}); keep the model and its corpus on storage that all "
            "share, under the same path"
        ) from error
    scores = score_documents(*opened, design, threads=1, bar=Progress())
    return run_tests(scores, words, design, threads=1, bar=Progress(), device=None)


def _test_batch(scores: AnyScores, words: Array, design: TestDesign) -> dict[int, WordResult]:
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


def _test_on_device(
    scores: DocumentScores, words: Array, design: TestDesign, pool: ThreadPoolExecutor, device: str
) -> Iterator[dict[int, WordResult]]:
    """Test words on a device of PyTorch; yield what was found, some words at a time."""
    import torch

    from driftword.inference import torch_permutations

    def change(word: WordDocuments, result: TestResult | None, expected: Array) -> ChangeDate | None:
        if result is None:
            return None
        return design.change(scores, word, permutation_test.center(word, expected), result)

    expected_contexts = torch_permutations.ExpectedContexts(scores, device)
    for first in range(0, len(words), _DEVICE_BATCH):
        block = words[first : first + _DEVICE_BATCH].tolist()
        documents = dict(zip(block, pool.map(lambda v: design.documents(scores, v), block), strict=True))
        found = _untested(documents)
        generator = torch.Generator(device).manual_seed(randomness.key(design.seed, "permutations", first) >> 1)
        for frequent in (False, True):
            testable = _testable(found, frequent=frequent)
            for batch in torch_permutations.batches(testable, documents, design.permutations):
                tested = [documents[v] for v in batch]
                expected = expected_contexts(batch, frequent=frequent)
                results = torch_permutations.run_batch(
                    tested, expected, scores.smoothing, n_times=design.n_times, permutations=design.permutations,
                    generator=generator,
                )  # fmt: skip
                changes = pool.map(change, tested, results, expected[0].cpu().numpy())
                for v, result, when in zip(batch, results, changes, strict=True):
                    found[v].test, found[v].change = result, when
        yield found


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
    """Return the device of PyTorch to use; None for the CPU without PyTorch."""
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
