"""Text files, compressed or not, as streams of characters and of lines."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, TypeVar

import polars as pl

from driftword.basics.errors import SourceError
from driftword.sources import limits
from driftword.sources.compression import decompressed
from driftword.sources.encodings import UTF_8, detect_encoding
from driftword.sources.name_dates import NameDates

_Row = TypeVar("_Row")


@dataclass
class ReadingState:
    """Options for reading files, and what was noticed on the way."""

    skip_bad_rows: bool = False
    skip_bad_files: bool = False
    encoding: str | None = None  # None to detect it for each file
    bytes_read: int = 0
    bad_rows: int = 0
    bad_files: list[str] = field(default_factory=list)  # names of files that cannot be read
    unread: set[str] = field(default_factory=set)  # their paths
    digests: dict[str, str] = field(default_factory=dict)  # SHA-256 of files that were copied to be read
    detected_encodings: dict[str, int] = field(default_factory=dict)  # files that are not UTF-8, by their encoding
    keys: dict[str, None] = field(default_factory=dict)  # of JSON objects, in order of appearance
    nested: set[str] = field(default_factory=set)  # those of them that hold lists or objects
    # Of files that say what words are
    element: str | None = None  # that is a document
    columns: str = "word,pos,lemma"
    name_dates: NameDates | None = None  # for documents that say no date themselves
    annotated: bool | None = None  # whether words are told apart; None until the first document


def readable_name(name: str) -> str:
    """Return a file's name with bytes that are not UTF-8 replaced."""
    return os.fsencode(name).decode(errors="replace")


def open_text(file: Path, state: ReadingState) -> IO[str]:
    """Open a text file, compressed or not; bytes that cannot be decoded become U+FFFD."""
    encoding = state.encoding
    if encoding is None:
        with file.open("rb", buffering=0) as raw, decompressed(file, raw) as stream:
            encoding = detect_encoding(stream)
        if encoding not in (UTF_8, "utf-16"):
            state.detected_encodings[encoding] = state.detected_encodings.get(encoding, 0) + 1
    stream = decompressed(file, _Tracked(file.open("rb"), state))
    return io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline="")


class _Tracked(io.RawIOBase):
    """A file that records how far it has been read."""

    def __init__(self, raw: Any, state: ReadingState) -> None:
        self._raw, self._state, self._base = raw, state, state.bytes_read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._raw.readinto(buffer)
        self._state.bytes_read = self._base + self._raw.tell()
        return int(count)

    def close(self) -> None:
        self._raw.close()
        super().close()


class RowLines:
    """The lines of an open file, of which only so many characters may belong to one row.

    `head` is what has been read of the first line already; messages name the `file`.
    """

    def __init__(self, file: Path, text: IO[str], head: str = "") -> None:
        self._file, self._text, self._head = file, text, head
        self._row_line = 1
        self._row_characters = 0

    def begin_row(self, line: int) -> None:
        """Note that the next line, of this number, begins a row."""
        self._row_line = line
        self._row_characters = 0

    def too_long(self) -> SourceError:
        """Return the error for a row that is too long."""
        return limits.too_long(f"The row in line {self._row_line} of '{readable_name(str(self._file))}'")

    def __iter__(self) -> Iterator[str]:
        """Yield the lines; raise `SourceError` at a row that is too long instead of reading on."""
        longest = limits.LONGEST_DOCUMENT
        read_line = partial(self._text.readline, longest + 1)
        head = self._head
        if head and not head.endswith(("\n", "\r")):
            head += read_line()
        for line in chain([head] if head else [], iter(read_line, "")):
            self._row_characters += len(line)
            if self._row_characters > longest:
                raise self.too_long()
            yield line


def batches(
    rows: Iterable[tuple[_Row, int]], make: Callable[[list[_Row]], pl.DataFrame], most_rows: int
) -> Iterator[pl.DataFrame]:
    """Yield rows, which come with their sizes, in frames of so many rows or of about `BATCH_BYTES`."""
    batch: list[_Row] = []
    size = 0
    for row, length in rows:
        batch.append(row)
        size += length
        del row
        if len(batch) >= most_rows or size > limits.BATCH_BYTES:
            frame = make(batch)
            batch, size = [], 0  # before the caller works on them, so that they are in memory only once
            yield frame
            del frame
    yield make(batch)
