"""How uncertain the trajectory of a word is: what it would be with other documents of the same kind.

With the context vectors fixed, each word's embeddings and intercepts are the optimum of a convex problem of their own.
Its gradient is a sum over documents, and other documents would have changed it. To first order the embeddings move by

    P^-1 sum_d xi_d (s_d - mean)        with xi_d drawn from a normal distribution for each document d,

where s_d is the document's part of the gradient and P the curvature of the problem: that of the likelihood in each
slice, and the prior, which couples the slices. This is the sandwich covariance with documents as clusters, in draws.

What negatives contribute is known from the occurrences themselves: where the model is right, the expected curvature is
sum_i (1 - p_i) C_i C_i' over the occurrences i, and the negatives of a document are its share of the slice's text.

This leaves out the noise of the fit itself, the context vectors, and that the random walk smooths abrupt changes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from driftword.basics import randomness
from driftword.basics.process import available_cores
from driftword.corpus import Corpus
from driftword.engines.parameters import INTERCEPT_UNIT, by_slice
from driftword.fitting.group_fitting import group_prior
from driftword.fitting.held_out import measure_contexts
from driftword.fitting.schedule import Schedule
from driftword.fitting.walks import KNOWN_BEFORE
from driftword.inference import score_kernels as kernels
from driftword.inference.occurrences import Array, DocumentText, read_documents
from driftword.models.model import Model

DRAWS: Final = 200
_KEPT: Final = 4  # words whose draws are kept: a page asks for them several times


class Uncertainty:
    """Draws trajectories of any words of a model; what words have in common is computed once."""

    def __init__(self, model: Model, corpus: Corpus) -> None:
        self.model = model
        #: Draws the embeddings of a word, ``(DRAWS, T, K)``.
        self.vectors = lru_cache(maxsize=_KEPT)(self._draw_vectors)
        threads = available_cores()
        self.text: DocumentText = read_documents(corpus, threads, train=True)
        spec = model.spec
        distances = corpus.slices.distances[: 0 if spec.model == "static" else None]
        centering = measure_contexts(corpus, spec.context // 2)
        schedule = Schedule(spec, 2, distances, 0, None)
        prior = schedule.prior
        if spec.walk not in KNOWN_BEFORE:
            prior = schedule.prior_at(np.asarray(model.rho), corpus.raw_counts)
        if model.provenance.group is not None:  # only its differences from all text are uncertain
            prior = group_prior(schedule, np.zeros((schedule.n_slices, 0, 0)))
        self.embedding_chain, self.intercept_chain = prior.rho, prior.intercept.share(INTERCEPT_UNIT**-2)  # in log odds
        self.alpha = by_slice(np.asarray(model.alpha, dtype=np.float32))  # (P, V, K)
        mean = centering.frequencies.astype(np.float64) @ self.alpha.astype(np.float64)
        self.center = (centering.size * mean * model.has_intercepts).astype(np.float32)  # (P, K)

    def _draw_vectors(self, v: int) -> Array:
        drawn = np.asarray(self.model.rho_of(v), dtype=np.float64) + self.draws(v)
        drawn.flags.writeable = False
        return drawn

    def draws(self, v: int, n: int = DRAWS) -> Array:
        """Return how far a word's embeddings would be from those of the model, ``(n, T, K)``."""
        rho = np.asarray(self.model.rho_of(v), dtype=np.float64)  # (T, K)
        n_slices, dim = len(rho), rho.shape[1]
        contexts, document = self._contexts(v)
        slice_of = self._slice_of(n_slices)[document]
        eta = np.einsum("ik,ik->i", contexts[:, :dim], rho[slice_of])
        if self.model.has_intercepts:
            shift = (rho * self.center[self.model.context_of[:n_slices]]).sum(axis=1)
            eta += (self.model.intercepts_of(v)[: max(n_slices, 1)] + shift)[slice_of]
        surprise = 1 / (1 + np.exp(np.clip(eta, -50, 50)))
        moment = (contexts * surprise[:, None]).T @ contexts / max(float(surprise.sum()), 1e-12)
        mass = np.bincount(slice_of, weights=surprise, minlength=n_slices)
        xi = self._weights(n_slices, n, v)
        gradient = self._gradient(surprise[:, None] * contexts, document, slice_of, xi)  # (T, C, n)
        embeddings, intercepts = self.embedding_chain, self.intercept_chain
        is_intercept = np.arange(contexts.shape[1]) >= dim
        walk = embeddings.walk_by_word[:, [min(v, embeddings.walk_by_word.shape[1] - 1)]]
        diagonal = np.where(is_intercept, intercepts.precision[:, None], embeddings.precision[:, None])
        couplings = np.where(is_intercept, intercepts.walk[:, None], walk)
        moved = solve_chain(mass[:, None, None] * moment, diagonal, couplings, gradient)
        return np.ascontiguousarray(moved[:, :dim].transpose(2, 0, 1))

    def count_error(self, v: int, slices: list[int]) -> float:
        """Return the standard error of the logarithm of how often a word occurs in some slices."""
        here = np.isin(self.text.slice_of, slices)
        document = self.text.chunk_document[self.text.chunk_of[self.text.positions(v)]]
        counts = np.bincount(document, minlength=len(here)) * here
        if not counts.any():
            return 0.0
        of_slice, sizes = self.text.slice_of, self.text.sizes
        rates = np.bincount(of_slice, weights=counts) / np.maximum(np.bincount(of_slice, weights=sizes), 1)
        return float(np.sqrt(((counts - sizes * rates[of_slice]) ** 2).sum()) / counts.sum())

    def _contexts(self, v: int) -> tuple[Array, Array]:
        """Return the contexts of a word's occurrences, centred and with a 1 for the intercept, and their documents."""
        text, positions = self.text, self.text.positions(v)
        document = text.chunk_document[text.chunk_of[positions]]
        context_of = self.model.context_of[text.slice_of[document]]
        contexts = np.empty((len(positions), self.alpha.shape[2]), dtype=np.float32)
        for number, (alpha, center) in enumerate(zip(self.alpha, self.center, strict=True)):
            here = context_of == number
            part = np.empty((int(here.sum()), alpha.shape[1]), dtype=np.float32)
            half_window = self.model.spec.context // 2
            kernels.contexts(text.for_kernels, positions[here], alpha, half_window, part)
            contexts[here] = part - center
        if self.model.has_intercepts:
            contexts = np.concatenate([contexts, np.ones((len(positions), 1), dtype=np.float32)], axis=1)
        return contexts.astype(np.float64), document

    def _weights(self, n_slices: int, n: int, v: int) -> Array:
        """Draw how much more or less each document counts, ``(documents, n)``; nothing on average in any slice."""
        slice_of = self._slice_of(n_slices)
        xi = _normal(randomness.key(0, "draws", v), len(slice_of), n)
        for t in range(n_slices):
            here = slice_of == t
            count = max(int(here.sum()), 1)
            xi[here] = (xi[here] - xi[here].sum(axis=0) / count) * np.sqrt(count / max(count - 1, 1))
        return xi

    def _gradient(self, scores: Array, document: Array, slice_of: Array, xi: Array) -> Array:
        """Return what documents that count more or less add to the gradient, ``(T, C, n)``."""
        n_slices = len(self.embedding_chain.precision)
        sizes, of_document = self.text.sizes, self._slice_of(n_slices)
        drawn = np.zeros((n_slices, scores.shape[1], xi.shape[1]))
        for t in range(n_slices):
            here, documents = slice_of == t, of_document == t
            share = (sizes[documents] / max(float(sizes[documents].sum()), 1)) @ xi[documents]
            drawn[t] = scores[here].T @ xi[document[here]] - scores[here].sum(axis=0)[:, None] * share
        return drawn

    def _slice_of(self, n_slices: int) -> Array:
        return self.text.slice_of if n_slices > 1 else np.zeros_like(self.text.slice_of)


def solve_chain(blocks: Array, diagonal: Array, couplings: Array, right: Array) -> Array:
    """Solve the equations of a chain of slices for right sides, ``(T, C, n)``.

    `blocks`, ``(T, C, C)``, are the curvature of each slice, to whose diagonal the prior adds `diagonal`, ``(T, C)``;
    `couplings`, ``(T - 1, C)``, are the precision of the differences between a slice and the next.
    """
    n_slices, size = diagonal.shape
    own = blocks + np.eye(size) * diagonal[:, None]
    index = np.arange(size)
    for t in range(n_slices - 1):
        own[t, index, index] += couplings[t]
        own[t + 1, index, index] += couplings[t]
    own[:, index, index] += 1e-9
    reduced, rest = [own[0]], [right[0]]
    for t in range(1, n_slices):  # eliminate slice t - 1
        solved = np.linalg.solve(reduced[-1], np.concatenate([np.diag(couplings[t - 1]), rest[-1]], axis=1))
        reduced.append(own[t] - couplings[t - 1][:, None] * solved[:, :size])
        rest.append(right[t] + couplings[t - 1][:, None] * solved[:, size:])
    result = np.empty_like(right)
    result[-1] = np.linalg.solve(reduced[-1], rest[-1])
    for t in range(n_slices - 2, -1, -1):
        result[t] = np.linalg.solve(reduced[t], rest[t] + couplings[t][:, None] * result[t + 1])
    return result


def _normal(key: int, rows: int, columns: int) -> Array:
    """Draw normal numbers, ``(rows, columns)``."""
    counters = np.arange(rows * columns)
    first, second = randomness.uniform(key, 2 * counters), randomness.uniform(key, 2 * counters + 1)
    return np.asarray(np.sqrt(-2 * np.log1p(-first)) * np.cos(2 * np.pi * second)).reshape(rows, columns)
