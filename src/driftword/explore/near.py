"""Which words are near: in one slice, and across slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.corpus.slices import At
from driftword.errors import OptionError
from driftword.explore import space
from driftword.explore.space import MIN_COUNT, Array
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
    space.choose("metric", metric, METRICS)
    space.at_least_one(n)
    space.not_negative(min_count=min_count)
    v = model.word_id(word)
    rows: list[dict[str, Any]] = []
    for t in space.slice_numbers(model, at):
        held = space.vectors(model, t)
        allowed = space.occurring(model, t, min_count)
        scores = _similarities(held, v, metric, allowed)
        allowed[v] = False
        rows += _ranked(model, t, scores, space.best(scores, allowed, n))
    return _table(rows)


def _similarities(held: Array, v: int, metric: str, allowed: Array) -> Array:
    if metric == "paper":
        lengths = np.linalg.norm(held, axis=1)
        return np.asarray(held @ np.sign(held[v]) / np.maximum(lengths * lengths[v], 1e-12))
    held = space.unit(space.centred(held, allowed) if metric == "centred" else held)
    return np.asarray(held @ held[v])


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
    query = space.centred(space.vectors(model, t), space.occurring(model, t, min_count))[v]
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
    held = space.unit(space.centred(space.vectors(model, t), space.occurring(model, t, min_count)))
    known = [model.word_id(word) for word in (a, b, c)]
    query = held[known[1]] - held[known[0]] + held[known[2]]
    return _like(model, query, at if to is None else to, n=n, min_count=min_count, without=known)


def _like(
    model: Model, query: Array, to: At | Sequence[At] | None, *, n: int, min_count: int, without: Sequence[int] = ()
) -> pl.DataFrame:
    space.at_least_one(n)
    space.not_negative(min_count=min_count)
    rows: list[dict[str, Any]] = []
    for t in space.slice_numbers(model, to):
        allowed = space.occurring(model, t, min_count)
        scores = space.unit(space.centred(space.vectors(model, t), allowed)) @ space.unit(query)
        allowed[list(without)] = False
        rows += _ranked(model, t, scores, space.best(scores, allowed, n))
    return _table(rows)


def similarity(model: Model, a: str, b: str) -> pl.DataFrame:
    """Return the cosine between two words in every slice, means taken away, and how often each occurs there."""
    first, second = model.word_id(a), model.word_id(b)
    if first == second:
        raise OptionError(f"a word is always nearest to itself; compare '{a}' with another")
    rows = []
    for t, label in enumerate(model.slices.labels):
        held = space.vectors(model, t)
        x, y = space.unit(held[[first, second]] - space.mean(held, space.occurring(model, t, MIN_COUNT)))
        counts = model.counts[t]
        rows.append(
            {"slice": label, "similarity": float(x @ y), "count_a": int(counts[first]), "count_b": int(counts[second])}
        )
    return pl.DataFrame(rows)


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
    rows = []
    for t, label in enumerate(model.slices.labels):
        held = space.vectors(model, t)
        mean = space.mean(held, space.occurring(model, t, MIN_COUNT))
        low, high = (space.unit(held[pole] - mean).mean(axis=0) for pole in ends)
        place = float(space.unit(held[v] - mean) @ space.unit(high - low))
        seen = [int(model.counts[t][pole].sum()) for pole in ends]
        rows.append(
            {
                "slice": label,
                "place": place,
                "count": int(model.counts[t][v]),
                "count_low": seen[0],
                "count_high": seen[1],
            }
        )
    return pl.DataFrame(rows)


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
