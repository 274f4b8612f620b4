"""Figures that show change at a glance: a timeline of the corpus, a word's neighbours as a stream, and its journey.

Like those of `figures`, they are SVG that works without scripts; scripts add brushing, values and motion.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

from driftword.basics.checks import one_of, shown
from driftword.basics.errors import OptionError
from driftword.corpus import Slices
from driftword.pages import svg
from driftword.pages.figures import draw, standalone
from driftword.pages.svg import BOTTOM, LEFT, NAMES_WIDTH, RIGHT, TOP, WIDTH, TimeAxis

_LETTER: Final = 6.6  # width of one in the names of words
_ROW: Final = 17
_WORD_ROWS: Final = 7
_MOST_WORDS: Final = 48
_STRONG: Final = 10  # words in bold
_BARS: Final = 56  # height of the bars below the words of a timeline
_STRIP: Final = 34  # height of the frequency above a stream
_SHADES: Final = 8
_NEAR, _FAR = 0.8, 0.1  # similarities that are darkest and white, for all words
_MAP_HEIGHT: Final = 380

WordHref = Callable[[str], str | None]


def _no_link(_: str) -> None:
    return None


def draw_timeline(
    slices: Slices,
    rows: Sequence[Mapping[str, Any]],
    counts: Sequence[int],
    *,
    word_href: WordHref = _no_link,
    period_href: Callable[[str], str] | None = None,
    chosen: Sequence[str] = (),
) -> Markup:
    """Draw words where they changed, and below how many did in each slice.

    The more important words come first in `rows`; where there is no room, the others are left out. `period_href`
    returns the address of the words that changed in a slice, and `chosen` are the slices whose words are listed.
    """
    axis = TimeAxis(slices, LEFT, WIDTH - RIGHT)
    height = TOP + _WORD_ROWS * _ROW + _BARS + BOTTOM
    base, most = height - BOTTOM, max([*counts, 1])
    free = [[(-1e9, 0.0)] for _ in range(_WORD_ROWS)]  # stretches of each row that are taken
    words: list[Markup] = []
    for rank, row in enumerate(rows):
        if len(words) == _MOST_WORDS:
            break
        half = len(row["word"]) * (_LETTER + (rank < _STRONG)) / 2 + 6
        middle = axis.middle[slices.labels.index(row["slice"])]
        x = min(max(middle, half), WIDTH - half)
        place = next((n for n, taken in enumerate(free) if all(x + half < a or x - half > b for a, b in taken)), None)
        if place is None:
            continue
        free[place].append((x - half, x + half))
        y = base - _BARS - 8 - place * _ROW
        sides = [f"{side} {', '.join(row[name])}" for side, name in (("from", "before"), ("to", "after")) if row[name]]
        title = Markup("<title>{}: {}</title>").format(row["word"], " ".join([*sides, "in", row["change"]]))
        name = svg.text("word strong" if rank < _STRONG else "word", round(x, 1), round(y, 1), row["word"])
        words.append(_linked(word_href(row["word"]), title + name))
    parts = [
        svg.time_labels(axis, height),
        svg.text("tick numeric", LEFT - 6, base - _BARS + 16, f"{most:,}"),
        svg.text("tick numeric", LEFT - 6, base + 4, 0),
        svg.draw_bars(axis, counts, lambda value: round(base - value / most * (_BARS - 12), 1)),
    ]
    if period_href is not None:
        parts.append(svg.slice_links(axis, counts, href=period_href, pinned=chosen, height=height, noun="word"))
    values = json.dumps({"words that changed": list(counts)})
    return svg.drawing(
        " wide timeline", "When words changed", [*parts, *words], height=height, x=axis.places, values=values
    )


def draw_stream(
    slices: Slices,
    rows: Sequence[Mapping[str, Any]],
    frequency: Sequence[float | None],
    *,
    title: str,
    changes: Sequence[svg.Change],
    href: Callable[[str], str] | None = None,
    word_href: WordHref = _no_link,
) -> Markup:
    """Draw how near neighbours are in every slice: a row for each, darker where it is nearer, and frequency above."""
    axis = TimeAxis(slices, NAMES_WIDTH, WIDTH - RIGHT)
    top = TOP + _STRIP
    height = top + len(rows) * _ROW + BOTTOM
    shades: dict[int, list[str]] = {}
    names = []
    for number, row in enumerate(rows):
        y = top + number * _ROW
        for t, value in enumerate(row["similarity"]):
            if value is not None and (shade := _shade(value)):
                wide = axis.end[t] - axis.begin[t]
                shades.setdefault(shade, []).append(f"M{axis.begin[t]} {y + 1}h{wide:.1f}v{_ROW - 2}h{-wide:.1f}z")
        name = row["word"] if len(row["word"]) < 22 else row["word"][:20] + "…"
        names.append(_linked(word_href(row["word"]), svg.text("row-name", NAMES_WIDTH - 8, y + 13, name)))
    most = max((value for value in frequency if value is not None), default=1.0) or 1.0
    parts = [
        svg.text("tick numeric", NAMES_WIDTH - 8, top - 8, "frequency"),
        svg.draw_bars(axis, frequency, lambda value: round(top - 5 - value / most * (_STRIP - 4), 1)),
    ]
    for shade, cells in sorted(shades.items()):
        opacity = round(shade / _SHADES, 2)
        parts.append(Markup('<path class="shade" opacity="{}" d="{}"/>').format(opacity, "".join(cells)))
    parts += [svg.change_marks(axis, one, height) for one in changes]
    parts.append(svg.time_labels(axis, height))
    if href is not None:
        parts.append(svg.slice_links(axis, None, href=href, height=height))
    values = svg.compact_json({row["word"]: row["similarity"] for row in rows})
    return svg.drawing(
        " wide stream", title, [*parts, *names], height=height, x=axis.places, rows=f"{top} {_ROW}", values=values
    )


def draw_journey(
    slices: Slices, word: str, journey: Mapping[str, Any], observed: Sequence[bool], *, word_href: WordHref = _no_link
) -> Markup:
    """Draw the path of a word among its neighbours; scripts move the word along it."""
    points = [*journey["path"], *(anchor["place"] for anchor in journey["anchors"])]
    scales = []
    for axis, (low, high) in ((0, (110.0, WIDTH - 110.0)), (1, (_MAP_HEIGHT - 34.0, 30.0))):
        least, most = min(point[axis] for point in points), max(point[axis] for point in points)
        scales.append((least, (high - low) / ((most - least) or 1.0), low))

    def pixels(point: Sequence[float]) -> tuple[float, float]:
        x, y = (
            round(low + (value - least) * scale, 1) for value, (least, scale, low) in zip(point, scales, strict=True)
        )
        return x, y

    path = [pixels(point) for point in journey["path"]]
    seen = [t for t, here in enumerate(observed) if here] or [0]
    first, last = seen[0], seen[-1]
    ends = sorted({first, last})
    taken = [(*path[t], 4.0 * len(slices.labels[t])) for t in ends]
    names = []
    for anchor in journey["anchors"]:
        x, y = pixels(anchor["place"])
        half = len(anchor["word"]) * _LETTER / 2 + 3
        y = _clear(x, y, half, taken)
        taken.append((x, y, half))
        near = ",".join("" if value is None else f"{value:g}" for value in anchor["similarity"])
        name = Markup('<text class="anchor" x="{}" y="{}" data-near="{}">{}</text>').format(x, y, near, anchor["word"])
        names.append(_linked(word_href(anchor["word"]), name))
    parts = [
        svg.shape("trail whole", "M" + "L".join(f"{x} {y}" for x, y in path[first : last + 1])),
        svg.shape("trail recent", ""),
        *(svg.text("tick end centered", path[t][0], path[t][1] + 20, slices.labels[t]) for t in ends),
        *names,
        Markup('<circle class="here" cx="{}" cy="{}" r="7"/>').format(*path[last]),
    ]
    return svg.drawing(
        " wide map", f"The journey of {word} among its neighbours", parts, height=_MAP_HEIGHT,
        path=" ".join(f"{x},{y}" for x, y in path), first=first, last=last,
    )  # fmt: skip


def check_figure(content: Mapping[str, Any], name: str) -> str:
    """Return the name of a figure that a page has; raise `OptionError` for another."""
    names = [*content["figures"]]
    names += ["timeline"] if content.get("timeline") else []
    names += ["stream", "journey"] if content.get("stream") else []
    if not names:
        raise OptionError(f"`figure` is {shown(name)}, but this page has no figures")
    return one_of("figure", name, names)


def saved_figure(slices: Slices, content: Mapping[str, Any], name: str) -> tuple[str, str]:
    """Return the title of a figure of a page, and the figure as a file of its own, without links."""
    match check_figure(content, name):
        case "timeline":
            title, timeline = "When words changed", content["timeline"]
            drawn = draw_timeline(slices, timeline["words"], timeline["counts"])
        case "stream":
            title, frequency = (
                f"Neighbours of {content['word']}",
                content["figures"]["frequency"]["series"][0]["values"],
            )
            drawn = draw_stream(slices, content["stream"], frequency, title=title, changes=content["marked"])
        case "journey":
            title = f"The journey of {content['word']}"
            drawn = draw_journey(slices, content["word"], content["journey"], content["observed"])
        case _:
            title, drawn = content["figures"][name]["title"], draw(slices, content["figures"][name])
    return title, standalone(drawn, title, content["cite"])


def _linked(address: str | None, drawn: Markup) -> Markup:
    """Make a link of a part of a figure, where it has an address."""
    return Markup('<a href="{}">{}</a>').format(address, drawn) if address else Markup("<g>{}</g>").format(drawn)


def _shade(similarity: float) -> int:
    """Return how dark a similarity is drawn, from 0 to `_SHADES`."""
    return max(0, min(_SHADES, round((similarity - _FAR) / (_NEAR - _FAR) * _SHADES)))


def _clear(x: float, y: float, half: float, taken: Sequence[tuple[float, float, float]]) -> float:
    """Return the height nearest to y at which a text covers none of those already placed."""
    for shift in sorted(range(-_MAP_HEIGHT, _MAP_HEIGHT, 4), key=abs):
        at = y + shift
        if 14 < at < _MAP_HEIGHT - 8 and all(abs(x - a) > half + h or abs(at - b) >= 15 for a, b, h in taken):
            return round(at, 1)
    return y
