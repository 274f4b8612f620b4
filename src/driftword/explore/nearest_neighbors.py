"""Which words are near each other: in one slice, and across slices."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus.slices import At
from driftword.explore import vectors
from driftword.explore.intervals import CorpusLike, chosen_excess, support, uncertainty
from driftword.explore.slice_selection import representative_slices
from driftword.explore.vectors import ALL, MIN_COUNT, Array
from driftword.models.model import Model, as_model

if TYPE_CHECKING:
    from driftword.inference.uncertainty import Uncertainty

METRICS: Final = ("cosine", "uncentered", "paper")
#: To tell what being chosen adds: words that might have been, at least and for each that is, and draws.
_CANDIDATES, _TIMES, _DRAWS = 30, 3, 50


def neighbors(
    model: Model | str | os.PathLike[str],
    word: str,
    *,
    at: At | Sequence[At] | None = None,
    n: int = 10,
    metric: str = "cosine",
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
        Number of neighbours.
    metric
        ``"cosine"``: the cosine after subtracting the mean of the slice; ``"uncentered"``: of the vectors as they are;
        ``"paper"``: the paper's formula, the signs of the query's embedding times the other's, divided by both
        lengths. The paper's formula depends on the arbitrary basis of the vectors.
    min_count
        Only words that occur at least this often in the training text of the slice; 0 allows all, also those whose
        vectors are interpolated.
    intervals
        Also give the support of each neighbour: how often it would be among the `n` nearest with other documents of the
        same kind; and its similarity without what being chosen adds. This reads the corpus.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.
    group
        Ask about the documents of this group, where the model has groups; by default about all text.

    Returns
    -------
    One row per slice and neighbour: slice, rank, word, similarity, and its count in the slice; and whether the word
    asked about is observed in the training text of the slice: where it is not, its neighbours are a guess. With
    intervals also support, a share of draws of the word's own vector; those of the neighbours are taken as they are;
    and similarity_elsewhere, what the similarity would be in other documents of the same kind: the nearest words are
    also those that noise makes near, and this is less by what draws of all vectors show of that, on average over the
    neighbours of a slice.
    """
    model = as_model(model, group)
    intervals, min_count = checks.flag("intervals", intervals), checks.whole("min_count", min_count)
    shown = representative_slices(model, word, min_count=min_count) if at is None else vectors.slice_numbers(model, at)
    v = model.word_id(word)
    n, metric = checks.whole("n", n, least=1), checks.one_of("metric", metric, METRICS)
    drawn = uncertainty(model, corpus).vectors(v).astype(np.float32) if intervals else None
    tables, candidates = [], {}
    for t in shown:
        scores, allowed = similarities(model, t, [v], metric)[:, 0], _allowed(model, t, min_count, [v])
        draws = None if drawn is None else _similarities_to(model, t, drawn[:, t if model.moves else 0], metric)
        table = _nearest_table(model, t, scores, allowed, n=n, draws=draws)
        tables.append(table.with_columns(observed=pl.lit(bool(model.vocabulary.observed[t, v]))))
        candidates[t] = vectors.top(scores, allowed, max(_CANDIDATES, _TIMES * n))
    if not intervals:
        return pl.concat(tables)
    both = _drawn_similarities(uncertainty(model, corpus), v, candidates, metric=metric)
    return pl.concat(
        table.with_columns(similarity_elsewhere=pl.col("similarity") - chosen_excess(both[t], n))
        for t, table in zip(shown, tables, strict=True)
    )


def _drawn_similarities(draw: Uncertainty, v: int, others: dict[int, Array], *, metric: str) -> dict[int, Array]:
    """Draw the vectors of a word and of others, which are given by slice; return similarities, ``(others, draws)``."""
    model = draw.model
    place = {t: t if model.moves else 0 for t in others}
    center = {t: vectors.mean(model, t) if metric == "cosine" else 0.0 for t in others}
    found = {t: np.empty((len(words), _DRAWS)) for t, words in others.items()}
    own = draw.vectors(v)[:_DRAWS]
    for w in np.unique(np.concatenate(list(others.values()))).tolist():
        rows = np.asarray(model.rho_of(w), dtype=np.float64) + draw.draws(w, _DRAWS)  # for all slices at once
        for t, words in others.items():
            for i in np.flatnonzero(words == w):
                query, other = (one[:, place[t]] - center[t] for one in (own, rows))
                length = np.linalg.norm(query, axis=1) if metric == "paper" else 1.0
                query = np.sign(query) if metric == "paper" else vectors.unit(query)
                found[t][i] = np.einsum("dk,dk->d", query, vectors.unit(other)) / length
    return found


def neighborhoods(
    model: Model | str | os.PathLike[str],
    words: Sequence[str],
    *,
    at: At | Sequence[At] = ALL,
    n: int = 10,
    metric: str = "cosine",
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
    found = near_words(model, ids, at, n, metric, min_count=min_count)
    schema: dict[str, Any] = {"slice": pl.String, "word": pl.String, "neighbors": pl.List(pl.String)}
    return pl.DataFrame([row[:3] for row in found], schema=schema, orient="row")


def near_words(
    model: Model, words: Sequence[int], at: At | Sequence[At] | None, n: int, metric: str = "cosine", *,
    min_count: int = MIN_COUNT,
) -> Iterator[tuple[str, str, list[str], list[float]]]:  # fmt: skip
    """Yield for each slice and each word the nearest words, and how similar each is."""
    n, min_count = checks.whole("n", n, least=1), checks.whole("min_count", min_count)
    metric = checks.one_of("metric", metric, METRICS)
    for t in vectors.slice_numbers(model, at):
        for v, scores in zip(words, similarities(model, t, words, metric).T, strict=True):
            nearest = vectors.top(scores, _allowed(model, t, min_count, [v]), n)
            yield model.slices.labels[t], model.words[v], [model.words[w] for w in nearest], scores[nearest].tolist()


def neighbors_by_slice(model: Model, v: int, shown: Sequence[int], n: int, **options: Any) -> pl.Series:
    """Return a list of the nearest words for every slice; null for those that are not shown."""
    labels = model.slices.labels
    found = near_words(model, [v], [labels[t] for t in shown], n, **options) if len(shown) else ()
    by_slice = {label: words or None for label, _, words, _ in found}
    return pl.Series([by_slice.get(label) for label in labels], dtype=pl.List(pl.String))


def _allowed(model: Model, t: int, min_count: int, asked: Sequence[int] = ()) -> Array:
    """Tell which words are attested in a slice, and not asked about themselves, ``(V,)``."""
    allowed = model.vocabulary.attested(t, min_count)
    allowed[list(asked)] = False
    return allowed


def similarities(model: Model, t: int, words: Sequence[int], metric: str = "cosine") -> Array:
    """Return the similarities of all words of a slice to some of them, ``(V, words)``."""
    if metric == "cosine" and len(words) == 1:
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
    center = vectors.mean(model, t) if metric == "cosine" else np.zeros(rows.shape[1], dtype=rows.dtype)
    return vectors.cosines(model, t, vectors.unit(queries - center).T, center)


def _nearest_table(
    model: Model, t: int, scores: Array, allowed: Array, *, n: int, draws: Array | None = None
) -> pl.DataFrame:
    """Return the allowed words with the highest scores, ``(V,)``; with ``(V, draws)`` of these also their support."""
    nearest = vectors.top(scores, allowed, n)
    columns: dict[str, Any] = {
        "slice": pl.Series([model.slices.labels[t]] * len(nearest), dtype=pl.String),
        "rank": np.arange(1, len(nearest) + 1),
        "word": pl.Series([model.words[w] for w in nearest], dtype=pl.String),
        "similarity": scores[nearest].astype(np.float64),
        "count": vectors.counts(model, t, nearest),
    }
    if draws is not None:
        columns["support"] = pl.Series(support(nearest, n, draws, allowed), dtype=pl.Float64)
    return pl.DataFrame(columns)


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
    n, min_count, intervals, corpus, group
        As in `neighbors`.

    Returns
    -------
    One row per slice and word, as in `neighbors`.
    """
    model = as_model(model, group)
    intervals = checks.flag("intervals", intervals)
    v, t = model.word_id(word), model.slices.index(at)
    _check_observed(model, t, [v])
    mean = vectors.mean(model, t)
    query = vectors.slice_vectors(model, t)[v] - mean
    drawn = uncertainty(model, corpus).vectors(v)[:, t if model.moves else 0] - mean if intervals else None
    return _nearest_to(model, query, to, n=n, min_count=min_count, drawn=drawn)


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
    group: str | None = None,
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
    n, min_count, group
        As in `neighbors`.

    Returns
    -------
    One row per word, as in `neighbors`.
    """
    model = as_model(model, group)
    t = model.slices.index(at)
    known = [model.word_id(word) for word in (a, b, c)]
    _check_observed(model, t, known)
    one, other, third = vectors.unit(vectors.slice_vectors(model, t)[known] - vectors.mean(model, t))
    there = at if to is None else to
    return _nearest_to(model, other - one + third, there, n=n, min_count=min_count, asked=known, drawn=None)


def _check_observed(model: Model, t: int, words: Sequence[int]) -> None:
    """Refuse a question about a vector that is only interpolated."""
    for v in words:
        if not model.vocabulary.observed[t, v]:
            raise OptionError(
                f"'{model.words[v]}' does not occur in the training text of {model.slices.labels[t]}, so its vector "
                "there is a guess; choose another slice as `at`"
            )


def _nearest_to(
    model: Model, query: Array, to: Any, *, n: int, min_count: int, asked: Sequence[int] = (), drawn: Array | None
) -> pl.DataFrame:
    """Return the words nearest to a centred vector in slices `to`; with draws of it, ``(draws, K)``, their support."""
    n, min_count = checks.whole("n", n, least=1), checks.whole("min_count", min_count)
    tables = []
    for t in vectors.slice_numbers(model, to, name="to"):
        mean, draws = vectors.mean(model, t), None
        scores = vectors.cosines(model, t, vectors.unit(query)[:, None], mean)[:, 0]
        if drawn is not None:
            draws = vectors.cosines(model, t, vectors.unit(drawn).T.astype(np.float32), mean)
        tables.append(_nearest_table(model, t, scores, _allowed(model, t, min_count, asked), n=n, draws=draws))
    return pl.concat(tables)
