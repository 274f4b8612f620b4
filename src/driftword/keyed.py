"""One slice of a model with the habits of gensim's KeyedVectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from driftword.errors import OptionError

Word = str | npt.NDArray[Any]


class SliceVectors:
    """The embeddings of all words in one slice; made by ``model.at(1986)``.

    Attributes
    ----------
    index_to_key, key_to_index
        The words, and the place of each.
    vectors
        ``(V, K)``.
    counts
        How often each word occurs in the slice.
    """

    def __init__(
        self,
        words: Sequence[str],
        key_to_index: dict[str, int],
        *,
        vectors: npt.NDArray[Any],
        counts: npt.NDArray[Any],
        find: Any,
    ) -> None:
        self.index_to_key = list(words)
        self.key_to_index = key_to_index
        self.vectors = vectors
        self.counts = counts
        self.vector_size = vectors.shape[1]
        self._find = find

    def __getitem__(self, key: str | Sequence[str]) -> npt.NDArray[Any]:
        """Return the vector of a word, or of several."""
        if isinstance(key, str):
            return np.asarray(self.vectors[self._find(key)])
        return np.asarray(self.vectors[[self._find(word) for word in key]])

    def __contains__(self, word: object) -> bool:
        return word in self.key_to_index

    def __len__(self) -> int:
        return len(self.index_to_key)

    @cached_property
    def _units(self) -> npt.NDArray[np.float32]:
        return unit(np.asarray(self.vectors, dtype=np.float32))

    def similarity(self, one: str, other: str) -> float:
        """Return the cosine between two words."""
        return float(self._units[self._find(one)] @ self._units[self._find(other)])

    def most_similar(
        self,
        positive: Word | Sequence[Word] | None = None,
        negative: Word | Sequence[Word] | None = None,
        topn: int = 10,
        *,
        min_count: int = 5,
    ) -> list[tuple[str, float]]:
        """Return the words nearest to the mean of the positive words less the negative ones, with their cosines.

        Parameters
        ----------
        positive, negative
            A word or vector, or several.
        topn
            How many words.
        min_count
            Only words that occur so often in the slice: the vectors of others are interpolated. gensim has no
            such option; 0 does as gensim does.
        """
        plus, minus = _listed(positive), _listed(negative)
        if not plus and not minus:
            raise OptionError("most_similar needs at least one word")
        parts = [self._direction(one) for one in plus] + [-self._direction(one) for one in minus]
        scores = self._units @ unit(np.mean(parts, axis=0))
        allowed = np.asarray(self.counts) >= min_count
        allowed[[self._find(one) for one in (*plus, *minus) if isinstance(one, str)]] = False
        places = np.flatnonzero(allowed)
        places = places[np.argsort(-scores[places], kind="stable")][:topn]
        return [(self.index_to_key[v], float(scores[v])) for v in places]

    def _direction(self, one: Word) -> npt.NDArray[np.float32]:
        return self._units[self._find(one)] if isinstance(one, str) else unit(np.asarray(one, dtype=np.float32))


def _listed(words: Word | Sequence[Word] | None) -> list[Word]:
    if words is None:
        return []
    if isinstance(words, str) or (isinstance(words, np.ndarray) and words.ndim == 1):
        return [words]
    return list(words)


def unit(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Scale rows, or a single vector, to length one; zeros stay."""
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1))
