"""How far a word is from its first use, in a unit that all words share, and how far words that did not change are.

The distance is one minus the cosine similarity of the word's centred vectors in two slices. It begins at 0 where the
word is first attested, so a word that stays where it is has a flat line, whatever the scale of its own movements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from driftword.corpus.peers import FEWEST_PEERS, Peers
from driftword.explore import vectors
from driftword.explore.drift_metrics import measure
from driftword.explore.drift_ranking import usual_comparison
from driftword.explore.intervals import OTHER_NOISE, CorpusLike, square_without_noise, true_directions, uncertainty
from driftword.explore.slice_selection import attested_slices
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.models.model import Model, corpus_of
from driftword.models.significance_table import HALF_WIDTH

_USUAL: Final = (0.1, 0.9)  # share of the peers that did not change, below either end of the band


def displacement(model: Model, word: str) -> pl.DataFrame:
    """Return how far a word is in every slice from where it is first attested.

    Returns
    -------
    One row per slice: slice; distance (1 - cosine similarity); count; whether the word is observed in training text
    there, or its vector interpolated; usual_low and usual_high, between which the distances lie of four in five words
    of similar frequency that did not change significantly (of any, where nothing was tested), from the same slice.
    """
    v = model.word_id(word)
    first = first_attested(model, v)
    low, high = np.quantile(distances(model, _unchanged_peers(model, v, first), first), _USUAL, axis=1)
    table = _table(model, v, distances(model, [v], first)[:, 0])
    return table.with_columns(pl.Series("usual_low", low), pl.Series("usual_high", high))


def displacement_interval(
    model: Model, word: str, corpus: CorpusLike = None, *, group: str | None = None
) -> tuple[list[float], list[float]]:
    """Return the 90% interval of every distance of `displacement`, or `group_displacement`; this reads the corpus.

    Noise makes every distance longer, so an interval reaches down to where the word is without it: to 0 where documents
    do not show that it moved. It is as wide as intervals of similarities between words. For a group, all text is taken
    as it is.
    """
    v = model.word_id(word)
    first = first_attested(model, v)
    source = uncertainty(model, corpus) if group is None else uncertainty(model.group(group), corpus_of(model, corpus))
    rows = np.asarray((model if group is None else model.group(group)).rho_of(v), dtype=np.float64)
    own, drawn = true_directions(rows - vectors.means(model), source.vectors(v) - vectors.means(model))
    if group is None:
        origin, start, estimate = own[first], drawn[:, first], distances(model, [v], first)[:, 0]
    else:
        origin = start = vectors.directions(model, [v])[first, 0]
        estimate = _in_group(model, v, group, first)
    low, high = [], []
    for t, distance in enumerate(estimate.tolist()):
        square, error = square_without_noise(own[t] - origin, drawn[:, t] - start)
        half = OTHER_NOISE * HALF_WIDTH * error / 2
        low.append(max(square / 2 - half, 0.0))
        high.append(max(square / 2 + half, distance))
    return low, high


def group_displacement(model: Model, word: str, groups: Sequence[str]) -> pl.DataFrame:
    """Return how far a word is in every slice of some groups from where it is first attested in all text.

    One row per group and slice: group, slice, distance, count and observed as in `displacement`.
    """
    v = model.word_id(word)
    first = first_attested(model, v)
    tables = [_table(model.group(name), v, _in_group(model, v, name, first)) for name in groups]
    named = zip(groups, tables, strict=True)
    return pl.concat(table.select(pl.lit(name).alias("group"), pl.all()) for name, table in named)


def _table(model: Model, v: int, distance: Array) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "slice": model.slices.labels,
            "distance": distance,
            "count": vectors.counts(model, slice(None), v),
            "observed": model.vocabulary.observed[:, v],
        }
    )


def farthest(model: Model) -> float:
    """Return how far words move in this model, for a scale that all figures share."""

    def compute() -> float:
        first, last, comparable = usual_comparison(model, min_count=1)
        found = measure(model, "cosine", first, last, wanted=comparable)[comparable]
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
    found = distances(model, words, [first_attested(model, v) for v in words]).astype(object)
    found[~model.vocabulary.observed[:, list(words)]] = None
    return list(found.T.tolist())


def _in_group(model: Model, v: int, group: str, first: int) -> Array:
    """Return how far a word is in every slice of a group from where it is in slice `first` of all text."""
    own = vectors.unit(np.asarray(model.group(group).rho_of(v), dtype=np.float64) - vectors.means(model))
    return np.asarray(np.maximum(1 - own @ vectors.directions(model, [v])[first, 0], 0))


def _unchanged_peers(model: Model, v: int, first: int) -> list[int]:
    """Return words of similar frequency that did not change and, if there are enough of them, occur in slice `first`.

    Others have no vector of their own there.
    """
    unchanged = np.ones(len(model.words), dtype=bool)
    if (found := model.significance) is not None:
        unchanged = np.isfinite(found.q) & ~found.significant
    here = unchanged & model.vocabulary.attested(first, 1)
    among = here if here.sum() >= FEWEST_PEERS else unchanged if unchanged.any() else ~unchanged
    peers: list[int] = Peers(model.vocabulary.totals, among).of(v).tolist()
    return peers or [v]  # there is no other word
