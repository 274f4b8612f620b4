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
from driftword.explore.intervals import CorpusLike, interval, uncertainty
from driftword.explore.nearest_neighbors import neighbors
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
        How many neighbours, and which, as in `neighbors`.
    intervals
        Also give the 90% interval of every position: where it would be with other documents of the same kind. This
        reads the corpus.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.
    group
        Ask about the documents of this group, where the model has groups; by default about all text.
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
    parts = []
    for name, view in views.items():
        source = uncertainty(view, corpus) if intervals else None
        for word in names:
            line = _line(model, model.word_id(word), min_count)
            part = _trajectory(view, word, shown, (model, *line), n=n, metric=metric, min_count=min_count)
            if source is not None:
                drawn = vectors.without_frequency(model, source.vectors(model.word_id(word)))
                if name is None:  # positions are relative to their own mean, and not to that of all text
                    drawn = drawn - drawn.mean(axis=1, keepdims=True)
                low, high = interval(drawn @ line[1], part["position"].to_numpy())
                part = part.with_columns(pl.Series("position_low", low), pl.Series("position_high", high))
            parts.append(part if name is None else _in_group(name, part))
    return pl.concat(parts)


def _in_group(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """Name the group; without text of its own it is where all text is, which says nothing about how sure that is."""
    ends = [end for end in ("position_low", "position_high") if end in table.columns]
    table = table.with_columns(pl.when("observed").then(pl.col(end)).alias(end) for end in ends)
    return table.select(pl.lit(name).alias("group"), pl.all())


def _trajectory(
    model: Model, word: str, shown: Sequence[int] | None, line: tuple[Model, Array, Array], *, n: int, metric: str,
    min_count: int,
) -> pl.DataFrame:  # fmt: skip
    """Place a word on a line: that of its own model, or of the one with all text."""
    v, labels = model.word_id(word), model.slices.labels
    whole, middle, axis = line
    vectors_of_word = vectors.without_frequency(whole, np.asarray(model.rho_of(v), dtype=np.float64))
    shown = representative_slices(model, word, min_count=min_count) if shown is None else shown
    near = neighbors(model, word, at=[labels[t] for t in shown], n=n, metric=metric, min_count=min_count)
    by_slice = {label: near.filter(pl.col("slice") == label)["word"].to_list() for label in near["slice"].unique()}
    attested = attested_slices(model, v, min_count)
    first, last = int(attested[0]), int(attested[-1])
    directions = vectors.unit(vectors_of_word)
    columns: dict[str, Any] = {
        "word": [model.words[v]] * len(labels),
        "slice": labels,
        "position": (vectors_of_word - middle) @ axis,
        "similarity_first": directions @ directions[first],
        "similarity_last": directions @ directions[last],
        "count": model.vocabulary.count(slice(None), v),
        "observed": model.vocabulary.observed[:, v],
        "neighbors": [by_slice.get(label) for label in labels],
    }
    types: dict[str, Any] = {"word": pl.String, "slice": pl.String, "count": pl.Int64}
    return pl.DataFrame(columns, schema_overrides={**types, "neighbors": pl.List(pl.String)})


def _line(model: Model, v: int, min_count: int) -> tuple[Array, Array]:
    """Return the line on which a word moved most: the mean of its vectors, and the direction."""
    rows = vectors.without_frequency(model, np.asarray(model.rho_of(v), dtype=np.float64))
    attested = attested_slices(model, v, min_count)
    return rows.mean(axis=0), _main_axis(rows, int(attested[0]), int(attested[-1]))


def _main_axis(rows: Array, first: int, last: int) -> Array:
    """Return the first principal component of vectors, turned so that it rises from row `first` to `last`."""
    _, _, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    return np.asarray(axes[0] if rows[last] @ axes[0] >= rows[first] @ axes[0] else -axes[0])


def frequency(model: Model | str | os.PathLike[str], word: str, *, group: str | None = None) -> pl.DataFrame:
    """Return how often a word occurs and how far it moved: a change of frequency is not a change of use.

    Parameters
    ----------
    model
        A model, or its path.
    word
        The word.
    group
        Ask about the documents of this group, where the model has groups; by default about all text.

    Returns
    -------
    One row per slice: slice; count and occurrences per_million words of text (null where they are not known);
    intercept, the model's own log odds of the word in an average context (null for a model without); and step, the
    distance of its embedding from the slice before (null for the first slice, and where nothing moves).
    """
    model = as_model(model, group)
    v = model.word_id(word)
    rows = vectors.without_frequency(model, np.asarray(model.rho_of(v), dtype=np.float64))
    steps = np.linalg.norm(np.diff(rows, axis=0), axis=1).tolist() or [None] * (len(model.slices) - 1)
    columns: dict[str, Any] = {
        "slice": model.slices.labels,
        "count": model.vocabulary.count(slice(None), v),
        "per_million": per_million(model, v),
        "intercept": model.intercepts_of(v).tolist() if model.has_intercepts else [None] * len(model.slices),
        "step": [None, *steps],
    }
    types: dict[str, Any] = {"count": pl.Int64, "per_million": pl.Float64, "intercept": pl.Float64, "step": pl.Float64}
    return pl.DataFrame(columns, schema_overrides=types)


def per_million(model: Model, v: int) -> list[float | None]:
    """Return the occurrences of a word per million words of each slice; None where they are not known."""
    if not model.vocabulary.counted:
        return [None] * len(model.slices)
    counts = np.asarray(model.counts)
    sizes = model.cached("words of slices", lambda: np.maximum(counts.sum(axis=1, dtype=np.int64), 1))
    return [float(share) for share in 1e6 * counts[:, v] / sizes]
