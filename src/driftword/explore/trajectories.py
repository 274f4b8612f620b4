"""Single words through time: their trajectories, how near they are to others, and how often they occur."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus import Corpus
from driftword.corpus.slices import At
from driftword.explore import vectors
from driftword.explore.intervals import CorpusLike, uncertainty, with_interval
from driftword.explore.nearest_neighbors import neighbors_by_slice
from driftword.explore.slice_selection import attested_slices, representative_slices
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.models.model import Model, as_model, models_of_groups
from driftword.storage.store import read_meta


def trajectory(
    model: Model | str | os.PathLike[str],
    words: str | Sequence[str],
    *,
    at: At | Sequence[At] | None = None,
    n: int = 6,
    metric: str = "cosine",
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
    chosen slices. With intervals also position_low and position_high, which leave out the noise of the fit itself; and
    positions are then nearer to each other, by what noise alone moves along the line on which a word seems to move. Of
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
                    table = table.with_columns(pl.col("position") * _share_of_signal(rows - middle, axis, drawn))
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


def _share_of_signal(rows: Array, axis: Array, drawn: Array) -> float:
    """Return which share of the movement along a line is not noise: a line on which noise moved most is always found.

    `rows`, ``(T, K)``, are the vectors of a word without their mean, and `drawn` draws of them.
    """
    positions = rows @ axis
    # How far noise alone moves in the direction that is the sum of all rows, each times its own noisy position.
    noise = drawn - drawn.mean(axis=0)
    along = np.einsum("t,dtk->dk", positions / max(float(np.linalg.norm(positions)), 1e-12), noise)
    added = float(np.square(along).sum(axis=1).mean()) * len(drawn) / max(len(drawn) - 1, 1)
    return max(0.0, 1 - added / max(float(positions @ positions), 1e-12))


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


def similarity(
    model: Model | str | os.PathLike[str],
    word: str,
    others: str | Sequence[str],
    *,
    interpolated: bool = False,
    intervals: bool = False,
    corpus: CorpusLike = None,
    group: str | None = None,
) -> pl.DataFrame:
    """Return the cosine between a word and others in every slice, after subtracting the mean of the slice.

    Parameters
    ----------
    model
        A model, or its path.
    word
        The word.
    others
        The word or words to compare it with.
    interpolated
        Give values also where one of the words does not occur in training text; they are guesses.
    intervals
        Also give the 90% interval of every similarity: where it would be with other documents of the same kind. This
        reads the corpus.
    corpus, group
        As in `neighbors`.

    Returns
    -------
    One row per other word and slice: slice; word; other; similarity (null where one of the two does not occur in the
    training text); count and count_other. With intervals also similarity_low and similarity_high.
    """
    model = as_model(model, group)
    intervals, interpolated = checks.flag("intervals", intervals), checks.flag("interpolated", interpolated)
    v = model.word_id(word)
    source = uncertainty(model, corpus) if intervals else None
    tables = []
    for name in checks.words("others", others):
        w = model.word_id(name)
        if v == w:
            raise OptionError(f"'{word}' is always nearest to itself; compare it with another word")
        pair = vectors.directions(model, [v, w])
        cosines = np.einsum("tk,tk->t", pair[:, 0], pair[:, 1])
        columns: dict[str, Any] = {
            "slice": model.slices.labels,
            "word": [model.words[v]] * len(model.slices),
            "other": [model.words[w]] * len(model.slices),
            "similarity": cosines if interpolated else _where_observed(model, cosines, [[v], [w]]),
            "count": vectors.counts(model, slice(None), v),
            "count_other": vectors.counts(model, slice(None), w),
        }
        table = pl.DataFrame(columns)
        if source is not None:
            drawn = (vectors.unit(source.vectors(one) - vectors.means(model)) for one in (v, w))
            table = with_interval(table, "similarity", np.einsum("dtk,dtk->dt", *drawn), most=1)
        tables.append(table)
    return pl.concat(tables)


def towards(
    model: Model | str | os.PathLike[str],
    word: str,
    *,
    low: str | Sequence[str],
    high: str | Sequence[str],
    interpolated: bool = False,
    intervals: bool = False,
    corpus: CorpusLike = None,
    group: str | None = None,
) -> pl.DataFrame:
    """Return where a word lies between two poles of meaning in every slice: from -1 (low) to 1 (high).

    Parameters
    ----------
    model
        A model, or its path.
    word
        The word asked about.
    low, high
        The words of each pole, such as ``low=["cheap", "common"], high=["luxury", "exclusive"]``.
    interpolated
        Give values also where the word, or every word of a pole, is missing from the training text.
    intervals
        Also give the 90% interval of every position: where the word would be with other documents of the same kind.
        This reads the corpus.
    corpus, group
        As in `neighbors`.

    Returns
    -------
    One row per slice: slice; position (null where there is no training text to tell); count of the word and of the
    words of each pole, count_low and count_high. With intervals also position_low and position_high, for which the
    poles are taken as they are.
    """
    model = as_model(model, group)
    intervals, interpolated = checks.flag("intervals", intervals), checks.flag("interpolated", interpolated)
    poles = [checks.words("low", low), checks.words("high", high)]
    v = model.word_id(word)
    ids = [[model.word_id(other) for other in pole] for pole in poles]
    if both := set(ids[0]) & set(ids[1]):
        raise OptionError(f"'{model.words[min(both)]}' is at both poles; name it at one")
    start, end = (vectors.directions(model, pole).mean(axis=1) for pole in ids)
    axis = vectors.unit(end - start)
    positions = np.einsum("tk,tk->t", vectors.directions(model, [v])[:, 0], axis)
    columns: dict[str, Any] = {
        "slice": model.slices.labels,
        "position": positions if interpolated else _where_observed(model, positions, [[v], *ids]),
        "count": vectors.counts(model, slice(None), v),
    }
    for name, pole in zip(("count_low", "count_high"), ids, strict=True):
        total = np.asarray(model.counts)[:, pole].sum(axis=1, dtype=np.int64)
        columns[name] = total if model.vocabulary.counted else pl.repeat(None, len(total), dtype=pl.Int64, eager=True)
    table = pl.DataFrame(columns)
    if not intervals:
        return table
    drawn = vectors.unit(uncertainty(model, corpus).vectors(v) - vectors.means(model))
    return with_interval(table, "position", np.einsum("dtk,tk->dt", drawn, axis))


def _where_observed(model: Model, values: Array, groups: Sequence[Sequence[int]]) -> pl.Series:
    """Return values by slice, null where no word of some group occurs in training text: they would be guesses."""
    observed = np.all([model.vocabulary.observed[:, list(group)].any(axis=1) for group in groups], axis=0)
    return pl.Series(np.where(observed, values, np.nan)).fill_nan(None)


def frequency(model: Model | Corpus | str | os.PathLike[str], word: str, *, group: str | None = None) -> pl.DataFrame:
    """Return how often a word occurs and how far it moved: a change of frequency is not a change of use.

    Parameters
    ----------
    model
        A model, or its path; or a corpus, or its path.
    word
        The word.
    group
        As in `neighbors`.

    Returns
    -------
    One row per slice: slice; count and occurrences per_million words of text (null where they are not known);
    intercept, the model's own log odds of the word in an average context (null for a model without); and step, the
    distance of its embedding from the slice before (null for the first slice, and where nothing moves).

    Of a corpus: slice; count; per_million, with its 90% interval, low and high, with documents as the unit of evidence;
    and the documents that have the word. Copies of documents are not counted. `trends` tests words.
    """
    if (text := _corpus_given(model)) is not None:
        from driftword.uses.trends import frequency_by_slice  # the tests behind it need Numba

        if group is not None:
            raise OptionError("A corpus has no embeddings of groups; leave `group` out, or give a model")
        return frequency_by_slice(text, word)
    model = as_model(model, group)  # type: ignore[arg-type]
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


def _corpus_given(given: Any) -> Corpus | None:
    """Return a corpus that is given in the place of a model, or whose path is."""
    if isinstance(given, Corpus):
        return given
    if isinstance(given, str | os.PathLike):
        location = checks.location("model", given)
        if (read_meta(location) or {}).get("kind") == "corpus":
            return Corpus.open(location)
    return None


def per_million(model: Model, v: int) -> list[float | None]:
    """Return the occurrences of a word per million words of each slice; None where they are not known."""
    if not model.vocabulary.counted:
        return [None] * len(model.slices)
    counts = np.asarray(model.counts)
    sizes = model.cached("words of slices", lambda: np.maximum(counts.sum(axis=1, dtype=np.int64), 1))
    return [float(share) for share in 1e6 * counts[:, v] / sizes]
