"""When meaning changed: where a word's way is best cut into a before and an after.

Only slices in which the word occurs are looked at: the others are interpolated and tell nothing of when. A random
walk smooths what happened at once, so that the cut which explains most lies too near to the middle of the time;
of all cuts that explain nearly as much, the one at the largest step is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from driftword.errors import OptionError
from driftword.explore import space
from driftword.explore.space import MIN_COUNT, Array
from driftword.model import Model

ALIKE: Final = 100  # words of similar frequency with which a change is compared
_NEARLY: Final = 0.7  # of what the best cut explains
_BLOCK: Final = 1024  # words whose ways are cut at a time: what is summed stays in the processor's cache
_NOISE: Final = 0.05  # a further cut must explain more of all movement


def changes(model: Model, word: str | None = None, *, n: int = 16, min_count: int = MIN_COUNT) -> pl.DataFrame:
    """Return when meaning changed: the best cut of each word's way into a before and an after.

    With a word: its cuts, at most `n`, each named by the slice in which the new use begins. Without: the words
    whose way is best told by a single cut.

    Parameters
    ----------
    model
        A dynamic or binned model.
    word
        The word asked about; None ranks all words.
    n
        How many cuts, or how many words.
    min_count
        Only words that occur at least so often before and after the cut.

    Returns
    -------
    word, slice (the first of the new use; the word occurs in it), distance between the mean vectors before and after,
    `unusual`: the share of words about as frequent whose own largest change is smaller, share of the word's movement
    that the cut explains, and occurrences before and after, up to the cuts next to it.
    """
    space.moving(model)
    space.at_least_one(n)
    space.not_negative(min_count=min_count)
    if len(model.slices) < 3:
        raise OptionError(f"finding a change needs three slices and the model has {len(model.slices)}; use drift")
    if word is not None:
        return _cuts_of(model, model.word_id(word), n, min_count)
    return _best_cuts(model, n, min_count)


class _Cuts(NamedTuple):
    """One cut for each of several words."""

    slice: Array  # 0 where there is none
    gain: Array
    distance: Array
    spread: Array


def _cut(vectors: Callable[[int], Array], seen: Array) -> _Cuts:
    """Cut the ways of words, given slice by slice, where they are `seen`."""
    slices, size = seen.shape
    occurs = seen.sum(axis=0, dtype=np.float32)
    total = np.zeros_like(vectors(0))
    power = np.zeros(size)
    for t in range(slices):
        held = vectors(t) * seen[t][:, None]
        total += held
        power += _squares(held)
    gain, step = np.zeros((2, slices, size), dtype=np.float32)
    before, last = np.zeros_like(total), np.zeros_like(total)
    when, passed = np.zeros((2, size), dtype=np.float32)
    for t in range(slices):
        held, cut = vectors(t), seen[t] & (passed > 0)
        apart = before / np.maximum(passed, 1)[:, None] - (total - before) / np.maximum(occurs - passed, 1)[:, None]
        gain[t, cut] = (_squares(apart) * passed * (occurs - passed) / np.maximum(occurs, 1))[cut]
        step[t, cut] = (_squares(held - last) / np.maximum(t - when, 1))[cut]  # a walk goes so far by itself
        here = seen[t][:, None]
        before += held * here
        np.copyto(last, held, where=here)
        when[seen[t]] = t
        passed += seen[t]
    words = np.arange(size)
    best = np.where(gain >= _NEARLY * gain.max(axis=0), step, -1).argmax(axis=0)
    early = np.cumsum(seen, axis=0)[best, words] - seen[best, words]
    parts = np.maximum(early * (occurs - early), 1) / np.maximum(occurs, 1)
    spread = power - _squares(total) / np.maximum(occurs, 1)
    found = gain[best, words]
    return _Cuts(np.where(found > 0, best, 0), found, np.sqrt(found / parts), np.maximum(spread, 1e-12))


def _squares(vectors: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", vectors, vectors))


def _best_cuts(model: Model, n: int, min_count: int) -> pl.DataFrame:
    """Find for every word the cut that tells most of its way."""
    counts = np.asarray(model.counts)
    parts = [slice(begin, begin + _BLOCK) for begin in range(0, len(model.words), _BLOCK)]
    cuts = [_cut(partial(_part, model, part), counts[:, part] > 0) for part in parts]
    found = _Cuts(*(np.concatenate(columns) for columns in zip(*cuts, strict=True)))
    sums = np.cumsum(counts, axis=0, dtype=np.int64)
    old = sums[np.maximum(found.slice - 1, 0), np.arange(len(model.words))]
    new = sums[-1] - old
    allowed = (found.slice > 0) & (np.minimum(old, new) >= max(min_count, 1))
    places = space.best(found.gain, allowed, n)
    alike = _alike(sums[-1], places, np.flatnonzero(found.slice > 0))
    columns = {
        "distance": found.distance[places],
        "unusual": (found.distance[alike] < found.distance[places, None]).sum(axis=1) / max(alike.shape[1] - 1, 1),
        "explained": np.minimum(found.gain[places] / found.spread[places], 1),
        "count_before": old[places],
        "count_after": new[places],
    }
    return _table(model, places, found.slice[places], columns)


def _cuts_of(model: Model, v: int, n: int, min_count: int) -> pl.DataFrame:
    """Cut the way of one word again and again where that tells most, as long as a cut beats noise."""
    way = np.asarray(model.rho[:, v], dtype=np.float32)
    counts = np.asarray(model.counts)[:, v].astype(np.int64)
    whole = _cut(partial(_at, way, 0), counts[:, None] > 0)
    parts = {(0, len(way)): whole}
    found: list[tuple[int, float, float]] = []
    while len(found) < n:
        (low, high), cut = max(parts.items(), key=lambda part: part[1].gain[0])
        explained = min(float(cut.gain[0] / whole.spread[0]), 1.0)
        if explained <= _NOISE:
            break
        place = low + int(cut.slice[0])
        if min(counts[low:place].sum(), counts[place:high].sum()) >= min_count:
            found.append((place, float(cut.distance[0]), explained))
        del parts[low, high]
        for begin, end in ((low, place), (place, high)):
            parts[begin, end] = _cut(partial(_at, way, begin), counts[begin:end, None] > 0)
    places, distances, shares = np.array(found, dtype=np.float64).reshape(-1, 3).T
    edges = np.array([0, *sorted(place for place, *_ in found), len(way)])
    between = np.add.reduceat(counts, edges[:-1])  # two cuts that follow each other
    at = np.searchsorted(edges, places)
    alike = _distances_alike(model, v)
    columns = {
        "distance": distances,
        "unusual": (alike < distances[:, None]).sum(axis=1) / max(len(alike), 1),
        "explained": shares,
        "count_before": between[at - 1],
        "count_after": between[at],
    }
    return _table(model, np.full(len(found), v), places.astype(np.int64), columns)


def _at(way: Array, begin: int, t: int) -> Array:
    return np.asarray(way[None, begin + t])


def _distances_alike(model: Model, v: int) -> Array:
    """Return how far words about as frequent as one moved at their best cuts."""
    counts = np.asarray(model.counts)
    others = _alike(counts.sum(axis=0, dtype=np.int64), np.array([v]), np.flatnonzero((counts > 0).sum(axis=0) > 1))[0]
    others = others[others != v]
    return _cut(partial(_part, model, others), counts[:, others] > 0).distance


def _part(model: Model, words: Any, t: int) -> Array:
    return np.asarray(model.rho[t][words], dtype=np.float32)


def _alike(frequency: Array, places: Array, among: Array) -> Array:
    """Return for each word the words `among` which are nearest to it in frequency, one row a word."""
    order = among[np.argsort(frequency[among], kind="stable")]
    width = min(ALIKE + 1, len(order))
    begin = np.searchsorted(frequency[order], frequency[places]) - width // 2
    found: Array = order[np.clip(begin, 0, len(order) - width)[:, None] + np.arange(width)]
    return found


def _table(model: Model, places: Array, cuts: Array, columns: dict[str, Array]) -> pl.DataFrame:
    table: dict[str, Any] = {
        "word": [model.words[v] for v in places],
        "slice": [model.slices.labels[t] for t in cuts],
        **{name: values.astype(np.int64 if "count" in name else np.float64) for name, values in columns.items()},
    }
    return pl.DataFrame(table, schema_overrides={"word": pl.String, "slice": pl.String})
