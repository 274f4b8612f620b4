"""The arrays of a model, and how words and slices are looked up in them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from driftword.basics.errors import OptionError, StoreError
from driftword.corpus import Slices
from driftword.corpus.slices import At
from driftword.corpus.vocabulary import Vocabulary
from driftword.models.slice_vectors import SliceVectors
from driftword.storage import stored_arrays
from driftword.storage.stored_arrays import StoredArray

_T = TypeVar("_T")


@dataclass(frozen=True)
class GroupEmbeddings:
    """The embeddings of one group of documents, its intercepts, and how often words occur in it."""

    rho: npt.NDArray[Any] | StoredArray  # (T, V, K)
    intercepts: npt.NDArray[Any] | StoredArray | None  # (T, V)
    counts: npt.NDArray[Any] | StoredArray  # (T, V)
    train_counts: npt.NDArray[Any] | StoredArray  # (T, V)
    history: Sequence[Mapping[str, Any]] = ()


class Embeddings:
    """Embeddings, context vectors and intercepts of a vocabulary, in memory or mapped from files."""

    def __init__(
        self,
        rho: npt.NDArray[Any] | StoredArray,
        alpha: npt.NDArray[Any] | StoredArray,
        intercepts: npt.NDArray[Any] | StoredArray | None,
        vocabulary: Vocabulary,
        context_of: Sequence[int] | None,
    ) -> None:
        self._rho, self._alpha, self._intercepts = rho, alpha, intercepts
        self.vocabulary = vocabulary
        n_slices, n_contexts = len(vocabulary.slices), alpha.shape[0] if len(alpha.shape) == 3 else 1
        if context_of is None:  # every slice has its own, or all have the same
            context_of = range(n_slices) if len(alpha.shape) == 3 else [0] * n_slices
        self.context_of = np.array(context_of, dtype=np.int64)
        if len(self.context_of) != n_slices or not np.isin(self.context_of, range(n_contexts)).all():
            raise OptionError("`context_of` must say for every slice which context vectors it has")
        self._cache: dict[Hashable, Any] = {}
        self._finite_rows: set[int] = set()  # of `rho`, which are known to be

    @property
    def rho(self) -> npt.NDArray[Any]:
        """Embeddings, ``(T, V, K)``; T is 1 for the static model."""
        return stored_arrays.whole(self._rho)

    @property
    def alpha(self) -> npt.NDArray[Any]:
        """Context vectors, ``(V, K)``; ``(P, V, K)`` where not all slices have the same; see `context_of`."""
        return stored_arrays.whole(self._alpha)

    @property
    def intercepts(self) -> npt.NDArray[Any] | None:
        """Intercept of each word in each slice, ``(T, V)``: its log odds in an average context; None without."""
        return None if self._intercepts is None else stored_arrays.whole(self._intercepts)

    @property
    def has_intercepts(self) -> bool:
        """Whether words have intercepts, which take up how frequent they are."""
        return self._intercepts is not None

    @property
    def words(self) -> tuple[str, ...]:
        """The vocabulary."""
        return self.vocabulary.words

    @property
    def slices(self) -> Slices:
        """Labels and date ranges of the slices."""
        return self.vocabulary.slices

    @property
    def counts(self) -> npt.NDArray[Any]:
        """Occurrences of each word in each slice, ``(T, V)``; -1 where they are not known."""
        return self.vocabulary.counts

    @property
    def moves(self) -> bool:
        """Whether words have embeddings of their own in every slice, so that they can move."""
        return self._rho.shape[0] > 1

    @property
    def word_index(self) -> dict[str, int]:
        """The id of each word."""
        return self.vocabulary.index

    def word_id(self, word: str) -> int:
        """Return the id of a word; the error for an unknown one suggests others."""
        return self.vocabulary.word_id(word)

    def slice_index(self, at: At) -> int:
        """Return the row of `rho` for a slice given as label, year or date; the static model has one for all."""
        number = self.slices.index(at)
        return number if self.moves else 0

    def rho_at(self, t: int) -> npt.NDArray[Any]:
        """Return the embeddings of all words in a row of `rho`, ``(V, K)``, without reading the others."""
        vectors = stored_arrays.row(self._rho, t)
        if t not in self._finite_rows:  # checking takes longer than most of what is done with them
            _finite(vectors)
            self._finite_rows.add(t)
        return vectors

    def rho_of(self, words: stored_arrays.Columns) -> npt.NDArray[Any]:
        """Return the embeddings of words, given by their ids, in all slices: ``rho[:, words]``."""
        return _finite(stored_arrays.columns(self._rho, words))

    def intercepts_of(self, word: int) -> npt.NDArray[Any]:
        """Return the intercepts of a word, given by its id, in every slice of the model's time, ``(T,)``."""
        if self._intercepts is None:
            raise OptionError("The model has no intercepts; fit it with `intercept=True`")
        values = np.asarray(stored_arrays.columns(self._intercepts, word), dtype=np.float64)
        return values if len(values) == len(self.slices) else np.repeat(values, len(self.slices))

    def alpha_at(self, t: int) -> npt.NDArray[Any]:
        """Return the context vectors of a slice, given by its number, ``(V, K)``."""
        return self.alpha if self.alpha.ndim == 2 else self.alpha[self.context_of[t]]

    @property
    def mean_alpha(self) -> npt.NDArray[Any]:
        """Context vectors, ``(V, K)``; where not all slices have the same, their mean over slices."""

        def compute() -> npt.NDArray[Any]:
            weights = np.bincount(self.context_of, minlength=len(self.alpha)) / len(self.context_of)
            return np.tensordot(weights.astype(np.float32), self.alpha, 1)

        return self.alpha if self.alpha.ndim == 2 else self.cached("mean alpha", compute)

    def at(self, at: At, *, metric: str = "cosine") -> SliceVectors:
        """Return one slice with the interface of gensim's word vectors: ``model.at(2008).most_similar("iraq")``.

        Parameters
        ----------
        at
            A slice: its label, a year or a date.
        metric
            ``"cosine"``: the cosine after subtracting the mean of the slice, as in `neighbors`; ``"uncentered"``: of
            the vectors as they are, as gensim computes it.
        """
        vectors = self.rho_at(self.slice_index(at))
        return SliceVectors(self.vocabulary, self.slices.index(at), vectors, metric=metric)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def cached(self, key: Hashable, compute: Callable[[], _T]) -> _T:
        """Return what was computed under this key before, or compute it; it lives as long as the model.

        Threads may share a model: at worst two of them compute the same value.
        """
        if key not in self._cache:
            self._cache[key] = compute()
        value: _T = self._cache[key]
        return value


def _finite(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Refuse vectors that no fit ends with, and with which no question can be answered."""
    if not np.isfinite(vectors).all():
        raise StoreError("The model holds numbers that are not finite; fit it again, or restore it from a copy")
    return vectors
