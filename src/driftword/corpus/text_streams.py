"""Text files, compressed or not, as streams of characters and of lines."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from driftword.corpus import limits
from driftword.corpus.compression import decompressed
from driftword.corpus.encodings import UTF_8, detect_encoding


@dataclass
class ReadingState:
    """How files are to be read, and what was noticed while reading them."""

    skip_bad_rows: bool = False
    encoding: str | None = None  # None to detect it for each file
    bytes_read: int = 0
    bad_rows: int = 0
    detected_encodings: dict[str, int] = field(default_factory=dict)  # files that are not UTF-8, by their encoding
    keys: dict[str, None] = field(default_factory=dict)  # of JSON objects, in order of appearance
    nested: set[str] = field(default_factory=set)  # those of them that hold lists or objects


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
    """The lines of a file, of which only so many characters may belong to one row.

    Parameters
    ----------
    file
        Path of the file, for messages.
    text
        The open file.
    head
        What has been read of the first line already.
    """

    def __init__(self, file: Path, text: IO[str], head: str = "") -> None:
        self._file, self._text, self._head = file, text, head
        self._longest = limits.LONGEST_DOCUMENT
        self._left = self._longest
        self._number = 0
        self._row_start = 1

    def begin_row(self) -> None:
        """Count the characters of a new row from the next line on."""
        self._left = self._longest
        self._row_start = self._number + 1

    def __iter__(self) -> Iterator[str]:
        """Yield the lines; raise `SourceError` at a row that is too long, before more than it is allowed is read."""
        readline = self._text.readline
        line = self._head if self._head.endswith(("\n", "\r")) else self._head + readline(self._longest + 1)
        while line:
            self._left -= len(line)
            if self._left < 0:
                raise limits.too_long(f"The row in line {self._row_start} of '{readable_name(str(self._file))}'")
            self._number += 1
            yield line
            line = readline(self._longest + 1)
