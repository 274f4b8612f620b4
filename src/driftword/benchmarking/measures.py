"""Measures of a model: how many planted changes it finds, and whether another seed would say the same."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from driftword.benchmarking.planting import BANDS, KINDS, Array, Planted, share_moved
from driftword.corpus import Corpus
from driftword.explore import changes, vectors
from driftword.explore.drift_metrics import measure
from driftword.models.model import Model
from driftword.models.significance_table import LEVEL
from driftword.models.slice_vectors import attested_mean, unit

NEAREST: Final = 10
_WORDS, _SLICES = 400, 8  # by which stability is measured
_LEAST, _LEAST_NEIGHBOR = 20, 5  # occurrences in the training text of the slice


def movement(model: Model) -> Array:
    """Return how far each word moved from the first slice to the last, ``(V,)``; no word is left out."""
    return np.asarray(measure(model, "cosine", 0, len(model.slices) - 1, wanted=np.ones(len(model.words), dtype=bool)))


def frequency_change(counts: Array) -> Array:
    """Return how much the frequency of each word changed from the first quarter of the slices to the last, ``(V,)``."""
    quarter = max(1, len(counts) // 4)
    first, last = (np.asarray(part.sum(axis=0), dtype=np.float64) for part in (counts[:quarter], counts[-quarter:]))
    ratio = np.log(last + 0.5) - np.log(first + 0.5)
    return np.asarray(np.abs(ratio - np.log(max(last.sum(), 1) / max(first.sum(), 1))))


def average_precision(score: Array, wanted: Array) -> float:
    """Return the mean precision at the rank of every wanted word."""
    hits = wanted[np.argsort(-score, kind="stable")]
    if not hits.any():
        return float("nan")
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(precision[hits].mean())


def precision_of(score: Array, planted: Planted, wanted: Array, among: Array | None = None) -> float:
    """Return the average precision of some exchanged words; the others and crowded words are left out.

    Of all words, or only `among` some, ``(V,)``.
    """
    mask, candidates = np.zeros(len(score), dtype=bool), ~planted.crowded
    if among is not None:
        candidates &= among
    candidates[planted.changed] = False
    mask[planted.changed[wanted]] = candidates[planted.changed[wanted]] = True
    return average_precision(score[candidates], mask[candidates])


def thinned_above(score: Array, counts: Array, planted: Planted) -> float:
    """Return the share of thinned words above the 99th percentile of unchanged words of their band."""
    unchanged = ~planted.crowded
    unchanged[np.r_[planted.changed, planted.thinned]] = False
    above: list[bool] = []
    for b, (low, high) in enumerate(BANDS):
        peers = score[unchanged & (counts >= low) & (counts < high)]
        words = planted.thinned[planted.thinned_band == b]
        above += (score[words] > np.percentile(peers, 99)).tolist() if len(peers) else []
    return float(np.mean(above)) if above else float("nan")


def partner_ranks(model: Model, planted: Planted) -> Array:
    """Return the rank of each partner among the words of the first slice whose use is that of a word in the last.

    A word that has taken its partner's place is used in the last slice as the partner was in the first.
    """
    first, last = 0, len(model.slices) - 1
    allowed = model.vocabulary.attested(first, vectors.MIN_COUNT)
    before, after = unit(vectors.centered(model, first)), unit(vectors.centered(model, last))
    ranks = []
    for word, partner in zip(planted.changed[planted.lasts], planted.partner[planted.lasts], strict=True):
        if allowed[partner]:
            similarity = before @ after[word]
            ranks.append(1 + int((similarity[allowed] > similarity[partner]).sum()))
    return np.array(ranks)


def dated_within(model: Model, planted: Planted, slices: int, abrupt: float = 0.5) -> float:
    """Return the share of abrupt changes that `changes` dates right, or at most that many slices off."""
    kind = KINDS.index("abrupt")
    true_slice = int(share_moved(kind, len(model.slices), abrupt).argmax())
    words = [model.words[v] for v in planted.changed[planted.kind == kind]]
    if not words:
        return float("nan")
    table = changes(model, words, n=1, min_count=1)
    slice_of = dict(zip(table["word"], table["slice"], strict=True))
    off = [abs(model.slices.index(slice_of[word]) - true_slice) if word in slice_of else np.inf for word in words]
    return float(np.mean(np.array(off) <= slices))


def called(rates: Mapping[str, float | None], words: Sequence[str], planted: Planted) -> dict[str, float]:
    """Return the share of exchanged words that a test finds, and the share of its finds that did not change.

    `rates` are false discovery rates by word; None for a word that was not tested.
    """
    found = np.array([(rate := rates.get(word)) is not None and rate <= LEVEL for word in words])
    changed = np.zeros(len(words), dtype=bool)
    changed[planted.changed] = True
    unchanged = ~planted.crowded & ~changed
    calls = int((found & (changed | unchanged)).sum())
    return {
        "power": float(found[changed].mean()),
        "false_calls": float((found & unchanged).sum() / calls) if calls else float("nan"),
    }


def shared_neighbors(models: Sequence[Model], corpus: Corpus) -> list[float]:
    """Return the share of ten nearest words that every two models have in common.

    Nearest by the centred cosine, in up to eight slices, for 400 random words in each that occur at least 20 times in
    its training text, among words that occur at least five times.
    """
    counts, random = np.asarray(corpus.train_counts), np.random.default_rng(0)
    pairs = list(itertools.combinations(range(len(models)), 2))
    found: list[list[float]] = [[] for _ in pairs]
    for t in np.unique(np.linspace(0, len(counts) - 1, _SLICES).astype(int)).tolist():
        attested = counts[t] >= _LEAST_NEIGHBOR
        words = random.permutation(np.flatnonzero(counts[t] >= _LEAST))[:_WORDS]
        if len(words) and attested.sum() > NEAREST:
            lists = [_nearest(model, t, words, attested) for model in models]
            for shares, (a, b) in zip(found, pairs, strict=True):
                shares.append(float((lists[a][:, :, None] == lists[b][:, None, :]).any(axis=2).mean()))
    return [float(np.mean(shares)) for shares in found if shares]


def _nearest(model: Model, t: int, words: Array, attested: Array) -> Array:
    """Return the words nearest to each of some words in slice t, ``(words, 10)``."""
    rows = vectors.slice_vectors(model, t)
    directions = unit(rows - attested_mean(rows, attested))
    candidates = np.flatnonzero(attested)
    similarity = directions[words] @ directions[candidates].T
    similarity[words[:, None] == candidates[None, :]] = -np.inf
    return np.asarray(candidates[np.argpartition(-similarity, NEAREST - 1, axis=1)[:, :NEAREST]])
