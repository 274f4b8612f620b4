"""The texts behind a word, ready for a template and for JSON: passages, and whole documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus import Corpus
from driftword.corpus.passages import count_by_value, count_passages, find_in_document, find_lines
from driftword.pages.content import Content
from driftword.uses.concordance import SORTS, sort_key

LINES: Final = 60  # of a concordance
PASSAGES: Final = 8  # on a word's page, unless a reader asks for more
WIDTH: Final = 100  # characters on either side of the word
MAX_CHARACTERS: Final = 1_000_000  # of a text on one page
_MAX_VALUE_LENGTH: Final = 100
_MAX_VALUES: Final = 400  # of a column that passages can be filtered by


def passages(
    corpus: Corpus | None, asked: str, at: str | None, *, n: int = PASSAGES, where: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return passages with a word, each with the metadata of its document."""
    if corpus is None:
        return []
    table, ranks = find_lines(corpus, asked, at=at or None, n=n, width=WIDTH, where=where or None)
    rows = passage_rows(table)
    return [{**row, "occurrence": rank + 1} for row, rank in zip(rows, ranks, strict=True)]


def concordance(
    corpus: Corpus | None, asked: str, at: str | None, *, n: int, sort: str, where: Mapping[str, str]
) -> Content:
    """Return the occurrences of a word as lines in an order that shows patterns; see `driftword.concordance`."""
    sort = checks.one_of("sort", sort, SORTS)
    rows = passages(corpus, asked, at, n=n, where=where)
    if sort == "date":
        rows.sort(key=lambda row: row["date"] or "")
    else:
        rows.sort(key=lambda row: sort_key(row["left"], row["keyword"], row["right"], sort=sort))
    return {
        "title": f"Concordance of {asked}", "word": asked, "sort": sort, "sorts": SORTS, "at": at, "n": n,
        "occurrences": occurrences(corpus, asked, at, where=where), "where": dict(where),
        "slices": [] if corpus is None else corpus.slices.labels,
        "figures": {},
        "table": [{name: value for name, value in row.items() if name != "about"} | row["about"] for row in rows],
    }  # fmt: skip


def occurrences(corpus: Corpus | None, asked: str, at: str | None, *, where: Mapping[str, str]) -> int:
    """Return the number of occurrences that `passages` chooses from."""
    return 0 if corpus is None else count_passages(corpus, asked, at=at or None, where=where or None)


def passage_rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the passages of a table, each with the metadata of its document."""
    return [
        {
            **{name: row[name] for name in ("slice", "left", "keyword", "right", "document")},
            **_date(row),
            "about": _metadata(row),
        }
        for row in table.to_dicts()
    ]


def _date(row: dict[str, Any]) -> dict[str, str | None]:
    """Return the date of a document, and how to show it: as its slice where only the year is known."""
    date = str(row["date"]) if row.get("date") else None
    return {"date": date, "when": date if date and not date.endswith("-01-01") else row["slice"]}


def _metadata(row: dict[str, Any]) -> dict[str, str]:
    """Return the other columns that the source has for a document."""
    ours = {"left", "keyword", "right", "slice", "document", "date", "text"}
    return {name: str(value) for name, value in row.items() if name not in ours and value is not None}


def filter_columns(corpus: Corpus | None) -> pl.DataFrame:
    """Return the columns that passages can be filtered by, as text, one row for each document."""
    if corpus is None or not corpus.has_documents:
        return pl.DataFrame()
    names = [name for name in corpus.documents.collect_schema() if name not in ("text", "slice", "date")]
    table = corpus.documents.select(pl.col(name).cast(pl.String) for name in names).collect()
    labels = set(corpus.slices.labels)  # passages are chosen by slice anyway
    values = {name: table[name].drop_nulls().unique().to_list() for name in names}
    return table.select(
        name
        for name, found in values.items()
        if 1 < len(found) <= _MAX_VALUES
        and not labels.issuperset(found)
        and all(len(value) <= _MAX_VALUE_LENGTH and value.isprintable() for value in found)
    )


def choices(
    corpus: Corpus | None, asked: str, columns: pl.DataFrame, at: str | None, where: Mapping[str, str]
) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Return the slices and column values that passages can be filtered by, each with its number of passages."""
    if corpus is None:
        return {}, {}
    known = {name: value for name, value in where.items() if name in columns.columns}
    return count_by_value(corpus, asked, columns, at=at or None, where=known)


def full_text(corpus: Corpus | None, number: int, asked: str) -> Content:
    """Return a whole document, split at the occurrences of a word, with its metadata."""
    if corpus is None or not corpus.has_documents:
        raise OptionError("The texts cannot be read here, because the corpus was not found; give its path as `corpus`")
    row, spans = find_in_document(corpus, number, asked)
    text = row["text"]
    pieces: list[dict[str, Any]] = []
    done = 0
    for begin, end in spans:
        if end > MAX_CHARACTERS:
            break
        pieces += [{"text": text[done:begin], "hit": None}, {"text": text[begin:end], "hit": len(pieces) // 2 + 1}]
        done = end
    pieces.append({"text": text[done:MAX_CHARACTERS], "hit": None})
    date = _date(row)
    return {
        "title": date["when"],
        "word": asked,
        "document": number,
        "slice": row["slice"],
        "date": date["date"],
        "about": _metadata(row),
        "occurrences": len(spans),
        "hits": len(pieces) // 2,
        "pieces": pieces,
        "truncated": len(text) > MAX_CHARACTERS,
    }
