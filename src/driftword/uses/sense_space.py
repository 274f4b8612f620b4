"""A space in which occurrences of one word lie together, and those of different words apart.

Senses of a word should differ as words differ. Which word is where is known, so every corpus teaches what tells words
apart: the contexts of a few hundred words show along which directions the occurrences of one word vary (S_w), and along
which their means do (S_b). Contexts are turned and scaled so that S_w becomes the identity and S_b diagonal, with
values b (linear discriminant analysis). A direction counts by the share of its variance that tells words apart, b / (1
+ b), but far less than in proportion: two words differ in few directions, and which ones is not known beforehand.

A context is described by the words right before an occurrence, those right after it, and those within six and twenty
words: sums of context vectors, rare words weighing more, each whitened and scaled to the same length.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from driftword.basics import randomness
from driftword.corpus import Corpus
from driftword.models.model import Model
from driftword.uses.usage_vectors import FAR, NEAR, Array, Whitening, weigh_rare_words, windows

_NEXT: Final = 2  # words right before and right after an occurrence
_PLACES: Final = ((-_NEXT, -1), (1, _NEXT), (-NEAR, NEAR), (-FAR, FAR))
_DRAWN: Final = 1_000_000  # occurrences of any words, among which these are
_WORDS: Final = 3_000  # from which is learnt what tells words apart
_OCCURRENCES: Final = 12  # of each of them
_LEAST: Final = 6  # that were drawn
_FREQUENT: Final = 3e-4  # share of the text of words that are too frequent to have contexts of their own
_FEW_WORDS: Final = 50  # are learnt from even if they are frequent
_SHRINKAGE: Final = 0.1  # of the variance within words
_POWER: Final = 0.25  # of the share of a direction's variance that tells words apart; chosen as `ALIKE` was
DIMENSIONS: Final = 200


class SenseSpace:
    """Computes places of occurrences; what tells words apart is learnt once."""

    def __init__(self, corpus: Corpus, context_vectors: Array, seed: int = 0) -> None:
        self._weighted = weigh_rare_words(corpus, context_vectors)
        positions, word = _sample(corpus, seed)
        sums = self._sums(windows(corpus, positions, FAR))
        self._whitenings = [Whitening.of(part) for part in sums]
        described = self._describe(sums)
        self._mean = described.mean(axis=0)
        self._turn = _discriminant(described - self._mean, word)

    def of(self, around: Array) -> Array:
        """Return the places of occurrences, given by the words around them, ``(n, dimensions)``; see `windows`."""
        return np.asarray((self._describe(self._sums(around)) - self._mean) @ self._turn)

    def _sums(self, around: Array) -> list[Array]:
        """Return the sums of context vectors in the windows of an occurrence."""
        sums = [np.zeros((len(around), self._weighted.shape[1]), dtype=np.float32) for _ in _PLACES]
        for place in range(-FAR, FAR + 1):
            vectors = self._weighted[around[:, FAR + place]]
            for total, (first, last) in zip(sums, _PLACES, strict=True):
                if first <= place <= last:
                    total += vectors
        return sums

    def _describe(self, sums: list[Array]) -> Array:
        return np.hstack(
            [whitening.of_length_one(part) for part, whitening in zip(sums, self._whitenings, strict=True)]
        )


def sense_space(model: Model, corpus: Corpus) -> SenseSpace:
    """Return the space of occurrences in a corpus, as a model has learnt to compare contexts."""
    return model.cached(("sense space", corpus.fingerprint), lambda: SenseSpace(corpus, model.mean_alpha))


def _sample(corpus: Corpus, seed: int) -> tuple[Array, Array]:
    """Return occurrences of a few hundred words, and the word of each."""
    drawn = randomness.uniform(randomness.key(seed, "word contexts"), np.arange(_DRAWN)) * corpus.n_tokens
    positions = np.sort(drawn.astype(np.int64))
    positions = positions[np.diff(positions, prepend=-1) > 0]  # `unique` takes ten times as long
    word = np.asarray(corpus.tokens[positions], dtype=np.int64)
    counts = corpus.counts.sum(axis=0, dtype=np.int64)
    found = np.bincount(word, minlength=len(counts))
    often = found >= min(_LEAST, int(found.max(initial=0)))
    rare = often & (counts < _FREQUENT * counts.sum())
    known = rare if rare.sum() >= _FEW_WORDS else often
    # Words that come first in a random order, and of each the occurrences that do.
    order = randomness.bits(randomness.key(seed, "words"), np.arange(len(counts)))
    words = np.flatnonzero(known)[np.argsort(order[known], kind="stable")[:_WORDS]]
    own = np.flatnonzero(np.isin(word, words))
    by_word = own[np.lexsort((randomness.bits(randomness.key(seed, "words"), positions[own]), word[own]))]
    rank = np.arange(len(own)) - np.searchsorted(word[by_word], word[by_word])
    chosen = np.sort(by_word[rank < _OCCURRENCES])
    return positions[chosen], word[chosen]


def _discriminant(rows: Array, word: Array) -> Array:
    """Return what turns contexts so that words are told apart best, each direction with its weight."""
    rows, width = rows[np.argsort(word, kind="stable")], rows.shape[1]
    size = np.unique(word, return_counts=True)[1]
    means = np.add.reduceat(rows, np.cumsum(size) - size).astype(np.float64) / size[:, None]
    rest = rows - np.repeat(means, size, axis=0).astype(rows.dtype)
    within = (rest.T @ rest).astype(np.float64) / max(len(rows) - len(size), 1)
    between = means.T @ means / len(size) - within * float((1 / size).mean())
    scale = max(float(np.trace(within)) / width, 1e-12)
    values, axes = np.linalg.eigh((1 - _SHRINKAGE) * within + _SHRINKAGE * scale * np.eye(width))
    white = axes / np.sqrt(np.maximum(values, 1e-12))
    apart, turn = np.linalg.eigh(white.T @ between @ white)
    best = np.argsort(-apart, kind="stable")[:DIMENSIONS]
    share = np.maximum(apart[best], 1e-3) / (1 + np.maximum(apart[best], 1e-3))
    return np.asarray(white @ turn[:, best] * share**_POWER, dtype=np.float32)
