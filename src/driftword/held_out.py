"""Held-out scores: how well a model predicts words it has not seen.

`L_pos` is the mean log-probability of the words that occur, `L_neg` the summed
one of twenty words drawn for each position that do not; `L` is their sum. The
draws depend on the corpus and the position alone, so every model meets the same.
Standard errors are over documents: words of one document are not independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword import randomness
from driftword.corpus import Corpus
from driftword.engines import Engine
from driftword.engines.rounds import Sampler, Text, read_text

NEGATIVES: Final = 20
EXPONENT: Final = 0.75
_SPLIT_PASS: Final = 0  # held-out text has one subsample, whatever training does


@dataclass(frozen=True)
class Scores:
    """Scores of every held-out position."""

    positive: npt.NDArray[Any]  # (n,)
    negative: npt.NDArray[Any]  # (n,)
    document: npt.NDArray[Any]  # (n,) numbered from 0
    slice_of: npt.NDArray[Any]  # (n,)
    word: npt.NDArray[Any]  # (n,)
    stretches: tuple[npt.NDArray[Any], npt.NDArray[Any]]  # where those of one document begin; size of each

    def summary(self, which: npt.NDArray[np.bool_] | None = None) -> dict[str, float]:
        """Return the three scores with their standard errors, over all positions or some."""
        chosen = slice(None) if which is None else which
        document = self.document[chosen]
        starts, size = self.stretches if which is None else _stretches(document)
        positive, negative = (_by_document(part[chosen], document, starts) for part in (self.positive, self.negative))
        result: dict[str, float] = {}
        for name, total in (("L_pos", positive), ("L_neg", negative), ("L", positive + negative)):
            result[name], result[f"{name}_se"] = _ratio(total[size > 0], size[size > 0])
        return {**result, "positions": len(document), "documents": int((size > 0).sum())}


def mean_and_error(values: npt.NDArray[Any], document: npt.NDArray[Any]) -> tuple[float, float]:
    """Return the mean over positions and its standard error over documents (a ratio of two sums over them)."""
    starts, size = _stretches(document)
    total = _by_document(values, document, starts)
    return _ratio(total[size > 0], size[size > 0])


def _stretches(document: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return where stretches of one document begin, and how many positions each document has."""
    starts = np.flatnonzero(np.diff(document, prepend=-1))
    return starts, _by_document(np.ones(len(document)), document, starts)


def _by_document(values: npt.NDArray[Any], document: npt.NDArray[Any], starts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Add values up, first over stretches of one document, which are long."""
    if not len(starts):
        return np.zeros(0)
    return np.bincount(document[starts], weights=np.add.reduceat(values, starts, dtype=np.float64))


def _ratio(total: npt.NDArray[Any], size: npt.NDArray[Any]) -> tuple[float, float]:
    if not len(size):
        return float("nan"), float("nan")
    mean = float(total.sum() / size.sum())
    if len(size) < 2:
        return mean, float("nan")
    spread = ((total - mean * size) ** 2).sum() * len(size) / (len(size) - 1)
    return mean, float(np.sqrt(spread) / size.sum())


def scoring_sampler(corpus: Corpus) -> Sampler:
    """Return the distribution that scores draw their negatives from, the same for every model."""
    return Sampler.make(corpus.raw_counts, EXPONENT)


class HeldOut:
    """One split of a corpus, read once and scored as often as needed."""

    def __init__(self, corpus: Corpus, split: str, *, sampler: Sampler | None = None) -> None:
        self.text: Text = read_text(corpus, split, pass_number=_SPLIT_PASS, sliced=True)
        self.key = randomness.key(corpus.seed, "scoring")
        lengths = np.diff(self.text.offsets)
        self.sampler = sampler or scoring_sampler(corpus)
        _, document = np.unique(corpus.chunk_document[self.text.chunk], return_inverse=True)
        self.document = np.repeat(document, lengths)
        self.stretches = _stretches(self.document)
        self.slice_of = np.repeat(corpus.chunk_slice[self.text.chunk], lengths)

    def score(self, engine: Engine, *, context: int) -> Scores:
        """Score every position, against the same negatives for every model."""
        positive, negative = engine.score(
            self.text, sampler=self.sampler, reach=context // 2, negatives=NEGATIVES, key=self.key
        )
        return Scores(positive, negative, self.document, self.slice_of, self.text.ids, self.stretches)
