"""Figures of the pages: lines and bars through time, as SVG in which every slice may lead somewhere.

A page shows them as they are, styled with the rest of it, with or without scripts; `standalone`
makes files of them. Figures for print come from `driftword.plot`.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup, escape

from driftword.corpus import Slices
from driftword.tables import printable

STATIC: Final = Path(__file__).parent / "static"
WIDTH, HALF = 760, 480  # of a figure that has a page's width, and of one that shares it
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 22, 26
_NAMES: Final = 150  # room for the names at the ends of lines
_LINE: Final = 15  # from one line of text to the next
_LETTER: Final = 7.2
_PLENTY: Final = 50  # occurrences from which a dot is as dark as can be

#: A figure as data: title, label of its height, kind, and series with a name, values and counts for each slice.
Figure = dict[str, Any]


def figure(
    title: str,
    label: str,
    kind: str,
    *,
    series: Sequence[dict[str, Any]],
    colour: int = 0,
    height: int = 230,
    width: int = WIDTH,
) -> Figure:
    """Describe a figure; kind is "lines", "bars" or, for a line whose height means nothing by itself, "way".

    `colour` is the number of the first line's; a word keeps its own in all figures of a page.
    """
    return {
        "title": title, "label": label, "kind": kind, "width": width, "height": height, "series": list(series),
        "colour": colour,
    }  # fmt: skip


def draw(slices: Slices, held: Figure, *, href: Callable[[str], str] | None = None, kept: Sequence[str] = ()) -> Markup:
    """Draw a figure; where `href` gives each slice an address, its strip of the figure leads there."""
    series, width, height = held["series"], held["width"], held["height"]
    several = len(series) > 1
    right = width - (_NAMES if several else _RIGHT)
    left = _RIGHT if held["kind"] == "way" else _LEFT
    across = _Across(slices, left, right)
    known = [value for one in series for value in one["values"] if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if held["kind"] == "bars":
        low = min(low, 0.0)
    if high <= low:
        high = low + (abs(low) or 1.0)
    marks = _marks(low, high)
    if held["kind"] != "way":
        low, high = min(low, marks[0]), max(high, marks[-1])

    def y(value: float) -> float:
        return float(round(height - _BOTTOM - (value - low) / (high - low) * (height - _BOTTOM - _TOP), 1))

    parts = [_frame(across, marks if held["kind"] != "way" else [], y, height=height, label=held["label"])]
    if href is not None:
        parts.append(_strips(across, series, href=href, kept=kept, height=height))
    if held["kind"] == "bars":
        parts += [_bars(across, one, y) for one in series]
    else:
        whole = held["kind"] == "way"
        parts += [_line(across, one, y, number, whole=whole) for number, one in enumerate(series, held["colour"])]
    if several:
        parts.append(_names(series, held["colour"], y, right, height))
    role = "group" if href is not None else "img"
    return Markup(
        '<svg class="figure{}" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="{}" aria-label="{}">'
        "{}</svg>"
    ).format(" wide" if width == WIDTH else "", width, height, role, held["title"], Markup("").join(parts))


def standalone(svg: Markup, title: str, caption: str) -> str:
    """Make a file of a figure: with its style, title and what it was made from."""
    style = (STATIC / "figure.css").read_text(encoding="utf-8").partition("/* dark */")[0]
    width, height = (int(number) for number in svg.split('viewBox="0 0 ')[1].split('"')[0].split(" "))
    lines = [("title", line) for line in textwrap.wrap(title, width // 10)]
    lines += [("mark", line) for line in textwrap.wrap(caption, int(width / 6.5))]
    head = 18 * len(lines) + 16
    texts = (
        Markup('<text x="14" y="{}" class="{}">{}</text>').format(18 * i + 24 - head, name, line)
        for i, (name, line) in enumerate(lines)
    )
    return printable(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" viewBox="0 -{} {} {}"><style>{}</style>'
            '<rect y="-{}" width="100%" height="100%" fill="#fff"/>{}{}</svg>'
        ).format(
            width, height + head, head, width, height + head, Markup(style), head, Markup("").join(texts), _inner(svg)
        )
    )


def legend(held: Figure) -> Markup:
    """Name the lines of a figure below it, for screens too small for names at their ends."""
    names = [one["name"] for one in held["series"]]
    if len(names) < 2:
        return Markup("")
    return Markup('<p class="legend" aria-hidden="true">{}</p>').format(
        Markup(" ").join(
            Markup('<span class="s{} name">{}</span>').format(*one) for one in enumerate(names, held["colour"])
        )
    )


def _inner(svg: Markup) -> Markup:
    return Markup(str(svg).partition(">")[2].rpartition("</svg>")[0])


def times(count: int) -> str:
    """Say how often something occurs."""
    return "once" if count == 1 else f"{count:,} times"


class _Across:
    """Time along the width."""

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
        room = max(map(len, names)) * _LETTER + 14
        step = max(1, math.ceil(len(names) * room / (right - left)))
        if yearly and step > 1:  # round years rather than every so many slices
            span = (years[-1] - years[0]) / max(len(years) - 1, 1) * step
            round_ = next(size for size in (2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 10_000) if size >= span)
            ticks = [t for t, year in enumerate(years) if t == 0 or year // round_ > years[t - 1] // round_]
            if len(ticks) > 1 and self.middle[ticks[1]] - self.middle[0] < room:
                ticks = ticks[1:]
        else:
            ticks = list(range(0, len(names), step))
        self.ticks = [(self.middle[t], names[t]) for t in ticks]


def _marks(low: float, high: float) -> list[float]:
    """Choose round values from one that is not above `low` to one that is not below `high`."""
    rough = (high - low) / 3
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * size for size in (1, 2, 5, 10) if unit * size >= rough)
    return [n * step for n in range(math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9) + 1)]


def _frame(across: _Across, marks: Sequence[float], y: Callable[[float], float], *, height: int, label: str) -> Markup:
    parts = [Markup('<text class="mark" x="{}" y="12">{}</text>').format(across.left, label)]
    digits = max(0, -math.floor(math.log10(marks[1] - marks[0]) + 1e-9)) if len(marks) > 1 else 0
    left, right = across.left, across.right
    for value in marks:
        at = y(value)
        line = Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(left, right, at, at)
        number = Markup('<text class="mark n" x="{}" y="{}">{}</text>').format(left - 6, at + 4, f"{value:,.{digits}f}")
        parts += [line, number]
    base = height - _BOTTOM
    parts.append(Markup('<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
        across.left, across.right, base, base))  # fmt: skip
    for i, (x, name) in enumerate(across.ticks):
        place = min(max(x, len(name) * _LETTER / 2), across.right + _RIGHT - len(name) * _LETTER / 2)
        parts.append(
            Markup('<text class="mark c{}" x="{}" y="{}">{}</text>').format(
                " odd" if i % 2 else "", place, height - 8, name
            )
        )
    return Markup("").join(parts)


def _strips(
    across: _Across, series: Sequence[dict[str, Any]], *, href: Callable[[str], str], kept: Sequence[str], height: int
) -> Markup:
    """Lay a strip over each slice that leads to its address; scripts show there what is near."""
    parts = []
    entered = next(iter(kept), across.labels[0])  # Tab leads to one strip, the arrow keys to the others
    top, tall = _TOP - 6, height - _BOTTOM - _TOP + 6
    for t, label in enumerate(across.labels):
        address = href(label)
        if not address:
            continue
        counts = [one["counts"][t] for one in series if one["counts"]]
        told = f"{label}, {times(counts[0])}" if len(counts) == 1 else label
        current = ' aria-current="true"' if label in kept else ""
        parts.append(
            f'<a class="strip{" kept" if label in kept else ""}" href="{escape(address)}" data-slice="{escape(label)}" '
            f'tabindex="{0 if label == entered else -1}"{current}><title>{escape(told)}</title>'
            f'<path d="M{across.begin[t]} {top}h{across.end[t] - across.begin[t]:.1f}v{tall}H{across.begin[t]}z"/></a>'
        )
    return Markup("".join(parts))


def _bars(across: _Across, one: dict[str, Any], y: Callable[[float], float]) -> Markup:
    """Draw a bar for each slice, pale where there is no evidence."""
    shades: dict[str, list[str]] = {}
    for t, value in enumerate(one["values"]):
        if value:
            shade = "bar" if one["counts"] is None or one["counts"][t] else "bar pale"
            shades.setdefault(shade, []).append(f"M{across.begin[t]} {y(0)}V{y(value)}H{across.end[t]}V{y(0)}z")
    return Markup("").join(
        Markup('<path class="{}" d="{}"/>').format(shade, "".join(parts)) for shade, parts in shades.items()
    )


def _line(across: _Across, one: dict[str, Any], y: Callable[[float], float], number: int, *, whole: bool) -> Markup:
    values, counts = one["values"], one["counts"]
    places = [None if v is None else (x, y(v)) for x, v in zip(across.middle, values, strict=True)]
    seen = [place if counts is None or counts[t] else None for t, place in enumerate(places)]
    # Dashes only where something is not seen, and to the slices beside it.
    guess = [place if None in seen[max(t - 1, 0) : t + 2] else None for t, place in enumerate(places)]
    if not whole:  # nor before a word first occurs, nor after it last does
        known = [t for t, place in enumerate(seen) if place is not None] or [0]
        guess = [place if known[0] <= t <= known[-1] else None for t, place in enumerate(guess)]
    return Markup('<g class="s{}"><path class="guess" d="{}"/><path class="seen" d="{}"/>{}</g>').format(
        number, _path(guess), _path(seen), _dots(seen, counts)
    )


def _dots(places: Sequence[tuple[float, float] | None], counts: Sequence[int] | None) -> Markup:
    """Draw a dot at each place, faint where there is little evidence: one path for all dots of a shade is short."""
    shades: dict[float, list[str]] = {}
    for t, place in enumerate(places):
        if place is not None:
            share = 1.0 if counts is None else math.log(max(counts[t], 1)) / math.log(_PLENTY)
            shades.setdefault(round(0.2 + 0.8 * min(share, 1.0), 1), []).append(f"M{place[0]} {place[1]}h.01")
    return Markup("").join(
        Markup('<path class="dots" d="{}"{}/>').format(
            "".join(steps), Markup(' opacity="{}"').format(shade) if shade < 1 else ""
        )
        for shade, steps in sorted(shades.items())
    )


def _path(places: Sequence[tuple[float, float] | None]) -> str:
    steps, pen = [], "M"
    for place in places:
        steps.append("" if place is None else f"{pen}{place[0]} {place[1]}")
        pen = "M" if place is None else "L"
    return "".join(steps)


def _names(
    series: Sequence[dict[str, Any]], colour: int, y: Callable[[float], float], right: float, height: int
) -> Markup:
    """Write each name at the end of its line, none over another."""
    ends = []
    for number, one in enumerate(series, colour):
        last = next((value for value in reversed(one["values"]) if value is not None), None)
        if last is not None:
            ends.append([y(last), number, one["name"]])
    ends.sort()
    for before, after in pairwise(ends):
        after[0] = max(after[0], before[0] + _LINE)
    floor = height - _BOTTOM
    for end in reversed(ends):  # push back from the lower edge
        end[0] = min(end[0], floor)
        floor = end[0] - _LINE
    return Markup("").join(
        Markup('<text class="s{} name" x="{}" y="{}">{}</text>').format(
            number, right + 8, round(place + 4, 1), name if len(name) < 20 else name[:18] + "…"
        )
        for place, number, name in ends
    )
