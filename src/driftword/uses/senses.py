"""The senses of words: which uses a text shows, how their shares move, and whether that is more than chance."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import DriftwordWarning, OptionError, StoreError
from driftword.basics.process import available_cores
from driftword.basics.progress import progress
from driftword.corpus import Corpus
from driftword.inference.change_dates import ChangeDate
from driftword.inference.designs import strata_of, two_periods, units_of_evidence
from driftword.inference.false_discovery import false_discovery_rates
from driftword.inference.permutation_test import TestResult
from driftword.inference.word_tests import pool_of
from driftword.models.model import Model, two_groups, two_of
from driftword.models.significance_table import LEVEL
from driftword.models.storing import MOST_SENSES, NEW_SENSES
from driftword.models.usage import Usage, as_source, corpus_of_source
from driftword.uses import share_test
from driftword.uses.collocates import sense_company
from driftword.uses.document_counts import sides_of_documents
from driftword.uses.sense_shares import SenseCounts, share_of
from driftword.uses.word_senses import WordSenses, by_occurrences, by_passages, by_slices, find_word_senses, known
from driftword.uses.word_uses import Array

BY: Final = ("senses", "words", "slices", "passages", "occurrences")
NAMED: Final = 5  # collocates of a sense
_DATES: Final = {"change": pl.Date, "change_low": pl.Date, "change_high": pl.Date}
_OF_SENSES: Final[dict[str, Any]] = {
    "word": pl.String, "sense": pl.Int64, "name": pl.String, "share": pl.Float64, "occurrences": pl.Int64,
    "documents": pl.Int64, "collocates": pl.List(pl.String), "first": pl.Date, "last": pl.Date, "alike": pl.Float64,
    "share_before": pl.Float64, "share_since": pl.Float64, "p": pl.Float64, **_DATES,
}  # fmt: skip
_OF_WORDS: Final[dict[str, Any]] = {
    "word": pl.String, "senses": pl.Int64, "sense": pl.Int64, "collocates": pl.List(pl.String),
    "share_before": pl.Float64, "share_since": pl.Float64, "others": pl.List(pl.String), "alike": pl.Float64,
    "p": pl.Float64, "q": pl.Float64, **_DATES, "first": pl.Date, "occurrences": pl.Int64, "documents": pl.Int64,
}  # fmt: skip


@dataclass(frozen=True)
class ShareTests:
    """What shares of senses are compared by."""

    time: Array  # (slices,) that each stands for; -1 where documents are left out
    strata: Array | None  # of each document of the corpus, within which dates are exchanged
    units: Array | None  # of each document of the corpus: those of one are one piece of evidence
    permutations: int
    seed: int
    dated: bool
    group_of: Array | None = None  # of each document of the corpus: 0, 1, or -1; compared instead of times

    def side_of(self, counts: SenseCounts) -> Array:
        """Return for each row whether it is of the first (0) or the second (1) of what is compared, or neither."""
        return self.time[counts.slice_of] if self.group_of is None else self.group_of[counts.document]

    def estimated(self, found: WordSenses) -> SenseCounts:
        """Return how often each document has each sense, given also when it is, or of which group."""
        if self.group_of is None:
            return found.estimated
        return SenseCounts.estimate(found.uses, found.likely, self.group_of[found.uses.document])

    def test(self, counts: SenseCounts, v: int) -> TestResult | None:
        """Test whether shares depend on time, or on the group: documents of a slice then exchange their groups."""
        if self.group_of is not None:
            return share_test.run_along(
                counts, self.side_of(counts), counts.slice_of, self.units, n_times=2, permutations=self.permutations,
                seed=self.seed, v=v,
            )  # fmt: skip
        return share_test.run(
            counts, time=self.time, strata=self.strata, units=self.units, permutations=self.permutations,
            seed=self.seed, v=v,
        )  # fmt: skip


def senses(
    model: Model | Usage | str | os.PathLike[str],
    words: str | Sequence[str] | None = None,
    *,
    n: int | None = None,
    by: str | None = None,
    between: Sequence[Any] | None = None,
    within: str | None = None,
    groups: Sequence[str] | None = None,
    passages: int = 3,
    width: int = 120,
    corpus: Corpus | str | os.PathLike[str] | None = None,
    permutations: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    show_progress: bool | None = None,
) -> pl.DataFrame:
    """Find the senses of words in a text: uses that differ nearly as words differ, and how their shares move.

    A sense is a group of occurrences in similar contexts. It may be a meaning of a dictionary, or one meaning that is
    used of other things; read the passages. Many words have one.

    Parameters
    ----------
    model
        A model of any kind, or its path; or vectors of occurrences (see `usage`).
    words
        A word, or several; None takes all words whose use changed significantly and that lists show, after a test of
        the whole vocabulary with `significance`.
    n
        Number of senses; None finds as many as differ enough, often one. What `name_senses` kept goes before.
    by
        What a row is: ``"senses"`` (the default for one word), ``"words"`` (for several), ``"slices"``,
        ``"passages"`` or ``"occurrences"``.
    between
        Compare the shares of two slices or periods, as in `significance`, instead of testing all of the time.
    within
        Dates are exchanged only between documents with the same value in this column, as in `significance`.
    groups
        Two groups of documents: compare the shares of senses in them, slice by slice, instead of testing the time.
    passages
        Number of passages of each sense, with ``by="passages"``.
    width
        Characters of text on either side of the word.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.
    permutations, seed
        Number of times that dates are exchanged, and the seed of the exchanges and of the search for senses.
    threads
        Number of threads; all cores by default.
    show_progress
        Show a progress bar; by default in a terminal only.

    Returns
    -------
    By senses: word; sense, its number, the most frequent first; name, if it was given one; share of all occurrences;
    occurrences and documents; collocates that tell it from the others; first and last, the dates of its first and last
    occurrence; alike, the cosine between it and the sense most like it (different words have 0 on average, occurrences
    are one sense above 0.15); share_before and share_since the change, or in two periods or groups; p, whether its
    share changed, or differs; and where p is up to 0.05, the date of the change with its 90% interval.

    By words: word; senses, their number; p and, over the whole vocabulary, q of a change of shares; change with its
    interval; and of the sense that gained most since then its number, collocates, share before and since, and first
    date; others, collocates of the other senses. Those that moved most come first, significant ones before others. Of
    the whole vocabulary, significant ones are kept with the model, and shown on its first page.

    By slices: share of each sense, its 90% interval with documents as the unit of evidence, and numbers of occurrences.
    By passages: those that are plainest, as `evidence` gives them. By occurrences: all of them with their senses.
    """
    model = as_source(model)
    n = checks.optional(checks.whole, "n", n, least=1, most=MOST_SENSES)
    by = checks.one_of("by", by if by is not None else "senses" if isinstance(words, str) else "words", BY)
    passages, width = checks.whole("passages", passages, least=1), checks.whole("width", width, least=1)
    permutations = checks.whole("permutations", permutations, least=19, most=1_000_000)
    seed, threads = checks.seed(seed), checks.threads(threads) or available_cores()
    within = checks.optional(checks.text, "within", within)
    show_progress = checks.show_progress(show_progress)
    names = None if words is None else [model.words[model.word_id(word)] for word in checks.words("words", words)]
    text = corpus_of_source(model, corpus)
    group_of = None if groups is None else _groups_of_documents(model, text, groups)
    if group_of is not None and (between is not None or within is not None):
        raise OptionError("Groups are compared over all of the time; leave out `between` and `within`, or `groups`")
    time = np.arange(len(model.slices)) if between is None else two_periods(model, between)
    design = ShareTests(
        time, None if within is None else strata_of(text, within), units_of_evidence(text), permutations, seed,
        dated=between is None and groups is None, group_of=group_of,
    )  # fmt: skip
    if names is None:
        names = _changed_words(model)
    make: dict[str, Callable[[WordSenses], pl.DataFrame]] = {
        "senses": lambda found: by_senses(found, design),
        "slices": lambda found: by_slices(found, design.units),
        "passages": lambda found: by_passages(found, n=passages, width=width),
        "occurrences": lambda found: by_occurrences(found, width=width),
    }
    alone = isinstance(words, str)

    def answer(word: str) -> Any:
        try:
            found = find_word_senses(model, text, word, n=n, seed=seed)
        except OptionError:
            if alone:
                raise
            return None
        return _word_result(found, design, model.word_id(word)) if by == "words" else make[by](found)

    answers = _for_all(names, answer, threads=threads if len(names) > 1 else 1, show=show_progress)
    if by == "words":
        table = _by_words(model, names, answers, of_all=words is None)
        if words is None and n is None and within is None and design.dated and isinstance(model, Model):
            _keep_new(model, table)
        return table
    tables = [table for table in answers if table is not None]
    if not tables:
        raise OptionError("None of these words occurs in enough documents to have senses; name more frequent ones")
    every: pl.DataFrame = pl.concat(tables, how="diagonal_relaxed")
    return every


def by_senses(found: WordSenses, design: ShareTests) -> pl.DataFrame:
    """Return a row for each sense."""
    counts, estimated, uses, rows = found.counts, design.estimated(found), found.uses, []
    for j in range(found.number):
        inside = found.sense == j
        own = counts._replace(counts=np.c_[counts.counts[:, j], np.delete(counts.counts, j, axis=1).sum(axis=1)])
        test = design.test(own, j) if found.number > 1 else None
        change = (
            share_test.when(uses.corpus, own, design.units)
            if test is not None and design.dated and test.p <= LEVEL
            else None
        )
        before, since = _sides(counts, design, change)
        rows.append((
            uses.word, j + 1, found.names[j], float(inside.mean()), int(inside.sum()),
            len(np.unique(uses.document[inside])), sense_company(uses, inside, NAMED), _day(uses.day[inside].min()),
            _day(uses.day[inside].max()), found.nearest(j), known(share_of(estimated, before, j)),
            known(share_of(estimated, since, j)), None if test is None else test.p, *_dates(change),
        ))  # fmt: skip
    return pl.DataFrame(rows, schema=_OF_SENSES, orient="row")


def _word_result(found: WordSenses, design: ShareTests, v: int) -> tuple[TestResult | None, int, dict[str, Any]]:
    """Return the test of a word's senses, its documents, and the row that tells about it."""
    counts, uses = found.counts, found.uses
    test = design.test(counts, v) if found.number > 1 else None
    likely = test is not None and test.p <= LEVEL
    change = share_test.when(uses.corpus, counts, design.units) if likely and design.dated else None
    before, since = _sides(counts, design, change)
    estimated = design.estimated(found)
    gains = [share_of(estimated, since, j) - share_of(estimated, before, j) for j in range(found.number)]
    row: dict[str, Any] = {
        "word": uses.word, "senses": found.number, "p": None if test is None else test.p,
        "occurrences": len(found.sense), "documents": len(np.unique(uses.document)),
        **dict(zip(_DATES, _dates(change), strict=True)),
    }  # fmt: skip
    if found.number > 1:
        row["alike"] = float(found.alike[~np.eye(found.number, dtype=bool)].max())
    if likely and np.isfinite(gains).all():
        j = int(np.argmax(gains))
        inside = found.sense == j
        row |= {
            "sense": j + 1, "collocates": sense_company(uses, inside), "others": sense_company(uses, ~inside),
            "share_before": share_of(estimated, before, j), "share_since": share_of(estimated, since, j),
            "first": _day(uses.day[inside].min()),
        }  # fmt: skip
    return test, row["documents"], row


def _by_words(model: Model | Usage, names: Sequence[str], answers: Sequence[Any], *, of_all: bool) -> pl.DataFrame:
    """Return a row for each word, with false discovery rates over the whole vocabulary if it was looked through."""
    rows = [{"word": name} if answer is None else answer[2] for name, answer in zip(names, answers, strict=True)]
    tested = [(i, answer) for i, answer in enumerate(answers) if answer is not None and answer[0] is not None]
    if of_all and tested:
        assert model.significance is not None or isinstance(model, Usage)
        among = len(tested) if model.significance is None else model.significance.table["p"].count()
        rates = false_discovery_rates(
            [answer[0] for _, answer in tested], np.array([answer[1] for _, answer in tested]),
            among=among,
        )  # fmt: skip
        for (i, _), rate in zip(tested, rates.tolist(), strict=True):
            rows[i]["q"] = rate
    table = pl.DataFrame(rows, schema=_OF_WORDS)
    if not of_all:
        return table
    moved = (pl.col("share_since") - pl.col("share_before")).fill_null(-1)
    return table.sort((pl.col("q") <= LEVEL).fill_null(value=False), moved, descending=True, maintain_order=True)


def _keep_new(model: Model, table: pl.DataFrame) -> None:
    """Keep the words with a new sense with the model, for its pages; where that cannot be, say so and go on."""
    try:
        model.keep_new_senses(table.filter(pl.col("q") <= LEVEL).drop_nulls(list(NEW_SENSES)))
    except StoreError as error:
        warnings.warn(
            f"The words with a new sense are not kept with the model: {error}", DriftwordWarning, stacklevel=3
        )


def _groups_of_documents(model: Model | Usage, corpus: Corpus, groups: Any) -> Array:
    """Return for every document whether it is of the first group (0), of the second (1), or of neither (-1)."""
    names = two_of(corpus.groups, groups) if isinstance(model, Usage) else two_groups(model, groups)
    return sides_of_documents(corpus, names)


def _changed_words(model: Model | Usage) -> list[str]:
    """Return the words whose use changed, as lists show them; all that have vectors."""
    if isinstance(model, Usage):
        return list(model.words)
    found = model.significance
    if found is None:
        raise OptionError("No words are named, and the model has not been tested; run `significance` first")
    return found.listed


def _for_all(names: Sequence[str], answer: Callable[[str], Any], *, threads: int, show: bool | None) -> list[Any]:
    """Ask about all words, in threads; answers come in the order of the words."""
    with progress(show=show) as bar, pool_of(threads) as pool:
        bar.stage("learning what tells words apart")
        first = [answer(names[0])] if names else []  # what all words need is computed once
        bar.stage("finding senses", total=len(names))
        rest = []
        for done, found in enumerate(pool.map(answer, names[1:]), start=2):
            rest.append(found)
            bar.update(done=done)
        return first + rest


def _sides(counts: SenseCounts, design: ShareTests, change: ChangeDate | None) -> tuple[Array, Array]:
    """Return which documents are before a change and since, or in the first and the second period."""
    if not design.dated:
        side = design.side_of(counts)
        return side == 0, side == 1
    none = np.zeros(len(counts.day), dtype=bool)
    return (none, none) if change is None else (counts.day < change.change, counts.day >= change.change)


def _dates(change: ChangeDate | None) -> tuple[date | None, ...]:
    return (None,) * 3 if change is None else tuple(_day(day) for day in (change.change, change.low, change.high))


def _day(day: Any) -> date:
    return date(1970, 1, 1) + timedelta(days=int(day))
