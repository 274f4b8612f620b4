"""Texts as vectors: a transformer with the interface of scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus.slices import At
from driftword.corpus.tokens import TokenRule
from driftword.explore import vectors
from driftword.models.model import Model, as_model
from driftword.sources.opening import is_words

_BATCH: Final = 10_000  # texts at a time
_PARAMETERS: Final = ("model", "at", "smoothing", "group")


class TextVectorizer:
    """Turns texts into the mean vector of their words in one slice; it fits into scikit-learn's pipelines.

    Words are found as `prepare` finds them, and phrases of the vocabulary are joined, longest first. Vectors are
    centred on the mean of the slice and have length 1 before they are averaged. A text without any known word becomes
    zeros.

    Parameters
    ----------
    model
        A `Model`, or its path.
    at
        The slice whose vectors are used; not needed for a static model.
    smoothing
        How much frequent words count for less: a word of relative frequency p has the weight ``a / (a + p)``, with this
        number as a (Arora, Liang and Ma 2017). None weighs all words alike.
    group
        The group whose vectors are used, where the model has groups.

    Examples
    --------
    >>> dw.TextVectorizer("un.model", at=1989).fit_transform(["The wall came down."])  # doctest: +SKIP
    """

    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        *,
        at: At | None = None,
        smoothing: float | None = 1e-3,
        group: str | None = None,
    ) -> None:
        self.model, self.at, self.smoothing, self.group = model, at, smoothing, group

    def fit(self, texts: Any = None, y: Any = None) -> TextVectorizer:  # noqa: ARG002 (scikit-learn passes both)
        """Look the vectors up; the texts are not used."""
        model = as_model(self.model, self.group)
        smoothing = checks.optional(checks.real, "smoothing", self.smoothing, positive=True)
        if self.at is None and len(model.slices) > 1 and model.moves:
            raise OptionError("Say which slice of the model to use: give `at`, a label, a year or a date")
        t = 0 if self.at is None else model.slice_index(self.at)
        rows = vectors.unit(vectors.centered(model, t))
        if smoothing is not None:
            if not model.vocabulary.counted:
                raise OptionError("The word counts of this model are unknown; give `smoothing=None`")
            counts = np.asarray(model.counts).sum(axis=0, dtype=np.float64)
            rows = rows * (smoothing / (smoothing + counts / max(counts.sum(), 1)))[:, None]
        self.vectors_ = np.asarray(rows, dtype=np.float32)
        self.index_ = model.word_index
        self.longest_ = 1 + max((word.count(" ") for word in model.words), default=0)
        return self

    def transform(self, texts: Iterable[str] | Iterable[list[str]]) -> npt.NDArray[np.float32]:
        """Return the vectors of texts, or of lists of words, ``(texts, K)``."""
        if not hasattr(self, "vectors_"):
            self.fit()
        given = checks.several("texts", texts, remedy="give a list of texts, or of lists of words")
        if not all(isinstance(text, str) or is_words(text) for text in given):
            raise OptionError("`texts` holds something other than texts and lists of words")
        found = np.zeros((len(given), self.vectors_.shape[1]), dtype=np.float32)
        for begin in range(0, len(given), _BATCH):
            for i, words in enumerate(_words(given[begin : begin + _BATCH]), start=begin):
                ids = self._ids(words)
                if ids:
                    found[i] = self.vectors_[ids].mean(axis=0)
        return found

    def fit_transform(self, texts: Any, y: Any = None) -> npt.NDArray[np.float32]:  # noqa: ARG002
        """Look the vectors up and return those of the texts."""
        return self.fit().transform(texts)

    def _ids(self, words: list[str]) -> list[int]:
        """Return the ids of the known words of a text; where phrases begin, that of the longest."""
        ids, i = [], 0
        while i < len(words):
            for size in range(min(self.longest_, len(words) - i), 0, -1):
                number = self.index_.get(" ".join(words[i : i + size]))
                if number is not None:
                    ids.append(number)
                    break
            i += size
        return ids

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:  # noqa: ARG002
        """Return names for the dimensions."""
        if not hasattr(self, "vectors_"):
            self.fit()
        return np.array([f"dimension{k}" for k in range(self.vectors_.shape[1])], dtype=object)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002
        """Return the parameters of the transformer, as scikit-learn's `clone` asks."""
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **parameters: Any) -> TextVectorizer:
        """Change parameters of the transformer; it must be fitted again."""
        for name, value in parameters.items():
            setattr(self, checks.one_of("parameters", name, _PARAMETERS), value)
        self.__dict__.pop("vectors_", None)
        return self

    def __sklearn_clone__(self) -> TextVectorizer:
        """Return one that is not fitted, of the same model: a copy of all vectors would be large."""
        return TextVectorizer(self.model, at=self.at, smoothing=self.smoothing, group=self.group)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that this is a transformer of texts that needs no fitting."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer", target_tags=TargetTags(required=False), transformer_tags=TransformerTags(),
            input_tags=InputTags(string=True, two_d_array=False), requires_fit=False,
        )  # fmt: skip

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether the vectors were looked up."""
        return hasattr(self, "vectors_")

    def __repr__(self) -> str:
        return f"TextVectorizer({self.model!r}, at={self.at!r})"


def _words(texts: list[Any]) -> list[list[str]]:
    """Split texts into words, as `prepare` does; lists of words are taken as they are."""
    rule = TokenRule()
    lists: list[list[str]] = [list(text) if not isinstance(text, str) else [] for text in texts]
    numbers = [i for i, text in enumerate(texts) if isinstance(text, str)]
    tokens, lengths = rule.split(pl.Series([texts[i] for i in numbers], dtype=pl.String))
    raw, ends = tokens.to_list(), np.cumsum(lengths).tolist()
    spelled = {token: rule.spell(token).replace("\n", "") for token in set(raw)}
    for i, begin, end in zip(numbers, [0, *ends], ends, strict=False):
        lists[i] = [word for token in raw[begin:end] if (word := spelled[token])]
    return lists
