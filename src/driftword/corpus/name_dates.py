"""Dates in the names of files and folders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from driftword.corpus.dates import parse_date
from driftword.errors import OptionError

#: Whole dates first, rather than a number that looks like a year: 2018-01-15, 2018_01_15, 20180115, 15.01.2018.
_WHOLE_DATES: Final = (
    re.compile(r"(?<!\d)[12]\d{3}([-_.])\d\d\1\d\d(?!\d)"),
    re.compile(r"(?<!\d)[12]\d{3}[01]\d[0-3]\d(?!\d)"),
    re.compile(r"(?<![\d.])[0-3]?\d\.[01]?\d\.[12]\d{3}(?!\d)"),
)
_YEAR_OR_MONTH: Final = re.compile(r"(?<!\d)[12]\d{3}(?:-\d\d(?:-\d\d)?)?(?!\d)")


class NameDates:
    """Finds dates in paths.

    Parameters
    ----------
    pattern
        A regular expression that finds the date, its first group if it has one; by default whole dates and years.
    """

    def __init__(self, pattern: str | None = None) -> None:
        try:
            self._pattern = re.compile(pattern) if pattern is not None else None
        except re.error as error:
            raise OptionError(f"`time_from_name` is '{pattern}', which is not a regular expression: {error}") from error

    def find(self, path: str) -> str:
        """Return the date in a file's name, or in its folders from the nearest outwards; the path if there is none."""
        for part in (*reversed(Path(path).parts), path):
            if self._pattern is None:
                if text := _usual_date(part):
                    return text
            elif match := self._pattern.search(part):
                return match[1] if self._pattern.groups and match[1] else match[0]
        return path  # the error about it shows the path


def _usual_date(name: str) -> str | None:
    for form in _WHOLE_DATES:
        for match in form.finditer(name):
            text = match[0].replace("_", "-")
            if parse_date(text):
                return text
    year = _YEAR_OR_MONTH.search(name)
    return year[0] if year else None
