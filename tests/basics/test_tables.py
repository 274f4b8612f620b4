from __future__ import annotations

import polars as pl

from driftword.basics import tables

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


def test_texts_in_csv_are_no_formulas() -> None:
    risky = [
        "=1+1",
        "+cmd",
        "-1+1",
        "@SUM(A1)",
        "\tx",
        "\rx",
        "\nx",
        "\uff1d1",
        "-",
        "@user",
        "-5 x",
        '=HYPERLINK("x")',
    ]
    plain = ["a=b", "", "it's", "'=1", "-0.53", "+1.5e-3", "1,000", "-1,000.50"]
    table = pl.DataFrame({"=word": risky + plain, "n": [-0.53] * 20, "near": [["=a", "b"]] * 20, "none": [None] * 20})
    read = pl.read_csv(tables.csv(table).encode(), infer_schema=False)
    assert read.columns == ["'=word", "n", "near", "none"]
    assert read["'=word"].to_list() == [f"'{text}" for text in risky] + plain
    assert read["n"].to_list() == ["-0.53"] * 20
    assert read["near"].to_list() == ["'=a; b"] * 20


def test_csv_can_be_exact() -> None:
    table = pl.DataFrame({"=word": ["=1+1", "-"]})
    assert tables.csv(table, formulas=True).splitlines() == ["=word", "=1+1", "-"]


def test_csv_of_columns_with_odd_names_and_types() -> None:
    table = pl.DataFrame({"=a": ["x"], "'=a": ["y"], "^.*$": [["p"]], "": [1]}).with_columns(
        kind=pl.lit("=z").cast(pl.Categorical)
    )
    assert tables.csv(table).splitlines() == ["'=a,''=a,^.*$,\"\",kind", "x,y,p,1,'=z"]
    assert tables.csv(pl.DataFrame({"a": []}, schema={"a": pl.String})) == "a\n"
