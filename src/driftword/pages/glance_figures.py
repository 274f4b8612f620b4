"""Figures that show change at a glance: a timeline of the corpus, a word's neighbours as a stream, and its journey.

Like those of `figures`, they are SVG that works without scripts; scripts add brushing, values and motion.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

from driftword.corpus import Slices
from driftword.pages.figures import WIDTH, Change, TimeAxis, change_marks, draw_bars, slice_links, time_labels

_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 22, 26
_LETTER: Final = 6.6  # width of one in the names of words
_ROW: Final = 17
_WORD_ROWS: Final = 7
_MOST_WORDS: Final = 48
_STRONG: Final = 10  # words in bold
_BARS: Final = 56  # height of the bars below the words of a timeline
_NAMES: Final = 150  # for the names of neighbours
_STRIP: Final = 34  # height of the frequency above a stream
_SHADES: Final = 8
_NEAR, _FAR = 0.8, 0.1  # similarities that are darkest and white, for all words
_MAP_HEIGHT: Final = 380


def draw_timeline(
    slices: Slices,
    rows: Sequence[Mapping[str, Any]],
    counts: Sequence[int],
    *,
    word_href: Callable[[str], str | None],
    period_href: Callable[[str], str] | None,
    chosen: Sequence[str],
) -> Markup:
    """Draw words where they changed, and below how many did in each slice.

    Parameters
    ----------
    slices
        The slices of the model.
    rows
        Words with their change, those that are more important first; where there is no room, the others go.
    counts
        How many words changed in each slice.
    word_href, period_href
        Return the address of a word, and that of the list of words that changed in a slice.
    chosen
        The slices whose words are listed.
    """
    axis = TimeAxis(slices, _LEFT, WIDTH - _RIGHT)
    height = _TOP + _WORD_ROWS * _ROW + _BARS + _BOTTOM
    base, most = height - _BOTTOM, max([*counts, 1])
    free = [[(-1e9, 0.0)] for _ in range(_WORD_ROWS)]  # stretches of each row that are taken
    words: list[Markup] = []
    for rank, row in enumerate(rows):
        if len(words) == _MOST_WORDS:
            break
        half = len(row["word"]) * (_LETTER + (rank < _STRONG)) / 2 + 6
        middle = axis.middle[slices.labels.index(row["change"])]
        x = min(max(middle, half), WIDTH - half)
        place = next((n for n, taken in enumerate(free) if all(x + half < a or x - half > b for a, b in taken)), None)
        if place is None:
            continue
        free[place].append((x - half, x + half))
        y = base - _BARS - 8 - place * _ROW
        sides = [f"{side} {', '.join(row[name])}" for side, name in (("from", "before"), ("to", "after")) if row[name]]
        title = f"{row['word']}: {' '.join([*sides, 'in', row['change']])}"
        drawn = Markup('<title>{}</title><text class="word{}" x="{}" y="{}">{}</text>').format(
            title, " strong" if rank < _STRONG else "", round(x, 1), round(y, 1), row["word"]
        )
        words.append(_linked(word_href(row["word"]), drawn))
    links = Markup("")
    if period_href is not None:
        links = slice_links(axis, counts, href=period_href, pinned=chosen, height=height, noun="word")
    bars = draw_bars(axis, list(counts), None, lambda value: round(base - value / most * (_BARS - 12), 1))
    return Markup(
        '<svg class="figure wide timeline" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="group" '
        'aria-label="When words changed" data-x="{}" data-values="{}">{}{}{}{}{}</svg>'
    ).format(
        WIDTH, height, " ".join(f"{x:g}" for x in axis.middle), json.dumps({"words that changed": list(counts)}),
        time_labels(axis, height),
        Markup("").join(
            Markup('<text class="tick numeric" x="{}" y="{}">{:,}</text>').format(_LEFT - 6, y, number)
            for y, number in ((base - _BARS + 16, most), (base + 4, 0))
        ),
        bars, links, Markup("").join(words),
    )  # fmt: skip


def draw_stream(
    slices: Slices,
    rows: Sequence[Mapping[str, Any]],
    frequency: Sequence[float | None],
    *,
    title: str,
    changes: Sequence[Change],
    href: Callable[[str], str] | None,
    word_href: Callable[[str], str | None],
) -> Markup:
    """Draw how near neighbours are in every slice: a row for each, darker where it is nearer, and frequency above."""
    axis = TimeAxis(slices, _NAMES, WIDTH - _RIGHT)
    top = _TOP + _STRIP
    height = top + len(rows) * _ROW + _BOTTOM
    shades: dict[int, list[str]] = {}
    names = []
    for number, row in enumerate(rows):
        y = top + number * _ROW
        for t, value in enumerate(row["similarity"]):
            if value is not None and (shade := _shade(value)):
                wide = axis.end[t] - axis.begin[t]
                shades.setdefault(shade, []).append(f"M{axis.begin[t]} {y + 1}h{wide:.1f}v{_ROW - 2}h{-wide:.1f}z")
        name = row["word"] if len(row["word"]) < 22 else row["word"][:20] + "…"
        text = Markup('<text class="row-name" x="{}" y="{}">{}</text>').format(_NAMES - 8, y + 13, name)
        names.append(_linked(word_href(row["word"]), text))
    cells = [Markup('<path class="shade" opacity="{}" d="{}"/>').format(round(shade / _SHADES, 2), "".join(cells))
             for shade, cells in sorted(shades.items())]  # fmt: skip
    most = max([value for value in frequency if value is not None] or [1.0]) or 1.0
    bars = draw_bars(axis, frequency, None, lambda value: round(top - 5 - value / most * (_STRIP - 4), 1))
    links = Markup("") if href is None else slice_links(axis, None, href=href, pinned=(), height=height, noun="")
    return Markup(
        '<svg class="figure wide stream" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="group" '
        'aria-label="{}" data-x="{}" data-rows="{} {}" data-values="{}">{}{}{}{}{}{}{}</svg>'
    ).format(
        WIDTH, height, title, " ".join(f"{x:g}" for x in axis.middle), top, _ROW,
        json.dumps({row["word"]: row["similarity"] for row in rows}, ensure_ascii=False, separators=(",", ":")),
        Markup('<text class="tick numeric" x="{}" y="{}">frequency</text>').format(_NAMES - 8, top - 8),
        bars, Markup("").join(cells), Markup("").join(change_marks(axis, one, height) for one in changes),
        time_labels(axis, height), links, Markup("").join(names),
    )  # fmt: skip


def draw_journey(
    slices: Slices,
    word: str,
    journey: Mapping[str, Any],
    observed: Sequence[bool],
    *,
    word_href: Callable[[str], str | None],
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
    labels = [(path[first], slices.labels[first]), (path[last], slices.labels[last])]
    taken = [(x, y, 4.0 * len(text)) for (x, y), text in labels]
    names = []
    for anchor in journey["anchors"]:
        x, y = pixels(anchor["place"])
        half = len(anchor["word"]) * _LETTER / 2 + 3
        y = _clear(x, y, half, taken)
        taken.append((x, y, half))
        near = ",".join("" if value is None else f"{value:g}" for value in anchor["similarity"])
        text = Markup('<text class="anchor" x="{}" y="{}" data-near="{}">{}</text>').format(x, y, near, anchor["word"])
        names.append(_linked(word_href(anchor["word"]), text))
    trail = "M" + "L".join(f"{x} {y}" for x, y in path[first : last + 1])
    ends = Markup("").join(
        Markup('<text class="tick end centered" x="{}" y="{}">{}</text>').format(x, y + 20, text)
        for (x, y), text in (labels if first != last else labels[:1])
    )
    x, y = path[last]
    return Markup(
        '<svg class="figure wide map" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="group" '
        'aria-label="{}" data-path="{}" data-first="{}" data-last="{}"><path class="trail whole" d="{}"/>'
        '<path class="trail recent" d=""/>{}{}<circle class="here" cx="{}" cy="{}" r="7"/></svg>'
    ).format(
        WIDTH, _MAP_HEIGHT, f"The journey of {word} among its neighbours", " ".join(f"{x},{y}" for x, y in path), first,
        last, trail, ends, Markup("").join(names), x, y,
    )  # fmt: skip


def drawn_alone(slices: Slices, content: Mapping[str, Any]) -> dict[str, tuple[str, Markup]]:
    """Return these figures of a page, without links, each with its title, by the names under which they are saved."""
    found: dict[str, tuple[str, Markup]] = {}
    if content.get("timeline"):
        timeline = content["timeline"]
        drawn = draw_timeline(
            slices, timeline["words"], timeline["counts"], word_href=lambda _: None, period_href=None, chosen=()
        )
        found["timeline"] = "When words changed", drawn
    if content.get("stream"):
        title = f"Neighbours of {content['word']}"
        frequency = content["figures"]["frequency"]["series"][0]["values"]
        drawn = draw_stream(
            slices, content["stream"], frequency, title=title, changes=content["marked"], href=None,
            word_href=lambda _: None,
        )  # fmt: skip
        found["stream"] = title, drawn
        drawn = draw_journey(slices, content["word"], content["journey"], content["observed"], word_href=lambda _: None)
        found["journey"] = f"The journey of {content['word']}", drawn
    return found


def _linked(address: str | None, drawn: Markup) -> Markup:
    """Make a link of a part of a figure, where it has an address."""
    return Markup('<a href="{}">{}</a>').format(address, drawn) if address else Markup("<g>{}</g>").format(drawn)


def _shade(similarity: float) -> int:
    """Return how dark a similarity is drawn, from 0 to `_SHADES`."""
    return max(0, min(_SHADES, round((similarity - _FAR) / (_NEAR - _FAR) * _SHADES)))


def _clear(x: float, y: float, half: float, taken: Sequence[tuple[float, float, float]]) -> float:
    """Return the height nearest to y at which a text covers none of those placed before."""
    for shift in sorted(range(-_MAP_HEIGHT, _MAP_HEIGHT, 4), key=abs):
        at = y + shift
        if 14 < at < _MAP_HEIGHT - 8 and all(abs(x - a) > half + h or abs(at - b) >= 15 for a, b, h in taken):
            return round(at, 1)
    return y
