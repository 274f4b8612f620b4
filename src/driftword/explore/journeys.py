"""The journey of a word among its neighbours: how near each is in every slice, and where they lie on a map."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, Final

import numpy as np

from driftword.explore import vectors
from driftword.explore.before_and_after import shift_slices, slices_beside
from driftword.explore.nearest_neighbors import neighbors
from driftword.explore.slice_selection import attested_slices
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.models.model import Model

_SLICES: Final = 4  # whose neighbours are looked at
_DEPTH: Final = 6  # neighbours of each
_SMOOTH: Final = np.array([0.25, 0.5, 0.25])  # over adjacent slices, to find where a neighbour is nearest


def journey(model: Model, word: str, *, n: int = 14) -> dict[str, Any]:
    """Return the path of a word on a map, and its neighbours as fixed points of it.

    The horizontal axis is the line along which the word moved most; the vertical one is the line at a right angle to
    it along which its neighbours differ most from each other. A neighbour stands where its mean direction lies. The map
    shows nothing else of the vectors. There are up to `n` neighbours, among the nearest in slices spread over time.

    Returns
    -------
    path, the word's place in every slice; anchors, its neighbours in the order of their peaks; shown, the share of the
    word's movement that the horizontal axis shows. Of each neighbour: word; place; similarity (cosine) to it in every
    slice, None where one of the two is not observed in training text; peak, the slice around which it is nearest.
    """
    v = model.word_id(word)
    words = _candidates(model, v, n)
    directions = vectors.directions(model, [v, *words])  # (T, 1 + n, K)
    path, others = directions[:, 0], directions[:, 1:]
    seen = model.vocabulary.observed[:, words]
    seen = seen | ~seen.any(axis=0)
    means = np.einsum("tn,tnk->nk", seen, others) / seen.sum(axis=0)[:, None]
    middle = path.mean(axis=0)
    moved, apart = path - middle, means - middle
    plane = np.array(_axes(moved, apart - apart.mean(axis=0) if len(apart) > 1 else moved)).T
    observed = np.flatnonzero(model.vocabulary.observed[:, v])
    along = moved @ plane[:, 0]
    if len(observed) and along[observed[0]] > along[observed[-1]]:
        plane[:, 0] *= -1  # from left to right
    similarity = np.einsum("tk,tnk->tn", path, others)
    seen = model.vocabulary.observed[:, words] & model.vocabulary.observed[:, [v]]
    anchors = [
        {
            "word": model.words[w],
            "similarity": [
                round(value, 3) if here else None for value, here in zip(values.tolist(), both, strict=True)
            ],
            "peak": _peak(values, both),
            "place": place,
        }
        for w, values, both, place in zip(words, similarity.T, seen.T, (apart @ plane).round(4).tolist(), strict=True)
    ]
    anchors.sort(key=lambda anchor: (anchor["peak"], anchor["word"]))
    total = float((moved**2).sum())
    shown = float((along**2).sum()) / total if total > 0 else 1.0
    return {"path": (moved @ plane).round(4).tolist(), "anchors": anchors, "shown": shown}


def _axes(moved: Array, others: Array) -> tuple[Array, Array]:
    """Return the line along which a path runs, and the one at a right angle to it along which others differ most."""
    first = np.linalg.svd(moved, full_matrices=False)[2][0]
    across = others - np.outer(others @ first, first)
    return first, np.linalg.svd(across, full_matrices=False)[2][0]


def _candidates(model: Model, v: int, n: int) -> list[int]:
    """Choose words that were among the nearest in slices spread over the time in which the word occurs."""
    attested, name = attested_slices(model, v, MIN_COUNT), model.words[v]
    spread = attested[np.linspace(0, len(attested) - 1, min(_SLICES, len(attested))).round().astype(int)]
    slices = sorted({*shift_slices(model, name), *slices_beside(model, name), *spread.tolist()})
    found = neighbors(model, name, at=[model.slices.labels[t] for t in slices], n=_DEPTH)
    lists = [part["word"].to_list() for part in found.partition_by("slice", maintain_order=True)]
    ordered = dict.fromkeys(name for row in zip_longest(*lists) for name in row if name is not None)
    return [model.word_id(name) for name in list(ordered)[:n]]


def _peak(values: Array, seen: Array) -> int:
    """Return where values are highest, smoothed over adjacent slices."""
    weight, total = (
        np.convolve(np.pad(one, 1), _SMOOTH, mode="valid") for one in (seen.astype(float), np.where(seen, values, 0))
    )
    smooth = total / np.maximum(weight, 1e-9)
    return int(np.argmax(np.where(seen, smooth, -2)))
