"""How far a word is from its first use, in a unit that all words share, and how far words that did not change are.

The distance is one minus the cosine similarity of the word's centred vectors in two slices. It begins at 0 where the
word is first attested, so a word that stays where it is has a flat line, whatever the scale of its own movements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from driftword.explore import vectors
from driftword.explore.drift_metrics import measure
from driftword.explore.drift_ranking import attested_range, most_frequent, usual_skip
from driftword.explore.intervals import OTHER_NOISE, CorpusLike, interval, uncertainty
from driftword.explore.slice_selection import attested_slices
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.models.model import Model, corpus_of

PEERS: Final = 60  # words of similar frequency that did not change
_USUAL: Final = (0.1, 0.9)  # the share of them below either end of the band
_STEP: Final = 20  # words of similar frequency share their peers


def displacement(model: Model, word: str) -> pl.DataFrame:
    """Return how far a word is in every slice from where it is first attested.

    Parameters
    ----------
    model
        A model whose words move.
    word
        The word asked about.

    Returns
    -------
    One row per slice: slice; distance (1 - cosine similarity); count; whether the word is observed in training text
    there, or its vector interpolated; usual_low and usual_high, between which the distances lie of four in five words
    of similar frequency that did not change significantly (of any, where nothing was tested), from the same slice.
    """
    v = model.word_id(word)
    first = first_attested(model, v)
    low, high = model.cached(("usual", _place(model, v), first), lambda: _usual(model, v, first))
    return pl.DataFrame(
        {
            "slice": model.slices.labels,
            "distance": distances(model, [v], first)[:, 0],
            "count": model.vocabulary.count(slice(None), v),
            "observed": model.vocabulary.observed[:, v],
            "usual_low": low,
            "usual_high": high,
        },
        schema_overrides={"slice": pl.String, "count": pl.Int64},
    )


def displacement_interval(
    model: Model, word: str, corpus: CorpusLike = None, *, group: str | None = None
) -> tuple[list[float], list[float]]:
    """Return the 90% interval of every distance of `displacement`, or `group_displacement`; this reads the corpus.

    It is as wide as intervals of similarities between words; how often it holds the distance was not measured. Of a
    group, all text is taken as it is.
    """
    v = model.word_id(word)
    first = first_attested(model, v)
    source = uncertainty(model, corpus) if group is None else uncertainty(model.group(group), corpus_of(model, corpus))
    drawn = source.vectors(v)
    directions = vectors.unit(drawn - _centers(model))
    start = directions[:, first] if group is None else vectors.directions(model, [v])[[first] * len(drawn), 0]
    from_first = 1 - np.einsum("dtk,dk->dt", directions, start)
    estimate = distances(model, [v], first)[:, 0] if group is None else _in_group(model, v, group, first)
    low, high = interval(from_first, estimate, factor=OTHER_NOISE)
    return np.maximum(low, 0).tolist(), high.tolist()


def group_displacement(model: Model, word: str, groups: Sequence[str]) -> pl.DataFrame:
    """Return how far a word is in every slice of some groups from where it is first attested in all text.

    One row per group and slice: group, slice, distance, count and observed as in `displacement`.
    """
    v = model.word_id(word)
    first = first_attested(model, v)
    parts = []
    for name in groups:
        group = model.group(name)
        columns = {
            "slice": model.slices.labels,
            "distance": _in_group(model, v, name, first),
            "count": group.vocabulary.count(slice(None), v),
            "observed": group.vocabulary.observed[:, v],
        }
        parts.append(pl.DataFrame(columns, schema_overrides={"slice": pl.String, "count": pl.Int64}))
    return pl.concat(
        part.select(pl.lit(name).alias("group"), pl.all()) for name, part in zip(groups, parts, strict=True)
    )


def farthest(model: Model) -> float:
    """Return how far words move in this model, for a scale that all figures share."""

    def compute() -> float:
        first, last = (model.slices.index(label) for label in attested_range(model))
        both = model.vocabulary.attested(first, 1) & model.vocabulary.attested(last, 1)
        both &= ~most_frequent(model, usual_skip(model))
        found = measure(model, "cosine", first, last, wanted=both)[both]
        return float(np.quantile(found, 0.995)) if len(found) else 1.0

    return model.cached("farthest", compute)


def first_attested(model: Model, v: int) -> int:
    """Return the slice from which the distances of a word are measured."""
    return int(attested_slices(model, v, MIN_COUNT)[0])


def distances(model: Model, words: Sequence[int], first: int | Sequence[int]) -> Array:
    """Return how far words are in every slice from where they are in slice `first`, or each in its own, ``(T, n)``."""
    path = vectors.directions(model, words)
    start = path[np.broadcast_to(np.asarray(first, dtype=np.int64), len(words)), np.arange(len(words))]
    return np.asarray(np.maximum(1 - np.einsum("tnk,nk->tn", path, start), 0))


def observed_distances(model: Model, words: Sequence[int]) -> list[list[float | None]]:
    """Return how far each word is from its own first use in every slice; None where it is not observed."""
    found = distances(model, words, [first_attested(model, v) for v in words])
    seen = model.vocabulary.observed[:, list(words)]
    return [
        [float(d) if here else None for d, here in zip(*pair, strict=True)]
        for pair in zip(found.T, seen.T, strict=True)
    ]


def _in_group(model: Model, v: int, group: str, first: int) -> Array:
    """Return how far a word is in every slice of a group from where it is in slice `first` of all text."""
    own = np.asarray(model.group(group).rho_of(v), dtype=np.float64) - _centers(model)
    return np.asarray(np.maximum(1 - vectors.unit(own) @ vectors.directions(model, [v])[first, 0], 0))


def _centers(model: Model) -> Array:
    """Return what is taken from the vectors of every slice, ``(T, K)``."""
    return np.array([vectors.mean(model, t) for t in range(len(model.slices))])


def _place(model: Model, v: int) -> int:
    """Return where a word stands in the order of frequency, coarsely."""
    rank = model.cached("rank by frequency", lambda: np.argsort(np.argsort(model.vocabulary.totals, kind="stable")))
    return int(rank[v]) // _STEP


def _usual(model: Model, v: int, first: int) -> tuple[Array, Array]:
    """Return the distances between which most of the peers of a word lie that did not change."""
    order = model.cached("by frequency", lambda: np.argsort(model.vocabulary.totals, kind="stable"))
    unchanged = np.ones(len(order), dtype=bool)
    if (found := model.significance) is not None:
        unchanged = np.isfinite(found.q) & ~found.significant
    near = np.abs(np.arange(len(order)) - (_place(model, v) + 0.5) * _STEP)
    # Those that occur where the distance is measured from: others have no vector of their own there.
    here = unchanged & model.vocabulary.attested(first, 1)
    allowed = here if here.sum() >= PEERS // 2 else unchanged if unchanged.any() else np.ones(len(order), dtype=bool)
    places = np.flatnonzero(allowed[order])
    peers = order[places[np.argsort(near[places], kind="stable")[:PEERS]]]
    low, high = np.quantile(distances(model, sorted(peers.tolist()), first), _USUAL, axis=1)
    return low, high
