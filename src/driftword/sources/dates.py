"""Dates as people write them, read as days.

A date may be a day, a month, a quarter, a year or a decade; a document gets the first day of that period. Dates with
dots are read day first, unless they begin with the year (15.06.2018, 2018.06.15). Dates with slashes such as 03/04/1921
can be read in two ways, and two-digit years in many: they need the user's format.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import accumulate
from typing import Final

import polars as pl

from driftword.basics.errors import OptionError, SourceError

_MONTH_NAMES = (
    *("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug"),
    *("september sep sept", "october oct", "november nov", "december dec"),
)
_MONTHS: Final = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}
MONTH_NAME: Final = f"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})"
_MONTH = f"(?P<name>{MONTH_NAME})\\.?"
_YEAR = r"(?P<year>\d{1,4})"
_CIRCA = re.compile(r"^(?:c|ca|circa|about|approx|around)\b\.?\s*|^[\[(]|[\])?]+$", re.IGNORECASE)
_CLOCK = r"(?:[T\s]\s*\d{1,2}:\d{2}.*|T\d{2,6}.*)?"
_FORMS: Final = [
    re.compile(form, re.IGNORECASE)
    for form in (
        _YEAR + r"(?:\.0+)?",
        r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})" + _CLOCK,
        r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})" + _CLOCK,
        r"(?P<year>\d{4})\.(?P<month>\d{1,2})\.(?P<day>\d{1,2})" + _CLOCK,
        r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})" + _CLOCK,
        r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})",
        r"(?P<year>\d{4})[-/](?P<month>\d{1,2})",
        r"(?P<year>\d{4})[-\s]?Q(?P<quarter>[1-4])",
        r"(?P<decade>\d{3}0)'?s",
        _MONTH + r",?\s+(?P<year>\d{3,4})",
        r"(?P<day>\d{1,2})(?:st|nd|rd|th)?[-\s]+(?:of\s+)?" + _MONTH + r"[-,\s]+(?P<year>\d{3,4})" + _CLOCK,
        _MONTH + r"\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>\d{3,4})" + _CLOCK,
        r"(?P<year>\d{4})\s+" + _MONTH + r"(?:\s+(?P<day>\d{1,2}))?",
        r"(?:[a-z]{3,9},?\s+)(?P<day>\d{1,2})\s+" + _MONTH + r"\s+(?P<year>\d{4})" + _CLOCK,
        r"(?P<year>\d{4})-?W(?P<week>\d{2})",
        r"(?:[a-z]{3},?\s+)" + _MONTH + r"\s+(?P<day>\d{1,2})\s+[\d:]+\s+[+-]\d{4}\s+(?P<year>\d{4})",  # Twitter
    )
]
#: One or two digits and nothing else: the year 85, 1985, or no year at all.
_TWO_DIGITS: Final = re.compile(r"\D*\d{1,2}(?:\.0+)?\D*")
_PADDED: Final = {"%y": 2, "%Y": 4}  # strptime wants all digits: 05, 0085
#: The most characters that a date may have; no form above needs as many. What is longer is not looked at.
LONGEST_DATE: Final = 100
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_FIRST_DAY: Final = date.min.toordinal() - _EPOCH_DAY
_LAST_DAY: Final = date.max.toordinal() - _EPOCH_DAY
_UNITS: Final = ("seconds", "milliseconds", "microseconds", "nanoseconds")
#: The number of each unit in a day.
_EPOCHS: Final = {unit: 86_400 * 1000**i for i, unit in enumerate(_UNITS)}
#: Powers of ten of most numbers that count a unit from 1970: those of the years 1973 to 2286.
_MAGNITUDES: Final = {unit: (8 + 3 * i, 9 + 3 * i) for i, unit in enumerate(_UNITS)}


def parse_date(text: str) -> tuple[date, date] | None:
    """Read one date as people write it; return its first and last day, or None.

    >>> parse_date("May 1921")
    (datetime.date(1921, 5, 1), datetime.date(1921, 5, 31))
    """
    text = text.strip()
    if len(text) > LONGEST_DATE:
        return None
    value = " ".join(text.split())
    while (bare := _CIRCA.sub("", value).strip()) != value:
        value = bare
    for form in _FORMS:
        if match := form.fullmatch(value):
            try:
                return _period(match)
            except ValueError:
                return None
    return None


def _period(match: re.Match[str]) -> tuple[date, date]:
    part = match.groupdict()
    if decade := part.get("decade"):
        return date(int(decade), 1, 1), date(int(decade) + 9, 12, 31)
    year = int(part["year"])
    month = int(part.get("month") or 0) or _MONTHS.get((part.get("name") or "").lower(), 0)
    if part.get("month") and not month:
        raise ValueError("month 0")
    if week := part.get("week"):
        return date.fromisocalendar(year, int(week), 1), date.fromisocalendar(year, int(week), 7)
    if quarter := part.get("quarter"):
        month = int(quarter) * 3
        return date(year, month - 2, 1), date(year, month, monthrange(year, month)[1])
    if part.get("day"):
        day = date(year, month, int(part["day"] or 0))
        return day, day
    if month:
        return date(year, month, 1), date(year, month, monthrange(year, month)[1])
    return date(year, 1, 1), date(year, 12, 31)


TWO_DIGIT_REMEDY: Final = (
    'pass `time_format="%y"` if 85 means 1985 (00 to 68 become 2000 to 2068), '
    'or `time_format="%Y"` if it means the year 85'
)


def has_two_digits(text: str) -> bool:
    """Tell whether a text is a year of one or two digits, which can be read in several ways."""
    return len(text) <= LONGEST_DATE and _TWO_DIGITS.fullmatch(text) is not None


@dataclass
class DateReader:
    """Reads a column of dates, every batch of rows in the same way."""

    column: str  # its name, for messages
    form: str | None = None  # such as "%d/%m/%Y", or a unit counted from 1970; None for dates as people write them
    magnitudes: Counter[int] = field(default_factory=Counter, init=False)  # of numbers counted from 1970

    def __post_init__(self) -> None:
        if self.form is None or self.form in _EPOCHS:
            return
        remedy = "write one such as '%d/%m/%Y', or 'seconds' or 'milliseconds' for numbers counted from 1970"
        if "%" not in self.form:
            raise OptionError(f"`time_format` is '{self.form}', which is not a format; {remedy}")
        if not re.search(r"%[YyGcx]", self.form):
            raise OptionError(f"`time_format` is '{self.form}', which has no year (%Y); {remedy}")
        try:
            datetime.strptime("", self.form)
        except (ValueError, re.error) as error:
            if "does not match" not in str(error):
                raise OptionError(
                    f"`time_format` is '{self.form}', which is not a format ({error}); {remedy}"
                ) from error

    def check_type(self, kind: pl.DataType) -> None:
        """Refuse a column of a type that cannot hold dates."""
        if not (kind.is_numeric() or kind in (pl.Date, pl.Datetime, pl.String, pl.Categorical, pl.Enum, pl.Null)):
            raise SourceError(f"Column '{self.column}' holds {kind}, not dates; name another with `time`")

    def read(self, values: pl.Series) -> pl.Series:
        """Return the first day of each date; null where it cannot be read."""
        values = values.alias("date")
        kind = values.dtype
        self.check_type(kind)
        if kind == pl.Date:
            days = within_calendar(values)
        elif kind == pl.Datetime:
            days = within_calendar(values).dt.date()
        elif kind == pl.Null:
            return pl.Series("date", [None] * len(values), dtype=pl.Date)
        elif self.form in _EPOCHS:
            days = self._since_1970(values, _EPOCHS[self.form or ""])
        elif kind.is_numeric() and self.form is None:
            days = self._years(values)
        else:
            days = self._texts(values)
        return days.alias("date")

    def _since_1970(self, values: pl.Series, units_per_day: int) -> pl.Series:
        """Read numbers counted from 1970; those outside the calendar become null."""
        if not values.dtype.is_integer():
            values = values.cast(pl.String) if values.dtype in (pl.Categorical, pl.Enum) else values
            values = values.cast(pl.Float64, strict=False).floor()
        numbers = values.cast(pl.Int64, strict=False)
        counted = numbers.drop_nulls()
        counted = counted.filter(counted != 0)  # often a date that is missing
        magnitudes = counted.cast(pl.Float64).abs().log10().floor().cast(pl.Int8)
        self.magnitudes.update(dict(magnitudes.value_counts().iter_rows()))
        days = numbers // units_per_day
        inside = days.is_between(_FIRST_DAY, _LAST_DAY)
        return days.set(~inside.fill_null(value=False), None).cast(pl.Int32).cast(pl.Date)

    def check_unit(self) -> None:
        """Refuse a column, once all of it is read, whose numbers count another unit than `form` says.

        Most of its dates would be after the year 5000, or all of them within a few months of 1970.
        """
        if self.form not in _EPOCHS or not self.magnitudes:
            return
        ordered = sorted(self.magnitudes)
        half = self.magnitudes.total() / 2
        reached = accumulate(self.magnitudes[magnitude] for magnitude in ordered)
        median = next(magnitude for magnitude, count in zip(ordered, reached, strict=True) if count >= half)
        largest = ordered[-1]
        usual = _MAGNITUDES[self.form or ""]
        for unit, magnitudes in _MAGNITUDES.items():
            too_large = median in magnitudes and median > usual[1]
            too_small = largest in magnitudes and largest < usual[0]
            if too_large or too_small:
                raise SourceError(
                    f"Column '{self.column}' holds numbers of about {median + 1} digits, which look like {unit} since "
                    f'1970, not {self.form}; pass `time_format="{unit}"`, or turn them into dates first'
                )

    def _years(self, values: pl.Series) -> pl.Series:
        """Read numbers as years: 1921, or 1921.0 in a table that turned integers into floats."""
        numbers = values.cast(pl.Float64)
        self._refuse_other_numbers(numbers)
        frame = numbers.to_frame("n").with_columns(n=pl.col("n").fill_nan(None))
        year = pl.col("n").cast(pl.Int32, strict=False)
        fits = (pl.col("n") == pl.col("n").floor()) & pl.col("n").is_between(100, 9999)
        return frame.select(pl.when(fits).then(pl.date(pl.when(fits).then(year), 1, 1)).alias("date")).to_series()

    def _texts(self, values: pl.Series) -> pl.Series:
        if values.dtype.is_float():  # 19210512.0, in a table that turned integers into floats
            values = values.fill_nan(None).cast(pl.Int64, strict=False)
        texts = values.cast(pl.String)
        if self.form in _PADDED:
            texts = texts.str.strip_chars().str.zfill(_PADDED[self.form])
        unique = texts.drop_nulls().unique()
        read_day = _strptime(self.form) if self.form else _first_day
        days = [read_day(text) for text in unique]
        if self.form is None and unique.len() and all(day is None for day in days):
            numbers = unique.cast(pl.Float64, strict=False).drop_nulls()
            if numbers.len() == unique.len():
                self._refuse_other_numbers(numbers)
        known = pl.DataFrame({"text": unique, "date": pl.Series(days, dtype=pl.Date)})
        frame = texts.to_frame("text").join(known, on="text", how="left", maintain_order="left")
        return frame["date"]

    def _refuse_other_numbers(self, numbers: pl.Series) -> None:
        """Refuse a column of numbers that are plainly not years, and say what they may be."""
        numbers = numbers.drop_nulls().drop_nans()
        if not numbers.len():
            return
        middle = float(numbers.median() or 0)  # type: ignore[arg-type]
        if 100 <= middle < 10_000:
            return
        example = f"{numbers[0]:.0f}"
        holds = f"Column '{self.column}' holds numbers such as {example}"
        if 0 < middle < 100:
            raise SourceError(f"{holds}, which are not years of three or four digits; {TWO_DIGIT_REMEDY}")
        for unit, (low, high) in _MAGNITUDES.items():
            if 10**low <= middle < 10 ** (high + 1):
                raise SourceError(f'{holds}, which look like {unit} since 1970; pass `time_format="{unit}"`')
        if 1000_01 <= middle <= 9999_12 or 1000_01_01 <= middle <= 9999_12_31:
            form = "%Y%m%d" if middle > 9999_12 else "%Y%m"
            raise SourceError(f'{holds}; if they are dates without dashes, pass `time_format="{form}"`')
        raise SourceError(f"{holds}, which are not years from 1 to 9999; name the column of dates with `time`")


def within_calendar(values: pl.Series) -> pl.Series:
    """Return dates or times with those outside the years 1 to 9999, which Python cannot hold, replaced by null."""
    kind = values.dtype
    if not isinstance(kind, pl.Datetime):
        return _where_between(values, values.to_physical(), _FIRST_DAY, _LAST_DAY)
    if kind.time_unit == "ns":  # which reach from 1677 to 2262
        return values
    per_day = 86_400_000 if kind.time_unit == "ms" else 86_400_000_000
    values = _where_between(values, values.to_physical(), _FIRST_DAY * per_day, (_LAST_DAY + 1) * per_day - 1)
    if kind.time_zone is None:
        return values
    # In a time zone the day may be another one. Years far outside the calendar, where Polars panics, are gone by now.
    return _where_between(values, values.dt.date().to_physical(), _FIRST_DAY, _LAST_DAY)


def _where_between(values: pl.Series, numbers: pl.Series, low: int, high: int) -> pl.Series:
    inside = numbers.is_between(low, high)
    return values.to_frame("values").select(pl.when(inside).then(pl.col("values"))).to_series().alias(values.name)


def _first_day(text: str) -> date | None:
    period = None if has_two_digits(text) else parse_date(text)
    return period[0] if period else None


def _strptime(form: str) -> Callable[[str], date | None]:
    # Python ignores a week without a day of the week; take its Monday.
    monday = re.search("%[WUV]", form) is not None and re.search("%[aAwudjxc]", form) is None
    ending, form = (" 1", f"{form} %u") if monday else ("", form)
    longest = LONGEST_DATE + len(form)  # a format may have any text of its own

    def read(text: str) -> date | None:
        text = text.strip()
        try:
            return datetime.strptime(text + ending, form).date() if len(text) <= longest else None
        except (ValueError, OverflowError):
            return None

    return read
