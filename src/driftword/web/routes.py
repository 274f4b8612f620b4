"""From an address to what it shows: the parameters a reader may give, all of them bounded."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any, Final
from urllib.parse import quote, urlencode

import polars as pl
from fastapi import Depends, Path, Query

from driftword import explore
from driftword.corpus import Corpus
from driftword.explore.vectors import MIN_COUNT
from driftword.model import Model
from driftword.pages import content as pages
from driftword.pages import passage_content
from driftword.pages.content import Content

MOST_SUGGESTED: Final = 12
_NEIGHBORS: Final = 10
_LONGEST: Final = 200  # letters of a word or a slice in an address

Number = Annotated[int, Query(ge=0, le=10_000_000)]
Rows = Annotated[int, Query(ge=1, le=pages.MOST_ROWS)]
Text = Annotated[str, Query(max_length=_LONGEST)]
Words = Annotated[str, Query(max_length=pages.MOST_WORDS * _LONGEST, description="Words with commas between.")]
Begin = Annotated[str, Query(max_length=_LONGEST, alias="from")]
End = Annotated[str, Query(max_length=_LONGEST, alias="to")]
Labels = Annotated[list[Text] | None, Query(max_length=pages.MOST_SLICES)]
Filters = Annotated[list[Text] | None, Query(max_length=100, description="COLUMN=VALUE, which a document must have.")]


def chosen_drift(
    metric: Text = "absolute",
    n: Rows = 30,
    min_count: Number = MIN_COUNT,
    skip: Number | None = None,
    sort: Text = "drift",
) -> dict[str, Any]:
    """Read how the words that changed most are chosen."""
    return {"metric": metric, "n": n, "min_count": min_count, "skip": skip, "sort": sort}


Chosen = Annotated[dict[str, Any], Depends(chosen_drift)]


class Views:
    """What each address shows of a model; names that begin with `_` are for the page alone, not for its JSON."""

    def __init__(self, model: Model, corpus: Corpus | None) -> None:
        self.model = model
        self.corpus = corpus
        held = corpus is not None and corpus.has_documents
        self.columns = list(corpus.documents.collect_schema()) if corpus is not None and held else []

    @cached_property
    def pace(self) -> pl.DataFrame | None:
        """How far language moved into each slice."""
        return explore.pace(self.model) if len(self.model.rho) > 1 else None

    @cached_property
    def facets(self) -> dict[str, list[str]]:
        """The columns by which passages can be chosen, and their values."""
        return passage_content.columns(self.corpus)

    def known(self, word: str) -> str:
        """Return the word that an address names, as `word_address` writes it."""
        if word.startswith("~") and word not in self.model.word_index:
            with contextlib.suppress(ValueError):
                word = bytes.fromhex(word[1:]).decode()
        return self.model.words[self.model.word_id(word)]

    def filters(self, where: Sequence[str] | None) -> dict[str, str]:
        """Read what documents must have, COLUMN=VALUE; a column without a value allows all."""
        found = {}
        for text in where or []:
            column = max((name for name in self.columns if text.startswith(f"{name}=")), key=len, default=None)
            column = text.partition("=")[0] if column is None else column
            if column and len(text) > len(column) + 1:
                found[column] = text[len(column) + 1 :]
        return found

    def start(self, chosen: Chosen, begin: Begin = "", end: End = "") -> Content:
        """Show the corpus at a glance."""
        return pages.start(self.model, begin or None, end or None, pace=self.pace, **chosen)

    def between(self, chosen: Chosen, begin: Begin = "", end: End = "") -> Content:
        """Show two slices against each other."""
        return pages.between(self.model, begin or None, end or None, **chosen)

    def one_slice(self, label: str, chosen: Chosen) -> Content:
        """Show what moved into a slice."""
        return pages.one_slice(self.model, label, **chosen)

    def compare(self, words: Words) -> Content:
        """Show several words through time."""
        return pages.compare(self.model, listed(words)) | {
            "_here": lambda ending="": address(f"/compare{ending}", words=words)
        }

    def axis(self, words: Words, low: Words, high: Words) -> Content:
        """Show words between two poles of meaning."""
        return pages.axis(self.model, listed(words), listed(low), listed(high)) | {
            "_here": lambda ending="": address(f"/axis{ending}", words=words, low=low, high=high)
        }

    def questions(self, words: Words = "", low: Words = "", high: Words = "") -> Content:
        """Show the forms for all comparisons."""
        return {
            "title": "Compare",
            "words": words,
            "low": listed(low),
            "high": listed(high),
            "slices": self.model.slices.labels,
            "moving": len(self.model.rho) > 1,
            "ends": explore.ends(self.model) if len(self.model.rho) > 1 else None,
        }

    def near(self, word: str, at: Text, n: Rows = 10) -> Content:
        """Show what is near to a word in one slice."""
        return pages.near(self.model, self.known(word), at, n=n)

    def suggest(self, q: Text = "") -> list[str]:
        """Complete a word."""
        return pages.suggest(self.model, q, MOST_SUGGESTED)

    def passages(
        self, word: str, *, text: Text = "", where: Filters = None, n: Rows = passage_content.PASSAGES
    ) -> list[dict[str, Any]]:
        """Show the texts behind a word."""
        return passage_content.passages(self.corpus, self.known(word), text, n=n, where=self.filters(where))

    def text(self, document: Annotated[int, Path(ge=0, le=2**40)], word: Text) -> Content:
        """Show a whole text, with a word marked in it."""
        return passage_content.whole(self.corpus, document, self.known(word)) | {"cite": pages.cite(self.model)}

    def word(
        self, word: str, *, at: Labels = None, n: Rows = _NEIGHBORS, others: Words = "", taken: Text = "",
        text: Text = "", where: Filters = None, lines: Rows = passage_content.PASSAGES,
    ) -> Content:  # fmt: skip
        """Show all of a word."""
        word = self.known(word)
        content = pages.word(self.model, word, at=at or [], n=n, others=listed(others), taken=taken or None)
        chosen, known = content["chosen"], self.filters(where)
        # In the order in which they were kept: where there are too many, the one kept first goes.
        kept = list(dict.fromkeys(self.model.slices.labels[self.model.slices.index(one)] for one in at or chosen))
        text = self.model.slices.labels[self.model.slices.index(text)] if text else ""
        state = {
            "at": kept if at else [],
            "n": n if n != _NEIGHBORS else None,
            "others": others,
            "taken": taken,
            "text": text,
            "where": where,
            "lines": lines if lines != passage_content.PASSAGES else None,
        }

        def here(ending: str = "", **changed: Any) -> str:
            """Return the address of this view, with some of it changed."""
            return word_address(content["word"], ending, **{**state, **changed})

        def keep(label: str) -> str:
            """Return the address that keeps a slice and shows its texts, or puts it away."""
            if label in chosen:
                return here(at=[other for other in kept if other != label], text="") + "#neighbours"
            return here(at=[*kept, label][-pages.MOST_SLICES :], text=label) + "#neighbours"

        return content | {
            "passages": passage_content.passages(self.corpus, word, text, n=lines, where=known),
            "occurrences": passage_content.occurrences(self.corpus, word, text, where=known),
            "text": text,
            "where": known,
            "lines": lines,
            "n": n,
            "_state": {name: value for name, value in state.items() if value},
            "_facets": self.facets,
            "_here": here,
            "_keep": keep,
        }


def listed(words: str) -> list[str]:
    """Read words with commas between."""
    return [word.strip() for word in words.replace(";", ",").split(",") if word.strip()]


def address(path: str, **options: Any) -> str:
    """Return an address with its options, those that are empty left out; `_` at the end of a name is dropped."""
    known = {name.rstrip("_"): value for name, value in options.items() if value not in (None, "", [], {})}
    return f"{path}?{urlencode(known, doseq=True)}" if known else path


def word_address(word: str, ending: str = "", **options: Any) -> str:
    """Return the address of a word's page.

    Words such as "and/or", ".." or "x.json" would lead elsewhere; they are written as ~ and their bytes.
    """
    odd = "/" in word or "%" in word or not word.strip(".") or word.endswith((".json", ".csv")) or word.startswith("~")
    name = f"~{word.encode().hex()}" if odd else quote(word, safe="")
    return address(f"/word/{name}{ending}", **options)
