"""Which words changed when, in a model whose words were tested: for a page that shows it at a glance.

Words are ranked by how far they moved: one minus the cosine similarity between their mean directions before and after
the change that the test dated. This is a size, in a unit that all words share; whether there is a change at all is for
the test to say. Words that do not occur often enough on both sides to say from what to what they moved are left out,
and so are the most frequent words, which are mostly grammar.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from driftword.explore import vectors
from driftword.explore.before_and_after import shifts
from driftword.explore.changepoints import change_slices
from driftword.explore.drift_metrics import measure
from driftword.explore.drift_ranking import most_frequent, usual_comparison, usual_skip
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.models.model import Model

PER_SLICE: Final = 5  # words shown of those dated to a slice
OVERALL: Final = 10  # and of all words


def timeline(model: Model) -> pl.DataFrame:
    """Return the words that moved farthest of those dated to each slice, and of all: the farthest first.

    The columns are those of `shifts`, and moved, how far the word moved. Without a test the table is empty.
    """
    return model.cached("timeline", lambda: _timeline(model))


def changes_by_slice(model: Model) -> list[int] | None:
    """Return how many significant words are dated to each slice; None without a test of significance."""
    if (found := model.significance) is None:
        return None
    dated = found.significant & found.table["change"].is_not_null().to_numpy()
    slices = change_slices(model, np.flatnonzero(dated))
    return [int(n) for n in np.bincount(slices, minlength=len(model.slices))]


def by_chance(model: Model, n: int = 5) -> list[str]:
    """Return words that moved far, but not distinguishably from chance: the farthest between the usual two slices."""
    if (found := model.significance) is None:
        return []

    def compute() -> list[str]:
        first, last, comparable = usual_comparison(model, MIN_COUNT)
        wanted = comparable & np.isfinite(found.q) & ~found.significant
        moved = measure(model, "cosine", first, last, wanted=wanted)
        return [model.words[v] for v in vectors.top(moved, wanted, n)]

    return model.cached(("by chance", n), compute)


def _timeline(model: Model) -> pl.DataFrame:
    words, change = _dated(model)
    moved = _moved(model, words, change)
    chosen: list[int] = []
    of_slice = np.zeros(len(model.slices), dtype=np.int64)  # words of each that are farther
    for place, i in enumerate(np.argsort(-moved, kind="stable").tolist()):
        if place < OVERALL or of_slice[change[i]] < PER_SLICE:
            chosen.append(i)
        of_slice[change[i]] += 1
    told = shifts(model, [model.words[v] for v in words[chosen]])
    return told.with_columns(pl.Series("moved", moved[chosen], dtype=pl.Float64))


def _dated(model: Model) -> tuple[Array, Array]:
    """Return the words that can be shown, and the slice in which each changed."""
    change = change_slices(model, np.arange(len(model.words)))
    if (found := model.significance) is None:
        return np.empty(0, dtype=np.int64), change[:0]
    wanted = found.significant & (change > 0) & ~most_frequent(model, usual_skip(model))
    often = np.asarray(model.vocabulary.train_counts) >= MIN_COUNT
    first, last = often.argmax(axis=0), len(often) - 1 - often[::-1].argmax(axis=0)
    words = np.flatnonzero(wanted & often.any(axis=0) & (first < change) & (last >= change))
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
