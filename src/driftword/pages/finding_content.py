"""What changed in a word, for its page: the sentence, the passages that show it, and its senses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, Final, TypedDict

import numpy as np
import polars as pl

from driftword.basics.errors import OptionError
from driftword.corpus import Corpus
from driftword.exchange.model_card import citation
from driftword.models.model import Model
from driftword.models.significance_table import LEVEL
from driftword.models.usage import Usage
from driftword.pages.content import Content, series_of
from driftword.pages.figures import figure
from driftword.pages.passage_content import passage_rows
from driftword.uses.collocates import company, sense_company
from driftword.uses.describing import describe_sides
from driftword.uses.driving_passages import passages_of
from driftword.uses.sense_shares import smooth_shares
from driftword.uses.sides import AFTER, BEFORE, Sides, find_sides
from driftword.uses.word_senses import by_passages, find_word_senses, known

PASSAGES: Final = 3  # on either side
WIDTH: Final = 160  # characters on either side of the word
GLIMPSE: Final = 70  # of which, where many words are told
_COLLOCATES: Final = 5  # of each sense
_COMPANY: Final = 8  # words that it lost, and that it gained
_LINES: Final = 6  # of senses in one figure


def finding(
    model: Model, corpus: Corpus | None, word: str, usage: Usage | None = None, *, senses: bool = True
) -> Content | None:
    """Return what changed in a word; None without its texts, or where it occurs in too few of them.

    Where its occurrences have vectors of an encoder, passages and senses are found in these.
    """
    if corpus is None or len(model.slices) < 2 or not model.predicts:
        return None
    source = usage if usage is not None and word in usage.words else model
    try:
        sides = find_sides(model, corpus, word)
        shown = sides if source is model else find_sides(source, corpus, word, at=sides.change)
    except OptionError:
        return None
    near = company(sides)
    facts = describe_sides(model, sides, near)
    return {
        **{name: str(value) if isinstance(value, date) else value for name, value in facts.items()},
        "told": facts["sentence"].partition(": ")[2],
        "significant": sides.significant,
        "fewest_documents": min(len(set(sides.document[sides.of_side(side)].tolist())) for side in (BEFORE, AFTER)),
        "passages": passages_by_side(shown, n=PASSAGES, width=WIDTH),
        "senses": word_senses(source, corpus, word) if senses else None,
        "company": {side: _company(near, side) for side in (BEFORE, AFTER)},
        "encoder": None if source is model or usage is None or usage.encoding is None else usage.encoding["encoder"],
    }


def _company(near: pl.DataFrame, side: str) -> list[dict[str, Any]]:
    """Return the company that is proven to be more usual on a side, with the occurrences that have it on both."""
    found = near.filter(pl.col("side") == side, pl.col("q") <= LEVEL).head(_COMPANY)
    counts = (pl.col("count"), pl.col("count_other"))
    before, since = counts if side == BEFORE else counts[::-1]
    dates = (pl.col(name).cast(pl.String) for name in ("first", "last"))
    return found.select("word", before.alias("before"), since.alias("since"), *dates).to_dicts()


def word_senses(model: Model | Usage, corpus: Corpus, word: str) -> Content | None:
    """Return the senses of a word, with the figure of their shares; None where it occurs too rarely to have any."""
    try:
        found = find_word_senses(model, corpus, word)
    except OptionError:
        return None
    smooth, passages = smooth_shares(found.estimated, len(model.slices)), by_passages(found, n=PASSAGES, width=WIDTH)
    series, told = [], []
    for j, label in enumerate(found.labels):
        inside = found.sense == j
        share, low, high = ([known(float(v)) for v in values[:, j]] for values in smooth[:3])
        line = series_of(label, share, np.rint(smooth.counts.sum(axis=1)).astype(int).tolist())
        series.append(line | {"interval": (low, high)})
        days = _first_and_last(found.uses.day[inside])
        told.append({
            "sense": j + 1, "name": found.names[j], "share": float(inside.mean()), "occurrences": int(inside.sum()),
            "documents": len(set(found.uses.document[inside].tolist())), "first": days[0], "last": days[1],
            "collocates": sense_company(found.uses, inside, _COLLOCATES),
            "passages": _rows(passages.filter(pl.col("sense") == j + 1).drop("sense", "name")),
        })  # fmt: skip
    drawn = None
    if found.number > 1:
        drawn = figure(
            f"Senses of {word}", "share of its occurrences", "lines", series=series[:_LINES], height=200, aligned=True
        )
    return {"senses": told, "figure": drawn}


def _first_and_last(days: Any) -> tuple[str, str]:
    """Return the first and the last of some days."""
    return str(np.datetime64(int(days.min()), "D")), str(np.datetime64(int(days.max()), "D"))


def senses_page(model: Model, corpus: Corpus | None, word: str) -> Content:
    """Return the senses of a word as a page of their own."""
    told = None if corpus is None or not model.predicts else word_senses(model, corpus, word)
    drawn = None if told is None else told.pop("figure")
    return {
        "title": f"Senses of {word}",
        "word": word,
        "slices": list(model.slices.labels),
        "finding": {"senses": told, "encoder": None},
        "figures": {} if drawn is None else {"senses": drawn},
        "table": [] if told is None else [_without_lists(row) for row in told["senses"]],
        "cite": citation(model),
    }


def _without_lists(row: dict[str, Any]) -> dict[str, Any]:
    collocates = ", ".join(row["collocates"])
    return {name: value for name, value in row.items() if not isinstance(value, list)} | {"collocates": collocates}


def add_finding(page: Content, found: Content | None) -> Content:
    """Add what changed in a word to the content of its page; its figure names the same company as the sentence."""
    trajectory = page["figures"].get("trajectory")
    if found is not None and found["significant"] and trajectory is not None:
        trajectory["sides"] = found[BEFORE], found[AFTER]
    if found is not None and found["senses"] is not None and found["senses"]["figure"] is not None:
        page["figures"]["senses"] = found["senses"].pop("figure")
    return page | {"finding": found}


class Glimpse(TypedDict):
    """What changed in a word, at a glance: a sentence without the word itself, and a passage of each side."""

    told: str
    passages: dict[str, list[dict[str, Any]]]


def glimpses(model: Model, corpus: Corpus | None, words: Sequence[str]) -> dict[str, Glimpse]:
    """Return what changed in words, at a glance; nothing without the texts, or of words in too few of them."""
    if corpus is None or not model.predicts:
        return {}
    known: dict[str, Glimpse | None] = model.cached(("glimpses", corpus.fingerprint), dict)
    for word in words:
        if word not in known:
            try:
                known[word] = _glimpse(model, find_sides(model, corpus, word))
            except OptionError:
                known[word] = None
    return {word: told for word in words if (told := known[word])}


def _glimpse(model: Model, sides: Sides) -> Glimpse:
    return {
        "told": describe_sides(model, sides)["sentence"].partition(": ")[2],
        "passages": passages_by_side(sides, n=1, width=GLIMPSE),
    }


def passages_by_side(sides: Sides, *, n: int, width: int) -> dict[str, list[dict[str, Any]]]:
    """Return the passages that show each side most plainly, as a page shows them."""
    passages = passages_of(sides, n=n, width=width)
    return {side: _rows(passages.filter(pl.col("side") == side)) for side in sides.names}


def _rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Return passages as a page shows them."""
    plain = table.drop("word", "side", "score", "text", "occurrence", strict=False)
    return [
        {**row, "score": round(score, 3), "occurrence": number}
        for row, score, number in zip(passage_rows(plain), table["score"], table["occurrence"], strict=True)
    ]
