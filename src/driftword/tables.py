"""Tables as Markdown and LaTeX for papers, as CSV for programs; facts as HTML; text that a page can show."""

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
_MARKS: Final = re.compile(r"[\\|<>*_`\[\]]")  # what Markdown would read as markup


_HIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # XML allows none of these


def printable(text: str) -> str:
    """Remove characters that no page or figure can show."""
    return _HIDDEN.sub("", text)


def csv(table: pl.DataFrame) -> str:
    """Write a table as CSV; lists are joined with semicolons."""
    lists = [name for name, kind in table.schema.items() if kind == pl.List]
    return table.with_columns(pl.col(lists).cast(pl.List(pl.String)).list.join("; ")).write_csv()


def markdown(table: pl.DataFrame, *, digits: int = 3) -> str:
    """Write a table in Markdown, with this many digits after the decimal point."""
    rows = [[_MARKS.sub(r"\\\g<0>", cell(value, digits)) for value in row] for row in table.iter_rows()]
    return lines_of(table.columns, rows, form="markdown")


def latex(table: pl.DataFrame, *, digits: int = 3) -> str:
    """Write a table in LaTeX (booktabs), with this many digits after the decimal point."""
    rows = [[_latex(cell(value, digits)) for value in row] for row in table.iter_rows()]
    heads = [_latex(name) for name in table.columns]
    columns = "".join("r" if kind.is_numeric() else "l" for kind in table.dtypes)
    return lines_of(heads, rows, form="latex", columns=columns)


def _latex(text: str) -> str:
    safe = "".join(_SPECIAL.get(letter, letter) for letter in text)
    return "{}" + safe if safe.startswith(("[", "*")) else safe  # \\ would read it as its argument


def lines_of(heads: Sequence[str], rows: Sequence[Sequence[str]], *, form: str, columns: str = "") -> str:
    """Lay out cells that are already text as a table."""
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
    """Write one value as people read it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return f"{value:,}" if isinstance(value, int) else str(value)
