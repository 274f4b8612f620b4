"""Dates in the names of files and folders.

A whole date is preferred to a month, and a month to a year. Only what can be read in just one way is read: a
year that may be part of a date in an unknown order, as in 06_05_2022, is not taken for the whole of that year.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from driftword.basics.errors import OptionError
from driftword.sources.dates import MONTH_NAME, parse_date

_YEAR: Final = re.compile(r"(?<!\d)[12]\d{3}(?!\d)")
#: 2018-01-15, 2018_1_5 and 2018.01.15; 20180115; 15.01.2018.
_WHOLE_DATES: Final = (
    re.compile(r"(?<!\d)[12]\d{3}([-_.])\d{1,2}\1\d{1,2}(?!\d)"),
    re.compile(r"(?<!\d)[12]\d{3}[01]\d[0-3]\d(?!\d)"),
    re.compile(r"(?<![\d.])[0-3]?\d\.[01]?\d\.[12]\d{3}(?!\d)"),
)
#: 15-06-2022 and 06_15_2022, whose order follows from the numbers.
_YEAR_LAST: Final = re.compile(r"(?<!\d)(\d{1,2})([-_])(\d{1,2})\2([12]\d{3})(?!\d)")
#: 12 May 1861, May_1861, may-12-1861.
_NAMED_MONTH: Final = re.compile(
    rf"(?<![^\W_])(?:\d{{1,2}}[-_. ]+)?{MONTH_NAME}[-_. ]+(?:\d{{1,2}}[-_., ]+)?[12]\d{{3}}(?!\d)", re.IGNORECASE
)
_LETTER_OR_DIGIT = r"[^\W_]"
#: 2018-01, unless it goes on as a date, or as in 1861_12th_letter.
_MONTH: Final = re.compile(
    rf"([12]\d{{3}})([-_.])(\d\d)(?!\d|st|nd|rd|th|\2\d{{1,2}}(?!{_LETTER_OR_DIGIT}))", re.IGNORECASE
)
#: One or two numbers of at most two digits that touch a year.
_BEFORE: Final = re.compile(rf"(?<!{_LETTER_OR_DIGIT})(?:(\d{{1,2}})[-_.])?(\d{{1,2}})([-_.])$")
_AFTER: Final = re.compile(rf"[-_.](\d{{1,2}})(?!{_LETTER_OR_DIGIT})(?:[-_.](\d{{1,2}})(?!{_LETTER_OR_DIGIT}))?")


class NameDates:
    """Finds dates in paths: whole dates, months and years, or what a user's regular expression finds.

    Where the expression has groups, the first is the date.
    """

    def __init__(self, pattern: str | None = None) -> None:
        try:
            self._pattern = re.compile(pattern) if pattern is not None else None
        except re.error as error:
            raise OptionError(f"`time_from_name` is '{pattern}', which is not a regular expression: {error}") from error

    def find(self, path: str) -> str:
        """Return the date in a file's name, or in its folders from the nearest outwards.

        Without a date, or where the nearest one is ambiguous, the path itself is returned, for the error to show.
        """
        for part in (*reversed(Path(path).parts), path):
            if self._pattern is None:
                if (text := _usual_date(part)) is not None:
                    return text or path
            elif match := self._pattern.search(part):
                return match[1] if self._pattern.groups and match[1] else match[0]
        return path


def _usual_date(name: str) -> str | None:
    """Return the date in a name; an empty text if it is ambiguous, None if there is none."""
    if (whole := _whole_date(name)) is not None:
        return whole
    year = _YEAR.search(name)  # of several, as in 1990-1999, the first
    if year is None:
        return None
    before, after = _BEFORE.search(name[: year.start()]), _AFTER.match(name, year.end())
    month = _MONTH.match(name, year.start())
    if month and (before is None or before[3] != month[2]) and parse_date(text := f"{month[1]}-{month[3]}"):
        return text
    if (before and _may_be_date(before[2], before[1])) or (after and _may_be_date(after[1], after[2])):
        return ""
    return year[0]


def _whole_date(name: str) -> str | None:
    for form in _WHOLE_DATES:
        for match in form.finditer(name):
            text = match[0].replace("_", "-")
            if parse_date(text):
                return text
    for match in _NAMED_MONTH.finditer(name):
        if parse_date(text := re.sub(r"[-_., ]+", " ", match[0])):
            return text
    for match in _YEAR_LAST.finditer(name):
        year, first, second = int(match[4]), int(match[1]), int(match[3])
        readings = {(month, day) for day, month in ((first, second), (second, first)) if month <= 12}
        if len(readings) == 1:
            month, day = readings.pop()
            if parse_date(text := f"{year}-{month:02}-{day:02}"):
                return text
    return None


def _may_be_date(nearest: str, next_one: str | None) -> bool:
    """Tell whether numbers beside a year may be a month, or a day and a month; 1866_14_45 is a volume and a page."""
    return 1 <= int(nearest) <= 12 or (1 <= int(nearest) <= 31 and 1 <= int(next_one or 0) <= 12)
