"""Facts and tables as text for people; nothing is computed here."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

import polars as pl
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from driftword.basics.tables import cell
from driftword.basics.visible_text import escape_json, visible, visible_lines

_LEAST_TEXT: Final = 12  # columns that a table leaves to words and labels
_LEFT_OUT: Final = "another fit, and the smoothing of the walk, are not part of this"


def out() -> Console:
    """Return a console on standard output: colours in a terminal, none in a pipe."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return _Console(highlight=False, soft_wrap=True, width=160 if piped else None)


class _Console(Console):
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Let no control character of a text reach the terminal, whoever prints it."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text == "\n":
                yield segment
            else:
                yield Segment(visible_lines(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Leave a reader that has seen enough to the caller."""
        raise BrokenPipeError


def print_json(value: Any) -> None:
    """Write JSON for programs, which knows no NaN; control characters are escaped, so the data stays exact."""
    print(escape_json(json.dumps(_without_nan(value), indent=1, ensure_ascii=False, default=str, allow_nan=False)))


def print_for_programs(text: str) -> None:
    """Write a table that is text already: exactly into a file or a pipe, made visible in a terminal."""
    print(visible_lines(text) if sys.stdout.isatty() else text, end="")


def say(sentence: str) -> None:
    """Write one sentence to standard output."""
    print(visible(sentence), flush=True)


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(table: pl.DataFrame, console: Console, *, digits: int = 3) -> None:
    """Print a table in columns; numbers to the right."""
    untested = [name for name in ("effect", "q", "strength") if name in table.columns and table[name].is_null().all()]
    table = table.drop(untested)  # there was no test
    if table.is_empty():
        console.print("[dim]No rows.[/dim]")
        return
    rows = [[Text(visible(cell(value, digits))) for value in row] for row in table.iter_rows()]
    heads = [Text(visible(name)) for name in table.columns]
    widths = [max(text.cell_len for text in column) for column in zip(heads, *rows, strict=True)]
    needed, texts = sum(widths) + 2 * (len(widths) - 1), [i for i, kind in enumerate(table.dtypes) if kind == pl.String]
    while needed > console.width and (widest := max(texts, key=widths.__getitem__, default=-1)) >= 0:
        if widths[widest] <= _LEAST_TEXT:
            break  # a long word gives way, a number never: rather too wide than cut
        widths[widest], needed = widths[widest] - 1, needed - 1
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for head, kind, width in zip(heads, table.dtypes, widths, strict=True):
        least = width if needed > console.width else None
        grid.add_column(head, justify="right" if kind.is_numeric() else "left", no_wrap=True, min_width=least)
    for row in rows:
        for i in texts:
            row[i].truncate(widths[i], overflow="ellipsis")
        grid.add_row(*row)
    console.print(grid, soft_wrap=False, crop=False)


def print_what_intervals_leave_out(table: pl.DataFrame, console: Console) -> None:
    """Say what the intervals in a table hold, and what not."""
    if {"drift_low", "position_low", "similarity_low"} & set(table.columns):
        console.print(
            f"low, high: where it would be in 90% of cases with other documents of the same kind; {_LEFT_OUT}",
            style="dim",
        )
    elif "slice_low" in table.columns:
        console.print(
            "slice_low, slice_high: when the documents show that the change came, in 90% of cases, if it came at once",
            style="dim",
        )
    elif "support" in table.columns:
        console.print(
            "support: how often it would be among the nearest if there were other documents of the same kind; "
            f"{_LEFT_OUT}",
            style="dim",
        )


def print_facts(lines: Mapping[str, str], console: Console) -> None:
    """Print names and values in two columns."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, value in lines.items():
        table.add_row(Text(visible(name)), Text(visible_lines(value)))
    console.print(table, soft_wrap=False)


def warn(message: str) -> None:
    """Write one sentence to standard error."""
    print(f"driftword: {visible(message)}", file=sys.stderr)
