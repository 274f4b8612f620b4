"""What a test compares: slices or two periods, which documents exchange their dates, and which count as one."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus import Corpus
from driftword.corpus.passages import document_values
from driftword.inference.occurrences import Array
from driftword.models.model import Model
from driftword.models.usage import Usage

BEST: Final = "best"  # two periods, divided where they differ most
_PERIODS: Final = "give two slices, such as (1950, 2000), or two periods, such as ((1946, 1960), (2000, 2015))"
OR_BEST: Final = f'{_PERIODS}, or "{BEST}"'


def times_compared(source: Model | Usage, between: Any) -> tuple[Array, bool]:
    """Return the time that each slice stands for, -1 for none, and whether the best border is looked for."""
    best = isinstance(between, str) and between == BEST
    if between is None or best:
        return np.arange(len(source.slices)), best
    return two_periods(source, between, remedy=OR_BEST), best


def strata_of(corpus: Corpus, within: str) -> Array:
    """Return the stratum of every document: its value in a column, within which dates are exchanged."""
    strata = document_values(corpus, within, option="within")
    slices = np.zeros(int(strata.max()) + 1, dtype=np.int64) - 1
    of_chunk = strata[corpus.chunk_document]
    slices[of_chunk] = corpus.chunk_slice
    if (slices[of_chunk] == corpus.chunk_slice).all():
        raise OptionError(
            f"All documents with the same value in the column {checks.quoted(within)} are in one slice, so no "
            "dates can be exchanged between them; name another column with `within`, or this one as `clusters`"
        )
    return strata


def units_of_evidence(corpus: Corpus, clusters: str | None = None) -> Array | None:
    """Return the unit of every document: its value in a column; without a value it is a unit of its own.

    The column is the one given, or that of the corpus; None without either, where every document is a unit.
    """
    if (column := clusters or corpus.options.unit) is None:
        return None
    values = document_values(corpus, column, option="clusters")
    alone = np.flatnonzero(values == 0)
    values[alone] = int(values.max(initial=0)) + 1 + np.arange(len(alone))
    return values


def two_periods(model: Model | Usage | Corpus, between: Any, *, remedy: str = _PERIODS) -> Array:
    """Return for every slice whether it is in the first of two periods (0), in the second (1), or in neither (-1).

    Each period is given as a slice, or as its first and last one.
    """
    ends = checks.several("between", between, remedy=remedy)
    if len(ends) != 2 or isinstance(between, set | frozenset):
        raise OptionError(f"`between` is {checks.shown(between)}; {remedy}")
    first, last = (slices_of_period(model, end, option="between", remedy=remedy) for end in ends)
    if first[-1] == last[0] and len(first) + len(last) > 2:
        label = model.slices.labels[int(last[0])]
        raise OptionError(
            f"Both periods of `between` are in the slice {label}; end the first, or begin the second, beside it"
        )
    if first[-1] >= last[0]:
        raise OptionError(f"`between` is {checks.shown(between)}; give two different periods, the earlier one first")
    times = np.full(len(model.slices), -1)
    times[first], times[last] = 0, 1
    return times


def slices_of_period(model: Model | Usage | Corpus, period: Any, *, option: str, remedy: str) -> Array:
    """Return the slices of a period that a user gives as one slice, or as the first and the last one."""
    if not isinstance(period, list | tuple):
        return np.array([model.slices.index(period)])
    if len(period) != 2:
        raise OptionError(f"`{option}` holds {checks.shown(period)}; {remedy}")
    first, last = (model.slices.index(at) for at in period)
    if first > last:
        raise OptionError(f"`{option}` holds {checks.shown(period)}; give the first slice of a period first")
    return np.arange(first, last + 1)
