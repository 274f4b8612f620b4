"""A vector for every occurrence of a word: what surrounds it.

The context vectors of the words around an occurrence are summed, rare words weighing more: within six words on either
side and, half as much, within twenty. Both sums are whitened by the spread of contexts anywhere in the text, so that
no direction counts for more because all text varies along it, and scaled to the same length.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from driftword.basics import randomness
from driftword.corpus import Corpus
from driftword.corpus.tokenized_text import chunks_of
from driftword.models.model import Model
from driftword.models.usage import Usage

Array = npt.NDArray[Any]
NEAR, FAR = 6, 20  # words on either side
_FAR_SHARE: Final = 0.5  # how much the wider window counts
_RARE: Final = 1e-3  # share of the text from which on words weigh less than half
_BACKGROUND: Final = 20_000  # occurrences of any words, from which it is known how contexts vary
_LEAST_VARIANCE: Final = 0.05  # of the mean, which is added to the variance in every direction


class Whitening(NamedTuple):
    """What makes the variance of contexts one in every direction."""

    mean: Array  # (K,)
    turn: Array  # (K, K)

    @classmethod
    def of(cls, rows: Array) -> Whitening:
        """Learn it from contexts."""
        values, axes = np.linalg.eigh(np.cov(rows.T.astype(np.float64)))
        floor = _LEAST_VARIANCE * max(float(values.mean()), 1e-12)
        return cls(rows.mean(axis=0), (axes / np.sqrt(np.maximum(values, 0) + floor)).astype(np.float32))

    def of_length_one(self, rows: Array) -> Array:
        """Return contexts whitened and scaled to length 1."""
        white = (rows - self.mean) @ self.turn
        white /= np.maximum(np.linalg.norm(white, axis=1, keepdims=True), 1e-9)
        return np.asarray(white)


class UsageVectors:
    """Computes vectors of occurrences; what all of them need is computed once."""

    def __init__(self, corpus: Corpus, context_vectors: Array, seed: int = 0) -> None:
        self.corpus = corpus
        self._weighted = weigh_rare_words(corpus, context_vectors)
        number = np.arange(_BACKGROUND)
        drawn = randomness.uniform(randomness.key(seed, "contexts"), number) * corpus.n_tokens
        positions = np.unique(drawn.astype(np.int64))
        sums = self._sums(windows(corpus, positions, FAR))
        self._whitening = [Whitening.of(part) for part in sums]
        self.background = self._whiten(sums)  # (n, 2 K)
        self.background_document = np.asarray(corpus.chunk_document[chunks_of(corpus, positions)])

    def of(self, positions: Array, around: Array) -> Array:  # noqa: ARG002 - see `EncodedVectors`
        """Return the vectors of occurrences, given by the words around them, ``(n, 2 K)``; see `windows`."""
        return self._whiten(self._sums(around))

    def _sums(self, around: Array) -> tuple[Array, Array]:
        near, far = (np.zeros((len(around), self._weighted.shape[1]), dtype=np.float32) for _ in range(2))
        for place in range(2 * FAR + 1):
            total = near if abs(place - FAR) <= NEAR else far
            total += self._weighted[around[:, place]]
        return near, near + far

    def _whiten(self, sums: tuple[Array, Array]) -> Array:
        near, far = (whitening.of_length_one(part) for part, whitening in zip(sums, self._whitening, strict=True))
        return np.hstack([near, _FAR_SHARE * far]).astype(np.float32)


class EncodedVectors:
    """Vectors of occurrences that an encoder has made, in the place of `UsageVectors`."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self.background = usage.without_means  # (n, K)
        self.background_document = usage.document

    def of(self, positions: Array, around: Array) -> Array:  # noqa: ARG002 - see `UsageVectors`
        """Return the vectors of occurrences, given by their positions, ``(n, K)``."""
        return np.asarray(self._usage.places[self._usage.rows_at(positions)])


def usage_vectors(model: Model | Usage, corpus: Corpus) -> UsageVectors | EncodedVectors:
    """Return vectors of occurrences, as a model has learnt to compare contexts, or as an encoder has made them."""
    if isinstance(model, Usage):
        return EncodedVectors(model)
    return model.cached(("usage vectors", corpus.fingerprint), lambda: UsageVectors(corpus, model.mean_alpha))


def windows(corpus: Corpus, positions: Array, reach: int) -> Array:
    """Return the words around tokens, ``(n, 2 reach + 1)``; -1 for the token itself, and outside of its chunk."""
    chunk = chunks_of(corpus, positions)
    offsets = np.asarray(corpus.offsets)
    at = positions[:, None] + np.arange(-reach, reach + 1)
    inside = (at >= offsets[chunk][:, None]) & (at < offsets[chunk + 1][:, None])
    inside[:, reach] = False
    around = np.full(at.shape, -1, dtype=np.int32)
    around[inside] = corpus.tokens[at[inside]]
    return around


def weigh_rare_words(corpus: Corpus, context_vectors: Array) -> Array:
    """Return the context vectors of all words, centred, rare words weighing more, and zeros for -1: no word."""
    share = corpus.counts.sum(axis=0, dtype=np.float64)
    share /= max(share.sum(), 1)
    alpha = np.asarray(context_vectors, dtype=np.float64)
    weighted = (alpha - share @ alpha) * (_RARE / (_RARE + share))[:, None]
    return np.vstack([weighted, np.zeros(alpha.shape[1])]).astype(np.float32)
