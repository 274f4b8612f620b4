"""Which words are near: in one slice, and across slices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.corpus.slices import At
from driftword.errors import OptionError
from driftword.explore import vectors as space
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.model import Model

METRICS: Final = ("paper", "cosine", "centred")


def neighbors(
    model: Model,
    word: str,
    *,
    at: At | Sequence[At] | None = None,
    n: int = 10,
    metric: str = "paper",
    min_count: int = MIN_COUNT,
) -> pl.DataFrame:
    """Return the words nearest to a word in one slice, in several, or in all.

    Parameters
    ----------
    model
        The model.
    word
        The word asked about.
    at
        A slice as label, year or date, or several; all slices by default.
    n
        How many neighbours.
    metric
        ``"paper"``: the sign of the query's embedding times the other's, by both lengths, as in the paper;
        ``"cosine"``; or ``"centred"``: the cosine after taking away the mean of the slice.
    min_count
        Only words that occur so often in the slice; 0 allows all, also those whose vectors are interpolated.

    Returns
    -------
    One row per slice and neighbour: slice, rank, word, similarity, and how often it occurs there.
    """
    found = _nearest(model, [model.word_id(word)], at, n=n, metric=metric, min_count=min_count)
    return _table([row for t, _, scores, places in found for row in _ranked(model, t, scores, places)])


def neighborhoods(
    model: Model, words: Sequence[str], *, at: At | Sequence[At] | None = None, n: int = 10, min_count: int = MIN_COUNT
) -> pl.DataFrame:
    """Return the nearest words of several words at once, which takes little longer than those of one.

    Parameters
    ----------
    model
        The model.
    words
        The words asked about.
    at, n, min_count
        As in `neighbors`.

    Returns
    -------
    One row per slice and word: slice, word, and its neighbours in a list, the nearest first.
    """
    found = _nearest(model, [model.word_id(word) for word in words], at, n=n, metric="paper", min_count=min_count)
    rows = [(model.slices.labels[t], model.words[v], [model.words[w] for w in places]) for t, v, _, places in found]
    schema: dict[str, Any] = {"slice": pl.String, "word": pl.String, "neighbors": pl.List(pl.String)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _nearest(
    model: Model, asked: Sequence[int], at: At | Sequence[At] | None, *, n: int, metric: str, min_count: int
) -> Iterator[tuple[int, int, Array, Array]]:
    """Yield for each slice and each word asked about how near all words are, and the places of the nearest."""
    space.choose("metric", metric, METRICS)
    space.at_least_one(n)
    space.not_negative(min_count=min_count)
    for t in space.slice_numbers(model, at):
        allowed = space.occurring(model, t, min_count)
        scores = _similarities(model, t, asked, metric, min_count)
        for column, v in enumerate(asked):
            others = allowed.copy()
            others[v] = False
            yield t, v, scores[:, column], space.best(scores[:, column], others, n)


def _similarities(model: Model, t: int, asked: Sequence[int], metric: str, min_count: int) -> Array:
    held = space.vectors(model, t)
    rows = held[asked]
    if metric == "paper":
        lengths = np.sqrt(space.squares(model, t))
        near = held @ np.sign(rows).T
        near /= np.maximum(lengths[:, None] * lengths[asked], 1e-12)
        return np.asarray(near)
    centre = space.mean(model, t, min_count) if metric == "centred" else np.zeros(held.shape[1], dtype=held.dtype)
    return space.cosines(model, t, space.unit(rows - centre).T, centre)


def equivalents(
    model: Model,
    word: str,
    *,
    at: At,
    to: At | Sequence[At] | None = None,
    n: int = 10,
    min_count: int = MIN_COUNT,
) -> pl.DataFrame:
    """Return the words that stand in slice `to` where a word stood in slice `at`.

    Vectors of different slices are compared after taking away the mean of each slice.

    Parameters
    ----------
    model
        The model.
    word
        The word asked about, such as "reagan".
    at
        The slice in which it is taken, such as 1985.
    to
        The slice or slices to look in; all by default.
    n, min_count
        As in `neighbors`.
    """
    v = model.word_id(word)
    t = model.slices.index(at)
    query = space.vectors(model, t)[v] - space.mean(model, t, min_count)
    return _like(model, query, to, n=n, min_count=min_count)


def analogy(
    model: Model, a: str, b: str, c: str, *, at: At, to: At | None = None, n: int = 10, min_count: int = MIN_COUNT
) -> pl.DataFrame:
    """Return the words that are to `c` what `b` is to `a`: as "paris" is to "france", so which is to "japan".

    Parameters
    ----------
    model
        The model.
    a, b, c
        The three known words; they are not given as answers.
    at
        The slice in which they are taken.
    to
        The slice to look in; the same by default.
    n, min_count
        As in `neighbors`.
    """
    t = model.slices.index(at)
    known = [model.word_id(word) for word in (a, b, c)]
    one, other, third = space.unit(space.vectors(model, t)[known] - space.mean(model, t, min_count))
    query = other - one + third
    return _like(model, query, at if to is None else to, n=n, min_count=min_count, without=known)


def _like(
    model: Model, query: Array, to: At | Sequence[At] | None, *, n: int, min_count: int, without: Sequence[int] = ()
) -> pl.DataFrame:
    space.at_least_one(n)
    space.not_negative(min_count=min_count)
    rows: list[dict[str, Any]] = []
    for t in space.slice_numbers(model, to):
        allowed = space.occurring(model, t, min_count)
        scores = space.cosines(model, t, space.unit(query)[:, None], space.mean(model, t, min_count))[:, 0]
        allowed[list(without)] = False
        rows += _ranked(model, t, scores, space.best(scores, allowed, n))
    return _table(rows)


def similarity(model: Model, a: str, b: str) -> pl.DataFrame:
    """Return the cosine between two words in every slice, means taken away, and how often each occurs there."""
    first, second = model.word_id(a), model.word_id(b)
    if first == second:
        raise OptionError(f"a word is always nearest to itself; compare '{a}' with another")
    both = space.ways(model, [first, second])
    counts = np.asarray(model.counts)
    return pl.DataFrame(
        {
            "slice": model.slices.labels,
            "similarity": np.einsum("tk,tk->t", both[:, 0], both[:, 1]),
            "count_a": counts[:, first].astype(np.int64),
            "count_b": counts[:, second].astype(np.int64),
        }
    )


def towards(model: Model, word: str, poles: tuple[Sequence[str], Sequence[str]]) -> pl.DataFrame:
    """Return where a word lies between two poles of meaning in every slice: from -1 (the first) to 1 (the second).

    Parameters
    ----------
    model
        The model.
    word
        The word asked about.
    poles
        Two lists of words, such as ``(["cheap", "common"], ["luxury", "exclusive"])``.
    """
    if len(poles) != 2 or any(isinstance(pole, str) for pole in poles):
        raise OptionError('poles are two lists of words, such as (["cheap"], ["luxury"])')
    if not all(poles):
        raise OptionError("a pole of meaning has no word; name at least one for each of the two")
    v = model.word_id(word)
    ends = [[model.word_id(other) for other in pole] for pole in poles]
    if both := set(ends[0]) & set(ends[1]):
        raise OptionError(f"'{model.words[min(both)]}' stands at both poles; name it at one")
    place = space.ways(model, [v])[:, 0]
    low, high = (space.ways(model, pole).mean(axis=1) for pole in ends)
    counts = np.asarray(model.counts)
    return pl.DataFrame(
        {
            "slice": model.slices.labels,
            "place": np.einsum("tk,tk->t", place, space.unit(high - low)),
            "count": counts[:, v].astype(np.int64),
            "count_low": counts[:, ends[0]].sum(axis=1, dtype=np.int64),
            "count_high": counts[:, ends[1]].sum(axis=1, dtype=np.int64),
        }
    )


def _ranked(model: Model, t: int, scores: Array, places: Array) -> list[dict[str, Any]]:
    return [
        {
            "slice": model.slices.labels[t],
            "rank": rank,
            "word": model.words[w],
            "similarity": float(scores[w]),
            "count": int(model.counts[t][w]),
        }
        for rank, w in enumerate(places, 1)
    ]


def _table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    schema = {"slice": pl.String, "rank": pl.Int64, "word": pl.String, "similarity": pl.Float64, "count": pl.Int64}
    return pl.DataFrame(rows, schema=schema)
