"""The content of pages about all words: which changed, when, and by how much."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from driftword import explore
from driftword.basics.checks import one_of, quoted
from driftword.basics.errors import OptionError
from driftword.basics.suggestions import matches
from driftword.corpus import Corpus
from driftword.corpus.slices import At
from driftword.corpus.summary import warnings_of
from driftword.corpus.word_kinds import NAME, PHRASE, WORD
from driftword.exchange.model_card import citation
from driftword.explore.trajectories import per_million
from driftword.models.model import Model
from driftword.models.significance_table import LEVEL, verdict
from driftword.models.storing import NEW_SENSES
from driftword.pages.content import Content, series_of
from driftword.pages.figures import Figure, figure
from driftword.pages.finding_content import glimpses
from driftword.uses.sense_space import sense_space

RANKED: Final = "rank"  # the order of a table of drift, unless a reader chooses a column
SORT_COLUMNS: Final = (RANKED, "drift", "effect", "word", "count_first", "count_last", "slices")
SENSE: Final = "sense"
_KINDS: Final = {WORD: "Words", SENSE: "New senses", NAME: "Names", PHRASE: "Phrases"}
_ANSWERS: Final = 10  # words on the start page whose change is told in a sentence
_MATCHES: Final = 30  # words that are listed for a pattern
_TABLE_NEIGHBORS: Final = 6  # in each row of a table of drift


def start(
    model: Model, begin: At | None = None, end: At | None = None, *, since: At | None = None, until: At | None = None,
    kind: str = WORD, corpus: Corpus | None = None, **options: Any,
) -> Content:  # fmt: skip
    """Return an overview of the corpus, and the words that changed most; `options` are those of `between`.

    Where words were tested, it tells which changed from the slice `since` to the slice `until`, or those of a kind,
    such as names; with the corpus, what changed in each.
    """
    kind = one_of("kind", kind, _KINDS)
    labels = model.slices.labels
    tokens = np.asarray(model.counts).sum(axis=1, dtype=np.int64).tolist() if model.vocabulary.counted else None
    figures: dict[str, Figure] = {}
    if tokens is not None:
        series = [series_of("words", tokens)]
        figures["tokens"] = figure("Amount of text", "words in each slice", "bars", series=series, height=150)
    content: Content = {
        "title": "How words changed",
        "words": len(model.words),
        "slices": list(labels),
        "tokens": tokens,
        "held_out": model.info()["validation"],
        "model": model.method,
        "figures": figures,
        "table": [],
        "moves": model.moves,
        "timeline": None,
        "kind": kind,
        "kinds": _kinds(model),
        "senses": {},
        "answers": [],
        "glimpses": {},
        "warnings": [] if corpus is None else warnings_of(corpus),
        "cite": citation(model),
    }
    if model.moves:
        ranking = _ranking(model, begin, end, options)
        content = ranking | content | {"table": ranking["table"]}
        dated = explore.timeline(model)
        content["timeline"] = _timeline(model, dated, since, until)
        if kind != WORD:
            first_rows = _changed(model, kind).head(_ANSWERS)
            told = explore.shifts(model, first_rows["word"].to_list()).to_dicts()
            if kind == SENSE:
                dates = first_rows.with_columns(pl.col("change").cast(pl.String))
                content["senses"] = {row["word"]: row for row in dates.to_dicts()}
        elif dated.height:
            told = [row for row in dated.to_dicts() if row["slice"] in content["timeline"]["chosen"]][:_ANSWERS]
        else:
            told = explore.shifts(model, [row["word"] for row in ranking["table"][:_ANSWERS]]).to_dicts()
        content |= _answers(model, told)
        if dated.height:
            content["glimpses"] = glimpses(model, corpus, [row["word"] for row in told])
    return content


def warm_up(model: Model, corpus: Corpus | None = None) -> None:
    """Compute what all pages share, before the first reader comes."""
    if model.moves:
        start(model, corpus=corpus)
        explore.farthest(model)
    if corpus is not None and model.predicts:
        sense_space(model, corpus)


def _ranking(model: Model, begin: At | None, end: At | None, options: dict[str, Any]) -> Content:
    """Return the words that changed most; what the start page shows by default is computed once."""
    usual = {"metric": None, "n": 30, "min_count": None, "skip": None, "sort": RANKED, "interpolated": False}
    if begin is None and end is None and usual | options == usual:
        return model.cached("usual ranking", lambda: between(model, None, None))
    return between(model, begin, end, **options)


def _changed(model: Model, kind: str) -> pl.DataFrame:
    """Return the significant words of a kind, the largest effect first; or words with a new sense."""
    if kind == SENSE:
        return pl.DataFrame(schema=NEW_SENSES) if model.new_senses is None else model.new_senses
    if model.significance is None:
        return pl.DataFrame(schema={"word": pl.String})
    found = model.significance.table.filter(pl.col("q") <= LEVEL, pl.col("kind") == kind)
    return found.sort("low", descending=True, maintain_order=True)


def _kinds(model: Model) -> list[dict[str, Any]]:
    """Return the kinds of words that have significant ones, and how many; none without a test."""
    counted = [{"kind": kind, "label": label, "count": _changed(model, kind).height} for kind, label in _KINDS.items()]
    return [row for row in counted if row["count"]]


def _timeline(model: Model, dated: pl.DataFrame, since: At | None, until: At | None) -> Content | None:
    """Return when words changed, and the slices whose words are listed; None where nothing was tested."""
    counts = explore.changes_by_slice(model)
    if counts is None or not dated.height:
        return None
    labels = model.slices.labels
    first = 0 if since is None else model.slices.index(since)
    last = len(labels) - 1 if until is None else model.slices.index(until)
    first, last = min(first, last), max(first, last)
    return {
        "counts": counts,
        "words": dated.select("word", "slice", "change", "before", "after", "strength").to_dicts(),
        "chosen": list(labels[first : last + 1]),
        "found": sum(counts[first : last + 1]),
        "sentence": model.significance.describe() if model.significance else "",
        "by_chance": explore.by_chance(model),
        "everything": (first, last) == (0, len(labels) - 1),
    }


def _answers(model: Model, told: list[dict[str, Any]]) -> Content:
    """Return what words moved from and to, and when; and the farthest of all distances, so that lines share a scale."""
    for row in told:
        row["per_million"] = per_million(model, model.word_id(row["word"]))
    distances = [distance for row in told for distance in row["distance"] if distance is not None]
    return {"answers": told, "farthest": max(distances, default=1.0), "tested": model.significance is not None}


def matching(model: Model, like: str) -> Content:
    """Return the words that match a pattern such as ``energ*``, the most frequent first, and how each moved."""
    found = [v for v, name in enumerate(model.words) if matches(name, like)]
    if not found:
        raise OptionError(f"No word matches {quoted(like)}; give fewer letters before the *")
    names = [model.words[v] for v in found[:_MATCHES]]
    content: Content = {
        "title": f"Words like {like.strip()}",
        "like": like.strip(),
        "found": len(found),
        "table": [
            {"word": name, "count": int(model.vocabulary.totals[v]) if model.vocabulary.counted else None}
            for v, name in zip(found, names, strict=False)
        ],
        "answers": [],
        "glimpses": {},
        "figures": {},
        "cite": citation(model),
    }
    return content | _answers(model, explore.shifts(model, names).to_dicts()) if model.moves else content


def between(
    model: Model, begin: At | None, end: At | None, *, n: int = 30, sort: str = RANKED, **options: Any
) -> Content:
    """Return the words that changed most from one slice to another, with the neighbours of each in both.

    `options` are those of `explore.drift`, whose defaults decide what changed most.
    """
    one_of("sort", sort, SORT_COLUMNS)
    if begin is not None and end is not None and model.slices.index(begin) > model.slices.index(end):
        begin, end = end, begin
    ranking = explore.rank_drift(model, n=n, between=(begin, end), **options)
    first, last = ranking.between
    table = ranking.table
    neighbors = explore.neighborhoods(model, table["word"].to_list(), at=[first, last], n=_TABLE_NEIGHBORS)
    for label, column in ((first, "neighbors_first"), (last, "neighbors_last")):
        in_slice = neighbors.filter(pl.col("slice") == label).select("word", pl.col("neighbors").alias(column))
        table = table.join(in_slice, on="word", how="left", maintain_order="left")
    if sort != RANKED:
        table = table.sort(sort, descending=sort != "word", nulls_last=True, maintain_order=True)
    return {
        "title": f"Change from {first} to {last}",
        "begin": first,
        "end": last,
        "slices": list(model.slices.labels),
        "metric": ranking.metric,
        "asked_metric": options.get("metric"),
        "tested": ranking.tested is not None,
        "by_strength": ranking.by_strength > 0,
        "usual_range": ranking.between == explore.attested_range(model),
        "n": n,
        "min_count": ranking.min_count,
        "skip": ranking.skip,
        "interpolated": bool(options.get("interpolated")),
        "sort": sort,
        "words_compared": ranking.describe(),
        "eligible": ranking.eligible,
        "table": [row | {"verdict": verdict(row["q"]) if ranking.tested else None} for row in table.to_dicts()],
        "columns": table.columns,
        "figures": {},
        "cite": citation(model),
    }


def one_slice(model: Model, label: str, **options: Any) -> Content:
    """Return the words that moved most from the previous slice into this one."""
    labels = model.slices.labels
    t = model.slices.index(label)
    if t == 0 and model.moves:
        raise OptionError(f"'{labels[0]}' is the first slice, so no word moved into it; choose a later one")
    return between(model, labels[t - 1], labels[t], **options) | {
        "title": f"Movement into {labels[t]}",
        "slice": labels[t],
        "previous": labels[t - 1] if t > 1 else None,
        "next": labels[t + 1] if t + 1 < len(labels) else None,
        "tokens": int(np.asarray(model.counts)[t].sum()) if model.vocabulary.counted else None,
    }
