"""Tables of `explore` as Altair charts.

What matters is told by shape or shade as well as by colour, so that a print in black
and white says it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import altair as alt
import numpy as np
import polars as pl

from driftword import explore
from driftword.corpus.slices import At
from driftword.errors import OptionError
from driftword.explore import vectors as space
from driftword.model import Model
from driftword.plot.layout import (
    CHANGES_HEIGHT,
    COLOURS,
    DARK,
    FAINT,
    HEIGHT,
    LINE,
    MAP_HEIGHT,
    PALE,
    ROOM,
    WIDTH,
    apart,
    beside,
    edges,
    finish,
    pixels,
    spaced,
    span,
    stacked,
    timed,
    years,
)  # fmt: skip

WITHOUT_WORD: Final = ("drift", "history")
KINDS: Final = ("trajectory", "neighbors", "similarity", "frequency", "map", "changes", *WITHOUT_WORD)
#: What a user may choose for each kind, beside the word.
OPTIONS: Final = {
    "trajectory": ("at", "n"),
    "neighbors": ("at", "n"),
    "map": ("n",),
    "changes": ("n",),
    "drift": ("n", "metric", "min_count", "skip", "from", "to"),
}


def trajectory(model: Model, word: str, *, at: At | Sequence[At] | None = None, n: int = 6) -> Any:
    """Draw a word's meaning through time on one line, with its neighbours at telling slices: the paper's figure 1.

    Where the word does not occur the line is dashed; the fewer its occurrences, the fainter its dots.
    """
    way = timed(model, explore.trajectory(model, word, at=at, n=n))
    chosen = way.filter(pl.col("neighbors").is_not_null())
    _some(chosen, "no word occurs often enough to be a neighbour")
    low, high = span(way["place"])
    band = LINE * (n + 2)
    pixel = (high - low) / (HEIGHT - 20)  # in units of place
    top = high + band * pixel
    places = spaced(way, chosen)
    texts, lines = [], []
    for row, year in zip(chosen.iter_rows(named=True), places, strict=True):
        texts.append({"year": year, "place": top - LINE * pixel, "text": row["slice"], "head": True})
        texts += [
            {"year": year, "place": top - (i + 2) * LINE * pixel, "text": other, "head": False}
            for i, other in enumerate(row["neighbors"])
        ]
        foot = top - (len(row["neighbors"]) + 2.4) * LINE * pixel
        lines.append({"year": year, "place": foot, "year2": row["year"], "place2": row["place"]})
    x = years(way)
    y = alt.Y("place:Q", title="meaning (first principal component)", scale=alt.Scale(domain=[low, top], nice=False),
              axis=alt.Axis(labels=False, ticks=False, grid=False))  # fmt: skip
    base = alt.Chart(way).encode(x, y)
    label = alt.Chart(pl.DataFrame(texts)).encode(x, y, alt.Text("text:N"))
    layers = [
        alt.Chart(pl.DataFrame(lines)).mark_rule(color=PALE).encode(
            x, y, alt.X2("year2"), alt.Y2("place2")
        ),
        base.mark_line(color=FAINT, strokeDash=[3, 3], strokeWidth=1),
        base.transform_filter("datum.stretch !== null").mark_line(color=COLOURS[0], strokeWidth=2).encode(
            detail="stretch:N"
        ),
        base.transform_filter("datum.observed").mark_circle(color=COLOURS[0], size=45).encode(
            opacity=alt.Opacity(
                "count:Q", scale=alt.Scale(type="log", domain=[1, 50], range=[0.15, 1], clamp=True), legend=None
            ),
            tooltip=["slice:N", "count:Q"],
        ),
        label.transform_filter("datum.head").mark_text(fontWeight="bold", fontSize=12, color=DARK),
        label.transform_filter("!datum.head").mark_text(fontSize=12, color=DARK, limit=ROOM * WIDTH * 0.88),
    ]  # fmt: skip
    return finish(alt.layer(*layers), model, f"“{word}” through time", height=HEIGHT + band)


def neighbors(model: Model, word: str, *, at: At | Sequence[At] | None = None, n: int = 10) -> Any:
    """Draw the neighbours of a word in several slices as ranked lists, those that stay joined by lines."""
    labels = [model.slices.labels[t] for t in explore.telling(model, word, n=5)] if at is None else at
    table = explore.neighbors(model, word, at=labels, n=n)
    _some(table, "no word occurs often enough to be a neighbour")
    order = table["slice"].unique(maintain_order=True).to_list()
    column = {label: i for i, label in enumerate(order)}
    table = table.with_columns(column=pl.col("slice").replace_strict(column, return_dtype=pl.Int64))
    gap = pl.col("column").diff().over("word").fill_null(1) > 1  # a word that left and came back begins anew
    table = table.with_columns(stretch=gap.cum_sum().over("word"))
    table = table.with_columns(stays=pl.len().over("word", "stretch") > 1)
    x = alt.X("slice:O", title=None, sort=order, axis=alt.Axis(orient="top", labelAngle=0, labelFontWeight="bold",
              domain=False, ticks=False, labelFontSize=13))  # fmt: skip
    y = alt.Y("rank:Q", title=None, scale=alt.Scale(domain=[n + 0.5, 0.5]), axis=None)
    base = alt.Chart(table).encode(x, y)
    layers = [
        base.transform_filter("datum.stays").mark_line(strokeWidth=14, opacity=0.25, color=COLOURS[5]).encode(
            detail=["word:N", "stretch:N"]
        ),
        base.mark_text(fontSize=12, limit=WIDTH / len(order) - 8).encode(
            text="word:N", color=alt.condition("datum.stays", alt.value(COLOURS[0]), alt.value(DARK))
        ),
    ]  # fmt: skip
    return finish(alt.layer(*layers), model, f"Neighbours of “{word}”", height=26 * n)


def drift(model: Model, *, n: int = 16, metric: str = "absolute", min_count: int = 5, **options: Any) -> Any:
    """Draw the words that moved most as bars, each with its occurrences in the two slices compared."""
    table = explore.drift(model, n=n, metric=metric, min_count=min_count, **options)
    _some(table, "no word meets these conditions")
    table = table.with_columns(evidence=pl.format("{} → {}", "count_first", "count_last"))
    y = alt.Y(
        "word:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, labelFontSize=12, labelLimit=220)
    )
    x = alt.X(
        "drift:Q",
        title=f"{metric} drift",
        axis=alt.Axis(grid=False),
        scale=alt.Scale(domain=[0, span(table["drift"])[1] * 1.1]),
    )
    base = alt.Chart(table).encode(y, x)
    layers = [
        base.mark_bar(height=alt.RelativeBandSize(0.7), color=COLOURS[0]).encode(
            opacity=alt.condition("datum.interpolated", alt.value(0.35), alt.value(0.9))
        ),
        base.mark_text(align="left", dx=5, fontSize=11, color=FAINT).encode(text="evidence:N"),
    ]
    labels = model.slices.labels
    begin, end = (labels[model.slices.index(at)] for at in options.get("between") or (labels[0], labels[-1]))
    return finish(alt.layer(*layers), model, f"Words that changed most from {begin} to {end}", height=22 * len(table),
                   note=f"occurrences in {begin} and in {end}; pale: interpolated")  # fmt: skip


def similarity(model: Model, word: str, others: str | Sequence[str]) -> Any:
    """Draw how near a word is to others through time; dots only where both occur."""
    others = [others] if isinstance(others, str) else list(others)
    if not 1 <= len(others) <= len(COLOURS):
        raise OptionError(f"a chart shows 1 to {len(COLOURS)} words beside the first; {len(others)} were given")
    parts = [timed(model, explore.similarity(model, word, other)).with_columns(other=pl.lit(other)) for other in others]
    table = pl.concat(parts).with_columns(both=(pl.col("count_a") > 0) & (pl.col("count_b") > 0))
    colour = alt.Color("other:N", scale=alt.Scale(domain=others, range=list(COLOURS[: len(others)])), legend=None)
    base = alt.Chart(table).encode(
        years(table), alt.Y("similarity:Q", title="cosine, slice means removed", scale=alt.Scale(zero=False)), colour
    )
    ends = pl.concat([part.tail(1) for part in parts]).sort("similarity")
    low, high = span(table["similarity"])
    heights = stacked(ends["similarity"].to_list(), least=(high - low) * LINE / HEIGHT)
    ends = ends.with_columns(height=pl.Series(heights))
    layers = [
        base.mark_line(strokeWidth=1.5).encode(strokeDash=alt.StrokeDash("other:N", sort=others, legend=None)),
        base.transform_filter("datum.both").mark_circle(size=25),
        alt.Chart(ends).mark_text(align="left", dx=6, fontSize=12, limit=150).encode(
            alt.X("year:Q"), alt.Y("height:Q"), colour, text="other:N"
        ),
    ]  # fmt: skip
    return finish(alt.layer(*layers), model, f"How near “{word}” is to other words")


def frequency(model: Model, word: str) -> Any:
    """Draw a word's movement above its frequency: so one sees whether its use changed or only its count."""
    space.moving(model)
    table = timed(model, explore.frequency(model, word)).with_columns(pl.col("step").fill_null(0))
    panels = [
        alt.Chart(table)
        .mark_bar(color=colour, opacity=0.8)
        .encode(*edges(table), alt.Y(f"{name}:Q", title=title))
        .properties(width=WIDTH, height=150)
        for name, title, colour in (
            ("step", "distance to the slice before", COLOURS[0]),
            ("per_million", "per million words", COLOURS[4]),
        )
    ]
    return finish(alt.vconcat(*panels), model, f"“{word}”: movement and frequency", height=None)


def map(model: Model, word: str, *, n: int = 8) -> Any:
    """Draw a word's path in two dimensions among the words that were near to it early and late."""
    space.moving(model)
    times = explore.telling(model, word, n=5)
    near = {t: explore.neighbors(model, word, at=model.slices.labels[t], n=n, metric="centred") for t in times}
    held = {t: space.unit(space.centred(model, t)) for t in times}
    known: dict[str, int] = {}
    for t in (times[-1], times[0]):  # a word that is near at both ends is shown as it was at first
        known |= dict.fromkeys(near[t]["word"].to_list(), t)
    if len(times) < 2 or not known:
        raise OptionError(f"there is nothing to draw: '{word}' occurs often enough in fewer than two slices")
    path = np.array([held[t][model.word_id(word)] for t in times])
    others = np.array([held[t][model.word_id(other)] for other, t in known.items()])
    _, _, axes = np.linalg.svd(others - others.mean(axis=0), full_matrices=False)
    flat = (np.vstack([path, others]) - others.mean(axis=0)) @ axes[:2].T
    flat[:, 0] *= -1 if flat[len(times) - 1, 0] < flat[0, 0] else 1  # from left to right, as time goes
    flat = pixels(flat)
    dots, labels = flat[: len(times)], [model.slices.labels[t] for t in times]
    heights = beside(dots, labels)
    tags = [(x, height) for x, height in zip(dots[:, 0], heights, strict=True) if np.isfinite(height)]
    others = apart(
        flat[len(times) :], list(known), obstacles=[*dots, *tags], names=["dot"] * len(dots) + labels[: len(tags)]
    )
    rows = [
        {"x": x, "y": y, "text": label, "kind": "path", "order": i, "height": height if np.isfinite(height) else None}
        for i, ((x, y), label, height) in enumerate(zip(dots, labels, heights, strict=True))
    ]
    rows += [
        {"x": x, "y": y, "text": other, "kind": "late" if t == times[-1] else "early", "order": -1, "height": None}
        for (x, y), (other, t) in zip(others, known.items(), strict=True)
    ]
    table = pl.DataFrame(rows)
    axis: dict[str, Any] = {"axis": None, "scale": alt.Scale(zero=False, nice=False, padding=30)}
    base = alt.Chart(table).encode(alt.X("x:Q", **axis), alt.Y("y:Q", **axis))
    colour = alt.Color("kind:N", scale=alt.Scale(domain=["early", "late"], range=[COLOURS[1], COLOURS[2]]), legend=None)
    stages, early, late = (base.transform_filter(f"datum.kind == '{kind}'") for kind in ("path", "early", "late"))
    layers = [
        stages.mark_line(color=COLOURS[0], strokeWidth=1.5).encode(order="order:Q"),
        stages.mark_circle(color=COLOURS[0], size=60),
        early.mark_text(fontSize=11, fontStyle="italic").encode(colour, text="text:N"),
        late.mark_text(fontSize=11).encode(colour, text="text:N"),
        stages.transform_filter("datum.height !== null")
        .mark_text(fontWeight="bold", fontSize=12, color=DARK)
        .encode(alt.Y("height:Q", **axis), text="text:N"),
    ]
    first, last = model.slices.labels[times[0]], model.slices.labels[times[-1]]
    note = f"italic: near it in {first}; upright: in {last}; two principal components"
    return finish(alt.layer(*layers), model, f"The path of “{word}”", height=MAP_HEIGHT, note=note)


def history(model: Model) -> Any:
    """Draw the validation score after every pass of a fit."""
    if not model.history:
        raise OptionError("the model has no history of its fit")
    table = pl.DataFrame([{"pass": e["pass"], "L": e["L"], "kind": e["kind"]} for e in model.history])
    base = alt.Chart(table).encode(
        alt.X("pass:O", title="pass", axis=alt.Axis(labelAngle=0)),
        alt.Y("L:Q", title="validation L", scale=alt.Scale(zero=False)),
    )
    layers = [
        base.mark_line(color=FAINT),
        base.mark_point(filled=True, size=60, color=COLOURS[0]).encode(shape=alt.Shape("kind:N", title="kind of pass")),
    ]
    return finish(alt.layer(*layers), model, "How the fit went", height=260)


def changes(model: Model, word: str, *, n: int = 3) -> Any:
    """Draw how far a word moved into each slice, and the slices in which a new use begins."""
    cuts = explore.changes(model, word, n=n)
    table = timed(model, explore.frequency(model, word)).with_columns(pl.col("step").fill_null(0))
    marks = table.join(cuts.select("slice", "unusual"), on="slice").with_columns(
        text=pl.format("{} ({}%)", "slice", (100 * pl.col("unusual")).floor().cast(pl.Int64))
    )
    high = span(table["step"])[1] * (1 + LINE * marks.height / CHANGES_HEIGHT)
    line = high * LINE / CHANGES_HEIGHT
    marks = marks.sort("year").with_columns(height=high - line * (pl.int_range(pl.len()) + 0.5))  # a line for each
    layers = [
        alt.Chart(table).mark_bar(color=PALE).encode(
            *edges(table),
            alt.Y("step:Q", title="distance to the slice before", scale=alt.Scale(domain=[0, high], nice=False)),
        ),
        alt.Chart(marks).mark_rule(color=COLOURS[1], strokeWidth=1.5).encode(alt.X("begin:Q")),
        alt.Chart(marks).mark_text(align="left", dx=4, fontSize=12, color=COLOURS[1]).encode(
            alt.X("begin:Q"), alt.Y("height:Q"), text="text:N"
        ),
    ]  # fmt: skip
    note = "a new use begins; in brackets: words as frequent that changed less"
    return finish(alt.layer(*layers), model, f"When “{word}” changed", height=CHANGES_HEIGHT, note=note)


def _some(table: pl.DataFrame, why: str) -> None:
    """Refuse to draw an empty figure."""
    if table.is_empty():
        raise OptionError(f"there is nothing to draw: {why}")
