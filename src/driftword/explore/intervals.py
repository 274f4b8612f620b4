"""How uncertain answers are: what they would be with other documents of the same kind.

An interval reaches 1.64 standard errors to either side, as 90% of a normal distribution does. Intervals leave out the
noise of the fit itself, and that the random walk smooths abrupt changes; see `driftword.inference.uncertainty`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from driftword.basics.process import available_cores
from driftword.basics.progress import Progress
from driftword.corpus import Corpus
from driftword.explore.vectors import Array
from driftword.models.model import Model, check_predicts, corpus_of
from driftword.models.significance_table import HALF_WIDTH

if TYPE_CHECKING:
    from driftword.inference.change_dates import ChangeDates
    from driftword.inference.uncertainty import Uncertainty

#: By how much the context vectors and the fit itself, which draws leave out, widen the intervals of similarities.
#: Measured between two halves of the documents (`benchmarks/calibration.py halves`): 1.15 (UN), 1.3 (SOTU, arXiv).
OTHER_NOISE: Final = 1.22
_LEAST_SIGNAL: Final = 0.1  # share of a vector's squared length that is no noise, at least
CorpusLike = Corpus | str | os.PathLike[str] | None


def uncertainty(model: Model, corpus: CorpusLike = None) -> Uncertainty:
    """Return what draws the vectors of words as they would be with other documents."""
    from driftword.inference.uncertainty import Uncertainty

    check_predicts(model)
    text = None if corpus is None else corpus_of(model, corpus)  # checked, whether or not it is needed
    return model.cached("uncertainty", lambda: Uncertainty(model, text or corpus_of(model)))


def change_dates(model: Model, corpus: CorpusLike = None) -> ChangeDates:
    """Return what finds in the documents when words changed."""
    from driftword.inference.change_dates import ChangeDates
    from driftword.inference.word_tests import score_documents

    text = None if corpus is None else corpus_of(model, corpus)

    def make() -> ChangeDates:
        return ChangeDates(score_documents(model, text or corpus_of(model), threads=available_cores(), bar=Progress()))

    return model.cached("change dates", make)


def interval(draws: Array, estimate: Array, *, factor: float = OTHER_NOISE) -> tuple[Array, Array]:
    """Return the interval around an estimate from draws of it, along their first axis."""
    # Not quantiles of the draws: noise makes vectors less similar to others, so that these lie to one side.
    half = factor * HALF_WIDTH * draws.std(axis=0, ddof=1)
    return np.asarray(estimate - half), np.asarray(estimate + half)


def true_directions(rows: Array, drawn: Array) -> tuple[Array, Array]:
    """Return vectors, ``(T, K)``, and draws of them, divided by their lengths without noise.

    They are directions of length one, and noise; vectors of length one would have lost part of the noise.
    """
    noise = np.square(drawn - drawn.mean(axis=0)).sum(axis=2).mean(axis=0)
    squares = np.square(rows).sum(axis=1)
    length = np.sqrt(np.maximum(squares - noise, _LEAST_SIGNAL * squares) + 1e-24)[:, None]
    return rows / length, drawn / length


def square_without_noise(vector: Array, drawn: Array) -> tuple[float, float]:
    """Return the squared length of a vector less what noise adds to it, and the standard error of that.

    `drawn`, ``(draws, K)``, are draws of the vector. With noise of covariance S around a signal s, the squared length
    is s's + tr(S) on average, with a variance of 4 s'Ss + 2 tr(S^2). The vector is the signal and noise of the same
    kind, which adds tr(S^2) to what s'Ss seems to be.
    """
    noise, n = drawn - drawn.mean(axis=0), len(drawn) - 1
    covariance = noise.T @ noise / n
    trace = float(np.trace(covariance))
    # Few draws of many dimensions make tr(S^2) too large; this takes out by how much.
    squared = max(n * n / ((n - 1) * (n + 2)) * (float((covariance**2).sum()) - trace**2 / n), 0.0)
    signal = max(float(vector @ covariance @ vector) - squared, 0.0)
    return float(vector @ vector) - trace, float(np.sqrt(4 * signal + 2 * squared))


def with_interval(
    table: pl.DataFrame, column: str, draws: Array, *, factor: float = OTHER_NOISE, most: float = np.inf
) -> pl.DataFrame:
    """Add the interval of every value of a column that cannot exceed `most`, from draws; null where the value is."""
    low, high = interval(draws, table[column].fill_null(float("nan")).to_numpy(), factor=factor)
    return table.with_columns(
        pl.Series(f"{column}_low", np.maximum(low, -most)).fill_nan(None),
        pl.Series(f"{column}_high", np.minimum(high, most)).fill_nan(None),
    )


def chosen_excess(drawn: Array, n: int) -> float:
    """Return by how much the similarities of the n nearest words are too large because these words were chosen.

    `drawn`, ``(candidates, draws)``, are similarities as they would be with other documents. Those that are the largest
    in a draw are compared with what they are on average.
    """
    if not len(drawn):
        return 0.0
    nearest = np.argsort(-drawn, axis=0)[:n]
    return float((np.take_along_axis(drawn, nearest, axis=0) - drawn.mean(axis=1)[nearest]).mean())


def support(chosen: Any, n: int, scores: Array, allowed: Array) -> list[float]:
    """Return the share of draws, the columns of `scores`, in which each chosen word is among the n nearest."""
    scores = np.where(allowed[:, None], scores, -np.inf)
    n = min(n, int(allowed.sum()))
    threshold = -np.partition(-scores, n - 1, axis=0)[n - 1] if n else np.full(scores.shape[1], np.inf)
    return [float((scores[w] >= threshold).mean()) for w in chosen]
