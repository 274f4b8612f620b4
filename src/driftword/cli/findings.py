"""Commands that say what changed in a word: in a sentence, by its company, and with the passages that show it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from driftword.basics.checks import comma_separated
from driftword.cli.app import Answer, question
from driftword.cli.arguments import MODEL, WHERE_CORPUS, WORD, periods

BETWEEN = typer.Option(
    metavar="FIRST,LAST",
    help="Compare two slices, such as 1950,2000, or two periods, such as 1946:1960,2000:2015.",
    show_default="before and since the change",
)


@question
def describe(
    path: Annotated[str, MODEL],
    words: Annotated[
        list[str] | None, typer.Argument(help="Words.", show_default="those that changed most, after a test")
    ] = None,
    n: Annotated[int, typer.Option("-n", help="How many words, where none are named.")] = 20,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
) -> Any:
    """Say in a sentence what changed in words: from what company to what, when, and how sure that is.

    Every word that a sentence names occurs near the word in the years in brackets, at least five times, in at least
    three documents. Test the words first, with driftword significance: without a test nothing is proven.

    [bold]Examples[/bold]

      driftword describe sotu.model

      driftword describe sotu.model energy intelligence

      driftword describe un.model -n 100 --csv > sentences.csv
    """
    from driftword.cli import answers
    from driftword.models.model import Model
    from driftword.uses.describing import describe as tell

    model = Model.open(path)
    table = tell(model, comma_separated(words) or None, n=n, corpus=model.open_corpus(corpus))
    return Answer(table, answers.print_sentences)


@question
def evidence(
    path: Annotated[str, MODEL],
    word: Annotated[str, WORD],
    n: Annotated[int, typer.Option("-n", help="How many passages, or documents, on either side.")] = 3,
    by: Annotated[
        str, typer.Option(help="passages, or documents: those that carry most of the change, each with one passage.")
    ] = "passages",
    between: Annotated[str | None, BETWEEN] = None,
    width: Annotated[int, typer.Option(help="Characters of text on either side of the word.")] = 160,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
) -> Any:
    """Show the passages that speak most plainly for the change of a word, before it and since.

    Each passage is of another document. "score" says how far it lies towards the use of its side, in standard
    deviations of all occurrences.

    [bold]Examples[/bold]

      driftword evidence sotu.model energy

      driftword evidence un.model climate -n 10 --csv > passages.csv

      driftword evidence un.model security --between 1946:1960,2000:2015
    """
    from driftword.cli import answers
    from driftword.models.model import Model
    from driftword.uses.describing import describe as tell
    from driftword.uses.driving_passages import evidence as find

    model = Model.open(path)
    text = model.open_corpus(corpus)
    table = find(model, word, n=n, by=by, between=periods(between), width=width, corpus=text)
    sentences = tell(model, word, corpus=text) if between is None else None
    return Answer(table, lambda table, console: answers.print_evidence(table, sentences, console))


@question
def collocates(
    path: Annotated[str, MODEL],
    word: Annotated[str, WORD],
    n: Annotated[int, typer.Option("-n", help="How many collocates on either side.")] = 15,
    between: Annotated[str | None, BETWEEN] = None,
    window: Annotated[int, typer.Option(help="Words on either side of the word, at most 20.")] = 5,
    function: Annotated[bool, typer.Option("--function", help="Also list function words and numbers.")] = False,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
) -> Any:
    """Show the company that a word lost and gained: words near it before its change, and since.

    "count" is how many occurrences of the word have the collocate near them on its side, "log_ratio" how many times as
    usual that is there (1 is twice, 2 is four times), "association" how many times as often as anywhere in the text,
    and "q" the false discovery rate over all collocates, with documents as the unit of evidence.

    [bold]Examples[/bold]

      driftword collocates sotu.model energy

      driftword collocates un.model climate --between 1970:1989,2010:2022 -n 30

      driftword collocates sotu.model want --function --window 3
    """
    from driftword.cli import answers
    from driftword.models.model import Model
    from driftword.uses.collocates import collocates as find

    model = Model.open(path)
    text = model.open_corpus(corpus)
    table = find(model, word, n=n, between=periods(between), window=window, function=function, corpus=text)
    return Answer(table, answers.print_collocates)
