"""Do the documents of a word depend on their dates? A permutation test.

The scores r_d of a word's documents are summed along waves over time, the first cosines f_k of the slices, which are
centred, made orthogonal and scaled to length one over these documents: S_k = sum_d f_k(d) r_d. Slow movements come
first:

    Q = sum_k |S_k|^2 / (k sum_d f_k(d)^2 |r_d|^2)

The last sum is the variance of S_k if documents are independent, however noisy those of each time are: without it, a
few noisy documents at one end of the time would look like a change.

If the use of the word does not depend on time, its documents may exchange their dates. So Q is compared with its values
when they do; a word with many larger values among the first exchanges needs no more. Exchanges are the rotations of a
random cycle of the documents: one Fourier transform gives the sums of all of them. For few documents, and where dates
are exchanged only within strata, drawing permutations one by one is quicker. What the expected contexts contribute by
chance is added to the permuted sums with random signs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from driftword.basics import randomness
from driftword.engines.cpu.matmul_kernels import LANES, TILE, padded
from driftword.inference import score_kernels as kernels
from driftword.inference.document_scores import Expected, Scores, Smoothing
from driftword.inference.occurrences import Array

WAVES: Final = 6
LEAST_DOCUMENTS: Final = 8
FEW_DOCUMENTS: Final = 64  # up to which permutations are drawn one by one
NOISE_BLOCKS: Final = 8  # of consecutive slices, whose noise has one sign
LEAST_WEIGHT: Final = 1e-3
FIRST: Final = 199  # exchanges of a word after which it is done if this many of them show as much dependence on time
ENOUGH_ABOVE: Final = 10
COLLINEAR: Final = 1e-3
LEAST_ROOM: Final = 0.02


class WordDocuments(NamedTuple):
    """The documents of a word that are tested."""

    scores: Scores
    time: Array  # (D,)
    strata: Array | None  # (D,) within which dates are exchanged
    units: Array | None = None  # (D,) numbered from 0: documents with the same number are one piece of evidence

    @property
    def number(self) -> int:
        """How many pieces of evidence there are."""
        return len(self.time) if self.units is None else int(self.units.max(initial=-1)) + 1

    def mean_of_units(self, values: Array) -> Array:
        """Return values of documents as those of units; a unit has the mean."""
        if self.units is None:
            return values
        size = np.bincount(self.units).reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray(_by_unit(values, self.units) / size)

    @property
    def strata_of_units(self) -> Array | None:
        """The stratum of every piece of evidence: that of its first document."""
        if self.units is None or self.strata is None:
            return self.strata
        return np.asarray(self.strata[np.unique(self.units, return_index=True)[1]])


class CenteredScores(NamedTuple):
    """What a word's documents, or units of them, say, without what is expected and what all have in common."""

    scores: Array  # (D, K) divided by the roots, so that their noise is about the same
    root: Array  # (D,) of their weights

    def among(self, chosen: Array) -> CenteredScores:
        """Return some of them."""
        return CenteredScores(*(array[chosen] for array in self))


@dataclass(frozen=True)
class PreparedWord:
    """A word whose documents are ready to exchange their dates."""

    documents: CenteredScores
    waves: Array  # (D, n) orthonormal
    weights: Array  # (n,) of the waves
    noise: Array  # (n, NOISE_BLOCKS, K) that expected contexts contribute
    strata: Array | None  # (D,) within which dates are exchanged

    @cached_property
    def sums(self) -> Array:
        """The sums of the scores along the waves, ``(n, K)``."""
        # Not by BLAS, whose order of addition may depend on the number of threads.
        return np.asarray(np.einsum("dn,dk->nk", self.waves, self.documents.scores))

    @cached_property
    def squares(self) -> Array:
        """The squared lengths of the scores, ``(D,)``."""
        return np.asarray(np.einsum("dk,dk->d", self.documents.scores, self.documents.scores))

    @cached_property
    def own(self) -> TimeSums:
        """The sums of the true dates."""
        spreads = np.einsum("dn,d->n", self.waves**2, self.squares)
        return TimeSums((self.sums**2).sum(axis=1)[:, None], spreads[:, None])


class TimeSums(NamedTuple):
    """Sums over time, of the true dates or of exchanged ones."""

    lengths: Array  # (waves, permutations) squared lengths of the sums; of exchanged dates with the noise
    spreads: Array  # (waves, permutations) squared lengths of what is summed

    def statistic(self, weights: Array) -> Array:
        """Return Q of every exchange."""
        ratio = self.lengths / np.maximum(self.spreads, np.float32(1e-30))
        return np.asarray(weights @ ratio.astype(np.float64))


class TestResult(NamedTuple):
    """What the test of one word found."""

    effect: float
    error: float  # standard error of the effect
    p: float
    z: float  # Q, standardised by its permuted values
    null: Array  # (permutations,) permuted values of Q, standardised


def waves_over_time(word: WordDocuments, n_times: int) -> tuple[Array, Array]:
    """Return the cosines of time at the documents, or the means of their units, orthonormal, and their weights."""
    time = (np.arange(n_times) + 0.5) / n_times
    cosines = word.mean_of_units(np.cos(np.pi * time[:, None] * np.arange(1, WAVES + 1))[word.time])  # (D, WAVES)
    columns = np.ascontiguousarray(centered(cosines, word.strata_of_units).T)
    kept = np.empty(WAVES, dtype=np.int64)
    n = kernels.orthonormal(columns, COLLINEAR, kept)
    return np.ascontiguousarray(columns[:n].T), 1 / (1.0 + kept[:n])


def center(word: WordDocuments, expected: Array) -> CenteredScores:
    """Subtract what is expected in each slice, ``(T, K)``, and what all documents have in common; then sum units."""
    scores, strata = word.scores, word.strata
    weight = scores.weights.astype(np.float64)[:, None]
    rest = expected[scores.slice_of]
    rest *= -weight
    rest += scores.contexts
    rest -= weight * (_sums(rest, strata) / np.maximum(_sums(weight, strata), LEAST_WEIGHT))
    if word.units is not None:
        rest, weight = _by_unit(rest, word.units), _by_unit(weight, word.units)
    # A text that uses a word fifty times must not count fifty times.
    root = np.sqrt(np.maximum(weight, LEAST_WEIGHT))
    rest /= root
    return CenteredScores(centered(rest, word.strata_of_units), root[:, 0])


def prepare(word: WordDocuments, expected: Expected, smoothing: Smoothing, *, n_times: int) -> PreparedWord | None:
    """Prepare a test; None where nothing can be exchanged."""
    waves, weights = waves_over_time(word, n_times)
    return prepare_along(word, expected, smoothing, waves, weights) if len(weights) else None


def prepare_along(
    word: WordDocuments, expected: Expected, smoothing: Smoothing, waves: Array, weights: Array
) -> PreparedWord:
    """Prepare a test along some courses of time, ``(D, n)``, which are centred and of length one."""
    documents = center(word, expected.mean)
    unit = slice(None) if word.units is None else word.units
    # Of each document's slice on the sums.
    pulls = waves[unit] * (np.maximum(word.scores.weights, LEAST_WEIGHT) / documents.root[unit])[:, None]
    n_slices = len(expected.mean)
    leverage = np.stack([np.bincount(word.scores.slice_of, weights=pull, minlength=n_slices) for pull in pulls.T])
    noise = (leverage / expected.chances @ smoothing.weights)[:, :, None] * expected.noise  # (n, T, K)
    borders = np.unique(np.arange(NOISE_BLOCKS) * n_slices // NOISE_BLOCKS)
    blocks = np.add.reduceat(noise, borders, axis=1)
    return PreparedWord(documents, waves, weights, blocks, word.strata_of_units)


def run(word: PreparedWord, *, permutations: int, seed: int, v: int) -> TestResult:
    """Test one word; `v` numbers the random permutations."""
    scores, waves = word.documents.scores.astype(np.float32), word.waves.astype(np.float32)
    noise, own = word.noise.astype(np.float32), word.own
    rotates = word.strata is None and len(scores) >= FEW_DOCUMENTS
    strata = np.zeros(len(scores), dtype=np.int64) if word.strata is None else word.strata

    def exchange(begin: int, end: int) -> TimeSums:
        options: Any = {"noise": noise, "signs": signs(word, begin, end, seed, v), "seed": seed}
        number = v + (begin << 40)  # for other permutations than those before
        if rotates:
            return rotated(scores, waves, word.sums, own.spreads[:, 0], v=number, **options)
        return permuted(scores, waves, strata, v=number, **options)

    at_once = rotates and len(scores) > permutations  # which takes no longer
    return summarize(word, in_stages(exchange, word, permutations, at_once=at_once))


def in_stages(
    exchange: Callable[[int, int], TimeSums], word: PreparedWord, permutations: int, *, at_once: bool = False
) -> TimeSums:
    """Exchange dates a few times, and go on if few of these show as much dependence on time as the true dates."""
    at_once = at_once or permutations <= FIRST
    found = exchange(0, permutations if at_once else FIRST)
    if not at_once and (found.statistic(word.weights) >= word.own.statistic(word.weights)).sum() < ENOUGH_ABOVE:
        more = exchange(FIRST, permutations)
        found = TimeSums(*(np.concatenate(both, axis=1) for both in zip(found, more, strict=True)))
    return found


def signs(word: PreparedWord, begin: int, end: int, seed: int, v: int) -> Array:
    """Draw a sign for every block of slices and permutation, ``(blocks, permutations)``."""
    bits = randomness.bits(randomness.key(seed, "signs", v), np.arange(begin, end))
    blocks = np.arange(word.noise.shape[1], dtype=np.uint64)[:, None]
    return (1 - 2 * ((bits >> blocks) & np.uint64(1)).astype(np.float32)).astype(np.float32)


def rotations(n: int, permutations: int, seed: int, v: int) -> tuple[Array, Array, Array]:
    """Draw random cycles of documents, ``(cycles, length)``, and choose rotations of them: a cycle and a turn for each.

    The length of a cycle has small factors, or the transform would be slow; so a few documents, different ones in each
    cycle, keep their dates. No turn is 0, which would change nothing.
    """
    length = smooth_length(n)
    cycles = -(-permutations // (length - 1))
    random = randomness.bits(randomness.key(seed, "permutations", v), np.arange(cycles * n)).reshape(cycles, n)
    order = np.argsort(random, axis=1, kind="stable")[:, :length]
    number = np.arange(permutations) * (cycles * (length - 1)) // permutations  # spread over all that there are
    return order, number // (length - 1), number % (length - 1) + 1


def rotated(
    scores: Array, waves: Array, sums: Array, spread: Array, *, noise: Array, signs: Array, seed: int, v: int
) -> TimeSums:
    """Rotate documents as many times as there are signs; `sums` and `spread` are those of the true dates."""
    permutations = signs.shape[1]
    order, cycle, turn = rotations(len(scores), permutations, seed, v)
    length = order.shape[1]
    spectrum = np.fft.rfft(np.ascontiguousarray(scores[order].transpose(2, 0, 1)), axis=2).conj()  # (K, cycles, -)
    squares = np.einsum("dk,dk->d", scores, scores)
    of_squares = np.fft.rfft(squares[order], axis=1).conj()  # (cycles, -)
    # All waves use the same room in turn.
    product, rotated = np.empty_like(spectrum), np.empty((*spectrum.shape[:2], length), dtype=np.float32)
    lengths, spreads = np.empty((2, waves.shape[1], permutations), dtype=np.float32)
    for q in range(len(lengths)):
        turned = np.fft.irfft(np.fft.rfft(waves[order, q] ** 2, axis=1) * of_squares, n=length, axis=1)
        spreads[q] = (turned + (np.float32(spread[q]) - turned[:, :1]))[cycle, turn]
        np.multiply(np.fft.rfft(waves[order, q], axis=1), spectrum, out=product)
        np.fft.irfft(product, n=length, axis=2, out=rotated)
        kept = sums[q].astype(np.float32)[:, None] - rotated[:, :, 0]  # by documents that keep their dates
        kernels.rotated_lengths(rotated, kept, cycle, turn, noise[q], signs, lengths[q])
    return TimeSums(lengths, spreads)


def permuted(scores: Array, waves: Array, strata: Array, *, noise: Array, signs: Array, seed: int, v: int) -> TimeSums:
    """Exchange dates within strata as many times as there are signs."""
    members, begin = by_stratum(strata)
    permutations, width = signs.shape[1], padded(scores.shape[1], LANES)
    lengths, spreads = np.empty((2, waves.shape[1], permutations), dtype=np.float32)
    kernels.permuted_lengths(
        _in_zeros(scores, (len(scores), width)), waves, begin, members,
        np.uint64(randomness.key(seed, "permutations", v)), _in_zeros(noise, (*noise.shape[:2], width)),
        _in_zeros(signs.T, (padded(permutations, TILE), len(signs))), lengths, spreads,
    )  # fmt: skip
    return TimeSums(lengths, spreads)


def _in_zeros(values: Array, shape: tuple[int, ...]) -> Array:
    """Return an array of this shape that begins with these values; `numpy.pad` is slow for small arrays."""
    out = np.zeros(shape, dtype=np.float32)
    out[tuple(map(slice, values.shape))] = values
    return out


def by_stratum(strata: Array) -> tuple[Array, Array]:
    """Return the documents ordered by stratum, and where each stratum begins and the last one ends."""
    members = np.argsort(strata, kind="stable")
    return members, np.r_[0, np.flatnonzero(np.diff(strata[members])) + 1, len(strata)]


def smooth_length(n: int) -> int:
    """Return the largest number up to n whose prime factors are 2, 3, 5 and 7."""
    while True:
        rest = n
        for factor in (2, 3, 5, 7):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return n
        n -= 1


def summarize(word: PreparedWord, exchanged: TimeSums, *, chance: float | None = None) -> TestResult:
    """Compare sums over time with those of exchanged dates.

    `chance` is what their squared lengths add up to on average by chance, where that is not `by_chance`.
    """
    chance = by_chance(word) if chance is None else chance
    statistic, null = float(word.own.statistic(word.weights)[0]), exchanged.statistic(word.weights)
    sums, squares = word.sums, word.squares
    deviation = max(float(null.std(ddof=1)), 1e-300) if len(null) > 1 else 1.0
    total = max(float(squares.sum()), 1e-300)
    shares = exchanged.lengths.sum(axis=0, dtype=np.float64) / total
    documents, n = word.waves.shape
    free = documents - (1 if word.strata is None else len(np.unique(word.strata)))
    # As of an adjusted R²: with many waves and few documents, time explains much by chance.
    room = max(1 - n / max(free, 1), LEAST_ROOM)
    effect = (float((sums**2).sum()) - chance) / total / room
    # What the effect would be without each document (jackknife), as in a regression of the scores on the waves.
    leverage = np.minimum((word.waves**2).sum(axis=1) + 1 - free / documents, 1 - LEAST_ROOM)
    towards = np.einsum("dk,nk->dn", word.documents.scores, sums)
    products = np.einsum("nk,mk->nm", sums, sums)
    fitted = np.einsum("dn,nm,dm->d", word.waves, products, word.waves)
    rest = squares - 2 * np.einsum("dn,dn->d", word.waves, towards) + fitted  # squared residuals
    left = (total - float((sums**2).sum()) - rest / (1 - leverage)) / np.maximum(
        total - squares * documents / max(documents - 1, 1), 1e-300
    )
    spread = float(shares.var(ddof=1)) / room**2 if len(shares) > 1 else 0.0
    # The jackknife counts what varies by chance twice; how much of that is taken away was chosen on simulated words.
    variance = max((documents - 1) * float(left.var()) / room**2 - spread / 2, spread)
    return TestResult(
        effect=effect,
        error=float(np.sqrt(variance)),
        p=(1 + int((null >= statistic).sum())) / (1 + len(null)),
        z=(statistic - float(null.mean())) / deviation,
        null=((null - null.mean()) / deviation).astype(np.float32),
    )


def by_chance(word: PreparedWord) -> float:
    """Return the squared length that sums over time have on average when dates are exchanged, over all waves."""
    strata = np.zeros(len(word.waves), dtype=np.int64) if word.strata is None else word.strata
    documents, waves, squares = (
        np.bincount(strata, weights) for weights in (None, (word.waves**2).sum(axis=1), word.squares)
    )
    return float((waves * squares / np.maximum(documents - 1, 1)).sum() + (word.noise**2).sum())


def centered(values: Array, strata: Array | None) -> Array:
    """Subtract the mean, or that of every stratum."""
    return np.asarray(values - _sums(values, strata) / _sums(np.ones((len(values), 1)), strata))


def _by_unit(values: Array, units: Array) -> Array:
    """Return the sums of the values of every unit."""
    sums = np.zeros((int(units.max(initial=-1)) + 1, *values.shape[1:]))
    np.add.at(sums, units, values)
    return sums


def _sums(values: Array, strata: Array | None) -> Array:
    """Return for every document the sum of all values, or of those in its stratum."""
    if strata is None:
        return np.asarray(values.sum(axis=0))
    sums = np.zeros((int(strata.max()) + 1, values.shape[1]))
    np.add.at(sums, strata, values)
    return np.asarray(sums[strata])
