"""When the use of a word changed: from which slice on its documents differ from those before.

If the use changes in slice t, the scores of its documents (see `document_scores`) have one mean before t and another
from t on. The noise in each direction k of the scores has its own variance v_k, and the means differ by amounts with
standard deviations proportional to v_k: that is how far a context moves when an embedding moves equally far in all
directions. All slices, and all orders of magnitude of the change, count as equally likely beforehand. Bayes' rule then
gives the probability of each slice.

Trajectories are smoothed by the random walk. The documents are not, so they show better when a change came.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import numpy as np

from driftword.basics.process import available_cores
from driftword.corpus import Corpus
from driftword.evidence import score_kernels as kernels
from driftword.evidence.document_scores import FREQUENT, DocumentScores
from driftword.evidence.occurrences import Array, read_documents
from driftword.evidence.permutation_test import CenteredScores, center
from driftword.models.model import Model
from driftword.models.significance_table import CONFIDENCE

#: Variances of the change, in units of those of the noise, times documents.
SIZES: Final = np.geomspace(1e-3, 1e3, 13)
#: Documents that the variances of all contexts count for, where a word has few of its own.
VARIANCE_PRIOR: Final = 64
#: Share of the evidence that counts: documents are neither normally distributed nor quite independent. With all of it,
#: 90% intervals of weak changes held their dates in 82% of cases (`benchmarks/calibration.py dates share=0.3`).
TEMPERING: Final = 0.6


class ChangeDate(NamedTuple):
    """The most likely first slice of the new use, and the first and last slice of its 90% interval."""

    slice: int
    low: int
    high: int


class ChangeDates:
    """Finds when words of a model changed; what words have in common is computed once."""

    def __init__(self, model: Model, corpus: Corpus) -> None:
        threads = available_cores()
        with ThreadPoolExecutor(threads) as pool:
            text = read_documents(corpus, threads)
            self.scores = DocumentScores(model, text, seed=0, pool=pool, threads=threads)

    def of_word(self, v: int, low: int, high: int) -> ChangeDate | None:
        """Return when a word changed within slices `low` to `high` - 1; None where fewer than two of them have it."""
        own = self.scores.of_word(v)
        expected = self.scores.expected(np.array([v]), frequent=len(own.document) >= FREQUENT)[0]
        inside = (own.slice_of >= low) & (own.slice_of < high)
        return find(center(own, expected.mean).among(inside), self.scores.variance)


def find(documents: CenteredScores, variance: Array) -> ChangeDate | None:
    """Return when the use of a word changed; `variance` is that of all contexts, ``(K,)``."""
    chance = probabilities(documents, variance)
    if not chance.any():
        return None
    low, high = shortest(chance)
    return ChangeDate(int(chance.argmax()), low, high)


def probabilities(documents: CenteredScores, variance: Array) -> Array:
    """Return the probability of each slice that the new use begins there, ``(last slice + 1,)``."""
    slices, number = np.unique(documents.slice_of, return_inverse=True)
    chance = np.zeros(int(slices[-1]) + 1 if len(slices) else 1)
    if len(slices) < 2:
        return chance
    order = np.argsort(number, kind="stable")
    begin = np.searchsorted(number[order], np.arange(len(slices)))
    weights = np.add.reduceat(documents.root[order] ** 2, begin)
    sums = np.add.reduceat((documents.scores * documents.root[:, None])[order], begin)
    n, total = len(number), sums.sum(axis=0)
    own = np.maximum((documents.scores**2).sum(axis=0) - total**2 / weights.sum(), 0) / (n - 1)
    shape = variance * (own.sum() / max(float(variance.sum()), 1e-300))
    noise = np.maximum((n * own + VARIANCE_PRIOR * shape) / (n + VARIANCE_PRIOR), 1e-300)
    evidence = np.empty((len(SIZES), len(slices) - 1))
    kernels.change_evidence(sums, weights, noise, SIZES * len(noise) / noise.sum(), evidence)
    likelihood = np.exp(TEMPERING * (evidence - evidence.max())).sum(axis=0)
    chance[slices[1:]] = likelihood / likelihood.sum()
    return chance


def shortest(chance: Array) -> tuple[int, int]:
    """Return the first and last slice of the shortest period that holds the change with the usual confidence."""
    filled = np.r_[0, np.cumsum(chance)]
    end = np.searchsorted(filled, filled[:-1] + CONFIDENCE * filled[-1] * (1 - 1e-12))
    begin = np.flatnonzero(end < len(filled))
    held = filled[end[begin]] - filled[begin]
    first = int(begin[np.lexsort((-held, end[begin] - begin))[0]])
    return first, int(end[first]) - 1
