"""How far every word moved between two slices, by several metrics: arrays in, arrays out."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from driftword.basics.errors import OptionError
from driftword.corpus.peers import peer_windows
from driftword.explore import vectors
from driftword.explore.intervals import square_without_noise, true_directions
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.models.model import Model
from driftword.models.significance_table import HALF_WIDTH

if TYPE_CHECKING:
    from driftword.inference.uncertainty import Uncertainty

#: What each metric measures, in a few words.
METRICS: Final = {
    "relative": "distance between the two vectors, compared with words of similar frequency",
    "absolute": "distance between the two vectors, as in the paper",
    "cosine": "change of direction",
    "thirds": "change of direction from the first third of the slices to the last",
    "farthest": "largest change of direction from the first slice at any time",
    "path": "length of the whole trajectory",
    "step": "largest single step",
    "neighbors": "share of the 25 nearest neighbours that were replaced",
    "ranks": "change in the ranking of the nearest neighbours",
}
UNCERTAIN: Final = ("relative", "absolute", "cosine")  # metrics that have intervals
NEIGHBORS: Final = 25  # nearest neighbours that "neighbors" and "ranks" compare
_BATCH: Final = 512
_NORMAL: Final = np.array([NormalDist().inv_cdf((i + 0.5) / 20) for i in range(20)])


def measure(model: Model, metric: str, first: int, last: int, *, wanted: Array) -> Array:
    """Return how far each word moved from slice `first` to slice `last`, ``(V,)``; only `wanted` words need it."""
    if metric in ("neighbors", "ranks"):
        return _neighbor_turnover(model, first, last, wanted=wanted, ranks=metric == "ranks")
    if metric in ("path", "step"):
        rows = (vectors.moving(model, t) for t in range(first, last + 1))
        steps = (np.linalg.norm(after - before, axis=1) for before, after in pairwise(rows))
        return np.asarray(reduce(np.maximum if metric == "step" else np.add, steps))
    if metric == "farthest":
        start = vectors.unit(_centered(model, first))
        cosines = ((start * vectors.unit(_centered(model, t))).sum(axis=1) for t in range(first + 1, last + 1))
        return np.asarray(np.maximum(1 - reduce(np.minimum, cosines), 0))
    if metric == "thirds":
        share = max(1, (last - first + 1) // 3)
        thirds = range(first, first + share), range(last - share + 1, last + 1)
        return _cosine_distance(*(np.asarray(sum(_centered(model, t) for t in third)) for third in thirds))
    if metric == "cosine":
        return _cosine_distance(_centered(model, first), _centered(model, last))
    distance = np.linalg.norm(vectors.moving(model, last) - vectors.moving(model, first), axis=1)
    if metric == "absolute":
        return np.asarray(distance)
    assert metric == "relative", metric
    if not model.vocabulary.counted:
        raise OptionError("The word counts of this model are unknown, so the metric 'relative' cannot be used")
    values, median, deviation = _among_peers(distance, np.asarray(model.counts)[[first, last]].sum(axis=0))
    return np.asarray((values - median) / deviation)


def _centered(model: Model, t: int) -> Array:
    return vectors.without_frequency(model, vectors.centered(model, t))


def _cosine_distance(one: Array, other: Array) -> Array:
    return np.asarray(1 - (vectors.unit(one) * vectors.unit(other)).sum(axis=1))


class DriftInterval(NamedTuple):
    """The drift of a word without the noise of its vectors, and its 90% interval."""

    drift: float
    low: float
    high: float


def drift_interval(
    model: Model, metric: str, first: int, last: int, *, v: int, drift: float, source: Uncertainty
) -> DriftInterval:
    """Return the drift of a word as it would be with other documents.

    Noise makes every distance longer. So what it adds on average is taken away, and the interval may begin at 0: then
    the documents do not show that the word moved at all. A drift relative to other words has the same noise as theirs,
    and stays as it is.
    """
    drawn = source.vectors(v)[:, [first, last]]
    rows = np.asarray(model.rho_of(v), dtype=np.float64)[[first, last]]
    if metric == "cosine":  # half the squared distance between the two directions
        center = np.stack([vectors.mean(model, t) for t in (first, last)])
        rows, drawn = true_directions(rows - center, drawn - center)
        square, error = square_without_noise(rows[1] - rows[0], drawn[:, 1] - drawn[:, 0])
        return DriftInterval(*(max(square + side * HALF_WIDTH * error, 0.0) / 2 for side in (0, -1, 1)))
    moved = vectors.without_frequency(model, rows[1] - rows[0])
    square, error = square_without_noise(moved, vectors.without_frequency(model, drawn[:, 1] - drawn[:, 0]))
    if metric == "absolute":
        return DriftInterval(*(float(np.sqrt(max(square + side * HALF_WIDTH * error, 0.0))) for side in (0, -1, 1)))
    # With other documents, the peers would be other words, too: the word would be more or less frequent.
    distance = max(float(np.linalg.norm(moved)), 1e-12)
    counts = np.asarray(model.counts)[[first, last]].sum(axis=0)
    distances = measure(model, "absolute", first, last, wanted=np.ones(len(counts), dtype=bool))
    values, median, deviation = _among_peers(distances, counts)
    order = np.argsort(counts, kind="stable")
    frequency = np.log(max(int(counts[v]), 1)) + source.count_error(v, [first, last]) * _NORMAL
    at = [np.interp(frequency, np.log(np.maximum(counts[order], 1)), curve[order]) for curve in (median, deviation)]
    half = HALF_WIDTH * float(np.hypot(error / (2 * distance**2) / deviation[v], ((values[v] - at[0]) / at[1]).std()))
    return DriftInterval(drift, drift - half, drift + half)


def _among_peers(scores: Array, frequency: Array) -> tuple[Array, Array, Array]:
    """Return logarithms of scores, and their median and standard deviation among words of similar frequency."""
    order, begin, width = peer_windows(frequency)
    values = np.log(np.maximum(scores[order], 1e-12))
    windows = np.lib.stride_tricks.sliding_window_view(values, width)
    median = np.median(windows, axis=1)
    deviation = 1.4826 * np.median(np.abs(windows - median[:, None]), axis=1)  # standard, if they are normal
    result = np.empty((3, len(values)))
    result[:, order] = values, median[begin], np.maximum(deviation[begin], 1e-6)
    return result[0], result[1], result[2]


def _neighbor_turnover(model: Model, first: int, last: int, *, wanted: Array, ranks: bool) -> Array:
    """Compare the nearest neighbours of each word in two slices, among words that are attested in both."""
    both = model.vocabulary.attested(first, MIN_COUNT) & model.vocabulary.attested(last, MIN_COUNT)
    common = np.flatnonzero(both)
    if len(common) < 2:
        raise OptionError(
            f"Fewer than two words occur at least {MIN_COUNT} times in both slices; choose others, or another `metric`"
        )
    words = np.flatnonzero(wanted & both)
    n = min(NEIGHBORS, len(common) - 1)
    result = np.full(len(model.words), np.nan, dtype=np.float32)  # of words that are too rare to have neighbours
    spaces = [vectors.unit(vectors.centered(model, t)) for t in (first, last)]
    for begin in range(0, len(words), _BATCH):
        batch = words[begin : begin + _BATCH]
        nearest = []
        for space in spaces:
            scores = space[batch] @ space[common].T
            scores[batch[:, None] == common[None, :]] = -np.inf
            nearest.append((scores, np.argpartition(-scores, n - 1, axis=1)[:, :n]))
        for row, v in enumerate(batch):
            one, other = nearest[0][1][row], nearest[1][1][row]
            if ranks:
                union = np.union1d(one, other)
                x, y = (np.argsort(np.argsort(-scores[row, union])) for scores, _ in nearest)
                result[v] = 1 - np.corrcoef(x, y)[0, 1] if len(union) > 1 else 0
            else:
                shared = len(np.intersect1d(one, other))
                result[v] = 1 - shared / (2 * n - shared)
    return result
