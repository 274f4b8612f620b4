"""What changed in words, and their senses, as people read it in a terminal; nothing is computed here."""

from __future__ import annotations

from typing import Final

import polars as pl
from rich.console import Console
from rich.text import Text

from driftword.basics.visible_text import visible
from driftword.cli.terminal import print_table

_SHARES: Final = ("share_before", "share_since")
_LISTED: Final = 40  # words with their senses


def print_sentences(table: pl.DataFrame, console: Console) -> None:
    """Print what changed in words, a sentence each."""
    for sentence in table["sentence"]:
        word, _, rest = visible(sentence).partition(":")
        console.print(Text.assemble((word, "bold"), f":{rest}"))
    if table.height:
        console.print(
            "\nEach word that is named occurs near the word in the years in brackets, at least five times, in at least "
            "three documents. driftword evidence shows the passages.",
            style="dim",
        )


def print_evidence(table: pl.DataFrame, sentences: pl.DataFrame | None, console: Console) -> None:
    """Print the passages of both sides of a change, below the sentence that says what it is."""
    if sentences is not None:
        console.print(Text(visible(sentences["sentence"][0])), style="bold")
    for side, rows in table.group_by("side", maintain_order=True):
        console.print(f"\n[bold]{side[0]}[/bold]")
        for row in rows.iter_rows(named=True):
            when = row["slice"] if row["date"] is None else row["date"]
            console.print(
                Text.assemble(
                    (f"{when}  ", "dim"), visible(row["left"]), (visible(row["keyword"]), "bold"), visible(row["right"])
                )
            )


def print_senses(table: pl.DataFrame, passages: pl.DataFrame, halves: float | None, console: Console) -> None:
    """Print the senses of a word, each with its share, its company, its course and its plainest passage."""
    for row in table.iter_rows(named=True):
        name = visible(f"{row['sense']} {row['name'] or ''}".strip())
        company = visible(", ".join(row["collocates"]))
        told = [f"{row['share']:.0%} of {table['occurrences'].sum():,}", f"{row['first'].year}-{row['last'].year}"]
        if row["share_before"] is not None and row["share_since"] is not None:
            when = "" if row["change"] is None else f" about {row['change'].year}"
            told.append(f"{row['share_before']:.0%} to {row['share_since']:.0%}{when}")
        if row["p"] is not None:
            told.append(f"p = {row['p']:.2g}")
        console.print(Text.assemble((f"{name}  ", "bold"), f"{company}  ", ("; ".join(told), "dim")))
        print_sense_passages(passages.filter(pl.col("sense") == row["sense"]), console)
    if table.height == 1:
        alike = "" if halves is None else f" (the two have a cosine of {halves:.2f}, different words of about 0)"
        console.print(
            "\nOne sense: however its occurrences are divided, the parts are alike. "
            f"-n 2 divides it all the same{alike}.",
            style="dim",
        )
    else:
        console.print(
            "\np: whether the share of a sense changed, or differs between what is compared, with documents as the "
            "unit of evidence. A sense is a group of occurrences in similar contexts; --by passages shows more.",
            style="dim",
        )


def print_sense_passages(passages: pl.DataFrame, console: Console) -> None:
    """Print passages, each with its date and its sense, if they are of several."""
    several = passages["sense"].n_unique() > 1
    for line in passages.iter_rows(named=True):
        text = (visible(line["left"]), (visible(line["keyword"]), "bold"), visible(line["right"]))
        sense = (visible(f"{line['sense']} {line['name'] or ''} "), "bold") if several else "  "
        console.print(Text.assemble(sense, (f" {line['date']}  ", "dim"), *text))


def print_word_senses(table: pl.DataFrame, console: Console) -> None:
    """Print words with the sense that gained most, and the others."""
    every = table.filter(pl.col("share_since").is_not_null())
    moved = every.head(_LISTED)
    company = [pl.col(name).list.head(2).list.join(", ").alias(name) for name in ("others", "collocates")]
    shares = [(pl.col(name) * 100).round(0).cast(pl.Int64).cast(pl.String) + "%" for name in _SHARES]
    rows = moved.select("word", "senses", *company, *shares, pl.col("change").dt.year().cast(pl.String), "q")
    if table["q"].null_count() == table.height:
        rows = rows.with_columns(moved["p"]).drop("q")
    sides = ("before", "since")
    if table["change"].null_count() == table.height:  # of two periods, or two groups
        rows, sides = rows.drop("change"), ("first", "second")
    print_table(rows.rename({"collocates": "gained", **dict(zip(_SHARES, sides, strict=True))}), console)
    alone = table.filter(pl.col("senses") == 1).height
    steady = table.filter((pl.col("senses") > 1) & pl.col("share_since").is_null()).height
    rest = every.height - moved.height
    console.print(
        (f"\n{rest:,} more words are in the table that --csv writes." if rest else "")
        + f"\nOne sense: {_words(alone)}; several whose shares do not clearly differ: {_words(steady)}. gained: company"
        f" of the sense whose share grew most; {', '.join(sides)}: its share. driftword senses MODEL WORD shows one.",
        style="dim",
    )


def _words(number: int) -> str:
    return f"{number:,} word" + "s" * (number != 1)


def print_collocates(table: pl.DataFrame, console: Console) -> None:
    """Print the company of both sides of a change."""
    shown = table.with_columns(pl.col("first", "last").dt.year().cast(pl.String)).drop("p", "slices")
    print_table(shown, console)
    console.print(
        "\nlog_ratio: how many times as usual on this side, to base 2; association: how many times as often as "
        "anywhere; q: false discovery rate over all collocates, documents as the unit of evidence",
        style="dim",
    )
