"""The significance test as its formulas say, in plain float64 NumPy, without subsampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import driftword as dw
from driftword.inference.document_scores import DIRECTIONS, DOCUMENT_PRIOR
from driftword.models.static_vectors import StaticVectors

Array = npt.NDArray[Any]


@dataclass
class Twin:
    """Contexts of every position of a text, and what is expected of them."""

    corpus: dw.Corpus
    vectors: StaticVectors
    half: int

    def __post_init__(self) -> None:
        corpus, half = self.corpus, self.half
        self.rho, alpha, self.intercept = (np.asarray(values, dtype=np.float64) for values in self.vectors)
        variance, axes = np.linalg.eigh(np.cov(self.rho.T))
        axes = axes[:, ::-1][:, :DIRECTIONS] * np.sqrt(variance[::-1][:DIRECTIONS])
        self.word, self.document, self.slice_of = [], [], []
        contexts, sizes = [], []
        for c, (begin, end) in enumerate(zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)):
            ids = np.asarray(corpus.tokens[begin:end])
            for i, v in enumerate(ids):
                others = np.r_[ids[max(0, i - half) : i], ids[i + 1 : i + 1 + half]]
                self.word.append(int(v))
                self.document.append(int(corpus.chunk_document[c]))
                self.slice_of.append(int(corpus.chunk_slice[c]))
                contexts.append(alpha[others].sum(axis=0))
                sizes.append(len(others))
        self.word, self.document, self.slice_of = map(np.array, (self.word, self.document, self.slice_of))
        size = np.array(sizes)[:, None]
        self.contexts = np.array(contexts)
        mean = alpha[self.word].mean(axis=0)
        n_documents = self.document.max() + 1
        sums = np.zeros((n_documents, alpha.shape[1]))
        np.add.at(sums, self.document, alpha[self.word])
        length = np.bincount(self.document, minlength=n_documents)[self.document][:, None]
        rest = sums[self.document] - self.contexts - alpha[self.word] + DOCUMENT_PRIOR * mean
        self.relative = (self.contexts - size * rest / (length - size - 1 + DOCUMENT_PRIOR)) @ axes

    def chance(self, v: int) -> Array:
        """Return the chance of a word at every position."""
        return np.asarray(1 / (1 + np.exp(-(self.contexts @ self.rho[v] + self.intercept[v]))))

    def scores(self, v: int) -> tuple[Array, Array, Array]:
        """Return the documents of a word, the sums of its surprising contexts, and of their surprises."""
        here = self.word == v
        documents, number = np.unique(self.document[here], return_inverse=True)
        surprise = 1 - self.chance(v)[here]
        sums = np.zeros((len(documents), self.relative.shape[1]))
        np.add.at(sums, number, surprise[:, None] * self.relative[here])
        return documents, sums, np.bincount(number, weights=surprise)

    def group_sums(self, v: int, positions: Array) -> tuple[Array, float]:
        """Return the sum of the contexts of some positions, weighted by the chance of a word there, and of chances."""
        chance = self.chance(v)[positions]
        return chance @ self.relative[positions], float(chance.sum())
