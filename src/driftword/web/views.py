"""From an address to what it shows: the parameters a reader may give, all of them bounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final
from urllib.parse import quote, urlencode

from fastapi import Depends, Query

from driftword.corpus import Corpus
from driftword.explore.space import MIN_COUNT
from driftword.model import Model
from driftword.web import pages
from driftword.web.pages import Content

MOST_SUGGESTED: Final = 12
_LONGEST: Final = 200  # letters of a word or a slice in an address

Number = Annotated[int, Query(ge=0, le=10_000_000)]
Rows = Annotated[int, Query(ge=1, le=pages.MOST_ROWS)]
Text = Annotated[str, Query(max_length=_LONGEST)]
Words = Annotated[str, Query(max_length=pages.MOST_WORDS * _LONGEST, description="Words with commas between.")]
Begin = Annotated[str, Query(max_length=_LONGEST, alias="from")]
End = Annotated[str, Query(max_length=_LONGEST, alias="to")]
Labels = Annotated[list[Text] | None, Query(max_length=pages.MOST_SLICES)]
Filters = Annotated[list[Text] | None, Query(max_length=8, description="COLUMN=VALUE, which a document must have.")]


def chosen_drift(
    metric: Text = "absolute", n: Rows = 30, min_count: Number = MIN_COUNT, skip: Number = 0, sort: Text = "drift"
) -> dict[str, Any]:
    """Read how the words that changed most are chosen."""
    return {"metric": metric, "n": n, "min_count": min_count, "skip": skip, "sort": sort}


Chosen = Annotated[dict[str, Any], Depends(chosen_drift)]


class Views:
    """What each address shows of a model; names that begin with `_` are for the page alone, not for its JSON."""

    def __init__(self, model: Model, corpus: Corpus | None) -> None:
        self.model = model
        self.corpus = corpus

    def start(self, chosen: Chosen, begin: Begin = "", end: End = "") -> Content:
        """Show the corpus at a glance."""
        return pages.start(self.model, begin or None, end or None, **chosen)

    def between(self, chosen: Chosen, begin: Begin = "", end: End = "") -> Content:
        """Show two slices against each other."""
        return pages.between(self.model, begin or None, end or None, **chosen)

    def one_slice(self, label: str, chosen: Chosen) -> Content:
        """Show what moved into a slice."""
        return pages.one_slice(self.model, label, **chosen)

    def compare(self, words: Words) -> Content:
        """Show several words through time."""
        return pages.compare(self.model, listed(words))

    def axis(self, words: Words, low: Words, high: Words) -> Content:
        """Show words between two poles of meaning."""
        return pages.axis(self.model, listed(words), listed(low), listed(high))

    def questions(self, words: Words = "") -> Content:
        """Show the forms for all comparisons."""
        return {
            "title": "Compare", "words": words, "slices": self.model.slices.labels, "moving": len(self.model.rho) > 1
        }  # fmt: skip

    def near(self, word: str, at: Text, n: Rows = 10) -> Content:
        """Show what is near to a word in one slice."""
        return pages.near(self.model, word, at, n=n)

    def suggest(self, q: Text = "") -> list[str]:
        """Complete a word."""
        return pages.suggest(self.model, q, MOST_SUGGESTED)

    def passages(
        self, word: str, *, text: Text = "", where: Filters = None, n: Rows = pages.PASSAGES
    ) -> list[dict[str, Any]]:
        """Show the texts behind a word."""
        return pages.passages(self.corpus, word, text, n=n, where=filters(where))

    def word(
        self, word: str, *, at: Labels = None, n: Rows = 10, others: Words = "", taken: Text = "",
        text: Text = "", where: Filters = None, lines: Rows = pages.PASSAGES,
    ) -> Content:  # fmt: skip
        """Show all of a word."""
        content = pages.word(self.model, word, at=at or [], n=n, others=listed(others), taken=taken or None)
        chosen, known = content["chosen"], filters(where)

        def keep(label: str) -> str:
            """Return the address that keeps a slice and shows its texts, or puts it away."""
            kept = [other for other in chosen if other != label]
            kept = kept if label in chosen else [*kept, label][-pages.MOST_SLICES :]
            shown = label if label not in chosen else ""
            return word_address(content["word"], at=kept, n=n, others=others, text=shown, where=where) + "#neighbours"

        return content | {
            "passages": pages.passages(self.corpus, word, text, n=lines, where=known),
            "text": text,
            "where": known,
            "lines": lines,
            "n": n,
            "others": listed(others),
            "_filters": where or [],
            "_facets": pages.columns(self.corpus),
            "_kept": chosen if at else [],
            "_keep": keep,
            "_texts": lambda label: word_address(word, at=chosen if at else [], text=label, where=where),
        }


def listed(words: str) -> list[str]:
    """Read words with commas between."""
    return [word.strip() for word in words.split(",") if word.strip()]


def filters(where: Sequence[str] | None) -> dict[str, str]:
    """Read what documents must have; a column without a value allows all."""
    pairs = [text.partition("=") for text in where or []]
    return {column: value for column, _, value in pairs if column and value}


def address(path: str, **options: Any) -> str:
    """Return an address with its options, those that are empty left out; `_` at the end of a name is dropped."""
    known = {name.rstrip("_"): value for name, value in options.items() if value not in (None, "", [], {})}
    return f"{path}?{urlencode(known, doseq=True)}" if known else path


def word_address(word: str, ending: str = "", **options: Any) -> str:
    """Return the address of a word's page."""
    return address(f"/word/{quote(word, safe='')}{ending}", **options)
