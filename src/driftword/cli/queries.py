"""Commands that ask a model: which words are near, which moved, when, and towards what."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from driftword.basics.checks import comma_separated
from driftword.basics.errors import OptionError
from driftword.cli.app import MODEL, add_parameters, command, question, two_slices
from driftword.corpus.options import MIN_COUNT

_WORD = typer.Argument(help='A word, or a phrase in quotes: "social security".', show_default=False)
_WORDS = typer.Argument(help='Words, or phrases in quotes: "social security".', show_default=False)
_AT = typer.Option(
    help="Slices: labels, years or dates, separated by commas; or all.", show_default="representative slices"
)
_ONE_SLICE = typer.Option("--at", help="A slice: its label, a year or a date.", show_default=False)
_MIN_COUNT = typer.Option(help="Only words that occur at least this often in the slice's training text; 0 allows all.")
_N = typer.Option("-n", help="How many words to show.")
METRIC = typer.Option(
    help="relative (to words of similar frequency), absolute (the paper's), cosine, thirds, farthest, path, step, "
    "neighbors or ranks.",
    show_default="relative",
)
BETWEEN = typer.Option(
    metavar="FIRST,LAST", help="Two slices, such as 1900,2000.", show_default="the widest range with enough text"
)
MIN_COUNT_BOTH = typer.Option(
    help="Only words that occur at least this often in the training text of both slices.", show_default="5"
)
SKIP = typer.Option(help="Leave out this many of the most frequent words.", show_default="2% of all, at most 200")
_GROUP = typer.Option(
    "--group", metavar="NAME", help="Only the documents of this group, where the model has groups.", show_default="all"
)
_GROUPS = typer.Option(
    metavar="NAME,NAME", help="Each of these groups, such as USA,RUS, where the model has groups.", show_default=False
)
INTERVALS = typer.Option(
    "--intervals", help="Also show how uncertain it is, from the documents: 90% intervals, or support."
)
INTERPOLATED = typer.Option(
    "--interpolated", help="Also rank words without training text in one of the slices; their vectors are guesses."
)


def _slices(at: list[str] | None) -> Any:
    """Read --at: None where it was not given, "all", or a list of slices."""
    given = comma_separated(at)
    if at and not given:
        raise OptionError("No slice was named; name one, or leave the option out")
    return "all" if given == ["all"] else given or None


def of_group(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a question about a model the option --group; it gets the model of that group in place of a path."""

    @functools.wraps(function)
    def ask(path: Path, *args: Any, group: str | None, **options: Any) -> Any:
        from driftword.models.model import as_model

        return function(path if group is None else as_model(path, group), *args, **options)

    add_parameters(ask, function, {"group": (Annotated[str | None, _GROUP], None)})
    return ask


@question
@of_group
def neighbors(
    path: Annotated[str, MODEL],
    word: Annotated[str, _WORD],
    at: Annotated[list[str] | None, _AT] = None,
    n: Annotated[int, typer.Option("-n", help="How many neighbours.")] = 10,
    metric: Annotated[str, typer.Option(help="centered, cosine or paper.")] = "centered",
    min_count: Annotated[int, _MIN_COUNT] = MIN_COUNT,
    intervals: Annotated[bool, INTERVALS] = False,
) -> Any:
    """Show the words nearest to a word, slice by slice.

    [bold]Examples[/bold]

      driftword neighbors sotu.model energy

      driftword neighbors sotu.model energy --at 1825,1975 --metric cosine

      driftword neighbors sotu.model "social security" --at all --csv > neighbours.csv
    """
    from driftword import explore
    from driftword.cli import terminal
    from driftword.models.model import as_model

    model = as_model(path)
    table = explore.neighbors(model, word, at=_slices(at), n=n, metric=metric, min_count=min_count, intervals=intervals)
    return table, lambda table, console: terminal.print_neighbors(table, model, word, console)


@question
@of_group
def drift(
    path: Annotated[str, MODEL],
    words: Annotated[list[str] | None, typer.Argument(help="Only these words.", show_default="all words")] = None,
    n: Annotated[int, _N] = 16,
    metric: Annotated[str | None, METRIC] = None,
    between: Annotated[str | None, BETWEEN] = None,
    min_count: Annotated[int | None, MIN_COUNT_BOTH] = None,
    skip: Annotated[int | None, SKIP] = None,
    interpolated: Annotated[bool, INTERPOLATED] = False,
    intervals: Annotated[bool, INTERVALS] = False,
) -> Any:
    """Show the words that moved most, with the evidence: occurrences in both slices, and in how many slices at all.

    By default the widest range with enough text is compared. Below the table you are told how many words were
    eligible, and why others were not.

    [bold]Examples[/bold]

      driftword drift sotu.model

      driftword drift sotu.model --between 1930,1950 --metric relative -n 30

      driftword drift sotu.model energy security
    """
    from driftword import explore
    from driftword.cli import terminal

    ranking = explore.rank_drift(
        path, comma_separated(words) or None, n=n, metric=metric, between=two_slices(between), min_count=min_count,
        skip=skip, interpolated=interpolated, intervals=intervals,
    )  # fmt: skip
    return ranking.table, lambda _, console: terminal.print_ranking(ranking, console)


@question
@of_group
def trajectory(
    path: Annotated[str, MODEL],
    words: Annotated[list[str], _WORDS],
    at: Annotated[list[str] | None, _AT] = None,
    n: Annotated[int, typer.Option("-n", help="How many neighbours.")] = 6,
    intervals: Annotated[bool, INTERVALS] = False,
    groups: Annotated[list[str] | None, _GROUPS] = None,
) -> Any:
    """Show the trajectory of words through time: the position of each along the line on which it moved most.

    [bold]Examples[/bold]

      driftword trajectory sotu.model energy

      driftword trajectory sotu.model energy power --at 1825,1975

      driftword trajectory un.model security --groups USA,RUS
    """
    from driftword import explore
    from driftword.cli import terminal

    table = explore.trajectory(
        path, comma_separated(words), at=_slices(at), n=n, intervals=intervals, groups=comma_separated(groups) or None
    )
    return table, terminal.print_trajectories


@question
@of_group
def frequency(path: Annotated[str, MODEL], word: Annotated[str, _WORD]) -> Any:
    """Show how often a word occurs and how far it moved, to tell a change of use from a change of frequency.

    [bold]Example[/bold]

      driftword frequency sotu.model energy
    """
    from driftword import explore

    return explore.frequency(path, word)


@question
@of_group
def similarity(
    path: Annotated[str, MODEL],
    word: Annotated[str, _WORD],
    others: Annotated[list[str], typer.Argument(help="Words to compare it with.", show_default=False)],
    interpolated: Annotated[
        bool,
        typer.Option("--interpolated", help="Also give values where a word has no training text: guesses."),
    ] = False,
    intervals: Annotated[bool, INTERVALS] = False,
) -> Any:
    """Show how similar a word is to others, slice by slice (cosine, slice means removed).

    [bold]Examples[/bold]

      driftword similarity sotu.model peace war

      driftword similarity sotu.model peace war prosperity liberty --csv
    """
    from driftword import explore

    return explore.similarity(path, word, comma_separated(others), interpolated=interpolated, intervals=intervals)


@question
@of_group
def towards(
    path: Annotated[str, MODEL],
    word: Annotated[str, _WORD],
    low: Annotated[str, typer.Option(help="Words of one pole, separated by commas.", show_default=False)],
    high: Annotated[str, typer.Option(help="Words of the other pole.", show_default=False)],
    interpolated: Annotated[
        bool, typer.Option("--interpolated", help="Also give values where there is no training text; they are guesses.")
    ] = False,
    intervals: Annotated[bool, INTERVALS] = False,
) -> Any:
    """Show where a word lies between two poles of meaning, slice by slice: from -1 (low) to 1 (high).

    [bold]Example[/bold]

      driftword towards sotu.model energy --low vigor,zeal --high oil,coal
    """
    from driftword import explore

    below, above = comma_separated(low), comma_separated(high)
    return explore.towards(path, word, low=below, high=above, interpolated=interpolated, intervals=intervals)


@question
@of_group
def equivalents(
    path: Annotated[str, MODEL],
    word: Annotated[str, _WORD],
    at: Annotated[str, _ONE_SLICE],
    to: Annotated[
        list[str] | None, typer.Option(help="Slices to look in, separated by commas.", show_default="all")
    ] = None,
    n: Annotated[int, _N] = 10,
    min_count: Annotated[int, _MIN_COUNT] = MIN_COUNT,
    intervals: Annotated[bool, INTERVALS] = False,
) -> Any:
    """Show the words that were used at other times as a word was used in one slice.

    [bold]Example[/bold]

      driftword equivalents sotu.model telegraph --at 1870 --to 1995
    """
    from driftword import explore

    return explore.equivalents(path, word, at=at, to=_slices(to), n=n, min_count=min_count, intervals=intervals)


@question
@of_group
def analogy(
    path: Annotated[str, MODEL],
    a: Annotated[str, typer.Argument(help="As this word", show_default=False)],
    b: Annotated[str, typer.Argument(help="is to this,", show_default=False)],
    c: Annotated[str, typer.Argument(help="so is this to which?", show_default=False)],
    at: Annotated[str, _ONE_SLICE],
    to: Annotated[str | None, typer.Option(help="Slice to look in.", show_default="the same")] = None,
    n: Annotated[int, _N] = 10,
    min_count: Annotated[int, _MIN_COUNT] = MIN_COUNT,
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
        path, comma_separated(words) or None, n=n, min_count=min_count, min_rank=min_rank, intervals=intervals
    )


@question
@of_group
def movers(
    path: Annotated[str, MODEL],
    at: Annotated[str, _ONE_SLICE],
    n: Annotated[int, _N] = 16,
    min_count: Annotated[int | None, MIN_COUNT_BOTH] = None,
    skip: Annotated[int | None, SKIP] = None,
) -> Any:
    """Show the words that moved most from the slice before into a given one.

    [bold]Example[/bold]

      driftword movers sotu.model --at 1935
    """
    from driftword import explore

    return explore.movers(path, at=at, n=n, min_count=min_count, skip=skip)


@command(no_args_is_help=True)
@of_group
def plot(
    path: Annotated[str, MODEL],
    words: Annotated[list[str] | None, typer.Argument(help="The word; for similarity, the others after it.")] = None,
    kind: Annotated[
        str,
        typer.Option(
            help="trajectory, neighbors, similarity, frequency, map, changes or contrast of a word; drift or history."
        ),
    ] = "trajectory",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="File to write: .svg, .png, .pdf, .html or .json.", show_default="WORD-KIND.svg"
        ),
    ] = None,
    at: Annotated[list[str] | None, _AT] = None,
    n: Annotated[
        int | None, typer.Option("-n", help="How many words, neighbours or change points.", show_default="as fits")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="For drift: as in [bold]drift[/bold].")] = None,
    between: Annotated[str | None, BETWEEN] = None,
    min_count: Annotated[int | None, typer.Option(help="For drift: as in [bold]drift[/bold].")] = None,
    skip: Annotated[int | None, typer.Option(help="For drift: as in [bold]drift[/bold].")] = None,
    intervals: Annotated[
        bool,
        typer.Option("--intervals", help="For trajectory, similarity and contrast: draw a band of uncertainty."),
    ] = False,
    interpolated: Annotated[bool, typer.Option("--interpolated", help="For drift: as in [bold]drift[/bold].")] = False,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,NAME",
            show_default=False,
            help="For trajectory, similarity and frequency: a line for each of these groups; for contrast: the two.",
        ),
    ] = None,
) -> None:
    """Draw a figure and save it: SVG, PNG, PDF, HTML (one file, works offline) or Vega-Lite JSON.

    [bold]Examples[/bold]

      driftword plot sotu.model energy

      driftword plot sotu.model peace war prosperity --kind similarity --out peace.pdf

      driftword plot sotu.model energy --at 1865,1975 --out energy.png

      driftword plot sotu.model --kind drift --between 1900,2000 --out drift.png

      driftword plot un.model security --groups USA,RUS --intervals
    """
    from driftword import plot as charts
    from driftword.basics import checks
    from driftword.cli import terminal
    from driftword.models.model import as_model

    checks.one_of("kind", kind, charts.KINDS)
    given = list(words or [])
    if kind in charts.WITHOUT_WORD:
        if given:
            raise OptionError(f"A figure of {kind} shows no single word; leave '{given[0]}' out")
        arguments: list[object] = []
    elif kind == "similarity" and len(given) < 2:
        raise OptionError("A figure of similarity needs a word and at least one other to compare it with")
    elif not given or (len(given) > 1 and kind != "similarity"):
        raise OptionError(f"A figure of {kind} shows one word, and {len(given)} were given")
    else:
        arguments = [given[0], *([given[1:]] if kind == "similarity" else [])]
    asked: dict[str, Any] = {
        "at": _slices(at), "n": n, "metric": metric, "between": two_slices(between), "min_count": min_count,
        "skip": skip, "interpolated": interpolated or None, "intervals": intervals or None,
        "groups": comma_separated(groups) or None,
    }  # fmt: skip
    options = {name: value for name, value in asked.items() if value is not None}
    unknown = [name for name in options if name not in charts.OPTIONS.get(kind, ())]
    if unknown:
        raise OptionError(f"A figure of {kind} has no `{unknown[0]}`; leave it out")
    chart = getattr(charts, kind)(as_model(path), *arguments, **options)
    name = f"{given[0].replace(' ', '-').replace('/', '-')}-{kind}.svg" if given else f"{kind}.svg"
    terminal.say(f"Wrote {charts.save(chart, out or Path(name))}")


@command("export", no_args_is_help=True)
@of_group
def export_model(
    path: Annotated[str, MODEL],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder or file to write.", show_default=False)],
    format: Annotated[
        str,
        typer.Option("--format", help="word2vec, word2vec-binary, projector, parquet, safetensors or numpy."),
    ] = "word2vec",
    at: Annotated[
        list[str] | None, typer.Option(help="Slices to write, separated by commas.", show_default="all")
    ] = None,
    min_count: Annotated[int, _MIN_COUNT] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is at --out.")] = False,
) -> None:
    """Write embeddings for other programs: gensim, TensorFlow's projector, data frames, NumPy.

    [bold]Examples[/bold]

      driftword export sotu.model --out vectors --at 1863,1963

      driftword export sotu.model --format parquet --out sotu.parquet --min-count 5

      driftword export un.model --group USA --out usa
    """
    from driftword.cli import terminal
    from driftword.exchange.exporting import export

    written = export(path, out, format=format, at=_slices(at), min_count=min_count, overwrite=overwrite)
    terminal.say(f"Wrote {written}")
