"""Which words moved, and how far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from driftword.corpus.slices import At
from driftword.errors import OptionError
from driftword.explore import vectors as space
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.model import Model

METRICS: Final = ("absolute", "cosine", "thirds", "farthest", "path", "step", "neighbors", "ranks", "relative")
NEIGHBORS: Final = 25  # whose exchange says how far a word moved
ALIKE: Final = 200  # words of similar frequency that "relative" compares with, fewer in a small vocabulary
_BATCH: Final = 512


def drift(
    model: Model,
    *,
    n: int | None = 16,
    metric: str = "absolute",
    between: tuple[At, At] | None = None,
    min_count: int = 0,
    skip: int = 0,
    words: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """Return the words that moved most, with the evidence behind each.

    Parameters
    ----------
    model
        A dynamic or binned model.
    n
        How many words; None for all.
    metric
        ``"absolute"``: Euclidean distance, as in the paper; ``"cosine"``: of the vectors, the mean of each slice
        taken away; ``"thirds"``: the same between the means of the first and of the last third of the slices,
        steadier than two slices alone; ``"farthest"``: the largest cosine distance from the first slice on the whole
        way, for words that went and came back; ``"path"``: length of the whole way; ``"step"``: its largest step;
        ``"neighbors"``: share of the 25 nearest words that were exchanged; ``"ranks"``: how differently the nearest
        words of both are ranked; ``"relative"``: absolute, in standard deviations from words of similar frequency.
    between
        Two slices; the first and the last by default.
    min_count
        Only words that occur at least so often in both slices.
    skip
        Leave out so many of the most frequent words: their use changes with style rather than with meaning.
    words
        Only these words.

    Returns
    -------
    word, drift, occurrences in both slices, in how many of the slices from one to the other it occurs at all, and
    whether a vector is `interpolated`: the word occurs in one of the two slices, or in both, not at all.
    """
    space.choose("metric", metric, METRICS)
    space.moving(model)
    space.not_negative(min_count=min_count, skip=skip)
    labels = model.slices.labels
    try:
        begin, end = between if between is not None else (labels[0], labels[-1])
    except (TypeError, ValueError) as error:
        raise OptionError(f"between is {between!r}; give two slices, such as (1900, 2000)") from error
    first, last = model.slices.index(begin), model.slices.index(end)
    if first >= last:
        raise OptionError(
            f"drift leads from an earlier slice to a later one, not from '{labels[first]}' to '{labels[last]}'; "
            "name two slices in order of time"
        )
    wanted = np.ones(len(model.words), dtype=bool)
    if words is not None:
        wanted[:] = False
        wanted[[model.word_id(word) for word in ([words] if isinstance(words, str) else words)]] = True
    counts = np.asarray(model.counts)
    wanted &= np.minimum(counts[first], counts[last]) >= min_count
    if skip > 0:
        wanted[np.argsort(-counts.sum(axis=0, dtype=np.int64), kind="stable")[:skip]] = False
    scores = _measure(model, metric, first, last, wanted)
    places = space.best(scores, wanted, len(scores) if n is None else space.at_least_one(n))
    here = counts[first : last + 1, places] > 0
    return pl.DataFrame(
        {
            "word": [model.words[v] for v in places],
            "drift": scores[places].astype(np.float64),
            "count_first": counts[first, places].astype(np.int64),
            "count_last": counts[last, places].astype(np.int64),
            "slices": here.sum(axis=0).astype(np.int64),
            "interpolated": ~(here[0] & here[-1]),
        },
        schema_overrides={"word": pl.String},
    )


def _measure(model: Model, metric: str, first: int, last: int, wanted: Array) -> Array:
    if metric in ("path", "step"):
        total = np.zeros(len(model.words), dtype=np.float32)
        before = space.vectors(model, first)
        for t in range(first + 1, last + 1):
            behind = space.vectors(model, t)
            step = np.linalg.norm(behind - before, axis=1)
            total = total + step if metric == "path" else np.maximum(total, step)
            before = behind
        return total
    if metric == "farthest":
        begin, apart = space.unit(space.centred(model, first)), np.zeros(len(model.words), dtype=np.float32)
        for t in range(first + 1, last + 1):
            np.maximum(apart, 1 - (begin * space.unit(space.centred(model, t))).sum(axis=1), out=apart)
        return apart
    if metric == "thirds":
        share = max(1, (last - first + 1) // 3)
        return _distance(*(_centred_sum(model, t, t + share) for t in (first, last - share + 1)))
    if metric == "cosine":
        return _distance(space.centred(model, first), space.centred(model, last))
    if metric in ("neighbors", "ranks"):
        return _exchange(model, first, last, wanted, ranks=metric == "ranks")
    apart = np.linalg.norm(space.vectors(model, last) - space.vectors(model, first), axis=1)
    if metric == "absolute":
        return np.asarray(apart)
    return _relative(apart, np.asarray(model.counts)[[first, last]].sum(axis=0))


def _centred_sum(model: Model, begin: int, end: int) -> Array:
    total = np.zeros((len(model.words), model.rho.shape[2]), dtype=np.float32)
    means = np.zeros(model.rho.shape[2], dtype=np.float32)
    for t in range(begin, end):
        total += space.vectors(model, t)
        means += space.mean(model, t)
    return total - means


def _distance(one: Array, other: Array) -> Array:
    return np.asarray(1 - (space.unit(one) * space.unit(other)).sum(axis=1))


def _relative(scores: Array, frequency: Array) -> Array:
    """Return how many standard deviations each score lies above the median of words of similar frequency."""
    order = np.argsort(frequency, kind="stable")
    values = np.log(np.maximum(scores[order], 1e-12))
    width = min(max(ALIKE // 10, min(ALIKE, len(values) // 20)), len(values))
    windows = np.lib.stride_tricks.sliding_window_view(values, width)
    middle = np.median(windows, axis=1)
    spread = 1.4826 * np.median(np.abs(windows - middle[:, None]), axis=1)  # a standard deviation, if they are normal
    window = np.clip(np.arange(len(values)) - width // 2, 0, len(windows) - 1)
    result = np.empty(len(values))
    result[order] = (values - middle[window]) / np.maximum(spread[window], 1e-6)
    return result


def _exchange(model: Model, first: int, last: int, wanted: Array, *, ranks: bool) -> Array:
    """Compare the nearest words of each word in two slices, of those that occur in both."""
    counts = np.asarray(model.counts)
    common = np.flatnonzero(np.minimum(counts[first], counts[last]) >= MIN_COUNT)
    if len(common) < 2:
        raise OptionError(
            f"fewer than two words occur {MIN_COUNT} times in both slices; choose other slices or a metric"
        )
    asked = np.flatnonzero(wanted & (np.minimum(counts[first], counts[last]) >= MIN_COUNT))
    n = min(NEIGHBORS, len(common) - 1)
    result = np.zeros(len(model.words), dtype=np.float32)
    spaces = [space.unit(space.centred(model, t)) for t in (first, last)]
    for begin in range(0, len(asked), _BATCH):
        part = asked[begin : begin + _BATCH]
        near = []
        for held in spaces:
            scores = held[part] @ held[common].T
            scores[part[:, None] == common[None, :]] = -np.inf
            near.append((scores, np.argpartition(-scores, n - 1, axis=1)[:, :n]))
        for row, v in enumerate(part):
            one, other = near[0][1][row], near[1][1][row]
            if ranks:
                union = np.union1d(one, other)
                x, y = (np.argsort(np.argsort(-scores[row, union])) for scores, _ in near)
                result[v] = 1 - np.corrcoef(x, y)[0, 1] if len(union) > 1 else 0
            else:
                shared = len(np.intersect1d(one, other))
                result[v] = 1 - shared / (2 * n - shared)
    return result


def movers(model: Model, *, at: At, n: int = 16, min_count: int = MIN_COUNT) -> pl.DataFrame:
    """Return the words that moved most into a slice: the distance from the slice before.

    Parameters
    ----------
    model
        A dynamic or binned model.
    at
        The slice; not the first.
    n
        How many words.
    min_count
        Only words that occur at least so often in it and in the slice before.
    """
    space.moving(model)
    t = model.slices.index(at)
    if t == 0:
        raise OptionError(f"'{model.slices.labels[0]}' is the first slice; movers needs one before it")
    before = model.slices.labels[t - 1]
    return drift(model, n=n, between=(before, model.slices.labels[t]), min_count=min_count).drop(
        "slices", "interpolated"
    )


def ends(model: Model) -> tuple[str, str]:
    """Choose the first and the last slice that hold enough text to be compared.

    Enough: at least half as many words occur `MIN_COUNT` times as in the middling slice. Corpora often begin and
    end with little text, in which few words have vectors of their own.
    """
    space.moving(model)
    words = (np.asarray(model.counts) >= MIN_COUNT).sum(axis=1)
    enough = np.flatnonzero(words >= np.median(words) / 2)
    first, last = (enough[0], enough[-1]) if len(enough) > 1 else (0, len(words) - 1)
    return model.slices.labels[first], model.slices.labels[last]


def pace(model: Model, *, min_count: int = MIN_COUNT) -> pl.DataFrame:
    """Return how far language moved into each slice: the mean distance of its words from the slice before.

    Parameters
    ----------
    model
        A dynamic or binned model.
    min_count
        Only words that occur at least so often in a slice and in the one before.

    Returns
    -------
    One row per slice: slice, movement (null for the first, and where no word occurs often enough), how many words
    it is the mean of, and all occurrences in the slice.
    """
    space.moving(model)
    space.not_negative(min_count=min_count)
    counts = np.asarray(model.counts)
    movement: list[float | None] = [None]
    words = [0]
    for t in range(1, len(model.slices)):
        both = np.flatnonzero(np.minimum(counts[t - 1], counts[t]) >= min_count)
        step = space.vectors(model, t)[both] - space.vectors(model, t - 1)[both]
        words.append(len(both))
        movement.append(float(np.linalg.norm(step, axis=1).mean()) if len(both) else None)
    return pl.DataFrame(
        {
            "slice": model.slices.labels,
            "movement": movement,
            "words": words,
            "tokens": counts.sum(axis=1, dtype=np.int64),
        },
        schema_overrides={"movement": pl.Float64},
    )
