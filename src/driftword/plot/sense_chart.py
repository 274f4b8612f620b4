"""A stream of the senses of a word: their shares through time, on top of each other."""

from __future__ import annotations

import os

import altair as alt
import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.explore.intervals import CorpusLike
from driftword.models.model import Model, as_model, corpus_of
from driftword.plot import layout
from driftword.plot.layout import COLOURS, DARK, finish, timed
from driftword.uses.sense_shares import smooth_shares
from driftword.uses.word_senses import WordSenses, find_word_senses


def senses(
    model: Model | str | os.PathLike[str], word: str, *, n: int | None = None, corpus: CorpusLike = None
) -> alt.LayerChart:
    """Draw the shares of a word's senses through time on top of each other, the most frequent sense below.

    Shares are smoothed over a tenth of the time; dark bands along the borders between senses are the 90% intervals that
    documents allow for. A sense has the name that `name_senses` gave it, or else two of its collocates.

    Parameters
    ----------
    model, word
        A model, or its path, and the word.
    n
        Number of senses, at most six; by default as many as the text shows, as in `senses`.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.
    """
    model = as_model(model)
    n = checks.optional(checks.whole, "n", n, least=1, most=len(COLOURS))
    return stream(model, find_word_senses(model, corpus_of(model, corpus), checks.text("word", word), n=n))


def stream(model: Model, found: WordSenses) -> alt.LayerChart:
    """Draw the senses that were found."""
    names = found.labels
    smooth = smooth_shares(found.estimated, len(model.slices), summed=True)
    known = np.flatnonzero(np.isfinite(smooth.share[:, 0]))
    slices = [model.slices.labels[t] for t in known]
    top = np.cumsum(smooth.share[known], axis=1)
    areas, borders = [], []
    for j, name in enumerate(names):
        low, high = (top[:, j - 1] if j else np.zeros(len(known))), top[:, j]
        areas.append(pl.DataFrame({"slice": slices, "sense": name, "low": low, "high": high}))
        if j < len(names) - 1:
            below, above = smooth.low[known, j], smooth.high[known, j]
            borders.append(pl.DataFrame({"slice": slices, "border": j, "low": below, "high": above}))
    table = timed(model, pl.concat(areas))
    colours = [COLOURS[j % len(COLOURS)] for j in range(len(names))]
    x = layout.years(table)
    colour = alt.Color("sense:N", scale=alt.Scale(domain=names, range=colours), legend=None)
    y = alt.Y("low:Q", title="share of its occurrences", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
    layers = [alt.Chart(table).mark_area(opacity=0.75).encode(x, y, alt.Y2("high"), colour)]
    if borders:
        bands = timed(model, pl.concat(borders))
        shade = alt.Chart(bands).mark_area(color=DARK, opacity=0.25)
        layers.append(shade.encode(x, y, alt.Y2("high"), detail="border:N"))
    ends = table.group_by("sense", maintain_order=True).last().with_columns(middle=(pl.col("low") + pl.col("high")) / 2)
    heights = layout.stacked(
        ends["middle"].to_list(), least=layout.LINE / layout.HEIGHT, places=ends["year"].to_list(), width=1.0
    )
    ends = ends.with_columns(height=pl.Series(heights, dtype=pl.Float64))
    layers.append(
        alt.Chart(ends).mark_text(align="left", dx=6, fontSize=12, limit=170).encode(
            alt.X("year:Q"), alt.Y("height:Q"), colour, text="sense:N"
        )
    )  # fmt: skip
    note = f"{len(found.sense):,} occurrences; smoothed over a tenth of the time"
    note += "; dark: 90% interval over documents" if borders else "; the text shows one sense"
    return finish(layout.layered(layers), model, f"Senses of “{found.uses.word}”", note=note)
