"""Whether words became more or less frequent, and when, with documents as the unit of evidence.

The test is that of the shares of senses (`share_test`), with a word and all other words in the place of two senses: how
often a word occurs in documents must not depend on their dates. Changes are dated as everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.process import available_cores
from driftword.basics.progress import progress
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.inference.designs import strata_of, units_of_evidence
from driftword.inference.false_discovery import false_discovery_rates
from driftword.inference.permutation_test import LEAST_DOCUMENTS, TestResult
from driftword.inference.word_tests import pool_of
from driftword.models.significance_table import LEVEL
from driftword.uses import share_test
from driftword.uses.document_counts import DocumentSizes
from driftword.uses.sense_shares import shares_by_slice
from driftword.uses.word_frequency import counts_of_word, ratio_of
from driftword.uses.word_uses import Array

_SCHEMA: Final = {
    "word": pl.String, "count": pl.Int64, "per_million": pl.Float64, "documents": pl.Int64, "dispersion": pl.Float64,
    "p": pl.Float64, "q": pl.Float64, "change": pl.Date, "change_low": pl.Date, "change_high": pl.Date,
    "ratio": pl.Float64, "ratio_low": pl.Float64, "ratio_high": pl.Float64,
}  # fmt: skip


def trends(
    corpus: Corpus | str | os.PathLike[str],
    words: str | Sequence[str] | None = None,
    *,
    within: str | None = None,
    permutations: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    show_progress: bool | None = None,
) -> pl.DataFrame:
    """Test whether words became more or less frequent.

    Parameters
    ----------
    corpus
        A corpus, or its path.
    words
        A word, or several; None for the whole vocabulary, which takes a while in large corpora.
    within
        Dates are exchanged only between documents with the same value in this column, as in `significance`.
    permutations, seed
        Number of times that dates are exchanged, and the seed of the exchanges.
    threads
        Number of threads; all cores by default.
    show_progress
        Show a progress bar; by default in a terminal only.

    Returns
    -------
    One row per word: word; count; per_million; documents; dispersion, Gries's DP over documents, 0 for a word of which
    every document has its share; p (null in fewer than 8 documents) and q, the false discovery rate, over the words
    that were asked for; and where p is up to 0.05 the date of the change with its 90% interval, and how many times as
    frequent the word is since then, with the 90% interval. Of the whole vocabulary, the surest come first.
    """
    text = as_corpus(corpus)
    names = text.words if words is None else [text.words[text.word_id(w)] for w in checks.words("words", words)]
    permutations = checks.whole("permutations", permutations, least=19, most=1_000_000)
    seed, threads = checks.seed(seed), checks.threads(threads) or available_cores()
    strata = None if within is None else strata_of(text, checks.text("within", within))
    documents, units = DocumentSizes.of(text), units_of_evidence(text)
    time = np.arange(len(text.slices))

    def one(word: str) -> tuple[TestResult | None, list[Any]]:
        v = text.word_index[word]
        found = counts_of_word(text, documents, v)
        own, sizes = found.counts[:, 0], found.counts.sum(axis=1)
        test = share_test.run(
            found, time=time, strata=strata, units=units, permutations=permutations, seed=seed, v=v
        )  # fmt: skip
        if test is not None and (own > 0).sum() < LEAST_DOCUMENTS:
            test = None
        row = [
            word, int(own.sum()), 1e6 * own.sum() / max(sizes.sum(), 1), int((own > 0).sum()), dispersion(own, sizes),
            None if test is None else test.p, None,
        ]  # fmt: skip
        dated = share_test.when(text, found, units) if test is not None and test.p <= LEVEL else None
        if dated is None:
            return test, [*row, *[None] * 6]
        days = [date(1970, 1, 1) + timedelta(days=int(day)) for day in (dated.change, dated.low, dated.high)]
        since = found.day >= dated.change
        ratio = [value if np.isfinite(value) else None for value in ratio_of(own, sizes, ~since, since)]
        return test, [*row, *days, *ratio]

    with progress(show=checks.show_progress(show_progress)) as bar, pool_of(threads) as pool:
        bar.stage("testing frequencies", total=len(names))
        answers = []
        for done, answer in enumerate(pool.map(one, names), start=1):
            answers.append(answer)
            bar.update(done=done)
    rows = [row for _, row in answers]
    tested = [i for i, (test, _) in enumerate(answers) if test is not None]
    if len(tested) > 1:
        results = [test for test, _ in answers if test is not None]
        for i, rate in zip(tested, false_discovery_rates(results, np.array([rows[i][3] for i in tested])), strict=True):
            rows[i][6] = float(rate)
    table = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    if words is not None:
        return table
    return table.sort("q", "p", pl.col("ratio").log().abs(), descending=[False, False, True], nulls_last=True)


def dispersion(own: Array, sizes: Array) -> float:
    """Return Gries's DP of a word over documents, given how often each has it, and how long each is."""
    if not own.sum():
        return float("nan")
    return float(np.abs(own / own.sum() - sizes / sizes.sum()).sum() / 2)


def frequency_by_slice(corpus: Corpus, word: str) -> pl.DataFrame:
    """Return how often a word occurs in every slice, with intervals by documents; see `frequency`."""
    documents = DocumentSizes.of(corpus)
    found = counts_of_word(corpus, documents, corpus.word_id(word))
    shares = shares_by_slice(found, len(corpus.slices), units_of_evidence(corpus))
    here = found.counts[:, 0] > 0
    values = {
        name: pl.Series(1e6 * column[:, 0]).fill_nan(None)
        for name, column in zip(("per_million", "low", "high"), shares[:3], strict=True)
    }
    return pl.DataFrame(
        {
            "slice": corpus.slices.labels,
            "count": shares.counts[:, 0].astype(np.int64),
            **values,
            "documents": np.bincount(documents.slice_of[here], minlength=len(corpus.slices)),
        }
    )
