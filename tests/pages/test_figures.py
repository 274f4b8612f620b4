"""Figures of the pages: every slice is in its place, and nothing covers anything else."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftword as dw
from driftword.pages import content
from driftword.pages.figures import SPARK_HEIGHT, draw, figure, sparkline, standalone
from driftword.pages.svg import HALF_WIDTH, WIDTH

YEARS = dw.Slices.from_labels(range(1900, 1920))
value = st.one_of(st.none(), st.floats(-1e6, 1e6, allow_subnormal=False))


def series(name: str, values: list[float | None], counts: list[int] | None = None) -> dict[str, object]:
    observed = None if counts is None else [count > 0 for count in counts]
    return {"name": name, "values": values, "counts": counts, "observed": observed}


@pytest.mark.slow
@given(
    values=st.lists(st.lists(value, min_size=20, max_size=20), min_size=1, max_size=6),
    kind=st.sampled_from(["lines", "bars", "distance"]),
    width=st.sampled_from([WIDTH, HALF_WIDTH]),
)
def test_all_is_drawn_inside_the_figure(values: list[list[float | None]], kind: str, width: int) -> None:
    lines = [series(f"name {i}", one, [3] * 20) for i, one in enumerate(values)]
    svg = str(draw(YEARS, figure("a", "b", kind, series=lines, width=width)))
    root = ElementTree.fromstring(svg)
    height = 230
    for path in root.iter("{http://www.w3.org/2000/svg}path"):
        for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path.get("d", "")):
            assert 0 <= float(x) <= width
            assert -0.1 <= float(y) <= height
    names = [e for e in root.iter("{http://www.w3.org/2000/svg}text") if "name" in (e.get("class") or "")]
    places = sorted(float(e.get("y", 0)) for e in names)
    assert all(b - a >= 14.9 for a, b in pairwise(places))
    assert all(0 < place <= height for place in places)


def test_a_word_keeps_its_colour_in_all_figures_of_a_page(small_model: dw.Model) -> None:
    figures = content.compare(small_model, ["ship", "wheat", "court"])["figures"]
    for name, words in [("similarity", 2), ("change", 3), ("frequency", 3)]:
        svg = str(draw(small_model.slices, figures[name]))
        colours = {word: number for number, word in re.findall(r'class="s(\d) name"[^>]*>([^<]+)<', svg)}
        assert len(colours) == words == len(re.findall(r'<g class="s\d"', svg))
        assert colours.items() <= {"ship": "0", "wheat": "1", "court": "2"}.items()


def test_every_slice_leads_to_its_address() -> None:
    drawn = figure("a", "b", "distance", series=[series("ship", list(range(20)), list(range(20)))])
    svg = str(draw(YEARS, drawn, href=lambda label: f"/x?at={label}&y" if label != "1900" else "", pinned=["1903"]))
    links = re.findall(r'<a class="slice-link( pinned)?" href="([^"]+)" data-slice="(\d+)" tabindex="(-?\d)"', svg)
    assert [label for _, _, label, _ in links] == [str(year) for year in range(1901, 1920)]
    assert all(address == f"/x?at={label}&amp;y" for _, address, label, _ in links)
    assert [label for pinned, _, label, _ in links if pinned] == ["1903"]
    assert [label for _, _, label, tab in links if tab == "0"] == ["1903"]
    edges = [float(x) for x in re.findall(r'</title><path d="M([\d.]+) ', svg)]
    assert edges == sorted(edges)


def test_what_is_not_seen_is_dashed_and_what_is_rare_faint() -> None:
    counts = [50] * 8 + [0] * 4 + [1] * 8
    drawn = figure("a", "b", "lines", series=[series("ship", [1.0] * 10 + [2.0] * 10, counts)])
    svg = str(draw(YEARS, drawn))
    interpolated, observed = (
        re.findall(rf'<path class="{name}" d="([^"]*)"', svg)[0] for name in ("interpolated", "observed")
    )
    assert len(re.findall(r"[ML]", interpolated)) == 6  # four slices, and one on either side
    assert len(re.findall(r"[ML]", observed)) == 16
    dots = dict(re.findall(r'<path class="dots" d="([^"]*)"( opacity="0.2")?', svg))
    assert sorted(path.count("M") for path in dots) == [8, 8]
    assert sorted(dots.values()) == ["", ' opacity="0.2"']


@pytest.mark.parametrize(
    "labels",
    [[1990], ["1990-01", "1990-02"], range(1946, 2023), range(1791, 2025, 2), [f"19{y:02}-12" for y in range(50)]],
)
def test_times_are_named_without_running_into_each_other(labels: list[str | int]) -> None:
    slices = dw.Slices.from_labels(labels)
    drawn = figure("a", "b", "bars", series=[series("x", [1.0] * len(slices))])
    svg = str(draw(slices, drawn))
    ticks = [
        (float(x), text) for x, text in re.findall(r'<text class="tick centered" x="([\d.]+)" y="[\d.]+">([^<]+)<', svg)
    ]
    assert ticks
    for (x, text), (later, _) in pairwise(ticks):
        assert later - x >= 7 * len(text)


def test_a_figure_by_itself_says_what_it_was_made_from() -> None:
    drawn = figure("Ships <b>", "b", "bars", series=[series("x", [1.0] * 20)])
    svg = standalone(draw(YEARS, drawn), drawn["title"], "letters & more")
    root = ElementTree.fromstring(svg)
    texts = "".join(root.itertext())
    assert "Ships <b>" in texts
    assert "letters & more" in texts
    assert "prefers-color-scheme" not in svg


def test_a_line_begins_where_its_word_does() -> None:
    counts = [0] * 5 + [9] * 5 + [0] * 2 + [9] * 5 + [0] * 3
    for kind, dashes in (("lines", 3), ("distance", 11)):  # over the gap alone; and to the ends
        svg = str(draw(YEARS, figure("a", "b", kind, series=[series("ship", [float(t) for t in range(20)], counts)])))
        (interpolated,) = re.findall(r'<path class="interpolated" d="([^"]*)"', svg)
        assert interpolated.count("L") == dashes


@pytest.mark.parametrize("end", [0.0, 1.0])
def test_names_of_lines_that_end_together_stay_inside(end: float) -> None:
    lines = [series(f"name {i}", [0.0, 1.0] * 9 + [0.5, end]) for i in range(6)]
    svg = str(draw(YEARS, figure("a", "b", "lines", series=lines)))
    places = sorted(float(y) for y in re.findall(r'<text class="s\d name" x="[\d.]+" y="(-?[\d.]+)"', svg))
    assert len(places) == 6
    assert all(b - a >= 14.9 for a, b in pairwise(places))
    assert places[0] > 10
    assert places[-1] < 230


@pytest.mark.parametrize(
    ("largest", "expected"), [(9, "10"), (9_000, "10k"), (150_000, "150k"), (1_400_000, "1.5M"), (4e9, "4B")]
)
def test_large_numbers_are_short(largest: float, expected: str) -> None:
    svg = draw(
        dw.Slices.from_labels([1990, 1991]), figure("Text", "words", "bars", series=[series("words", [0, largest])])
    )
    assert re.findall(r'class="tick numeric"[^>]*>([^<]+)<', svg)[-1] == expected


def test_small_lines_have_one_scale_and_mark_the_change() -> None:
    slices = dw.Slices.from_labels(range(1990, 1994))
    svg = sparkline(slices, [0.0, None, 0.5, 1.0], highest=1.0, change="1992", title='about "it"')
    points = re.findall(r"[ML]([\d.]+) ([\d.]+)", svg.split('class="observed" d="')[1].split('"')[0])
    heights = [float(y) for _, y in points]
    assert len(points) == 3
    assert heights[0] == SPARK_HEIGHT - 2
    assert heights[2] == 2
    assert heights[1] == pytest.approx(SPARK_HEIGHT / 2, abs=0.1)
    mark = float(re.findall(r'class="change-mark" d="M([\d.]+) ', svg)[0])
    assert float(points[0][0]) < mark < float(points[1][0])
    assert 'aria-label="about &#34;it&#34;"' in svg
    assert "change-mark" not in sparkline(slices, [0.0] * 4, highest=0.0, change=None, title="")
