"""Tables as they stand in a paper, Markdown and LaTeX, or as CSV; and text that a page can show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

import polars as pl

_SPECIAL: Final = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\^{}",
    "\\": r"\textbackslash{}",
}
_MARKS: Final = re.compile(r"[\\|<>*_`\[\]]")  # what Markdown would take for its own


_HIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # XML allows none of these


def printable(text: str) -> str:
    """Leave out characters that no page or figure can show."""
    return _HIDDEN.sub("", text)


def csv(table: pl.DataFrame) -> str:
    """Write a table as CSV, which knows no lists."""
    lists = [name for name, kind in table.schema.items() if kind == pl.List]
    return table.with_columns(pl.col(lists).cast(pl.List(pl.String)).list.join("; ")).write_csv()


def markdown(table: pl.DataFrame, *, digits: int = 3) -> str:
    """Write a table in Markdown, numbers with so many digits."""
    rows = [[_MARKS.sub(r"\\\g<0>", cell(value, digits)) for value in row] for row in table.iter_rows()]
    return lines_of(table.columns, rows, form="markdown")


def latex(table: pl.DataFrame, *, digits: int = 3) -> str:
    """Write a table in LaTeX (booktabs), numbers with so many digits."""
    rows = [[_latex(cell(value, digits)) for value in row] for row in table.iter_rows()]
    heads = [_latex(name) for name in table.columns]
    columns = "".join("r" if kind.is_numeric() else "l" for kind in table.dtypes)
    return lines_of(heads, rows, form="latex", columns=columns)


def _latex(text: str) -> str:
    safe = "".join(_SPECIAL.get(letter, letter) for letter in text)
    return "{}" + safe if safe.startswith(("[", "*")) else safe  # \\ would take it for its own argument


def lines_of(heads: Sequence[str], rows: Sequence[Sequence[str]], *, form: str, columns: str = "") -> str:
    """Put cells that are written already into the shape of a table."""
    if form == "markdown":
        return "\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *rows))
    first, *rest = (" & ".join(line) + r" \\" for line in (heads, *rows))
    begin = rf"\begin{{tabular}}{{{columns or 'l' + 'c' * (len(heads) - 1)}}}"
    return "\n".join([begin, r"\toprule", first, r"\midrule", *rest, r"\bottomrule", r"\end{tabular}"])


def html_facts(title: str, facts: Mapping[str, str]) -> str:
    """Write names and values as a small HTML table, as notebooks show it."""
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left;white-space:pre-line">{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return f"<table><caption>{escape(title)}</caption><tbody>{rows}</tbody></table>"


def cell(value: Any, digits: int) -> str:
    """Write one value for people."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return f"{value:,}" if isinstance(value, int) else str(value)
