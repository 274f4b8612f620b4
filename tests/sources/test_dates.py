from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftword.basics.errors import OptionError, SourceError
from driftword.sources import dates
from driftword.sources.dates import DateReader, parse_date, within_calendar


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("1921", date(1921, 1, 1), date(1921, 12, 31)),
        (" 1921.0 ", date(1921, 1, 1), date(1921, 12, 31)),
        ("1921-05", date(1921, 5, 1), date(1921, 5, 31)),
        ("1921-05-12", date(1921, 5, 12), date(1921, 5, 12)),
        ("1921/5/3", date(1921, 5, 3), date(1921, 5, 3)),
        ("12.5.1921", date(1921, 5, 12), date(1921, 5, 12)),
        ("15.06.2022 10:30", date(2022, 6, 15), date(2022, 6, 15)),
        ("1921.05.12", date(1921, 5, 12), date(1921, 5, 12)),
        ("19210512", date(1921, 5, 12), date(1921, 5, 12)),
        ("1921-05-12T10:30:00Z", date(1921, 5, 12), date(1921, 5, 12)),
        ("1921-05-12 10:30:00.123+02:00", date(1921, 5, 12), date(1921, 5, 12)),
        ("2020-W05", date(2020, 1, 27), date(2020, 2, 2)),
        ("Mon Mar 23 00:15:46 +0000 2020", date(2020, 3, 23), date(2020, 3, 23)),
        ("May 1921", date(1921, 5, 1), date(1921, 5, 31)),
        ("Feb. 1920", date(1920, 2, 1), date(1920, 2, 29)),
        ("12 May 1921", date(1921, 5, 12), date(1921, 5, 12)),
        ("12th of May, 1921", date(1921, 5, 12), date(1921, 5, 12)),
        ("12-May-1921", date(1921, 5, 12), date(1921, 5, 12)),
        ("MAY 12, 1921", date(1921, 5, 12), date(1921, 5, 12)),
        ("1921 May 12", date(1921, 5, 12), date(1921, 5, 12)),
        ("Thu, 12 May 1921 10:00:00 GMT", date(1921, 5, 12), date(1921, 5, 12)),
        ("1921-Q2", date(1921, 4, 1), date(1921, 6, 30)),
        ("1850s", date(1850, 1, 1), date(1859, 12, 31)),
        ("c. 1850", date(1850, 1, 1), date(1850, 12, 31)),
        ("ca 1850s", date(1850, 1, 1), date(1859, 12, 31)),
        ("circa May 1850", date(1850, 5, 1), date(1850, 5, 31)),
        ("[1850?]", date(1850, 1, 1), date(1850, 12, 31)),
        ("1", date(1, 1, 1), date(1, 12, 31)),
        ("9999", date(9999, 1, 1), date(9999, 12, 31)),
    ],
)
def test_dates_as_people_write_them(text: str, first: date, last: date) -> None:
    assert parse_date(text) == (first, last)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "0", "10000", "-5", "1921-13", "1921-02-30", "31 June 1921", "03/04/1921", "06.15.2022", "12.5.21",
     "1609459200", "1921-00-10", "1921-", "May", "May 12", "May 13, 21", "1850s s", "1e3", "nan"],
)  # fmt: skip
def test_what_is_no_date(text: str) -> None:
    assert parse_date(text) is None


@given(st.dates())
def test_every_iso_date_is_read(day: date) -> None:
    assert parse_date(day.isoformat()) == (day, day)


@given(st.dates(min_value=date(1000, 1, 1)))
def test_every_written_date_is_read(day: date) -> None:
    assert parse_date(f"{day:%d %B %Y}") == (day, day)
    assert parse_date(f"{day:%b} {day.day}, {day.year}") == (day, day)


def read(values: object, *, form: str | None = None, kind: pl.DataType | None = None) -> list[date | None]:
    return DateReader("when", form).read(pl.Series(values, dtype=kind)).to_list()  # type: ignore[arg-type]


def test_columns_of_every_type() -> None:
    day = date(1921, 5, 12)
    assert read([day, None]) == [day, None]
    assert read([datetime(1921, 5, 12, 23, 59), None]) == [day, None]
    west = timezone(timedelta(hours=-5))
    assert read([datetime(1921, 5, 12, 23, 59, tzinfo=west)]) != [None]
    assert read([1921, None, 101]) == [date(1921, 1, 1), None, date(101, 1, 1)]
    assert read([1921.0, float("nan"), 1921.5]) == [date(1921, 1, 1), None, None]
    assert read(["May 1921", None, "x"]) == [date(1921, 5, 1), None, None]
    assert read([1921, 0, 10_000, -3]) == [date(1921, 1, 1), None, None, None]


def test_a_format_of_the_users() -> None:
    assert read(["03/04/1921", "3 April"], form="%d/%m/%Y") == [date(1921, 4, 3), None]
    assert read([19210512], form="%Y%m%d") == [date(1921, 5, 12)]
    assert read([0, 86_400], form="seconds") == [date(1970, 1, 1), date(1970, 1, 2)]
    assert read(["1609459200000"], form="milliseconds") == [date(2021, 1, 1)]
    with pytest.raises(OptionError, match="`time_format` is 'd/m/y', which is not a format"):
        DateReader("when", "d/m/y")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1_609_459_200, 1_609_459_300], 'look like seconds since 1970; pass `time_format="seconds"`'),
        (["1609459200", "1609459300"], "look like seconds since 1970"),
        ([1_609_459_200_000], "look like milliseconds since 1970"),
        ([19_210_512, 19_210_513], '`time_format="%Y%m%d"`'),
        ([12_345], "are not years from 1 to 9999"),
    ],
)
def test_numbers_that_are_no_years_are_named(values: list[object], message: str) -> None:
    with pytest.raises(SourceError, match=f"Column 'when' holds numbers such as .*{message}"):
        read(values)


def test_formats_without_a_year_or_sense() -> None:
    for form, message in [("%d/%m", "has no year"), ("%Y-%Q", "is not a format"), ("%Y%Y", "is not a format")]:
        with pytest.raises(OptionError, match=message):
            DateReader("when", form)


@pytest.mark.parametrize(
    ("form", "text", "day"),
    [
        ("%Y-W%W", "2020-W05", date(2020, 2, 3)),
        ("%Y week %U", "2020 week 05", date(2020, 2, 3)),
        ("%G-W%V", "2020-W05", date(2020, 1, 27)),
        ("%G-W%V-%u", "2020-W05-3", date(2020, 1, 29)),
        ("%Y-W%W-%w", "2020-W05-0", date(2020, 2, 9)),
        ("%Y-%m-%d W%W", "2020-02-05 W05", date(2020, 2, 5)),
    ],
)
def test_weeks_of_the_users(form: str, text: str, day: date) -> None:
    assert DateReader("when", form).read(pl.Series([text])).to_list() == [day]


def test_numbers_that_lost_their_integers() -> None:
    assert read([19210512.0, None], form="%Y%m%d") == [date(1921, 5, 12), None]
    assert read([1921.0, float("nan"), float("nan")]) == [date(1921, 1, 1), None, None]
    with pytest.raises(SourceError, match='`time_format="%Y%m"`$'):
        read([192105, 192106])


@pytest.mark.parametrize("values", [[85, 92], [85.0, None, 7.0], ["85", "92"], ["'85", "'92"], ["c. 85"]])
def test_two_digit_years_are_not_guessed(values: list[object]) -> None:
    if "c. 85" in values or "'85" in values:
        assert read(values) == [None] * len(values)
        return
    with pytest.raises(
        SourceError, match="Column 'when' holds numbers such as .*`time_format=\"%y\"` if 85 means 1985"
    ):
        read(values)


def test_two_digit_years_among_others_are_no_dates() -> None:
    assert read([1985, 1992, 85]) == [date(1985, 1, 1), date(1992, 1, 1), None]
    assert read(["1985", "85", "May 1992"]) == [date(1985, 1, 1), None, date(1992, 5, 1)]


def test_two_digit_years_with_their_format() -> None:
    assert read([85, 5, 99], form="%y") == [date(1985, 1, 1), date(2005, 1, 1), date(1999, 1, 1)]
    assert read(["85", "05", None], form="%y") == [date(1985, 1, 1), date(2005, 1, 1), None]
    assert read([85, 5, 1066], form="%Y") == [date(85, 1, 1), date(5, 1, 1), date(1066, 1, 1)]
    assert read(["085", "0005", "850"]) == [date(85, 1, 1), date(5, 1, 1), date(850, 1, 1)]


@pytest.mark.parametrize(
    "text",
    [
        *("[" * 60_000, "]" * 60_000, "[" * 60_000 + "1850" + "]" * 60_000, "1900" + "?" * 60_000 + "x"),
        *("c " * 60_000, "ca. " * 60_000 + "1850", "1900-01-01T" + ":" * 60_000, " to ".join(["1900"] * 10_000)),
    ],
    ids=range(8),
)
def test_long_texts_are_no_dates_at_once(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No form is tried on them: the work is that of stripping the text."""
    monkeypatch.setattr(dates, "_CIRCA", None)
    monkeypatch.setattr(dates, "_FORMS", None)
    monkeypatch.setattr(dates, "_TWO_DIGITS", None)
    assert parse_date(text) is None
    assert not dates.has_two_digits(text)


def test_what_a_date_is_read_in_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_date("[" * 40 + " 1850 " + "?]" * 20) == (date(1850, 1, 1), date(1850, 12, 31))
    assert parse_date(" " * 60_000 + "1850") == (date(1850, 1, 1), date(1850, 12, 31))
    assert read(["1850-05-01" + "x" * 200, "1850-05-01"], form="%Y-%m-%d") == [None, date(1850, 5, 1)]
    prefix = "https://example.org/" + "a" * 200
    assert read([f"{prefix}/1850/05"], form=f"{prefix}/%Y/%m") == [date(1850, 5, 1)]


def test_times_at_the_ends_of_the_calendar() -> None:
    """Years that Python cannot hold are null, in the time zone of the column, and Polars does not panic at them."""
    day = 86_400_000_000
    first, last = -719_162 * day, 2_932_897 * day - 1
    cases: dict[str | None, tuple[date | None, date | None]] = {
        None: (date.min, date.max),
        "UTC": (date.min, date.max),
        "Asia/Tokyo": (date.min, None),
        "America/New_York": (None, date.max),
    }
    for zone, ends in cases.items():
        values = pl.Series(
            [-(2**63), -(2**62), first - 1, first, last, last + 1, 2**62, 2**63 - 1, None], dtype=pl.Int64
        )
        times = values.cast(pl.Datetime("us", zone))
        assert DateReader("when").read(times).to_list() == [None, None, None, *ends, None, None, None, None], zone
        assert within_calendar(times).to_list()[-1] is None
        assert DateReader("when").read(values.cast(pl.Datetime("ms", zone))).null_count() == 9


def test_nanoseconds_are_read() -> None:
    when = datetime(2020, 5, 1, 23)
    for zone, day in {None: date(2020, 5, 1), "Asia/Tokyo": date(2020, 5, 2)}.items():
        times = pl.Series([when, None], dtype=pl.Datetime("ns"))
        times = times.dt.replace_time_zone("UTC").dt.convert_time_zone(zone) if zone else times
        assert DateReader("when").read(times).to_list() == [day, None]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["1921", "May 1922", "x"])])
def test_categories_are_read_as_their_texts(kind: pl.DataType) -> None:
    values = pl.Series(["1921", "May 1922", "x", None], dtype=kind)
    assert DateReader("when").read(values).to_list() == [date(1921, 1, 1), date(1922, 5, 1), None, None]


@pytest.mark.parametrize("kind", [pl.Duration("us"), pl.Time, pl.Boolean, pl.Binary, pl.List(pl.Int64)])
def test_other_types_are_no_dates(kind: pl.DataType) -> None:
    with pytest.raises(SourceError, match="Column 'when' holds .*, not dates; name another with `time`"):
        DateReader("when").read(pl.Series([None], dtype=kind))


UNITS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}


@pytest.mark.slow
@pytest.mark.parametrize("given", UNITS)
@pytest.mark.parametrize("meant", UNITS)
@pytest.mark.parametrize("years", [(1980, 2020), (1950, 1990), (1850, 1960)])
def test_numbers_of_another_unit_are_noticed(given: str, meant: str, years: tuple[int, int]) -> None:
    days = [date(year, 5, 1) for year in range(*years)]
    numbers = [(day - date(1970, 1, 1)).days * 86_400 * UNITS[meant] for day in days]
    for values in (pl.Series(numbers), pl.Series([str(number) for number in numbers])):
        reader = DateReader("when", given)
        read = pl.concat([reader.read(values[:10]), reader.read(values[10:])])
        if given == meant:
            reader.check_unit()
            assert read.to_list() == days
        else:
            with pytest.raises(
                SourceError, match=f'look like {meant} since 1970, not {given}; pass `time_format="{meant}"'
            ):
                reader.check_unit()


def test_a_first_batch_of_early_1970_is_no_mistake() -> None:
    """Whether a column counts another unit shows only at its end."""
    reader = DateReader("when", "milliseconds")
    day = 86_400_000
    assert reader.read(pl.Series([day, 50 * day])).to_list() == [date(1970, 1, 2), date(1970, 2, 20)]
    reader.read(pl.Series([10_000 * day]))
    reader.check_unit()
