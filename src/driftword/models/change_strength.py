"""How strongly words changed: what lists of changed words are ordered by, everywhere.

A word is ranked if its change is significant, it is a word (not a name, a number, a function word, a phrase or a
fragment; see `corpus.word_kinds`), and it occurs in enough documents before the change and since, not most of them of
one time: then it may have been an event. Two things count: how far its mean vector moved across the change and, half as
much, what its effect is at least. Both depend on how frequent a word is, so each is measured in robust standard
deviations from ranked words of similar frequency.

The order is one of interest, not of certainty: q says how sure a change is. It was chosen on words whose changes are
known (docs/what-changed.md).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.corpus.options import MIN_COUNT
from driftword.corpus.word_kinds import WORD
from driftword.models.model import Model
from driftword.models.significance_table import LEVEL
from driftword.models.slice_vectors import attested_mean

#: Before a change, and since; a twentieth of all documents where that is less, but enough for a test.
LEAST_DOCUMENTS, FEWEST_DOCUMENTS = 20, 8
LEAST_LASTING: Final = 0.5  # share of them on either side that are not of its most crowded time
EFFECT_SHARE: Final = 0.5  # how much the effect counts, beside the distance
PEERS: Final = 200  # ranked words of similar frequency that a word is compared with
_FEWEST: Final = 10  # below which there are no peers, so that both measures are compared with all words

Array = npt.NDArray[Any]


def with_strength(table: pl.DataFrame, model: Model) -> pl.DataFrame:
    """Add the strength of each word's change to the table of a test, in the order of the vocabulary."""
    enough = pl.min_horizontal("documents_before", "documents_since") >= least_documents(table)
    lasting = pl.col("lasting") >= LEAST_LASTING
    wanted = (pl.col("q") <= LEVEL) & (pl.col("low") > 0) & (pl.col("kind") == WORD) & enough & lasting
    words = np.flatnonzero(table.select(wanted.fill_null(value=False)).to_series().to_numpy())
    strength = np.full(len(table), np.nan)
    if len(words) and model.moves:
        frequency = np.log(np.maximum(model.vocabulary.totals[words], 1).astype(np.float64))
        change = table["change"].to_numpy().astype("datetime64[D]").astype(np.int64)[words]
        moved = among_peers(distances(model, words, change), frequency)
        strength[words] = moved + EFFECT_SHARE * among_peers(table["low"].to_numpy()[words], frequency)
    return table.with_columns(strength=pl.Series(strength).fill_nan(None))


def least_documents(table: pl.DataFrame) -> int:
    """Return in how many documents a word must occur before its change, and since, to be ranked.

    The most frequent word tells how many documents there are.
    """
    every = table["documents"].max() or 0
    assert isinstance(every, int)
    return min(LEAST_DOCUMENTS, max(every // 20, FEWEST_DOCUMENTS))


def distances(model: Model, words: Array, change: Array) -> Array:
    """Return how far words moved across their changes, given as days: the distance between the mean vectors.

    Slices count by the word's occurrences in their training text; what all words share is taken away before.
    """
    first = np.array(model.slices.first, dtype="datetime64[D]").astype(np.int64)
    at = np.maximum(np.searchsorted(first, change, side="right") - 1, 1)  # the first slice that counts as since
    sums, weights = np.zeros((2, len(words), model.spec.dim)), np.zeros((2, len(words)))
    for t in range(len(model.slices)):
        counts = np.maximum(np.asarray(model.vocabulary.train_counts[t])[words], 0).astype(np.float64)
        here = np.flatnonzero(counts)
        rows = model.rho_at(t)
        own = np.asarray(rows[words[here]], dtype=np.float64)
        own -= attested_mean(rows, model.vocabulary.attested(t, MIN_COUNT))
        since = (at[here] <= t).astype(np.int64)
        np.add.at(sums, (since, here), own * counts[here, None])
        np.add.at(weights, (since, here), counts[here])
    means = sums / np.maximum(weights, 1)[..., None]
    return np.where((weights > 0).all(axis=0), np.linalg.norm(means[1] - means[0], axis=1), 0.0)


def among_peers(measure: Array, frequency: Array) -> Array:
    """Return a measure of words in robust standard deviations from the median of words of similar frequency."""
    order = np.argsort(frequency, kind="stable")
    ordered, result = measure[order], np.empty(len(measure))
    size = min(PEERS, len(order))
    for place, word in enumerate(order):
        begin = min(max(place - size // 2, 0), len(order) - size)
        peers = ordered[begin : begin + size] if size >= _FEWEST else ordered
        middle = np.median(peers)
        spread = 1.4826 * np.median(np.abs(peers - middle))
        result[word] = (measure[word] - middle) / max(float(spread), 1e-9)
    return result
