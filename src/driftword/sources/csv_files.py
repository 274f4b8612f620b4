"""CSV and TSV files as batches of rows."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import polars as pl

from driftword.basics.errors import SourceError
from driftword.sources import limits
from driftword.sources.text_streams import ReadingState, RowLines, open_text


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
        rows = csv.reader(chain([head], lines), delimiter=delimiter, strict=True)
        header = _header(file, rows)
        empty_row = limits.CELL_BYTES * len(header)
        batch: list[list[str]] = []
        size = 0
        while True:
            first_line = rows.line_num + 1
            row_lines.begin_row(first_line)
            try:
                row = next(rows)
            except StopIteration:
                break
            except csv.Error as error:
                if "field limit" in str(error):
                    raise row_lines.too_long() from error
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
            except SourceError as error:
                if rows.line_num > first_line:
                    raise SourceError(f"{error}; or close the quotation mark that is open in it") from error
                raise
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
            size += sum(map(len, row)) + empty_row
            if len(batch) >= limits.BATCH_ROWS * 10 or size > limits.BATCH_BYTES:
                frame = _strings(header, batch)
                batch, size = [], 0  # before the caller works on them, so that they are in memory only once
                del row
                yield frame
                del frame
        yield _strings(header, batch)


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


def _strings(header: Sequence[str], rows: Sequence[Sequence[str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(header, pl.String), orient="row")
