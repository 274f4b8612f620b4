"""Where things stand on a chart."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftword as dw
from conftest import toy_model
from driftword.plot import layout

PLACES = st.lists(st.tuples(st.integers(0, 600), st.integers(0, 400)), min_size=1, max_size=12)


def overlapping(places: np.ndarray, texts: list[str]) -> int:
    half = np.array([3.4 * len(text) for text in texts])
    x, y = places.T
    near = (np.abs(x[:, None] - x) < half[:, None] + half) & (np.abs(y[:, None] - y) < layout.LINE)
    return int(np.triu(near, 1).sum())


@given(PLACES)
def test_texts_of_dots_never_lie_over_each_other(places: list[tuple[int, int]]) -> None:
    dots = np.array(places, dtype=float)
    texts = [f"slice {i}" for i in range(len(dots))]
    heights = layout.beside(dots, texts)
    shown = np.isfinite(heights)
    assert shown.any()
    assert np.abs(heights - dots[:, 1])[shown].max() < 2 * layout.LINE
    assert not overlapping(np.column_stack([dots[:, 0], heights])[shown], list(np.array(texts)[shown]))


@given(PLACES, PLACES)
def test_words_move_apart_and_away_from_dots(places: list[tuple[int, int]], dots: list[tuple[int, int]]) -> None:
    texts = [f"word {i}" * (1 + i % 3) for i in range(len(places))]
    moved = layout.apart(np.array(places, dtype=float), texts, obstacles=dots, names=["dot"] * len(dots))
    assert (moved[:, 0] == np.array(places)[:, 0]).all()
    everything = np.vstack([moved, dots])
    names = [*texts, *["dot"] * len(dots)]
    assert overlapping(everything, names) == overlapping(np.array(dots, dtype=float), ["dot"] * len(dots))


def test_a_word_that_has_room_stays_where_it_is() -> None:
    places = np.array([[100.0, 100], [102, 101], [300, 50]])
    moved = layout.apart(places, ["energy", "power", "far"], obstacles=[(500.0, 100.0)], names=["dot"])
    assert (moved[[0, 2]] == places[[0, 2]]).all()
    assert layout.LINE <= abs(moved[1, 1] - moved[0, 1]) < 2 * layout.LINE


def table_of(first: date, days: int, step: int) -> pl.DataFrame:
    begin = [first + timedelta(n) for n in range(0, days, step)]
    slices = dw.Slices(tuple(map(str, begin)), tuple(begin), tuple(day + timedelta(step - 1) for day in begin))
    model = SimpleNamespace(slices=slices)
    return layout.timed(model, pl.DataFrame({"slice": slices.labels}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "days", "step", "named"),
    [
        (date(2020, 1, 1), 14, 1, "2020-01-03"),
        (date(2020, 1, 15), 300, 7, "2020-07"),
        (date(2020, 1, 15), 700, 7, "2021-04"),
        (date(2019, 12, 31), 1000, 7, "2021-01"),
        (date(2020, 1, 1), 14, 7, "2020-01-08"),
    ],
)
def test_short_spans_name_months_or_days_and_few_slices_their_names(
    first: date, days: int, step: int, named: str
) -> None:
    axis = layout.years(table_of(first, days, step)).to_dict()["axis"]
    assert named in axis["labelExpr"]
    assert 2 <= len(axis["values"]) <= 9


def test_long_spans_count_whole_years() -> None:
    axis = layout.years(table_of(date(1790, 1, 1), 80_000, 1826)).to_dict()["axis"]
    assert axis["format"] == "d"
    assert axis["tickMinStep"] == 1


def test_names_at_the_ends_of_lines_keep_apart() -> None:
    assert layout.stacked([0.1, 0.11, 0.5], least=0.05) == pytest.approx([0.1, 0.15, 0.5])


def test_words_that_would_end_the_drawing_are_drawn(tmp_path: Path) -> None:
    words = ["constructor", "__proto__", "a\x01b", "plain", "other"]
    rho = np.random.default_rng(0).normal(size=(4, 5, 3)).astype(np.float32)
    model = toy_model(rho, np.full((4, 5), 9), words, dim=3)
    for name, chart in (("d", dw.plot.drift(model)), ("n", dw.plot.neighbors(model, "constructor", n=4))):
        text = dw.plot.save(chart, tmp_path / f"{name}.svg").read_text()
        ElementTree.fromstring(text)
        for word in ("plain", "other", "ab", "constructor" if name == "d" else "__proto__"):
            assert word in text
