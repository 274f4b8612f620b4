"""Files as batches of rows.

CSV and JSON lines are read with Python's own readers, which know the number of
the line and survive bytes that cannot be decoded; Parquet and Arrow with Polars.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Final

import polars as pl
import zstandard

from driftword.corpus.encodings import UTF_8, detect_encoding
from driftword.corpus.name_dates import NameDates
from driftword.errors import DriftwordError, SourceError

BATCH_ROWS: Final = 2_000
BATCH_BYTES: Final = 24 << 20
FORMATS: Final = "CSV, TSV, JSON lines, Parquet, Arrow (.gz and .zst too), or a folder of .txt files"

KINDS: Final = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".txt": "text",
}


class _ZstdReader(io.RawIOBase):
    """A zstd stream that notices when it is truncated."""

    def __init__(self, packed: Any) -> None:
        self._packed = packed
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._ready = b""
        self._inside = False  # whether a frame has been begun and not ended

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            raw = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._inside = zstandard.ZstdDecompressor().decompressobj(), False
            raw = raw or self._packed.read(1 << 17)
            if not raw:
                if self._inside:
                    raise EOFError("it is truncated")
                return 0
            self._inside = True
            self._ready = self._frame.decompress(raw)
            self._inside = not self._frame.eof
        part = self._ready[: len(buffer)]
        self._ready = self._ready[len(part) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._packed.close()
        super().close()


_COMPRESSED: Final[dict[str, Callable[[Any], Any]]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _ZstdReader,
}


_UNREADABLE: Final = (
    *(OSError, EOFError, UnicodeError, lzma.LZMAError, zlib.error),
    *(zstandard.ZstdError, pl.exceptions.PolarsError, pl.exceptions.PanicException),
)


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


def suffix_of(file: Path) -> str:
    """Return the suffix that tells the kind of a file, that of its compression aside."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def kind_of(file: Path) -> str:
    """Return what a file holds: csv, json, parquet, arrow or text."""
    suffix = suffix_of(file)
    if suffix not in KINDS:
        raise SourceError(f"'{file}' is not a kind of file that driftword reads; it reads {FORMATS}")
    return KINDS[suffix]


def read_tables(files: Sequence[Path], state: ReadingState) -> Iterator[pl.DataFrame]:
    """Yield the rows of tables of one kind, file by file; of several files, a column names each row's."""
    readers: dict[str, Callable[[Path, ReadingState], Iterator[pl.DataFrame]]]
    readers = {"csv": _csv, "json": _json_lines, "parquet": _polars, "arrow": _polars}
    reader = readers[kind_of(files[0])]
    before = 0
    for file in files:
        try:
            for frame in reader(file, state):
                if len(files) > 1:
                    name = "file_" if "file" in frame.columns else "file"
                    frame = frame.with_columns(pl.lit(readable_name(file.name)).alias(name))
                yield frame
                del frame
        except DriftwordError:
            raise
        except _UNREADABLE as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            if "InvalidFooter" in reason:
                reason = "it seems to be an Arrow stream; save it as an Arrow file or as Parquet"
            raise SourceError(f"'{readable_name(str(file))}' cannot be read: {reason}") from error
        before += file.stat().st_size
        state.bytes_read = before


def readable_name(name: str) -> str:
    """Return a file's name with bytes that are not UTF-8 replaced."""
    return os.fsencode(name).decode(errors="replace")


def _decompressed(file: Path, stream: Any) -> IO[bytes]:
    suffix = file.suffix.lower()
    if suffix in _COMPRESSED:
        stream = _COMPRESSED[suffix](stream)
    return io.BufferedReader(stream, 1 << 18)


def _open_text(file: Path, state: ReadingState) -> IO[str]:
    """Open a text file, compressed or not; bytes that cannot be decoded become U+FFFD."""
    encoding = state.encoding
    if encoding is None:
        with file.open("rb", buffering=0) as raw, _decompressed(file, raw) as stream:
            encoding = detect_encoding(stream)
        if encoding not in (UTF_8, "utf-16"):
            state.detected_encodings[encoding] = state.detected_encodings.get(encoding, 0) + 1
    stream = _decompressed(file, _Tracked(file.open("rb"), state))
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


def _csv(file: Path, state: ReadingState) -> Iterator[pl.DataFrame]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # speeches are longer than the 128 KiB Python allows
    with _open_text(file, state) as lines:
        delimiter = "\t" if suffix_of(file) in (".tsv", ".tab") else None
        head = lines.readline()
        if not head:
            raise SourceError(f"'{file}' is empty; it needs a header line and rows below it")
        if not head.strip():
            raise SourceError(f"'{file}' begins with a blank line; the names of the columns must come first")
        delimiter = delimiter or max(",;\t|", key=head.count)
        rows = csv.reader(chain([head], lines), delimiter=delimiter, strict=True)
        header = [name.strip() for name in next(rows)]
        if len(set(header)) < len(header):
            twice = next(name for name in header if header.count(name) > 1)
            raise SourceError(f"'{file}' has two columns named '{twice}'; rename one")
        batch: list[list[str]] = []
        size = 0
        while True:
            first_line = rows.line_num + 1
            try:
                row = next(rows)
            except StopIteration:
                break
            except csv.Error as error:
                if "unexpected end of data" in str(error):
                    raise SourceError(
                        f"'{file}' has a quotation mark in line {first_line} that is never closed; "
                        "close it, or double the marks inside quoted text"
                    ) from error
                if not state.skip_bad_rows:
                    raise SourceError(
                        f"'{file}' line {first_line} is not valid CSV ({error}); double the marks inside quoted text, "
                        "or pass `skip_bad_rows=True` to leave such rows out"
                    ) from error
                state.bad_rows += 1
                continue
            if not row:
                continue
            if len(row) != len(header):
                if not state.skip_bad_rows:
                    raise SourceError(
                        f"'{file}' line {first_line} has {len(row)} fields and the header has {len(header)}; "
                        "put quotes around text that contains delimiters, "
                        "or pass `skip_bad_rows=True` to leave such rows out"
                    )
                state.bad_rows += 1
                continue
            batch.append(row)
            size += sum(map(len, row))
            if len(batch) >= BATCH_ROWS * 10 or size > BATCH_BYTES:
                yield _strings(header, batch)
                batch, size = [], 0
        yield _strings(header, batch)


def _strings(header: Sequence[str], rows: Sequence[Sequence[str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(header, pl.String), orient="row")


def _json_lines(file: Path, state: ReadingState) -> Iterator[pl.DataFrame]:
    with _open_text(file, state) as lines:
        number = 0
        while batch := list(islice(lines, BATCH_ROWS)):
            if number == 0 and batch[0].lstrip().startswith("["):
                yield from _json_array(file, "".join([*batch, *lines]), state)
                return
            rows = []
            for line in batch:
                number += 1
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise ValueError("not an object")
                except (ValueError, RecursionError) as error:
                    if not state.skip_bad_rows:
                        raise SourceError(
                            f"'{file}' line {number} is not a JSON object ({error}); "
                            "correct it, or pass `skip_bad_rows=True` to leave such rows out"
                        ) from error
                    state.bad_rows += 1
                    continue
                rows.append(row)
            yield _objects(rows, state)


def _json_array(file: Path, text: str, state: ReadingState) -> Iterator[pl.DataFrame]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"'{file}' is not valid JSON ({error}); write one object per line") from error
    if not all(isinstance(row, dict) for row in rows):
        raise SourceError(f"'{file}' holds a list whose items are not objects; write one object per line")
    for start in range(0, len(rows), BATCH_ROWS):
        yield _objects(rows[start : start + BATCH_ROWS], state)


def _objects(rows: Sequence[dict[str, Any]], state: ReadingState) -> pl.DataFrame:
    """Return JSON objects as columns of text, since the types of one batch need not be those of the next."""
    state.keys.update(dict.fromkeys(name for row in rows for name in row))
    state.nested |= {name for row in rows for name, value in row.items() if isinstance(value, (dict, list))}
    columns = {name: [as_text(row.get(name)) for row in rows] for name in state.keys}
    return pl.DataFrame([pl.Series(as_text(name) or "", values, dtype=pl.String) for name, values in columns.items()])


def as_text(value: Any) -> str | None:
    """Return a value as text that tables can hold; half a surrogate pair, as in many posts, is replaced."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if text.isascii() else text.encode(errors="replace").decode()


def _polars(file: Path, state: ReadingState) -> Iterator[pl.DataFrame]:
    scan = pl.scan_parquet if kind_of(file) == "parquet" else pl.scan_ipc
    lazy = scan(file, glob=False)
    if not lazy.collect_schema():
        return
    rows, schema = 0, lazy.collect_schema()
    height = max(int(lazy.select(pl.len()).collect().item()), 1)
    base, size = state.bytes_read, file.stat().st_size
    for frame in lazy.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
        rows += frame.height
        state.bytes_read = base + size * rows // height
        yield frame
        schema = frame.schema
        del frame  # it holds the whole row group in memory, while the next one is being read
    yield pl.DataFrame(schema=schema)  # makes a caller that waits for more rows let go of them


def read_texts(files: Sequence[Path], root: Path, dates: NameDates, state: ReadingState) -> Iterator[pl.DataFrame]:
    """Yield one row per .txt file: its text, the date in its path, and the path below `root`."""
    for start in range(0, len(files), 200):
        rows = []
        for file in files[start : start + 200]:
            name = readable_name(os.path.relpath(file, root))
            try:
                with _open_text(file, state) as lines:
                    text = lines.read()
            except _UNREADABLE as error:
                raise SourceError(f"'{readable_name(str(file))}' cannot be read: {error}") from error
            rows.append((text, dates.find(name), name))
        yield pl.DataFrame(rows, schema={"text": pl.String, "date": pl.String, "file": pl.String}, orient="row")
