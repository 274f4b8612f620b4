"""Which words are near to each other: in one slice, and across slices."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus.slices import At
from driftword.explore import vectors
from driftword.explore.intervals import OTHER_NOISE, CorpusLike, interval, support, uncertainty
from driftword.explore.slice_selection import representative_slices
from driftword.explore.vectors import ALL, MIN_COUNT, Array
from driftword.models.model import Model, as_model

METRICS: Final = ("centered", "cosine", "paper")


def neighbors(
    model: Model | str | os.PathLike[str],
    word: str,
    *,
    at: At | Sequence[At] | None = None,
    n: int = 10,
    metric: str = "centered",
    min_count: int = MIN_COUNT,
    intervals: bool = False,
    corpus: CorpusLike = None,
    group: str | None = None,
) -> pl.DataFrame:
    """Return the words nearest to a word, slice by slice.

    Parameters
    ----------
    model
        A model, or its path.
    word
        The word asked about.
    at
        A slice (its label, a year or a date), several, or ``"all"``; by default up to four representative slices:
        the first and the last that attest the word, and those in which it differs most.
    n
        How many neighbours.
    metric
        ``"centered"``: the cosine after subtracting the mean of the slice; ``"cosine"``: of the vectors as they are;
        ``"paper"``: the paper's formula, the signs of the query's embedding times the other's, divided by both
        lengths. The paper's formula depends on the arbitrary basis of the vectors.
    min_count
        Only words that occur at least this often in the training text of the slice; 0 allows all, also those whose
        vectors are interpolated.
    intervals
        Also give the support of each neighbour: how often it would be among the `n` nearest with other documents of the
        same kind. This reads the corpus.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.
    group
        Ask about the documents of this group, where the model has groups; by default about all text.

    Returns
    -------
    One row per slice and neighbour: slice, rank, word, similarity, and its count in the slice; and whether the word
    asked about is observed in the training text of the slice: where it is not, its neighbours are a guess. With
    intervals also support, a share of draws of the word's own vector; those of the neighbours are taken as they are.
    """
    model = as_model(model, group)
    intervals = checks.flag("intervals", intervals)
    min_count = checks.whole("min_count", min_count)
    if at is None:
        at = [model.slices.labels[t] for t in representative_slices(model, word, min_count=min_count)]
    v = model.word_id(word)
    results = list(_nearest(model, [v], at, n=n, metric=metric, min_count=min_count))
    table = _table([row for t, _, scores, nearest in results for row in _rows(model, t, scores, nearest)])
    if intervals:
        drawn = uncertainty(model, corpus).vectors(v)
        shares = []
        for t, _, _, nearest in results:
            allowed = model.vocabulary.attested(t, min_count)
            allowed[v] = False
            queries = drawn[:, t if model.moves else 0].astype(np.float32)
            shares += support(nearest, n, _similarities_to(model, t, queries, metric), allowed)
        table = table.with_columns(pl.Series("support", shares, dtype=pl.Float64))
    observed = dict(zip(model.slices.labels, model.vocabulary.observed[:, v].tolist(), strict=True))
    return table.with_columns(observed=pl.col("slice").replace_strict(observed, return_dtype=pl.Boolean))


def neighborhoods(
    model: Model | str | os.PathLike[str],
    words: Sequence[str],
    *,
    at: At | Sequence[At] = ALL,
    n: int = 10,
    metric: str = "centered",
    min_count: int = MIN_COUNT,
) -> pl.DataFrame:
    """Return the nearest neighbours of several words at once, which takes little longer than those of one.

    Parameters
    ----------
    model
        A model, or its path.
    words
        The words asked about.
    at
        A slice, or several; all slices by default.
    n, metric, min_count
        As in `neighbors`.

    Returns
    -------
    One row per slice and word: slice, word, and its neighbours in a list, nearest first.
    """
    model = as_model(model)
    ids = [model.word_id(word) for word in checks.word_list("words", words)]
    rows = [
        (label, word, names) for label, word, names, _ in near_words(model, ids, at, n, metric, min_count=min_count)
    ]
    schema: dict[str, Any] = {"slice": pl.String, "word": pl.String, "neighbors": pl.List(pl.String)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def near_words(
    model: Model, words: Sequence[int], at: At | Sequence[At] | None, n: int, metric: str = "centered", *,
    min_count: int = MIN_COUNT,
) -> Iterator[tuple[str, str, list[str], list[float]]]:  # fmt: skip
    """Yield for each slice and each word the nearest words, and how similar each is."""
    for t, v, scores, nearest in _nearest(model, words, at, n=n, metric=metric, min_count=min_count):
        yield model.slices.labels[t], model.words[v], [model.words[w] for w in nearest], scores[nearest].tolist()


def _nearest(
    model: Model, words: Sequence[int], at: At | Sequence[At] | None, *, n: int, metric: str, min_count: int
) -> Iterator[tuple[int, int, Array, Array]]:
    """Yield for each slice and each word the similarities of all words, and the ids of the nearest."""
    metric = checks.one_of("metric", metric, METRICS)
    n, min_count = checks.whole("n", n, least=1), checks.whole("min_count", min_count)
    for t in vectors.slice_numbers(model, at):
        attested = model.vocabulary.attested(t, min_count)
        scores = _similarities(model, t, words, metric)
        for column, v in enumerate(words):
            others = attested.copy()
            others[v] = False
            yield t, v, scores[:, column], vectors.top(scores[:, column], others, n)


def _similarities(model: Model, t: int, words: Sequence[int], metric: str) -> Array:
    if metric == "centered" and len(words) == 1:
        return vectors.similarities(model, t, words[0])[:, None]
    return _similarities_to(model, t, vectors.slice_vectors(model, t)[words], metric)


def _similarities_to(model: Model, t: int, queries: Array, metric: str) -> Array:
    """Return the similarities of all words of a slice to vectors, ``(V, queries)``."""
    rows = vectors.slice_vectors(model, t)
    if metric == "paper":
        lengths = np.sqrt(vectors.squared_lengths(model, t))
        products = rows @ np.sign(queries).T
        products /= np.maximum(lengths[:, None] * np.linalg.norm(queries, axis=1), 1e-12)
        return np.asarray(products)
    center = vectors.mean(model, t) if metric == "centered" else np.zeros(rows.shape[1], dtype=rows.dtype)
    return vectors.cosines(model, t, vectors.unit(queries - center).T, center)


def equivalents(
    model: Model | str | os.PathLike[str],
    word: str,
    *,
    at: At,
    to: At | Sequence[At] | None = None,
    n: int = 10,
    min_count: int = MIN_COUNT,
    intervals: bool = False,
    corpus: CorpusLike = None,
    group: str | None = None,
) -> pl.DataFrame:
    """Return the words that are used in slices `to` as a word was used in slice `at`.

    Vectors of different slices are compared after subtracting the mean of each slice.

    Parameters
    ----------
    model
        A model, or its path.
    word
        The word asked about, such as "reagan".
    at
        The slice whose use of it is meant, such as 1985.
    to
        The slice or slices to look in; all by default.
    n, min_count, intervals, corpus
        As in `neighbors`.
    group
        Ask about the documents of this group, where the model has groups; by default about all text.

    Returns
    -------
    One row per slice and word, as in `neighbors`.
    """
    model = as_model(model, group)
    intervals = checks.flag("intervals", intervals)
    v, t = model.word_id(word), model.slices.index(at)
    _check_observed(model, t, [v])
    query = vectors.slice_vectors(model, t)[v] - vectors.mean(model, t)
    table = _nearest_to(model, query, to, n=n, min_count=min_count)
    if not intervals:
        return table
    drawn = uncertainty(model, corpus).vectors(v)[:, t if model.moves else 0] - vectors.mean(model, t)
    queries = vectors.unit(drawn).T.astype(np.float32)
    shares: list[float] = []
    for label in table["slice"].unique(maintain_order=True):
        there = model.slices.index(label)
        found = [model.word_index[name] for name in table.filter(pl.col("slice") == label)["word"]]
        scores = vectors.cosines(model, there, queries, vectors.mean(model, there))
        shares += support(found, n, scores, model.vocabulary.attested(there, min_count))
    return table.with_columns(pl.Series("support", shares, dtype=pl.Float64))


def analogy(
    model: Model | str | os.PathLike[str],
    a: str,
    b: str,
    c: str,
    *,
    at: At,
    to: At | None = None,
    n: int = 10,
    min_count: int = MIN_COUNT,
) -> pl.DataFrame:
    """Return the words that are to `c` what `b` is to `a`, as "tokyo" is to "japan" what "paris" is to "france".

    Parameters
    ----------
    model
        A model, or its path.
    a, b, c
        The three known words; they are never given as answers.
    at
        The slice whose vectors of them are used.
    to
        The slice to look in; the same by default.
    n, min_count
        As in `neighbors`.

    Returns
    -------
    One row per word, as in `neighbors`.
    """
    model = as_model(model)
    t = model.slices.index(at)
    known = [model.word_id(word) for word in (a, b, c)]
    _check_observed(model, t, known)
    one, other, third = vectors.unit(vectors.slice_vectors(model, t)[known] - vectors.mean(model, t))
    query = other - one + third
    return _nearest_to(model, query, at if to is None else to, n=n, min_count=min_count, exclude=known)


def _check_observed(model: Model, t: int, words: Sequence[int]) -> None:
    """Refuse a question about a vector that is only interpolated."""
    for v in words:
        if not model.vocabulary.observed[t, v]:
            raise OptionError(
                f"'{model.words[v]}' does not occur in the training text of {model.slices.labels[t]}, so its vector "
                "there is a guess; choose another slice as `at`"
            )


def _nearest_to(
    model: Model, query: Array, to: At | Sequence[At] | None, *, n: int, min_count: int, exclude: Sequence[int] = ()
) -> pl.DataFrame:
    n, min_count = checks.whole("n", n, least=1), checks.whole("min_count", min_count)
    rows: list[dict[str, Any]] = []
    for t in vectors.slice_numbers(model, to, name="to"):
        attested = model.vocabulary.attested(t, min_count)
        scores = vectors.cosines(model, t, vectors.unit(query)[:, None], vectors.mean(model, t))[:, 0]
        attested[list(exclude)] = False
        rows += _rows(model, t, scores, vectors.top(scores, attested, n))
    return _table(rows)


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
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.
    group
        Ask about the documents of this group, where the model has groups; by default about all text.

    Returns
    -------
    One row per other word and slice: slice; word; other; similarity (null where one of the two does not occur in the
    training text); count and count_other. With intervals also similarity_low and similarity_high.
    """
    model = as_model(model, group)
    intervals = checks.flag("intervals", intervals)
    interpolated = checks.flag("interpolated", interpolated)
    v = model.word_id(word)
    source = uncertainty(model, corpus) if intervals else None
    parts = []
    for name in checks.words("others", others):
        w = model.word_id(name)
        if v == w:
            raise OptionError(f"'{word}' is always nearest to itself; compare it with another word")
        pair = vectors.directions(model, [v, w])
        columns = {
            "slice": model.slices.labels,
            "word": [model.words[v]] * len(model.slices),
            "other": [model.words[w]] * len(model.slices),
            "similarity": np.einsum("tk,tk->t", pair[:, 0], pair[:, 1]),
            "count": model.vocabulary.count(slice(None), v),
            "count_other": model.vocabulary.count(slice(None), w),
        }
        table = pl.DataFrame(columns, schema_overrides={"count": pl.Int64, "count_other": pl.Int64})
        if source is not None:
            drawn = [_directions(model, source.vectors(one)) for one in (v, w)]
            cosines = np.einsum("dtk,dtk->dt", *drawn)
            low, high = interval(cosines, table["similarity"].to_numpy(), factor=OTHER_NOISE)
            ends = {"similarity_low": np.maximum(low, -1), "similarity_high": np.minimum(high, 1)}
            table = table.with_columns(pl.Series(name, values) for name, values in ends.items())
        parts.append(_observed_only(model, table, "similarity", [[v], [w]], interpolated=interpolated))
    return pl.concat(parts)


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
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.
    group
        Ask about the documents of this group, where the model has groups; by default about all text.

    Returns
    -------
    One row per slice: slice; position (null where there is no training text to tell); count of the word and of the
    words of each pole, count_low and count_high. With intervals also position_low and position_high, for which the
    poles are taken as they are.
    """
    model = as_model(model, group)
    intervals = checks.flag("intervals", intervals)
    interpolated = checks.flag("interpolated", interpolated)
    poles = [checks.words("low", low), checks.words("high", high)]
    v = model.word_id(word)
    ids = [[model.word_id(other) for other in pole] for pole in poles]
    if both := set(ids[0]) & set(ids[1]):
        raise OptionError(f"'{model.words[min(both)]}' is at both poles; name it at one")
    direction = vectors.directions(model, [v])[:, 0]
    start, end = (vectors.directions(model, pole).mean(axis=1) for pole in ids)
    counts = np.asarray(model.counts)
    known = model.vocabulary.counted
    columns: dict[str, Any] = {
        "slice": model.slices.labels,
        "position": np.einsum("tk,tk->t", direction, vectors.unit(end - start)),
        "count": model.vocabulary.count(slice(None), v),
        "count_low": counts[:, ids[0]].sum(axis=1, dtype=np.int64).tolist() if known else [None] * len(counts),
        "count_high": counts[:, ids[1]].sum(axis=1, dtype=np.int64).tolist() if known else [None] * len(counts),
    }
    types = {"count": pl.Int64, "count_low": pl.Int64, "count_high": pl.Int64}
    table = pl.DataFrame(columns, schema_overrides=types)
    if intervals:
        drawn = _directions(model, uncertainty(model, corpus).vectors(v))
        positions = np.einsum("dtk,tk->dt", drawn, vectors.unit(end - start))
        low_, high_ = interval(positions, table["position"].to_numpy(), factor=OTHER_NOISE)
        table = table.with_columns(pl.Series("position_low", low_), pl.Series("position_high", high_))
    return _observed_only(model, table, "position", [[v], *ids], interpolated=interpolated)


def _directions(model: Model, drawn: Array) -> Array:
    """Return drawn vectors, ``(draws, T, K)``, centred and scaled to length one, for every slice of time."""
    centers = np.array([vectors.mean(model, t) for t in range(len(model.slices))])
    return vectors.unit(drawn - centers)


def _observed_only(
    model: Model, table: pl.DataFrame, column: str, groups: Sequence[Sequence[int]], *, interpolated: bool
) -> pl.DataFrame:
    """Make a column and its interval null where no word of some group occurs in training text: it would be a guess."""
    observed = np.all([model.vocabulary.observed[:, list(group)].any(axis=1) for group in groups], axis=0)
    columns = [name for name in table.columns if name in (column, f"{column}_low", f"{column}_high")]
    return table if interpolated else table.with_columns(pl.when(pl.Series(observed)).then(name) for name in columns)


def _rows(model: Model, t: int, scores: Array, nearest: Array) -> list[dict[str, Any]]:
    return [
        {
            "slice": model.slices.labels[t],
            "rank": rank,
            "word": model.words[w],
            "similarity": float(scores[w]),
            "count": model.vocabulary.count(t, w),
        }
        for rank, w in enumerate(nearest, 1)
    ]


def _table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    schema = {"slice": pl.String, "rank": pl.Int64, "word": pl.String, "similarity": pl.Float64, "count": pl.Int64}
    return pl.DataFrame(rows, schema=schema)
