"""Which slices show a word best, where a table or a figure has room for a few."""

from __future__ import annotations

import numpy as np

from driftword.explore.vectors import MIN_COUNT, Array, path
from driftword.models.model import Model


def attested_slices(model: Model, v: int, min_count: int) -> Array:
    """Return the slices that attest word v at least `min_count` times; where there is none, any, or all slices."""
    for least in (min_count, 1):
        if len(slices := model.vocabulary.attesting_slices(v, least)):
            return slices
    return np.arange(len(model.slices))


def representative_slices(model: Model, word: str, *, n: int = 4, min_count: int = MIN_COUNT) -> list[int]:
    """Choose slices that show a word's trajectory: the first and the last that attest it, then the most different.

    Slices in which the word occurs fewer than `min_count` times are not chosen, unless there is no other.
    """
    v = model.word_id(word)
    rows = path(model, v)
    attested = attested_slices(model, v, min_count)
    chosen = sorted({int(attested[0]), int(attested[-1])})
    while model.moves and len(chosen) < min(n, len(attested)):
        distance = np.min([np.linalg.norm(rows[attested] - rows[t], axis=1) for t in chosen], axis=0)
        if distance.max() == 0:
            break
        chosen.append(int(attested[distance.argmax()]))
    return sorted(chosen)
