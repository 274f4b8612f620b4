"""Commands that say what changed in a word: in a sentence, by its company and senses, and by passages."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from driftword.basics import checks
from driftword.basics.checks import comma_separated
from driftword.basics.errors import OptionError
from driftword.basics.visible_text import visible
from driftword.cli.app import Answer, command, question
from driftword.cli.arguments import MODEL, SOURCE, THREADS, WHERE_CORPUS, WORD, periods
from driftword.cli.opening import open_with_corpus

_MOST_DIGITS = 9
BETWEEN = typer.Option(
    metavar="FIRST,LAST",
    help="Compare two slices, such as 1950,2000, or two periods, such as 1946:1960,2000:2015.",
    show_default="before and since the change",
)
GROUPS = typer.Option(metavar="A,B", help="Compare two groups of documents instead.", show_default=False)


def names_of(groups: str | None) -> list[str] | None:
    """Return the groups that an option names."""
    return None if groups is None else comma_separated([groups])


@question
def describe(
    path: Annotated[str, SOURCE],
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
    from driftword.cli import finding_answers
    from driftword.uses.describing import describe as tell

    model, text = open_with_corpus(path, corpus)
    table = tell(model, comma_separated(words) or None, n=n, corpus=text)
    return Answer(table, finding_answers.print_sentences)


@question
def evidence(
    path: Annotated[str, SOURCE],
    word: Annotated[str, WORD],
    n: Annotated[int, typer.Option("-n", help="How many passages, or documents, on either side.")] = 3,
    by: Annotated[
        str, typer.Option(help="passages, or documents: those that carry most of the change, each with one passage.")
    ] = "passages",
    between: Annotated[str | None, BETWEEN] = None,
    groups: Annotated[str | None, GROUPS] = None,
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

      driftword evidence speeches.model freedom --groups left,right
    """
    from driftword.cli import finding_answers
    from driftword.uses.describing import describe as tell
    from driftword.uses.driving_passages import evidence as find

    model, text = open_with_corpus(path, corpus)
    table = find(
        model, word, n=n, by=by, between=periods(between), groups=names_of(groups), width=width, corpus=text
    )  # fmt: skip
    sentences = tell(model, word, corpus=text) if between is None and groups is None else None
    return Answer(table, lambda table, console: finding_answers.print_evidence(table, sentences, console))


@question
def collocates(
    path: Annotated[str, SOURCE],
    word: Annotated[str, WORD],
    n: Annotated[int, typer.Option("-n", help="How many collocates on either side.")] = 15,
    between: Annotated[str | None, BETWEEN] = None,
    groups: Annotated[str | None, GROUPS] = None,
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

      driftword collocates speeches.model freedom --groups left,right
    """
    from driftword.cli import finding_answers
    from driftword.uses.collocates import collocates as find

    model, text = open_with_corpus(path, corpus)
    table = find(
        model, word, n=n, between=periods(between), groups=names_of(groups), window=window, function=function,
        corpus=text,
    )  # fmt: skip
    return Answer(table, finding_answers.print_collocates)


@question
def senses(
    path: Annotated[str, SOURCE],
    words: Annotated[
        list[str] | None, typer.Argument(help="Words.", show_default="all that changed, after a test")
    ] = None,
    n: Annotated[
        int | None, typer.Option("-n", help="How many senses.", show_default="as many as differ enough")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="What a row is: senses, words, slices, passages or occurrences.",
            show_default="senses of one word, else words",
        ),
    ] = None,
    between: Annotated[str | None, BETWEEN] = None,
    within: Annotated[
        str | None,
        typer.Option(help="Exchange dates only between documents with the same value in this column."),
    ] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="A,B", help="Compare the shares of senses in two groups.")
    ] = None,
    passages: Annotated[int, typer.Option(help="How many passages of each sense.")] = 3,
    width: Annotated[int, typer.Option(help="Characters of text on either side of the word.")] = 120,
    permutations: Annotated[int, typer.Option(help="How many times dates are exchanged.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the search and of the exchanges.")] = 0,
    threads: Annotated[int | None, THREADS] = None,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
) -> Any:
    """Show the senses of words: which uses the text has, how their shares moved, and whether that is chance.

    Occurrences in similar contexts are one sense; many words have one. A sense need not be one of a dictionary: read
    the passages. Without words, all words whose use changed are looked through: those whose senses moved most come
    first, with false discovery rates.

    [bold]Examples[/bold]

      driftword senses sotu.model issues

      driftword senses sotu.model capital -n 3 --by passages

      driftword senses sotu.model bonds --by slices --csv > shares.csv

      driftword senses sotu.model
    """
    from driftword.cli import finding_answers
    from driftword.uses.senses import senses as find
    from driftword.uses.word_senses import by_passages, find_word_senses

    model, text = open_with_corpus(path, corpus)
    named = comma_separated(words)
    asked = named[0] if len(named) == 1 else named or None
    table = find(
        model, asked, n=n, by=by, between=periods(between), within=within,
        groups=names_of(groups), passages=passages, width=width, corpus=text,
        permutations=permutations, seed=seed, threads=threads,
    )  # fmt: skip
    if isinstance(asked, str) and by in (None, "senses") and text is not None:
        shown = by_passages(find_word_senses(model, text, asked, n=n, seed=seed), n=1, width=width // 2)
        halves = find_word_senses(model, text, asked, n=2, seed=seed).nearest(0) if table.height == 1 else None
        return Answer(table, lambda table, console: finding_answers.print_senses(table, shown, halves, console))
    shows = {
        None: finding_answers.print_word_senses,
        "words": finding_answers.print_word_senses,
        "passages": finding_answers.print_sense_passages,
    }
    return Answer(table, shows.get(by))


@command("name-senses", no_args_is_help=True)
def name_senses(
    path: Annotated[str, MODEL],
    word: Annotated[str, WORD],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NUMBER=NAME ...]", help="Names, such as 1=money 2=city.")
    ] = None,
    merge: Annotated[
        list[str] | None, typer.Option(metavar="NUMBERS", help="Senses that are one, such as 1,3. May be repeated.")
    ] = None,
    n: Annotated[int | None, typer.Option("-n", help="How many senses before merging.")] = None,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
) -> None:
    """Name the senses of a word, or make one of several.

    Tables, pages and figures use the names from now on; they are kept with the model. Without names and --merge, what
    was kept is forgotten.

    [bold]Examples[/bold]

      driftword name-senses sotu.model capital 1=money 2=city

      driftword name-senses sotu.model values --merge 2,3 1=ideals 2=prices
    """
    from driftword.models.model import Model
    from driftword.uses.sense_naming import name_senses as keep

    model = Model.open(path)
    given = {int(number): name for number, name in (_pair(text) for text in names or [])}
    parts = [[_number(one) for one in part.split(",")] for part in merge or []]
    kept = keep(model, word, given, merge=parts, n=n, corpus=model.open_corpus(corpus))
    told = ", ".join(f"{number} {name}" for number, name in kept.items())
    typer.echo(visible(f"{word}: {told or ('merged' if parts else 'names forgotten')}"))


@command("export-uses", no_args_is_help=True)
def export_uses(
    path: Annotated[str, MODEL],
    word: Annotated[str, WORD],
    out: Annotated[str, typer.Option("--out", "-o", help="File to write.")],
    n: Annotated[int, typer.Option("-n", help="How many occurrences, drawn at random.")] = 100,
    width: Annotated[int, typer.Option(help="Characters of text on either side of the word.")] = 300,
    seed: Annotated[int, typer.Option(help="Seed of the choice.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file.")] = False,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
) -> None:
    """Write occurrences of a word for people to judge, as tools for word usage graphs read them.

    The senses that were found are not in the file, so that they do not lead anybody. Add a column "cluster" with the
    sense that you see in each line (-1 for none), and compare it with driftword score-senses.

    [bold]Examples[/bold]

      driftword export-uses sotu.model capital --out capital.csv
    """
    from driftword.models.model import Model
    from driftword.uses.judgements import export_uses as write

    model = Model.open(path)
    text = model.open_corpus(corpus)
    written = write(model, word, out=out, n=n, width=width, seed=seed, overwrite=overwrite, corpus=text)
    typer.echo(f"Written to {written}. Add a column cluster, then: driftword score-senses {path} {word} {written}")


@question
def score_senses(
    path: Annotated[str, MODEL],
    word: Annotated[str, WORD],
    judgements: Annotated[str, typer.Argument(help="File with the columns identifier and cluster.")],
    n: Annotated[
        int | None, typer.Option("-n", help="How many senses.", show_default="as many as differ enough")
    ] = None,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
) -> Any:
    """Compare the senses of a word with judgements of people.

    "rand_index" (adjusted Rand index) is 1 where they agree, and 0 on average where they have nothing to do with each
    other; "accuracy" is the share of occurrences that are right if every sense is the one that it shares most with.

    [bold]Examples[/bold]

      driftword score-senses sotu.model capital capital.csv
    """
    import polars as pl

    from driftword.models.model import Model
    from driftword.uses.judgements import score_senses as score

    model = Model.open(path)
    return Answer(pl.DataFrame([score(model, word, judgements=judgements, n=n, corpus=model.open_corpus(corpus))]))


def _pair(text: str) -> tuple[int, str]:
    number, sign, name = text.partition("=")
    if not sign or not name.strip():
        raise OptionError(f"{checks.quoted(text)} is not a number and a name; write such as 1=money")
    return _number(number), name.strip()


def _number(text: str) -> int:
    if not text.strip().isdecimal() or len(text) > _MOST_DIGITS:
        raise OptionError(f"{checks.quoted(text)} is not the number of a sense; see `driftword senses`")
    return int(text)
