"""Tables of `explore` as Altair charts.

What matters is shown by shape or shade as well as by colour, so that it survives printing in black and white.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

import altair as alt
import numpy as np
import polars as pl

from driftword import explore
from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus.slices import At
from driftword.explore import changepoints, vectors
from driftword.explore.intervals import CorpusLike
from driftword.models.model import Model, as_model
from driftword.models.significance_table import LEVEL, SIGNIFICANT
from driftword.plot import layout
from driftword.plot.layout import COLOURS, DARK, FAINT, LINE, PALE, check_not_empty, finish, layered, timed
from driftword.plot.line_charts import BAND, WITHOUT_NOISE, movement, trajectories

MAX_LISTS: Final = 8  # of neighbours in one figure
MAX_ROWS: Final = 1_000  # in one figure
WITHOUT_WORD: Final = ("drift", "history")
KINDS: Final = (
    "trajectory",
    "neighbors",
    "similarity",
    "frequency",
    "map",
    "changes",
    "contrast",
    "senses",
    *WITHOUT_WORD,
)
#: What a user may choose for each kind, beside the word.
OPTIONS: Final = {
    "trajectory": ("at", "n", "intervals", "groups"),
    "neighbors": ("at", "n"),
    "similarity": ("intervals", "groups"),
    "frequency": ("groups",),
    "contrast": ("intervals", "groups"),
    "map": ("n",),
    "senses": ("n",),
    "changes": ("n",),
    "drift": ("n", "metric", "between", "min_count", "skip", "interpolated"),
}


def trajectory(
    model: Model | str | os.PathLike[str], word: str, *, at: At | Sequence[At] | None = None, n: int | None = None,
    intervals: bool = False, corpus: CorpusLike = None, groups: str | Sequence[str] | None = None,
) -> alt.LayerChart:  # fmt: skip
    """Draw a word's meaning through time on one line, with its neighbours in some slices: the paper's figure 1.

    The line is dashed where the word is not observed; the fewer its occurrences, the fainter its dots.

    Parameters
    ----------
    model, word
        A dynamic or binned model, or its path, and the word.
    at, n
        Slices whose neighbours are listed, by default up to four representative ones, and how many; by default 6.
    intervals, corpus
        Also draw a band that holds 90% of what the line would be with other documents of the same kind. This reads the
        corpus that the model was fitted to: give it or its path, unless it is still where it was then.
    groups
        Draw a line for each of these groups, at most six, without neighbours: all along the line on which the word
        moved most in all text. Differences in other directions do not show; see `contrast`.
    """
    model = as_model(model)
    vectors.check_moves(model)
    model.word_id(word)
    if groups is not None:
        if at is not None or n is not None:
            raise OptionError("A figure of several groups lists no neighbours; leave out `at` and `n`, or `groups`")
        return trajectories(model, word, groups, intervals=intervals, corpus=corpus)
    n = _check_rows(6 if n is None else n)
    at = _check_room(model, at)
    table = explore.trajectory(model, word, at=at, n=n, intervals=intervals, corpus=corpus)
    table = timed(model, table).with_columns(pl.col("count").fill_null(1))
    listed = table.filter(pl.col("neighbors").is_not_null())
    check_not_empty(listed, "no word occurs often enough to be a neighbour")
    low, high = layout.span(table, "position", "position_low", "position_high")
    band = LINE * (n + 2)
    pixel = (high - low) / (layout.HEIGHT - 20)  # in units of position
    top = high + band * pixel
    texts, connectors = [], []
    for row, year in zip(listed.iter_rows(named=True), layout.spaced(table, listed), strict=True):
        texts += [
            {"year": year, "position": top - (i + 1) * LINE * pixel, "text": text, "head": i == 0}
            for i, text in enumerate([row["slice"], *row["neighbors"]])
        ]
        foot = top - (len(row["neighbors"]) + 2.4) * LINE * pixel
        connectors.append({"year": year, "position": foot, "year2": row["year"], "position2": row["position"]})
    x = layout.years(table)
    y = alt.Y("position:Q", title="meaning (first principal component)", scale=alt.Scale(domain=[low, top], nice=False),
              axis=alt.Axis(labels=False, ticks=False, grid=False))  # fmt: skip
    base = alt.Chart(table).encode(x, y)
    label = alt.Chart(pl.DataFrame(texts)).encode(x, y, alt.Text("text:N"))
    faint = alt.Scale(type="log", domain=[1, 50], range=[0.15, 1], clamp=True)
    layers = [
        alt.Chart(pl.DataFrame(connectors)).mark_rule(color=PALE).encode(x, y, alt.X2("year2"), alt.Y2("position2")),
        base.mark_line(color=FAINT, strokeDash=[3, 3], strokeWidth=1),
        base.transform_filter("datum.stretch !== null").mark_line(color=COLOURS[0], strokeWidth=2).encode(
            detail="stretch:N"
        ),
        base.transform_filter("datum.observed").mark_circle(color=COLOURS[0], size=45).encode(
            opacity=alt.Opacity("count:Q", scale=faint, legend=None), tooltip=["slice:N", "count:Q"]
        ),
        label.transform_filter("datum.head").mark_text(fontWeight="bold", fontSize=12, color=DARK),
        label.transform_filter("!datum.head").mark_text(
            fontSize=12, color=DARK, limit=layout.ROOM * layout.WIDTH * 0.88
        ),
    ]  # fmt: skip
    notes = _verdict(model, word)
    if intervals:
        shade = base.mark_area(color=COLOURS[0], opacity=0.15)
        layers.insert(0, shade.encode(x, alt.Y("position_low:Q"), alt.Y2("position_high")))
        notes.append(BAND + WITHOUT_NOISE)
    title = f"“{word}” through time"
    return finish(layered(layers), model, title, height=layout.HEIGHT + band, note="; ".join(notes))


def neighbors(
    model: Model | str | os.PathLike[str], word: str, *, at: At | Sequence[At] | None = None, n: int = 10
) -> alt.LayerChart:
    """Draw the neighbours of a word in several slices as ranked lists, with lines that join those that stay.

    Parameters
    ----------
    model, word
        A model, or its path, and the word.
    at, n
        The slices, by default up to five representative ones, and how many neighbours.
    """
    model, n = as_model(model), _check_rows(n)
    model.word_id(word)
    at = _check_room(model, at)
    if at is None:
        at = [model.slices.labels[t] for t in explore.representative_slices(model, word, n=5)]
    table = explore.neighbors(model, word, at=at, n=n)
    check_not_empty(table, "no word occurs often enough to be a neighbour")
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
        base.mark_text(fontSize=12, limit=layout.WIDTH / len(order) - 8).encode(
            text="word:N", color=alt.condition("datum.stays", alt.value(COLOURS[0]), alt.value(DARK))
        ),
    ]  # fmt: skip
    return finish(layered(layers), model, f"Neighbours of “{word}”", height=26 * n)


def drift(model: Model | str | os.PathLike[str], *, n: int = 16, **options: Any) -> alt.LayerChart:
    """Draw the words that changed most as bars.

    Where words are ranked by the strength of their change (see `driftword.drift`), bars show it, each with the number
    of documents before the change and since; otherwise drift, with the occurrences in the two slices compared.

    Parameters
    ----------
    model, n
        A dynamic or binned model, or its path, and how many words.
    **options
        The other options of `driftword.drift`: metric, between, min_count, skip, words, interpolated.
    """
    model, n = as_model(model), _check_rows(n)
    ranking = explore.rank_drift(model, n=n, **options)
    check_not_empty(ranking.table, f"no word can be ranked. {ranking.describe()}")
    table, counted = ranking.table, ("count_first", "count_last")
    if ranking.by_strength and model.significance is not None:
        counted = ("documents_before", "documents_since")
        table = table.join(model.significance.table.select("word", *counted), on="word", maintain_order="left")
    table = table.with_columns(
        evidence=pl.format("{} → {}", *counted).fill_null(""),
        called=(pl.col("q") <= LEVEL).fill_null(value=ranking.tested is None),
        value=pl.col("strength").fill_null(0.0) if ranking.by_strength else pl.col("drift"),
    )
    low, high = layout.span(table, "value")
    x = alt.X(
        "value:Q",
        title="strength of the change" if ranking.by_strength else f"{ranking.metric} drift",
        axis=alt.Axis(grid=False),
        scale=alt.Scale(domain=[min(low, 0), high * 1.1]),
    )
    axis = alt.Axis(ticks=False, domain=False, labelFontSize=12, labelLimit=220)
    base = alt.Chart(table).encode(alt.Y("word:N", sort=None, title=None, axis=axis), x)
    counts = base.mark_text(align="left", dx=5, fontSize=11, color=FAINT).encode(text="evidence:N")
    layers = [
        base.mark_bar(height=alt.RelativeBandSize(0.7), color=COLOURS[0]).encode(
            opacity=alt.condition("datum.interpolated", alt.value(0.35), alt.value(0.9)),
            color=alt.condition("datum.called", alt.value(COLOURS[0]), alt.value(PALE)),
        ),
        counts,
    ]
    first, last = ranking.between
    pale = "; pale: interpolated" if table["interpolated"].any() else ""
    about = f"occurrences in {first} and in {last}{pale}; {ranking.eligible:,} of {ranking.words:,} words were eligible"
    title = f"Words that differ most between {first} and {last}"
    if ranking.by_strength:
        about, title = "documents before the change and since", "Words that changed most"
    if ranking.tested:
        about += f"; dark: {SIGNIFICANT}"
    return finish(layered(layers), model, title, height=22 * len(table), note=about)


def map(model: Model | str | os.PathLike[str], word: str, *, n: int = 8) -> alt.LayerChart:
    """Draw a word's path in two dimensions among its early and its late neighbours.

    Parameters
    ----------
    model, word
        A dynamic or binned model, or its path, and the word.
    n
        How many neighbours of the first and of the last slice shown.
    """
    model, n = as_model(model), _check_rows(n)
    vectors.check_moves(model)
    times = explore.representative_slices(model, word, n=5)
    labels = [model.slices.labels[t] for t in times]
    directions = {t: vectors.unit(vectors.centered(model, t)) for t in times}
    slice_of: dict[str, int] = {}
    for t in (times[-1], times[0]):  # a word that is near at both ends is shown as it was at first
        near = explore.neighbors(model, word, at=model.slices.labels[t], n=n)
        slice_of |= dict.fromkeys(near["word"].to_list(), t)
    if len(times) < 2 or not slice_of:
        raise OptionError(f"There is nothing to draw: '{word}' occurs often enough in fewer than two slices")
    path = np.array([directions[t][model.word_id(word)] for t in times])
    others = np.array([directions[t][model.word_id(other)] for other, t in slice_of.items()])
    _, _, axes = np.linalg.svd(others - others.mean(axis=0), full_matrices=False)
    flat = (np.vstack([path, others]) - others.mean(axis=0)) @ axes[:2].T
    flat[:, 0] *= -1 if flat[len(times) - 1, 0] < flat[0, 0] else 1  # from left to right, as time goes
    flat = layout.pixels(flat)
    dots = flat[: len(times)]
    heights = layout.beside(dots, labels)
    tags = [(x, height) for x, height in zip(dots[:, 0], heights, strict=True) if np.isfinite(height)]
    others = layout.apart(
        flat[len(times) :], list(slice_of), obstacles=[*dots, *tags], names=["dot"] * len(dots) + labels[: len(tags)]
    )
    rows = [
        {"x": x, "y": y, "text": label, "kind": "path", "order": i, "height": height if np.isfinite(height) else None}
        for i, ((x, y), label, height) in enumerate(zip(dots, labels, heights, strict=True))
    ]
    rows += [
        {"x": x, "y": y, "text": other, "kind": "late" if t == times[-1] else "early", "order": -1, "height": None}
        for (x, y), (other, t) in zip(others, slice_of.items(), strict=True)
    ]
    axis: dict[str, Any] = {"axis": None, "scale": alt.Scale(zero=False, nice=False, padding=30)}
    base = alt.Chart(pl.DataFrame(rows)).encode(alt.X("x:Q", **axis), alt.Y("y:Q", **axis))
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
    about = f"italic: neighbours in {labels[0]}; upright: neighbours in {labels[-1]}; two principal components"
    return finish(layered(layers), model, f"The path of “{word}”", height=layout.MAP_HEIGHT, note=about)


def history(model: Model | str | os.PathLike[str]) -> alt.LayerChart:
    """Draw the validation score after every pass of a fit.

    Parameters
    ----------
    model
        A model, or its path.
    """
    model = as_model(model)
    scored = [entry for entry in model.history if {"pass", "L", "kind"} <= entry.keys()]
    if not scored or not model.predicts:
        alone = "" if model.provenance.group is None else "; draw that of the model with all groups"
        raise OptionError(f"The model has no history of its fit{alone}")
    table = pl.DataFrame([{name: entry[name] for name in ("pass", "L", "kind")} for entry in scored])
    base = alt.Chart(table).encode(
        alt.X("pass:O", title="pass", axis=alt.Axis(labelAngle=0)),
        alt.Y("L:Q", title="validation L", scale=alt.Scale(zero=False)),
    )
    layers = [
        base.mark_line(color=FAINT),
        base.mark_point(filled=True, size=60, color=COLOURS[0]).encode(shape=alt.Shape("kind:N", title="kind of pass")),
    ]
    return finish(layered(layers), model, "Validation score by pass", height=260)


def changes(model: Model | str | os.PathLike[str], word: str, *, n: int = 3) -> alt.LayerChart:
    """Draw how far a word moved into each slice, and mark its notable change points.

    A change point is marked where the word moved farther than nine in ten words of similar frequency did at theirs.

    Parameters
    ----------
    model, word
        A dynamic or binned model, or its path, and the word.
    n
        The most change points to look for.
    """
    model, n = as_model(model), _check_rows(n)
    points = explore.changes(model, word, n=n, min_rank=changepoints.NOTABLE)
    table = movement(model, word)
    marks = table.join(points.select("slice", "rank"), on="slice").with_columns(
        text=pl.format("{} ({}%)", "slice", (100 * pl.col("rank")).floor().cast(pl.Int64))
    )
    high = layout.span(table, "step")[1] * (1 + LINE * marks.height / layout.CHANGES_HEIGHT)
    line = high * LINE / layout.CHANGES_HEIGHT
    marks = marks.sort("year").with_columns(height=high - line * (pl.int_range(pl.len()) + 0.5))  # a line for each
    y = alt.Y("step:Q", title="distance from the slice before", scale=alt.Scale(domain=[0, high], nice=False))
    layers = [alt.Chart(table).mark_bar(color=PALE).encode(*layout.edges(table), y)]
    about = "no change point stands out among words of similar frequency"
    if marks.height:
        about = "change points; in brackets: share of words of similar frequency that changed less"
        names = alt.Chart(marks).mark_text(align="left", dx=4, fontSize=12, color=COLOURS[1])
        layers += [
            alt.Chart(marks).mark_rule(color=COLOURS[1], strokeWidth=1.5).encode(alt.X("begin:Q")),
            names.encode(alt.X("begin:Q"), alt.Y("height:Q"), text="text:N"),
        ]
    about = "; ".join([*_verdict(model, word), about])
    return finish(layered(layers), model, f"When “{word}” changed", height=layout.CHANGES_HEIGHT, note=about)


def _verdict(model: Model, word: str) -> list[str]:
    """Say whether a word changed by more than chance, if that has been tested."""
    found = model.significance
    return [] if found is None else [f"change: {found.verdict(model.word_id(word))}"]


def _check_rows(n: int) -> int:
    """Check how many words or neighbours a figure shows."""
    return checks.whole("n", n, least=1, most=MAX_ROWS)


def _check_room(model: Model, at: At | Sequence[At] | None) -> list[str] | None:
    """Return the slices that a user named; refuse more lists of neighbours than a figure has room for."""
    if at is None:
        return None
    labels = [model.slices.labels[t] for t in vectors.slice_numbers(model, at)]
    if len(labels) > MAX_LISTS:
        raise OptionError(
            f"A figure has room for {MAX_LISTS} lists of neighbours, not {len(labels)}; name fewer slices as `at`"
        )
    return labels
