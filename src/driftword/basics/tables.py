"""Tables as Markdown and LaTeX for papers and as CSV for programs, and facts as HTML."""

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
#: The beginning of a text that a spreadsheet may take for a formula, also in full-width characters.
_FORMULA: Final = r"^[=+\-@\t\r\n\u{ff1d}\u{ff0b}\u{ff0d}\u{ff20}]"
_NUMBER: Final = r"^[+\-]?[0-9]+(?:[.,][0-9]+)*(?:[eE][+\-]?[0-9]+)?$"
_HIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # XML allows none of these


def printable(text: str) -> str:
    """Return a text without the characters that no page or figure can show."""
    return _HIDDEN.sub("", text)


def csv(table: pl.DataFrame, *, formulas: bool = False) -> str:
    """Write a table as CSV; lists are joined with semicolons.

    A spreadsheet runs a text that begins like a formula (``=``, ``+``, ``-``, ``@``), and texts come from strangers.
    Such texts get an apostrophe in front, which a spreadsheet does not show; numbers stay as they are. With `formulas`
    every text is written exactly as it is.
    """
    columns: dict[str, pl.Series] = {}
    for column in table:
        values = column.alias("values")  # the user's name may look like a regular expression
        if values.dtype == pl.List:
            values = values.cast(pl.List(pl.String)).list.join("; ")
        if values.dtype in (pl.String, pl.Categorical, pl.Enum) and not formulas:
            values = _without_formulas(values.cast(pl.String))
        name = column.name if formulas else _without_formulas(pl.Series([column.name]))[0]
        while name in columns:
            name = f"'{name}"
        columns[name] = values
    return pl.DataFrame(columns).write_csv()


def _without_formulas(texts: pl.Series) -> pl.Series:
    risky = texts.str.contains(_FORMULA) & ~texts.str.contains(_NUMBER)
    return (
        texts.to_frame("text").select(pl.when(risky).then("'" + pl.col("text")).otherwise(pl.col("text"))).to_series()
    )


def escape_markdown(text: str) -> str:
    """Return a text in which nothing is markup to Markdown."""
    return _MARKS.sub(r"\\\g<0>", text)


def markdown(table: pl.DataFrame, *, digits: int = 3) -> str:
    """Write a table in Markdown, with this many digits after the decimal point."""
    rows = [[escape_markdown(cell(value, digits)) for value in row] for row in table.iter_rows()]
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
