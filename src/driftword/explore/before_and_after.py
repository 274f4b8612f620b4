"""From what to what a word moved: the neighbours that it had before its change, and those that it has had since.

A single slice may hold a dozen occurrences, which makes its neighbours partly noise. So both lists come from several
slices on either side of the change, those with the most occurrences of the word, and list only neighbours that are
clearly nearer on that side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from driftword.explore import vectors
from driftword.explore.changepoints import change_slices, changes
from driftword.explore.first_use import observed_distances
from driftword.explore.nearest_neighbors import similarities
from driftword.explore.slice_selection import attested_slices, representative_slices
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.models.model import Model
from driftword.models.significance_table import DATES, verdict

SLICES: Final = 3  # on either side of a change
_CANDIDATES: Final = 15  # nearest words of a side; those that are not as near on the other side are named
CLEARLY_NEARER: Final = 0.05  # in cosine


class _Sides(NamedTuple):
    """The slices before a change and from it on, best attested first."""

    before: list[int]
    after: list[int]


def shifts(model: Model, words: Sequence[str], *, n: int = 3) -> pl.DataFrame:
    """Return for each word when it changed, and from what to what, with up to `n` neighbours on either side.

    Returns
    -------
    One row per word: word; slice, the first in which it is used differently; change, when that begins, and the other
    dates of `significance` where its documents were tested, written as they are dated; the verdict of that test; before
    and after, neighbours that were clearly nearer on that side, nearest first; slice_before and slice_after,
    the best attested slice on either side; distance, how far the word is in every slice from where it is first attested
    (1 - cosine similarity, null where it is not observed). A word without a change point has nulls, but for the
    distances.
    """
    ids = [model.word_id(word) for word in words]
    dates = [_date(model, v) for v in ids]
    sides = {v: found for v, date in zip(ids, dates, strict=True) if (found := _sides(model, v, date["slice"]))}
    scores = _scores(model, sides)
    rows = []
    for v, date, distance in zip(ids, dates, observed_distances(model, ids), strict=True):
        named = _named(model, v, sides[v], scores[v], n=n) if v in sides else {}
        rows.append({"word": model.words[v], **date, **named, "distance": distance})
    schema: dict[str, Any] = {
        "word": pl.String, "slice": pl.String, **dict.fromkeys(DATES, pl.String), "verdict": pl.String,
        "before": pl.List(pl.String), "after": pl.List(pl.String),
        "slice_before": pl.String, "slice_after": pl.String, "distance": pl.List(pl.Float64),
    }  # fmt: skip
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def shift_slices(model: Model, word: str) -> list[int]:
    """Choose slices that show a word's change: the best attested before and after it, the first and the last.

    Where there is no change, they are those that show its trajectory.
    """
    if not (beside := slices_beside(model, word, n=1)):
        return representative_slices(model, word)
    attested = attested_slices(model, model.word_id(word), MIN_COUNT)
    return sorted({int(attested[0]), int(attested[-1]), *beside})


def slices_beside(model: Model, word: str, *, n: int = SLICES) -> list[int]:
    """Return the n best attested slices on either side of a word's change; none where there is no change."""
    v = model.word_id(word)
    sides = _sides(model, v, _date(model, v)["slice"]) if model.moves else None
    return [*sides.before[:n], *sides.after[:n]] if sides else []


def _date(model: Model, v: int) -> dict[str, Any]:
    """Return the date of the largest change: from its documents where they were tested, else from the trajectory."""
    date: dict[str, Any] = {"slice": None}
    if model.significance is not None:
        tested = model.significance.written.row(v, named=True)
        date |= {"verdict": verdict(tested["q"]), **{name: tested[name] for name in DATES}}
        if at := int(change_slices(model, np.array([v]))[0]):
            date["slice"] = model.slices.labels[at]
    if date["slice"] is None and len(model.slices) > 2:
        found = changes(model, model.words[v], n=1)
        date["slice"] = date["change"] = None if found.is_empty() else found["slice"][0]
    return date


def _sides(model: Model, v: int, change: str | None) -> _Sides | None:
    """Return up to `SLICES` slices on either side of a change, those with the most occurrences first."""
    t = 0 if change is None else model.slices.labels.index(change)
    if not t:
        return None
    attested = attested_slices(model, v, MIN_COUNT)
    # Where the word is too rare on a side, this is the slice nearest to the change, whatever it has.
    before = attested[attested < t] if attested[0] < t else np.array([t - 1])
    after = attested[attested >= t] if attested[-1] >= t else np.array([t])
    counts = np.asarray(model.vocabulary.train_counts[:, v], dtype=np.int64)
    best = (slices[np.argsort(-counts[slices], kind="stable")][:SLICES].tolist() for slices in (before, after))
    return _Sides(*best)


def _scores(model: Model, sides: Mapping[int, _Sides]) -> dict[int, Array]:
    """Return the mean similarity of all words to each of some words, before and after, ``(2, V)``.

    Every slice is read once for all words that need it. Slices count by the logarithm of the word's occurrences; a
    word that does not occur often enough in any slice of a side has -1 there.
    """
    asked: dict[int, list[tuple[int, int]]] = {}  # words and their sides, by slice
    for v, both in sides.items():
        for side, slices in enumerate(both):
            for t in slices:
                asked.setdefault(t, []).append((v, side))
    totals = {v: np.zeros((2, len(model.words)), dtype=np.float32) for v in sides}
    weights = {v: np.zeros((2, len(model.words)), dtype=np.float32) for v in sides}
    for t, pairs in sorted(asked.items()):
        attested = model.vocabulary.attested(t, MIN_COUNT)
        for (v, side), found in zip(pairs, similarities(model, t, [v for v, _ in pairs]).T, strict=True):
            weight = np.log1p(max(float(model.vocabulary.train_counts[t, v]), 0.0)) + 1e-3  # -1: unknown
            totals[v][side] += np.float32(weight) * np.where(attested, found, 0)
            weights[v][side] += np.float32(weight) * attested
    return {
        v: np.divide(total, weights[v], out=np.full_like(total, -1), where=weights[v] > 0)
        for v, total in totals.items()
    }


def _named(model: Model, v: int, sides: _Sides, scores: Array, *, n: int) -> dict[str, Any]:
    """Name the neighbours of either side that are not as near on the other."""
    result: dict[str, Any] = {}
    for name, slices, here, there in zip(sides._fields, sides, scores, scores[::-1], strict=True):
        allowed = here > -1
        allowed[v] = False
        nearest = vectors.top(here, allowed, _CANDIDATES)
        nearer = [w for w in nearest if here[w] - np.maximum(there[w], 0) > CLEARLY_NEARER]
        result[f"slice_{name}"], result[name] = model.slices.labels[slices[0]], [model.words[w] for w in nearer[:n]]
    return result
