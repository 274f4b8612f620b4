"""How uncertain answers are: what they would be with other documents of the same kind.

An interval reaches 1.64 standard errors to either side, as 90% of what is normally distributed does. Intervals leave
out the noise of the fit itself, and that the random walk smooths what changed abruptly; see
`driftword.evidence.uncertainty`.
"""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np

from driftword.corpus import Corpus
from driftword.explore.vectors import Array
from driftword.model import Model

CONFIDENCE: Final = 0.9
NORMAL_QUANTILE: Final = 1.6449  # standard errors on either side of an estimate
CorpusLike = Corpus | str | os.PathLike[str] | None


def draw(model: Model, v: int, corpus: CorpusLike = None) -> Array:
    """Return what the vectors of a word would be with other documents, ``(draws, T, K)``."""
    from driftword.evidence.significance import open_corpus
    from driftword.evidence.uncertainty import Uncertainty

    text = None if corpus is None else open_corpus(model, corpus)  # checked, whether or not it is needed
    source = model.cached("uncertainty", lambda: Uncertainty(model, text or open_corpus(model, None)))
    vectors: Array = np.asarray(model.rho_of(v), dtype=np.float64) + source.draws(v)
    return vectors


def interval(draws: Array, estimate: Array) -> tuple[Array, Array]:
    """Return the interval around an estimate from draws of it, along their first axis."""
    # Not quantiles of the draws: noise makes vectors less similar to others, so that these lie to one side.
    half = NORMAL_QUANTILE * draws.std(axis=0, ddof=1)
    return np.asarray(estimate - half), np.asarray(estimate + half)


def support(chosen: Any, n: int, scores: Array, allowed: Array) -> list[float]:
    """Return the share of draws, the columns of `scores`, in which each chosen word is among the n nearest."""
    scores = np.where(allowed[:, None], scores, -np.inf)
    n = min(n, int(allowed.sum()))
    threshold = -np.partition(-scores, n - 1, axis=0)[n - 1] if n else np.full(scores.shape[1], np.inf)
    return [float((scores[w] >= threshold).mean()) for w in chosen]
