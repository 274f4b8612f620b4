"""Commands that count words in a text, as linguists do: concordance, keywords, and frequencies with a test."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from driftword.basics.checks import comma_separated
from driftword.cli.app import Answer, question
from driftword.cli.arguments import CORPUS, IN_SLICE, THREADS, WHERE, WORD, periods
from driftword.cli.corpora import read_condition

_SEED = typer.Option(help="Seed of the exchanges.")


@question
def concordance(
    path: Annotated[str, CORPUS],
    word: Annotated[str, WORD],
    sort: Annotated[
        str, typer.Option(help="Order of the lines: date, right (by what follows), left, or keyword.")
    ] = "date",
    n: Annotated[int, typer.Option("-n", help="How many lines, drawn evenly from slices and documents.")] = 40,
    at: Annotated[str | None, IN_SLICE] = None,
    width: Annotated[int, typer.Option(help="Characters of text on either side.")] = 60,
    where: Annotated[list[str] | None, WHERE] = None,
) -> Any:
    """Show the occurrences of a word, each with the text around it, in an order that shows patterns.

    Sorted by what follows or by what precedes, phrases that a word is part of come together.

    [bold]Examples[/bold]

      driftword concordance sotu.corpus energy --sort right

      driftword concordance sotu.corpus energy --at 1955 -n 100000 --csv > energy.csv
    """
    from driftword.cli import answers, terminal
    from driftword.uses.concordance import concordance as find

    conditions = dict(read_condition(text) for text in where or [])
    lines = find(path, word, n=n, sort=sort, at=at, width=width, where=conditions or None)

    def for_people(lines: Any, console: Any) -> None:
        if lines.is_empty():
            terminal.say(f"'{word}' does not occur there.")
        else:
            answers.print_passages(lines, console)

    return Answer(lines, for_people)


@question
def keywords(
    path: Annotated[str, CORPUS],
    between: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST,LAST", help="Two slices, such as 1950,2000, or two periods, such as 1946:1960,2000:2015."
        ),
    ] = None,
    groups: Annotated[str | None, typer.Option(metavar="A,B", help="Two groups, over all of the time.")] = None,
    n: Annotated[int, typer.Option("-n", help="How many keywords of each part.")] = 20,
    function: Annotated[bool, typer.Option("--function", help="Also list function words and numbers.")] = False,
    permutations: Annotated[int, typer.Option(help="How many times documents exchange their parts.")] = 200,
    seed: Annotated[int, _SEED] = 0,
) -> Any:
    """Show the words that are more frequent in one part of a text than in another, surest first.

    "log_ratio" is how many times as frequent a word is (1 is twice, 2 is four times), and "q" the false discovery rate
    over all words, with documents as the unit of evidence: a word of one long report is no keyword of its year.
    "dispersion" is 0 where every document of the part has its share of the word, and 1 where one has all.

    [bold]Examples[/bold]

      driftword keywords sotu.corpus --between 1946:1985,1990:2026

      driftword keywords debates.corpus --groups USA,RUS -n 50 --csv > keywords.csv
    """
    from driftword.uses.keywords import keywords as find

    table = find(
        path, between=periods(between), groups=comma_separated(groups) or None, n=n, function=function,
        permutations=permutations, seed=seed,
    )  # fmt: skip
    return Answer(table, _print_keywords)


@question
def trends(
    path: Annotated[str, CORPUS],
    words: Annotated[list[str] | None, typer.Argument(help="Words.", show_default="the whole vocabulary")] = None,
    n: Annotated[int, typer.Option("-n", help="How many words, where none are named.")] = 30,
    within: Annotated[
        str | None,
        typer.Option(help="Exchange dates only between documents with the same value in this column."),
    ] = None,
    permutations: Annotated[int, typer.Option(help="How many times dates are exchanged.")] = 1000,
    seed: Annotated[int, _SEED] = 0,
    threads: Annotated[int | None, THREADS] = None,
) -> Any:
    """Test whether words became more or less frequent, and when, with documents as the unit of evidence.

    "ratio" is how many times as frequent a word is since its change as before, with the 90% interval. "dispersion" is 0
    where every document has its share of a word, and 1 where one has all. Without words, all are tested.

    [bold]Examples[/bold]

      driftword trends sotu.corpus energy security commerce

      driftword trends sotu.corpus --csv > trends.csv
    """
    from driftword.uses.trends import trends as find

    named = comma_separated(words) or None
    table = find(path, named, within=within, permutations=permutations, seed=seed, threads=threads)
    return table if named else table.head(n)


def _print_keywords(table: Any, console: Any) -> None:
    """Print what fits into a terminal; JSON and CSV have all columns."""
    import polars as pl

    from driftword.cli import terminal

    shown = ("part", "word", "count", "count_other", "per_million", "per_million_other", "log_ratio", "dispersion", "q")
    terminal.print_table(table.select(pl.col(*shown)), console)
