"""Held-out scores: how well a model predicts words that it was not trained on.

`L_pos` is the mean log-probability of the words that occur; `L_neg` is the mean summed
log-probability that twenty words, drawn for each position, do not occur there; `L` is
their sum. The drawn words depend only on the corpus and the position, so every model
is scored against the same ones. Standard errors are over documents, because the words
of one document are not independent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics import randomness
from driftword.corpus import Corpus
from driftword.corpus.splits import SPLITS
from driftword.engines import Engine
from driftword.engines.rounds import Centering, Sampler, Text, read_text
from driftword.models.spec import Spec

NEGATIVES: Final = 20
EXPONENT: Final = 0.75
MOST_VALIDATION: Final = 1 << 22  # words that are scored after a pass, about: enough for errors of 0.001
_HELD_OUT_PASS: Final = 0  # held-out text has a single subsample, however training is resampled

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Scores:
    """Scores of every held-out position."""

    positive: Array  # (n,)
    negative: Array  # (n,)
    document: Array  # (n,) numbered from 0
    slice_of: Array  # (n,)
    group_of: Array  # (n,) 0 where there are no groups
    word: Array  # (n,)
    starts: Array  # (runs,) first position of each run of positions of one document

    def summary(self, mask: npt.NDArray[np.bool_] | None = None) -> dict[str, float]:
        """Return the three scores with their standard errors, over all positions or those in `mask`."""
        chosen = slice(None) if mask is None else mask
        document = self.document[chosen]
        starts = self.starts if mask is None else find_starts(document)
        positive = _document_sums(self.positive[chosen], document, starts)
        negative = _document_sums(self.negative[chosen], document, starts)
        sizes = _document_sizes(document, starts)
        result: dict[str, float] = {}
        for name, sums in (("L_pos", positive), ("L_neg", negative), ("L", positive + negative)):
            result[name], result[f"{name}_se"] = _ratio_and_error(sums, sizes)
        return {**result, "positions": len(document), "documents": int((sizes > 0).sum())}


def mean_and_error(values: Array, document: Array) -> tuple[float, float]:
    """Return the mean over positions, and its standard error over documents."""
    starts = find_starts(document)
    return _ratio_and_error(_document_sums(values, document, starts), _document_sizes(document, starts))


def find_starts(document: Array) -> Array:
    """Return where runs of positions of one document start, given the document of each position."""
    return np.flatnonzero(np.diff(document, prepend=-1))


def _document_sums(values: Array, document: Array, starts: Array) -> Array:
    """Sum values over documents; over the runs of each document first, which are long."""
    if not len(starts):
        return np.zeros(0)
    return np.bincount(document[starts], weights=np.add.reduceat(values, starts, dtype=np.float64))


def _document_sizes(document: Array, starts: Array) -> Array:
    return np.bincount(document[starts], weights=np.diff(starts, append=len(document)))


def _ratio_and_error(sums: Array, sizes: Array) -> tuple[float, float]:
    """Return the ratio of two sums over documents, and its standard error by linearisation."""
    sums, sizes = sums[sizes > 0], sizes[sizes > 0]
    if not len(sizes):
        return float("nan"), float("nan")
    mean = float(sums.sum() / sizes.sum())
    if len(sizes) < 2:
        return mean, float("nan")
    variance = ((sums - mean * sizes) ** 2).sum() * len(sizes) / (len(sizes) - 1)
    return mean, float(np.sqrt(variance) / sizes.sum())


def seen_frequencies(corpus: Corpus) -> Array:
    """Return the frequency of each word in the training text that a pass sees; no word has none."""
    seen = corpus.train_counts.sum(axis=0, dtype=np.float64) * corpus.keep_probability + 0.5
    return np.asarray(seen / seen.sum())


def measure_contexts(corpus: Corpus, half_window: int) -> Centering:
    """Return word frequencies in the contexts that a pass sees, and the mean number of words in a context."""
    counts = corpus.counts.sum(axis=0, dtype=np.float64)
    kept = float(counts @ corpus.keep_probability) / max(float(counts.sum()), 1.0)
    lengths = np.diff(corpus.offsets)[corpus.chunk_split == SPLITS.index("train")] * kept
    # On either side of a position there are fewer than `half_window` words at the beginning and the end of a text.
    side = np.where(lengths > half_window, half_window * (lengths - (half_window + 1) / 2), lengths * (lengths - 1) / 2)
    size = 2 * float(np.maximum(side, 0).sum()) / max(float(lengths.sum()), 1.0)
    return Centering(seen_frequencies(corpus).astype(np.float32), size)


def frequency_log_odds(corpus: Corpus, exponent: float, negatives: int) -> Array:
    """Return the log odds that each word occurs at a position rather than as a negative, by its frequency alone."""
    drawn = np.maximum(_draw_probability(corpus, exponent), np.finfo(float).tiny)
    return np.asarray(np.log(seen_frequencies(corpus)) - np.log(negatives * drawn))


def initial_intercepts(corpus: Corpus, spec: Spec) -> Array | None:
    """Return the intercepts that a model begins with: what word frequencies tell; None for a model without."""
    return frequency_log_odds(corpus, spec.exponent, spec.negatives) if spec.intercept else None


def _draw_probability(corpus: Corpus, exponent: float) -> Array:
    weight = np.asarray(corpus.raw_counts, dtype=np.float64) ** exponent
    return np.asarray(weight / weight.sum())


#: The score of a model that knows nothing: every word is as likely to occur as not.
KNOWS_NOTHING: Final = (1 + NEGATIVES) * float(np.log(0.5))


class HeldOut:
    """One split of a corpus, read once and scored as often as needed.

    Of a split with more than `most` words about as many are read: those of documents chosen at random.
    """

    def __init__(self, corpus: Corpus, split: str, *, most: float = float("inf")) -> None:
        self.text: Text = read_text(corpus, split, pass_number=_HELD_OUT_PASS, sliced=True, most=most)
        self.key = randomness.key(corpus.seed, "scoring")
        self.sampler = Sampler.make(corpus.raw_counts, EXPONENT)  # the same for every model
        lengths = np.diff(self.text.offsets)
        _, document = np.unique(corpus.chunk_document[self.text.chunk], return_inverse=True)
        self.document = np.repeat(document, lengths)
        self.starts = find_starts(self.document)
        self.slice_of = np.repeat(corpus.chunk_slice[self.text.chunk], lengths)
        self.chunk_group = np.asarray(corpus.chunk_group)[self.text.chunk]
        self.group_of = np.repeat(self.chunk_group, lengths)

    def frequency_scores(self, corpus: Corpus) -> tuple[float, float]:
        """Return L_pos and L of a model that knows nothing but word frequencies in the training text."""
        log_odds = frequency_log_odds(corpus, EXPONENT, NEGATIVES)
        drawn = _draw_probability(corpus, EXPONENT)
        counts = np.bincount(self.text.ids, minlength=len(log_odds))
        positive = float(-counts @ np.logaddexp(0, -log_odds) / counts.sum())
        return positive, positive - NEGATIVES * float(drawn @ np.logaddexp(0, log_odds))

    def score(self, engine: Engine, *, context: int) -> Scores:
        """Score every position with an engine."""
        return self._scores(*self._score(self.text, engine, context))

    def score_parts(self, part_of: Array, engines: Iterable[Engine], *, context: int) -> Scores:
        """Score the text in parts, each with an engine of its own; `part_of` gives the part of each chunk."""
        lengths, scores = np.diff(self.text.offsets), np.zeros((2, len(self.text.ids)))
        for number, engine in enumerate(engines):
            here = part_of == number
            scores[:, np.repeat(here, lengths)] = self._score(self.text.select(here), engine, context)
        return self._scores(*scores)

    def _score(self, text: Text, engine: Engine, context: int) -> tuple[Array, Array]:
        return engine.score(text, sampler=self.sampler, half_window=context // 2, negatives=NEGATIVES, key=self.key)

    def _scores(self, positive: Array, negative: Array) -> Scores:
        return Scores(positive, negative, self.document, self.slice_of, self.group_of, self.text.ids, self.starts)
