"""Text whose words come with lemmas and parts of speech, as linguists exchange it.

A document is a text for people, and its annotation: a line for each word, with the word as it is written, its lemma and
its part of speech. The words as written are in the text in the same order, so each can be found there again. A word
that is written in one with the one before, as *del* is *de* and *el*, has nothing written of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import polars as pl

from driftword.sources import limits
from driftword.sources.json_files import cells_frame, noting_keys
from driftword.sources.text_streams import ReadingState, batches, readable_name

#: The column that holds it.
ANNOTATION: Final = "annotation"
FIELDS: Final = "\t"
#: What stands for a lemma, or a part of speech, that is not known.
_UNKNOWN: Final = frozenset({"_", "<unknown>", "@card@", "--", "__UNDEF__"})
#: Marks that follow a word, or that one follows, without a space.
_CLOSING: Final = frozenset(".,;:!?)]}\u00bb\u201d\u2019\u2026")
_OPENING: Final = frozenset("([{\u00ab\u201e\u201c\u2018\u00bf\u00a1")

Cells = dict[str, str | None]


class AnnotatedText:
    """A document as its words come."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._lines: list[str] = []
        self.size = 0  # characters

    def add(self, form: str, lemma: str = "", tag: str = "", *, space: bool = True) -> None:
        """Add a word, or a punctuation mark, and whether a space follows it."""
        self.write(form, space=space)
        self.note(form, lemma, tag)

    def write(self, form: str, *, space: bool = True) -> None:
        """Add what is written, without saying what it is."""
        form = " ".join(form.split())
        if form in _CLOSING and self._text and self._text[-1].endswith(" "):
            self._text[-1] = self._text[-1][:-1]
        space = space and form not in _OPENING
        self._text.append(f"{form} " if space else form)
        self.size += len(form) + 1

    def note(self, form: str, lemma: str, tag: str) -> None:
        """Say what was written, or nothing of its own, is."""
        form, lemma, tag = (_clean(part) for part in (form, lemma, tag))
        if any(map(str.isalnum, form or lemma)):
            self._lines.append(FIELDS.join((form, lemma, tag)))
            self.size += len(self._lines[-1]) + 1

    def end_line(self) -> None:
        """Begin a new line of text."""
        if self._text and self._text[-1] != "\n":
            self._text.append("\n")

    def cells(self) -> Cells:
        """Return the text and its annotation."""
        return {"text": "".join(self._text).strip(), ANNOTATION: "\n".join(self._lines)}


def _clean(part: str) -> str:
    part = "_".join(part.split())
    return "" if part in _UNKNOWN else part


def frames_of(file: Path, rows: Iterator[tuple[Cells, int]], state: ReadingState) -> Iterator[pl.DataFrame]:
    """Yield documents, which come with their sizes, as tables with a column for every fact that any of them has."""
    yield from batches(noting_keys(file, rows, state), lambda batch: cells_frame(batch, state), limits.BATCH_ROWS)


def dated(facts: Mapping[str, str | None], file: Path, state: ReadingState) -> Cells:
    """Return the facts of a document; a date that it does not have is looked for in the name of its file."""
    known = {name: value for name, value in facts.items() if name != "date" or value}
    if "date" not in known and state.name_dates is not None:
        found = state.name_dates.find(name := readable_name(file.name))
        known |= {"date": found} if found != name else {}
    return known
