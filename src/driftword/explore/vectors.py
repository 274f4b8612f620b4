"""Vectors of one slice, and which words may speak for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from driftword.corpus.slices import At
from driftword.errors import OptionError
from driftword.keyed_vectors import unit
from driftword.model import Model

Array = npt.NDArray[Any]
#: A word that occurs less often in a slice has a vector there that is mostly interpolated.
MIN_COUNT: Final = 5
_MEANS: WeakKeyDictionary[Model, dict[int, Array]] = WeakKeyDictionary()
_SQUARES: WeakKeyDictionary[Model, dict[int, Array]] = WeakKeyDictionary()
_MOST_SQUARES: Final = 100  # slices of a model whose lengths are kept; means are small

__all__ = [
    "MIN_COUNT",
    "Array",
    "at_least_one",
    "best",
    "centred",
    "choose",
    "cosines",
    "mean",
    "moving",
    "not_negative",
    "occurring",
    "slice_numbers",
    "squares",
    "unit",
    "vectors",
    "ways",
]


def vectors(model: Model, t: int) -> Array:
    """Return the embeddings of slice t as float32, ``(V, K)``."""
    return np.asarray(model.rho[t if len(model.rho) > 1 else 0], dtype=np.float32)


def centred(model: Model, t: int) -> Array:
    """Return the vectors of slice t, their mean taken away: what all words share says nothing about one of them."""
    return vectors(model, t) - mean(model, t)


def mean(model: Model, t: int, min_count: int = MIN_COUNT) -> Array:
    """Return the mean of the words that occur so often in slice t, ``(K,)``; of all where none does."""
    if min_count == MIN_COUNT:
        return _kept(_MEANS, model, t, lambda: _mean(model, t, min_count))
    return _mean(model, t, min_count)


def _mean(model: Model, t: int, min_count: int) -> Array:
    rows, here = vectors(model, t), occurring(model, t, min_count)
    if not here.any():
        return np.asarray(rows.mean(axis=0))
    return np.asarray((here / here.sum()).astype(rows.dtype) @ rows)  # ten times faster than choosing rows


def squares(model: Model, t: int) -> Array:
    """Return the squared lengths of all vectors of slice t, ``(V,)``."""
    rows = vectors(model, t)
    return _kept(_SQUARES, model, t if len(model.rho) > 1 else 0, lambda: np.einsum("vk,vk->v", rows, rows))


def _kept(kept: WeakKeyDictionary[Model, dict[int, Array]], model: Model, t: int, make: Callable[[], Array]) -> Array:
    """Work out once for each slice what many questions need; a slice that nobody asks about is not read."""
    held = kept.setdefault(model, {})
    if t not in held:
        if kept is _SQUARES and len(held) >= _MOST_SQUARES:
            held = kept[model] = {}
        held[t] = np.asarray(make())
    return held[t]


def ways(model: Model, words: Sequence[int]) -> Array:
    """Return the directions of words in every slice, the mean of the slice taken away, ``(T, n, K)``."""
    held = np.asarray(model.rho[:, list(words)], dtype=np.float64)
    return unit(held - np.array([mean(model, t) for t in range(len(model.slices))])[:, None])


def cosines(model: Model, t: int, queries: Array, centre: Array) -> Array:
    """Return the cosines of all words of slice t, a centre taken away, with queries of length one, ``(V, Q)``.

    Taking the centre away from the products and the lengths saves a copy of all vectors.
    """
    products = vectors(model, t) @ np.column_stack([queries, centre])
    lengths = np.sqrt(np.maximum(squares(model, t) - 2 * products[:, -1] + centre @ centre, 1e-12))
    return np.asarray(np.clip((products[:, :-1] - centre @ queries) / lengths[:, None], -1, 1))


def occurring(model: Model, t: int, min_count: int) -> Array:
    """Return which words occur at least so often in slice t, ``(V,)``."""
    return np.asarray(model.counts[t]) >= min_count


def slice_numbers(model: Model, at: At | Sequence[At] | None) -> list[int]:
    """Return the slices that a user means: one, several, or all of them."""
    if at is None:
        return list(range(len(model.slices)))
    several = [at] if isinstance(at, str | int | date) else list(at)
    if not several:
        raise OptionError("no slice was named; name one, or leave `at` out")
    return list(dict.fromkeys(model.slices.index(one) for one in several))  # two days may fall into one slice


def moving(model: Model) -> None:
    """Refuse a model in which nothing can move."""
    if len(model.slices) == 1:
        raise OptionError("the model has a single slice, so nothing moves; prepare the corpus with shorter slices")
    if len(model.rho) == 1 and model.spec.model != "static":
        raise OptionError("the model was fitted in a single pass, in which nothing moves yet; fit it in more passes")
    if len(model.rho) == 1:
        raise OptionError("a static model has one embedding for all slices, so nothing moves; fit a dynamic one")


def choose(name: str, value: str, known: Iterable[str]) -> str:
    """Check an option that names one of several ways."""
    if value not in known:
        raise OptionError(f"there is no {name} '{value}'; choose one of {', '.join(known)}")
    return value


def at_least_one(n: int) -> int:
    """Check how many rows are wanted."""
    if n < 1:
        raise OptionError(f"n is {n}; ask for at least one")
    return n


def not_negative(**values: int) -> None:
    """Check options that count."""
    for name, value in values.items():
        if value < 0:
            raise OptionError(f"{name} is {value}; it cannot be negative")


def best(scores: Array, allowed: Array, n: int) -> Array:
    """Return the places of the n largest scores among those allowed, largest first."""
    places = np.flatnonzero(allowed)
    if len(places) > n:
        places = places[np.argpartition(-scores[places], n - 1)[:n]]
    return np.asarray(places[np.argsort(-scores[places], kind="stable")])
