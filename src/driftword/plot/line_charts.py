"""Charts of lines over time, one for each of several words or groups, with their bands."""

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
from driftword.explore import vectors
from driftword.explore.intervals import CorpusLike
from driftword.models.model import Model, as_model, models_of_groups, two_groups
from driftword.plot import layout
from driftword.plot.layout import COLOURS, check_not_empty, finish, timed

BAND: Final = "band: 90% interval over documents"
WITHOUT_NOISE: Final = ", without the noise of the fit itself"
_ALL_TEXT: Final = ", all text taken as it is"
_PANEL: Final = 150  # pixels, of two above each other


def trajectories(
    model: Model, word: str, groups: str | Sequence[str], *, intervals: bool, corpus: CorpusLike
) -> alt.LayerChart:
    """Draw a line for each group, along the line on which the word moved most in all text."""
    names, first = list(_chosen_groups(model, groups)), model.slices.labels[0]
    table = explore.trajectory(model, word, at=first, n=1, groups=names, intervals=intervals, corpus=corpus)
    table = timed(model, table).with_columns(pl.when("observed").then(pl.col("position")))
    check_not_empty(table.drop_nulls("position"), f"'{word}' is not observed in these groups")
    title = "position along the line on which it moved most in all text"
    chart = _lines(table, "position", by="group", title=title)
    about = _note(table, "position", left_out=WITHOUT_NOISE + _ALL_TEXT)
    return finish(chart, model, f"“{word}” through time, by group", note=about)


def similarity(
    model: Model | str | os.PathLike[str], word: str, others: str | Sequence[str], *, intervals: bool = False,
    corpus: CorpusLike = None, groups: str | Sequence[str] | None = None,
) -> alt.LayerChart:  # fmt: skip
    """Draw the similarity of a word to others through time, in slices where both are observed.

    Parameters
    ----------
    model, word, others
        A model, or its path, the word, and one to six words to compare it with.
    intervals, corpus
        Also draw bands that hold 90% of what the lines would be with other documents of the same kind, as in
        `trajectory`.
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
    check_not_empty(table.drop_nulls("similarity"), f"'{word}' and the other words are never observed together")
    by, title = ("other", "other words") if groups is None else ("group", f"“{names[0]}”, by group")
    chart = _lines(table, "similarity", by=by, title="cosine, slice means removed")
    return finish(chart, model, f"Similarity of “{word}” to {title}", note=_note(table, "similarity"))


def frequency(
    model: Model | str | os.PathLike[str], word: str, *, groups: str | Sequence[str] | None = None
) -> alt.VConcatChart:
    """Draw a word's movement above its frequency, to tell a change of use from a change of frequency.

    Parameters
    ----------
    model, word
        A dynamic or binned model, or its path, and the word.
    groups
        Draw lines for each of these groups, at most six, instead of bars.
    """
    model = as_model(model)
    vectors.check_moves(model)
    model.word_id(word)
    title, about, panels = f"“{word}”: movement and frequency", "", []
    if groups is None:
        table = movement(model, word)
    else:
        table = _by_group(model, groups, lambda view: _where_known(view, explore.frequency(view, word)))
        check_not_empty(table.filter(pl.col("count") > 0), f"'{word}' does not occur in these groups")
        title, about = f"{title}, by group", _note(table, "step")
    for name, label, colour in (
        ("step", "distance from the slice before", COLOURS[0]),
        ("per_million", "per million words", COLOURS[4]),
    ):
        if groups is None:
            bars = alt.Chart(table).mark_bar(color=colour, opacity=0.8)
            panel: Any = bars.encode(*layout.edges(table), alt.Y(f"{name}:Q", title=label))
        else:
            panel = _lines(table, name, by="group", title=label, height=_PANEL)
        panels.append(panel.properties(width=layout.WIDTH, height=_PANEL))
    return finish(alt.vconcat(*panels), model, title, height=None, note=about)


def contrast(
    model: Model | str | os.PathLike[str], word: str, *, groups: Sequence[str] | None = None, intervals: bool = False,
    corpus: CorpusLike = None,
) -> alt.LayerChart:  # fmt: skip
    """Draw how similar the vectors of a word in two groups are through time, in slices where both use it.

    Parameters
    ----------
    model, word
        A model with groups, or its path, and the word.
    groups
        Two groups; by default the two that the model has, if it has no others.
    intervals, corpus
        Also draw a band that holds 90% of what the line would be with other documents of the same kind, as in
        `trajectory`.
    """
    model = as_model(model)
    model.word_id(word)
    first, second = two_groups(model, groups)
    table = explore.contrast(model, word=word, groups=(first, second), n=1, intervals=intervals, corpus=corpus)
    check_not_empty(table.drop_nulls("similarity"), f"'{word}' is not observed in both groups in any slice")
    table = timed(model, table.with_columns(pl.lit("").alias("pair")))
    chart = _lines(table, "similarity", by="pair", title="cosine between its vectors in the two groups")
    about = _note(table, "similarity", left_out=_ALL_TEXT)
    return finish(chart, model, f"“{word}”: {first} and {second}", note=about)


def movement(model: Model, word: str) -> pl.DataFrame:
    """Return how far a word moved into each slice, and how frequent it is there."""
    return timed(model, explore.frequency(model, word)).with_columns(pl.col("step").fill_null(0))


def _where_known(view: Model, table: pl.DataFrame) -> pl.DataFrame:
    """Leave out the frequency where a group has no text, and the movement where its text lacks the word."""
    has_text = pl.Series(np.asarray(view.counts).any(axis=1))
    return table.with_columns(pl.when(has_text).then("per_million"), pl.when(pl.col("count") > 0).then("step"))


def _lines(table: pl.DataFrame, value: str, *, by: str, title: str, height: int = layout.HEIGHT) -> alt.LayerChart:
    """Draw a line for each name in a column, with its band, if it has one, and its name at its end.

    Lines have gaps where there is no value; those of groups, which often lack text, are dashed there.
    """
    names = table[by].unique(maintain_order=True).to_list()
    colour = alt.Color(f"{by}:N", scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)])), legend=None)
    y: dict[str, Any] = {"title": title, "scale": alt.Scale(zero=False)}
    base = alt.Chart(table).encode(layout.years(table), alt.Y(f"{value}:Q", **y), colour)
    known = table.drop_nulls(value)
    low, high = layout.span(known, value, f"{value}_low", f"{value}_high") if known.height else (0.0, 1.0)
    begin, end = layout.span(table, "year")
    ends = known.group_by(by, maintain_order=True).last().sort(value)
    heights = layout.stacked(
        ends[value].to_list(), least=(high - low) * layout.LINE / height, places=ends["year"].to_list(),
        width=(end - begin) * layout.ROOM,
    )  # fmt: skip
    ends = ends.with_columns(height=pl.Series(heights, dtype=pl.Float64))
    layers = [
        base.mark_line(strokeWidth=1.5),
        base.mark_point(size=30, filled=True, opacity=1).encode(shape=alt.Shape(f"{by}:N", sort=names, legend=None)),
        alt.Chart(ends).mark_text(align="left", dx=6, fontSize=12, limit=150).encode(
            alt.X("year:Q"), alt.Y("height:Q"), colour, text=f"{by}:N"
        ),
    ]  # fmt: skip
    there = alt.Chart(known).encode(layout.years(table), colour)
    if by != "other":
        layers.insert(0, there.mark_line(strokeWidth=1, strokeDash=[3, 3]).encode(alt.Y(f"{value}:Q", **y)))
    if f"{value}_low" in table.columns:
        ends_of_band = alt.Y(f"{value}_low:Q", **y), alt.Y2(f"{value}_high")
        alone = known.filter(pl.len().over(by) == 1)  # a band has no width in a single slice
        layers[:0] = [
            there.mark_area(opacity=0.15).encode(*ends_of_band),
            alt.Chart(alone).mark_rule(opacity=0.4).encode(layout.years(table), colour, *ends_of_band),
        ]
    return layout.layered(layers)


def _note(table: pl.DataFrame, value: str, *, left_out: str = "") -> str:
    """Say what bands and dashes mean, and which groups have no line."""
    notes = [f"{BAND}{left_out}"] if f"{value}_low" in table.columns else []
    if table[value].has_nulls() and not {"group", "pair"}.isdisjoint(table.columns):
        notes.append("dashes: no text with the word in between")
    if "group" in table.columns and (missing := set(table["group"]) - set(table.drop_nulls(value)["group"])):
        notes.append(f"not observed: {', '.join(sorted(missing))}")
    return "; ".join(notes)


def _by_group(model: Model, groups: str | Sequence[str], ask: Callable[[Model], pl.DataFrame]) -> pl.DataFrame:
    """Ask the same question of each group."""
    parts = [ask(view).with_columns(group=pl.lit(name)) for name, view in _chosen_groups(model, groups).items()]
    return timed(model, pl.concat(parts))


def _chosen_groups(model: Model, groups: str | Sequence[str]) -> dict[str, Model]:
    """Return the models of the groups that a user names, as many as a chart has colours for."""
    views = models_of_groups(model, groups)
    if len(views) > len(COLOURS):
        raise OptionError(f"A chart shows at most {len(COLOURS)} groups, and {len(views)} were given; name fewer")
    return views
