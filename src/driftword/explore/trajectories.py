"""Single words through time: their trajectories, and how often they occur."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.corpus.slices import At
from driftword.explore import vectors
from driftword.explore.intervals import CorpusLike, uncertainty, with_interval
from driftword.explore.nearest_neighbors import neighbors_by_slice
from driftword.explore.slice_selection import attested_slices, representative_slices
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.models.model import Model, as_model, models_of_groups


def trajectory(
    model: Model | str | os.PathLike[str],
    words: str | Sequence[str],
    *,
    at: At | Sequence[At] | None = None,
    n: int = 6,
    metric: str = "centered",
    min_count: int = MIN_COUNT,
    intervals: bool = False,
    corpus: CorpusLike = None,
    group: str | None = None,
    groups: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """Return the trajectory of a word, or of several: its position along the line on which it moved most.

    Parameters
    ----------
    model
        A dynamic or binned model, or its path.
    words
        A word, or several.
    at
        Slices to list neighbours for, or ``"all"``; by default up to four representative ones.
    n, metric, min_count
        Number of neighbours, and which, as in `neighbors`.
    intervals
        Also give the 90% interval of every position: where it would be with other documents of the same kind. This
        reads the corpus.
    corpus, group
        As in `neighbors`.
    groups
        Ask about each of these groups, with positions that can be compared: all along the line on which the word moved
        most in all text.

    Returns
    -------
    One row per word and slice: word; slice; position, on the first principal component of the word's vectors, rising
    from the first slice that attests the word to the last; similarity (cosine) to itself in those two slices; count;
    whether the word is observed in training text there, or its vector interpolated; and its neighbours, in the
    chosen slices. With intervals also position_low and position_high, which leave out the noise of the fit itself. Of
    several groups, rows for each, and its name as group; intervals then take all text as it is, and are null where the
    group has no text with the word.
    """
    model = as_model(model, group)
    vectors.check_moves(model)
    intervals = checks.flag("intervals", intervals)
    names, min_count = checks.words("words", words), checks.whole("min_count", min_count)
    shown = None if at is None else vectors.slice_numbers(model, at)
    views: dict[Any, Model] = {None: model} if groups is None else models_of_groups(model, groups)
    tables = []
    for name, view in views.items():
        source = uncertainty(view, corpus) if intervals else None
        for v in (model.word_id(word) for word in names):
            middle, axis = _line(model, v, min_count)
            rows = vectors.without_frequency(model, np.asarray(view.rho_of(v), dtype=np.float64))
            table = _table(view, v, rows, (rows - middle) @ axis, min_count)
            here = representative_slices(view, model.words[v], min_count=min_count) if shown is None else shown
            near = neighbors_by_slice(view, v, here, n, metric=metric, min_count=min_count)
            table = table.with_columns(near.alias("neighbors"))
            if source is not None:
                drawn = vectors.without_frequency(model, source.vectors(v))
                if name is None:  # positions are relative to their own mean, not to that of all text
                    drawn = drawn - drawn.mean(axis=1, keepdims=True)
                table = with_interval(table, "position", drawn @ axis, factor=1)
            if name is not None:  # without text of its own, a group is where all text is, and nobody knows how surely
                table = table.with_columns(pl.when("observed").then(pl.col("^position_(low|high)$")).name.keep())
                table = table.select(pl.lit(name).alias("group"), pl.all())
            tables.append(table)
    return pl.concat(tables)


def _line(model: Model, v: int, min_count: int) -> tuple[Array, Array]:
    """Return the line on which a word moved most: the mean of its vectors, and their first principal component.

    It rises from the first slice that attests the word to the last.
    """
    rows, attested = vectors.path(model, v), attested_slices(model, v, min_count)
    middle = rows.mean(axis=0)
    axis = np.linalg.svd(rows - middle, full_matrices=False)[2][0]
    rises = rows[attested[-1]] @ axis >= rows[attested[0]] @ axis
    return middle, np.asarray(axis if rises else -axis)


def _table(model: Model, v: int, rows: Array, positions: Array, min_count: int) -> pl.DataFrame:
    """Return the positions of a word, and how similar its vectors are to those of the slices at both ends."""
    attested, directions = attested_slices(model, v, min_count), vectors.unit(rows)
    return pl.DataFrame(
        {
            "word": [model.words[v]] * len(model.slices),
            "slice": model.slices.labels,
            "position": positions,
            "similarity_first": directions @ directions[attested[0]],
            "similarity_last": directions @ directions[attested[-1]],
            "count": vectors.counts(model, slice(None), v),
            "observed": model.vocabulary.observed[:, v],
        }
    )


def frequency(model: Model | str | os.PathLike[str], word: str, *, group: str | None = None) -> pl.DataFrame:
    """Return how often a word occurs and how far it moved: a change of frequency is not a change of use.

    Parameters
    ----------
    model
        A model, or its path.
    word
        The word.
    group
        As in `neighbors`.

    Returns
    -------
    One row per slice: slice; count and occurrences per_million words of text (null where they are not known);
    intercept, the model's own log odds of the word in an average context (null for a model without); and step, the
    distance of its embedding from the slice before (null for the first slice, and where nothing moves).
    """
    model = as_model(model, group)
    v = model.word_id(word)
    steps = np.linalg.norm(np.diff(vectors.path(model, v), axis=0), axis=1).tolist() or [None] * (len(model.slices) - 1)
    columns: dict[str, Any] = {
        "slice": model.slices.labels,
        "count": vectors.counts(model, slice(None), v),
        "per_million": per_million(model, v),
        "intercept": model.intercepts_of(v).tolist() if model.has_intercepts else [None] * len(model.slices),
        "step": [None, *steps],
    }
    return pl.DataFrame(columns, schema_overrides=dict.fromkeys(("per_million", "intercept", "step"), pl.Float64))


def per_million(model: Model, v: int) -> list[float | None]:
    """Return the occurrences of a word per million words of each slice; None where they are not known."""
    if not model.vocabulary.counted:
        return [None] * len(model.slices)
    counts = np.asarray(model.counts)
    sizes = model.cached("words of slices", lambda: np.maximum(counts.sum(axis=1, dtype=np.int64), 1))
    return [float(share) for share in 1e6 * counts[:, v] / sizes]
