"""Which border divides the time of a word best, and is that more than chance? A test that knows it has looked.

The sums of scores since a border b, S_b, are studentised as in `permutation_test`: |S_b|^2 / sum_d f_b(d)^2 |r_d|^2,
where f_b is the step at the border, centred over the documents that exchange their dates. The largest of these over all
borders is compared with the largest of exchanged dates, each at a border of its own. So p holds although the border
was chosen. A border needs a few documents on either side; which ones have them does not depend on who exchanges dates
with whom.

Only the sum of every time between two borders is needed: those since the borders are cumulative sums.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from driftword.basics import randomness
from driftword.inference import permutation_test as test
from driftword.inference import score_kernels as kernels
from driftword.inference.document_scores import Expected, Smoothing
from driftword.inference.occurrences import Array
from driftword.inference.permutation_test import PreparedWord, TestResult, TimeSums, WordDocuments

#: Documents that a side needs at least.
LEAST_ON_A_SIDE: Final = test.LEAST_DOCUMENTS // 2
_ROUNDING: Final = 1e-9  # may be left of a step that is the same for all


class Border(NamedTuple):
    """Where a new use begins, in days since 1970-01-01."""

    change: int  # of the first document since the border
    last_before: int
    before: int  # pieces of evidence
    since: int


class Splits(NamedTuple):
    """The borders that can divide the time of a word."""

    time: Array  # (B,) that is the first since each border, ascending
    place: Array  # (D,) how many borders are not after each piece of evidence
    steps: Array  # (D, B) centred, of length one
    factors: Array  # (B,) by which steps were multiplied

    @classmethod
    def of(cls, word: WordDocuments) -> Splits:
        """Return the borders with enough documents on either side."""
        # A unit that spans several times counts as one of their middle.
        time = np.rint(word.mean_of_units(word.time.astype(np.float64))).astype(np.int64)
        borders = np.unique(time)[1:]
        steps = test.centered((time[:, None] >= borders).astype(np.float64), word.strata_of_units)
        # One whose stratum is all on one side of a border says nothing about it.
        sides = [(side > _ROUNDING).sum(axis=0) for side in (steps, -steps)]
        enough = np.minimum(*sides) >= LEAST_ON_A_SIDE
        borders, steps = borders[enough], steps[:, enough]
        factors = 1 / np.sqrt(np.square(steps).sum(axis=0))
        return cls(borders, np.searchsorted(borders, time, side="right"), steps * factors, factors)


def run(
    word: WordDocuments, expected: Expected, smoothing: Smoothing, days: Array, *, permutations: int, seed: int, v: int
) -> tuple[TestResult, Border] | None:
    """Test a word at the border that divides it best; None where there is no border. `days` are of its documents."""
    splits = Splits.of(word)
    if not len(splits.time):
        return None
    prepared = test.prepare_along(word, expected, smoothing, splits.steps, np.ones(len(splits.time)))
    own = prepared.own.lengths / np.maximum(prepared.own.spreads, 1e-30)
    best = int(np.argmax(own))
    chosen = PreparedWord(
        prepared.documents, prepared.waves[:, [best]], np.ones(1), prepared.noise[[best]], prepared.strata
    )

    def exchange(begin: int, end: int) -> TimeSums:
        return exchanged(prepared, splits, begin, end, seed=seed, v=v)

    found = test.in_stages(exchange, chosen, permutations)
    since = word.time >= splits.time[best]
    border = Border(
        int(days[since].min()), int(days[~since].max()), int((splits.place <= best).sum()),
        int((splits.place > best).sum()),
    )  # fmt: skip
    return test.summarize(chosen, found, chance=float(found.lengths.mean())), border


def exchanged(word: PreparedWord, splits: Splits, begin: int, end: int, *, seed: int, v: int) -> TimeSums:
    """Exchange dates, and return the sums at the best border of each exchange, ``(1, permutations)``."""
    strata = np.zeros(len(word.waves), dtype=np.int64) if word.strata is None else word.strata
    members, first = test.by_stratum(strata)
    arrays: Any = (
        array.astype(np.float32)
        for array in (word.documents.scores, splits.steps**2, splits.factors, word.noise, word.squares)
    )
    lengths, spreads = np.empty((2, len(splits.time), end - begin), dtype=np.float32)
    scores, squared_steps, factors, noise, squares = arrays
    kernels.permuted_splits(
        scores, squares, splits.place, squared_steps, factors, first, members,
        np.uint64(randomness.key(seed, "permutations", v + (begin << 40))), noise,
        test.signs(word, begin, end, seed, v), lengths, spreads,
    )  # fmt: skip
    best = np.argmax(lengths / np.maximum(spreads, np.float32(1e-30)), axis=0)[None]
    return TimeSums(*(np.take_along_axis(sums, best, axis=0) for sums in (lengths, spreads)))
