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
from driftword.basics.errors import OptionError
from driftword.corpus.groups import group_number
from driftword.corpus.tokenized_text import chunks_of
from driftword.models.model import two_of
from driftword.models.significance_table import LEVEL
from driftword.models.usage import Array, Usage, corpus_of_source

METRICS: Final = ("apd", "prt", "raw_apd", "raw_prt")
_PERMUTATIONS: Final = 999
_PERIOD: Final = "give a slice, such as 1990, or the first and last slice of a period, such as (1970, 1989)"
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


def usage_contrast(
    usage: Usage,
    words: str | Sequence[str] | None,
    *,
    groups: Sequence[str] | None,
    at: Any,
    over_time: bool,
    n: int,
    min_count: int,
    permutations: int,
    seed: int,
    threads: int | None,
    corpus: Any,
) -> pl.DataFrame:
    """Compare how two groups use words, by the vectors of their occurrences; see `contrast`."""
    from driftword.inference import usage_tests, word_tests  # Numba loads only where it is used
    from driftword.inference.designs import slices_of_period, units_of_evidence

    text = corpus_of_source(usage, corpus)
    names = two_of(text.groups, groups)
    n, min_count = checks.whole("n", n, least=1), checks.whole("min_count", min_count)
    permutations = checks.whole("permutations", permutations, least=19, most=1_000_000)
    asked = np.arange(len(usage.words))
    if words is not None:
        asked = np.unique([usage.word_id(word) for word in checks.words("words", words)])
    n_slices = len(usage.slices)
    chosen = np.arange(n_slices) if at is None else slices_of_period(usage, at, option="at", remedy=_PERIOD)
    first, second = (group_number(text.groups, name) for name in names)
    group = np.asarray(text.chunk_group)[chunks_of(text, usage.position)]
    inside = np.isin(usage.slice_of, chosen) & np.isin(group, (first, second))
    cells = np.where(inside, usage.slice_of + n_slices * (group == second), -1)
    counts = np.zeros((2, len(usage.words)), dtype=np.int64)
    own = inside & (usage.word_of >= 0)
    np.add.at(counts, ((group == second)[own].astype(np.int64), usage.word_of[own]), 1)
    asked = asked[counts.min(axis=0)[asked] >= max(min_count, 1)]
    if not len(asked):
        raise OptionError(f"No word has {max(min_count, 1)} occurrences in both groups; lower `min_count`")
    design = word_tests.TestDesign(
        np.repeat([0, 1], n_slices), permutations, checks.seed(seed), cells=cells,
        strata_of_slice=np.tile(np.arange(n_slices) - chosen[0], 2), clusters=units_of_evidence(text),
        parting=over_time,
    )  # fmt: skip
    found = usage_tests.run(usage, asked, design, threads=checks.threads(threads) or 1)
    rows = _unit(usage.places)
    distances = []
    for v in asked.tolist():
        means = [rows[own & (usage.word_of == v) & (group == number)].sum(axis=0) for number in (first, second)]
        distances.append(1 - float(np.dot(*(_unit(mean[None])[0] for mean in means))))
    table = word_tests.results_table(usage, found, of_all=words is None).with_columns(
        difference=pl.Series(distances),
        count_first=pl.Series(counts[0][asked]),
        count_second=pl.Series(counts[1][asked]),
    )
    significant = (pl.coalesce("q", "p") <= LEVEL).fill_null(value=False)
    table = table.sort(significant, "low", descending=True, nulls_last=True, maintain_order=True)
    columns = ("word", "difference", "effect", "low", "high", "p", "q", "count_first", "count_second", "documents")
    return table.select(*columns).head(n)


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
