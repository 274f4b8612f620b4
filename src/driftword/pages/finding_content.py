"""What changed in a word, for its page: the sentence, and the passages that show it, before and since."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, Final

import polars as pl

from driftword.basics.errors import OptionError
from driftword.corpus import Corpus
from driftword.models.model import Model
from driftword.pages.content import Content
from driftword.pages.passage_content import passage_rows
from driftword.uses.describing import describe_sides
from driftword.uses.driving_passages import passages_of
from driftword.uses.sides import AFTER, BEFORE, find_sides

PASSAGES: Final = 3  # on either side
WIDTH: Final = 160  # characters on either side of the word


def finding(model: Model, corpus: Corpus | None, word: str) -> Content | None:
    """Return what changed in a word; None without its texts, or where it occurs in too few of them."""
    if corpus is None or len(model.slices) < 2 or not model.predicts:
        return None
    try:
        sides = find_sides(model, corpus, word)
    except OptionError:
        return None
    facts = describe_sides(model, sides)
    passages = passages_of(sides, n=PASSAGES, width=WIDTH)
    return {
        **{name: str(value) if isinstance(value, date) else value for name, value in facts.items()},
        "told": facts["sentence"].partition(": ")[2],
        "significant": sides.significant,
        "fewest_documents": min(len(set(sides.document[sides.of_side(side)].tolist())) for side in (BEFORE, AFTER)),
        "passages": {side: _rows(passages.filter(pl.col("side") == side)) for side in (BEFORE, AFTER)},
    }


def add_finding(page: Content, found: Content | None) -> Content:
    """Add what changed in a word to the content of its page; its figure names the same company as the sentence."""
    figure = page["figures"].get("trajectory")
    if found is not None and found["significant"] and figure is not None:
        figure["sides"] = found[BEFORE], found[AFTER]
    return page | {"finding": found}


def sentences(model: Model, corpus: Corpus | None, words: Sequence[str]) -> dict[str, str]:
    """Return what changed in words, a sentence each without the word itself; none without the texts."""
    if corpus is None or not model.predicts:
        return {}
    told: dict[str, str] = model.cached(("sentences", corpus.fingerprint), dict)
    for word in words:
        if word not in told:
            try:
                told[word] = describe_sides(model, find_sides(model, corpus, word))["sentence"].partition(": ")[2]
            except OptionError:
                told[word] = ""
    return {word: told[word] for word in words if told[word]}


def _rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Return passages as a page shows them."""
    plain = table.drop("word", "side", "score", "text", "occurrence")
    return [
        {**row, "score": round(score, 3), "occurrence": number}
        for row, score, number in zip(passage_rows(plain), table["score"], table["occurrence"], strict=True)
    ]
