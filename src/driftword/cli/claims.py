"""Commands that test claims: which words changed, whether a change would have been found, and what groups part on."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from driftword.basics import checks
from driftword.basics.checks import comma_separated
from driftword.cli.app import Answer, question
from driftword.cli.arguments import (
    DASK,
    DEVICE,
    ENGINE,
    INTERVALS,
    MODEL,
    SOURCE,
    THREADS,
    WHERE_CORPUS,
    periods,
    read_shares,
)
from driftword.cli.opening import open_with_corpus

WITHIN = typer.Option(
    metavar="COLUMN",
    help="Exchange dates only between documents with the same value in this column.",
    show_default=False,
)
CLUSTERS = typer.Option(
    metavar="COLUMN", help="Documents with the same value in this column are one piece of evidence.", show_default=False
)


@question
def significance(
    path: Annotated[str, SOURCE],
    words: Annotated[list[str] | None, typer.Argument(help="Only these words.", show_default="all words")] = None,
    n: Annotated[int, typer.Option("-n", help="How many words to show, where none are named.")] = 20,
    between: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST,LAST",
            help="Compare two slices, such as 1950,2000, or two periods, such as 1946:1960,2000:2015; or best: all "
            "slices, divided in two where a word differs most.",
            show_default="all of the time",
        ),
    ] = None,
    within: Annotated[str | None, WITHIN] = None,
    clusters: Annotated[str | None, CLUSTERS] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(help="Words to leave out of contexts, such as energy where oil is asked about."),
    ] = None,
    holdout: Annotated[
        bool,
        typer.Option("--holdout", help="Choose words on one half of the documents, and test these on the other."),
    ] = False,
    permutations: Annotated[int, typer.Option(help="How many times dates are exchanged.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the exchanges.")] = 0,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
    engine: Annotated[str, ENGINE] = "auto",
    device: Annotated[str | None, DEVICE] = None,
    threads: Annotated[int | None, THREADS] = None,
    dask: Annotated[str | None, DASK] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="A model, or vectors, of the same words: combine its test with this one.",
            show_default=False,
        ),
    ] = None,
) -> Any:  # fmt: skip
    """Test which words changed their use by more than chance.

    The contexts of a word in each document are compared with those that the model expects there. Then documents
    exchange their dates, many times: if the use of the word did not change, that makes no difference. "effect" is the
    share of the variation between documents that time explains beyond chance, with its 90% interval from "low" to
    "high"; "q" is the false discovery rate if this word and all those with more evidence are called changed; "change"
    is when the documents of the new use begin, for significant words, with its 90% interval. A word that is asked for
    alone has "q" only where all words have been tested: choose the word first, and then believe its "p".

    A test of all words is kept with the model. drift, changes, explore and report then use it.

    [bold]Examples[/bold]

      driftword significance sotu.model

      driftword significance sotu.model energy security

      driftword significance un.model --within country   (so that a change of who speaks does not count)

      driftword significance un.model --between 1946:1960,2000:2015 --csv > changed.csv

      driftword significance sotu.model energy --between best

      driftword significance archive.model --dask tcp://scheduler:8786   (words tested by the workers of a cluster)

      driftword significance sotu.usage --beside sotu.model   (vectors of an encoder, and the model, as one test)
    """
    from driftword.cli import answers
    from driftword.inference.designs import BEST
    from driftword.inference.significance import significance as test

    names = comma_separated(words) or None
    model, text = open_with_corpus(path, corpus)
    compared = between if between == BEST else periods(between)
    table = test(
        model, names, corpus=text, between=compared, within=within, clusters=clusters,
        without=comma_separated(without) or None, holdout=holdout,
        permutations=permutations, seed=seed, threads=threads, engine=engine, device=device, dask=dask,
    )  # fmt: skip
    if beside is not None:
        from driftword.inference.combined import combine

        other, its_text = open_with_corpus(beside, None)
        both = combine([table, test(other, names, corpus=its_text, permutations=permutations, seed=seed)])
        return Answer(both if names else both.head(checks.whole("n", n, least=1)))
    shown = table if names else table.head(checks.whole("n", n, least=1))
    which = "named" if names else "held out" if holdout else "all"
    return Answer(shown, lambda shown, console: answers.print_significance(shown, table, console, which=which))


@question
def power(
    path: Annotated[str, MODEL],
    words: Annotated[list[str], typer.Argument(help="Words.")],
    share: Annotated[
        str, typer.Option(metavar="SHARES", help="Share of a word's occurrences that changes, or several.")
    ] = "0.2,0.33,0.5,1",
    since: Annotated[
        str | None,
        typer.Option(
            metavar="SLICE", help="The slice with which the change begins.", show_default="half of its documents before"
        ),
    ] = None,
    within: Annotated[str | None, WITHIN] = None,
    clusters: Annotated[str | None, CLUSTERS] = None,
    level: Annotated[float, typer.Option(help="The largest p that counts as found.")] = 0.05,
    simulations: Annotated[int, typer.Option(help="How many changes are simulated.")] = 200,
    permutations: Annotated[int, typer.Option(help="How many times dates are exchanged in each.")] = 199,
    seed: Annotated[int, typer.Option(help="Seed of the simulations.")] = 0,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
    threads: Annotated[int | None, THREADS] = None,
) -> Any:
    """Say how often a change of words would have been found, if there had been one.

    Some of the word's occurrences since a slice are replaced by those of other words of similar frequency, many times,
    and each time the word is tested as by significance. "power" is the share of these changes that are found. Where it
    is small, "not significant" says little: the word has too few documents, or they differ too much.

    [bold]Examples[/bold]

      driftword power sotu.model november

      driftword power sotu.model november chance --share 0.33 --since 1930
    """
    from driftword.cli import answers
    from driftword.inference.power import power as simulate
    from driftword.models.model import Model

    model = Model.open(path)
    table = simulate(
        model, comma_separated(words), share=read_shares(share), since=since, corpus=model.open_corpus(corpus),
        within=within, clusters=clusters, level=level, simulations=simulations, permutations=permutations, seed=seed,
        threads=threads,
    )  # fmt: skip
    return Answer(table, lambda table, console: answers.print_power(table, console, level=level))


@question
def contrast(
    path: Annotated[str, SOURCE],
    word: Annotated[
        str | None, typer.Argument(help="A word to follow through time.", show_default="all words, ranked")
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(metavar="FIRST,SECOND", help="Two groups, such as USA,RUS.", show_default="the two there are"),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="SLICE", help="Rank words in a slice, such as 1990, or a period, such as 1970:1989.",
            show_default="all of the time",
        ),
    ] = None,
    over_time: Annotated[
        bool, typer.Option("--over-time", help="Test whether the difference between the groups changed over time.")
    ] = False,
    n: Annotated[int, typer.Option("-n", help="How many words, or how many neighbours of the word.")] = 16,
    min_count: Annotated[int, typer.Option(help="Only words that occur at least this often in both groups.")] = 5,
    intervals: Annotated[bool, INTERVALS] = False,
    permutations: Annotated[int, typer.Option(help="How many times documents exchange their groups.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the exchanges.")] = 0,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
    engine: Annotated[str, ENGINE] = "auto",
    device: Annotated[str | None, DEVICE] = None,
    threads: Annotated[int | None, THREADS] = None,
) -> Any:  # fmt: skip
    """Show which words two groups use most differently, or how differently they use one word through time.

    The model needs groups: prepare the corpus with --group, the column that says who speaks. Documents of the same
    slice exchange their groups, many times: if both groups use a word in the same way, that makes no difference. Then
    "effect", its 90% interval, "p" and "q" are those of significance, with groups in place of time. With --over-time
    they say whether the groups came to differ more, less, or in another way: a difference that stays as it is does not
    count, nor does what changed for both alike.

    [bold]Examples[/bold]

      driftword contrast un.model --groups USA,RUS

      driftword contrast un.model --groups USA,RUS --at 1970:1989 -n 30

      driftword contrast un.model --groups USA,RUS --over-time

      driftword contrast un.model security --groups USA,RUS --over-time

      driftword contrast un.model security --groups USA,RUS
    """
    from driftword import explore
    from driftword.cli import answers

    model, text = open_with_corpus(path, corpus)
    period = None if at is None else tuple(part.strip() for part in at.split(":")) if ":" in at else at
    names = comma_separated([groups]) if groups is not None else None
    test: dict[str, Any] = {
        "permutations": permutations, "seed": seed, "threads": threads, "engine": engine, "device": device,
    }  # fmt: skip
    if over_time:  # one word is tested like all
        named = None if word is None else comma_separated([word])
        table = explore.contrast(
            model, named, groups=names, at=period, over_time=True, n=n, min_count=min_count, corpus=text, **test
        )
        return Answer(table, answers.print_contrast)
    table = explore.contrast(
        model, word=word, groups=names, at=period, n=n, min_count=min_count, intervals=intervals, corpus=text, **test
    )
    found = None if word is None else explore.contrast(model, word, groups=names, corpus=text, **test)
    return Answer(table, lambda table, console: answers.print_contrast(table, console, found))
