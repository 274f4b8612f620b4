"""Tests of words whose occurrences have vectors of an encoder: the same as those of a model's words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.basics.jit import compiling_shown
from driftword.basics.progress import Progress, progress
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.corpus.passages import as_texts
from driftword.inference import word_tests
from driftword.inference.designs import strata_of, times_compared, units_of_evidence
from driftword.inference.occurrences import Array
from driftword.inference.usage_scores import UsageScores
from driftword.inference.word_tests import TestDesign
from driftword.models.significance_table import SignificanceTable, ranked
from driftword.models.usage import Usage, check_corpus


def test_usage(
    usage: Usage,
    words: str | Sequence[str] | None,
    *,
    corpus: Corpus | str | os.PathLike[str] | None,
    between: Any,
    within: str | None,
    clusters: str | None,
    permutations: int,
    seed: int,
    threads: int,
    show_progress: bool | None,
) -> pl.DataFrame:
    """Test words that have vectors; see `significance`, which has checked most of its options."""
    if len(usage.slices) < 2:
        raise OptionError("The occurrences are of a single slice, so nothing changes; give shorter `slices`")
    named = None if words is None else np.array([usage.word_id(word) for word in checks.words("words", words)])
    within, clusters = (checks.optional(checks.text, *one) for one in (("within", within), ("clusters", clusters)))
    times, best = times_compared(usage, between)
    text = usage.corpus if corpus is None else check_corpus(as_corpus(corpus), usage.occurrences)
    if text is not None:
        strata = None if within is None else strata_of(text, within)
        together = units_of_evidence(text, clusters)
    else:
        strata, together = (None if name is None else _column(usage, name) for name in (within, clusters))
    design = TestDesign(times, permutations, seed, strata=strata, clusters=together, dated=between is None, best=best)
    tested = np.arange(len(usage.words)) if named is None else np.unique(named)
    with progress(show=show_progress) as bar, compiling_shown(bar):
        found = run(usage, tested, design, threads=threads, bar=bar)
    table = word_tests.results_table(usage, found, of_all=named is None)
    if named is not None:
        return table[np.searchsorted(tested, named)]
    if between is None:
        word_tests.keep(usage, SignificanceTable(table, permutations, seed, within, clusters))
    return ranked(table)


def run(
    usage: Usage, words: Array, design: TestDesign, *, threads: int = 1, bar: Progress | None = None
) -> dict[int, word_tests.WordResult]:
    """Test words, given by their numbers; return what was found about each."""
    scores = UsageScores(usage, seed=design.seed, cells=design.cells, n_cells=len(design.time))
    return word_tests.run_tests(scores, words, design, threads=threads, bar=bar or Progress())


def _column(usage: Usage, name: str) -> Array:
    """Return a number for the value of each document in a column of the occurrences."""
    if name not in usage.occurrences.columns:
        raise OptionError(f"The occurrences have no column {checks.quoted(name)}; leave it out, or name the corpus")
    values = as_texts(usage.occurrences[name]).rank("dense").fill_null(0).to_numpy().astype(np.int64)
    of_document = np.zeros(int(usage.document.max()) + 1, dtype=np.int64)
    of_document[usage.document] = values
    return of_document
