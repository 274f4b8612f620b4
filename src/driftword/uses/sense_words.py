"""The words near an occurrence, which may tell its sense better than its place in a `SenseSpace` does.

Groups of occurrences have words near them that others have not: a naive Bayes classifier learns them, and together with
the directions in which occurrences lie it says of which group each is. It learns from the other documents only (five
folds), since each text repeats its own words.
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
#: What a word counts, since words that are near each other say the same, and what a cosine counts. Both were chosen on
#: pseudo-words of the UN (seed 10): so that probabilities are right, for occurrences hardly change their groups.
_WORDS: Final = 0.15
_DIRECTION: Final = 7.0


def reassign(group: Array, rows: Array, around: Array, document: Array) -> Array:
    """Return how likely each occurrence is to belong to each group, ``(n, groups)``.

    Given are first groups, directions ``rows`` and the words around. All groups are as likely beforehand.
    """
    k = int(group.max()) + 1
    near = around[:, FAR - _REACH : FAR + _REACH + 1].copy()
    near[:, _REACH] = -1
    occurrence, place = np.nonzero(near >= 0)
    words, word = np.unique(near[occurrence, place], return_inverse=True)
    fold = np.unique(document, return_inverse=True)[1] % _FOLDS
    belongs = np.eye(k)[group]
    for _ in range(_ROUNDS):
        means = belongs.T @ rows
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
        said = _WORDS * _said(occurrence, word, len(words), belongs, fold) + _DIRECTION * (rows @ means.T)
        said = np.exp(said - said.max(axis=1, keepdims=True))
        belongs = said / said.sum(axis=1, keepdims=True)
    return belongs if len(np.unique(belongs.argmax(axis=1))) == k else np.eye(k)[group]


def _said(occurrence: Array, word: Array, n_words: int, belongs: Array, fold: Array) -> Array:
    """Return what the words near occurrences say: their log probabilities in each group, ``(n, groups)``."""
    n, k = belongs.shape
    cell = word * np.int64(_FOLDS) + fold[occurrence]
    counts = np.array([np.bincount(cell, belongs[occurrence, j], minlength=n_words * _FOLDS) for j in range(k)])
    counts = counts.reshape(k, n_words, _FOLDS)
    size = np.array([np.bincount(fold, belongs[:, j], minlength=_FOLDS) for j in range(k)])
    counts = counts.sum(axis=2, keepdims=True) - counts  # in the other folds
    size = size.sum(axis=1, keepdims=True) - size  # (k, folds)
    every = counts.sum(axis=0)  # (words, folds)
    usual = every / np.maximum(size.sum(axis=0), 1)
    rate = np.log((counts + _PRIOR * usual + 1e-9) / (size[:, None] + _PRIOR))
    rate -= rate.mean(axis=0)
    rate[:, every < _LEAST] = 0
    told = rate.transpose(1, 2, 0)[word, fold[occurrence]]
    return np.array([np.bincount(occurrence, told[:, j], minlength=n) for j in range(k)]).T
