"""Figures of the pages: lines and bars over time, as SVG in which every slice can be a link.

Pages include them as they are, with or without scripts; `standalone` turns one into a file.
Figures for print come from `driftword.plot`.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, NotRequired, TypedDict, cast

from markupsafe import Markup

from driftword.basics.tables import printable
from driftword.corpus import Slices
from driftword.pages import svg
from driftword.pages.svg import TimeAxis, ToY

STATIC: Final = Path(__file__).parent / "static"
SPARK_WIDTH, SPARK_HEIGHT = 180, 36
_LINE_HEIGHT: Final = 15
_BESIDE: Final = 16  # letters of a line of names on the left
_FULL_OPACITY_COUNT: Final = 50  # occurrences from which a dot is fully opaque

Kind = Literal["lines", "bars", "distance"]
Point = tuple[float, float]
Interval = tuple[Sequence[float | None], Sequence[float | None]]


class Series(TypedDict):
    """One line or set of bars: a value for each slice, and the evidence for it, where that matters.

    `counts` says how often the word occurs there (None: unknown), `observed` whether it does so in training text.
    """

    name: str
    values: list[float | None]
    counts: list[int | None] | None
    observed: list[bool] | None
    interval: NotRequired[Interval]  # the lower and the upper end around each value


class Figure(TypedDict):
    """A figure as data; `label` names its vertical axis, `color` is the number of the first line's colour.

    A figure of distances may have `usual`, between which the distances of most words lie that did not change; `top`, to
    which its axis reaches at least; `changes`, which are marked; `first`, from which they are measured; and `sides`,
    what the word was near before its change, and since. Those that are `aligned` have one axis of time, that of a
    stream, with names on the left.
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
    changes: NotRequired[list[svg.Change]]
    sides: NotRequired[tuple[list[str], list[str]]]
    first: NotRequired[str]
    aligned: NotRequired[bool]


def figure(
    title: str, label: str, kind: Kind, *, series: Sequence[Series], color: int = 0, height: int = 230,
    width: int = svg.WIDTH, **more: Any,
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
    several, aligned = len(series) > 1, figure.get("aligned", False)
    right = width - (svg.NAMES_WIDTH if several and not aligned else svg.RIGHT)
    axis = TimeAxis(slices, svg.NAMES_WIDTH if aligned else svg.LEFT, right)
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
        return float(round(height - svg.BOTTOM - (value - low) / (high - low) * (height - svg.BOTTOM - svg.TOP), 1))

    parts = [svg.change_marks(axis, one, height) for one in figure.get("changes", [])]
    parts += [*_value_axis(axis, ticks, y, figure["label"]), svg.time_labels(axis, height)]
    if "usual" in figure:
        parts.append(_band(axis, figure["usual"], y, "usual"))
    colored = list(enumerate(series, figure["color"]))
    parts += [_band(axis, one["interval"], y, f"interval s{color}") for color, one in colored if "interval" in one]
    if href is not None:
        known = [one["counts"] for one in series if one["counts"]]
        counts = known[0] if len(known) == 1 else None
        parts.append(svg.slice_links(axis, counts, href=href, pinned=pinned, height=height))
    if kind == "bars":
        parts += [svg.draw_bars(axis, one["values"], y, one["observed"]) for one in series]
    else:
        parts += [_line(axis, one, y, color, whole=kind == "distance") for color, one in colored]
    if several:
        parts.append(_names_beside(colored) if aligned else _line_names(colored, y, right, height))
    if "sides" in figure:
        parts.append(_sides(*figure["sides"], series[0]["values"], y, axis))
    # A reader who points at a value sees four digits of it.
    shown = {one["name"]: [None if v is None else float(f"{v:.4g}") for v in one["values"]] for one in series}
    return svg.drawing(
        " wide" if width == svg.WIDTH else "", figure["title"], parts, width=width, height=height,
        role="group" if href is not None else "img", x=axis.places,
        scale=f"{low:g} {high:g} {height - svg.BOTTOM} {svg.TOP}", values=svg.compact_json(shown),
    )  # fmt: skip


def sparkline(
    slices: Slices, values: Sequence[float | None], *, highest: float, change: str | None, title: str,
    frequency: Sequence[float | None] = (),
) -> Markup:  # fmt: skip
    """Draw a line over time as high as a line of text, from 0 to `highest`, with a mark where the word changed.

    Bars behind it show a frequency, each on a scale of its own.
    """
    axis = TimeAxis(slices, 2, SPARK_WIDTH - 2)

    def y(value: float) -> float:
        return round(SPARK_HEIGHT - 2 - max(value, 0.0) / (highest or 1.0) * (SPARK_HEIGHT - 4), 1)

    parts = []
    if most := max((value for value in frequency if value is not None), default=0.0):
        parts.append(
            svg.draw_bars(axis, frequency, lambda value: round(SPARK_HEIGHT * (1 - 0.6 * value / most) - 1, 1))
        )
    if change is not None:
        parts.append(svg.shape("change-mark", f"M{axis.begin[slices.labels.index(change)]} 0V{SPARK_HEIGHT}"))
    points = [(x, y(value)) for x, value in zip(axis.middle, values, strict=True) if value is not None]
    parts.append(svg.shape("axis", f"M0 {SPARK_HEIGHT - 1}H{SPARK_WIDTH}"))
    return Markup(
        '<svg class="sparkline" viewBox="0 0 {} {}" role="img" aria-label="{}">{}<g class="s0">{}</g></svg>'
    ).format(SPARK_WIDTH, SPARK_HEIGHT, title, svg.joined(parts), svg.shape("observed", _path(points)))


def standalone(drawn: Markup, title: str, caption: str) -> str:
    """Return a figure as a file of its own, with its style, a title and a caption."""
    style = (STATIC / "figure.css").read_text(encoding="utf-8").partition("/* dark */")[0]
    width, height = size_of(drawn)
    lines = [("title", line) for line in textwrap.wrap(title, width // 10)]
    lines += [("tick", line) for line in textwrap.wrap(caption, int(width / 6.5))]
    head = 18 * len(lines) + 16
    texts = svg.joined(
        Markup('<text x="14" y="{}" class="{}">{}</text>').format(18 * i + 24 - head, css_class, line)
        for i, (css_class, line) in enumerate(lines)
    )
    inner = Markup(str(drawn).partition(">")[2].rpartition("</svg>")[0])
    return printable(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" viewBox="0 -{} {} {}"><style>{}</style>'
            '<rect y="-{}" width="100%" height="100%" fill="#fff"/>{}{}</svg>'
        ).format(width, height + head, head, width, height + head, Markup(style), head, texts, inner)
    )


def size_of(drawn: str) -> tuple[int, int]:
    """Return the width and height of a figure that was drawn."""
    _, _, width, height = drawn.split('viewBox="')[1].split('"')[0].split(" ")
    return int(width), int(height)


def legend(figure: Figure) -> Markup:
    """Return the names of the lines, to show below a figure on screens too small for names at their ends."""
    names = [one["name"] for one in figure["series"]]
    if len(names) < 2:
        return Markup("")
    spans = (Markup('<span class="s{} name">{}</span>').format(*one) for one in enumerate(names, figure["color"]))
    return Markup('<p class="legend" aria-hidden="true">{}</p>').format(Markup(" ").join(spans))


def _value_ticks(low: float, high: float) -> list[float]:
    """Choose round values from one at or below `low` to one at or above `high`."""
    rough = (high - low) / 3
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * size for size in (1, 2, 5, 10) if unit * size >= rough)
    return [n * step for n in range(math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9) + 1)]


def _value_axis(axis: TimeAxis, ticks: Sequence[float], y: ToY, label: str) -> list[Markup]:
    parts = [svg.text("tick label", axis.left, 12, label)]
    digits = max(0, -math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9)) if len(ticks) > 1 else 0
    for value in ticks:
        number = f"{value:,.{digits}f}" if abs(value) < 10_000 else _short(value)
        parts += [svg.rule("grid", axis, y(value)), svg.text("tick numeric", axis.left - 6, y(value) + 4, number)]
    return parts


def _short(value: float) -> str:
    """Write a large number so that it fits beside an axis: 150k, 1.5M."""
    size, unit = next((size, unit) for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")) if abs(value) >= size)
    return f"{value / size:g}{unit}"


def _band(axis: TimeAxis, ends: Interval, y: ToY, css_class: str) -> Markup:
    """Fill the space between two lines, stretch by stretch where they have values."""
    low, high = ends
    stretches: list[list[int]] = [[]]
    for t, pair in enumerate(zip(low, high, strict=True)):
        if None in pair:
            stretches.append([])
        else:
            stretches[-1].append(t)
    outlines = []
    for stretch in filter(None, stretches):
        above = [(axis.middle[t], y(high[t] or 0.0)) for t in stretch]
        below = [(axis.middle[t], y(low[t] or 0.0)) for t in reversed(stretch)]
        outlines.append(f"{_path([*above, *below])}z")
    return svg.shape(css_class, "".join(outlines))


def _sides(
    before: Sequence[str], since: Sequence[str], values: Sequence[float | None], y: ToY, axis: TimeAxis
) -> Markup:
    """Write on the left what a word was near before its change, and at the end of its line what it is near since."""
    parts = []
    if before:
        parts.append(svg.text("side", axis.left + 6, svg.TOP + 12, f"before: {', '.join(before)}"))
    if since:
        high = min(y(value) for value in [*values[len(values) // 2 :], 0.0] if value is not None)
        at = high - 12 if high - 12 > svg.TOP + 28 else svg.TOP + 12 if not before else svg.TOP + 28
        parts.append(svg.text("side since", axis.right, round(at, 1), f"since: {', '.join(since)}"))
    return svg.joined(parts)


def _line(axis: TimeAxis, one: Series, y: ToY, color: int, *, whole: bool) -> Markup:
    values, seen = one["values"], one["observed"]
    points = [None if v is None else (x, y(v)) for x, v in zip(axis.middle, values, strict=True)]
    observed = [point if seen is None or seen[t] else None for t, point in enumerate(points)]
    # Dashes only where the word is not observed, and to the slices on either side.
    interpolated = [point if None in observed[max(t - 1, 0) : t + 2] else None for t, point in enumerate(points)]
    if not whole:  # and none before a word is first observed or after it last is
        times_seen = [t for t, point in enumerate(observed) if point is not None] or [0]
        first, last = times_seen[0], times_seen[-1]
        interpolated = [point if first <= t <= last else None for t, point in enumerate(interpolated)]
    lines = svg.shape("interpolated", _path(interpolated)) + svg.shape("observed", _path(observed))
    return Markup('<g class="s{}">{}{}</g>').format(color, lines, _dots(observed, one["counts"]))


def _dots(points: Sequence[Point | None], counts: Sequence[int | None] | None) -> Markup:
    """Draw a dot at each point, faint where the word is rare; one path for all dots of an opacity keeps pages small."""
    by_opacity: dict[float, list[str]] = {}
    for t, point in enumerate(points):
        if point is not None:
            count = None if counts is None else counts[t]
            share = 1.0 if count is None else math.log(max(count, 1)) / math.log(_FULL_OPACITY_COUNT)
            by_opacity.setdefault(round(0.2 + 0.8 * min(share, 1.0), 1), []).append(f"M{point[0]} {point[1]}h.01")
    return svg.joined(
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


def _names_beside(colored: Sequence[tuple[int, Series]]) -> Markup:
    """Write the names of lines on the left of the axis, one below the other."""
    lines = [(number, line) for number, one in colored for line in textwrap.wrap(one["name"], _BESIDE)]
    return svg.joined(
        svg.text(f"s{number} name", 0, svg.TOP + 4 + _LINE_HEIGHT * i, line) for i, (number, line) in enumerate(lines)
    )


def _line_names(colored: Sequence[tuple[int, Series]], y: ToY, right: float, height: int) -> Markup:
    """Write each name at the end of its line, moved up or down so that none covers another."""
    ends: list[tuple[float, int, str]] = []
    for number, one in colored:
        last = next((value for value in reversed(one["values"]) if value is not None), None)
        if last is not None:
            ends.append((y(last), number, one["name"]))
    ends.sort()
    heights = [end[0] for end in ends]
    for i, j in pairwise(range(len(heights))):
        heights[j] = max(heights[j], heights[i] + _LINE_HEIGHT)
    lowest = float(height - svg.BOTTOM)
    for i in reversed(range(len(heights))):  # back up from the lower edge
        heights[i] = min(heights[i], lowest)
        lowest = heights[i] - _LINE_HEIGHT
    return svg.joined(
        svg.text(f"s{number} name", right + 8, round(at + 4, 1), name if len(name) < 20 else name[:18] + "…")
        for at, (_, number, name) in zip(heights, ends, strict=True)
    )
