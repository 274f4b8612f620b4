"""Text files, compressed or not, as streams of characters and of lines."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final

from driftword.basics.errors import SourceError
from driftword.sources import limits
from driftword.sources.compression import decompressed
from driftword.sources.encodings import UTF_8, detect_encoding

_BLOCK: Final = 1 << 18


@dataclass
class ReadingState:
    """How files are to be read, and what was noticed while reading them."""

    skip_bad_rows: bool = False
    skip_bad_files: bool = False
    encoding: str | None = None  # None to detect it for each file
    bytes_read: int = 0
    bad_rows: int = 0
    bad_files: list[str] = field(default_factory=list)  # names of those that cannot be read
    unread: set[str] = field(default_factory=set)  # paths of the same
    digests: dict[str, str] = field(default_factory=dict)  # SHA-256 of files that were copied to be read
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

    They are counted by blocks, since a file may have very many lines, and only as far as reading on depends on it: a
    row may be a block longer than a document before it is noticed here.

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
        self._row_line = 1
        self._row_characters = 0  # that were read since the row began

    def begin_row(self, line: int) -> None:
        """Note that the next line, of this number, begins a row."""
        self._row_line = line
        self._row_characters = 0

    def too_long(self) -> SourceError:
        """Return the error for a row that is too long."""
        return limits.too_long(f"The row in line {self._row_line} of '{readable_name(str(self._file))}'")

    def __iter__(self) -> Iterator[str]:
        """Yield the lines; raise `SourceError` at a row that is too long instead of reading on."""
        return chain.from_iterable(self._blocks())

    def _blocks(self) -> Iterator[Iterable[str]]:
        """Yield the lines of one block after the other."""
        size = min(_BLOCK, limits.LONGEST_DOCUMENT)
        begun = [self._head]  # pieces of a line whose end has not been read
        if self._head.endswith(("\n", "\r")):
            yield (self._head,)
            begun = []
        held = ""
        while True:
            if self._row_characters > limits.LONGEST_DOCUMENT:
                raise self.too_long()
            read = self._text.read(size)
            block, held = held + read, ""
            if read and block.endswith("\r"):
                block, held = block[:-1], "\r"  # the other half of the line's end may come next
            if not block and held:
                continue
            if not block:
                break
            self._row_characters += len(block)
            first = min((at for at in (block.find("\n"), block.find("\r")) if at >= 0), default=None)
            if first is None:
                begun.append(block)
                continue
            first += 2 if block.startswith("\r\n", first) else 1
            last = max(block.rfind("\n"), block.rfind("\r")) + 1
            yield ("".join([*begun, block[:first]]),)  # by itself, as it may be very long
            yield io.StringIO(block[first:last], newline="")
            begun = [block[last:]]
        if any(begun):
            yield ("".join(begun),)
