"""Layout of charts: the axis of time, texts that do not overlap, title and caption."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Final, TypeVar, cast

import altair as alt
import numpy as np
import polars as pl

from driftword.basics.errors import OptionError
from driftword.models.model import Model

#: Colours of Okabe and Ito, which colour-blind readers can tell apart.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DARK, FAINT, PALE = "#222222", "#8a8a8a", "#d9d9d9"
WIDTH, HEIGHT, MAP_HEIGHT, CHANGES_HEIGHT = 720, 360, 480, 240
ROOM: Final = 0.22  # share of the width that a list of neighbours takes
LINE: Final = 15  # pixels from one line of text to the next
#: Layers, or panels one above the other.
Chart = TypeVar("Chart", alt.LayerChart, alt.VConcatChart)
_FEW: Final = 9  # slices that an axis has room to name


def timed(model: Model, table: pl.DataFrame) -> pl.DataFrame:
    """Add each slice's beginning, middle and end as years, and number the stretches in which a word is observed."""
    begin = [_year(day) for day in model.slices.first]
    end = [_year(day + timedelta(1)) if day < date.max else 10_000.0 for day in model.slices.last]
    year = [(a + b) / 2 for a, b in zip(begin, end, strict=True)]
    times = {"slice": model.slices.labels, "year": year, "begin": begin, "end": end}
    table = table.join(pl.DataFrame(times), on="slice", maintain_order="left")
    if "observed" in table.columns:
        table = table.with_columns(
            stretch=pl.when("observed").then(pl.col("observed").rle_id())  # null where there is no evidence
        )
    return table


def _year(day: date) -> float:
    return day.year + (day.timetuple().tm_yday - 1) / 365.25


def _day(year: float) -> date:
    return date(int(year), 1, 1) + timedelta(round((year - int(year)) * 365.25))


def years(table: pl.DataFrame, field: str = "year") -> alt.X:
    """Return the axis of time: a few slices are named, short periods show months or days, others years."""
    low, high = float(table["begin"].min()), float(table["end"].max())  # type: ignore[arg-type]
    edge = (high - low) * 0.01
    named = table.unique("slice", maintain_order=True)
    if named.height <= _FEW and sum(map(len, named["slice"])) < WIDTH / 8:
        axis = _named(dict(zip(named["year"], named["slice"], strict=True)))
    elif high - low >= 3:
        axis = alt.Axis(format="d", grid=False, tickCount=8, tickMinStep=1)
    else:
        axis = _named({_year(day): text for day, text in _ticks(_day(low), _day(high))})
    return alt.X(f"{field}:Q", title=None, axis=axis, scale=alt.Scale(domain=[low - edge, high + edge], nice=False))


def edges(table: pl.DataFrame) -> tuple[alt.X, alt.X2, alt.Y2Datum]:
    """Return where the bar of each slice begins and ends, and its base."""
    return years(table, "begin"), alt.X2("end"), alt.Y2Datum(0)


def _named(ticks: dict[float, str]) -> alt.Axis:
    names = {f"{year:.4f}": text for year, text in ticks.items()}
    label = f"{json.dumps(names)}[format(datum.value, '.4f')]"
    return alt.Axis(grid=False, values=[float(year) for year in names], labelExpr=label)


def stacked(
    heights: Sequence[float], *, least: float, places: Sequence[float] | None = None, width: float = 0
) -> list[float]:
    """Push ascending heights up until those whose places are closer than `width` are at least `least` apart."""
    result: list[float] = []
    for i, height in enumerate(heights):
        near = (j for j in range(i) if places is None or abs(places[i] - places[j]) < width)
        result.append(max([height, *(result[j] + least for j in near)]))
    return result


def _ticks(first: date, last: date) -> list[tuple[date, str]]:
    """Choose at most nine days to name."""
    days = (last - first).days + 1
    if days < 100:
        step = -(-days // 8)
        return [(day, day.isoformat()) for day in (first + timedelta(n) for n in range(0, days, step))]
    months = [y * 12 + m for y in range(first.year, last.year + 1) for m in range(12)]
    months = [month for month in months if first <= date(month // 12, month % 12 + 1, 1) <= last]
    step = next(step for step in (1, 2, 3, 6, 12) if len(months) <= 9 * step)
    chosen = [date(month // 12, month % 12 + 1, 1) for month in months if month % step == 0]
    return [(day, f"{day:%Y-%m}") for day in chosen]


def span(table: pl.DataFrame, *columns: str) -> tuple[float, float]:
    """Return the smallest and the largest value in the columns that exist, a little apart if they are equal."""
    values = table.select(pl.col(name).cast(pl.Float64) for name in columns if name in table.columns)
    low, high = float(values.min_horizontal().min()), float(values.max_horizontal().max())  # type: ignore[arg-type]
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def spaced(table: pl.DataFrame, chosen: pl.DataFrame) -> list[float]:
    """Return where to write the lists of neighbours: near their slices, without overlap."""
    low, high = span(table, "year")
    room = (high - low) * ROOM
    places = [min(max(year, low + room / 3), high - room / 6) for year in chosen["year"]]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + room)
    excess = places[-1] - (high - room / 6)
    if excess > 0:  # push back from the right edge
        places[-1] -= excess
        for i in range(len(places) - 2, -1, -1):
            places[i] = min(places[i], places[i + 1] - room)
    return places


def pixels(places: Any) -> Any:
    """Scale positions in two dimensions to the size of a map, in pixels."""
    size = np.ptp(places, axis=0)
    return (places - places.min(axis=0)) / np.where(size > 0, size, 1) * (WIDTH - 120, MAP_HEIGHT - 80)


def beside(dots: Any, texts: Sequence[str]) -> Any:
    """Return a height for the label of each dot, above or below it, both ends first; NaN where there is no room."""
    half = _half(texts)
    heights = np.full(len(dots), np.nan)
    for i in sorted(range(len(dots)), key=lambda i: min(i, len(dots) - 1 - i)):
        for height in dots[i, 1] + np.array([13, -13, 27, -27]):
            near = (np.abs(dots[i, 0] - dots[:, 0]) < half[i] + half) & (np.abs(height - heights) < LINE)
            over = (np.abs(dots[i, 0] - dots[:, 0]) < half[i] + 4) & (np.abs(height - dots[:, 1]) < 9)
            if not near.any() and not over.any():
                heights[i] = height
                break
    return heights


def apart(places: Any, texts: Sequence[str], *, obstacles: Any, names: Sequence[str]) -> Any:
    """Place texts one by one, each moved up or down just enough to keep clear of what is there."""
    held, half = np.array(obstacles, dtype=float).reshape(-1, 2), _half(names)
    result = np.array(places, dtype=float)
    for i, width in enumerate(_half(texts)):
        near = held[np.abs(result[i, 0] - held[:, 0]) < half + width]
        for shift in sorted(range(-MAP_HEIGHT, MAP_HEIGHT + 1, 3), key=abs):
            if not (np.abs(result[i, 1] + shift - near[:, 1]) < LINE).any():
                result[i, 1] += shift
                break
        held, half = np.vstack([held, result[i]]), np.append(half, width)
    return result


def _half(texts: Sequence[str]) -> Any:
    """Return about half the width of each text, in pixels."""
    return np.array([3.4 * len(text) for text in texts])


def layered(layers: Sequence[alt.Chart]) -> alt.LayerChart:
    """Lay charts over each other."""
    return cast(alt.LayerChart, alt.layer(*layers))


def finish(chart: Chart, model: Model, title: str, *, height: int | None = HEIGHT, note: str = "") -> Chart:
    """Give a chart its size, its title, and a line that says what it was made from."""
    labels = model.slices.labels
    times = f"{labels[0]} to {labels[-1]}" if len(labels) > 1 else labels[0]
    if " to " in labels[0]:
        times = f"{model.slices.first[0]} to {model.slices.last[-1]}"
    number = f"{len(labels)} slice{'s' if len(labels) > 1 else ''}"
    caption = f"{model.title}, {times}, {number}; {model.method} embeddings"
    if height is not None:
        chart = chart.properties(width=WIDTH, height=height)
    heading = alt.TitleParams(
        title, subtitle=[caption, *([note] if note else [])], anchor="start", fontSize=16, subtitleFontSize=11,
        subtitleColor=FAINT, offset=14,
    )  # fmt: skip
    finished: Chart = (
        chart.properties(title=heading)
        .configure(font="Helvetica, Arial, sans-serif", padding=12)
        .configure_view(stroke=None)
        .configure_axis(labelColor=DARK, titleColor=DARK, titleFontWeight="normal")
    )
    return finished


def check_not_empty(table: pl.DataFrame, why: str) -> None:
    """Refuse to draw an empty figure."""
    if table.is_empty():
        raise OptionError(f"There is nothing to draw: {why}")
