"""The way of one word through time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from driftword.corpus.slices import At
from driftword.explore import vectors as space
from driftword.explore.nearest_neighbors import neighbors
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.model import Model


def trajectory(
    model: Model,
    word: str,
    *,
    at: At | Sequence[At] | None = None,
    n: int = 6,
    metric: str = "paper",
    min_count: int = MIN_COUNT,
) -> pl.DataFrame:
    """Return the way of a word: its place on the line along which it moved most, slice by slice.

    Parameters
    ----------
    model
        A dynamic or binned model.
    word
        The word asked about.
    at
        Slices to show neighbours for; by default four that tell most (see `telling`).
    n, metric, min_count
        How many neighbours, and which, as in `neighbors`.

    Returns
    -------
    One row per slice: slice; place, the first principal component of the word's vectors, rising from the first
    slice to the last; similarity (cosine) to itself in the first and the last slice; occurrences; whether it is
    observed there or interpolated; and its neighbours, at the chosen slices.
    """
    space.moving(model)
    v = model.word_id(word)
    way = np.asarray(model.rho[:, v], dtype=np.float64)
    chosen = telling(model, word, min_count=min_count) if at is None else space.slice_numbers(model, at)
    labels = model.slices.labels
    near = neighbors(model, word, at=[labels[t] for t in chosen], n=n, metric=metric, min_count=min_count)
    by_slice = {label: near.filter(pl.col("slice") == label)["word"].to_list() for label in near["slice"].unique()}
    directions = space.unit(way)
    counts = np.asarray(model.counts)[:, v].astype(np.int64)
    return pl.DataFrame(
        {
            "slice": labels,
            "place": _line(way),
            "similarity_first": directions @ directions[0],
            "similarity_last": directions @ directions[-1],
            "count": counts,
            "observed": counts > 0,
            "neighbors": [by_slice.get(label) for label in labels],
        },
        schema_overrides={"slice": pl.String, "neighbors": pl.List(pl.String)},
    )


def frequency(model: Model, word: str) -> pl.DataFrame:
    """Return how often a word occurs and how far it moved: so one sees whether its use changed or only its count.

    Returns
    -------
    One row per slice: slice, count, per_million words of text, and step, the distance from the slice before (null for
    the first slice, and where nothing moves).
    """
    counts = np.asarray(model.counts)
    v = model.word_id(word)
    way = np.asarray(model.rho[:, v], dtype=np.float64)
    steps = np.linalg.norm(np.diff(way, axis=0), axis=1).tolist() or [None] * (len(model.slices) - 1)
    return pl.DataFrame(
        {
            "slice": model.slices.labels,
            "count": counts[:, v].astype(np.int64),
            "per_million": 1e6 * counts[:, v] / np.maximum(counts.sum(axis=1, dtype=np.int64), 1),
            "step": [None, *steps],
        },
        schema_overrides={"step": pl.Float64},
    )


def _line(way: Array) -> Array:
    """Project a way on its first principal component, turned so that it ends above its beginning."""
    moved = way - way.mean(axis=0)
    _, _, axes = np.linalg.svd(moved, full_matrices=False)
    place = moved @ axes[0]
    return np.asarray(place if place[-1] >= place[0] else -place)


def telling(model: Model, word: str, *, n: int = 4, min_count: int = MIN_COUNT) -> list[int]:
    """Choose slices that show a word's way: its first and last appearance, then those farthest from all chosen.

    Slices in which the word occurs less than `min_count` times are not chosen, unless there is no other.
    """
    v = model.word_id(word)
    way = np.asarray(model.rho[:, v], dtype=np.float64)
    counts = np.asarray(model.counts)[:, v]
    for least in (min_count, 1, 0):
        known = np.flatnonzero(counts >= least)
        if len(known):
            break
    chosen = sorted({int(known[0]), int(known[-1])})
    while len(way) > 1 and len(chosen) < min(n, len(known)):
        apart = np.min([np.linalg.norm(way[known] - way[t], axis=1) for t in chosen], axis=0)
        if apart.max() == 0:
            break
        chosen.append(int(known[apart.argmax()]))
    return sorted(chosen)
