"""Where things stand on a chart."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftword as dw
from conftest import grouped_model, toy_model
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
    far = layout.stacked([0.1, 0.11, 0.12], least=0.05, places=[2000, 1900, 2000], width=50)
    assert far == pytest.approx([0.1, 0.11, 0.15])
    assert layout.stacked([0.0, 0.0, 0.0], least=1, places=[0, 9, 5], width=6) == [0, 0, 1]


@pytest.mark.slow
def test_words_that_would_end_the_drawing_are_drawn(tmp_path: Path) -> None:
    words = ["constructor", "__proto__", "a\x01b", "plain", "other"]
    rho = np.random.default_rng(0).normal(size=(4, 5, 3)).astype(np.float32)
    model = toy_model(rho, np.full((4, 5), 9), words, dim=3)
    for name, chart in (("d", dw.plot.drift(model)), ("n", dw.plot.neighbors(model, "constructor", n=4))):
        text = dw.plot.save(chart, tmp_path / f"{name}.svg").read_text()
        ElementTree.fromstring(text)
        for word in ("plain", "other", "ab", "constructor" if name == "d" else "__proto__"):
            assert word in text


def layers(chart: Any) -> list[dict[str, Any]]:
    """Return the layers of a chart, each with the rows that it draws."""
    drawn = chart.to_dict()
    parts = drawn.get("layer") or [layer for panel in drawn["vconcat"] for layer in panel["layer"]]
    return [{**layer, "rows": drawn["datasets"][layer.get("data", drawn.get("data"))["name"]]} for layer in parts]


def marks(chart: Any, kind: str) -> list[dict[str, Any]]:
    return [layer for layer in layers(chart) if layer["mark"]["type"] == kind]


@pytest.mark.slow
def test_each_group_has_a_line_and_a_name() -> None:
    model = grouped_model(["all", "without", "tiny", "constructor"])
    table = dw.trajectory(model, "ship", groups=["all", "without", "tiny"])
    for chart, value, expected in (
        (dw.plot.trajectory(model, "ship", groups=["all", "without", "tiny"]), "position", table),
        (dw.plot.similarity(model, "ship", "court", groups=["all", "without", "tiny"]), "similarity", None),
        (dw.plot.frequency(model, "ship", groups=["all", "without", "tiny"]), "per_million", None),
    ):
        line = marks(chart, "line")[-1]
        assert line["encoding"]["color"]["scale"]["domain"] == ["all", "without", "tiny"]
        known = {(row["group"], row["slice"]) for row in line["rows"] if row[value] is not None}
        assert {("all", label) for label in model.slices.labels} <= known
        if value == "per_million":  # it has no text in the other slices, so nothing is known about them
            assert {label for group, label in known if group == "tiny"} == {"1991"}
        else:
            assert not any(group == "without" for group, _ in known)
            assert "not observed: " in chart.to_dict()["title"]["subtitle"][1]
            assert "90%" not in str(chart.to_dict()["title"])  # there is no band
        assert len({(row["group"]) for row in marks(chart, "text")[-1]["rows"]}) == len({g for g, _ in known})
        if expected is not None:
            seen = expected.filter("observed").select("group", "slice", "position").rows()
            drawn = [(row["group"], row["slice"], row[value]) for row in line["rows"] if row[value] is not None]
            assert drawn == seen


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda m: dw.plot.trajectory(m, "ship", groups=["a"], n=3), "lists no neighbours; leave out `at` and `n`"),
        (lambda m: dw.plot.trajectory(m, "ship", groups=["a"], at=1990), "lists no neighbours; leave out `at` and `n`"),
        (lambda m: dw.plot.trajectory(m, "ship", groups=m.groups), "at most 6 groups, and 7 were given"),
        (lambda m: dw.plot.trajectory(m, "ship", groups="b"), "'ship' is not observed in these groups"),
        (lambda m: dw.plot.frequency(m, "ship", groups=["b"]), "'ship' does not occur in these groups"),
        (lambda m: dw.plot.similarity(m, "ship", ["court", "judge"], groups=["a"]), "with one other, and 2 were given"),
        (lambda m: dw.plot.similarity(m, "ship", "court", groups=["z"]), "There is no group 'z'"),
        (lambda m: dw.plot.trajectory(m, "ship", groups=[]), "`groups` is empty; name at least one group"),
        (lambda m: dw.plot.trajectory(m, "ship", groups=5), "`groups` is 5; name one group or several"),
        (lambda m: dw.plot.frequency(m.group("a"), "ship", groups="a"), "The model is that of a group, 'a'"),
        (lambda m: dw.plot.contrast(m, "ship"), "There are 7 groups; name two of them"),
        (
            lambda m: dw.plot.contrast(m, "ship", groups=["a", "b"]),
            "'ship' is not observed in both groups in any slice",
        ),
        (lambda m: dw.plot.history(m.group("a")), "draw that of the model with all groups"),
    ],
)
def test_what_cannot_be_drawn_of_groups_is_said(draw: Any, message: str) -> None:
    with pytest.raises(dw.OptionError, match=message):
        draw(grouped_model("abcdefg"))


@pytest.mark.slow
def test_groups_whose_names_would_end_the_drawing_are_drawn(tmp_path: Path) -> None:
    names = ["constructor", "without", "tiny", "a\x01b", "<script>"]
    chart = dw.plot.trajectory(grouped_model(names), "ship", groups=names)
    text = dw.plot.save(chart, tmp_path / "g.svg").read_text()
    ElementTree.fromstring(text)
    for name in ("constructor", "tiny", "ab", "&lt;script&gt;"):
        assert name in text
