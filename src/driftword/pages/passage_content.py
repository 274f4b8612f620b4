"""The texts behind a word, ready for a template and for JSON: single lines, and whole documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from driftword.corpus import Corpus
from driftword.corpus.passages import count_passages, find_in_document, find_lines
from driftword.errors import OptionError
from driftword.pages.content import MOST_ROWS, Content, bounded

PASSAGES: Final = 12
WIDTH: Final = 100  # characters of a passage on either side
MOST_LETTERS: Final = 1_000_000  # of a text on one page
_LONGEST_VALUE: Final = 100
_MOST_VALUES: Final = 400  # of a column by which passages can be chosen


def passages(
    corpus: Corpus | None, asked: str, at: str | None, *, n: int = PASSAGES, where: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return the texts behind a word, each with the other columns of its document."""
    if corpus is None:
        return []
    found, ranks = find_lines(
        corpus, asked, at=at or None, n=bounded("n", n, MOST_ROWS), width=WIDTH, where=where or None
    )
    return [{**line, "occurrence": rank + 1} for line, rank in zip(lines_of(found), ranks, strict=True)]


def occurrences(corpus: Corpus | None, asked: str, at: str | None, *, where: Mapping[str, str]) -> int:
    """Return how many lines there are from which `passages` chooses."""
    return 0 if corpus is None else count_passages(corpus, asked, at=at or None, where=where or None)


def lines_of(found: pl.DataFrame) -> list[dict[str, Any]]:
    """Return passages with what is known of each document beside it."""
    return [
        {
            **{name: row[name] for name in ("slice", "left", "keyword", "right")},
            "document": row["document"],
            **_when(row),
            "about": _about(row),
        }
        for row in found.to_dicts()
    ]


def _when(row: dict[str, Any]) -> dict[str, str | None]:
    """Return the date of a document, and how to name it: by its slice where only its year is known."""
    date = str(row["date"]) if row.get("date") else None
    return {"date": date, "when": date if date and not date.endswith("-01-01") else row["slice"]}


def _about(row: dict[str, Any]) -> dict[str, str]:
    """Return what else a source says of a document."""
    ours = {"left", "keyword", "right", "slice", "document", "date", "text"}
    return {name: str(value) for name, value in row.items() if name not in ours and value is not None}


def columns(corpus: Corpus | None) -> dict[str, list[str]]:
    """Return the columns by which passages can be chosen, and their values."""
    if corpus is None or not corpus.has_documents:
        return {}
    names = [name for name in corpus.documents.collect_schema() if name not in ("text", "slice", "date")]
    values = {
        name: corpus.documents.select(pl.col(name).cast(pl.String).unique().sort().drop_nulls()).collect()[name]
        for name in names
    }
    times = set(corpus.slices.labels)  # by which one chooses already
    return {
        name: found.to_list()
        for name, found in values.items()
        if 1 < len(found) <= _MOST_VALUES
        and not times.issuperset(found)
        and all(len(value) <= _LONGEST_VALUE and value.isprintable() for value in found)
    }


def whole(corpus: Corpus | None, number: int, asked: str) -> Content:
    """Return a whole text, cut where a word stands in it, and what is known of it."""
    if corpus is None or not corpus.has_documents:
        raise OptionError("there are no texts here to read; start the explorer with --corpus")
    row, spans = find_in_document(corpus, number, asked)
    text = row["text"]
    pieces: list[dict[str, Any]] = []
    done = 0
    for begin, end in spans:
        if end > MOST_LETTERS:
            break
        pieces += [{"text": text[done:begin], "hit": None}, {"text": text[begin:end], "hit": len(pieces) // 2 + 1}]
        done = end
    pieces.append({"text": text[done:MOST_LETTERS], "hit": None})
    when = _when(row)
    return {
        "title": when["when"],
        "word": asked,
        "document": number,
        "slice": row["slice"],
        "date": when["date"],
        "about": _about(row),
        "occurrences": len(spans),
        "pieces": pieces,
        "cut": len(text) > MOST_LETTERS,
    }
