"""What each document says about the use of a word, where its occurrences have vectors of an encoder.

The counterpart of `document_scores`: with vectors x_i of the occurrences of a word, in the directions of
`Usage.places`,

    m_t                                 where vectors of control words lie in slice t, beside their own means
    r_d = sum_i (x_i - m_t)             over the occurrences in document d of slice t

and everything else is the same: dates are exchanged, words are dated, periods and groups compared. What all words do
at a time, such as be printed worse, is no change of one. Control words are drawn at random, since words that somebody
asks for may have changed; without them, m_t is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from driftword.basics import randomness
from driftword.inference.document_scores import Expected, Scores, Smoothing, expected_context, smooth
from driftword.inference.occurrences import Array, calendar_of, calendar_of_days
from driftword.models.usage import Usage


@dataclass(frozen=True)
class UsageDocuments:
    """The documents that have vectors; one that spans several slices counts as one in each."""

    document: Array  # (documents,) number of each
    slice_of: Array  # (documents,)
    day: Array  # (documents,) since 1970-01-01
    calendar: Array | None
    by_word: None = None  # nothing needs to be sorted


class UsageScores:
    """Computes scores of any words that have vectors."""

    #: Less of the evidence counts than of a model's contexts: an encoder's vectors are farther from normal. Chosen on
    #: exchanged words of the UN (seeds 0 and 1 of benchmarks/vectors.py).
    tempering = 0.3

    def __init__(self, usage: Usage, *, seed: int, cells: Array | None = None, n_cells: int = 0) -> None:
        """Read the vectors; `cells` of occurrences, -1 for those left out, may take the place of slices."""
        slices = usage.slice_of if cells is None else cells
        self._n_slices = len(usage.slices) if cells is None else n_cells
        self._kept = np.flatnonzero(slices >= 0)
        self._word, self._usage, self._seed = usage.word_of[self._kept], usage, seed
        unit = usage.document[self._kept] * np.int64(self._n_slices) + slices[self._kept]
        units, first, self._unit = np.unique(unit, return_index=True, return_inverse=True)
        day = usage.day[self._kept][first]
        calendar = calendar_of_days(day) if usage.corpus is None else calendar_of(usage.corpus, day)
        self.text = UsageDocuments(units // self._n_slices, units % self._n_slices, day, calendar)
        self._rest = usage.without_means[self._kept].astype(np.float64)
        self.variance = np.einsum("nk,nk->k", self._rest, self._rest) / max(len(self._rest), 1)
        # Every occurrence of a control word tells where those of a slice lie.
        control = self._unit[self._word < 0]
        self.smoothing: Smoothing = smooth(np.bincount(self.text.slice_of[control], minlength=self._n_slices))

    def of_word(self, v: int) -> Scores:
        """Return the scores of one word, by document."""
        own = np.flatnonzero(self._word == v)
        units, which = np.unique(self._unit[own], return_inverse=True)
        sums = np.zeros((len(units), self._rest.shape[1]))
        np.add.at(sums, which, self._rest[own])
        return Scores(units, self.text.slice_of[units], sums, np.bincount(which).astype(np.float64))

    def expected(self, words: Array, *, frequent: bool = True) -> list[Expected]:  # noqa: ARG002 - see DocumentScores
        """Return what all words do in every slice."""
        return [self._common] * len(words)

    @cached_property
    def _common(self) -> Expected:
        """How the vectors of control words lie in every slice, and how noisy that is."""
        width = self._rest.shape[1]
        control = np.flatnonzero(self._word < 0)
        if not len(control):
            nothing = np.zeros((self._n_slices, width))
            return Expected(nothing, nothing, np.ones(self._n_slices))
        unit = self._unit[control]
        random = randomness.bits(randomness.key(self._seed, "halves"), self.text.document[unit])
        cell = (random & np.uint64(1)).astype(np.int64) * self._n_slices + self.text.slice_of[unit]
        sums = np.zeros((2 * self._n_slices, width))
        np.add.at(sums, cell, self._rest[control])
        counts = np.bincount(cell, minlength=2 * self._n_slices).reshape(2, -1)
        return expected_context(sums.reshape(2, -1, width), counts.astype(np.float64), counts, self.smoothing)
