"""Limits on how much is read at once, and on how much one document may hold.

Memory stays bounded whatever a file holds: no row may be longer than `LONGEST_DOCUMENT`, a table has at most
`MOST_COLUMNS`, and no more is read ahead than one batch of rows.
"""

from __future__ import annotations

from typing import Final

from driftword.basics.errors import SourceError

BATCH_ROWS: Final = 2_000
BATCH_BYTES: Final = 24 << 20
#: Bytes of UTF-8 that one row may hold: eight million words, fifteen times War and Peace. Reading a text and splitting
#: it into words takes up to forty times its size, and that has to fit into 2 GB.
LONGEST_DOCUMENT: Final = 48 << 20
#: Columns that a table may have, as every row of a batch takes up memory in each of them.
MOST_COLUMNS: Final = 5_000
#: What a cell takes up even if it is empty.
CELL_BYTES: Final = 16


def size_in_words(size: int) -> str:
    """Return a number of bytes in words."""
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size:,} bytes"


def too_long(subject: str) -> SourceError:
    """Return the error for a document that is longer than `LONGEST_DOCUMENT`; `subject` begins the sentence."""
    return SourceError(
        f"{subject} has more than {size_in_words(LONGEST_DOCUMENT)} of text, the most that a document may have; "
        "divide it into several documents with the same date"
    )


def check_columns(table: str, count: int) -> None:
    """Refuse a table with so many columns that a few rows would fill the memory."""
    if count > MOST_COLUMNS:
        raise SourceError(
            f"'{table}' has {count:,} columns, and at most {MOST_COLUMNS:,} are read; leave out those you do not need"
        )
