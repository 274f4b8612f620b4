"""How far the occurrences of a word moved between two periods, where they have vectors of an encoder.

Two measures are usual. With occurrences of two periods, of unit length u and v:

    apd   1 - mean of u . v over all pairs              (average pairwise distance)
    prt   1 - cosine of the sums of u and of v          (distance of prototypes)

Vectors of an encoder all point in similar directions, and most of their directions are noise. So by default they are
first seen from the mean of all words, in the directions in which occurrences of the same word differ most
(`Usage.places`); with `raw_`, they are taken as they are, as in other tools. Neither is 0 where nothing changed, and
rare or varied words have larger ones: so documents exchange their periods, which gives z and p.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks, randomness
from driftword.models.usage import Array, Usage

METRICS: Final = ("apd", "prt", "raw_apd", "raw_prt")
_PERMUTATIONS: Final = 999
_SCHEMA: Final[dict[str, Any]] = {
    "word": pl.String, "drift": pl.Float64, "z": pl.Float64, "p": pl.Float64, "first": pl.String, "last": pl.String,
    "count_first": pl.Int64, "count_last": pl.Int64, "documents": pl.Int64,
}  # fmt: skip


def usage_drift(
    usage: Usage,
    words: str | Sequence[str] | None = None,
    *,
    n: int | None = None,
    metric: str | None = None,
    between: Any = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Return how far words moved between two slices or periods, those that moved most first; see `drift`."""
    from driftword.inference.designs import two_periods  # Numba loads only where it is used

    metric = checks.one_of("metric", METRICS[0] if metric is None else metric, METRICS)
    n = checks.optional(checks.whole, "n", n, least=1)
    asked = range(len(usage.words)) if words is None else [usage.word_id(w) for w in checks.words("words", words)]
    middle = len(usage.slices) // 2
    halves = ((0, max(middle - 1, 0)), (middle, len(usage.slices) - 1))
    labels = usage.slices.labels
    periods = tuple(tuple(labels[t] for t in ends) for ends in halves) if between is None else between
    period = two_periods(usage, periods)[usage.slice_of]
    rows = _unit(usage.vectors if metric.startswith("raw_") else usage.places)
    shown = [_label(labels, np.flatnonzero(two_periods(usage, periods) == side)) for side in (0, 1)]
    table = []
    for v in asked:
        own = usage.rows(v)
        own = own[period[own] >= 0]
        measured = _measure(
            rows[own], usage.document[own], period[own], prototypes=metric.endswith("prt"), seed=seed, v=v
        )
        counts = np.bincount(period[own], minlength=2).tolist()
        table.append((usage.words[v], *measured, *shown, *counts, len(np.unique(usage.document[own]))))
    found = pl.DataFrame(table, schema=_SCHEMA, orient="row").sort("drift", descending=True, nulls_last=True)
    return found if n is None else found.head(n)


def _measure(
    rows: Array, document: Array, period: Array, *, prototypes: bool, seed: int, v: int
) -> tuple[float | None, float | None, float | None]:
    """Return a distance between two periods, and its z and p if documents exchange them."""
    units, which = np.unique(np.c_[document, period], axis=0, return_inverse=True)
    which = which.ravel()
    sums, counts = np.zeros((len(units), rows.shape[1])), np.bincount(which, minlength=len(units))
    np.add.at(sums, which, rows)
    later = units[:, 1] == 1
    if not later.any() or later.all():
        return None, None, None
    random = randomness.bits(randomness.key(seed, "permutations", v), np.arange(_PERMUTATIONS * len(units)))
    orders = np.argsort(random.reshape(_PERMUTATIONS, -1), axis=1, kind="stable")
    sides = np.vstack([later, later[orders]]).astype(np.float64)  # the true periods come first
    second = sides @ sums
    first = sums.sum(axis=0) - second
    product = np.einsum("pk,pk->p", first, second)
    if prototypes:
        size = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    else:
        number = sides @ counts
        size = number * (counts.sum() - number)
    distance = 1 - product / np.maximum(size, 1e-12)
    null = distance[1:]
    z = (distance[0] - null.mean()) / max(float(null.std()), 1e-12)
    return float(distance[0]), float(z), float((1 + (null >= distance[0]).sum()) / (1 + len(null)))


def _label(labels: Sequence[str], slices: Array) -> str:
    """Name a period by its first and last slice."""
    first, last = labels[int(slices[0])], labels[int(slices[-1])]
    return first if first == last else f"{first} to {last}"


def _unit(vectors: Any) -> Array:
    rows = np.asarray(vectors, dtype=np.float64)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
