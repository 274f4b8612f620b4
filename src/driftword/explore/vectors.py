"""Vectors of words: as they are, centred, as directions, and their cosines. What many questions need is cached."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Sequence
from datetime import date
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus.options import MIN_COUNT as MIN_COUNT
from driftword.corpus.slices import At
from driftword.models.model import Model
from driftword.models.slice_vectors import attested_mean
from driftword.models.slice_vectors import unit as unit

Array = npt.NDArray[Any]
ALL: Final = "all"  # stands for every slice
USUAL_SUBSAMPLE: Final = 1e-3
_KEPT: Final = 64  # pairs of a slice and a word whose similarities are kept
_ONE_OR_SEVERAL: Final = "give a slice (its label, a year or a date), or a list of slices"


def slice_vectors(model: Model, t: int) -> Array:
    """Return the embeddings of slice t as float32, ``(V, K)``."""
    return np.asarray(model.rho_at(t if model.moves else 0), dtype=np.float32)


def moving(model: Model, t: int) -> Array:
    """Return the embeddings of slice t, ``(V, K)``, as movements are measured: without mere changes of frequency."""
    return without_frequency(model, slice_vectors(model, t))


def path(model: Model, v: int) -> Array:
    """Return the embeddings of a word in every slice, ``(T, K)``, as movements are measured."""
    return without_frequency(model, np.asarray(model.rho_of(v), dtype=np.float64))


def without_frequency(model: Model, rows: Array) -> Array:
    """Remove from embeddings of a model without intercepts, ``(..., K)``, the part along the mean context.

    Such a model can only say that a word becomes rarer by moving it against the mean context. Where there are
    intercepts, and in baselines and imported models, nothing is removed.
    """
    if not model.vocabulary.counted or not model.predicts or model.has_intercepts:
        return rows
    direction = model.cached("mean context", lambda: _mean_context(model))
    return np.asarray(rows - (rows @ direction)[..., None] * direction)


def _mean_context(model: Model) -> Array:
    """Return the direction of the mean context vector; words count as often as a pass usually sees them."""
    frequency = model.vocabulary.totals / max(model.vocabulary.totals.sum(), 1)
    seen = np.minimum(frequency, np.sqrt(USUAL_SUBSAMPLE * frequency))
    mean = seen @ np.asarray(model.mean_alpha, dtype=np.float64)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), dtype=np.float32)


def centered(model: Model, t: int) -> Array:
    """Return the vectors of slice t minus their mean: what all words share says nothing about any one of them."""
    return slice_vectors(model, t) - mean(model, t)


def mean(model: Model, t: int) -> Array:
    """Return the mean vector of the words that occur at least `MIN_COUNT` times in slice t, ``(K,)``.

    A static model has one for all slices, or it would seem to change.
    """

    def compute() -> Array:
        if model.moves:
            return attested_mean(slice_vectors(model, t), model.vocabulary.attested(t, MIN_COUNT))
        often = model.vocabulary.train_counts.sum(axis=0, dtype=np.int64) >= MIN_COUNT
        return attested_mean(slice_vectors(model, 0), often)

    return model.cached(("mean", t if model.moves else 0), compute)


def means(model: Model) -> Array:
    """Return the mean vectors of all slices, ``(T, K)``."""
    return np.array([mean(model, t) for t in range(len(model.slices))])


def squared_lengths(model: Model, t: int) -> Array:
    """Return the squared lengths of all vectors of slice t, ``(V,)``."""

    def compute() -> Array:
        rows = slice_vectors(model, t)
        return np.asarray(np.einsum("vk,vk->v", rows, rows))

    return model.cached(("squared lengths", t if model.moves else 0), compute)


def directions(model: Model, words: Sequence[int]) -> Array:
    """Return the centred vectors of some words in every slice, scaled to length one, ``(T, n, K)``."""
    return unit(np.asarray(model.rho_of(list(words)), dtype=np.float64) - means(model)[:, None])


def cosines(model: Model, t: int, queries: Array, center: Array) -> Array:
    """Return the cosines of all words of slice t, minus a center, with queries of length one, ``(V, Q)``.

    Subtracting the center from the products and the lengths saves a copy of all vectors.
    """
    products = slice_vectors(model, t) @ np.column_stack([queries, center])
    lengths = np.sqrt(np.maximum(squared_lengths(model, t) - 2 * products[:, -1] + center @ center, 1e-12))
    return np.asarray(np.clip((products[:, :-1] - center @ queries) / lengths[:, None], -1, 1))


def similarities(model: Model, t: int, v: int) -> Array:
    """Return the cosines of all words of slice t with word v, ``(V,)``; the latest are kept.

    A page asks for them several times: for lists of neighbours, for what a word moved to, for its journey.
    """
    kept: OrderedDict[tuple[int, int], Array] = model.cached("similarities", OrderedDict)
    found = kept.get((t, v))
    if found is None:
        center = mean(model, t)
        found = cosines(model, t, unit(slice_vectors(model, t)[[v]] - center).T, center)[:, 0].copy()
        found.setflags(write=False)
        kept[t, v] = found
        while len(kept) > _KEPT:
            with contextlib.suppress(KeyError):  # another thread was faster
                kept.popitem(last=False)
    return found


def counts(model: Model, t: Any, v: Any) -> pl.Series:
    """Return occurrences, of a word by slice or in a slice by word, as a column; null where they are not known."""
    return pl.Series(model.vocabulary.count(t, v), dtype=pl.Int64)


def slice_numbers(model: Model, at: At | Sequence[At] | None, *, name: str = "at") -> list[int]:
    """Return the numbers of the slices that a user means: one, several, or all of them (None or "all")."""
    if at is None or (isinstance(at, str) and at == ALL and ALL not in model.slices.labels):
        return list(range(len(model.slices)))
    alone = isinstance(checks.plain(at), str | int | float | date)
    several: list[Any] = [at] if alone else checks.several(name, at, remedy=_ONE_OR_SEVERAL)
    if not several:
        raise OptionError(f"No slice was named; name one, or leave `{name}` out")
    return list(dict.fromkeys(model.slices.index(one) for one in several))  # two days may fall into one slice


def check_moves(model: Model) -> None:
    """Refuse a model in which words cannot move."""
    if len(model.slices) == 1:
        raise OptionError("The model has a single slice, so nothing moves; prepare the corpus with shorter slices")
    if not model.moves and model.spec.model not in ("static", "frequency"):
        raise OptionError("The model was fitted in a single pass, in which nothing moves yet; fit it with more passes")
    if not model.moves:
        name = "A static model" if model.spec.model == "static" else "A model of frequency alone"
        raise OptionError(f"{name} has one embedding for all slices, so nothing moves; fit a dynamic one")


def top(scores: Array, allowed: Array, n: int) -> Array:
    """Return the positions of the n largest scores among those allowed, largest first."""
    positions = np.flatnonzero(allowed)
    if len(positions) > n:
        positions = positions[np.argpartition(-scores[positions], n - 1)[:n]]
    return np.asarray(positions[np.argsort(-scores[positions], kind="stable")])
