"""From an address to its content: the parameters that a reader may give, all of them bounded."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Annotated, Any, Final
from urllib.parse import quote, urlencode

import polars as pl
from fastapi import Depends, Path, Query

from driftword import explore
from driftword.basics.checks import comma_separated
from driftword.basics.errors import OptionError
from driftword.corpus import Corpus
from driftword.corpus.groups import OTHERS
from driftword.corpus.word_kinds import WORD
from driftword.exchange.model_card import citation
from driftword.models.model import Model
from driftword.pages import content, finding_content, overview_content, passage_content
from driftword.pages.company_content import company_page, two_sides
from driftword.pages.content import Content
from driftword.uses.collocates import collocates

MAX_SUGGESTIONS: Final = 12
_COMPLETIONS: Final = 8
_NEIGHBORS: Final = 10
_BESIDE: Final = 2  # passages beside a figure
_MAX_LENGTH: Final = 200  # letters of a word or the label of a slice
_MAX_ENCODED_LENGTH: Final = 1 + 2 * 4 * _MAX_LENGTH  # of a word whose bytes are written in hexadecimal

Number = Annotated[int, Query(ge=0, le=10_000_000)]
Rows = Annotated[int, Query(ge=1, le=content.MAX_ROWS)]
Text = Annotated[str, Query(max_length=_MAX_LENGTH)]
Words = Annotated[str, Query(max_length=content.MAX_COMPARED * _MAX_LENGTH, description="Words, separated by commas.")]
Begin = Annotated[str, Query(max_length=_MAX_LENGTH, alias="from")]
End = Annotated[str, Query(max_length=_MAX_LENGTH, alias="to")]
Labels = Annotated[list[Text] | None, Query(max_length=content.MAX_SLICES)]
Filters = Annotated[list[Text] | None, Query(max_length=24, description="COLUMN=VALUE that documents must have.")]
Groups = Annotated[list[Text] | None, Query(max_length=content.MAX_GROUPS)]
Word = Annotated[str, Path(max_length=_MAX_ENCODED_LENGTH)]
Name = Annotated[str, Path(max_length=_MAX_LENGTH)]


def drift_options(
    metric: Text = "",
    n: Rows = 30,
    min_count: Number | None = None,
    skip: Number | None = None,
    sort: Text = overview_content.RANKED,
    *,
    interpolated: bool = False,
) -> dict[str, Any]:
    """Read how the words that changed most are ranked."""
    return {
        "metric": metric or None, "n": n, "min_count": min_count, "skip": skip, "sort": sort,
        "interpolated": interpolated,
    }  # fmt: skip


DriftOptions = Annotated[dict[str, Any], Depends(drift_options)]


class Endpoints:
    """The content of each address; names that begin with `_` are for the page alone, not for its JSON."""

    def __init__(self, model: Model, everything: Corpus | None) -> None:
        self.model = model
        self.everything = everything  # the documents of all groups, where the model is that of one
        self.corpus = corpus = None if everything is None else model.documents_of(everything)
        has_documents = corpus is not None and corpus.has_documents
        self.columns = list(corpus.documents.collect_schema()) if corpus is not None and has_documents else []

    @cached_property
    def filter_columns(self) -> pl.DataFrame:
        """The columns that passages can be filtered by, one row for each document."""
        return passage_content.filter_columns(self.corpus)

    def resolve_word(self, word: str) -> str:
        """Return the word that an address names, as `word_address` writes it."""
        if word.startswith("~") and word not in self.model.word_index:
            with contextlib.suppress(ValueError):
                word = bytes.fromhex(word[1:]).decode()
        return self.model.words[self.model.word_id(word)]

    def resolve_slice(self, label: str) -> str:
        """Return the label of the slice that a label, year or date names."""
        return self.model.slices.labels[self.model.slices.index(label)]

    def filters(self, where: Sequence[str] | None) -> dict[str, str]:
        """Read the COLUMN=VALUE pairs that documents must have; a column without a value is not a condition."""
        filters = {}
        for text in where or []:
            column = max((name for name in self.columns if text.startswith(f"{name}=")), key=len, default=None)
            column = text.partition("=")[0] if column is None else column
            if column and len(text) > len(column) + 1:
                filters[column] = text[len(column) + 1 :]
        return filters

    def start(  # noqa: PLR0917 - parameters of an address
        self, options: DriftOptions, begin: Begin = "", end: End = "", since: Text = "", until: Text = "",
        kind: Text = WORD,
    ) -> Content:  # fmt: skip
        """Show an overview of the corpus."""
        page = overview_content.start(
            self.model, begin or None, end or None, since=since or None, until=until or None, kind=kind or WORD,
            corpus=self.corpus, **options,
        )  # fmt: skip
        return page | {"_period": lambda label: address("/", since=label, until=label) + "#changed"}

    def between(self, options: DriftOptions, begin: Begin = "", end: End = "") -> Content:
        """Show the words that changed most between two slices."""
        return overview_content.between(self.model, begin or None, end or None, **options)

    def one_slice(self, label: Name, options: DriftOptions) -> Content:
        """Show the words that moved most into a slice."""
        return overview_content.one_slice(self.model, label, **options)

    def compare(self, words: Words) -> Content:
        """Show several words over time."""
        page = content.compare(self.model, comma_separated(words))
        return page | {
            "glimpses": finding_content.glimpses(self.model, self.corpus, page["words"]),
            "_this_page": lambda ending="": address(f"/compare{ending}", words=words),
        }

    def axis(self, words: Words, low: Words, high: Words) -> Content:
        """Show words between two poles of meaning."""
        return content.axis(self.model, comma_separated(words), comma_separated(low), comma_separated(high)) | {
            "_this_page": lambda ending="": address(f"/axis{ending}", words=words, low=low, high=high)
        }

    def comparisons(self, words: Words = "", low: Words = "", high: Words = "") -> Content:
        """Show the forms for all comparisons."""
        return {
            "title": "Compare",
            "words": words,
            "low": comma_separated(low),
            "high": comma_separated(high),
            "slices": self.model.slices.labels,
            "moves": self.model.moves,
            "default_range": explore.attested_range(self.model) if self.model.moves else None,
        }

    def neighbors(self, word: Word, at: Text, n: Rows = _NEIGHBORS) -> Content:
        """Show the neighbours of a word in one slice, and a passage or two."""
        word = self.resolve_word(word)
        found = content.slice_neighbors(self.model, word, at, n=n)
        passages = passage_content.passages(self.corpus, word, found["slice"], n=_BESIDE) if found["count"] else []
        return found | {"passages": passages}

    def band(self, word: Word, group: Text = "") -> Content:
        """Show the interval around the distance of a word from its first use, in all text or in a group."""
        return content.band(self.model, self.resolve_word(word), self.everything, group or None)

    def finding(self, word: Word) -> Content | None:
        """Show what changed in a word, with the passages that show it."""
        return finding_content.finding(self.model, self.corpus, self.resolve_word(word))

    def senses(self, word: Word) -> Content:
        """Show the senses of a word, which take longer than the rest of its page."""
        word = self.resolve_word(word)
        return finding_content.senses_page(self.model, self.corpus, word) | {
            "_this_page": lambda ending="": word_address(word, f"/senses{ending}")
        }

    def collocates(self, word: Word) -> list[dict[str, Any]]:
        """Show the company that a word lost and gained."""
        if self.corpus is None:
            raise OptionError("The corpus was not found; start the explorer with its path as `corpus`")
        return collocates(self.model, self.resolve_word(word), corpus=self.corpus).to_dicts()

    def company(
        self, word: Word, *, first: Text = "", first_end: Text = "", second: Text = "", second_end: Text = "",
        groups: Groups = None,
    ) -> Content:  # fmt: skip
        """Show the company of a word on both sides of its change, in two periods, or in two groups."""
        word = self.resolve_word(word)
        periods = [self.resolve_slice(label) if label else "" for label in (first, first_end, second, second_end)]
        between, named = two_sides(periods, [name for name in groups or () if name])
        query = dict(zip(("first", "first_end", "second", "second_end"), periods, strict=True)) | {"groups": groups}
        return company_page(self.model, self.corpus, word, between=between, groups=named) | {
            "_this_page": lambda ending="": word_address(word, f"/company{ending}", **query)
        }

    def words(self, like: Text) -> Content:
        """Show the words that match a pattern."""
        return overview_content.matching(self.model, like)

    def suggest(self, q: Text = "") -> list[str]:
        """Complete a word."""
        return content.suggest(self.model, q, MAX_SUGGESTIONS)

    def completions(self, q: Text = "") -> list[dict[str, Any]]:
        """Complete a word, with a few facts about each."""
        return content.completions(self.model, q, _COMPLETIONS)

    def passages(
        self, word: Word, *, at: Text = "", where: Filters = None, n: Rows = passage_content.PASSAGES
    ) -> list[dict[str, Any]]:
        """Show passages with a word."""
        return passage_content.passages(self.corpus, self.resolve_word(word), at, n=n, where=self.filters(where))

    def concordance(
        self, word: Word, *, at: Text = "", sort: Text = "right", where: Filters = None, n: Rows = passage_content.LINES
    ) -> Content:
        """Show the occurrences of a word, line by line."""
        word, filters = self.resolve_word(word), self.filters(where)
        at = self.resolve_slice(at) if at else ""
        found = passage_content.concordance(self.corpus, word, at, n=n, sort=sort, where=filters)
        query = {"at": at, "sort": sort, "where": where, "n": n if n != passage_content.LINES else None}

        def this_page(ending: str = "", **changed: Any) -> str:
            """Return the address of this page, with some of its parameters changed."""
            return word_address(word, f"/concordance{ending}", **{**query, **changed})

        return found | {"_this_page": this_page}

    def text(self, document: Annotated[int, Path(ge=0, le=2**40)], word: Text) -> Content:
        """Show a whole text, with a word marked in it."""
        page = passage_content.full_text(self.corpus, document, self.resolve_word(word))
        return page | {"cite": citation(self.model)}

    def word(
        self, word: Word, *, at: Labels = None, n: Rows = _NEIGHBORS, others: Words = "", reference: Text = "",
        passages_at: Text = "", passages_n: Rows = passage_content.PASSAGES, where: Filters = None,
        groups: Groups = None, groups_at: Text = "",
    ) -> Content:  # fmt: skip
        """Show everything about a word."""
        word, filters = self.resolve_word(word), self.filters(where)
        passages_at = self.resolve_slice(passages_at) if passages_at else ""
        if self.corpus is not None:
            self.corpus.positions_of(word)  # looked for once, for all that follows
        with ThreadPoolExecutor(2) as beside:  # the texts are read while the model is asked
            found = beside.submit(finding_content.finding, self.model, self.corpus, word, senses=False)
            read = beside.submit(self._passages, word, passages_at, passages_n, filters)
            page = content.word(
                self.model, word, at=at or [], n=n, others=comma_separated(others), reference=reference or None,
                groups=groups or [], groups_at=groups_at or None,
            )  # fmt: skip
            passages = read.result()
            page = finding_content.add_finding(page, found.result())
        selected = page["selected"]
        # In the order in which they were pinned: where there are too many, the one pinned first goes.
        pinned = list(dict.fromkeys(self.resolve_slice(label) for label in at or selected))
        query = {
            "at": pinned if at else [],
            "n": n if n != _NEIGHBORS else None,
            "others": others,
            "reference": reference,
            "passages_at": passages_at,
            "passages_n": passages_n if passages_n != passage_content.PASSAGES else None,
            "where": where,
            **({"groups": groups, "groups_at": groups_at} if self.model.groups else {}),
        }

        def this_page(ending: str = "", **changed: Any) -> str:
            """Return the address of this page, with some of its parameters changed."""
            return word_address(word, ending, **{**query, **changed})

        def remove_pin(label: str) -> str:
            """Return the address that removes a slice."""
            return this_page(at=[other for other in pinned if other != label], passages_at="") + "#neighbours"

        def toggle_pin(label: str) -> str:
            """Return the address that pins a slice and shows its passages, or removes it if they are shown."""
            if label in selected and label == passages_at:
                return remove_pin(label)
            at = pinned if label in selected else [*pinned, label][-content.MAX_SLICES :]
            return this_page(at=at, passages_at=label) + "#neighbours"

        def passages_href(label: str) -> str:
            """Return the address that shows the passages of a slice; none where the word does not occur."""
            known = self.corpus is not None and page["counts"][self.model.slices.index(label)] != 0
            return this_page(passages_at=label) + "#passages" if known else ""

        def group_passages(group: str) -> str:
            """Return the address that shows the passages of a group in the slice of the table of groups."""
            column = None if self.corpus is None else self.corpus.options.group
            if column is None or group == OTHERS:
                return ""  # there is no such column, or no single value in it
            return this_page(passages_at=page["groups"]["slice"], where=[f"{column}={group}"]) + "#passages"

        return page | {
            **passages,
            "passages_at": passages_at,
            "passages_n": passages_n,
            "where": filters,
            "n": n,
            "_query": {name: value for name, value in query.items() if value},
            "_this_page": this_page,
            "_toggle_pin": toggle_pin,
            "_remove_pin": remove_pin,
            "_passages_href": passages_href,
            "_group_passages": group_passages,
        }

    def _passages(self, word: str, at: str, n: int, filters: dict[str, str]) -> Content:
        """Return passages with a word, and what they can be filtered by."""
        in_slices, values = passage_content.choices(self.corpus, word, self.filter_columns, at, filters)
        return {
            "passages": passage_content.passages(self.corpus, word, at, n=n, where=filters),
            "occurrences": passage_content.occurrences(self.corpus, word, at, where=filters),
            "_slice_choices": in_slices,
            "_choices": values,
        }


def address(path: str, **parameters: Any) -> str:
    """Return an address with its parameters, leaving out empty ones; `_` at the end of a name is dropped."""
    given = {name.rstrip("_"): value for name, value in parameters.items() if value not in (None, "", [], {})}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def word_address(word: str, ending: str = "", **parameters: Any) -> str:
    """Return the address of a word's page.

    Words such as "and/or", ".." or "x.json" would lead elsewhere; they are written as ~ and their bytes.
    """
    encoded = (
        "/" in word or "%" in word or not word.strip(".") or word.endswith((".json", ".csv")) or word.startswith("~")
    )
    name = f"~{word.encode().hex()}" if encoded else quote(word, safe="")
    return address(f"/word/{name}{ending}", **parameters)
