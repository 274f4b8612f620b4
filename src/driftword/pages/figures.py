"""Figures of the pages: lines and bars over time, as SVG in which every slice can be a link.

Pages include them as they are, with or without scripts; `standalone` turns one into a file.
Figures for print come from `driftword.plot`.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, NotRequired, TypedDict, cast

from markupsafe import Markup, escape

from driftword.basics.tables import printable
from driftword.corpus import Slices

STATIC: Final = Path(__file__).parent / "static"
SPARK_WIDTH, SPARK_HEIGHT = 180, 36
WIDTH, HALF_WIDTH = 760, 480  # a figure as wide as the page, and one of two side by side
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 22, 26
_NAMES_WIDTH: Final = 150  # for the names at the ends of lines
_LINE_HEIGHT: Final = 15
_LETTER_WIDTH: Final = 7.2
_FULL_OPACITY_COUNT: Final = 50  # occurrences from which a dot is fully opaque

Kind = Literal["lines", "bars", "distance"]
Point = tuple[float, float]
Interval = tuple[Sequence[float | None], Sequence[float | None]]
ToY = Callable[[float], float]


class Series(TypedDict):
    """One line or set of bars: a value for each slice, and the evidence for it, where that matters.

    `counts` says how often the word occurs there (None: unknown), `observed` whether it does so in training text.
    """

    name: str
    values: list[float | None]
    counts: list[int | None] | None
    observed: list[bool] | None
    interval: NotRequired[Interval]  # the lower and the upper end around each value


class Change(TypedDict):
    """A slice in which a word changed, and the slices between which that may have been."""

    at: str
    low: str
    high: str


class Figure(TypedDict):
    """A figure as data; `label` names its vertical axis, `color` is the number of the first line's colour.

    A figure of distances may have `usual`, between which the distances of most words lie that did not change; `top`, to
    which its axis reaches at least; `changes`, which are marked; `first`, from which they are measured; and `sides`,
    what the word was near before its change, and since.
    """

    title: str
    label: str
    kind: Kind
    width: int
    height: int
    series: list[Series]
    color: int
    usual: NotRequired[Interval]
    top: NotRequired[float]
    changes: NotRequired[list[Change]]
    sides: NotRequired[tuple[list[str], list[str]]]
    first: NotRequired[str]


def figure(
    title: str, label: str, kind: Kind, *, series: Sequence[Series], color: int = 0, height: int = 230,
    width: int = WIDTH, **more: Any,
) -> Figure:  # fmt: skip
    """Describe a figure of lines, of bars, or of distances.

    `color` is the number of the first line's colour, so that a word can have the same one in all figures of a page.
    """
    described: Any = {
        "title": title, "label": label, "kind": kind, "width": width, "height": height, "series": list(series),
        "color": color, **more,
    }  # fmt: skip
    return cast(Figure, described)


def draw(
    slices: Slices, figure: Figure, *, href: Callable[[str], str] | None = None, pinned: Sequence[str] = ()
) -> Markup:
    """Draw a figure. Where `href` returns an address for the label of a slice, that part of the figure is a link."""
    series, kind, width, height = figure["series"], figure["kind"], figure["width"], figure["height"]
    several = len(series) > 1
    right = width - (_NAMES_WIDTH if several else _RIGHT)
    time_axis = TimeAxis(slices, _LEFT, right)
    drawn: list[Sequence[float | None]] = [one["values"] for one in series]
    drawn += [end for one in series for end in one.get("interval", ())] + list(figure.get("usual", ()))
    values = [value for line in drawn for value in line if value is not None]
    values += [figure["top"]] if "top" in figure else []
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if kind in ("bars", "distance"):
        low = min(low, 0.0)
    if high <= low:
        high = low + (abs(low) or 1.0)
    ticks = _value_ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])

    def y(value: float) -> float:
        return float(round(height - _BOTTOM - (value - low) / (high - low) * (height - _BOTTOM - _TOP), 1))

    parts = [change_marks(time_axis, one, height) for one in figure.get("changes", [])]
    parts.append(_axes(time_axis, ticks, y, height=height, label=figure["label"]))
    if "usual" in figure:
        parts.append(_band(time_axis, figure["usual"], y, "usual"))
    bands = [(color, one["interval"]) for color, one in enumerate(series, figure["color"]) if "interval" in one]
    parts += [_band(time_axis, ends, y, f"interval s{color}") for color, ends in bands]
    if href is not None:
        known = [one["counts"] for one in series if one["counts"]]
        counts = known[0] if len(known) == 1 else None
        parts.append(slice_links(time_axis, counts, href=href, pinned=pinned, height=height))
    if kind == "bars":
        parts += [draw_bars(time_axis, one["values"], one["observed"], y) for one in series]
    else:
        whole = kind == "distance"
        parts += [_line(time_axis, one, y, color, whole=whole) for color, one in enumerate(series, figure["color"])]
    if several:
        parts.append(_line_names(series, figure["color"], y, right, height))
    if "sides" in figure:
        parts.append(_sides(*figure["sides"], series[0]["values"], y, time_axis))
    role = "group" if href is not None else "img"
    return Markup(
        '<svg class="figure{}" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="{}" aria-label="{}" '
        'data-x="{}" data-scale="{}" data-values="{}">{}</svg>'
    ).format(
        " wide" if width == WIDTH else "", width, height, role, figure["title"],
        " ".join(f"{x:g}" for x in time_axis.middle), f"{low:g} {high:g} {height - _BOTTOM} {_TOP}",
        json.dumps({one["name"]: [_rounded(value) for value in one["values"]] for one in series}, ensure_ascii=False,
                   separators=(",", ":")),
        Markup("").join(parts),
    )  # fmt: skip


def sparkline(
    slices: Slices, values: Sequence[float | None], *, highest: float, change: str | None, title: str,
    frequency: Sequence[float | None] = (),
) -> Markup:  # fmt: skip
    """Draw a line over time as high as a line of text, from 0 to `highest`, with a mark where the word changed.

    Bars behind it show a frequency, each on a scale of its own.
    """
    time_axis = TimeAxis(slices, 2, SPARK_WIDTH - 2)

    def y(value: float) -> float:
        return round(SPARK_HEIGHT - 2 - max(value, 0.0) / (highest or 1.0) * (SPARK_HEIGHT - 4), 1)

    points = [(x, y(value)) for x, value in zip(time_axis.middle, values, strict=True) if value is not None]
    mark = Markup("")
    if change is not None:
        x = time_axis.begin[slices.labels.index(change)]
        mark = Markup('<path class="change-mark" d="M{} 0V{}"/>').format(x, SPARK_HEIGHT)
    most = max([value for value in frequency if value is not None] or [0.0])
    bars = Markup("")
    if most:
        bars = draw_bars(
            time_axis, frequency, None, lambda value: round(SPARK_HEIGHT * (1 - 0.6 * value / most) - 1, 1)
        )
    return Markup(
        '<svg class="sparkline" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}'
        '<path class="axis" d="M0 {}H{}"/><g class="s0"><path class="observed" d="{}"/></g></svg>'
    ).format(SPARK_WIDTH, SPARK_HEIGHT, title, bars, mark, SPARK_HEIGHT - 1, SPARK_WIDTH, _path(points))


def standalone(svg: Markup, title: str, caption: str) -> str:
    """Return a figure as a file of its own, with its style, a title and a caption."""
    style = (STATIC / "figure.css").read_text(encoding="utf-8").partition("/* dark */")[0]
    width, height = (int(number) for number in svg.split('viewBox="0 0 ')[1].split('"')[0].split(" "))
    lines = [("title", line) for line in textwrap.wrap(title, width // 10)]
    lines += [("tick", line) for line in textwrap.wrap(caption, int(width / 6.5))]
    head = 18 * len(lines) + 16
    texts = (
        Markup('<text x="14" y="{}" class="{}">{}</text>').format(18 * i + 24 - head, css_class, line)
        for i, (css_class, line) in enumerate(lines)
    )
    inner = Markup(str(svg).partition(">")[2].rpartition("</svg>")[0])
    return printable(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" viewBox="0 -{} {} {}"><style>{}</style>'
            '<rect y="-{}" width="100%" height="100%" fill="#fff"/>{}{}</svg>'
        ).format(width, height + head, head, width, height + head, Markup(style), head, Markup("").join(texts), inner)
    )


def legend(figure: Figure) -> Markup:
    """Return the names of the lines, to show below a figure on screens too small for names at their ends."""
    names = [one["name"] for one in figure["series"]]
    if len(names) < 2:
        return Markup("")
    return Markup('<p class="legend" aria-hidden="true">{}</p>').format(
        Markup(" ").join(
            Markup('<span class="s{} name">{}</span>').format(*one) for one in enumerate(names, figure["color"])
        )
    )


def times(count: int | None) -> str:
    """Return a number of occurrences in words: ``once``, ``12 times``."""
    if count is None:
        return "an unknown number of times"
    return "once" if count == 1 else f"{count:,} times"


class TimeAxis:
    """Where each slice begins and ends on the horizontal axis, and which of them are labelled."""

    def __init__(self, slices: Slices, left: float, right: float) -> None:
        self.labels = slices.labels
        self.left, self.right = left, right
        first, last = slices.first[0].toordinal(), slices.last[-1].toordinal() + 1
        scale = (right - left) / (last - first)
        self.begin = [round(left + (day.toordinal() - first) * scale, 1) for day in slices.first]
        self.end = [round(left + (day.toordinal() + 1 - first) * scale, 1) for day in slices.last]
        self.middle = [round((a + b) / 2, 1) for a, b in zip(self.begin, self.end, strict=True)]
        years = [day.year for day in slices.first]
        yearly = all((day.month, day.day) == (1, 1) for day in slices.first)
        names = [str(year) for year in years] if yearly else [label.partition(" to ")[0] for label in slices.labels]
        label_width = max(map(len, names)) * _LETTER_WIDTH + 14
        step = max(1, math.ceil(len(names) * label_width / (right - left)))
        if yearly and step > 1:  # round years rather than every third or fourth slice
            span = (years[-1] - years[0]) / max(len(years) - 1, 1) * step
            round_to = next(size for size in (2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 10_000) if size >= span)
            labelled = [t for t, year in enumerate(years) if t == 0 or year // round_to > years[t - 1] // round_to]
            if len(labelled) > 1 and self.middle[labelled[1]] - self.middle[0] < label_width:
                labelled = labelled[1:]
        else:
            labelled = list(range(0, len(names), step))
        # A year stands where it begins; a slice that is one is named in its middle, as its value is shown.
        several_years = yearly and last - first > 1.5 * 366 * len(years)
        self.ticks = [((self.begin if several_years else self.middle)[t], names[t]) for t in labelled]


def _value_ticks(low: float, high: float) -> list[float]:
    """Choose round values from one at or below `low` to one at or above `high`."""
    rough = (high - low) / 3
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * size for size in (1, 2, 5, 10) if unit * size >= rough)
    return [n * step for n in range(math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9) + 1)]


def _axes(time_axis: TimeAxis, ticks: Sequence[float], y: ToY, *, height: int, label: str) -> Markup:
    left, right = time_axis.left, time_axis.right
    parts = [Markup('<text class="tick label" x="{}" y="12">{}</text>').format(left, label)]
    digits = max(0, -math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9)) if len(ticks) > 1 else 0
    for value in ticks:
        at = y(value)
        line = Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(left, right, at, at)
        number = f"{value:,.{digits}f}" if abs(value) < 10_000 else _short(value)
        text = Markup('<text class="tick numeric" x="{}" y="{}">{}</text>').format(left - 6, at + 4, number)
        parts += [line, text]
    return Markup("").join([*parts, time_labels(time_axis, height)])


def time_labels(time_axis: TimeAxis, height: int) -> Markup:
    """Draw the axis of time at the foot of a figure."""
    left, right, base = time_axis.left, time_axis.right, height - _BOTTOM
    parts = [Markup('<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(left, right, base, base)]
    for i, (x, name) in enumerate(time_axis.ticks):
        half = len(name) * _LETTER_WIDTH / 2
        parts.append(
            Markup('<text class="tick centered{}" x="{}" y="{}">{}</text>').format(
                " odd" if i % 2 else "", min(max(x, half), right + _RIGHT - half), height - 8, name
            )
        )
    return Markup("").join(parts)


def _short(value: float) -> str:
    """Write a large number so that it fits beside an axis: 150k, 1.5M."""
    size, unit = next((size, unit) for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")) if abs(value) >= size)
    return f"{value / size:g}{unit}"


def slice_links(
    time_axis: TimeAxis, counts: Sequence[int | None] | None, *, href: Callable[[str], str], pinned: Sequence[str],
    height: int, noun: str = "",
) -> Markup:  # fmt: skip
    """Cover each slice with a link to its address, named by the slice and how many of something it has."""
    parts = []
    tab_stop = next(iter(pinned), time_axis.labels[0])  # Tab reaches one slice, the arrow keys the others
    top, tall = _TOP - 6, height - _BOTTOM - _TOP + 6
    for t, label in enumerate(time_axis.labels):
        address = href(label)
        if not address:
            continue
        count = None if counts is None else counts[t]
        title = label if count is None else f"{label}, {times(count)}" if not noun else f"{label}, {count:,} {noun}s"
        css_class = "slice-link pinned" if label in pinned else "slice-link"
        current = ' aria-current="true"' if label in pinned else ""
        begin, wide = time_axis.begin[t], time_axis.end[t] - time_axis.begin[t]
        parts.append(
            f'<a class="{css_class}" href="{escape(address)}" data-slice="{escape(label)}" '
            f'tabindex="{0 if label == tab_stop else -1}"{current}><title>{escape(title)}</title>'
            f'<path d="M{begin} {top}h{wide:.1f}v{tall}H{begin}z"/></a>'
        )
    return Markup("".join(parts))


def _rounded(value: float | None) -> float | None:
    """Return a value as a reader sees it who points at it: with four digits."""
    return None if value is None else float(f"{value:.4g}")


def _band(time_axis: TimeAxis, ends: Interval, y: ToY, css_class: str) -> Markup:
    """Fill the space between two lines, stretch by stretch where they have values."""
    low, high = ends
    stretches: list[list[int]] = [[]]
    for t, pair in enumerate(zip(low, high, strict=True)):
        if None in pair:
            stretches.append([])
        else:
            stretches[-1].append(t)
    shapes = []
    for stretch in filter(None, stretches):
        above = [(time_axis.middle[t], y(high[t] or 0.0)) for t in stretch]
        below = [(time_axis.middle[t], y(low[t] or 0.0)) for t in reversed(stretch)]
        shapes.append(f"{_path([*above, *below])}z")
    return Markup('<path class="{}" d="{}"/>').format(css_class, "".join(shapes))


def change_marks(time_axis: TimeAxis, change: Change, height: int) -> Markup:
    """Shade the time in which a word may have changed, with a line where it most likely did."""
    at, low, high = (time_axis.labels.index(change[name]) for name in ("at", "low", "high"))
    begin, top, tall = time_axis.begin[low], _TOP - 6, height - _BOTTOM - _TOP + 6
    return Markup(
        '<path class="change-interval" d="M{} {}h{:.1f}v{}H{}z"/><path class="change-mark" d="M{} {}v{}"/>'
    ).format(begin, top, time_axis.end[high] - begin, tall, begin, time_axis.begin[at], top, tall)


def _sides(
    before: Sequence[str], since: Sequence[str], values: Sequence[float | None], y: ToY, time_axis: TimeAxis
) -> Markup:
    """Write on the left what a word was near before its change, and at the end of its line what it is near since."""
    parts = []
    if before:
        parts.append(Markup('<text class="side" x="{}" y="{}">before: {}</text>').format(
            time_axis.left + 6, _TOP + 12, ", ".join(before)
        ))  # fmt: skip
    if since:
        high = min(y(value) for value in [*values[len(values) // 2 :], 0.0] if value is not None)
        at = high - 12 if high - 12 > _TOP + 28 else _TOP + 12 if not before else _TOP + 28
        parts.append(Markup('<text class="side since" x="{}" y="{}">since: {}</text>').format(
            time_axis.right, round(at, 1), ", ".join(since)
        ))  # fmt: skip
    return Markup("").join(parts)


def draw_bars(time_axis: TimeAxis, values: Sequence[float | None], observed: Sequence[bool] | None, y: ToY) -> Markup:
    """Draw a bar for each slice, pale where the word is not observed."""
    by_class: dict[str, list[str]] = {}
    for t, value in enumerate(values):
        if value:
            css_class = "bar" if observed is None or observed[t] else "bar pale"
            bar = f"M{time_axis.begin[t]} {y(0)}V{y(value)}H{time_axis.end[t]}V{y(0)}z"
            by_class.setdefault(css_class, []).append(bar)
    return Markup("").join(
        Markup('<path class="{}" d="{}"/>').format(css_class, "".join(bars)) for css_class, bars in by_class.items()
    )


def _line(time_axis: TimeAxis, one: Series, y: ToY, color: int, *, whole: bool) -> Markup:
    values, seen = one["values"], one["observed"]
    points = [None if v is None else (x, y(v)) for x, v in zip(time_axis.middle, values, strict=True)]
    observed = [point if seen is None or seen[t] else None for t, point in enumerate(points)]
    # Dashes only where the word is not observed, and to the slices on either side.
    interpolated = [point if None in observed[max(t - 1, 0) : t + 2] else None for t, point in enumerate(points)]
    if not whole:  # and none before a word is first observed or after it last is
        times_seen = [t for t, point in enumerate(observed) if point is not None] or [0]
        first, last = times_seen[0], times_seen[-1]
        interpolated = [point if first <= t <= last else None for t, point in enumerate(interpolated)]
    return Markup('<g class="s{}"><path class="interpolated" d="{}"/><path class="observed" d="{}"/>{}</g>').format(
        color, _path(interpolated), _path(observed), _dots(observed, one["counts"])
    )


def _dots(points: Sequence[Point | None], counts: Sequence[int | None] | None) -> Markup:
    """Draw a dot at each point, faint where the word is rare; one path for all dots of an opacity keeps pages small."""
    by_opacity: dict[float, list[str]] = {}
    for t, point in enumerate(points):
        if point is not None:
            count = None if counts is None else counts[t]
            share = 1.0 if count is None else math.log(max(count, 1)) / math.log(_FULL_OPACITY_COUNT)
            by_opacity.setdefault(round(0.2 + 0.8 * min(share, 1.0), 1), []).append(f"M{point[0]} {point[1]}h.01")
    return Markup("").join(
        Markup('<path class="dots" d="{}"{}/>').format(
            "".join(dots), Markup(' opacity="{}"').format(opacity) if opacity < 1 else ""
        )
        for opacity, dots in sorted(by_opacity.items())
    )


def _path(points: Sequence[Point | None]) -> str:
    steps, command = [], "M"
    for point in points:
        steps.append("" if point is None else f"{command}{point[0]} {point[1]}")
        command = "M" if point is None else "L"
    return "".join(steps)


def _line_names(series: Sequence[Series], color: int, y: ToY, right: float, height: int) -> Markup:
    """Write each name at the end of its line, moved up or down so that none covers another."""
    ends: list[tuple[float, int, str]] = []
    for number, one in enumerate(series, color):
        last = next((value for value in reversed(one["values"]) if value is not None), None)
        if last is not None:
            ends.append((y(last), number, one["name"]))
    ends.sort()
    heights = [height_ for height_, _, _ in ends]
    for i, j in pairwise(range(len(heights))):
        heights[j] = max(heights[j], heights[i] + _LINE_HEIGHT)
    lowest = float(height - _BOTTOM)
    for i in reversed(range(len(heights))):  # back up from the lower edge
        heights[i] = min(heights[i], lowest)
        lowest = heights[i] - _LINE_HEIGHT
    return Markup("").join(
        Markup('<text class="s{} name" x="{}" y="{}">{}</text>').format(
            number, right + 8, round(at + 4, 1), name if len(name) < 20 else name[:18] + "…"
        )
        for at, (_, number, name) in zip(heights, ends, strict=True)
    )
