"""One slice of a model with the habits of gensim's KeyedVectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from driftword.corpus.corpus import knows_word
from driftword.errors import OptionError

Word = str | npt.NDArray[Any] | tuple[Any, float]


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

    def __getitem__(self, key: str | int | Sequence[str]) -> npt.NDArray[Any]:
        """Return the vector of a word or of its number, or of several words."""
        if isinstance(key, str):
            return np.asarray(self.vectors[self._find(key)])
        if isinstance(key, int | np.integer):
            return np.asarray(self.vectors[key])
        return np.asarray(self.vectors[[self._find(word) for word in key]])

    def __contains__(self, word: object) -> bool:
        return knows_word(self._find, word)

    def __iter__(self) -> Iterator[str]:
        return iter(self.index_to_key)

    def __repr__(self) -> str:
        return f"SliceVectors({len(self):,} words, dim {self.vector_size})"

    def __len__(self) -> int:
        return len(self.index_to_key)

    @cached_property
    def _units(self) -> npt.NDArray[np.float32]:
        return unit(np.asarray(self.vectors, dtype=np.float32))

    def similarity(self, one: str, other: str) -> float:
        """Return the cosine between two words."""
        return float(self._units[self._find(one)] @ self._units[self._find(other)])

    def distance(self, one: str, other: str) -> float:
        """Return one less the cosine between two words."""
        return 1 - self.similarity(one, other)

    def get_vector(self, key: str | int) -> npt.NDArray[Any]:
        """Return the vector of a word, or of its number."""
        return self[key]

    def similar_by_word(self, word: str, topn: int = 10) -> list[tuple[str, float]]:
        """Return the words nearest to a word."""
        return self.most_similar(word, topn=topn)

    def similar_by_vector(self, vector: npt.NDArray[Any], topn: int = 10) -> list[tuple[str, float]]:
        """Return the words nearest to a vector."""
        return self.most_similar(vector, topn=topn)

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
            A word, a vector, or a pair of one and its weight; or several.
        topn
            How many words.
        min_count
            Only words that occur so often in the slice: the vectors of others are interpolated. gensim has no
            such option; 0 does as gensim does.
        """
        weighed = [(*_weighed(one), 1.0) for one in _listed(positive)]
        weighed += [(*_weighed(one), -1.0) for one in _listed(negative)]
        if not weighed:
            raise OptionError("most_similar needs at least one word")
        if topn < 1:
            raise OptionError(f"topn is {topn}; ask for at least one word")
        parts = [sign * weight * self._direction(one) for one, weight, sign in weighed]
        scores = self._units @ unit(np.mean(parts, axis=0))
        allowed = np.asarray(self.counts) >= min_count
        allowed[[self._find(one) for one, _, _ in weighed if isinstance(one, str)]] = False
        places = np.flatnonzero(allowed)
        places = places[np.argsort(-scores[places], kind="stable")][:topn]
        return [(self.index_to_key[v], float(scores[v])) for v in places]

    def _direction(self, one: Word) -> npt.NDArray[Any]:
        if isinstance(one, str):
            return np.asarray(self._units[self._find(one)])
        vector = np.asarray(one, dtype=np.float32)
        if vector.shape != (self.vector_size,):
            raise OptionError(f"a vector here has {self.vector_size} numbers; one of shape {vector.shape} was given")
        return unit(vector)


def _weighed(one: Any) -> tuple[Any, float]:
    """Take a word and its weight, as gensim does, or a word alone."""
    return (one[0], float(one[1])) if isinstance(one, tuple) and len(one) == 2 else (one, 1.0)


def _listed(words: Word | Sequence[Word] | None) -> list[Word]:
    if words is None:
        return []
    if isinstance(words, str | tuple) or (isinstance(words, np.ndarray) and words.ndim == 1):
        return [words]
    return list(words)


def unit(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Scale rows, or a single vector, to length one; zeros stay."""
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1))
