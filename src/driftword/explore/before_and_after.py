"""From what to what a word moved: the neighbours that it had before its change, and those that it has had since.

A single slice may hold a dozen occurrences, and its neighbours are partly noise. So both lists come from several slices
on either side of the change, those with the most occurrences of the word, and a neighbour counts as one of before only
where it was clearly nearer then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.explore import vectors
from driftword.explore.changepoints import changes
from driftword.explore.first_use import observed_distances
from driftword.explore.slice_selection import attested_slices, representative_slices
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.models.model import Model
from driftword.models.significance_table import verdict

SLICES: Final = 3  # on either side of a change
_CANDIDATES: Final = 15  # nearest words of a side, of which those are named that are not as near on the other
CLEARLY_NEARER: Final = 0.05  # in cosine


@dataclass(frozen=True)
class _Sides:
    """The slices before and from the change of word v on, best attested first."""

    v: int
    change: int
    before: list[int]
    after: list[int]


def shifts(model: Model, words: Sequence[str], *, n: int = 3) -> pl.DataFrame:
    """Return for each word when it changed, and from what to what.

    Parameters
    ----------
    model
        A model whose words move.
    words
        The words asked about.
    n
        How many neighbours to name on either side.

    Returns
    -------
    One row per word: word; change, the slice from which on it is used differently, with change_low and change_high
    where its documents were tested, and the verdict of that test; before and after, neighbours that were clearly nearer
    on that side, nearest first; slice_before and slice_after, the best attested slice on either side; distance, how far
    the word is in every slice from where it is first attested (1 - cosine similarity, null where it is not observed). A
    word without a change point has nulls, but for the distances.
    """
    rows = [_date(model, model.word_id(word)) for word in words]
    sides = [
        _Sides(v, change, *(_best_attested(model, v, change, after=after) for after in (False, True)))
        for v, change in ((model.word_id(row["word"]), row["_change"]) for row in rows)
        if change is not None
    ]
    scores = _scores(model, sides)
    by_word = {one.v: one for one in sides}
    for row, distance in zip(rows, observed_distances(model, [model.word_id(word) for word in words]), strict=True):
        row["distance"] = distance
        if (one := by_word.get(model.word_id(row["word"]))) is not None:
            row |= _named(model, one, *scores[one.v], n=n)
    schema: dict[str, Any] = {
        "word": pl.String, "change": pl.String, "change_low": pl.String, "change_high": pl.String,
        "verdict": pl.String, "before": pl.List(pl.String), "after": pl.List(pl.String),
        "slice_before": pl.String, "slice_after": pl.String, "distance": pl.List(pl.Float64),
    }  # fmt: skip
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def slices_beside(model: Model, word: str) -> list[int]:
    """Return the best attested slices on either side of a word's change, as `shifts` looks at them."""
    v = model.word_id(word)
    change = _date(model, v)["_change"] if model.moves else None
    if change is None:
        return []
    return [t for after in (False, True) for t in _best_attested(model, v, change, after=after)]


def shift_slices(model: Model, word: str) -> list[int]:
    """Choose slices that show a word's change: the best attested before and after it, the first and the last.

    Where there is no change, they are those that show its trajectory.
    """
    v = model.word_id(word)
    change = _date(model, v)["_change"] if model.moves else None
    if change is None:
        return representative_slices(model, word)
    attested = attested_slices(model, v, MIN_COUNT)
    sides = (_best_attested(model, v, change, after=after)[0] for after in (False, True))
    return sorted({int(attested[0]), int(attested[-1]), *sides})


def _date(model: Model, v: int) -> dict[str, Any]:
    """Return the date of the largest change: from its documents where they were tested, else from the trajectory."""
    row: dict[str, Any] = {"word": model.words[v], "_change": None}
    if model.significance is not None:
        tested = model.significance.table.row(v, named=True)
        row["verdict"] = verdict(tested["q"])
        if tested["change"] is not None:
            row |= {name: tested[name] for name in ("change", "change_low", "change_high")}
    if "change" not in row and len(model.slices) > 2:
        found = max(changes(model, model.words[v], n=1).to_dicts(), key=lambda one: one["rank"], default=None)
        row["change"] = found["slice"] if found else None
    if row.get("change") is not None:
        row["_change"] = model.slices.labels.index(row["change"]) or None
    return row


def _best_attested(model: Model, v: int, change: int, *, after: bool) -> list[int]:
    """Return up to `SLICES` slices on one side of a change, those with the most occurrences first."""
    slices = attested_slices(model, v, MIN_COUNT)
    slices = slices[slices >= change] if after else slices[slices < change]
    if not len(slices):  # the word is too rare on this side: the slice nearest to the change, whatever it has
        return [change if after else change - 1]
    counts = np.asarray(model.vocabulary.train_counts[slices, v], dtype=np.int64)
    return [int(t) for t in slices[np.argsort(-counts, kind="stable")][:SLICES]]


def _scores(model: Model, sides: Sequence[_Sides]) -> dict[int, tuple[Array, Array]]:
    """Return the mean similarity of all words to each of some words, before and after, ``(V,)``.

    Every slice is read once for all words that need it. Slices count by the logarithm of the word's occurrences; a
    word that does not occur often enough in any slice of a side has -1 there.
    """
    needed: dict[int, list[tuple[_Sides, int]]] = {}
    for one in sides:
        for side, slices in enumerate((one.before, one.after)):
            for t in slices:
                needed.setdefault(t, []).append((one, side))
    place = {one.v: number for number, one in enumerate(sides)}
    totals = np.zeros((len(sides), 2, len(model.words)), dtype=np.float32)
    weights = np.zeros_like(totals)
    for t, asked in sorted(needed.items()):
        found = _similarities(model, t, [one.v for one, _ in asked])
        attested = model.vocabulary.attested(t, MIN_COUNT)
        for column, (one, side) in enumerate(asked):
            weight = np.log1p(max(float(model.vocabulary.train_counts[t, one.v]), 0.0)) + 1e-3  # -1: unknown
            totals[place[one.v], side] += np.float32(weight) * np.where(attested, found[:, column], 0)
            weights[place[one.v], side] += np.float32(weight) * attested
    np.divide(totals, weights, out=totals, where=weights > 0)
    totals[weights == 0] = -1
    return {one.v: (totals[i, 0], totals[i, 1]) for i, one in enumerate(sides)}


def _similarities(model: Model, t: int, words: list[int]) -> Array:
    """Return the cosines of all words of a slice with some, ``(V, n)``."""
    if len(words) == 1:
        return vectors.similarities(model, t, words[0])[:, None]
    center = vectors.mean(model, t)
    return vectors.cosines(model, t, vectors.unit(vectors.slice_vectors(model, t)[words] - center).T, center)


def _named(model: Model, one: _Sides, before: Array, after: Array, *, n: int) -> dict[str, Any]:
    """Name the neighbours of either side that are not as near on the other."""
    labels = model.slices.labels
    result: dict[str, Any] = {"slice_before": labels[one.before[0]], "slice_after": labels[one.after[0]]}
    for name, here, there in (("before", before, after), ("after", after, before)):
        allowed = here > -1
        allowed[one.v] = False
        nearest = vectors.top(here, allowed, _CANDIDATES)
        nearer = [w for w in nearest if here[w] - np.maximum(there[w], 0) > CLEARLY_NEARER]
        result[name] = [model.words[w] for w in nearer[:n]]
    return result
