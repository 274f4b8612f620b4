"""What each document says about the use of a word: how its contexts differ from those that the model expects.

A model that knows no dates predicts where a word is to be expected. With its embeddings (`static_fit`),

    w_i = 1 - sigmoid(eta_i)            how surprising occurrence i is
    C_i                                 its context, relative to what the rest of the document would lead one to expect
    m_t = sum_j sigmoid(eta_j) C_j / sum_j sigmoid(eta_j)
                                        where the word would be expected, over the positions j of slice t
    r_d = sum_i w_i (C_i - m_t)         over the occurrences in document d of slice t

If the use of the word does not change, r_d does not depend on time, whatever else is written about and however often
the word occurs. Each document is its own control for its topic, and the slice for the general change of language.
Contexts are measured in the directions in which words differ most, by the square root of the covariance of embeddings.

`m_t` is computed from a sample of positions. The difference between two halves of the documents shows how noisy it is.
A slice with few documents leans on its neighbours.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import numpy as np

from driftword.basics import randomness
from driftword.basics.shared_arrays import empty_array
from driftword.engines.cpu.matmul_kernels import LANES, TILE, padded
from driftword.inference import score_kernels as kernels
from driftword.inference.occurrences import Array, DocumentText, in_parts
from driftword.models.static_vectors import StaticVectors

BACKGROUND: Final = 240_000  # positions from which expected contexts are computed
FREQUENT: Final = 512  # a word in this many documents needs all positions; a quarter is enough for other words
DIRECTIONS: Final = 64  # in which contexts are compared: those in which embeddings differ most
#: The mean of all text counts as this many words of every document: a short one says little about its topic.
DOCUMENT_PRIOR: Final = 1_000
SLICE_PRIOR: Final = 50  # documents that the neighbours of a slice count for, and the whole text again
REACH: Final = 0.1  # share of all slices that neighbours are apart
#: Share of the evidence of documents that counts for dates: they are neither normally distributed nor independent.
TEMPERING: Final = 0.6
_AT_ONCE: Final = 8_192  # positions whose contexts are held at a time
_POSITIONS: Final = 96  # whose chances are computed at a time
_LEAST_VARIANCE: Final = 1e-4  # of the largest: directions with less count as having this much


class Scores(NamedTuple):
    """What the documents of a word say about its use."""

    document: Array  # (D,) ascending
    slice_of: Array  # (D,)
    contexts: Array  # (D, K) sum of surprising contexts
    weights: Array  # (D,) sum of surprises


class Expected(NamedTuple):
    """Where a word would be expected, and how noisy that estimate is."""

    mean: Array  # (T, K)
    noise: Array  # (T, K) that each slice contributes to the sums of those that lean on it
    chances: Array  # (T,) by which the sums of each slice are divided


class DocumentScores:
    """Computes scores of any words; what they have in common is computed once."""

    tempering = TEMPERING

    def __init__(
        self,
        vectors: StaticVectors,
        text: DocumentText,
        *,
        half_window: int,
        seed: int,
        pool: ThreadPoolExecutor,
        threads: int,
        without: Array | None = None,
    ) -> None:
        self.text = text
        alpha, self.rho = _coordinates(vectors)
        if without is not None:  # words that say nothing about those near them: as much as any word does
            share = np.diff(text.by_word[1]) / max(len(text.ids), 1)
            alpha[without] = np.einsum("v,vk->k", share, alpha)
        self.dim = min(alpha.shape[1], DIRECTIONS)
        sums = empty_array(len(text.sizes), np.float32, columns=self.dim)
        first = np.ascontiguousarray(alpha[:, : self.dim])  # less to keep in the processor's cache

        def add(low: int, high: int) -> None:
            kernels.sum_documents(text.ids, text.document_offsets, low, high, first, sums)

        in_parts(add, text.sizes, pool, threads)
        mean = (sums.sum(axis=0, dtype=np.float64) / max(len(text.ids), 1)).astype(np.float32)
        prior = np.float32(DOCUMENT_PRIOR)
        self._context_model = kernels.ContextModel(alpha, half_window, sums, text.sizes, mean, prior)
        self.smoothing = smooth(text.documents_per_slice)
        self._read_background(seed, pool, threads)

    def _read_background(self, seed: int, pool: ThreadPoolExecutor, threads: int) -> None:
        positions, groups = background_positions(self.text, seed)
        begin = np.searchsorted(groups, np.arange(2 * self.text.n_slices + 1))
        self.group_size = np.diff(begin)
        sizes = padded(self.group_size, LANES)  # each group of positions fills whole SIMD vectors
        self.group_end = np.cumsum(sizes)
        self.group_begin = self.group_end - sizes
        rows = np.arange(len(positions)) + (self.group_begin - begin[:-1])[groups]
        self.contexts = np.zeros((self.rho.shape[1], int(sizes.sum())), dtype=np.float32)
        self.relative = np.zeros((int(sizes.sum()), padded(self.dim + 1, LANES)), dtype=np.float32)
        text = self.text.for_kernels

        def write(low: int, high: int) -> None:
            kernels.background(text, self._context_model, positions, rows, low, high, self.contexts, self.relative)

        in_parts(write, np.ones(len(positions), dtype=np.int64), pool, threads)
        relative = self.relative[:, : self.dim]
        self.variance = np.einsum("ik,ik->k", relative, relative).astype(np.float64) / max(len(positions), 1)

    def of_word(self, v: int) -> Scores:
        """Return the scores of one word, by document."""
        text = self.text
        document, contexts, weights = kernels.document_scores(
            text.for_kernels, self._context_model, text.positions(v), self.rho[v]
        )
        return Scores(document, text.slice_of[document], contexts, weights)

    def of_positions(self, positions: Array, v: int) -> tuple[Array, Array]:
        """Return the relative contexts of positions, ``(n, K)``, and how surprising word v would be at each."""
        relative, surprise = np.empty((len(positions), self.dim)), np.empty(len(positions))
        text, room = self.text.for_kernels, min(len(positions), _AT_ONCE)
        contexts = np.zeros((self.rho.shape[1], room), dtype=np.float32)
        rows = np.zeros((room, self.dim + 1), dtype=np.float32)
        for first in range(0, len(positions), _AT_ONCE):
            some = positions[first : first + _AT_ONCE]
            n, end = len(some), first + len(some)
            kernels.background(text, self._context_model, some, np.arange(n), 0, n, contexts, rows)
            relative[first:end] = rows[:n, : self.dim]
            eta = np.einsum("k,kn->n", self.rho[v], contexts[:, :n]).astype(np.float64)
            surprise[first:end] = 1 / (1 + np.exp(np.clip(eta, -50, 50)))
        return relative, surprise

    def group_ends(self, *, frequent: bool) -> Array:
        """Return where the positions of each group end that frequent words, or other words, need."""
        sizes = self.group_end - self.group_begin
        return np.asarray(self.group_begin + (sizes if frequent else padded(-(-sizes // 4), LANES)))

    def group_positions(self, end: Array) -> Array:
        """Return how many positions there are up to these ends, by half and slice, ``(2, T)``."""
        return np.asarray(np.minimum(end - self.group_begin, self.group_size).reshape(-1, 2).T)

    def expected(self, words: Array, *, frequent: bool = True) -> list[Expected]:
        """Return where words would be expected; this is quickest for a few dozen at a time."""
        if not len(words):
            return []
        rows = padded(len(words), TILE)
        rho = np.zeros((rows, self.rho.shape[1]), dtype=np.float32)
        rho[: len(words)] = self.rho[words]
        sums = np.zeros((len(self.group_begin), rows, self.relative.shape[1]), dtype=np.float32)
        chance = np.empty((rows, _POSITIONS), dtype=np.float32)
        end = self.group_ends(frequent=frequent)
        kernels.expected(rho, self.contexts, self.relative, self.group_begin, end, chance, sums)
        halves = sums.reshape(self.text.n_slices, 2, rows, -1).transpose(2, 1, 0, 3)
        positions = self.group_positions(end)
        return [
            expected_context(halves[i, :, :, : self.dim], halves[i, :, :, self.dim], positions, self.smoothing)
            for i in range(len(words))
        ]


class Smoothing(NamedTuple):
    """How slices lean on each other."""

    weights: Array  # (T, T), rows add up to 1
    share: Array  # (T,) of documents
    prior: Array  # (T,) weight of the whole text: SLICE_PRIOR documents, over those that a slice leans on


def expected_context(sums: Array, chances: Array, positions: Array, smoothing: Smoothing) -> Expected:
    """Return the mean context in every slice, and its noise.

    For two halves of the documents, `sums`, ``(2, T, K)``, are those of contexts weighted by chances; `chances`,
    ``(2, T)``, are those of the weights; `positions`, ``(2, T)``, are the numbers of positions they are sums over.
    """
    n = np.maximum(positions.sum(axis=0), 1)
    own_sums, own_chances = sums.sum(axis=0) / n[:, None], chances.sum(axis=0) / n
    prior = smoothing.prior
    total = smoothing.weights @ own_chances + prior * (smoothing.share @ own_chances)
    total = np.maximum(total, 1e-30)
    mean = (smoothing.weights @ own_sums + prior[:, None] * (smoothing.share @ own_sums)) / total[:, None]
    rest = (sums - mean * chances[..., None]) / np.maximum(positions, 1)[..., None]
    both = np.minimum(*positions)[:, None] > 0
    noise = np.where(both, (rest[0] - rest[1]) / 2, 0)
    return Expected(mean, noise, total)


def background_positions(text: DocumentText, seed: int) -> tuple[Array, Array]:
    """Draw positions of every slice; return them with their groups, 2 t + half, sorted by group."""
    lengths = text.sizes
    by_slice = np.argsort(text.slice_of, kind="stable")
    half = _halves(text, seed)
    drawn, groups = [], []
    most = max(BACKGROUND // max(text.n_slices, 1), 1)
    borders = np.searchsorted(text.slice_of[by_slice], np.arange(text.n_slices + 1))
    for t in range(text.n_slices):
        documents = by_slice[borders[t] : borders[t + 1]]
        filled = np.cumsum(lengths[documents])
        n = int(filled[-1]) if len(filled) else 0
        if n > most:
            number = (randomness.uniform(randomness.key(seed, "background", t), np.arange(most)) * n).astype(np.int64)
        else:
            number = np.arange(n)
        which = np.searchsorted(filled, number, side="right")
        drawn.append((text.document_offsets[documents] - filled + lengths[documents])[which] + number)
        groups.append(2 * t + half[documents[which]])
    positions, group = np.concatenate(drawn), np.concatenate(groups)
    # In random order within groups, so that the first of them are a sample, too.
    order = np.lexsort((randomness.bits(randomness.key(seed, "background"), positions), group))
    return positions[order], group[order]


def _halves(text: DocumentText, seed: int) -> Array:
    """Divide the documents of every slice into two halves at random."""
    random = randomness.bits(randomness.key(seed, "halves"), np.arange(len(text.slice_of)))
    order = np.lexsort((random, text.slice_of))
    half = np.empty(len(order), dtype=np.int64)
    half[order] = np.arange(len(order)) % 2  # alternating within every slice
    return half


def smooth(documents: Array) -> Smoothing:
    """Return how much each slice leans on others: the fewer documents it has, the more on its neighbours."""
    slices = np.arange(len(documents))
    near = np.exp(-0.5 * ((slices[:, None] - slices) / (REACH * len(documents))) ** 2) * documents
    near /= np.maximum(near.sum(axis=1, keepdims=True), 1e-300)
    own = documents / (documents + SLICE_PRIOR)
    weights = np.diag(own) + (1 - own)[:, None] * near
    leant_on = 1 / np.maximum((weights**2 / np.maximum(documents, 1)).sum(axis=1), 1e-300)
    return Smoothing(weights, documents / max(documents.sum(), 1), SLICE_PRIOR / leant_on)


def _coordinates(vectors: StaticVectors) -> tuple[Array, Array]:
    """Return context vectors, and embeddings with their intercepts, in the coordinates in which scores are measured.

    Their products are the model's log odds.
    """
    rho = vectors.rho.astype(np.float64)
    centered = rho - rho.mean(axis=0)
    variance, axes = (a[..., ::-1] for a in np.linalg.eigh(centered.T @ centered / max(len(rho) - 1, 1)))
    scale = np.sqrt(np.maximum(variance, max(float(variance.max()), 1e-12) * _LEAST_VARIANCE))
    alpha = vectors.alpha.astype(np.float64) @ (axes * scale)
    coordinates = np.zeros((len(rho), padded(rho.shape[1] + 1, LANES)), dtype=np.float32)
    coordinates[:, : rho.shape[1]] = rho @ (axes / scale)
    coordinates[:, rho.shape[1]] = vectors.intercepts
    return alpha.astype(np.float32), coordinates
