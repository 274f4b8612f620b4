"""Parts that the figures of the pages share, as SVG: the axis of time, bars, links from slices, marks of a change."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any, Final, TypedDict

from markupsafe import Markup, escape

from driftword.corpus import Slices

WIDTH, HALF_WIDTH = 760, 480  # a figure as wide as the page, and one of two side by side
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 22, 26  # margins
NAMES_WIDTH: Final = 150  # for the names of lines and rows
_LETTER_WIDTH: Final = 7.2

ToY = Callable[[float], float]


class Change(TypedDict):
    """The day on which a word changed, and the first and last day on which it may have changed, as in 1987-06-05."""

    at: str
    low: str
    high: str


class TimeAxis:
    """The places of the slices on the horizontal axis, and which of them are labelled."""

    def __init__(self, slices: Slices, left: float, right: float) -> None:
        self.labels = slices.labels
        self.left, self.right = left, right
        first, last = slices.first[0].toordinal(), slices.last[-1].toordinal() + 1
        self._first, self._scale = first, (right - left) / (last - first)
        self.begin = [self.place(day.toordinal()) for day in slices.first]
        self.end = [self.place(day.toordinal() + 1) for day in slices.last]
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

    def place(self, day: int) -> float:
        """Return where a day begins, given as an ordinal."""
        return round(self.left + (day - self._first) * self._scale, 1)

    @property
    def places(self) -> str:
        """The middle of each slice, for scripts."""
        return " ".join(f"{x:g}" for x in self.middle)


def drawing(
    kind: str, label: str, parts: Sequence[Markup], *, height: int, width: int = WIDTH, role: str = "group", **data: Any
) -> Markup:
    """Return a figure made of these parts; scripts read `data`."""
    attributes = (Markup(' data-{}="{}"').format(name, value) for name, value in data.items())
    return Markup(
        '<svg class="figure{}" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="{}" aria-label="{}"{}>{}'
        "</svg>"
    ).format(kind, width, height, role, label, joined(attributes), joined(parts))


def joined(parts: Iterable[Markup]) -> Markup:
    """Return parts one after the other."""
    return Markup("").join(parts)


def text(css_class: str, x: float, y: float, words: object) -> Markup:
    """Write words at a place."""
    return Markup('<text class="{}" x="{}" y="{}">{}</text>').format(css_class, x, y, words)


def shape(css_class: str, path: str) -> Markup:
    """Draw a path."""
    return Markup('<path class="{}" d="{}"/>').format(css_class, path)


def rule(css_class: str, axis: TimeAxis, y: float) -> Markup:
    """Draw a horizontal line as long as the axis of time."""
    return Markup('<line class="{}" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(css_class, axis.left, axis.right, y, y)


def compact_json(data: object) -> str:
    """Return data for scripts as JSON without spaces."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def times(count: int | None) -> str:
    """Return a number of occurrences in words: ``once``, ``12 times``."""
    if count is None:
        return "an unknown number of times"
    return "once" if count == 1 else f"{count:,} times"


def time_labels(axis: TimeAxis, height: int) -> Markup:
    """Draw the axis of time at the foot of a figure."""
    parts = [rule("axis", axis, height - BOTTOM)]
    for i, (x, name) in enumerate(axis.ticks):
        half = len(name) * _LETTER_WIDTH / 2
        place = min(max(x, half), axis.right + RIGHT - half)
        parts.append(text("tick centered odd" if i % 2 else "tick centered", place, height - 8, name))
    return joined(parts)


def slice_links(
    axis: TimeAxis, counts: Sequence[int | None] | None, *, href: Callable[[str], str], height: int,
    pinned: Sequence[str] = (), noun: str = "",
) -> Markup:  # fmt: skip
    """Cover each slice with a link to its address, named by the slice and its number of occurrences or words."""
    parts = []
    tab_stop = next(iter(pinned), axis.labels[0])  # Tab reaches one slice, the arrow keys the others
    top, tall = TOP - 6, height - BOTTOM - TOP + 6
    for t, label in enumerate(axis.labels):
        address = href(label)
        if not address:
            continue
        count = None if counts is None else counts[t]
        title = (
            label
            if count is None
            else f"{label}, {times(count)}"
            if not noun
            else f"{label}, {count:,} {noun}{'' if count == 1 else 's'}"
        )
        css_class = "slice-link pinned" if label in pinned else "slice-link"
        current = ' aria-current="true"' if label in pinned else ""
        begin, wide = axis.begin[t], axis.end[t] - axis.begin[t]
        parts.append(
            f'<a class="{css_class}" href="{escape(address)}" data-slice="{escape(label)}" '
            f'tabindex="{0 if label == tab_stop else -1}"{current}><title>{escape(title)}</title>'
            f'<path d="M{begin} {top}h{wide:.1f}v{tall}H{begin}z"/></a>'
        )
    return Markup("".join(parts))


def change_marks(axis: TimeAxis, change: Change, height: int) -> Markup:
    """Shade the time in which a word may have changed, with a line where it most likely did."""
    at, low, high = (axis.place(date.fromisoformat(day).toordinal()) for day in change.values())  # type: ignore[arg-type]
    top, tall = TOP - 6, height - BOTTOM - TOP + 6
    interval = shape("change-interval", f"M{low} {top}h{high - low:.1f}v{tall}H{low}z")
    return interval + shape("change-mark", f"M{at} {top}v{tall}")


def draw_bars(axis: TimeAxis, values: Sequence[float | None], y: ToY, observed: Sequence[bool] | None = None) -> Markup:
    """Draw a bar for each slice, pale where the word is not observed."""
    by_class: dict[str, list[str]] = {}
    for t, value in enumerate(values):
        if value:
            css_class = "bar" if observed is None or observed[t] else "bar pale"
            bar = f"M{axis.begin[t]} {y(0)}V{y(value)}H{axis.end[t]}V{y(0)}z"
            by_class.setdefault(css_class, []).append(bar)
    return joined(shape(css_class, "".join(bars)) for css_class, bars in by_class.items())
