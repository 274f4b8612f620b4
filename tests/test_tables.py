from __future__ import annotations

import polars as pl

from driftword import tables

TABLE = pl.DataFrame(
    {"word_s": ["a|b", "[50]% & {x}"], "n": [1200, None], "seen": [True, False], "near": [["p", "q"], None]}
)


def test_markdown_keeps_its_columns() -> None:
    assert tables.markdown(TABLE).splitlines() == [
        "| word_s | n | seen | near |",
        "| --- | --- | --- | --- |",
        r"| a\|b | 1,200 | yes | p, q |",
        r"| \[50\]% & {x} |  | no |  |",
    ]


def test_csv_holds_lists() -> None:
    table = pl.DataFrame({"words": [["a", "b"], []], "n": [1, 2]})
    assert tables.csv(table).splitlines() == ["words,n", "a; b,1", '"",2']


def test_latex_escapes_what_it_would_misread() -> None:
    lines = tables.latex(TABLE).splitlines()
    assert lines[0] == r"\begin{tabular}{lrll}"
    assert r"word\_s & n & seen & near \\" in lines
    assert r"{}[50]\% \& \{x\} &  & no &  \\" in lines
