"""JSON lines, and files that are one JSON array of objects, as batches of rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

import polars as pl

from driftword.basics.errors import SourceError
from driftword.sources import limits
from driftword.sources.text_streams import ReadingState, RowLines, batches, open_text, readable_name

#: An object whose values have become text.
_Cells = dict[str, str | None]
_BLOCK: Final = 1 << 18
_SPACE: Final = re.compile(r"[ \t\n\r]*")


def read_json(file: Path, state: ReadingState) -> Iterator[pl.DataFrame]:
    """Yield the objects of a file as rows."""
    with open_text(file, state) as text:
        head = text.readline(_BLOCK)
        if head.lstrip().startswith("["):
            rows = _array_items(file, head, text, state)
        else:
            rows = _line_items(file, RowLines(file, text, head), state)
        yield from batches(noting_keys(file, rows, state), lambda batch: cells_frame(batch, state), limits.BATCH_ROWS)


def noting_keys(file: Path, rows: Iterator[tuple[_Cells, int]], state: ReadingState) -> Iterator[tuple[_Cells, int]]:
    """Yield each row, and its size with a cell for every key that has occurred."""
    for row, length in rows:
        state.keys.update(dict.fromkeys(row))
        limits.check_columns(readable_name(str(file)), len(state.keys))
        yield row, length + limits.CELL_BYTES * len(state.keys)


def _line_items(file: Path, lines: RowLines, state: ReadingState) -> Iterator[tuple[_Cells, int]]:
    """Yield the object in each line, and the number of its characters."""
    for number, line in enumerate(lines, start=1):
        lines.begin_row(number + 1)
        if not line.strip():
            continue
        try:
            row = _cells(json.loads(line), state)
        except (ValueError, RecursionError) as error:
            if not state.skip_bad_rows:
                raise SourceError(
                    f"'{file}' line {number} is not a JSON object ({error}); "
                    "correct it, or pass `skip_bad_rows=True` to leave such rows out"
                ) from error
            state.bad_rows += 1
            continue
        yield row, len(line)


def _array_items(file: Path, buffer: str, text: IO[str], state: ReadingState) -> Iterator[tuple[_Cells, int]]:
    """Yield the objects of an array, and the number of characters of each; the file begins with `buffer`."""
    decoder = json.JSONDecoder()
    position = buffer.index("[") + 1
    first = True
    while True:
        buffer, position = _after_space(buffer, position, text)
        if buffer.startswith("]", position):
            break
        if not first:
            if not buffer.startswith(",", position):
                raise _invalid(file, "a comma or a closing bracket is missing after an object")
            buffer, position = _after_space(buffer, position + 1, text)
        if position == len(buffer):
            raise _invalid(file, "the list does not end")
        if buffer[position] != "{":
            raise SourceError(f"'{file}' holds a list whose items are not objects; write one object per line")
        while True:
            try:
                row, end = decoder.raw_decode(buffer, position)
                row = _cells(row, state)
                break
            except (ValueError, RecursionError) as error:
                if len(buffer) - position > limits.LONGEST_DOCUMENT:
                    raise _too_long(file) from error
                # Twice as much each time, so that reading stays linear in the length of the object.
                more = "" if isinstance(error, RecursionError) else text.read(max(len(buffer) - position, _BLOCK))
                if not more:
                    raise _invalid(file, str(error)) from error
                buffer, position = buffer[position:] + more, 0
        if end - position > limits.LONGEST_DOCUMENT:
            raise _too_long(file)
        yield row, end - position
        position, first = end, False
    buffer, position = _after_space(buffer, position + 1, text)
    if position < len(buffer):
        raise _invalid(file, "text follows the list")


def _after_space(buffer: str, position: int, text: IO[str]) -> tuple[str, int]:
    """Skip white space, reading on where the buffer ends; return the buffer and the position in it."""
    while True:
        position = _SPACE.match(buffer, position).end()  # type: ignore[union-attr]
        if position < len(buffer):
            return buffer, position
        buffer, position = text.read(_BLOCK), 0
        if not buffer:
            return "", 0


def _too_long(file: Path) -> SourceError:
    return limits.too_long(f"An object in '{readable_name(str(file))}'")


def _invalid(file: Path, reason: str) -> SourceError:
    return SourceError(f"'{file}' is not valid JSON ({reason}); write one object per line")


def _cells(row: Any, state: ReadingState) -> _Cells:
    """Return the values of an object as text, since types may differ from one batch to the next."""
    if not isinstance(row, dict):
        raise ValueError("not an object")
    state.nested.update(name for name, value in row.items() if isinstance(value, (dict, list)))
    return {name: as_text(value) for name, value in row.items()}


def cells_frame(rows: list[_Cells], state: ReadingState) -> pl.DataFrame:
    """Return rows as a table with a column for every key that has occurred."""
    columns: dict[str, pl.Series] = {}
    for key in state.keys:
        name = str(as_text(key))
        if name in columns:
            raise SourceError(f"The objects have two keys that read '{name}', one of them damaged; rename one")
        columns[name] = pl.Series(name, [row.get(key) for row in rows], dtype=pl.String)
    return pl.DataFrame(columns)


def as_text(value: Any, *, as_json: bool = False) -> str | None:
    """Return a value as text that tables can hold: what JSON has as JSON, everything else as Python writes it.

    A text stays as it is unless `as_json`. Half a surrogate pair, as in many posts, is replaced.
    """
    if value is None:
        return None
    try:
        known = as_json or isinstance(value, (bool, int, float, list, tuple, dict))
        text = json.dumps(value, ensure_ascii=False, default=str) if known else str(value)
    except (TypeError, ValueError, RecursionError):  # such as keys that are not texts, and numbers of 5,000 digits
        text = f"<{type(value).__name__}>"
    return text if text.isascii() else text.encode(errors="replace").decode()
