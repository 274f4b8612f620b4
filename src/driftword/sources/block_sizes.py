"""How large the blocks of Parquet and Arrow files are once they are decompressed.

Both are read block by block: a page of a Parquet column, a buffer of an Arrow record batch. A few kilobytes can hold
one cell of gigabytes, and reading it takes several times as much memory. The files themselves say how large each
block is and how many values it holds, so this is looked up first. What does not look like such a file is left to the
reader, which says what is wrong with it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from driftword.basics.errors import SourceError
from driftword.sources import limits
from driftword.sources.text_streams import readable_name

#: A block this many times as long as a document may be, of few and long values, is not read.
_BLOCK_DOCUMENTS: Final = 4
#: Bytes per value from which the values of a block are long; large blocks of short texts are read as ever.
_LONG_VALUE_SHARE: Final = 1 / 1024
#: What is looked at: all of the files that common programs write, and no more than some seconds of any other.
_LARGEST_HEADER: Final = 1 << 12
_LARGEST_FOOTER: Final = 8 << 20
_MOST_PAGES: Final = 100_000
_NOT_SUCH_A_FILE: Final = (ValueError, IndexError, KeyError, TypeError, AttributeError, struct.error, RecursionError)


def check_blocks(file: Path, kind: str) -> None:
    """Refuse a Parquet or Arrow file with a block of long values that is too large to be read."""
    largest = _BLOCK_DOCUMENTS * limits.LONGEST_DOCUMENT
    with file.open("rb") as stream:
        try:
            blocks = _parquet_pages(stream) if kind == "parquet" else _arrow_buffers(stream)
            too_large = next(
                (size for size, values in blocks
                 if size > largest and size / max(values, 1) > limits.LONGEST_DOCUMENT * _LONG_VALUE_SHARE),
                None,
            )  # fmt: skip
        except EOFError as error:
            name = readable_name(str(file))
            raise SourceError(f"'{name}' is cut off or damaged: it ends before its last part; save it again") from error
        except _NOT_SUCH_A_FILE:
            return
    if too_large is not None:
        raise SourceError(
            f"'{readable_name(str(file))}' holds {limits.size_in_words(too_large)} of text in a few values, and a "
            f"document may have {limits.size_in_words(limits.LONGEST_DOCUMENT)}; divide long documents into several "
            "with the same date"
        )


# -- Parquet: Thrift's compact protocol --------------------------------------------------


def _parquet_pages(stream: IO[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the decompressed size of each page of a large column, and how many values it holds."""
    end = stream.seek(0, 2)
    stream.seek(max(end - 8, 0))
    length, magic = struct.unpack("<I4s", stream.read(8))
    if magic != b"PAR1" or not 0 < length <= min(end - 8, _LARGEST_FOOTER):
        raise ValueError("not a Parquet file")
    stream.seek(end - 8 - length)
    footer = _Thrift(stream.read(length)).struct()
    for row_group in footer[4]:
        for column in row_group[1]:
            facts = column[3]
            if facts[6] > _BLOCK_DOCUMENTS * limits.LONGEST_DOCUMENT:  # the size of all its pages
                start = min(facts[9], facts.get(11) or facts[9])
                yield from _pages_of(stream, start, start + facts[7])


def _pages_of(stream: IO[bytes], position: int, end: int) -> Iterator[tuple[int, int]]:
    for _ in range(_MOST_PAGES):
        if position >= end:
            return
        stream.seek(position)
        thrift = _Thrift(stream.read(_LARGEST_HEADER))
        header = thrift.struct()
        contents = header.get(5) or header.get(7) or header.get(8) or {}
        yield header[2], contents.get(1, 1)
        if header[3] < 0:
            raise ValueError("a page of negative size")
        position += thrift.position + header[3]


class _Thrift:
    """Reads structures as dictionaries from field numbers to values; texts are passed over."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = self._value(head & 15)
        return fields

    def _value(self, kind: int, *, in_list: bool = False) -> Any:
        if kind in (1, 2):  # a truth value: in a list it takes a byte, in a structure none
            return self._byte() if in_list else kind
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind in (7, 8):
            length = 8 if kind == 7 else self._unsigned()
            self.position += length
            if self.position > len(self._data):
                raise IndexError("a text that goes on beyond the end")
            return None
        if kind in (9, 10):
            head = self._byte()
            count = self._unsigned() if head >> 4 == 15 else head >> 4
            return [self._value(head & 15, in_list=True) for _ in range(count)]
        if kind == 12:
            return self.struct()
        raise ValueError("a type that Parquet does not use")

    def _byte(self) -> int:
        self.position += 1
        return self._data[self.position - 1]

    def _unsigned(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > 63:
                raise ValueError("a number that is too long")

    def _integer(self) -> int:
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)


# -- Arrow: FlatBuffers ------------------------------------------------------------------


def _arrow_buffers(stream: IO[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the decompressed size of each buffer of a record batch or dictionary, and how many rows it holds."""
    end = stream.seek(0, 2)
    stream.seek(max(end - 10, 0))
    length, magic = struct.unpack("<i6s", stream.read(10))
    if magic != b"ARROW1" or not 0 < length <= min(end - 10, _LARGEST_FOOTER):
        raise ValueError("not an Arrow file")
    stream.seek(end - 10 - length)
    footer = _FlatTable.root(stream.read(length))
    for field in (2, 3):  # dictionaries, record batches
        start, count = footer.vector(field)
        for i in range(count):
            offset, header_length, body_length = struct.unpack_from("<qi4xq", footer.data, start + 24 * i)
            if min(offset, header_length, body_length) < 0 or offset + header_length + body_length > end:
                raise EOFError  # Polars panics
            stream.seek(offset)
            message = stream.read(min(header_length, _LARGEST_FOOTER))
            prefix = 8 if message[:4] == b"\xff\xff\xff\xff" else 4
            batch = _FlatTable.root(message[prefix:]).table(2)
            if field == 2:
                batch = batch.table(1)
            yield from _buffers_of(stream, batch, offset + header_length)


def _buffers_of(stream: IO[bytes], batch: _FlatTable, body: int) -> Iterator[tuple[int, int]]:
    rows = batch.integer(0)
    start, count = batch.vector(2)
    compressed = batch.has(3)
    for i in range(count):
        offset, length = struct.unpack_from("<qq", batch.data, start + 16 * i)
        if compressed and length >= 8:
            stream.seek(body + offset)
            length = max(struct.unpack("<q", stream.read(8))[0], length)
        yield length, rows


class _FlatTable:
    """One table of FlatBuffers: its fields are found by their number."""

    def __init__(self, data: bytes, position: int) -> None:
        self.data, self._position = data, position
        self._vtable = position - int(struct.unpack_from("<i", data, position)[0])
        self._size = struct.unpack_from("<H", data, self._vtable)[0]

    @classmethod
    def root(cls, data: bytes) -> _FlatTable:
        return cls(data, struct.unpack_from("<I", data, 0)[0])

    def has(self, field: int) -> bool:
        return self._offset(field) != 0

    def integer(self, field: int) -> int:
        offset = self._offset(field)
        return int(struct.unpack_from("<q", self.data, self._position + offset)[0]) if offset else 0

    def table(self, field: int) -> _FlatTable:
        return _FlatTable(self.data, self._reference(field))

    def vector(self, field: int) -> tuple[int, int]:
        """Return where the elements begin, and how many there are."""
        if not self.has(field):
            return 0, 0
        position = self._reference(field)
        count = struct.unpack_from("<I", self.data, position)[0]
        return position + 4, min(count, len(self.data))

    def _reference(self, field: int) -> int:
        position = self._position + self._offset(field)
        return position + int(struct.unpack_from("<I", self.data, position)[0])

    def _offset(self, field: int) -> int:
        entry = 4 + 2 * field
        return int(struct.unpack_from("<H", self.data, self._vtable + entry)[0]) if entry < self._size else 0
