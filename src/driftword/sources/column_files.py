"""CoNLL-U and VRT files: a word in each line, with what it is in columns."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from driftword.basics.errors import SourceError
from driftword.sources import limits
from driftword.sources.annotated_text import AnnotatedText, Cells, dated, frames_of
from driftword.sources.text_streams import ReadingState, RowLines, open_text, readable_name

_OF_SENTENCES: Final = ("sent_id", "text", "newpar", "newdoc", "global.columns")
_TAG: Final = re.compile(r"<(/?)([\w.:-]+)([^>]*?)(/?)>\s*$")
_ATTRIBUTE: Final = re.compile(r"""([\w.:-]+)\s*=\s*("[^"]*"|'[^']*')""")
_COLUMNS: Final = re.compile(r"<!--\s*#vrt positional-attributes:\s*(.*?)\s*-->")


def read_conllu(file: Path, state: ReadingState) -> Iterator[pl.DataFrame]:
    """Yield the documents of a CoNLL-U file: each begins with ``# newdoc``, or where ``# date`` changes."""
    state.annotated = True
    with open_text(file, state) as text:
        yield from frames_of(file, _conllu_documents(file, RowLines(file, text), state), state)


def _conllu_documents(file: Path, lines: RowLines, state: ReadingState) -> Iterator[tuple[Cells, int]]:
    text, facts, written, whole = AnnotatedText(), dict[str, str | None](), 0, ""

    def document() -> tuple[Cells, int]:
        return dated({**facts, **text.cells()}, file, state), text.size

    for number, line in enumerate(lines, start=1):
        lines.begin_row(number + 1)
        line = line.rstrip("\r\n")
        if line.startswith("#"):
            name, equals, value = (part.strip() for part in line[1:].partition("="))
            first, _, rest = name.partition(" ")
            if first == "newdoc" or (name == "date" and facts.get("date", value) != value):
                if text.size:
                    yield document()
                text, facts = AnnotatedText(), {}
                if first == "newdoc" and value:
                    facts[rest or "id"] = value
            if first == "newpar":
                text.end_line()
            # What is said of later sentences is not said of the document.
            if equals and name and not (text.size or first in _OF_SENTENCES or name.startswith("text")):
                facts.setdefault(name.removeprefix("meta::"), value)
            written = 0
        elif line.strip():
            fields = line.split("\t")
            if len(fields) < 4:
                raise SourceError(
                    f"'{readable_name(str(file))}' line {number} has {len(fields)} columns between tabs, and CoNLL-U "
                    "has ten; is it another kind of file?"
                )
            index, form, lemma, tag = fields[:4]
            space = "SpaceAfter=No" not in (fields[9] if len(fields) > 9 else "")
            if "." in index:
                continue  # a word that is understood, not written
            if "-" in index:
                text.write(form, space=space)
                written, whole = int(index.partition("-")[2] or 0), form
            elif index.isdigit() and int(index) <= written:
                text.note(whole, lemma, tag)
                whole = ""
            else:
                text.add(form, lemma, tag, space=space)
            _check_length(file, text)
        else:
            written = 0
    if text.size:
        yield document()


def read_vrt(file: Path, state: ReadingState) -> Iterator[pl.DataFrame]:
    """Yield the documents of a VRT file, as the IMS Corpus Workbench reads it: words in lines between tags."""
    state.annotated = True
    with open_text(file, state) as text:
        yield from frames_of(file, _vrt_documents(file, RowLines(file, text), state), state)


def _vrt_documents(file: Path, lines: RowLines, state: ReadingState) -> Iterator[tuple[Cells, int]]:
    wanted, columns = state.element or "text", state.columns.split(",")
    text: AnnotatedText | None = None
    around: dict[str, dict[str, str | None]] = {}  # facts of the elements that are open
    seen = False
    for number, line in enumerate(lines, start=1):
        lines.begin_row(number + 1)
        line = line.rstrip("\r\n")
        if found := _COLUMNS.match(line):
            columns = [name.partition("/")[0].lower() for name in found[1].split()]
        elif tag := _TAG.match(line):
            closing, name, attributes, empty = tag.groups()
            if closing:
                if name == wanted and text is not None:
                    facts = {key: value for known in around.values() for key, value in known.items()}
                    yield dated({**facts, **text.cells()}, file, state), text.size
                    text = None
                around.pop(name, None)
            elif not empty:
                around[name] = {key: html.unescape(value[1:-1]) for key, value in _ATTRIBUTE.findall(attributes)}
                if name == wanted:
                    text, seen = AnnotatedText(), True
                elif text is not None and name in ("p", "paragraph"):
                    text.end_line()
        elif line.strip() and not line.startswith("<!--") and text is not None:
            fields = dict(zip(columns, map(html.unescape, line.split("\t")), strict=False))
            text.add(fields["word"], fields.get("lemma", ""), fields.get("pos", ""))
            _check_length(file, text)
    if not seen:
        raise SourceError(
            f"'{readable_name(str(file))}' has no <{wanted}>; name the element that is a document with `element`"
        )


def _check_length(file: Path, text: AnnotatedText) -> None:
    if text.size > limits.LONGEST_DOCUMENT:
        raise limits.too_long(f"A document in '{readable_name(str(file))}'")
