from __future__ import annotations

from datetime import date

import pytest

from driftword.sources.dates import parse_date
from driftword.sources.name_dates import NameDates


def first_day(path: str) -> date | None:
    period = parse_date(NameDates().find(path))
    return period[0] if period else None


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("15-06-2022_a.txt", date(2022, 6, 15)),
        ("15_06_2022.txt", date(2022, 6, 15)),
        ("letter 15-6-2022.txt", date(2022, 6, 15)),
        ("06-15-2022.txt", date(2022, 6, 15)),  # it can only be the 15th
        ("06_06_2022.txt", date(2022, 6, 6)),
        ("06.05.2022.txt", date(2022, 5, 6)),  # dates with dots are day-first
        ("2018-1-5.txt", date(2018, 1, 5)),
        ("2018_3_15_scan.txt", date(2018, 3, 15)),
        ("2018.3.5.txt", date(2018, 3, 5)),
        ("2018_03.txt", date(2018, 3, 1)),
        ("2018.03.txt", date(2018, 3, 1)),
        ("2018-03_x.txt", date(2018, 3, 1)),
        ("2018-03_7.txt", date(2018, 3, 1)),
        ("letter_7_2018-03.txt", date(2018, 3, 1)),
        ("1861-05-12_1.txt", date(1861, 5, 12)),
        ("7_1861-05-12.txt", date(1861, 5, 12)),
        ("1861-05-12T10.30.txt", date(1861, 5, 12)),
        ("20180315_1830.txt", date(2018, 3, 15)),
    ],
)
def test_dates_and_months(path: str, day: date) -> None:
    assert first_day(path) == day


@pytest.mark.parametrize(
    ("path", "year"),
    [
        ("1990-1999.txt", 1990),  # a range of years is its first, as a decade is
        ("1990-99.txt", 1990),
        ("1861_003.txt", 1861),
        ("1861_45.txt", 1861),  # neither a month nor a day and a month
        ("1866_14_45.txt", 1866),
        ("vol2_1861.txt", 1861),
        ("1861_2nd_letter.txt", 1861),
        ("1861_12th_letter.txt", 1861),
        ("1861/letter_7.txt", 1861),
    ],
)
def test_years_beside_other_numbers(path: str, year: int) -> None:
    assert first_day(path) == date(year, 1, 1)


@pytest.mark.parametrize(
    "path",
    [
        *("06_05_2022.txt", "06-05-2022.txt", "2022/06_05_2022.txt", "31_02_2022.txt", "06.15.2022.txt"),
        *("2018-02-31.txt", "2018_15_06.txt", "7_1861.txt", "1861_7.txt", "05-1861.txt", "letter 03_2018_01.txt"),
    ],
)
def test_uncertain_dates_are_not_guessed(path: str) -> None:
    assert NameDates().find(path) == path
    assert first_day(path) is None


def test_a_pattern_finds_what_is_uncertain() -> None:
    assert NameDates(r"\d\d_\d\d_\d{4}").find("2022/06_05_2022.txt") == "06_05_2022"


@pytest.mark.parametrize(
    ("name", "date"),
    [("12 May 1861.txt", "12 May 1861"), ("May_1861_home.txt", "May 1861"), ("may-12-1861.txt", "may 12 1861"),
     ("letter of 3 Sept. 1862.txt", "3 Sept 1862"), ("mayor 1861.txt", "1861")],
)  # fmt: skip
def test_months_may_be_named(name: str, date: str) -> None:
    assert NameDates().find(name) == date
