"""Which words changed when, in a model whose words were tested: for a page that shows it at a glance.

Words come by the strength of their change (`change_strength`).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from driftword.explore import vectors
from driftword.explore.before_and_after import shifts
from driftword.explore.changepoints import change_slices
from driftword.explore.drift_metrics import measure
from driftword.explore.drift_ranking import usual_comparison
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.models.model import Model

PER_SLICE: Final = 5  # words shown of those dated to a slice
OVERALL: Final = 10  # and of all words


def timeline(model: Model) -> pl.DataFrame:
    """Return the words that changed most of those dated to each slice, and of all: the strongest change first.

    The columns are those of `shifts`, and strength. Without a test the table is empty.
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
    words, change, strength = _dated(model)
    chosen: list[int] = []
    of_slice = np.zeros(len(model.slices), dtype=np.int64)  # words of each that are stronger
    for place, i in enumerate(np.argsort(-strength, kind="stable").tolist()):
        if place < OVERALL or of_slice[change[i]] < PER_SLICE:
            chosen.append(i)
        of_slice[change[i]] += 1
    told = shifts(model, [model.words[v] for v in words[chosen]])
    return told.with_columns(pl.Series("strength", strength[chosen], dtype=pl.Float64))


def _dated(model: Model) -> tuple[Array, Array, Array]:
    """Return the words that are ranked, the slice in which each changed, and how strongly."""
    if (found := model.significance) is None:
        return (*np.empty((2, 0), dtype=np.int64), np.empty(0))
    words = np.flatnonzero(np.isfinite(found.strength))
    change = change_slices(model, words)
    words, change = words[change > 0], change[change > 0]
    return words, change, found.strength[words]
