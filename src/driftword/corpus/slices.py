"""Time slices: consecutive date ranges with labels that people read.

A slice is a closed range of days (both ends belong to it), so that year 9999
needs no year 10000. Calendar slices form a regular grid without holes;
explicit edges and ``equal:N`` slices follow each other without holes too.
Periods that a user names may leave time out between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError, UnknownSliceError
from driftword.basics.suggestions import did_you_mean
from driftword.sources.dates import parse_date
from driftword.storage.store import Store

MOST_SLICES: Final = 5_000
_DAY: Final = timedelta(days=1)
_EPOCH: Final = date(1970, 1, 1).toordinal()
_AFTER_ALL: Final = date.max.toordinal() + 1
_DAYS_IN_YEAR: Final = 365.2425
_GRID = re.compile(r"(\d{1,9})\s*(y|q|mo?|w|d)")
_EQUAL = re.compile(r"equal:(\d{1,9})")
_PERIOD = re.compile(r"\d{3,4}-\d{4}|\S+ to \S+")
_HELP = (
    "write a number and a unit (1y, 2y, 10y, 1q, 1mo, 1w), equal:N for N slices of about equal size, "
    "edges such as 1946,1970,1991,2023, or periods such as 1810-1860,1960-2010"
)

_SCHEMA: Final = {"label": pl.String, "first": pl.Date, "last": pl.Date}
_DAYS: Final = "give a list of days, such as datetime.date(1990, 1, 1)"
_MAX_DATE: Final = 100  # letters of a date; no longer text is parsed

SliceRule = str | Sequence[int | str | date]
#: How a slice is asked for: its label, a year, or a date.
At = str | int | date


@dataclass(frozen=True)
class Slices:
    """Labels and date ranges, in order of time.

    Parameters
    ----------
    labels
        What each slice is called, such as ``"1858-1859"``.
    first, last
        The first and the last day of each slice.
    """

    labels: tuple[str, ...]
    first: tuple[date, ...]
    last: tuple[date, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(checks.word_list("labels", self.labels)))
        for name in ("first", "last"):
            days = checks.several(name, getattr(self, name), remedy=_DAYS)
            object.__setattr__(self, name, tuple(_check_day(name, day) for day in days))
        if not len(self.labels) == len(self.first) == len(self.last):
            raise OptionError("Slices need a label, a first and a last day each")
        if len(set(self.labels)) < len(self.labels):
            raise OptionError("Slices need labels that are all different")
        if any(last < first for first, last in zip(self.first, self.last, strict=True)):
            raise OptionError("A slice cannot end before it begins")
        if any(last >= first for last, first in zip(self.last, self.first[1:], strict=False)):
            raise OptionError("Slices must follow each other in time without overlap")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def distances(self) -> npt.NDArray[np.float64]:
        """Years between the middles of adjacent slices, one fewer than there are slices."""
        middles = [
            (first.toordinal() + last.toordinal()) / 2 for first, last in zip(self.first, self.last, strict=True)
        ]
        return np.diff(middles) / _DAYS_IN_YEAR

    def index(self, at: str | int | date) -> int:
        """Return the number of the slice with this label, or that holds this year or date."""
        asked = _label_or_date(at)
        if asked is None:
            raise OptionError(f"`at` is {checks.shown(at)}, which is not a slice; give its label, a year or a date")
        if isinstance(asked, str) and asked in self.labels:
            return self.labels.index(asked)
        if asked == "":
            raise UnknownSliceError(f"No slice was named; {self._ends()}")
        shown = checks.quoted(str(asked))
        period = _days(asked)
        if period is None:
            hint = did_you_mean(str(asked), self.labels) if len(str(asked)) <= _MAX_DATE else ""
            raise UnknownSliceError(f"{shown} is neither a slice nor a date{hint or f'; {self._ends()}'}")
        low, high = period
        hits = [t for t in range(len(self)) if self.first[t] <= high and low <= self.last[t]]
        if len(hits) == 1:
            return hits[0]
        if not hits:
            raise UnknownSliceError(f"{shown} lies outside the slices; {self._ends()}")
        names = ", ".join(f"'{self.labels[t]}'" for t in hits[:4]) + (", ..." if len(hits) > 4 else "")
        raise UnknownSliceError(f"{shown} falls into {len(hits)} slices; name one of them: {names}")

    def find(self, days: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return the slice of each day (days since 1970-01-01), -1 for days outside."""
        if not isinstance(days, np.ndarray) or days.dtype.kind not in "iu":
            raise OptionError(f"`days` is {checks.shown(days)}; give an array of whole numbers, days since 1970-01-01")
        first = np.array(self.first, dtype="datetime64[D]").astype(np.int64)
        last = np.array(self.last, dtype="datetime64[D]").astype(np.int64)
        slice_of = np.searchsorted(first, days, side="right") - 1
        outside = (slice_of < 0) | (days > last[np.maximum(slice_of, 0)])
        return np.where(outside, -1, slice_of).astype(np.int32)

    def table(self) -> pl.DataFrame:
        """Return one row per slice: label, first and last day."""
        return pl.DataFrame({"label": self.labels, "first": self.first, "last": self.last}, schema=_SCHEMA)

    @classmethod
    def from_table(cls, table: pl.DataFrame) -> Slices:
        """Read back what `table` returned."""
        columns = ("label", "first", "last")
        if not isinstance(table, pl.DataFrame) or not set(columns) <= set(table.columns):
            raise OptionError(f"`table` is {checks.shown(table)}; give what `Slices.table` returned")
        return cls(*(tuple(table[name]) for name in columns))

    @classmethod
    def from_labels(cls, labels: Iterable[str | int]) -> Slices:
        """Make slices of labels that name periods: years, ranges of years, decades, quarters, months, weeks or days."""
        names: list[str] = []
        periods: list[tuple[date, date]] = []
        for label in checks.several("slices", labels, remedy="give a list of labels, such as years"):
            name = _label_or_date(label)
            period = None if name is None else _label_period(str(name))
            if period is None:
                raise OptionError(
                    f"{checks.quoted(str(name)) if isinstance(name, str) else f'The label {checks.shown(label)}'} "
                    "is not a year, range of years, month or day; give `slices` as Slices with date ranges"
                )
            names.append(str(name))
            periods.append(period)
        return cls(tuple(names), tuple(p[0] for p in periods), tuple(p[1] for p in periods))

    def _ends(self) -> str:
        if not self.labels:
            return "there are none"
        return f"the first is '{self.labels[0]}', the last '{self.labels[-1]}'"


def stored_slices(stored: Store) -> Slices:
    """Return the slices of a stored corpus or model."""
    table = stored.table("slices.parquet", _SCHEMA)
    with stored.reading("slices.parquet"):
        if table.is_empty():
            raise ValueError("there is no slice")
        return Slices.from_table(table)


def _label_or_date(value: Any) -> str | int | date | None:
    """Return a label, year or date as plain Python; None for anything else. Tables hold years as floats too."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[D]")
    value = checks.plain(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float | date) or value != value:
        return None  # what differs from itself is a number or a date that is missing
    if isinstance(value, date):
        return date(value.year, value.month, value.day)
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 10_000 else None
    return value if isinstance(value, str) or abs(value) < 10**checks.MAX_DIGITS else None


def _days(value: str | int | date) -> tuple[date, date] | None:
    """Return the first and the last day of a year or date; None where it is neither."""
    if isinstance(value, date):
        return value, value
    return parse_date(str(value)) if len(str(value)) <= _MAX_DATE else None


def _check_day(name: str, value: Any) -> date:
    day = _label_or_date(value)
    if not isinstance(day, date):
        raise OptionError(f"`{name}` holds {checks.shown(value)}; {_DAYS}")
    return day


def _label_period(label: str) -> tuple[date, date] | None:
    """Return the first and last day that a label stands for: a date, or a range such as 1990-1999 or 2018 to 2020."""
    ends = re.fullmatch(r"(\d{3,4})-(\d{4})", label)
    begin, separator, end = (ends[1], "-", ends[2]) if ends else label.rpartition(" to ")
    if not separator:
        return _days(label)
    first, last = _days(begin), _days(end)
    return None if first is None or last is None else (first[0], last[1])


def make_slices(rule: SliceRule, days: npt.NDArray[np.int32], tokens: npt.NDArray[np.int64]) -> Slices:
    """Lay slices over documents, given the date of each, as days since 1970-01-01, and how many words it has."""
    parsed = _parse(check_rule(rule))
    if isinstance(parsed, Slices):
        return parsed
    days = days + _EPOCH
    if parsed.re is _EQUAL:
        return _from_borders(_equal_borders(int(parsed[1]), days, tokens))
    step, unit = int(parsed[1]), parsed[2]
    borders = _grid_borders(step, unit, date.fromordinal(int(days.min())), date.fromordinal(int(days.max())))
    return _from_borders(borders, unit if step == 1 else None)


def check_rule(rule: SliceRule) -> str | tuple[str, ...]:
    """Check that a rule can be laid over some documents; return it, edges and periods as texts."""
    rule = checks.plain(rule)
    if not isinstance(rule, str):
        rule = checks.several("slices", rule, remedy=_HELP)
    _parse(rule)
    return rule if isinstance(rule, str) else tuple(str(_label_or_date(value)) for value in rule)


def is_grid(rule: SliceRule) -> bool:
    """Tell whether slices by this rule have a fixed length, so that they could go on."""
    return isinstance(rule, str) and _GRID.fullmatch(rule) is not None


def _parse(rule: SliceRule) -> re.Match[str] | Slices:
    """Return what a rule says: a match of `_GRID` or `_EQUAL`, or the slices that its edges or periods make."""
    if isinstance(rule, str) and "," not in rule:
        match = _GRID.fullmatch(rule) or _EQUAL.fullmatch(rule)
        if not match:
            raise OptionError(f"`slices` is {checks.shown(rule)}, which is not understood; {_HELP}")
        if not 0 < len(match[1].lstrip("0")) <= 4:
            raise OptionError(f"`slices` is {checks.shown(rule)}; its number must be from 1 to 9999")
        return match
    values = rule.split(",") if isinstance(rule, str) else rule
    periods = [value.strip() for value in values if isinstance(value, str) and _PERIOD.fullmatch(value.strip())]
    if periods and len(periods) == len(values):
        return Slices.from_labels(periods)
    edges = [_edge(value) for value in values]
    if len(edges) < 2:
        raise OptionError(f"`slices` needs at least two edges, such as 1946,1970,1991,2023, but has {len(edges)}")
    if any(b <= a for a, b in pairwise(edges)):
        raise OptionError("The edges given as `slices` must be in ascending order, each of them once")
    return _from_borders([edge.toordinal() for edge in edges])


def _edge(value: int | str | date) -> date:
    edge = _label_or_date(value)
    period = None if edge is None else _days(edge.strip() if isinstance(edge, str) else edge)
    if period is None:
        shown = checks.quoted(value) if isinstance(value, str) else f"The edge {checks.shown(value)}"
        raise OptionError(f"{shown} is not a year or date that slices can start at; {_HELP}")
    return period[0]


def _equal_borders(count: int, days: npt.NDArray[np.int32], tokens: npt.NDArray[np.int64]) -> list[int]:
    """Divide dates so that the text of each slice is about equally long; days are counted from the year 1."""
    distinct, which = np.unique(days, return_inverse=True)
    if len(distinct) < count:
        raise OptionError(
            f"`slices` is 'equal:{count}', but the documents have only {len(distinct)} different dates; "
            f'pass `slices="equal:{len(distinct)}"` or fewer'
        )
    weight = np.bincount(which, weights=np.maximum(tokens, 1))
    middle = (np.cumsum(weight) - weight / 2) / weight.sum()
    slice_of = np.minimum((middle * count).astype(np.int64), count - 1)
    # A date with much text can take up its neighbours' share: make every slice start at a date of its own.
    starts = np.searchsorted(slice_of, np.arange(count))
    starts = np.maximum.accumulate(starts - np.arange(count)) + np.arange(count)
    starts = np.minimum(starts, len(distinct) - count + np.arange(count))
    first, final = distinct[starts].tolist(), int(distinct[-1])
    if all((d.month, d.day) == (1, 1) for d in map(date.fromordinal, (*first, final))):
        final = (
            date.fromordinal(final).replace(month=12, day=31).toordinal()
        )  # dated by year: the last one lasts a year
    return [*first, final + 1]


def _grid_borders(step: int, unit: str, low: date, high: date) -> list[int]:
    """Lay a regular grid from the slice of `low` to the slice of `high`."""
    if unit in "wd":
        length = step * (7 if unit == "w" else 1)
        begin = low.toordinal() - (low.weekday() if unit == "w" and low.toordinal() > 7 else 0)
        end = high.toordinal()
    else:
        length = step * {"y": 12, "q": 3, "mo": 1, "m": 1}[unit]
        # Years and their divisors start at round numbers: 1990s, 1945-1949, Q1.
        begin = (low.year * 12 + low.month - 1) // length * length
        end = high.year * 12 + high.month - 1
    count = (end - begin) // length + 1
    if count > MOST_SLICES:
        raise OptionError(
            f"Slices of {step}{unit} from {low} to {high} would be {count:,}, more than {MOST_SLICES:,}; "
            "make `slices` longer, or look for a stray date far from the others"
        )
    borders = [begin + t * length for t in range(count + 1)]
    return [min(border, _AFTER_ALL) if unit in "wd" else _month_start(border) for border in borders]


def _month_start(month: int) -> int:
    """Return the first day of a month, counted from the year 0, within the calendar."""
    if month < 12:
        return 1
    return _AFTER_ALL if month > 9999 * 12 + 11 else date(month // 12, month % 12 + 1, 1).toordinal()


def _from_borders(borders: Sequence[int], unit: str | None = None) -> Slices:
    """Return the slices from each border, a day counted from the year 1, until the day before the next one."""
    first = tuple(date.fromordinal(border) for border in borders[:-1])
    last = tuple(date.fromordinal(border - 1) for border in borders[1:])
    if unit == "q":
        return Slices(tuple(f"{d.year:04}-Q{(d.month + 2) // 3}" for d in first), first, last)
    if unit == "w":
        return Slices(tuple("{:04}-W{:02}".format(*d.isocalendar()[:2]) for d in first), first, last)
    return Slices(_labels(first, last), first, last)


def _labels(first: Sequence[date], last: Sequence[date]) -> tuple[str, ...]:
    """Name date ranges as coarsely as all of them allow: decades, years, months or days."""
    ends = list(zip(first, last, strict=True))
    if all(a.month == a.day == 1 and b.month == 12 and b.day == 31 for a, b in ends):
        if all(a.year % 10 == 0 and b.year - a.year == 9 for a, b in ends):
            return tuple(f"{a.year:04}s" for a, _ in ends)
        return tuple(_span(f"{a.year:04}", f"{b.year:04}", "-") for a, b in ends)
    if all(a.day == 1 and (b == date.max or (b + _DAY).day == 1) for a, b in ends):
        return tuple(_span(a.isoformat()[:7], b.isoformat()[:7], " to ") for a, b in ends)
    return tuple(_span(a.isoformat(), b.isoformat(), " to ") for a, b in ends)


def _span(a: str, b: str, between: str) -> str:
    return a if a == b else a + between + b
