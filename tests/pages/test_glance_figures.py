"""Figures that show change at a glance, as SVG."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any
from xml.etree import ElementTree

import pytest

from driftword.basics.errors import OptionError
from driftword.corpus import Slices
from driftword.pages.figures import SPARK_HEIGHT, draw, figure, sparkline
from driftword.pages.glance_figures import draw_journey, draw_stream, draw_timeline, saved_figure

SLICES = Slices.from_labels(range(1900, 1940))
CHANGE: Any = {"at": "1910-01-01", "low": "1908-01-01", "high": "1912-01-01"}
SVG = "{http://www.w3.org/2000/svg}"


def test_words_of_a_timeline_do_not_cover_each_other() -> None:
    words = [f"{'long' * (i % 4)}word{i}" for i in range(200)]
    rows = [
        {"word": word, "slice": at, "change": at, "before": ["a"], "after": []}
        for word, at in zip(words, (str(1900 + i * 7 % 40) for i in range(200)), strict=True)
    ]
    drawn = draw_timeline(
        SLICES, rows, [i % 5 for i in range(40)], word_href=lambda word: f"/word/{word}",
        period_href=lambda at: f"/?{at}", chosen=["1907"],
    )  # fmt: skip
    root = ElementTree.fromstring(str(drawn))
    texts = [(float(t.get("x", 0)), float(t.get("y", 0)), t.text or "") for t in root.iter(f"{SVG}text")
             if "word" in (t.get("class") or "")]  # fmt: skip
    assert 20 <= len(texts) <= 48
    assert texts[0][2] == words[0]  # the most important one is there
    for i, (x, y, text) in enumerate(texts):
        for x2, y2, other in texts[:i]:
            assert y != y2 or abs(x - x2) >= 6.2 * (len(text) + len(other)) / 2
    links = [a.get("href") for a in root.iter(f"{SVG}a")]
    assert links.count("/?1907") == 1
    assert f"/word/{words[0]}" in links
    assert len([a for a in root.iter(f"{SVG}a") if "pinned" in (a.get("class") or "")]) == 1
    assert f"<title>{words[0]}: from a in 1900</title>" in str(drawn)


def test_a_stream_is_darker_where_a_neighbour_is_nearer() -> None:
    rows = [{"word": "near", "similarity": [0.8] * 40}, {"word": "far", "similarity": [0.05] * 39 + [None]}]
    drawn = str(
        draw_stream(
            SLICES, rows, [1.0] * 40, title="t", changes=[CHANGE],
            href=lambda at: f"#{at}", word_href=lambda word: f"/word/{word}",
        )
    )  # fmt: skip
    cells = re.findall(r'<path class="shade" opacity="([\d.]+)" d="([^"]+)"', drawn)
    assert [(opacity, path.count("M")) for opacity, path in cells] == [("1.0", 40)]  # and nothing for the other
    assert drawn.count('class="slice-link"') == 40
    assert drawn.count('class="change-mark"') == 1
    values = json.loads(unescape(re.findall(r'data-values="([^"]*)"', drawn)[0]))
    assert values == {row["word"]: row["similarity"] for row in rows}


def test_a_journey_has_its_path_and_places_that_do_not_cover_each_other() -> None:
    anchors = [{"word": f"anchor{i}", "place": [0.1 * (i % 2), 0.01], "similarity": [0.5] * 40} for i in range(9)]
    journey = {"path": [[t / 40, 0.0] for t in range(40)], "anchors": anchors, "shown": 0.9}
    drawn = str(draw_journey(SLICES, "word", journey, [False] * 3 + [True] * 37, word_href=lambda _: None))
    root = ElementTree.fromstring(drawn)
    points = [tuple(map(float, pair.split(","))) for pair in (root.get("data-path") or "").split()]
    assert points == sorted(points)
    assert (root.get("data-first"), root.get("data-last")) == ("3", "39")
    texts = [
        (float(t.get("x", 0)), float(t.get("y", 0))) for t in root.iter(f"{SVG}text") if t.get("class") == "anchor"
    ]
    assert len(set(texts)) == 9
    for i, (x, y) in enumerate(texts):
        assert all(abs(y - y2) >= 14 or abs(x - x2) > 40 for x2, y2 in texts[:i])


def test_a_figure_of_distances_has_its_band_its_change_and_the_words_of_both_sides() -> None:
    values = [t / 100 for t in range(40)]
    one = {
        "name": "w",
        "values": values,
        "counts": None,
        "observed": None,
        "interval": (values, [v + 0.1 for v in values]),
    }
    described = figure(
        "t", "distance", "distance", series=[one], usual=([0.0] * 40, [0.05] * 40), top=0.9,  # type: ignore[list-item]
        sides=(["zeal"], ["oil", "gas"]),
        changes=[{"at": "1920-01-01", "low": "1918-01-01", "high": "1925-07-01"}],
    )  # fmt: skip
    drawn = str(draw(SLICES, described))
    for part in (
        'class="usual"',
        'class="interval s0"',
        'class="change-interval"',
        'class="change-mark"',
        ">before: zeal<",
        ">since: oil, gas<",
    ):
        assert part in drawn
    low, high, bottom, top = map(float, re.findall(r'data-scale="([^"]*)"', drawn)[0].split())
    assert low == 0
    assert high >= 0.9  # a common scale, whatever the word's own distances are
    places = [float(x) for x in re.findall(r'data-x="([^"]*)"', drawn)[0].split()]
    path = re.findall(r'<path class="observed" d="M([^"]*)"', drawn)[0].split("L")
    for t, point in enumerate(path):
        x, y = map(float, point.split())
        assert x == pytest.approx(places[t])
        assert y == pytest.approx(bottom - values[t] / high * (bottom - top), abs=0.06)


def test_a_sparkline_has_bars_of_its_frequency() -> None:
    drawn = str(sparkline(SLICES, [0.5] * 40, highest=1.0, change=None, title="t", frequency=[0.0] * 39 + [7.0]))
    assert drawn.count('class="bar"') == 1
    top = float(re.findall(r'class="bar" d="M[\d.]+ [\d.]+V([\d.]+)', drawn)[0])
    assert top == pytest.approx(0.4 * SPARK_HEIGHT - 1, abs=0.1)
    assert 'class="bar"' not in str(
        sparkline(SLICES, [0.5] * 40, highest=1.0, change=None, title="t", frequency=[0.0] * 40)
    )


def test_pages_without_such_figures_have_none() -> None:
    for name in ("timeline", "stream", "journey"):
        with pytest.raises(OptionError, match=name):
            saved_figure(SLICES, {"figures": {}}, name)
