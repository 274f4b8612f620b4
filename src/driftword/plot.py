"""Tables of `explore` as Altair charts: they show in notebooks, and `save` writes them to files.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart; what
matters is also told by shape or shade, so that a print in black and white says it.
"""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

import altair as alt
import numpy as np
import polars as pl

from driftword import explore, store
from driftword.corpus.slices import At
from driftword.errors import OptionError
from driftword.explore import space
from driftword.model import Model

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DARK, FAINT, PALE = "#222222", "#8a8a8a", "#d9d9d9"
WIDTH, HEIGHT, MAP_HEIGHT = 720, 360, 480
ROOM: Final = 0.22  # share of the width that a list of neighbours takes
_LINE: Final = 15  # pixels from one line of text to the next
FORMATS: Final = ("svg", "png", "pdf", "html", "json")
WITHOUT_WORD: Final = ("drift", "history")
KINDS: Final = ("trajectory", "neighbors", "similarity", "frequency", "map", "changes", *WITHOUT_WORD)


def save(chart: Any, path: str | os.PathLike[str]) -> Path:
    """Save a chart as SVG, PNG (for print), PDF, HTML (one file, works offline) or Vega-Lite JSON, by its ending."""
    path = Path(path)
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise OptionError(f"'{path.name}' ends in no format that a figure can have; use one of .{', .'.join(FORMATS)}")
    with store.replacing(path) as partial:
        options: dict[str, dict[str, Any]] = {"html": {"inline": True}, "png": {"ppi": 216}}
        chart.save(str(partial), format=form, **options.get(form, {}))
    return path


def page(charts: Sequence[Any], path: str | os.PathLike[str], *, title: str) -> Path:
    """Save several charts on one HTML page, as pictures: it needs nothing but itself to be shown."""
    import vl_convert

    pictures = "\n".join(f"<figure>{vl_convert.vegalite_to_svg(chart.to_dict())}</figure>" for chart in charts)
    path = Path(path)
    with store.replacing(path) as partial:
        partial.write_text(_PAGE.format(title=html.escape(title), pictures=pictures), encoding="utf-8")
    return path


_PAGE: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body{{font:16px Helvetica,Arial,sans-serif;max-width:860px;margin:2em auto;padding:0 1em;background:#fff;color:#222}}
figure{{margin:2em 0}} svg{{max-width:100%;height:auto}}</style></head>
<body><h1>{title}</h1>
{pictures}
</body></html>
"""


def trajectory(model: Model, word: str, *, at: At | Sequence[At] | None = None, n: int = 6) -> Any:
    """Draw a word's meaning through time on one line, with its neighbours at telling slices: the paper's figure 1.

    Where the word does not occur the line is dashed; the fewer its occurrences, the fainter its dots.
    """
    way = _timed(model, explore.trajectory(model, word, at=at, n=n))
    chosen = way.filter(pl.col("neighbors").is_not_null())
    low, high = _range(way["place"])
    band = _LINE * (n + 2)
    pixel = (high - low) / (HEIGHT - 20)  # in units of place
    top = high + band * pixel
    places = _spaced(way, chosen)
    texts, lines = [], []
    for row, year in zip(chosen.iter_rows(named=True), places, strict=True):
        texts.append({"year": year, "place": top - _LINE * pixel, "text": row["slice"], "head": True})
        texts += [
            {"year": year, "place": top - (i + 2) * _LINE * pixel, "text": other, "head": False}
            for i, other in enumerate(row["neighbors"])
        ]
        foot = top - (len(row["neighbors"]) + 2.4) * _LINE * pixel
        lines.append({"year": year, "place": foot, "year2": row["year"], "place2": row["place"]})
    x = _years(way)
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
    return _finish(alt.layer(*layers), model, f"“{word}” through time", height=HEIGHT + band)


def neighbors(model: Model, word: str, *, at: At | Sequence[At] | None = None, n: int = 10) -> Any:
    """Draw the neighbours of a word in several slices as ranked lists, those that stay joined by lines."""
    labels = [model.slices.labels[t] for t in explore.telling(model, word, n=5)] if at is None else at
    table = explore.neighbors(model, word, at=labels, n=n)
    order = table["slice"].unique(maintain_order=True).to_list()
    staying = table.group_by("word").len().filter(pl.col("len") > 1)["word"].to_list()
    table = table.with_columns(stays=pl.col("word").is_in(staying))
    x = alt.X("slice:O", title=None, sort=order, axis=alt.Axis(orient="top", labelAngle=0, labelFontWeight="bold",
              domain=False, ticks=False, labelFontSize=13))  # fmt: skip
    y = alt.Y("rank:Q", title=None, scale=alt.Scale(domain=[n + 0.5, 0.5]), axis=None)
    base = alt.Chart(table).encode(x, y)
    layers = [
        base.transform_filter("datum.stays").mark_line(strokeWidth=14, opacity=0.25, color=COLOURS[5]).encode(
            detail="word:N"
        ),
        base.mark_text(fontSize=12, limit=WIDTH / len(order) - 8).encode(
            text="word:N", color=alt.condition("datum.stays", alt.value(COLOURS[0]), alt.value(DARK))
        ),
    ]  # fmt: skip
    return _finish(alt.layer(*layers), model, f"Neighbours of “{word}”", height=26 * n)


def drift(model: Model, *, n: int = 16, metric: str = "absolute", min_count: int = 5, **options: Any) -> Any:
    """Draw the words that moved most as bars, each with its occurrences in the first and the last slice."""
    table = explore.drift(model, n=n, metric=metric, min_count=min_count, **options)
    table = table.with_columns(evidence=pl.format("{} → {}", "count_first", "count_last"))
    y = alt.Y(
        "word:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, labelFontSize=12, labelLimit=220)
    )
    x = alt.X(
        "drift:Q",
        title=f"{metric} drift",
        axis=alt.Axis(grid=False),
        scale=alt.Scale(domain=[0, _range(table["drift"])[1] * 1.1]),
    )
    base = alt.Chart(table).encode(y, x)
    layers = [
        base.mark_bar(height=alt.RelativeBandSize(0.7), color=COLOURS[0]).encode(
            opacity=alt.condition("datum.interpolated", alt.value(0.35), alt.value(0.9))
        ),
        base.mark_text(align="left", dx=5, fontSize=11, color=FAINT).encode(text="evidence:N"),
    ]
    return _finish(alt.layer(*layers), model, "Words that changed most", height=22 * len(table),
                   note="occurrences in the first and the last slice; pale: interpolated")  # fmt: skip


def similarity(model: Model, word: str, others: str | Sequence[str]) -> Any:
    """Draw how near a word is to others through time; dots only where both occur."""
    others = [others] if isinstance(others, str) else list(others)
    if not 1 <= len(others) <= len(COLOURS):
        raise OptionError(f"a chart shows 1 to {len(COLOURS)} words beside the first; {len(others)} were given")
    parts = [
        _timed(model, explore.similarity(model, word, other)).with_columns(other=pl.lit(other)) for other in others
    ]
    table = pl.concat(parts).with_columns(both=(pl.col("count_a") > 0) & (pl.col("count_b") > 0))
    colour = alt.Color("other:N", scale=alt.Scale(domain=others, range=list(COLOURS[: len(others)])), legend=None)
    base = alt.Chart(table).encode(
        _years(table), alt.Y("similarity:Q", title="cosine, slice means removed", scale=alt.Scale(zero=False)), colour
    )
    ends = pl.concat([part.tail(1) for part in parts])
    layers = [
        base.mark_line(strokeWidth=1.5).encode(strokeDash=alt.StrokeDash("other:N", sort=others, legend=None)),
        base.transform_filter("datum.both").mark_circle(size=25),
        alt.Chart(ends).mark_text(align="left", dx=6, fontSize=12).encode(
            alt.X("year:Q"), alt.Y("similarity:Q"), colour, text="other:N"
        ),
    ]  # fmt: skip
    return _finish(alt.layer(*layers), model, f"How near “{word}” is to other words")


def frequency(model: Model, word: str) -> Any:
    """Draw a word's movement above its frequency: so one sees whether its use changed or only its count."""
    space.moving(model)
    counts = np.asarray(model.counts)[:, model.word_id(word)].astype(np.int64)
    table = _timed(model, pl.DataFrame({"slice": model.slices.labels, "count": counts}))
    total = np.asarray(model.counts).sum(axis=1)
    table = table.with_columns(
        step=pl.Series(_steps(model, word)),
        share=1e6 * pl.col("count") / pl.Series(np.maximum(total, 1).astype(np.float64)),
    )
    x = _years(table)
    panels = [
        alt.Chart(table)
        .mark_area(interpolate="step", color=colour, opacity=0.8)
        .encode(x, alt.Y(f"{name}:Q", title=title))
        .properties(width=WIDTH, height=150)
        for name, title, colour in (
            ("step", "distance to the slice before", COLOURS[0]),
            ("share", "per million words", COLOURS[4]),
        )
    ]
    return _finish(alt.vconcat(*panels), model, f"“{word}”: movement and frequency", height=None)


def map(model: Model, word: str, *, n: int = 8) -> Any:
    """Draw a word's path in two dimensions among the words that were near to it early and late."""
    times = explore.telling(model, word, n=5)
    near = {t: explore.neighbors(model, word, at=model.slices.labels[t], n=n, metric="centred") for t in times}
    held = {
        t: space.unit(space.centred(space.vectors(model, t), space.occurring(model, t, space.MIN_COUNT))) for t in times
    }
    known: dict[str, int] = {}
    for t in (times[-1], times[0]):  # a word that is near at both ends is shown as it was at first
        known |= dict.fromkeys(near[t]["word"].to_list(), t)
    path = np.array([held[t][model.word_id(word)] for t in times])
    others = np.array([held[t][model.word_id(other)] for other, t in known.items()])
    _, _, axes = np.linalg.svd(others - others.mean(axis=0), full_matrices=False)
    flat = (np.vstack([path, others]) - others.mean(axis=0)) @ axes[:2].T
    flat[:, 0] *= -1 if flat[len(times) - 1, 0] < flat[0, 0] else 1  # from left to right, as time goes
    flat = _apart(flat, [f"{word} {model.slices.labels[t]}" for t in times] + list(known), fixed=len(times))
    rows = [
        {"x": x, "y": y, "text": f"{word} {model.slices.labels[t]}", "kind": "path", "order": i, "above": i % 2 == 0}
        for i, ((x, y), t) in enumerate(zip(flat, times, strict=False))
    ]
    rows += [
        {"x": x, "y": y, "text": other, "kind": "late" if t == times[-1] else "early", "order": -1, "above": True}
        for (x, y), (other, t) in zip(flat[len(times) :], known.items(), strict=True)
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
        *(
            stages.transform_filter(f"datum.above == {above}")
            .mark_text(dy=-11 if above == "true" else 14, fontWeight="bold", fontSize=12, color=DARK)
            .encode(text="text:N")
            for above in ("true", "false")
        ),
    ]
    first, last = model.slices.labels[times[0]], model.slices.labels[times[-1]]
    note = f"italic: near it in {first}; upright: in {last}; two principal components"
    return _finish(alt.layer(*layers), model, f"The path of “{word}”", height=MAP_HEIGHT, note=note)


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
    return _finish(alt.layer(*layers), model, "How the fit went", height=260)


def changes(model: Model, word: str, *, n: int = 3) -> Any:
    """Draw how far a word moved into each slice, and the slices in which a new use begins."""
    cuts = explore.changes(model, word, n=n)
    table = _timed(model, pl.DataFrame({"slice": model.slices.labels, "step": _steps(model, word)}))
    marks = table.join(cuts.select("slice", "explained"), on="slice").with_columns(
        text=pl.format("{} ({}%)", "slice", (100 * pl.col("explained")).round().cast(pl.Int64))
    )
    x = _years(table)
    layers = [
        alt.Chart(table).mark_area(interpolate="step", color=PALE).encode(
            x, alt.Y("step:Q", title="distance to the slice before")
        ),
        alt.Chart(marks).mark_rule(color=COLOURS[1], strokeWidth=1.5).encode(alt.X("year:Q")),
        alt.Chart(marks).mark_text(align="left", dx=4, fontSize=12, color=COLOURS[1]).encode(
            alt.X("year:Q"), y=alt.value(8), text="text:N"
        ),
    ]  # fmt: skip
    note = "a new use begins; in brackets: share of all movement that the cut explains"
    return _finish(alt.layer(*layers), model, f"When “{word}” changed", height=240, note=note)


def _steps(model: Model, word: str) -> Any:
    """Return how far a word moved into each slice; into the first, not at all."""
    return np.r_[0.0, np.linalg.norm(np.diff(np.asarray(model[word], dtype=np.float64), axis=0), axis=1)]


def _timed(model: Model, table: pl.DataFrame) -> pl.DataFrame:
    """Add the middle of each slice as a year, and number the stretches in which a word is observed."""
    years = [(_year(a) + _year(b)) / 2 for a, b in zip(model.slices.first, model.slices.last, strict=True)]
    table = table.join(pl.DataFrame({"slice": model.slices.labels, "year": years}), on="slice", maintain_order="left")
    if "observed" in table.columns:
        table = table.with_columns(
            stretch=pl.when("observed").then(pl.col("observed").rle_id())  # null where there is no evidence
        )
    return table


def _year(day: date) -> float:
    return day.year + (day.timetuple().tm_yday - 1) / 365.25


def _years(table: pl.DataFrame) -> alt.X:
    low, high = _range(table["year"])
    edge = (high - low) * 0.04
    return alt.X("year:Q", title=None, axis=alt.Axis(format="d", grid=False, tickCount=8),
                 scale=alt.Scale(domain=[low - edge, high + 2 * edge], nice=False))  # fmt: skip


def _range(values: pl.Series) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())  # type: ignore[arg-type]
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _spaced(way: pl.DataFrame, chosen: pl.DataFrame) -> list[float]:
    """Return where to write the lists of neighbours: near their slices, but never over each other."""
    low, high = _range(way["year"])
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


def _apart(places: Any, texts: Sequence[str], *, fixed: int) -> Any:
    """Move texts up or down until none lies over another; the first few, which are dots with texts, stay."""
    span = np.ptp(places, axis=0)
    pixels = (places - places.min(axis=0)) / np.where(span > 0, span, 1) * (WIDTH - 120, MAP_HEIGHT - 80)
    half = np.array([3.2 * len(text) for text in texts])  # about half the width of each
    for _ in range(50):
        moved = False
        for i in range(fixed, len(texts)):
            gap = pixels[i, 1] - pixels[:, 1]
            near = (np.abs(pixels[i, 0] - pixels[:, 0]) < half + half[i]) & (np.abs(gap) < _LINE)
            near[i] = False
            if near.any():
                pixels[i, 1] += 3 if gap[near].sum() >= 0 else -3
                moved = True
        if not moved:
            break
    return pixels


def _finish(chart: Any, model: Model, title: str, *, height: int | None = HEIGHT, note: str = "") -> Any:
    """Give a chart its size, title, and the line that says what it was made from."""
    labels = model.slices.labels
    made = model.meta.get("provenance", {})
    source = Path(made["corpus_path"]).stem if made.get("corpus_path") else "corpus"
    caption = f"{source}, {labels[0]} to {labels[-1]}, {len(labels)} slices; {model.spec.model} embeddings"
    if height is not None:
        chart = chart.properties(width=WIDTH, height=height)
    heading = alt.TitleParams(
        title, subtitle=[caption, *([note] if note else [])], anchor="start", fontSize=16, subtitleFontSize=11,
        subtitleColor=FAINT, offset=14,
    )  # fmt: skip
    return (
        chart.properties(title=heading)
        .configure(font="Helvetica, Arial, sans-serif", padding=12)
        .configure_view(stroke=None)
        .configure_axis(labelColor=DARK, titleColor=DARK, titleFontWeight="normal")
    )
