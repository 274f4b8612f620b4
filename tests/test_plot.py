"""Where things stand on a chart."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftword.plot import layout

PLACES = st.lists(st.tuples(st.integers(0, 600), st.integers(0, 400)), min_size=1, max_size=12)


def overlapping(places: np.ndarray, texts: list[str]) -> int:
    half = np.array([3.4 * len(text) for text in texts])
    x, y = places.T
    near = (np.abs(x[:, None] - x) < half[:, None] + half) & (np.abs(y[:, None] - y) < layout.LINE)
    return int(np.triu(near, 1).sum())


@given(PLACES)
def test_texts_of_dots_never_lie_over_each_other_and_both_ends_have_one(places: list[tuple[int, int]]) -> None:
    dots = np.array(places, dtype=float)
    texts = [f"slice {i}" for i in range(len(dots))]
    heights = layout.beside(dots, texts)
    shown = np.isfinite(heights)
    assert shown[0]
    assert shown[-1]
    assert np.abs(heights - dots[:, 1])[shown].max() < 2 * layout.LINE
    assert not overlapping(np.column_stack([dots[:, 0], heights])[shown], list(np.array(texts)[shown]))


def test_words_move_apart_and_away_from_dots() -> None:
    places = np.array([[100.0, 100], [102, 101], [98, 99], [300, 50]])
    texts = ["energy", "power", "resources", "far"]
    moved = layout.apart(places, texts, obstacles=[(101.0, 100.0)], names=["dot"])
    assert (moved[3] == places[3]).all()
    assert not overlapping(np.vstack([moved, [(101.0, 100.0)]]), [*texts, "dot"])
    assert (moved[:, 0] == places[:, 0]).all()


@pytest.mark.parametrize(
    ("first", "days", "named"),
    [
        (date(2020, 1, 1), 14, "2020-01-03"),
        (date(2020, 1, 15), 300, "2020-07"),
        (date(2020, 1, 15), 700, "2021-04"),
        (date(2019, 12, 31), 1000, "2021-01"),
    ],
)
def test_short_spans_name_months_or_days(first: date, days: int, named: str) -> None:
    years = [layout._year(first + timedelta(n)) for n in range(0, days, 7)]
    axis = layout.years(pl.DataFrame({"year": years})).to_dict()["axis"]
    assert named in axis["labelExpr"]
    assert 3 <= len(axis["values"]) <= 9
    assert all(years[0] - 0.01 <= value <= years[-1] + 0.01 for value in axis["values"])


def test_long_spans_count_whole_years() -> None:
    axis = layout.years(pl.DataFrame({"year": [1790.5, 2026.5]})).to_dict()["axis"]
    assert axis["format"] == "d"
    assert axis["tickMinStep"] == 1
