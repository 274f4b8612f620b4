"""Parquet and Arrow files as batches of rows, read by Polars.

A few kilobytes of such a file can hold one value of gigabytes, and reading it takes several times as much memory. So
the file is asked first how large its columns become once they are decompressed.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from driftword.basics.errors import SourceError
from driftword.sources import limits
from driftword.sources.text_streams import ReadingState, readable_name

#: How zstd and LZ4 begin what they compress. In an Arrow file, the decompressed size stands before it, in eight bytes.
_COMPRESSED: Final = (b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")
_LARGEST_SIZE: Final = 1 << 40  # bytes; a greater number is none
DAMAGED: Final = "it is cut off or damaged; save it again"


def read_parquet(file: Path, state: ReadingState) -> Iterator[pl.DataFrame]:
    """Yield the rows of a Parquet file."""
    _check_sizes(file, _parquet_columns(file))
    lazy = pl.scan_parquet(file, glob=False)
    yield from _batches(file, lazy, _height(lazy), state)


def read_arrow(file: Path, state: ReadingState) -> Iterator[pl.DataFrame]:
    """Yield the rows of an Arrow file."""
    lazy = pl.scan_ipc(file, glob=False)
    height = _height(lazy)
    _check_sizes(file, ((size, height) for size in _arrow_buffers(file)))
    yield from _batches(file, lazy, height, state)


def _batches(file: Path, lazy: pl.LazyFrame, height: int, state: ReadingState) -> Iterator[pl.DataFrame]:
    schema = lazy.collect_schema()
    if not schema:
        return
    limits.check_columns(readable_name(str(file)), len(schema))
    rows, base, size = 0, state.bytes_read, file.stat().st_size
    for frame in lazy.collect_batches(chunk_size=limits.BATCH_ROWS, maintain_order=True):
        rows += frame.height
        state.bytes_read = base + size * rows // max(height, 1)
        yield frame
        schema = frame.schema
        del frame  # it holds the whole row group in memory, while the next one is being read
    if rows < height:  # Polars may stop without a word where a file has been cut off
        raise SourceError(f"'{readable_name(str(file))}' cannot be read: {DAMAGED}")
    yield pl.DataFrame(schema=schema)  # makes a caller that waits for more rows let go of them


def _height(lazy: pl.LazyFrame) -> int:
    return int(lazy.select(pl.len()).collect().item())


def _check_sizes(file: Path, columns: Iterator[tuple[int, int]]) -> None:
    """Refuse a file if a column of it is too large for the few values it has; `columns` yields sizes and numbers."""
    longest = limits.LONGEST_DOCUMENT
    for size, values in columns:
        if size > 4 * longest and size > values * longest / 4:
            raise SourceError(
                f"'{readable_name(str(file))}' holds {limits.size_in_words(size)} of text in a few values, and a "
                f"document may have {limits.size_in_words(longest)}; divide long documents into several with the same "
                "date"
            )


def _parquet_columns(file: Path) -> Iterator[tuple[int, int]]:
    """Yield the decompressed size of each column of each row group, and how many values it has.

    Polars does not tell. Without pyarrow nothing is known before the file is read.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        return
    try:
        metadata = parquet.read_metadata(file)
    except (OSError, pa.ArrowException):  # Polars says what is wrong with it
        return
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            yield column.total_uncompressed_size, column.num_values


def _arrow_buffers(file: Path) -> Iterator[int]:
    """Yield the decompressed size of each compressed part of an Arrow file; its parts begin at multiples of eight."""
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for mark in _COMPRESSED:
            at = data.find(mark)
            while at >= 0:
                size = int.from_bytes(data[at - 8 : at], "little")
                if at % 8 == 0 and size < _LARGEST_SIZE:
                    yield size
                at = data.find(mark, at + 1)
