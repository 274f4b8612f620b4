"""When the use of a word changed: on which day, as its documents show, and whether at once or gradually.

If the use changes at once, the scores of the word's documents (see `document_scores`) have one mean before a day and
another from then on; if it changes gradually, the mean moves from one to the other along a ramp. The noise in each
direction k of the scores has its own variance v_k, and the means differ by amounts with standard deviations
proportional to v_k: that is how far a context moves when an embedding moves equally far in all directions. Both
courses, and all orders of magnitude of the change, count as equally likely beforehand; so do days, one half of the
chance by the calendar and one half by the documents, so that neither long gaps nor crowded years are favoured. Bayes'
rule then gives the probability of each day.

Documents are dated by their own days, not by slices. Trajectories are smoothed by the random walk; documents are not,
so they show better when a change came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from driftword.inference import score_kernels as kernels
from driftword.inference.document_scores import FREQUENT, TEMPERING, DocumentScores
from driftword.inference.occurrences import Array
from driftword.inference.permutation_test import CenteredScores, WordDocuments, center
from driftword.models.significance_table import CONFIDENCE

#: Variances of the change, in units of those of the noise, times documents.
SIZES: Final = np.geomspace(1e-3, 1e3, 7)
#: Documents that the variances of all contexts count for, where a word has few of its own.
VARIANCE_PRIOR: Final = 64
#: Share of this that counts for the middle of a gradual change, which has not the shape of a ramp exactly.
GRADUAL: Final = 0.4
MOST_DAYS: Final = 256  # that are compared as days of an abrupt change; then those near the best are compared again
#: Lengths of gradual changes, as shares of the time in which the word occurs, and how many middles each may have.
LENGTHS: Final = (0.1, 0.2, 0.4, 0.7, 1.0)
MIDDLES: Final = 16
MANY_DAYS: Final = 20  # different ones that a word needs so that an event can be told from a lasting change
MOMENTS: Final = 50  # into which all of the time is divided
CELLS: Final = 64  # of time, in which gradual changes are followed
_FLAT: Final = 1e-9


class ChangeDate(NamedTuple):
    """When a word changed, in days since 1970-01-01."""

    change: int  # of its first document since the change, if it came at once; the middle of a gradual change
    low: int  # the first and the last day of the 90% interval
    high: int
    last_before: int  # of its last document before the change
    gradual: float  # probability that the change was gradual
    begin: int  # of the time in which 10% to 90% of the change happened, if it was gradual
    end: int
    before: int  # documents before the change
    since: int
    lasting: float  # least share of the documents of a side that are not of its most crowded time


class ChangeDates:
    """Finds when words changed, as their documents show."""

    def __init__(self, scores: DocumentScores) -> None:
        self.scores = scores

    def of_word(self, v: int, low: int, high: int) -> ChangeDate | None:
        """Return when a word changed within slices `low` to `high` - 1; None where it has no two days there."""
        own = self.scores.of_word(v)
        expected = self.scores.expected(np.array([v]), frequent=len(own.document) >= FREQUENT)[0]
        inside = (own.slice_of >= low) & (own.slice_of < high)
        days = self.scores.text.day[own.document][inside]
        documents = center(WordDocuments(own, own.slice_of, None), expected.mean)
        return find(documents.among(inside), days, self.scores.variance, self.scores.text.calendar)


def find(
    documents: CenteredScores, day: Array, variance: Array, calendar: Array | None, *, tempering: float = TEMPERING
) -> ChangeDate | None:
    """Return when the use of a word changed; None where all documents have the same day.

    `day` is that of each document, `variance` that of all contexts, ``(K,)``. A calendar holds the days on which a
    change can begin, such as the first of each year where documents are dated by years; None for every day. `tempering`
    is the share of the evidence that counts.
    """
    course = Course.of(documents, day, variance, tempering=tempering)
    if course is None:
        return None
    days, filled, abrupt = _abrupt(course)
    curves = _gradual(course)
    gradual = 1 / (1 + np.exp(np.clip(abrupt - curves.evidence, -700, 700)))
    grid = np.unique(np.r_[days, curves.edges])
    chance = (1 - gradual) * np.interp(grid, days, filled) + gradual * curves.filled(grid)
    chance = (chance + _FLAT * np.linspace(0, 1, len(grid))) / (1 + _FLAT)
    low, high = shortest(grid, chance)
    first_since = int(np.searchsorted(course.days, np.interp(0.5, chance, grid)))
    first_since = min(max(first_since, 1), len(course.days) - 1)
    last_before, change = course.days[first_since - 1 : first_since + 1].astype(np.int64).tolist()
    begin, end = curves.span()
    before = int(course.number[:first_since].sum())
    return ChangeDate(
        change, min(next_day(low + _FLAT, calendar), change), max(next_day(high - _FLAT, calendar), change),
        last_before, float(gradual), next_day(begin, calendar), next_day(end, calendar),
        before, int(course.number.sum()) - before, _lasting(course, first_since),
    )  # fmt: skip


def _lasting(course: Course, first_since: int) -> float:
    """Return the share of documents of either side, the smaller one, that are not of its most crowded time.

    Such a time is a fiftieth of all; it may be one of an event. Where there are few dates, this cannot be told: then 1.
    """
    if len(course.days) < MANY_DAYS:
        return 1.0
    cell = ((course.days - course.days[0]) / max((course.days[-1] - course.days[0]) / MOMENTS, 1)).astype(np.int64)
    shares = []
    for side in (slice(None, first_since), slice(first_since, None)):
        inside = np.bincount(cell[side] - cell[side][0], course.number[side])
        shares.append(1 - float(inside.max() / inside.sum()))
    return min(shares)


def next_day(time: float, calendar: Array | None) -> int:
    """Return the first day of a calendar that is not before a time."""
    if calendar is None:
        return int(np.ceil(time))
    return int(calendar[min(int(np.searchsorted(calendar, time)), len(calendar) - 1)])


@dataclass(frozen=True)
class Course:
    """The documents of a word day by day, without what all have in common."""

    days: Array  # (U,) ascending
    number: Array  # (U,) of documents on each
    weights: Array  # (U,) of their documents
    sums: Array  # (U, K) of their scores
    noise: Array  # (K,) variance of scores
    tempering: float = TEMPERING  # share of the evidence that counts

    @classmethod
    def of(
        cls, documents: CenteredScores, day: Array, variance: Array, *, tempering: float = TEMPERING
    ) -> Course | None:
        """Sum documents by day; None where there is one day only."""
        days, which, number = np.unique(day, return_inverse=True, return_counts=True)
        if len(days) < 2:
            return None
        weights = np.bincount(which, documents.root**2)
        sums = np.zeros((len(days), documents.scores.shape[1]))
        kernels.add_rows(documents.scores, documents.root, which, sums)
        total, n = sums.sum(axis=0), len(day)
        own = np.maximum((documents.scores**2).sum(axis=0) - total**2 / weights.sum(), 0) / (n - 1)
        shape = variance * (own.sum() / max(float(variance.sum()), 1e-300))
        noise = np.maximum((n * own + VARIANCE_PRIOR * shape) / (n + VARIANCE_PRIOR), 1e-300)
        sums -= (weights / weights.sum())[:, None] * total
        return cls(days.astype(np.float64), number, weights, sums, noise, tempering)

    def in_cells(self, most: int) -> Course:
        """Return the course of at most so many cells of time, each with about as many documents, and its mean day."""
        if len(self.days) <= most:
            return self
        filled = np.cumsum(self.number)
        cell = np.minimum((filled - self.number / 2) * most / filled[-1], most - 1).astype(np.int64)
        begin = np.flatnonzero(np.diff(cell, prepend=-1))
        number = np.add.reduceat(self.number, begin)
        days = np.add.reduceat(self.days * self.number, begin) / number
        weights, sums = (np.add.reduceat(values, begin) for values in (self.weights, self.sums))
        return Course(days, number, weights, sums, self.noise, self.tempering)

    def evidence(self, projections: Array, norms: Array) -> Array:
        """Return the tempered log evidence for changes along some curves, over all sizes of the change.

        `norms` are the sums of the squares of the centred curves, and `projections`, ``(curves, K)``, those of their
        products with the scores.
        """
        by_size = np.empty((len(SIZES), len(norms)))
        sizes = SIZES * len(self.noise) / self.noise.sum()
        kernels.change_evidence(projections, norms, self.noise, sizes, by_size)
        return log_mean_exp(self.tempering * by_size, axis=0)


def log_mean_exp(values: Array, axis: int | None = None, chances: Array | None = None) -> Array:
    """Return the logarithm of the mean of exponentials, weighted by chances that add up to 1."""
    most = np.asarray(values.max(axis=axis, keepdims=True))
    powers = np.exp(values - most)
    mean = powers.mean(axis=axis) if chances is None else (powers * chances).sum(axis=axis)
    return np.asarray(np.log(np.maximum(mean, 1e-300)) + most.squeeze(axis))


def _abrupt(course: Course) -> tuple[Array, Array, float]:
    """Return days, the probability that an abrupt change came until each, and the log evidence for abrupt changes."""
    days, weights = course.days, course.weights
    before = np.cumsum(course.sums, axis=0)
    weight = np.cumsum(weights)
    norms = weight * (weight[-1] - weight) / weight[-1]
    first, last = 0, len(days) - 1
    documents, span = course.number[1:].sum(), days[-1] - days[0]
    while True:
        # The new use begins after days[border[i]], and not after days[border[i + 1]].
        border = np.unique(np.linspace(first, last, min(last - first, MOST_DAYS) + 1).astype(np.int64))
        evidence = course.evidence(before[border[:-1]], norms[border[:-1]])
        chances = np.diff(days[border]) / span + np.diff(np.cumsum(course.number)[border]) / documents
        total = float(log_mean_exp(evidence, chances=chances / 2))
        mass = np.exp(evidence - total) * chances / 2
        if len(border) == last - first + 1:
            break
        # Look again, more closely, where nearly all of the probability is.
        filled = np.cumsum(mass)
        low, high = np.searchsorted(filled, [1e-4, 1 - 1e-4])
        closer = border[max(low - 1, 0)], border[min(high + 2, len(border) - 1)]
        if closer == (first, last):
            break
        first, last = closer
    filled = np.r_[0, np.cumsum(mass)]
    return days[border], filled / filled[-1], total


class _Curves(NamedTuple):
    """Gradual changes: their middles and lengths, how likely each is, and the log evidence for all of them."""

    middle: Array
    length: Array
    room: Array  # how far the middles of curves of the same length are apart
    chance: Array
    evidence: float

    @property
    def edges(self) -> Array:
        return np.unique(np.r_[self.middle - self.room / 2, self.middle + self.room / 2])

    def filled(self, grid: Array) -> Array:
        """Return the probability that the middle of the change came until each time."""
        begun = (grid[:, None] - self.middle) / self.room + 0.5
        return np.asarray(np.einsum("gc,c->g", np.clip(begun, 0, 1), self.chance))  # not by BLAS: see `PreparedWord`

    def span(self) -> tuple[float, float]:
        """Return when 10% and 90% of the change had happened."""
        ends = []
        for part in (-0.4, 0.4):
            time = self.middle + part * self.length
            order = np.argsort(time)
            ends.append(float(time[order][np.searchsorted(np.cumsum(self.chance[order]), 0.5)]))
        return ends[0], ends[1]


def _gradual(course: Course) -> _Curves:
    """Return gradual changes that begin and end while the word occurs."""
    cells = course.in_cells(CELLS)
    first, span = course.days[0], course.days[-1] - course.days[0]
    told = [length for length in LENGTHS if length * (len(course.days) - 1) >= 3] or [1.0]  # others look abrupt
    lengths = np.repeat(told, MIDDLES)
    place = np.tile((np.arange(MIDDLES) + 0.5) / MIDDLES, len(told))
    room = (1 - lengths) / MIDDLES + 1e-3
    middle = first + span * (lengths / 2 + place * (1 - lengths))
    curve = np.clip((cells.days - middle[:, None]) / (span * lengths[:, None]) + 0.5, 0, 1)
    weights = cells.weights
    curve -= (np.einsum("cu,u->c", curve, weights) / weights.sum())[:, None]
    norms = np.maximum(np.einsum("cu,u->c", curve**2, weights), 1e-300)
    evidence = cells.evidence(np.einsum("cu,uk->ck", curve, cells.sums), norms)
    chance = np.exp(GRADUAL * (evidence - evidence.max()))
    return _Curves(middle, span * lengths, span * room, chance / chance.sum(), float(log_mean_exp(evidence)))


def shortest(grid: Array, chance: Array) -> tuple[float, float]:
    """Return the ends of the shortest time that holds the change with the usual confidence.

    `chance` is the probability that it came until each time of the grid; it grows evenly in between.
    """
    total = float(chance[-1])
    begin: Array = np.r_[grid, np.interp(chance - CONFIDENCE * total, chance, grid)]
    held = np.interp(begin, grid, chance) + CONFIDENCE * total
    end = np.interp(held, chance, grid)
    length = np.where(held <= total * (1 + 1e-9), end - begin, np.inf)
    best = int(np.argmin(length))
    return float(begin[best]), float(end[best])
