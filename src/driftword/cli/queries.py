"""Commands that ask a model: which words are near, which moved, when, and towards what."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from driftword.basics.checks import comma_separated
from driftword.cli.app import Answer, add_parameters, question
from driftword.cli.arguments import (
    AT,
    BETWEEN,
    GROUP,
    GROUPS,
    INTERPOLATED,
    INTERVALS,
    METRIC,
    MIN_COUNT_BOTH,
    MIN_COUNT_IN_SLICE,
    MODEL,
    MODEL_OR_CORPUS,
    ONE_SLICE,
    SKIP,
    WHERE_CORPUS,
    WORD,
    WORDS,
    N,
    periods,
    read_slices,
    two_slices,
)
from driftword.corpus.options import MIN_COUNT


def of_group(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a question about a model the option --group; it gets the model of that group in place of a path."""

    @functools.wraps(function)
    def ask(path: Path, *args: Any, group: str | None, **options: Any) -> Any:
        from driftword.models.model import as_model

        return function(path if group is None else as_model(path, group), *args, **options)

    add_parameters(ask, function, {"group": (Annotated[str | None, GROUP], None)})
    return ask


@question
@of_group
def neighbors(
    path: Annotated[str, MODEL],
    word: Annotated[str, WORD],
    at: Annotated[list[str] | None, AT] = None,
    n: Annotated[int, typer.Option("-n", help="How many neighbours.")] = 10,
    metric: Annotated[str, typer.Option(help="cosine (of centred vectors), uncentered or paper.")] = "cosine",
    min_count: Annotated[int, MIN_COUNT_IN_SLICE] = MIN_COUNT,
    intervals: Annotated[bool, INTERVALS] = False,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
) -> Any:
    """Show the words nearest to a word, slice by slice.

    [bold]Examples[/bold]

      driftword neighbors sotu.model energy

      driftword neighbors sotu.model energy --at 1825,1975 --metric paper

      driftword neighbors sotu.model "social security" --at all --csv > neighbours.csv
    """
    from driftword import explore
    from driftword.cli import answers
    from driftword.models.model import as_model

    model = as_model(path)
    table = explore.neighbors(
        model, word, at=read_slices(at), n=n, metric=metric, min_count=min_count, intervals=intervals, corpus=corpus
    )
    return Answer(table, lambda table, console: answers.print_neighbors(table, model, word, console))


@question
@of_group
def drift(
    path: Annotated[str, MODEL],
    words: Annotated[list[str] | None, typer.Argument(help="Only these words.", show_default="all words")] = None,
    n: Annotated[int, N] = 16,
    metric: Annotated[str | None, METRIC] = None,
    between: Annotated[str | None, BETWEEN] = None,
    min_count: Annotated[int | None, MIN_COUNT_BOTH] = None,
    skip: Annotated[int | None, SKIP] = None,
    interpolated: Annotated[bool, INTERPOLATED] = False,
    intervals: Annotated[bool, INTERVALS] = False,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
) -> Any:
    """Show the words that moved most, with the evidence: occurrences in both slices, and in how many slices at all.

    By default the widest range with enough text is compared. Below the table you are told how many words were
    eligible, and why others were not.

    [bold]Examples[/bold]

      driftword drift sotu.model

      driftword drift sotu.model --between 1930,1950 --metric relative -n 30

      driftword drift sotu.model energy security

      driftword drift sotu.usage --metric prt --between 1790:1849,1950:2026   (vectors of an encoder)
    """
    from driftword import explore
    from driftword.cli import answers
    from driftword.models.usage import Usage, as_source

    source = as_source(path)
    if isinstance(source, Usage):
        return explore.drift(
            source, comma_separated(words) or None, n=n, metric=metric, between=periods(between), min_count=min_count,
            skip=skip, interpolated=interpolated, intervals=intervals,
        )  # fmt: skip
    ranking = explore.rank_drift(
        source, comma_separated(words) or None, n=n, metric=metric, between=two_slices(between), min_count=min_count,
        skip=skip, interpolated=interpolated, intervals=intervals,
        corpus=corpus,
    )  # fmt: skip
    return Answer(ranking.table, lambda _, console: answers.print_ranking(source, ranking, console))


@question
@of_group
def trajectory(
    path: Annotated[str, MODEL],
    words: Annotated[list[str], WORDS],
    at: Annotated[list[str] | None, AT] = None,
    n: Annotated[int, typer.Option("-n", help="How many neighbours.")] = 6,
    intervals: Annotated[bool, INTERVALS] = False,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
    groups: Annotated[list[str] | None, GROUPS] = None,
) -> Any:
    """Show the trajectory of words through time: the position of each along the line on which it moved most.

    [bold]Examples[/bold]

      driftword trajectory sotu.model energy

      driftword trajectory sotu.model energy power --at 1825,1975

      driftword trajectory un.model security --groups USA,RUS
    """
    from driftword import explore
    from driftword.cli import answers

    table = explore.trajectory(
        path,
        comma_separated(words),
        at=read_slices(at),
        n=n,
        intervals=intervals,
        corpus=corpus,
        groups=comma_separated(groups) or None,
    )
    return Answer(table, answers.print_trajectories)


@question
@of_group
def frequency(path: Annotated[str, MODEL_OR_CORPUS], word: Annotated[str, WORD]) -> Any:
    """Show how often a word occurs and how far it moved, to tell a change of use from a change of frequency.

    Of a corpus, frequencies have intervals, with documents as the unit of evidence; driftword trends tests them.

    [bold]Examples[/bold]

      driftword frequency sotu.model energy

      driftword frequency sotu.corpus energy
    """
    from driftword import explore

    return explore.frequency(path, word)


@question
@of_group
def similarity(
    path: Annotated[str, MODEL],
    word: Annotated[str, WORD],
    others: Annotated[list[str], typer.Argument(help="Words to compare it with.", show_default=False)],
    interpolated: Annotated[
        bool,
        typer.Option("--interpolated", help="Also give values where a word has no training text: guesses."),
    ] = False,
    intervals: Annotated[bool, INTERVALS] = False,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
) -> Any:
    """Show how similar a word is to others, slice by slice (cosine, slice means removed).

    [bold]Examples[/bold]

      driftword similarity sotu.model peace war

      driftword similarity sotu.model peace war prosperity liberty --csv
    """
    from driftword import explore

    return explore.similarity(
        path, word, comma_separated(others), interpolated=interpolated, intervals=intervals, corpus=corpus
    )


@question
@of_group
def towards(
    path: Annotated[str, MODEL],
    word: Annotated[str, WORD],
    low: Annotated[str, typer.Option(help="Words of one pole, separated by commas.", show_default=False)],
    high: Annotated[str, typer.Option(help="Words of the other pole.", show_default=False)],
    interpolated: Annotated[
        bool, typer.Option("--interpolated", help="Also give values where there is no training text; they are guesses.")
    ] = False,
    intervals: Annotated[bool, INTERVALS] = False,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
) -> Any:
    """Show where a word lies between two poles of meaning, slice by slice: from -1 (low) to 1 (high).

    [bold]Example[/bold]

      driftword towards sotu.model energy --low vigor,zeal --high oil,coal
    """
    from driftword import explore

    below, above = comma_separated(low), comma_separated(high)
    return explore.towards(
        path, word, low=below, high=above, interpolated=interpolated, intervals=intervals, corpus=corpus
    )


@question
@of_group
def equivalents(
    path: Annotated[str, MODEL],
    word: Annotated[str, WORD],
    at: Annotated[str, ONE_SLICE],
    to: Annotated[
        list[str] | None, typer.Option(help="Slices to look in, separated by commas.", show_default="all")
    ] = None,
    n: Annotated[int, N] = 10,
    min_count: Annotated[int, MIN_COUNT_IN_SLICE] = MIN_COUNT,
    intervals: Annotated[bool, INTERVALS] = False,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
) -> Any:
    """Show the words that were used at other times as a word was used in one slice.

    [bold]Example[/bold]

      driftword equivalents sotu.model telegraph --at 1870 --to 1995
    """
    from driftword import explore

    return explore.equivalents(
        path, word, at=at, to=read_slices(to), n=n, min_count=min_count, intervals=intervals, corpus=corpus
    )


@question
@of_group
def analogy(
    path: Annotated[str, MODEL],
    a: Annotated[str, typer.Argument(help="As this word", show_default=False)],
    b: Annotated[str, typer.Argument(help="is to this,", show_default=False)],
    c: Annotated[str, typer.Argument(help="so is this to which?", show_default=False)],
    at: Annotated[str, ONE_SLICE],
    to: Annotated[str | None, typer.Option(help="Slice to look in.", show_default="the same")] = None,
    n: Annotated[int, N] = 10,
    min_count: Annotated[int, MIN_COUNT_IN_SLICE] = MIN_COUNT,
) -> Any:
    """Complete an analogy: as A is to B, so C is to another word.

    [bold]Example[/bold]

      driftword analogy sotu.model army soldiers navy --at 1900
    """
    from driftword import explore

    return explore.analogy(path, a, b, c, at=at, to=to, n=n, min_count=min_count)


@question
@of_group
def changes(
    path: Annotated[str, MODEL],
    words: Annotated[list[str] | None, typer.Argument(help="Words.", show_default="all words, ranked")] = None,
    n: Annotated[int, typer.Option("-n", help="How many change points of each word, or how many words.")] = 16,
    min_count: Annotated[
        int, typer.Option(help="Only change points with at least this many occurrences before and after.")
    ] = MIN_COUNT,
    min_rank: Annotated[float, typer.Option(help="Only change points of at least this rank, from 0 to 1.")] = 0.0,
    intervals: Annotated[bool, INTERVALS] = False,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
) -> Any:
    """Show when meaning changed: the first slice of the new use.

    Every word has a largest change. "rank" is the share of words of similar frequency whose own largest change is
    smaller: a rank, not a significance.

    [bold]Examples[/bold]

      driftword changes sotu.model

      driftword changes sotu.model energy security
    """
    from driftword import explore

    return explore.changes(
        path,
        comma_separated(words) or None,
        n=n,
        min_count=min_count,
        min_rank=min_rank,
        intervals=intervals,
        corpus=corpus,
    )


@question
@of_group
def movers(
    path: Annotated[str, MODEL],
    at: Annotated[str, ONE_SLICE],
    n: Annotated[int, N] = 16,
    min_count: Annotated[int | None, MIN_COUNT_BOTH] = None,
    skip: Annotated[int | None, SKIP] = None,
) -> Any:
    """Show the words that moved most from the slice before into a given one.

    [bold]Example[/bold]

      driftword movers sotu.model --at 1935
    """
    from driftword import explore

    return explore.movers(path, at=at, n=n, min_count=min_count, skip=skip)
