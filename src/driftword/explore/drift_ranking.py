"""Which words changed most. What that means is decided here, once, for tables, figures, pages and reports.

Once the model has been tested (`significance`), words come by the strength of their change (`change_strength`),
whenever it came. Before that, or where two slices or a metric are asked for, they come by drift between two slices: by
default the widest range with enough text. Words must then occur at least five times in the training text of both, and
the most frequent words are left out: their use changes with style rather than with meaning. A word without training
text in one of the slices has only an interpolated vector there, and does not rank.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus.slices import At
from driftword.explore import vectors
from driftword.explore.drift_metrics import METRICS, UNCERTAIN, drift_interval, measure
from driftword.explore.intervals import CorpusLike, uncertainty
from driftword.explore.usage_distances import usage_drift
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.models.change_strength import least_documents
from driftword.models.model import Model, as_model
from driftword.models.significance_table import SignificanceTable
from driftword.models.usage import Usage, as_source

MOST_SKIPPED: Final = 200
_TWO_SLICES: Final = "give two slices, such as (1900, 2000)"
_SKIPPED_SHARE: Final = 0.02  # of the vocabulary, at most `MOST_SKIPPED` words


@dataclass(frozen=True)
class DriftRanking:
    """The words that changed most, with the choices behind the answer."""

    table: pl.DataFrame  # see `drift`
    metric: str
    min_count: int
    skip: int
    between: tuple[str, str]  # labels of the two slices compared
    chosen_range: bool  # whether these were chosen by default
    words: int  # size of the vocabulary, or number of words that were named
    eligible: int  # words that could be ranked
    too_rare: int  # left out, as they occur too rarely in one of the slices
    too_frequent: int  # left out, as they are among the most frequent
    counted: bool  # whether it is known how often words occur
    tested: str | None = None  # what a test of significance found about all words, in a sentence
    by_strength: int = 0  # words that come first, by the strength of their change
    least_documents: int = 0  # in which these occur before their change, and since

    def describe(self) -> str:
        """Say in a few sentences which words were compared, why others were not, and what a test found."""
        if not self.by_strength:
            return self._compared() + (f" {self.tested}" if self.tested else "")
        first, last = self.between
        return (
            f"{self.tested} {self.by_strength:,} of them come first, the strongest changes of all: words in at least "
            f"{self.least_documents} documents before their change and since, without names, numbers, phrases and "
            f"function words. Drift is from {first} to {last}, where a word occurs in both."
        )

    def _compared(self) -> str:
        first, last = self.between
        reason = " (the widest range with enough text)" if self.chosen_range else ""
        if self.eligible == self.words:
            return f"Change from {first} to {last}{reason}."
        sentence = f"Change from {first} to {last}{reason}: {self.eligible:,} of {self.words:,} words are eligible."
        left_out = []
        if self.too_rare:
            least = f"occur fewer than {self.min_count} times" if self.min_count > 1 else "do not occur"
            rare = f"{least} in the training text of" if self.counted else "are missing from"
            left_out.append(f"{self.too_rare:,} {rare} one of these slices")
        if self.too_frequent:
            left_out.append(f"{self.too_frequent:,} are the most frequent")
        return sentence + (f" Of the others, {' and '.join(left_out)}." if left_out else "")


def drift(
    model: Model | Usage | str | os.PathLike[str],
    words: str | Sequence[str] | None = None,
    *,
    n: int | None = 16,
    metric: str | None = None,
    between: Sequence[Any] | None = None,
    min_count: int | None = None,
    skip: int | None = None,
    interpolated: bool = False,
    intervals: bool = False,
    corpus: CorpusLike = None,
    group: str | None = None,
) -> pl.DataFrame:
    """Return the words that moved most, with the evidence behind each.

    Parameters
    ----------
    model
        A dynamic or binned model, or its path; or vectors of occurrences (see `usage`).
    words
        Only these words, however rare or frequent they are, unless `min_count` or `skip` is given too.
    n
        Number of words; None for all.
    metric
        ``"relative"``, the default: Euclidean distance, in standard deviations from words of similar frequency;
        ``"absolute"``: the distance itself, as in the paper; ``"cosine"``: cosine distance of the vectors after
        subtracting the mean of each slice; ``"thirds"``: the same between the means of the first and the last third
        of the slices, steadier than two slices alone; ``"farthest"``: the largest cosine distance from the first
        slice at any time, for words that went and came back; ``"path"``: length of the whole trajectory; ``"step"``:
        its largest step; ``"neighbors"``: share of the 25 nearest neighbours that were replaced; ``"ranks"``: how
        differently the nearest neighbours are ranked. Where word counts are not known, the default is ``"cosine"``.
        Of vectors of occurrences: ``"apd"``, the default, the average distance between occurrences of two periods, and
        ``"prt"``, the distance between their means, both seen from the mean of all words in the directions in which
        occurrences of the same word differ most; ``"raw_apd"`` and ``"raw_prt"`` take vectors as they are.
    between
        Two slices, such as ``(1900, 2000)``; by default the widest range with enough text: at least half as many words
        must be comparable as in the best pair that is half of all slices apart. Of vectors of occurrences: two slices
        or periods, as in `significance`; by default the first and the second half of the slices.
    min_count
        Only words that occur at least this often in the training text of both slices; 5 by default. Not asked of words
        that are ranked by a test.
    skip
        Leave out this many of the most frequent words: their use changes with style rather than with meaning. By
        default a fiftieth of the vocabulary, at most 200.
    interpolated
        Also rank words that do not occur in the training text of one of the slices; their vectors there are guesses.
        No `min_count` is then asked for, unless it is given.
    intervals
        Also give the 90% interval of the drift of each word in the table: where it would be with other documents of the
        same kind; for the metrics relative, absolute and cosine. Absolute and cosine drifts are then without what noise
        adds to every distance, and an interval that begins at 0 means that the documents do not show that the word
        moved. This reads the corpus; a word takes up to a second.
    corpus, group
        As in `neighbors`.

    Returns
    -------
    word; drift (null where the metric cannot compare a word, or it does not occur in both slices); effect, q and
    strength over all slices, as `significance` found them (null without such a test, and for words in too few
    documents); the two slices compared, first and last; occurrences in both (`count_first`, `count_last`; null where
    unknown); in how many of the `slices` from one to the other it occurs in training text; and whether the drift is one
    of an `interpolated` vector: the word does not occur in the training text of one of the two slices.

    Words are ranked by drift. Where the model has been tested and nothing else is asked for, words whose change is
    significant come first, whatever the two slices hold: the strongest changes of all, as `significance` lists them.
    With intervals there are also drift_low and drift_high, which leave out the noise of the fit itself.

    Of vectors of occurrences: word; drift; z, in standard deviations from what it is if documents exchange their
    periods, and p, the share of 999 exchanges with as large a drift; the two periods, first and last; occurrences in
    both, and documents.
    """
    source = as_source(model)
    if isinstance(source, Usage):
        if min_count is not None or skip is not None or interpolated or intervals or group is not None:
            raise OptionError(
                "Of vectors of occurrences, only `words`, `n`, `metric` and `between` are asked; leave out the others"
            )
        return usage_drift(source, words, n=n, metric=metric, between=between)
    return rank_drift(
        source, words, n=n, metric=metric, between=between, min_count=min_count, skip=skip, interpolated=interpolated,
        intervals=intervals, corpus=corpus, group=group,
    ).table  # fmt: skip


def rank_drift(
    model: Model | str | os.PathLike[str],
    words: str | Sequence[str] | None = None,
    *,
    n: int | None = 16,
    metric: str | None = None,
    between: Sequence[At | None] | None = None,
    min_count: int | None = None,
    skip: int | None = None,
    interpolated: bool = False,
    intervals: bool = False,
    corpus: CorpusLike = None,
    group: str | None = None,
) -> DriftRanking:
    """Answer as `drift` does, and say how many words were eligible; None in `between` takes the default of that end."""
    model = as_model(model, group)
    vectors.check_moves(model)
    by_drift = not (metric is None and min_count is None and skip is None and not interpolated)
    usual = "relative" if model.vocabulary.counted else "cosine"
    metric = checks.one_of("metric", usual if metric is None else metric, METRICS)
    n = checks.optional(checks.whole, "n", n, least=1)
    interpolated, intervals = checks.flag("interpolated", interpolated), checks.flag("intervals", intervals)
    if intervals and metric not in UNCERTAIN:
        known = f"{', '.join(UNCERTAIN[:-1])} and {UNCERTAIN[-1]}"
        raise OptionError(f"`metric` is '{metric}', and intervals are known for {known}; choose one of these")
    named = None if words is None else [model.word_id(word) for word in checks.words("words", words)]
    ends = check_between(between)
    first, last = _slices_between(model, *ends)
    usual_count = 0 if named or interpolated else MIN_COUNT
    min_count = checks.whole("min_count", usual_count if min_count is None else min_count)
    skip = (0 if named else usual_skip(model)) if skip is None else checks.whole("skip", skip)
    if skip and not model.vocabulary.counted:
        raise OptionError("The word counts of this model are unknown, so `skip` cannot be used; leave it out")
    wanted = np.ones(len(model.words), dtype=bool)
    if named is not None:
        wanted[:] = False
        wanted[named] = True
    vocabulary = model.vocabulary
    least = min_count if interpolated or named else max(min_count, 1)
    common = vocabulary.attested(first, least) & vocabulary.attested(last, least)
    frequent = most_frequent(model, skip)
    eligible = wanted & common & ~frequent
    scores = measure(model, metric, first, last, wanted=eligible)
    if named is None:
        eligible &= np.isfinite(scores)  # some metrics cannot compare rare words
    found = model.significance
    test = found if not by_drift and (first, last) == _attested_range(model) else None
    tested = 0 if test is None else int((np.isfinite(test.strength) & wanted).sum())
    positions = rank_words(test, scores, eligible, n, also=wanted)
    table = _table(model, scores, positions, first, last)
    if intervals:
        source = uncertainty(model, corpus)
        found_intervals = [
            drift_interval(model, metric, first, last, v=v, drift=float(scores[v]), source=source)
            for v in positions.tolist()
        ]
        columns = zip(*found_intervals, strict=True) if found_intervals else ([], [], [])
        table = table.with_columns(
            pl.Series(name, values, dtype=pl.Float64)
            for name, values in zip(("drift", "drift_low", "drift_high"), columns, strict=True)
        )
    return DriftRanking(
        table=table,
        metric=metric,
        min_count=least,
        skip=skip,
        between=(model.slices.labels[first], model.slices.labels[last]),
        chosen_range=ends == (None, None),
        words=int(wanted.sum()),
        eligible=int(eligible.sum()),
        too_rare=int((wanted & ~common & ~frequent).sum()),
        too_frequent=int((wanted & frequent).sum()),
        counted=vocabulary.counted,
        tested=None if found is None else found.describe(),
        by_strength=tested,
        least_documents=0 if test is None else least_documents(test.table),
    )


def rank_words(
    test: SignificanceTable | None, scores: Array, allowed: Array, n: int | None, *, also: Array | None = None
) -> Array:
    """Return the first n allowed words by score; after a test, those that it ranks come first, by strength.

    Then significant words come before the others. Of ranked words, those in `also` are allowed, too.
    """
    size = len(scores)
    if test is None:
        return vectors.top(scores, allowed, size if n is None else n)
    ranked = np.isfinite(test.strength) & (allowed if also is None else allowed | also)
    others = (vectors.top(scores, allowed & rest & ~ranked, size) for rest in (test.significant, ~test.significant))
    return np.concatenate([vectors.top(test.strength, ranked, size), *others])[:n]


def effect_columns(model: Model, words: Array) -> dict[str, pl.Series]:
    """Return effect and q of words, given by their ids; null without a test, or with too few documents."""
    if (found := model.significance) is None:
        return dict.fromkeys(("effect", "q"), pl.repeat(None, len(words), dtype=pl.Float64, eager=True))
    return {name: found.table[name].gather(words) for name in ("effect", "q")}


def _strengths(model: Model, words: Array) -> pl.Series:
    """Return the strength of changes of words, given by their ids; null where a test does not rank them."""
    if (found := model.significance) is None:
        return pl.repeat(None, len(words), dtype=pl.Float64, eager=True)
    return found.table["strength"].gather(words)


def check_between(between: Sequence[At | None] | None) -> tuple[At | None, At | None]:
    """Check that a user gave two slices; None stands for the default of one end, or of both."""
    if between is None:
        return None, None
    ends = checks.several("between", between, remedy=_TWO_SLICES)
    if len(ends) != 2 or isinstance(between, set | frozenset):  # a set does not say which is the earlier one
        raise OptionError(f"`between` is {checks.shown(between)}; {_TWO_SLICES}")
    return ends[0], ends[1]


def _slices_between(model: Model, begin: At | None, end: At | None) -> tuple[int, int]:
    """Return the numbers of the two slices to compare."""
    usual = _attested_range(model) if begin is None or end is None else (0, 0)
    first, last = (usual[i] if at is None else model.slices.index(at) for i, at in enumerate((begin, end)))
    if first >= last:
        labels = model.slices.labels
        raise OptionError(
            f"`between` is '{labels[first]}' and '{labels[last]}'; give two different slices, the earlier one first"
        )
    return first, last


def _table(model: Model, scores: Array, words: Array, first: int, last: int) -> pl.DataFrame:
    observed = model.vocabulary.observed[first : last + 1, words]
    columns: dict[str, Any] = {
        "word": [model.words[v] for v in words],
        "drift": [float(score) if np.isfinite(score) else None for score in scores[words]],
        **effect_columns(model, words),
        "strength": _strengths(model, words),
        "first": [model.slices.labels[first]] * len(words),
        "last": [model.slices.labels[last]] * len(words),
        "count_first": vectors.counts(model, first, words),
        "count_last": vectors.counts(model, last, words),
        "slices": observed.sum(axis=0).astype(np.int64),
        "interpolated": ~(observed[0] & observed[-1]) & np.isfinite(scores[words]),
    }
    types: dict[str, Any] = {"word": pl.String, "first": pl.String, "last": pl.String, "drift": pl.Float64}
    return pl.DataFrame(columns, schema_overrides=types)


def attested_range(model: Model) -> tuple[str, str]:
    """Return the widest range (its first and last slice) that allows a fair comparison of words.

    Fair: at least half as many words occur `MIN_COUNT` times in the training text of both slices as in the best pair
    that is at least half of all slices apart. Corpora often begin and end with little text, in which few words have
    vectors of their own.
    """
    first, last = _attested_range(model)
    return model.slices.labels[first], model.slices.labels[last]


def _attested_range(model: Model) -> tuple[int, int]:
    vectors.check_moves(model)

    def compute() -> tuple[int, int]:
        n = len(model.slices)
        attested = np.array([model.vocabulary.attested(t, MIN_COUNT) for t in range(n)], dtype=np.float32)
        common = attested @ attested.T  # (T, T) words that both slices attest
        distance = np.arange(n)[None, :] - np.arange(n)[:, None]
        best = common[distance >= max(n // 2, 1)].max()
        fair = (common >= max(best / 2, 1)) & (distance > 0)
        if not fair.any():
            return 0, n - 1
        widest = np.where(fair & (distance == distance[fair].max()), common, -1)
        first, last = np.unravel_index(int(widest.argmax()), widest.shape)
        return int(first), int(last)

    return model.cached("attested range", compute)


def usual_comparison(model: Model, min_count: int) -> tuple[int, int, Array]:
    """Return the two slices that are compared by default, and which words occur in both and are not left out."""
    first, last = _attested_range(model)
    common = model.vocabulary.attested(first, min_count) & model.vocabulary.attested(last, min_count)
    return first, last, common & ~most_frequent(model, usual_skip(model))


def most_frequent(model: Model, n: int) -> Array:
    """Tell which words are the n most frequent ones."""
    found = np.zeros(len(model.words), dtype=bool)
    found[np.argsort(-model.vocabulary.totals, kind="stable")[:n]] = True
    return found


def usual_skip(model: Model) -> int:
    """Return how many of the most frequent words are left out by default."""
    return min(MOST_SKIPPED, int(len(model.words) * _SKIPPED_SHARE)) if model.vocabulary.counted else 0


def movers(
    model: Model | str | os.PathLike[str],
    *,
    at: At,
    n: int = 16,
    min_count: int | None = None,
    skip: int | None = None,
    group: str | None = None,
) -> pl.DataFrame:
    """Return the words that moved most from the slice before into a given one, as `drift` measures it.

    Parameters
    ----------
    model
        A dynamic or binned model, or its path.
    at
        The slice; not the first.
    n
        Number of words.
    min_count, skip, group
        As in `drift`.

    Returns
    -------
    word, drift, effect and q as in `drift`, and occurrences in the slice before and in this one.
    """
    model = as_model(model, group)
    vectors.check_moves(model)
    labels, t = model.slices.labels, model.slices.index(at)
    n = checks.whole("n", n, least=1)
    if t == 0:
        raise OptionError(f"'{labels[0]}' is the first slice; nothing can move into it")
    table = drift(model, n=n, between=(labels[t - 1], labels[t]), min_count=min_count, skip=skip)
    return table.drop("slices", "interpolated")
