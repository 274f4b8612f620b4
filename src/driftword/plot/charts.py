"""Tables of `explore` as Altair charts.

What matters is shown by shape or shade as well as by colour, so that it survives printing in black and white.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Final

import altair as alt
import numpy as np
import polars as pl

from driftword import explore
from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus.slices import At
from driftword.explore import changepoints, vectors
from driftword.explore.group_contrast import two_groups
from driftword.explore.intervals import CorpusLike
from driftword.models.model import Model, as_model, models_of_groups
from driftword.models.significance_table import LEVEL, SIGNIFICANT
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
    layered,
    pixels,
    spaced,
    span,
    stacked,
    timed,
    years,
)

MAX_LISTS: Final = 8  # of neighbours in one figure
MAX_ROWS: Final = 1_000  # in one figure
_PANEL: Final = 150  # pixels, of two above each other
_BAND: Final = "band: 90% interval over documents"
_WITHOUT_NOISE: Final = ", without the noise of the fit itself"
_ALL_TEXT: Final = ", all text taken as it is"
WITHOUT_WORD: Final = ("drift", "history")
KINDS: Final = ("trajectory", "neighbors", "similarity", "frequency", "map", "changes", "contrast", *WITHOUT_WORD)
#: What a user may choose for each kind, beside the word.
OPTIONS: Final = {
    "trajectory": ("at", "n", "intervals", "groups"),
    "neighbors": ("at", "n"),
    "similarity": ("intervals", "groups"),
    "frequency": ("groups",),
    "contrast": ("intervals", "groups"),
    "map": ("n",),
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
    model
        A dynamic or binned model, or its path.
    word
        The word.
    at
        Slices whose neighbours are listed; by default up to four representative ones.
    n
        How many neighbours; by default 6.
    intervals
        Also draw a band that holds 90% of what the line would be with other documents of the same kind. This reads the
        corpus.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.
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
        names = list(_groups(model, groups))
        table = explore.trajectory(model, word, at=model.slices.labels[0], n=1, groups=names, intervals=intervals,
                                   corpus=corpus)  # fmt: skip
        table = timed(model, table).with_columns(pl.when("observed").then(pl.col("position")))
        _check_not_empty(table.drop_nulls("position"), f"'{word}' is not observed in these groups")
        layers = _lines(
            table, "position", by="group", title="position along the line on which it moved most in all text"
        )
        return finish(
            layered(layers),
            model,
            f"“{word}” through time, by group",
            note=_note(table, "position", left_out=_WITHOUT_NOISE + _ALL_TEXT),
        )
    n = _check_rows(6 if n is None else n)
    at = _check_room(model, at)
    table = explore.trajectory(model, word, at=at, n=n, intervals=intervals, corpus=corpus)
    table = timed(model, table).with_columns(pl.col("count").fill_null(1))
    listed = table.filter(pl.col("neighbors").is_not_null())
    _check_not_empty(listed, "no word occurs often enough to be a neighbour")
    ends = [name for name in ("position", "position_low", "position_high") if name in table.columns]
    low, high = span(pl.concat([table[name].rename("position") for name in ends]))
    band = LINE * (n + 2)
    pixel = (high - low) / (HEIGHT - 20)  # in units of position
    top = high + band * pixel
    texts, connectors = [], []
    for row, year in zip(listed.iter_rows(named=True), spaced(table, listed), strict=True):
        texts.append({"year": year, "position": top - LINE * pixel, "text": row["slice"], "head": True})
        texts += [
            {"year": year, "position": top - (i + 2) * LINE * pixel, "text": other, "head": False}
            for i, other in enumerate(row["neighbors"])
        ]
        foot = top - (len(row["neighbors"]) + 2.4) * LINE * pixel
        connectors.append({"year": year, "position": foot, "year2": row["year"], "position2": row["position"]})
    x = years(table)
    y = alt.Y("position:Q", title="meaning (first principal component)", scale=alt.Scale(domain=[low, top], nice=False),
              axis=alt.Axis(labels=False, ticks=False, grid=False))  # fmt: skip
    base = alt.Chart(table).encode(x, y)
    label = alt.Chart(pl.DataFrame(texts)).encode(x, y, alt.Text("text:N"))
    shade = base.mark_area(color=COLOURS[0], opacity=0.15).encode(x, alt.Y("position_low:Q"), alt.Y2("position_high"))
    layers = [
        *([shade] if intervals else []),
        alt.Chart(pl.DataFrame(connectors)).mark_rule(color=PALE).encode(
            x, y, alt.X2("year2"), alt.Y2("position2")
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
    title, notes = f"“{word}” through time", [_verdict(model, word)] if model.significance is not None else []
    if intervals:
        notes.append(_BAND + _WITHOUT_NOISE)
    return finish(layered(layers), model, title, height=HEIGHT + band, note="; ".join(notes))


def neighbors(
    model: Model | str | os.PathLike[str], word: str, *, at: At | Sequence[At] | None = None, n: int = 10
) -> alt.LayerChart:
    """Draw the neighbours of a word in several slices as ranked lists, with lines that join those that stay.

    Parameters
    ----------
    model
        A model, or its path.
    word
        The word.
    at
        The slices; by default up to five representative ones.
    n
        How many neighbours.
    """
    model, n = as_model(model), _check_rows(n)
    model.word_id(word)
    at = _check_room(model, at)
    if at is None:
        at = [model.slices.labels[t] for t in explore.representative_slices(model, word, n=5)]
    table = explore.neighbors(model, word, at=at, n=n)
    _check_not_empty(table, "no word occurs often enough to be a neighbour")
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
    return finish(layered(layers), model, f"Neighbours of “{word}”", height=26 * n)


def drift(model: Model | str | os.PathLike[str], *, n: int = 16, **options: Any) -> alt.LayerChart:
    """Draw the words that moved most as bars, each with its occurrences in the two slices compared.

    Where words are ranked by effect (see `driftword.drift`), bars show it, with its interval; otherwise drift.

    Parameters
    ----------
    model
        A dynamic or binned model, or its path.
    n
        How many words.
    **options
        The other options of `driftword.drift`: metric, between, min_count, skip, words, interpolated.
    """
    model, n = as_model(model), _check_rows(n)
    ranking = explore.rank_drift(model, n=n, **options)
    _check_not_empty(ranking.table, f"no word can be ranked. {ranking.describe()}")
    table = ranking.table.with_columns(
        evidence=pl.format("{} → {}", "count_first", "count_last").fill_null(""),
        called=(pl.col("q") <= LEVEL).fill_null(value=ranking.tested is None),
        value=pl.col("effect").fill_null(0.0) if ranking.by_effect else pl.col("drift"),
    )
    errors = []
    if ranking.by_effect and (found := model.significance) is not None:
        table = table.join(found.table.select("word", "low", "high"), on="word", how="left", maintain_order="left")
        errors = ["low", "high"]
    y = alt.Y(
        "word:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, labelFontSize=12, labelLimit=220)
    )
    values = pl.concat([table[name].rename("value") for name in ("value", *errors)]).drop_nulls()
    low, high = span(values)
    x = alt.X(
        "value:Q",
        title="effect: share of the variation between documents" if ranking.by_effect else f"{ranking.metric} drift",
        axis=alt.Axis(grid=False),
        scale=alt.Scale(domain=[min(low, 0), high * 1.1]),
    )
    base = alt.Chart(table).encode(y, x)
    layers = [
        base.mark_bar(height=alt.RelativeBandSize(0.7), color=COLOURS[0]).encode(
            opacity=alt.condition("datum.interpolated", alt.value(0.35), alt.value(0.9)),
            color=alt.condition("datum.called", alt.value(COLOURS[0]), alt.value(PALE)),
        ),
        *([base.mark_rule(color=DARK).encode(alt.X("low:Q"), alt.X2("high"))] if errors else []),
        base.mark_text(align="left", dx=5, fontSize=11, color=FAINT).encode(
            *([alt.X("high:Q")] if errors else []), text="evidence:N"
        ),
    ]
    first, last = ranking.between
    pale = "; pale: interpolated" if table["interpolated"].any() else ""
    note = f"occurrences in {first} and in {last}{pale}; {ranking.eligible:,} of {ranking.words:,} words were eligible"
    if ranking.tested:
        note += f"; dark: {SIGNIFICANT}" + ("; lines: 90% intervals" if errors else "")
    return finish(
        layered(layers), model, f"Words that differ most between {first} and {last}", height=22 * len(table), note=note
    )


def similarity(
    model: Model | str | os.PathLike[str], word: str, others: str | Sequence[str], *, intervals: bool = False,
    corpus: CorpusLike = None, groups: str | Sequence[str] | None = None,
) -> alt.LayerChart:  # fmt: skip
    """Draw the similarity of a word to others through time, in slices where both are observed.

    Parameters
    ----------
    model
        A model, or its path.
    word
        The word.
    others
        One to six words to compare it with.
    intervals
        Also draw bands that hold 90% of what the lines would be with other documents of the same kind. This reads the
        corpus.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.
    groups
        Draw a line for each of these groups, at most six, and one other word.
    """
    model = as_model(model)
    names = checks.words("others", others)
    if not 1 <= len(names) <= len(COLOURS):
        raise OptionError(f"A chart compares a word with 1 to {len(COLOURS)} others, and {len(names)} were given")
    if groups is not None and len(names) > 1:
        raise OptionError(f"A chart of several groups compares a word with one other, and {len(names)} were given")
    options: dict[str, Any] = {"intervals": intervals, "corpus": corpus}
    if groups is None:
        table = timed(model, explore.similarity(model, word, names, **options))
    else:
        table = _by_group(model, groups, lambda view: explore.similarity(view, word, names, **options))
    _check_not_empty(table.drop_nulls("similarity"), f"'{word}' and the other words are never observed together")
    by, title = ("other", "other words") if groups is None else ("group", f"“{names[0]}”, by group")
    layers = _lines(table, "similarity", by=by, title="cosine, slice means removed")
    return finish(layered(layers), model, f"Similarity of “{word}” to {title}", note=_note(table, "similarity"))


def frequency(
    model: Model | str | os.PathLike[str], word: str, *, groups: str | Sequence[str] | None = None
) -> alt.VConcatChart:
    """Draw a word's movement above its frequency, to tell a change of use from a change of frequency.

    Parameters
    ----------
    model
        A dynamic or binned model, or its path.
    word
        The word.
    groups
        Draw lines for each of these groups, at most six, instead of bars.
    """
    model = as_model(model)
    vectors.check_moves(model)
    model.word_id(word)
    title = f"“{word}”: movement and frequency"
    panels = (
        ("step", "distance from the slice before", COLOURS[0]),
        ("per_million", "per million words", COLOURS[4]),
    )
    if groups is None:
        table = timed(model, explore.frequency(model, word)).with_columns(pl.col("step").fill_null(0))
        bars = [
            alt.Chart(table).mark_bar(color=colour, opacity=0.8).encode(*edges(table), alt.Y(f"{name}:Q", title=label))
            for name, label, colour in panels
        ]
        return finish(_above_each_other(bars), model, title, height=None)
    table = _by_group(model, groups, lambda view: _where_known(view, explore.frequency(view, word)))
    _check_not_empty(table.filter(pl.col("count") > 0), f"'{word}' does not occur in these groups")
    lines = [layered(_lines(table, name, by="group", title=label, height=_PANEL)) for name, label, _ in panels]
    return finish(_above_each_other(lines), model, f"{title}, by group", height=None, note=_note(table, "step"))


def contrast(
    model: Model | str | os.PathLike[str], word: str, *, groups: Sequence[str] | None = None, intervals: bool = False,
    corpus: CorpusLike = None,
) -> alt.LayerChart:  # fmt: skip
    """Draw how similar the vectors of a word in two groups are through time, in slices where both use it.

    Parameters
    ----------
    model
        A model with groups, or its path.
    word
        The word.
    groups
        Two groups; by default the two that the model has, if it has no others.
    intervals
        Also draw a band that holds 90% of what the line would be with other documents of the same kind. This reads the
        corpus.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.
    """
    model = as_model(model)
    model.word_id(word)
    first, second = two_groups(model, groups)
    table = explore.contrast(model, word=word, groups=(first, second), n=1, intervals=intervals, corpus=corpus)
    _check_not_empty(table.drop_nulls("similarity"), f"'{word}' is in no slice observed in both groups")
    table = timed(model, table.with_columns(pl.lit("").alias("pair")))
    layers = _lines(table, "similarity", by="pair", title="cosine between its vectors in the two groups")
    return finish(
        layered(layers), model, f"“{word}”: {first} and {second}", note=_note(table, "similarity", left_out=_ALL_TEXT)
    )


def map(model: Model | str | os.PathLike[str], word: str, *, n: int = 8) -> alt.LayerChart:
    """Draw a word's path in two dimensions among its early and its late neighbours.

    Parameters
    ----------
    model
        A dynamic or binned model, or its path.
    word
        The word.
    n
        How many neighbours of the first and of the last slice shown.
    """
    model, n = as_model(model), _check_rows(n)
    vectors.check_moves(model)
    times = explore.representative_slices(model, word, n=5)
    near = {t: explore.neighbors(model, word, at=model.slices.labels[t], n=n) for t in (times[0], times[-1])}
    directions = {t: vectors.unit(vectors.centered(model, t)) for t in times}
    slice_of: dict[str, int] = {}
    for t in (times[-1], times[0]):  # a word that is near at both ends is shown as it was at first
        slice_of |= dict.fromkeys(near[t]["word"].to_list(), t)
    if len(times) < 2 or not slice_of:
        raise OptionError(f"There is nothing to draw: '{word}' occurs often enough in fewer than two slices")
    path = np.array([directions[t][model.word_id(word)] for t in times])
    others = np.array([directions[t][model.word_id(other)] for other, t in slice_of.items()])
    _, _, axes = np.linalg.svd(others - others.mean(axis=0), full_matrices=False)
    flat = (np.vstack([path, others]) - others.mean(axis=0)) @ axes[:2].T
    flat[:, 0] *= -1 if flat[len(times) - 1, 0] < flat[0, 0] else 1  # from left to right, as time goes
    flat = pixels(flat)
    dots, labels = flat[: len(times)], [model.slices.labels[t] for t in times]
    heights = beside(dots, labels)
    tags = [(x, height) for x, height in zip(dots[:, 0], heights, strict=True) if np.isfinite(height)]
    others = apart(
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
    note = f"italic: neighbours in {first}; upright: neighbours in {last}; two principal components"
    return finish(layered(layers), model, f"The path of “{word}”", height=MAP_HEIGHT, note=note)


def history(model: Model | str | os.PathLike[str]) -> alt.LayerChart:
    """Draw the validation score after every pass of a fit.

    Parameters
    ----------
    model
        A model, or its path.
    """
    model = as_model(model)
    if not model.history or not model.predicts:
        alone = "" if model.provenance.group is None else "; draw that of the model with all groups"
        raise OptionError(f"The model has no history of its fit{alone}")
    table = pl.DataFrame([{"pass": e["pass"], "L": e["L"], "kind": e["kind"]} for e in model.history])
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

    A change point is marked where the word moved farther than nine in ten words of similar frequency at theirs.

    Parameters
    ----------
    model
        A dynamic or binned model, or its path.
    word
        The word.
    n
        Most change points to look for.
    """
    model, n = as_model(model), _check_rows(n)
    points = explore.changes(model, word, n=n, min_rank=changepoints.NOTABLE)
    table = timed(model, explore.frequency(model, word)).with_columns(pl.col("step").fill_null(0))
    marks = table.join(points.select("slice", "rank"), on="slice").with_columns(
        text=pl.format("{} ({}%)", "slice", (100 * pl.col("rank")).floor().cast(pl.Int64))
    )
    high = span(table["step"])[1] * (1 + LINE * marks.height / CHANGES_HEIGHT)
    line = high * LINE / CHANGES_HEIGHT
    marks = marks.sort("year").with_columns(height=high - line * (pl.int_range(pl.len()) + 0.5))  # a line for each
    layers = [
        alt.Chart(table).mark_bar(color=PALE).encode(
            *edges(table),
            alt.Y("step:Q", title="distance from the slice before", scale=alt.Scale(domain=[0, high], nice=False)),
        ),
    ]  # fmt: skip
    if marks.height:
        layers += [
            alt.Chart(marks).mark_rule(color=COLOURS[1], strokeWidth=1.5).encode(alt.X("begin:Q")),
            alt.Chart(marks).mark_text(align="left", dx=4, fontSize=12, color=COLOURS[1]).encode(
                alt.X("begin:Q"), alt.Y("height:Q"), text="text:N"
            ),
        ]  # fmt: skip
    note = "change points; in brackets: share of words of similar frequency that changed less"
    if not marks.height:
        note = "no change point stands out among words of similar frequency"
    if verdict := _verdict(model, word):
        note = f"{verdict}; {note}"
    return finish(layered(layers), model, f"When “{word}” changed", height=CHANGES_HEIGHT, note=note)


def _verdict(model: Model, word: str) -> str:
    """Say whether a word changed by more than chance, if that has been tested."""
    found = model.significance
    return "" if found is None else f"change: {found.verdict(model.word_id(word))}"


def _lines(table: pl.DataFrame, value: str, *, by: str, title: str, height: int = HEIGHT) -> list[alt.Chart]:
    """Draw a line for each name in a column, with its band, if it has one, and its name at its end.

    Lines have gaps where there is no value; those of groups, which often lack text, are dashed there.
    """
    names = table[by].unique(maintain_order=True).to_list()
    colour = alt.Color(f"{by}:N", scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)])), legend=None)
    y: dict[str, Any] = {"title": title, "scale": alt.Scale(zero=False)}
    base = alt.Chart(table).encode(years(table), alt.Y(f"{value}:Q", **y), colour)
    known = table.drop_nulls(value)
    ends = known.group_by(by, maintain_order=True).last().sort(value)
    values = [name for name in (value, f"{value}_low", f"{value}_high") if name in table.columns]
    low, high = span(pl.concat([known[name].rename(value) for name in values])) if known.height else (0.0, 1.0)
    begin, end = span(table["year"])
    heights = stacked(
        ends[value].to_list(), least=(high - low) * LINE / height, places=ends["year"].to_list(),
        width=(end - begin) * ROOM,
    )  # fmt: skip
    ends = ends.with_columns(height=pl.Series(heights, dtype=pl.Float64))
    layers = [
        base.mark_line(strokeWidth=1.5),
        base.mark_point(size=30, filled=True, opacity=1).encode(shape=alt.Shape(f"{by}:N", sort=names, legend=None)),
        alt.Chart(ends).mark_text(align="left", dx=6, fontSize=12, limit=150).encode(
            alt.X("year:Q"), alt.Y("height:Q"), colour, text=f"{by}:N"
        ),
    ]  # fmt: skip
    there = alt.Chart(known).encode(years(table), colour)
    if by != "other":
        layers.insert(0, there.mark_line(strokeWidth=1, strokeDash=[3, 3]).encode(alt.Y(f"{value}:Q", **y)))
    if f"{value}_low" in table.columns:
        ends_of_band = alt.Y(f"{value}_low:Q", **y), alt.Y2(f"{value}_high")
        alone = known.filter(pl.len().over(by) == 1)  # a band has no width in a single slice
        layers[:0] = [
            there.mark_area(opacity=0.15).encode(*ends_of_band),
            alt.Chart(alone).mark_rule(opacity=0.4).encode(years(table), colour, *ends_of_band),
        ]
    return layers


def _note(table: pl.DataFrame, value: str, *, left_out: str = "") -> str:
    """Say what bands and dashes are, and which groups have no line."""
    notes = [f"{_BAND}{left_out}"] if f"{value}_low" in table.columns else []
    if table[value].has_nulls() and not {"group", "pair"}.isdisjoint(table.columns):
        notes.append("dashes: no text with the word in between")
    if "group" in table.columns and (missing := set(table["group"]) - set(table.drop_nulls(value)["group"])):
        notes.append(f"not observed: {', '.join(sorted(missing))}")
    return "; ".join(notes)


def _above_each_other(panels: Sequence[Any]) -> alt.VConcatChart:
    return alt.vconcat(*(panel.properties(width=WIDTH, height=_PANEL) for panel in panels))


def _by_group(model: Model, groups: str | Sequence[str], ask: Callable[[Model], pl.DataFrame]) -> pl.DataFrame:
    """Ask the same of each group."""
    parts = [ask(view).with_columns(group=pl.lit(name)) for name, view in _groups(model, groups).items()]
    return timed(model, pl.concat(parts))


def _where_known(view: Model, table: pl.DataFrame) -> pl.DataFrame:
    """Leave out the frequency in a group where it has no text, and movement where that does not have the word."""
    has_text = pl.Series(np.asarray(view.counts).any(axis=1))
    return table.with_columns(pl.when(has_text).then("per_million"), pl.when(pl.col("count") > 0).then("step"))


def _groups(model: Model, groups: str | Sequence[str]) -> dict[str, Model]:
    """Return the models of the groups that a user names, as many as a chart has colours for."""
    views = models_of_groups(model, groups)
    if len(views) > len(COLOURS):
        raise OptionError(f"A chart shows at most {len(COLOURS)} groups, and {len(views)} were given; name fewer")
    return views


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


def _check_not_empty(table: pl.DataFrame, why: str) -> None:
    """Refuse to draw an empty figure."""
    if table.is_empty():
        raise OptionError(f"There is nothing to draw: {why}")
