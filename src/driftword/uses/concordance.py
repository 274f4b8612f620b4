"""A concordance: every occurrence of a word in its context, a line each (keyword in context)."""

from __future__ import annotations

import os
import re
from typing import Any, Final

import polars as pl

from driftword.basics import checks
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.corpus.passages import count_passages

SORTS: Final = ("date", "left", "right", "keyword")
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_COMPARED: Final = 5  # words on either side


def concordance(
    corpus: Corpus | str | os.PathLike[str],
    word: str,
    *,
    n: int | None = 1_000,
    sort: str = "date",
    at: Any = None,
    width: int = 60,
    where: Any = None,
) -> pl.DataFrame:
    """Return the occurrences of a word, each with the text around it, in an order that shows patterns.

    Parameters
    ----------
    corpus
        A corpus, or its path.
    word
        A word of its vocabulary.
    n
        Number of lines, drawn evenly from slices and documents; None for all.
    sort
        ``"date"``; ``"right"``, by the words that follow; ``"left"``, by those before, the nearest first; or
        ``"keyword"``, by the word as it is written.
    at
        Only this slice.
    width
        Characters of text on either side.
    where
        Only documents with these values in these columns, such as ``{"country": "FRA"}``.

    Returns
    -------
    One row per occurrence: left, keyword, right; slice, document and the other columns of the document.
    """
    text, sort = as_corpus(corpus), checks.one_of("sort", sort, SORTS)
    n = checks.optional(checks.whole, "n", n, least=1)
    total = max(count_passages(text, word, at=at, where=where), 1)
    lines = text.passages(word, at=at, n=total if n is None else min(n, total), width=width, where=where)
    if sort == "date":
        return lines.sort("date", maintain_order=True) if "date" in lines.columns else lines
    keys = [sort_key(*row, sort=sort) for row in lines.select("left", "keyword", "right").iter_rows()]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return lines[order]


def sort_key(left: str, keyword: str, right: str, *, sort: str) -> tuple[list[str], list[str]]:
    """Return what a line is sorted by: words in small letters, and then those on the other side."""
    before = [word.casefold() for word in _WORD.findall(left)][: -_COMPARED - 1 : -1]
    after = [word.casefold() for word in _WORD.findall(right)][:_COMPARED]
    if sort == "keyword":
        return [keyword.casefold()], after
    return (before, after) if sort == "left" else (after, before)
