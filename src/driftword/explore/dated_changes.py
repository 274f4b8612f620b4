"""Which words changed when, of a model whose words were tested: for a page that shows it at a glance.

Words are ranked by how far they moved: one minus the cosine similarity between their mean directions before and after
the change that the test dated. This is a size, in a unit that all words share; whether there is a change at all is for
the test to say. Left out are words that do not occur often enough on both sides to say from what to what they moved,
and the most frequent words, which are mostly grammar.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from driftword.explore import vectors
from driftword.explore.before_and_after import shifts
from driftword.explore.drift_metrics import measure
from driftword.explore.drift_ranking import attested_range, most_frequent, usual_skip
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.models.model import Model

PER_SLICE: Final = 5  # words whose change is told, of those dated to a slice
OVERALL: Final = 10  # and of all


def timeline(model: Model) -> pl.DataFrame:
    """Return the words that moved farthest of those dated to each slice, and of all: the farthest first.

    Returns
    -------
    The columns of `shifts`, and moved, how far the word moved. Without a test of significance the table is empty.
    """
    return model.cached("timeline", lambda: _timeline(model))


def changes_by_slice(model: Model) -> list[int] | None:
    """Return how many significant words are dated to each slice; None without a test of significance."""
    if (found := model.significance) is None:
        return None
    dated = found.table.filter(pl.Series(found.significant))["change"].drop_nulls()
    number = {label: t for t, label in enumerate(model.slices.labels)}
    return [int(n) for n in np.bincount([number[label] for label in dated], minlength=len(number))]


def by_chance(model: Model, n: int = 5) -> list[str]:
    """Return words that moved far, but not distinguishably from chance: the farthest between the usual two slices."""
    if (found := model.significance) is None:
        return []

    def compute() -> list[str]:
        first, last = (model.slices.index(label) for label in attested_range(model))
        wanted = np.isfinite(found.q) & ~found.significant
        wanted &= model.vocabulary.attested(first, MIN_COUNT) & model.vocabulary.attested(last, MIN_COUNT)
        wanted &= ~most_frequent(model, usual_skip(model))
        moved = measure(model, "cosine", first, last, wanted=wanted)
        return [model.words[v] for v in vectors.top(moved, wanted, n)]

    return model.cached(("by chance", n), compute)


def _timeline(model: Model) -> pl.DataFrame:
    words, change = _dated(model)
    moved = _moved(model, words, change)
    order = np.argsort(-moved, kind="stable")
    rank_in_slice = np.empty(len(order), dtype=np.int64)
    for t in np.unique(change):
        here = order[change[order] == t]
        rank_in_slice[here] = np.arange(len(here))
    chosen = [i for place, i in enumerate(order.tolist()) if place < OVERALL or rank_in_slice[i] < PER_SLICE]
    told = shifts(model, [model.words[v] for v in words[chosen]])
    return told.with_columns(pl.Series("moved", moved[chosen], dtype=pl.Float64))


def _dated(model: Model) -> tuple[Array, Array]:
    """Return the words that can be told of, and the slice of the change of each."""
    if (found := model.significance) is None:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    number = {label: t for t, label in enumerate(model.slices.labels)}
    change = np.array([0 if label is None else number[label] for label in found.table["change"]], dtype=np.int64)
    wanted = found.significant & (change > 0)
    wanted &= ~most_frequent(model, usual_skip(model))
    often = np.asarray(model.vocabulary.train_counts) >= MIN_COUNT
    first, last = often.argmax(axis=0), len(often) - 1 - often[::-1].argmax(axis=0)
    wanted &= often.any(axis=0) & (first < change) & (last >= change)
    words = np.flatnonzero(wanted)
    return words, change[words]


def _moved(model: Model, words: Array, change: Array) -> Array:
    """Return how far each word moved; slices count by the logarithm of its occurrences."""
    sides = np.zeros((2, len(words), model.spec.dim))
    for t in range(len(model.slices) if len(words) else 0):
        counts = np.maximum(np.asarray(model.vocabulary.train_counts[t])[words], 0)
        here = np.flatnonzero(counts)
        rows = np.asarray(model.rho_at(t)[words[here]], dtype=np.float64)
        directions = vectors.unit(rows - vectors.mean(model, t)) * np.log1p(counts[here])[:, None]
        after = change[here] <= t
        for side in (0, 1):
            sides[side, here[after == side]] += directions[after == side]
    before, since = vectors.unit(sides[0]), vectors.unit(sides[1])
    return np.asarray(1 - (before * since).sum(axis=1))
