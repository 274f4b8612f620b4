from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftword.basics.errors import OptionError, UnknownSliceError
from driftword.corpus.slices import Slices, check_rule, make_slices


def days(*values: date) -> np.ndarray:
    return np.array(values, dtype="datetime64[D]").astype(np.int32)


def laid(rule, *values: date, tokens: list[int] | None = None) -> Slices:  # type: ignore[no-untyped-def]
    return make_slices(rule, days(*values), np.array(tokens or [1] * len(values)))


def test_labels_people_read() -> None:
    span = (date(1858, 3, 1), date(1861, 7, 4))
    assert laid("1y", *span).labels == ("1858", "1859", "1860", "1861")
    assert laid("2y", *span).labels == ("1858-1859", "1860-1861")
    assert laid("5y", *span).labels == ("1855-1859", "1860-1864")
    assert laid("10y", *span).labels == ("1850s", "1860s")
    assert laid("100y", *span).labels == ("1800-1899",)
    assert laid("1q", date(2020, 2, 1), date(2020, 12, 1)).labels == ("2020-Q1", "2020-Q2", "2020-Q3", "2020-Q4")
    assert laid("1mo", date(2019, 12, 31), date(2020, 1, 1)).labels == ("2019-12", "2020-01")
    assert laid("6mo", date(2020, 1, 1), date(2020, 12, 1)).labels == ("2020-01 to 2020-06", "2020-07 to 2020-12")
    assert laid("1w", date(2020, 12, 31), date(2021, 1, 4)).labels == ("2020-W53", "2021-W01")
    assert laid("1d", date(2020, 2, 28), date(2020, 3, 1)).labels == ("2020-02-28", "2020-02-29", "2020-03-01")
    assert laid([1946, 1970, 1991], date(1950, 1, 1)).labels == ("1946-1969", "1970-1990")
    assert laid("1989-11-09,1991-12-26,2000", date(1990, 1, 1)).labels == (
        "1989-11-09 to 1991-12-25",
        "1991-12-26 to 1999-12-31",
    )


def test_periods_may_leave_time_out() -> None:
    made = laid("1810-1860, 1960-2010", date(1850, 1, 1))
    assert made.labels == ("1810-1860", "1960-2010")
    assert (made.first[1], made.last[0]) == (date(1960, 1, 1), date(1860, 12, 31))
    assert made.find(days(date(1809, 12, 31), date(1860, 12, 31), date(1900, 1, 1), date(2010, 1, 1))).tolist() == [
        -1, 0, -1, 1,
    ]  # fmt: skip
    dated = ["1914-07-28 to 1918-11-11", "1939-09-01 to 1945-05-08"]
    assert laid(dated, date(1915, 1, 1)).labels == tuple(dated) == check_rule(dated)
    for wrong in (["1960-2010", "1810-1860"], ["1810-1860", "1850-1900"]):
        with pytest.raises(OptionError, match="without overlap"):
            check_rule(wrong)
    with pytest.raises(OptionError, match="cannot end before it begins"):
        check_rule("1860-1810,1960-2010")


def test_empty_slices_belong_to_the_grid() -> None:
    made = laid("1y", date(1900, 1, 1), date(1904, 1, 1))
    assert len(made) == 5
    assert made.find(days(date(1902, 6, 1)))[0] == 2


def test_equal_slices_balance_tokens_and_split_no_date() -> None:
    dates = [date(1900 + i, 1, 1) for i in range(10)]
    made = laid("equal:2", *dates, tokens=[1, 1, 1, 1, 1, 1, 1, 1, 1, 100])
    assert made.labels == ("1900-1908", "1909")
    even = laid("equal:5", *dates)
    assert even.labels == ("1900-1901", "1902-1903", "1904-1905", "1906-1907", "1908-1909")
    with pytest.raises(OptionError, match="`slices` is 'equal:11', but the documents have only 10 different dates"):
        laid("equal:11", *dates)


@given(
    st.lists(st.tuples(st.dates(date(1500, 1, 1), date(2100, 1, 1)), st.integers(0, 500)), min_size=1, max_size=60),
    st.integers(1, 8),
)
def test_equal_slices_are_never_empty(documents: list[tuple[date, int]], count: int) -> None:
    dates = [day for day, _ in documents]
    if len(set(dates)) < count:
        return
    made = laid(f"equal:{count}", *dates, tokens=[n for _, n in documents])
    assert len(made) == count
    assert set(made.find(days(*dates))) == set(range(count))


@pytest.mark.slow
@given(
    st.lists(st.dates(), min_size=1, max_size=20),
    st.sampled_from(["1y", "3y", "7y", "10y", "100y", "1q", "5mo", "1w", "3w"]),
)
def test_a_grid_has_no_holes_and_holds_every_date(dates: list[date], rule: str) -> None:
    try:
        made = laid(rule, *dates)
    except OptionError as error:
        assert "more than 5,000" in str(error)
        return
    assert (made.find(days(*dates)) >= 0).all()
    for t in range(1, len(made)):
        assert made.first[t] - made.last[t - 1] == timedelta(days=1)
    assert len(set(made.labels)) == len(made)
    for t in {0, len(made) // 2, len(made) - 1}:
        assert made.index(made.labels[t]) == t
        assert made.index(made.first[t]) == t
        assert made.index(made.last[t]) == t
    assert Slices.from_table(made.table()) == made


def test_looking_up_a_slice() -> None:
    years = laid("1y", date(1946, 1, 1), date(2022, 1, 1))
    assert years.index("1986") == years.index(1986) == years.index(date(1986, 5, 1)) == years.index("May 1986") == 40
    decades = laid("10y", date(1946, 1, 1), date(2022, 1, 1))
    assert decades.index("1980s") == decades.index(1986) == decades.index("1986-05-01") == 4
    months = laid("1mo", date(2020, 1, 1), date(2021, 12, 1))
    assert months.index("2020-05") == 4
    with pytest.raises(UnknownSliceError, match="'2020' falls into 12 slices; name one of them: '2020-01', '2020-02'"):
        months.index(2020)
    with pytest.raises(UnknownSliceError, match="'1700' lies outside the slices; the first is '1946', the last '2022'"):
        years.index(1700)
    with pytest.raises(UnknownSliceError, match="'198os' is neither a slice nor a date; did you mean '1980s'"):
        decades.index("198os")


def test_a_year_of_weeks_is_ambiguous() -> None:
    weeks = laid("1w", date(1920, 12, 30), date(1922, 1, 10))
    with pytest.raises(UnknownSliceError, match="'1921' falls into 53 slices"):
        weeks.index(1921)


def test_slices_given_by_hand_are_checked() -> None:
    a, b = date(1900, 1, 1), date(1910, 1, 1)
    bad = [(("x",), (a, b), (b,)), (("x",), (b,), (a,)), (("x", "y"), (a, a), (b, b)), (("x", "x"), (a, b), (a, b))]
    for labels, first, last in bad:
        with pytest.raises(OptionError):
            Slices(labels, first, last)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("1 fortnight", "`slices` is '1 fortnight', which is not understood; write a number and a unit"),
        ("0y", "must be from 1 to 9999"),
        ("equal:0", "must be from 1 to 9999"),
        ([1990], "`slices` needs at least two edges"),
        ("2000,1990", "ascending order"),
        ([1990, "soon"], "'soon' is not a year or date"),
        ("", "is not understood"),
    ],
)
def test_rules_that_make_no_slices(rule, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(OptionError, match=message):
        check_rule(rule)


def test_a_stray_date_is_suspected() -> None:
    with pytest.raises(OptionError, match="would be 3,652,0.., more than 5,000; .* stray date"):
        laid("1d", date(1, 1, 1), date(9999, 12, 31))


def test_long_labels_and_rules_are_refused_in_a_sentence() -> None:
    """A label is divided once, at its last "to"; the dates on either side are bounded."""
    for label in (" to ".join(["1900"] * 20_000) + "\n", "[" * 60_000, "1900 to " + "[" * 60_000):
        with pytest.raises(OptionError, match="is not a year, range of years, month or day"):
            Slices.from_labels([label])
    for rule in ("9" * 5_000 + "y", "equal:" + "9" * 5_000):
        with pytest.raises(OptionError, match="which is not understood"):
            check_rule(rule)


def test_distances_are_years_between_the_middles() -> None:
    slices = Slices(
        ("a", "b", "c"),
        (date(1900, 1, 1), date(1910, 1, 1), date(1950, 1, 1)),
        (date(1909, 12, 31), date(1919, 12, 31), date(1950, 12, 31)),
    )
    np.testing.assert_allclose(slices.distances, [10, 35.5], atol=0.01)
    assert Slices(("a",), (date(1900, 1, 1),), (date(1900, 1, 1),)).distances.shape == (0,)
