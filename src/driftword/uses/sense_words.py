"""Classifiers that learn the groups of occurrences, and then say better than the first search of which group each is.

One looks at the directions in which occurrences lie (a linear discriminant), the other at the words near them (naive
Bayes). Both learn from other documents than the one that they judge (five folds), since each text repeats its own
words: groups that nothing but some texts have in common are not learnt.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from driftword.uses.usage_vectors import FAR, Array

_REACH: Final = 5  # words on either side
_FOLDS: Final = 5
_ROUNDS: Final = 2
_PRIOR: Final = 2.0  # occurrences that are as all of the word, and are added to those of a group
_LEAST: Final = 2  # occurrences that have a word near them, for it to count
_SHRINKAGE: Final = 0.7  # of the spread of directions within groups
#: What a word counts, since words that are near each other say the same, and what the regression counts. Both were
#: chosen on pseudo-words of the UN (seeds 10 and 11), so that probabilities are right.
_WORDS: Final = 0.2
_DIRECTION: Final = 0.2


class Classifiers:
    """Learn to tell groups of the same occurrences: from their directions, and the words around them."""

    def __init__(self, rows: Array, around: Array, document: Array) -> None:
        near = around[:, FAR - _REACH : FAR + _REACH + 1].copy()
        near[:, _REACH] = -1
        self._occurrence, place = np.nonzero(near >= 0)
        words, self._word = np.unique(near[self._occurrence, place], return_inverse=True)
        self._n_words, self._fold = len(words), np.unique(document, return_inverse=True)[1] % _FOLDS
        self._rows = rows
        folds = [self._rows[self._fold == fold] for fold in range(_FOLDS)]
        self._products = np.array([part.T @ part for part in folds], dtype=np.float64)

    def reassign(self, group: Array) -> Array:
        """Return how likely each occurrence is to belong to each group, ``(n, groups)``.

        Given are first groups. All groups are as likely beforehand.
        """
        k = int(group.max()) + 1
        belongs = np.eye(k)[group]
        for _ in range(_ROUNDS):
            said = _WORDS * self._of_words(belongs) + _DIRECTION * self._of_directions(belongs)
            belongs = _softmax(said)
        return belongs if len(np.unique(belongs.argmax(axis=1))) == k else np.eye(k)[group]

    def told(self, group: Array) -> float:
        """Return what directions tell of the groups of occurrences, and words: the sum, in nats for each occurrence."""
        belongs = np.eye(int(group.max()) + 1)[group]
        share = np.maximum(belongs.mean(axis=0), 1e-12)
        total = 0.0
        for said in (_WORDS * self._of_words(belongs), _DIRECTION * self._of_directions(belongs)):
            found = _softmax(said + np.log(share))
            total += float(np.log(np.maximum((found * belongs).sum(axis=1), 1e-12)).mean() - share @ np.log(share))
        return total

    def _of_directions(self, belongs: Array) -> Array:
        """Return what the directions of occurrences say, ``(n, groups)``: their log probabilities in each group."""
        of_folds = [self._fold == fold for fold in range(_FOLDS)]
        sums = np.array([belongs[chosen].T @ self._rows[chosen] for chosen in of_folds], dtype=np.float64)
        sizes = np.array([belongs[chosen].sum(axis=0) for chosen in of_folds])
        found = np.empty(belongs.shape)
        for fold, chosen in enumerate(of_folds):
            size = np.maximum(sizes.sum(axis=0) - sizes[fold], 1e-9)
            means = (sums.sum(axis=0) - sums[fold]) / size[:, None]
            spread = (self._products.sum(axis=0) - self._products[fold] - (means.T * size) @ means) / size.sum()
            equal = np.trace(spread) / len(spread)
            weights = np.linalg.solve((1 - _SHRINKAGE) * spread + _SHRINKAGE * equal * np.eye(len(spread)), means.T)
            found[chosen] = self._rows[chosen] @ weights - np.einsum("kd,dk->k", means, weights) / 2
        return found

    def _of_words(self, belongs: Array) -> Array:
        """Return what the words near occurrences say: their log probabilities in each group, ``(n, groups)``."""
        n, k = belongs.shape
        cell = self._word * np.int64(_FOLDS) + self._fold[self._occurrence]
        cells = self._n_words * _FOLDS
        counts = np.array([np.bincount(cell, belongs[self._occurrence, j], minlength=cells) for j in range(k)])
        counts = counts.reshape(k, self._n_words, _FOLDS)
        size = np.array([np.bincount(self._fold, belongs[:, j], minlength=_FOLDS) for j in range(k)])
        counts = counts.sum(axis=2, keepdims=True) - counts  # in the other folds
        size = size.sum(axis=1, keepdims=True) - size  # (k, folds)
        every = counts.sum(axis=0)  # (words, folds)
        usual = every / np.maximum(size.sum(axis=0), 1)
        rate = np.log((counts + _PRIOR * usual + 1e-9) / (size[:, None] + _PRIOR))
        rate -= rate.mean(axis=0)
        rate[:, every < _LEAST] = 0
        told = rate.transpose(1, 2, 0)[self._word, self._fold[self._occurrence]]
        return np.array([np.bincount(self._occurrence, told[:, j], minlength=n) for j in range(k)]).T


def _softmax(said: Array) -> Array:
    said = np.exp(said - said.max(axis=1, keepdims=True))
    return np.asarray(said / said.sum(axis=1, keepdims=True))
