"""When meaning changed: the change points of a word's trajectory.

A change point splits the slices into a before and an after whose mean vectors are as far apart as possible. Only
slices in which the word is observed are looked at: vectors of the others are interpolated and do not show when it
changed. A random walk smooths abrupt changes, which draws the best split towards the middle of the time; so among all
splits that explain nearly as much, the one at the largest step is taken. Documents are not smoothed: where
`significance` found in them that a word changed, its date is taken.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus.peers import Peers
from driftword.explore import vectors
from driftword.explore.drift_ranking import effect_columns, rank_words
from driftword.explore.intervals import CorpusLike, change_dates
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.models.model import Model, as_model

if TYPE_CHECKING:
    from driftword.inference.change_dates import ChangeDates

#: A figure or a page names only changes that are larger than those of this share of words of similar frequency.
NOTABLE: Final = 0.9
_NEARLY: Final = 0.7  # of what the best split explains
_BLOCK: Final = 64  # words split at a time: what is summed stays in the processor's cache
_NOISE: Final = 0.05  # a change point must explain more than this share of all movement


def changes(
    model: Model | str | os.PathLike[str],
    words: str | Sequence[str] | None = None,
    *,
    n: int = 16,
    min_count: int = MIN_COUNT,
    min_rank: float = 0.0,
    intervals: bool = False,
    corpus: CorpusLike = None,
    group: str | None = None,
) -> pl.DataFrame:
    """Return when meaning changed: change points, each named by the first slice of the new use.

    With words: the change points of each, at most `n`, those that explain most first. Without: the words whose
    trajectory is best explained by a single change point; where the model has been tested (`significance`), words that
    are significant at a false discovery rate of 5% come first, by the strength of their change.

    Parameters
    ----------
    model
        A dynamic or binned model, or its path.
    words
        A word, or several; None ranks all words.
    n
        Number of change points of each word, or number of words.
    min_count
        Only change points with at least this many occurrences before and after.
    min_rank
        Only change points of at least this `rank`.
    intervals
        Also give the 90% interval of every date, for `words`: when the documents show that the change came, if it was
        sudden. This reads the corpus.
    corpus, group
        As in `neighbors`.

    Returns
    -------
    word; slice, the first of the new use, in which the word is observed; distance between the mean vectors before
    and after; `rank`, the share of words of similar frequency whose own largest change is smaller (a rank, not a
    significance); explained, the share of the word's movement that the change point accounts for; occurrences before
    and after, up to the neighbouring change points (null where they are not known); and effect and q of the word over
    all slices, as `significance` found them (null without such a test, and for words in too few documents). With
    intervals also slice_low and slice_high.
    """
    model = as_model(model, group)
    vectors.check_moves(model)
    n, min_count = checks.whole("n", n, least=1), checks.whole("min_count", min_count)
    min_rank = checks.real("min_rank", min_rank, low=0, high=1)
    intervals = checks.flag("intervals", intervals)
    if intervals and words is None:
        raise OptionError("Dates of change have intervals only for words that are named; name some with `words`")
    if len(model.slices) < 3:
        raise OptionError(f"The model has {len(model.slices)} slices and a change point needs three; use `drift`")
    if words is None:
        return _ranking(model, n, min_count).filter(pl.col("rank") >= min_rank)
    ids = [model.word_id(word) for word in checks.words("words", words)]
    dates = change_dates(model, corpus) if intervals else None
    return pl.concat([_changes_of(model, v, n=n, min_count=min_count, min_rank=min_rank, dates=dates) for v in ids])


class _Split(NamedTuple):
    """The best change point of each of several words."""

    slice: Array  # the first of the new use; 0 where there is no change point
    gain: Array  # the part of the variation that it explains
    distance: Array  # between the mean vectors before and after
    variation: Array


def _split(rows: Array, observed: Array, known: Array | None = None) -> _Split:
    """Split the vectors of words, (T, words, K), each in the slices where it is observed.

    `known` holds slices in which words changed, 0 where that is not known; the first possible one from there is taken.
    """
    slices, size = observed.shape
    occurs = np.maximum(observed.sum(axis=0), 1)
    weight = observed.astype(np.float32)
    centered, total = rows, occurs[:, None].astype(np.float32)
    for _ in range(2):  # what rounding leaves the first time would add up below, and look like a change
        centered = (centered - np.einsum("twk,tw->wk", centered, weight) / total) * weight[:, :, None]
    passed = np.cumsum(observed, axis=0) - observed
    before = np.zeros_like(centered)
    for t in range(1, slices):  # cumsum over the first axis takes eight times as long
        np.add(before[t - 1], centered[t - 1], out=before[t])
    possible = observed & (passed > 0)
    gain = np.where(possible, _squared_lengths(before) * occurs / np.maximum(passed * (occurs - passed), 1), 0)
    times = np.arange(slices)[:, None]
    previous = np.maximum.accumulate(np.where(observed, times, 0), axis=0)
    previous = np.concatenate([previous[:1], previous[:-1]])  # the slice before in which the word is observed
    # A random walk covers a squared distance in proportion to time even if nothing happens.
    step = _squared_lengths(rows - rows[previous, np.arange(size)]) / np.maximum(times - previous, 1)
    best = np.where(possible & (gain >= _NEARLY * gain.max(axis=0)), step, -1).argmax(axis=0)
    if known is not None:
        later = possible & (times >= known)
        best = np.where((known > 0) & later.any(axis=0), later.argmax(axis=0), best)
    best_gain, early = gain[best, np.arange(size)], passed[best, np.arange(size)]
    distance = np.sqrt(best_gain * occurs / np.maximum(early * (occurs - early), 1))
    variation = np.maximum(_squared_lengths(centered).sum(axis=0), 1e-12)
    return _Split(np.where(best_gain > 0, best, 0), best_gain, distance, variation)


def _squared_lengths(rows: Array) -> Array:
    return np.asarray(np.einsum("twk,twk->tw", rows, rows))


def _ranking(model: Model, n: int, min_count: int) -> pl.DataFrame:
    """Find for every word the change point that explains most of its trajectory."""
    every, observed = np.arange(len(model.words)), model.vocabulary.observed
    blocks = [every[begin : begin + _BLOCK] for begin in range(0, len(every), _BLOCK)]
    splits = [_split(_rows(model, some), observed[:, some], change_slices(model, some)) for some in blocks]
    split = _Split(*(np.concatenate(columns) for columns in zip(*splits, strict=True)))
    sums = np.cumsum(_occurrences(model), axis=0, dtype=np.int64)
    before = sums[np.maximum(split.slice - 1, 0), every]
    after = sums[-1] - before
    enough = np.minimum(before, after) >= (max(min_count, 1) if model.vocabulary.counted else 1)
    words = rank_words(model.significance, split.gain, (split.slice > 0) & enough, n)
    columns = {
        "distance": split.distance[words],
        "rank": np.array([_share_below(split.distance[v], _peer_distances(model, v)) for v in words]),
        "explained": np.minimum(split.gain[words] / split.variation[words], 1),
        "count_before": before[words],
        "count_after": after[words],
    }
    return _table(model, words, split.slice[words], columns)


def _changes_of(
    model: Model, v: int, *, n: int, min_count: int, min_rank: float, dates: ChangeDates | None
) -> pl.DataFrame:
    """Split the trajectory of one word again and again where that explains most, as long as it beats noise."""
    rows, observed, counts = _rows(model, [v]), model.vocabulary.observed[:, [v]], _occurrences(model)[:, v]
    least = min_count if model.vocabulary.counted else 1
    known = change_slices(model, np.array([v]))
    whole, peers = _split(rows, observed, known), _peer_distances(model, v)
    parts = {(0, len(rows)): whole}
    points: list[dict[str, Any]] = []
    while len(points) < n:
        (low, high), split = max(parts.items(), key=lambda part: part[1].gain[0])
        explained = min(float(split.gain[0] / whole.variation[0]), 1.0)
        if explained <= _NOISE and not (known[0] and (low, high) == (0, len(rows))):
            break
        point = low + int(split.slice[0])
        if min(counts[low:point].sum(), counts[point:high].sum()) >= least:
            distance = float(split.distance[0])
            when = None if dates is None else dates.of_word(v, low, high)
            ends = [] if when is None else model.slices.find(np.array([when.low, when.high])).clip(0).tolist()
            first, last = min([point, *ends]), max([point, *ends])
            found = {
                "slice": point,
                "distance": distance,
                "rank": _share_below(distance, peers),
                "explained": explained,
                "slice_low": first,
                "slice_high": last,
            }
            points.append(found)
        del parts[low, high]
        for begin, end in ((low, point), (point, high)):
            parts[begin, end] = _split(rows[begin:end], observed[begin:end])
    points = [one for one in points if one["rank"] >= min_rank]
    slices = np.array([one["slice"] for one in points], dtype=np.int64)
    edges = np.array([0, *sorted(slices), len(rows)])
    between = np.add.reduceat(counts, edges[:-1], dtype=np.int64)  # two change points that follow each other
    after = np.searchsorted(edges, slices)
    columns = {name: np.array([one[name] for one in points]) for name in ("distance", "rank", "explained")}
    columns |= {"count_before": between[after - 1], "count_after": between[after]}
    table = _table(model, np.full(len(points), v), slices, columns)
    ends = () if dates is None else ("slice_low", "slice_high")
    labels = model.slices.labels
    return table.with_columns(pl.Series(end, [labels[one[end]] for one in points], dtype=pl.String) for end in ends)


def change_slices(model: Model, words: Array) -> Array:
    """Return the slices in which words changed, as their documents show; 0 where that is not known."""
    if (found := model.significance) is None:
        return np.zeros(len(words), dtype=np.int64)
    days = found.table["change"].gather(words).to_physical()
    return np.where(days.is_null(), 0, np.maximum(model.slices.find(days.fill_null(0).to_numpy()), 0)).astype(np.int64)


def _occurrences(model: Model) -> Array:
    """Return how often each word occurs in each slice, ``(T, V)``; 1 where it occurs an unknown number of times."""
    return np.asarray(model.counts) if model.vocabulary.counted else model.vocabulary.observed


def _peer_distances(model: Model, v: int) -> Array:
    """Return how far words of similar frequency moved at their own best change points."""
    observed = model.vocabulary.observed
    peers = model.cached("peers", lambda: Peers(model.vocabulary.totals, observed.sum(axis=0) > 1)).of(v)
    found = model.cached("peer distances", lambda: np.full(len(model.words), np.nan, dtype=np.float32))
    new = peers[np.isnan(found[peers])]
    if len(new):
        found[new] = _split(_rows(model, new), observed[:, new]).distance
    return np.asarray(found[peers])


def _share_below(distance: float, others: Array) -> float:
    """Return the share of others that are smaller."""
    return float((others < distance).mean()) if len(others) else 0.0


def _rows(model: Model, words: Any) -> Array:
    return vectors.without_frequency(model, np.asarray(model.rho_of(words), dtype=np.float32))


def _table(model: Model, words: Array, slices: Array, columns: dict[str, Array]) -> pl.DataFrame:
    table: dict[str, Any] = {
        "word": pl.Series([model.words[v] for v in words], dtype=pl.String),
        "slice": pl.Series([model.slices.labels[t] for t in slices], dtype=pl.String),
        **{name: values.astype(np.int64 if "count" in name else np.float64) for name, values in columns.items()},
        **effect_columns(model, words),
    }
    if not model.vocabulary.counted:
        table |= dict.fromkeys(("count_before", "count_after"), pl.repeat(None, len(words), dtype=pl.Int64, eager=True))
    return pl.DataFrame(table)
