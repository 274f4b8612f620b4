"""CSV and TSV files as batches of rows."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from driftword.basics.errors import SourceError
from driftword.sources import limits
from driftword.sources.text_streams import ReadingState, RowLines, batches, open_text


def read_csv(file: Path, state: ReadingState, delimiter: str | None = None) -> Iterator[pl.DataFrame]:
    """Yield the rows of a CSV file; without a delimiter, the one that is most frequent in the header is taken."""
    csv.field_size_limit(limits.LONGEST_DOCUMENT)  # speeches are longer than the 128 KiB Python allows
    with open_text(file, state) as text:
        row_lines = RowLines(file, text)
        lines = iter(row_lines)
        head = next(lines, "")
        if not head:
            raise SourceError(f"'{file}' is empty; it needs a header line and rows below it")
        if not head.strip():
            raise SourceError(f"'{file}' begins with a blank line; the names of the columns must come first")
        if head.count("\0") > len(head) // 3:  # every other character, even of a name such as é
            order = "be" if head.startswith("\0") else "le"
            raise SourceError(f"'{file}' seems to be UTF-16 without its mark; pass `encoding=\"utf-16-{order}\"`")
        delimiter = delimiter or max(",;\t|", key=head.count)
        reader = csv.reader(chain([head], lines), delimiter=delimiter, strict=True)
        header = _header(file, reader)
        schema = dict.fromkeys(header, pl.String)
        rows = _rows(file, reader, row_lines, len(header), state)
        yield from batches(rows, lambda batch: pl.DataFrame(batch, schema=schema, orient="row"), limits.BATCH_ROWS * 10)


def _rows(
    file: Path, reader: Any, lines: RowLines, n_columns: int, state: ReadingState
) -> Iterator[tuple[list[str], int]]:
    """Yield each row below the header, and its size."""
    while True:
        first_line = reader.line_num + 1
        lines.begin_row(first_line)
        try:
            row = next(reader)
            problem = "" if len(row) in (0, n_columns) else f"has {len(row)} fields and the header has {n_columns}"
            remedy = "put quotes around text that contains delimiters"
        except StopIteration:
            return
        except csv.Error as error:
            if "field limit" in str(error):
                raise lines.too_long() from error
            if "unexpected end of data" in str(error):
                raise SourceError(
                    f"'{file}' has a quotation mark in line {first_line} that is never closed; "
                    "close it, or double the marks inside quoted text"
                ) from error
            row, problem, remedy = [], f"is not valid CSV ({error})", "double the marks inside quoted text"
        except SourceError as error:
            if reader.line_num > first_line:
                raise SourceError(f"{error}; or close the quotation mark that is open in it") from error
            raise
        if problem and not state.skip_bad_rows:
            raise SourceError(
                f"'{file}' line {first_line} {problem}; {remedy}, or pass `skip_bad_rows=True` to leave such rows out"
            )
        if problem:
            state.bad_rows += 1
        elif row:
            yield row, sum(map(len, row)) + limits.CELL_BYTES * n_columns


def _header(file: Path, rows: Iterator[list[str]]) -> list[str]:
    """Read the names of the columns."""
    try:
        header = [name.strip() for name in next(rows)]
    except csv.Error as error:
        raise SourceError(
            f"The header of '{file}' is not valid CSV ({error}); close every quotation mark in it, and double those "
            "inside a name"
        ) from error
    limits.check_columns(str(file), len(header))
    repeated = next((name for name, count in Counter(header).items() if count > 1), None)
    if repeated == "":
        raise SourceError(f"'{file}' has several columns without a name; give each a name, or remove them")
    if repeated is not None:
        raise SourceError(f"'{file}' has two columns named '{repeated[:60]}'; rename one")
    return header
