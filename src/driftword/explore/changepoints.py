"""When meaning changed: where a word's way is best cut into a before and an after.

Only slices in which the word occurs are looked at: the others are interpolated and tell nothing of when. A random
walk smooths what happened at once, so that the cut which explains most lies too near to the middle of the time;
of all cuts that explain nearly as much, the one at the largest step is taken.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from driftword.errors import OptionError
from driftword.explore import vectors as space
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.model import Model

ALIKE: Final = 100  # words of like frequency with which a change is compared
_NEARLY: Final = 0.7  # of what the best cut explains
_BLOCK: Final = 64  # words whose ways are cut at a time: what is summed stays in the processor's cache
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


def _cut(ways: Array, seen: Array) -> _Cuts:
    """Cut the ways of words, (T, words, K), each in the slices where it is `seen`."""
    slices, size = seen.shape
    occurs = np.maximum(seen.sum(axis=0), 1)
    weight = seen.astype(np.float32)
    centred, share = ways, occurs[:, None].astype(np.float32)
    for _ in range(2):  # what rounding leaves the first time would add up below, and look like a change
        centred = (centred - np.einsum("twk,tw->wk", centred, weight) / share) * weight[:, :, None]
    passed = np.cumsum(seen, axis=0) - seen
    before = np.zeros_like(centred)
    for t in range(1, slices):  # cumsum over the first axis takes eight times as long
        np.add(before[t - 1], centred[t - 1], out=before[t])
    cut = seen & (passed > 0)
    gain = np.where(cut, _squares(before) * occurs / np.maximum(passed * (occurs - passed), 1), 0)
    times = np.arange(slices)[:, None]
    last = np.maximum.accumulate(np.where(seen, times, 0), axis=0)
    last = np.concatenate([last[:1], last[:-1]])  # the slice before in which the word occurs
    step = _squares(ways - ways[last, np.arange(size)]) / np.maximum(times - last, 1)  # a walk goes so far by itself
    best = np.where(cut & (gain >= _NEARLY * gain.max(axis=0)), step, -1).argmax(axis=0)
    found, early = gain[best, np.arange(size)], passed[best, np.arange(size)]
    distance = np.sqrt(found * occurs / np.maximum(early * (occurs - early), 1))
    return _Cuts(np.where(found > 0, best, 0), found, distance, np.maximum(_squares(centred).sum(axis=0), 1e-12))


def _squares(vectors: Array) -> Array:
    return np.asarray(np.einsum("twk,twk->tw", vectors, vectors))


def _best_cuts(model: Model, n: int, min_count: int) -> pl.DataFrame:
    """Find for every word the cut that tells most of its way."""
    counts = np.asarray(model.counts)
    parts = [slice(begin, begin + _BLOCK) for begin in range(0, len(model.words), _BLOCK)]
    cuts = [_cut(_vectors(model, part), counts[:, part] > 0) for part in parts]
    found = _Cuts(*(np.concatenate(columns) for columns in zip(*cuts, strict=True)))
    sums = np.cumsum(counts, axis=0, dtype=np.int64)
    old = sums[np.maximum(found.slice - 1, 0), np.arange(len(model.words))]
    new = sums[-1] - old
    allowed = (found.slice > 0) & (np.minimum(old, new) >= max(min_count, 1))
    places = space.best(found.gain, allowed, n)
    others = _peers(model).others
    columns = {
        "distance": found.distance[places],
        "unusual": np.array([_surpassed(found.distance[v], found.distance[others(v)]) for v in places]),
        "explained": np.minimum(found.gain[places] / found.spread[places], 1),
        "count_before": old[places],
        "count_after": new[places],
    }
    return _table(model, places, found.slice[places], columns)


def _cuts_of(model: Model, v: int, n: int, min_count: int) -> pl.DataFrame:
    """Cut the way of one word again and again where that tells most, as long as a cut beats noise."""
    way = _vectors(model, [v])
    counts = np.asarray(model.counts)[:, v].astype(np.int64)
    whole = _cut(way, counts[:, None] > 0)
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
            parts[begin, end] = _cut(way[begin:end], counts[begin:end, None] > 0)
    places, distances, shares = np.array(found, dtype=np.float64).reshape(-1, 3).T
    edges = np.array([0, *sorted(place for place, *_ in found), len(way)])
    between = np.add.reduceat(counts, edges[:-1])  # two cuts that follow each other
    at = np.searchsorted(edges, places)
    alike = _distances_alike(model, v)
    columns = {
        "distance": distances,
        "unusual": np.array([_surpassed(distance, alike) for distance in distances]),
        "explained": shares,
        "count_before": between[at - 1],
        "count_after": between[at],
    }
    return _table(model, np.full(len(found), v), places.astype(np.int64), columns)


class _Peers:
    """The words of a model in groups of like frequency, and how far those of a group moved at their best cuts."""

    def __init__(self, model: Model) -> None:
        counts = np.asarray(model.counts)
        frequency = counts.sum(axis=0, dtype=np.int64)
        cuttable = np.flatnonzero((counts > 0).sum(axis=0) > 1)
        self.order = cuttable[np.argsort(-frequency[cuttable], kind="stable")]
        self.place = np.zeros(len(model.words), dtype=np.int64)
        self.place[self.order] = np.arange(len(self.order))
        self.distances: dict[int, Array] = {}

    def group(self, v: int) -> int:
        return min(int(self.place[v]) // ALIKE, max(len(self.order) // ALIKE - 1, 0))

    def words(self, group: int) -> Array:
        last = group == max(len(self.order) // ALIKE - 1, 0)
        return self.order[group * ALIKE : None if last else (group + 1) * ALIKE]

    def others(self, v: int) -> Array:
        words = self.words(self.group(v))
        return np.asarray(words[words != v])


_PEERS: WeakKeyDictionary[Model, _Peers] = WeakKeyDictionary()


def _peers(model: Model) -> _Peers:
    if model not in _PEERS:
        _PEERS[model] = _Peers(model)
    return _PEERS[model]


def _distances_alike(model: Model, v: int) -> Array:
    """Return how far the other words about as frequent as one moved at their best cuts."""
    peers = _peers(model)
    group = peers.group(v)
    words = peers.words(group)
    if group not in peers.distances:
        peers.distances[group] = _cut(_vectors(model, words), np.asarray(model.counts)[:, words] > 0).distance
    return np.asarray(peers.distances[group][words != v])


def _vectors(model: Model, words: Any) -> Array:
    return np.asarray(model.rho[:, words], dtype=np.float32)


def _surpassed(distance: float, others: Array) -> float:
    """Return the share of others that are smaller."""
    return float((others < distance).mean()) if len(others) else 0.0


def _table(model: Model, places: Array, cuts: Array, columns: dict[str, Array]) -> pl.DataFrame:
    table: dict[str, Any] = {
        "word": [model.words[v] for v in places],
        "slice": [model.slices.labels[t] for t in cuts],
        **{name: values.astype(np.int64 if "count" in name else np.float64) for name, values in columns.items()},
    }
    return pl.DataFrame(table, schema_overrides={"word": pl.String, "slice": pl.String})
