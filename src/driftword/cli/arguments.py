"""Arguments and options that several commands share, and how their values are read."""

from __future__ import annotations

from typing import Any, Final

import typer

from driftword.basics.checks import comma_separated
from driftword.basics.errors import OptionError

CORPUS = typer.Argument(
    help="A corpus directory, as made by [bold]prepare[/bold], or its address (s3://...).", show_default=False
)
SOURCE = typer.Argument(
    metavar="MODEL",
    help="A model directory, as made by [bold]fit[/bold], or vectors of occurrences, as made by [bold]encode[/bold].",
    show_default=False,
)
MODEL = typer.Argument(help="A model directory, as made by [bold]fit[/bold], or its address.", show_default=False)
IN_SLICE = typer.Option(help="A slice: its label, a year or a date.", show_default="all slices")
WHERE = typer.Option(help="Only documents with this value in a column: COLUMN=VALUE. May be given several times.")
MODEL_OR_CORPUS = typer.Argument(
    metavar="MODEL", help="A model directory, as made by [bold]fit[/bold], or a corpus.", show_default=False
)
JSON = typer.Option("--json", help="Write JSON for programs.")
THREADS = typer.Option(help="Number of threads.", show_default="all cores")
DASK = typer.Option(
    metavar="ADDRESS",
    help="Work on a Dask cluster: tcp://host:8786, or local for one process on each core.",
    show_default="off",
)
CSV = typer.Option("--csv", help="Write CSV for programs.")
FORMATS: Final = ("table", "json", "csv", "markdown", "latex")
FORMAT = typer.Option("--format", help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
ENGINE = typer.Option(help="auto (a GPU where PyTorch sees one), cpu, torch, or reference, which is slow.")
DEVICE = typer.Option(help="Device of the torch engine: cuda, cuda:1, ... or cpu.", show_default="the first GPU")
PASSES = typer.Option(help="Maximum number of passes over the training text.")
WHERE_CORPUS = typer.Option(help="The corpus it was fitted to.", show_default="where it was then")
WORD = typer.Argument(help='A word, or a phrase in quotes: "social security".', show_default=False)
WORDS = typer.Argument(help='Words, or phrases in quotes: "social security".', show_default=False)
AT = typer.Option(
    help="Slices: labels, years or dates, separated by commas; or all.", show_default="representative slices"
)
ONE_SLICE = typer.Option("--at", help="A slice: its label, a year or a date.", show_default=False)
MIN_COUNT_IN_SLICE = typer.Option(
    help="Only words that occur at least this often in the slice's training text; 0 allows all."
)
N = typer.Option("-n", help="How many words to show.")
METRIC = typer.Option(
    help="relative (to words of similar frequency), absolute (the paper's), cosine, thirds, farthest, path, step, "
    "neighbors or ranks; of vectors of occurrences: apd, prt, raw_apd or raw_prt.",
    show_default="relative",
)
BETWEEN = typer.Option(
    metavar="FIRST,LAST", help="Two slices, such as 1900,2000.", show_default="the widest range with enough text"
)
MIN_COUNT_BOTH = typer.Option(
    help="Only words that occur at least this often in the training text of both slices.", show_default="5"
)
SKIP = typer.Option(help="Leave out this many of the most frequent words.", show_default="2% of all, at most 200")
GROUP = typer.Option(
    "--group", metavar="NAME", help="Only the documents of this group, where the model has groups.", show_default="all"
)
GROUPS = typer.Option(
    metavar="NAME,NAME", help="Each of these groups, such as USA,RUS, where the model has groups.", show_default=False
)
INTERVALS = typer.Option(
    "--intervals", help="Also show how uncertain it is, from the documents: 90% intervals, or support."
)
INTERPOLATED = typer.Option(
    "--interpolated", help="Also rank words without training text in one of the slices; their vectors are guesses."
)
GOLD = typer.Option(
    help="Also compare with words whose change people have judged: folder of such a data set, or its file.",
    show_default=False,
)


def two_slices(between: str | None) -> tuple[str | None, str | None] | None:
    """Read --between: two slices separated by a comma; one that is left out takes its default."""
    if between is None:
        return None
    first, comma, last = between.partition(",")
    if not comma or "," in last or not between.strip(" ,"):
        raise OptionError(f"`between` is '{between}'; write two slices separated by a comma, such as 1900,2000")
    return first.strip() or None, last.strip() or None


def periods(between: str | None) -> tuple[Any, Any] | None:
    """Read --between: two slices, or two periods such as 1946:1960, separated by a comma."""
    ends = two_slices(between)
    if ends is None or None in ends:
        if ends is not None:
            raise OptionError(f"`between` is '{between}'; write two slices separated by a comma, such as 1950,2000")
        return None
    first, last = (tuple(part.strip() for part in end.split(":")) if ":" in end else end for end in ends if end)
    return first, last


def read_slices(at: list[str] | None) -> Any:
    """Read --at: None where it was not given, "all", or a list of slices."""
    given = comma_separated(at)
    if at and not given:
        raise OptionError("No slice was named; name one, or leave the option out")
    return "all" if given == ["all"] else given or None


def read_numbers(name: str, text: str) -> list[int]:
    """Read whole numbers separated by commas."""
    try:
        return [int(part) for part in comma_separated(text)]
    except ValueError as error:
        raise OptionError(f"`{name}` is '{text}'; write whole numbers separated by commas, such as 2,8") from error


def read_shares(text: str) -> list[float]:
    """Read --share: numbers separated by commas."""
    try:
        return [float(part) for part in comma_separated(text)]
    except ValueError as error:
        raise OptionError(f"`share` is '{text}'; write shares separated by commas, such as 0.2,0.5") from error
