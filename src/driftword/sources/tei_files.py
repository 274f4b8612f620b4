"""TEI files: editions and corpora as XML, with or without words that are told apart.

Files are read piece by piece, so memory holds one document. An XML file that declares entities is refused: they can
name other files, and a few lines of them can unfold to more than any machine holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.parsers import expat

import polars as pl

from driftword.basics.errors import SourceError
from driftword.sources import limits
from driftword.sources.annotated_text import ANNOTATION, AnnotatedText, Cells, dated, frames_of
from driftword.sources.compression import decompressed
from driftword.sources.text_streams import ReadingState, readable_name

_PIECE: Final = 1 << 16
#: Elements that begin and end a line.
_BLOCKS: Final = frozenset((
    *("ab", "argument", "bibl", "body", "byline", "cell", "closer", "dateline", "div", "div1", "div2", "div3", "div4"),
    *("div5", "div6", "div7", "epigraph", "front", "head", "item", "l", "label", "lg", "list", "opener", "p"),
    *("postscript", "quote", "row", "s", "salute", "seg", "signed", "sp", "speaker", "stage", "table", "trailer", "u"),
))  # fmt: skip
#: What is not the text itself: headers of pages, and the first reading where an edition also has another.
_LEFT_OUT: Final = frozenset({"teiHeader", "fw", "figDesc", "facsimile", "standOff"})
_FIRST_READINGS: Final = frozenset({"sic", "orig", "abbr"})
_BREAKS: Final = frozenset({"lb", "pb", "cb", "gb", "milestone"})
#: Where a header says when a text was written, the best place first.
_DATES: Final = (
    "creation", "written", "setting", "correspAction", "print", "premiere", "sourceDesc", "publicationStmt",
)  # fmt: skip
_WHEN: Final = ("when", "when-iso", "from", "notBefore", "from-iso", "notBefore-iso", "to", "notAfter", "date")
_ATTRIBUTES: Final = ("who", "n", "type")  # of the element that is a document
_UNIVERSAL: Final = re.compile(r"(?:^|\|)UPosTag=([^|]+)")


class _Reader:
    """Takes the events of a parser; `rows` holds the documents that have ended."""

    def __init__(self, file: Path, state: ReadingState) -> None:
        self.file, self.state, self.rows = file, state, list[tuple[Cells, int]]()
        self.path: list[str] = []  # names of the open elements
        self.facts: Cells = {}  # of the TEI element
        self.dates: dict[str, str] = {}  # by where in the header
        self.depth = 0  # of the element that is a document; 0 outside of it
        self.silent = 0  # depth of an element that is left out
        self.own: Cells = {}
        self.text: list[str] = []
        self.words = AnnotatedText()
        self.word: dict[str, str] | None = None  # attributes of the word that is open
        self.form: list[str] = []
        self.size = 0

    # -- events --------------------------------------------------------------------------

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        self.path.append(name)
        if name == "TEI":
            self.facts, self.dates = {"id": attributes.get("xml:id")}, {}
        elif "teiHeader" in self.path or name == "event":
            self._header(name, attributes)
        if self.silent:
            return
        if name in _LEFT_OUT or (name in _FIRST_READINGS and "choice" in self.path):
            self.silent = len(self.path)
        elif not self.depth and name == (self.state.element or "text"):
            self.depth, self.text, self.words, self.size = len(self.path), [], AnnotatedText(), 0
            self.own = {key: attributes.get(key) for key in _ATTRIBUTES} if self.state.element else {}
            when = next((attributes[key] for key in _WHEN if key in attributes), None)
            if when:
                self.own["date"] = when
        elif self.depth:
            self._inside(name, attributes)

    def _inside(self, name: str, attributes: dict[str, str]) -> None:
        if name in ("w", "pc") and self.word is None:
            self.word, self.form = attributes, []
        elif name in _BLOCKS:
            self.text.append("\n")
            self.words.end_line()
        elif name in _BREAKS and attributes.get("break") != "no":
            self.text.append(" ")

    def end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        if self.silent == len(self.path):
            self.silent = 0
        elif self.depth and not self.silent:
            if self.word is not None and name in ("w", "pc") and self.path[-2] not in ("w", "pc"):
                self._end_word(name)
            elif name in _BLOCKS:
                self.text.append("\n")
                self.words.end_line()
            if self.depth == len(self.path):
                self._end_document()
        self.path.pop()

    def characters(self, text: str) -> None:
        if "teiHeader" in self.path:
            self._header_text(text)
        elif self.depth and not self.silent:
            self.size += len(text)
            if self.size > limits.LONGEST_DOCUMENT:
                raise limits.too_long(f"A document in '{readable_name(str(self.file))}'")
            (self.text if self.word is None else self.form).append(text)

    def entity(self, *_: object) -> None:
        raise SourceError(
            f"'{readable_name(str(self.file))}' declares XML entities, which can name other files and unfold without "
            "end; replace them by the characters they stand for"
        )

    # -- headers -------------------------------------------------------------------------

    def _header(self, name: str, attributes: dict[str, str]) -> None:
        # Plays of DraCor say in events outside of the header when they were written, printed and first performed.
        where = attributes.get("type", "") if name == "event" else next((p for p in _DATES if p in self.path), "")
        when = next((attributes[key] for key in _WHEN if attributes.get(key)), "")
        if when and where and name in ("date", "creation", "event"):
            self.dates.setdefault(where, when)

    def _header_text(self, text: str) -> None:
        if not text.strip():
            return
        where = next((place for place in _DATES if place in self.path), None)
        if "titleStmt" in self.path and "sourceDesc" not in self.path:
            name = next((name for name in ("author", "title") if name in self.path), None)
            if name is not None and "idno" not in self.path:
                self.facts[name] = " ".join(f"{self.facts.get(name) or ''} {text}".split())
        elif where is not None and self.path[-1] == "date" and (year := re.search(r"\b\d{4}\b", text)):
            self.dates.setdefault(where, year[0])

    # -- what has ended ------------------------------------------------------------------

    def _end_word(self, name: str) -> None:
        assert self.word is not None
        form, known = "".join(self.form), self.word
        space = known.get("join") not in ("right", "both")
        tag = known.get("pos") or known.get("msd") or known.get("ana") or ""
        universal = _UNIVERSAL.search(known.get("msd", "")) or _UNIVERSAL.search(tag)
        tag = universal[1] if universal else tag.split()[0].lstrip("#").rpartition(":")[2] if tag.split() else ""
        if name == "w":
            self.words.add(form, known.get("lemma", ""), tag, space=space)
        else:
            self.words.write(form, space=space)
        self.word = None

    def _end_document(self) -> None:
        cells = self.words.cells()
        annotated = bool(cells[ANNOTATION])
        if self.state.annotated is None:
            self.state.annotated = annotated
        if annotated != self.state.annotated and "".join(self.text).strip():
            here, there = ("no <w>", "have") if self.state.annotated else ("words as <w>", "have not")
            raise SourceError(
                f"'{readable_name(str(self.file))}' has a text with {here}, and those before it {there}; prepare the "
                "two kinds apart"
            )
        date = next((self.dates[place] for place in _DATES if place in self.dates), None)
        text = re.sub(r"\s*\n\s*", "\n", re.sub(r"[ \t]+", " ", "".join(self.text))).strip()
        facts = {"title": None, "author": None, "date": date, **self.facts}
        facts |= {key: value for key, value in self.own.items() if value is not None or key != "date"}
        cells = cells if annotated else {"text": text}
        self.rows.append((dated({**facts, **cells}, self.file, self.state), self.size + len(cells["text"] or "")))
        self.depth = 0


def read_tei(file: Path, state: ReadingState) -> Iterator[pl.DataFrame]:
    """Yield the documents of a TEI file: its texts, or all elements of the name that `state` has."""
    return frames_of(file, _documents(file, state), state)


def _documents(file: Path, state: ReadingState) -> Iterator[tuple[Cells, int]]:
    reader, parser = _Reader(file, state), expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler, parser.EntityDeclHandler = reader.characters, reader.entity
    with file.open("rb") as raw, decompressed(file, raw) as stream:
        try:
            while piece := stream.read(_PIECE):
                parser.Parse(piece)
                yield from reader.rows
                reader.rows.clear()
                state.bytes_read += 0 if file.suffix.lower() not in (".xml", ".tei") else len(piece)
            parser.Parse(b"", True)  # noqa: FBT003 - expat takes no keywords
        except expat.ExpatError as error:
            raise SourceError(
                f"'{readable_name(str(file))}' is not well-formed XML ({expat.errors.messages[error.code]}, line "
                f"{error.lineno}); correct it, or pass `skip_bad_files=True` to leave such files out"
            ) from error
    yield from reader.rows
