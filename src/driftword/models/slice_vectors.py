"""One slice of a model with the interface of gensim's KeyedVectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus.options import MIN_COUNT
from driftword.corpus.vocabulary import Vocabulary

METRICS: Final = ("cosine", "uncentered")
#: A word or a vector, or a pair of one and its weight.
Query = str | npt.NDArray[Any] | tuple[Any, float]
_NUMBERS: Final = "iuf"  # kinds of arrays
_MAX_WEIGHT: Final = 1e6
_QUERY: Final = "give a word, a vector, a pair of one and its weight, or a list of these"


class SliceVectors:
    """The embeddings of all words in one slice; made by ``model.at(1986)``.

    Attributes
    ----------
    index_to_key, key_to_index
        The words, and the position of each.
    vectors
        The embeddings, ``(V, K)``.
    counts
        How often each word occurs in the slice; -1 where that is not known.
    vector_size
        Number of dimensions.
    """

    def __init__(self, vocabulary: Vocabulary, t: int, vectors: npt.NDArray[Any], *, metric: str = "cosine") -> None:
        self._vocabulary, self._t = vocabulary, t
        self.metric = checks.one_of("metric", metric, METRICS)
        self.index_to_key = list(vocabulary.words)
        self.key_to_index = vocabulary.index
        self.vectors = vectors
        self.counts = vocabulary.counts[t]
        self.vector_size = vectors.shape[1]

    def __getitem__(self, key: str | int | Sequence[str]) -> npt.NDArray[Any]:
        """Return the vector of a word or of its number, or of several words."""
        key = checks.plain(key)
        if isinstance(key, str):
            return np.asarray(self.vectors[self._vocabulary.word_id(key)])
        if isinstance(key, int):
            return np.asarray(self.vectors[checks.whole("key", key, most=len(self) - 1)])
        return np.asarray(self.vectors[[self._vocabulary.word_id(word) for word in checks.words("key", key)]])

    def __contains__(self, word: object) -> bool:
        return word in self._vocabulary

    def __iter__(self) -> Iterator[str]:
        return iter(self.index_to_key)

    def __repr__(self) -> str:
        return f"SliceVectors({len(self):,} words, dim {self.vector_size})"

    def __len__(self) -> int:
        return len(self.index_to_key)

    @cached_property
    def _center(self) -> npt.NDArray[np.float32]:
        if self.metric == "uncentered":
            return np.zeros(self.vector_size, dtype=np.float32)
        return attested_mean(self.vectors, self._vocabulary.attested(self._t, MIN_COUNT))

    @cached_property
    def _directions(self) -> npt.NDArray[np.float32]:
        return unit(np.asarray(self.vectors, dtype=np.float32) - self._center)

    def to_gensim(self) -> Any:
        """Return the embeddings as gensim's own `KeyedVectors`."""
        try:
            from gensim.models import KeyedVectors
        except ImportError as error:
            raise OptionError("This needs gensim; run: pip install 'driftword[baselines]'") from error
        made = KeyedVectors(self.vector_size, dtype=np.float32)
        made.add_vectors(self.index_to_key, np.array(self.vectors, dtype=np.float32))
        if (np.asarray(self.counts) >= 0).all():
            for word, count in zip(self.index_to_key, np.asarray(self.counts).tolist(), strict=True):
                made.set_vecattr(word, "count", count)
        return made

    def similarity(self, one: str, other: str) -> float:
        """Return the cosine between two words."""
        one, other = checks.text("one", one), checks.text("other", other)
        return float(self._direction(one) @ self._direction(other))

    def distance(self, one: str, other: str) -> float:
        """Return 1 minus the cosine between two words."""
        return 1 - self.similarity(one, other)

    def get_vector(self, key: str | int) -> npt.NDArray[Any]:
        """Return the vector of a word, or of its number."""
        return self[key]

    def similar_by_word(self, word: str, topn: int = 10) -> list[tuple[str, float]]:
        """Return the words nearest to a word."""
        return self.most_similar(checks.text("word", word), topn=topn)

    def similar_by_vector(self, vector: npt.NDArray[Any], topn: int = 10) -> list[tuple[str, float]]:
        """Return the words nearest to a vector."""
        return self.most_similar(self._check_vector(vector), topn=topn)

    def most_similar(
        self,
        positive: Query | Sequence[Query] | None = None,
        negative: Query | Sequence[Query] | None = None,
        topn: int = 10,
        *,
        min_count: int = MIN_COUNT,
    ) -> list[tuple[str, float]]:
        """Return the words nearest to the mean of the positive words minus the negative ones, with their cosines.

        Parameters
        ----------
        positive, negative
            A word, a vector, or a pair of one and its weight; or several.
        topn
            How many words to return.
        min_count
            Only words that occur at least this often in the training text of the slice: the vectors of rarer ones
            are mostly interpolated. gensim has no such option; 0 allows every word.
        """
        queries = [(*_with_weight(one), 1.0) for one in _as_list("positive", positive)]
        queries += [(*_with_weight(one), -1.0) for one in _as_list("negative", negative)]
        if not queries:
            raise OptionError("`most_similar` needs at least one word")
        topn, min_count = checks.whole("topn", topn, least=1), checks.whole("min_count", min_count)
        parts = [sign * weight * self._direction(one) for one, weight, sign in queries]
        scores = self._directions @ unit(np.mean(parts, axis=0))
        allowed = self._vocabulary.attested(self._t, min_count)
        allowed[[self._vocabulary.word_id(one) for one, _, _ in queries if isinstance(one, str)]] = False
        candidates = np.flatnonzero(allowed)
        nearest = candidates[np.argsort(-scores[candidates], kind="stable")][:topn]
        return [(self.index_to_key[v], float(scores[v])) for v in nearest]

    def _direction(self, one: Query) -> npt.NDArray[Any]:
        if isinstance(one, str):
            return np.asarray(self._directions[self._vocabulary.word_id(one)])
        return unit(self._check_vector(one) - self._center)

    def _check_vector(self, given: Any) -> npt.NDArray[np.float32]:
        """Check a vector that a user gave."""
        try:
            vector = np.asarray(given)
        except (TypeError, ValueError):  # rows of different lengths
            vector = np.array(None)
        if vector.dtype.kind not in _NUMBERS:
            raise OptionError(f"The query is {checks.shown(given)}; {_QUERY}")
        if vector.shape != (self.vector_size,):
            raise OptionError(f"A vector of shape {vector.shape} was given; here they have {self.vector_size} numbers")
        with np.errstate(over="ignore"):
            vector = vector.astype(np.float32)
        if not np.isfinite(vector).all():
            raise OptionError("The vector holds numbers that are not finite; give another")
        return vector


def _with_weight(one: Any) -> tuple[Any, float]:
    """Take a word and its weight, as gensim does, or a word alone."""
    if not isinstance(one, tuple) or len(one) != 2:
        return one, 1.0
    return one[0], checks.real("weight", one[1], low=-_MAX_WEIGHT, high=_MAX_WEIGHT)


def _as_list(name: str, words: Query | Sequence[Query] | None) -> list[Query]:
    if words is None:
        return []
    if isinstance(words, tuple) and all(isinstance(word, str) for word in words):
        return list(words)
    if isinstance(words, str | tuple) or (
        isinstance(words, np.ndarray) and words.ndim == 1 and words.dtype.kind in _NUMBERS
    ):
        return [words]
    return checks.several(name, words, remedy=_QUERY)


def unit(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Scale rows, or a single vector, to length one; zeros stay."""
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1))


def attested_mean(vectors: npt.NDArray[Any], attested: npt.NDArray[np.bool_]) -> npt.NDArray[np.float32]:
    """Return the mean of the attested rows, ``(K,)``; of all rows where none is."""
    rows = np.asarray(vectors, dtype=np.float32)
    if not attested.any():
        return np.asarray(rows.mean(axis=0))
    return np.asarray((attested / attested.sum()).astype(np.float32) @ rows)  # ten times faster than choosing rows
