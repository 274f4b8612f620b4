"""Commands that ask a model: which words are near, which moved, when, and where to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from driftword.cli.app import MODEL, command, question
from driftword.explore.vectors import MIN_COUNT

_WORD = typer.Argument(help='A word, or a phrase in quotes: "social security".', show_default=False)
_AT = typer.Option(help="A slice: its label, a year or a date; may be given several times.", show_default=False)
_ONE = typer.Option("--at", help="A slice: its label, a year or a date.", show_default=False)
_MIN = typer.Option(help="Only words that occur at least so often in the slice; 0 allows all.")
_N = typer.Option("-n", help="How many.")


@question
def neighbors(
    path: Annotated[Path, MODEL],
    word: Annotated[str, _WORD],
    at: Annotated[list[str] | None, _AT] = None,
    every: Annotated[bool, typer.Option("--all", help="All slices.")] = False,
    n: Annotated[int, _N] = 10,
    metric: Annotated[str, typer.Option(help="paper, cosine or centred.")] = "paper",
    min_count: Annotated[int, _MIN] = MIN_COUNT,
) -> Any:
    """Show the words nearest to a word, slice by slice; without --at, in four slices that tell most.

    [bold]Examples[/bold]

      driftword neighbors sotu.model energy

      driftword neighbors sotu.model energy --at 1825 --at 1975 --metric cosine

      driftword neighbors sotu.model "social security" --all --csv > neighbours.csv
    """
    from driftword import explore, terminal
    from driftword.model import Model

    model = Model.open(path)
    slices = at or [model.slices.labels[t] for t in explore.telling(model, word, min_count=min_count)]
    table = explore.neighbors(model, word, at=None if every else slices, n=n, metric=metric, min_count=min_count)
    return table, lambda table, console: terminal.print_neighbors(table, model, word, console)


@question
def drift(
    path: Annotated[Path, MODEL],
    n: Annotated[int, _N] = 16,
    metric: Annotated[
        str,
        typer.Option(
            help="absolute (the paper's), cosine, thirds, farthest, path, step, neighbors, ranks, or relative "
            "(to words of similar frequency)."
        ),
    ] = "absolute",
    begin: Annotated[str | None, typer.Option("--from", help="From this slice.", show_default="the first")] = None,
    end: Annotated[str | None, typer.Option("--to", help="To this slice.", show_default="the last")] = None,
    min_count: Annotated[int, typer.Option(help="Only words that occur so often in both slices.")] = 0,
    skip: Annotated[int, typer.Option(help="Leave out so many of the most frequent words.")] = 0,
) -> Any:
    """Show the words that moved most, with the evidence: occurrences in both slices, and in how many at all.

    A word that does not occur in one of the two slices is marked as interpolated: its vector there is a guess.

    [bold]Examples[/bold]

      driftword drift sotu.model --min-count 5 --skip 200

      driftword drift sotu.model --from 1930 --to 1950 --metric relative -n 30
    """
    from driftword import explore
    from driftword.model import Model

    model = Model.open(path)
    labels = model.slices.labels
    between = (labels[0] if begin is None else begin, labels[-1] if end is None else end)
    return explore.drift(model, n=n, metric=metric, between=between, min_count=min_count, skip=skip)


@question
def trajectory(
    path: Annotated[Path, MODEL],
    word: Annotated[str, _WORD],
    at: Annotated[list[str] | None, _AT] = None,
    n: Annotated[int, typer.Option("-n", help="How many neighbours.")] = 6,
) -> Any:
    """Show the way of a word through time, on the line along which it moved most.

    [bold]Example[/bold]

      driftword trajectory sotu.model energy
    """
    from driftword import explore, terminal
    from driftword.model import Model

    return explore.trajectory(Model.open(path), word, at=at or None, n=n), terminal.print_trajectory


@question
def frequency(path: Annotated[Path, MODEL], word: Annotated[str, _WORD]) -> Any:
    """Show how often a word occurs, slice by slice, and how far it moved: whether its use changed or only its count.

    [bold]Example[/bold]

      driftword frequency sotu.model energy
    """
    from driftword import explore
    from driftword.model import Model

    return explore.frequency(Model.open(path), word)


@question
def similarity(
    path: Annotated[Path, MODEL],
    one: Annotated[str, _WORD],
    other: Annotated[str, _WORD],
) -> Any:
    """Show how near two words are to each other, slice by slice.

    [bold]Example[/bold]

      driftword similarity sotu.model peace war
    """
    from driftword import explore
    from driftword.model import Model

    return explore.similarity(Model.open(path), one, other)


@question
def towards(
    path: Annotated[Path, MODEL],
    word: Annotated[str, _WORD],
    low: Annotated[str, typer.Option(help="Words of the one pole, with commas between.", show_default=False)],
    high: Annotated[str, typer.Option(help="Words of the other pole.", show_default=False)],
) -> Any:
    """Show where a word lies between two poles of meaning, slice by slice.

    [bold]Example[/bold]

      driftword towards sotu.model energy --low vigor,zeal --high oil,coal
    """
    from driftword import explore
    from driftword.model import Model

    poles = tuple([word.strip() for word in pole.split(",") if word.strip()] for pole in (low, high))
    return explore.towards(Model.open(path), word, (poles[0], poles[1]))


@question
def equivalents(
    path: Annotated[Path, MODEL],
    word: Annotated[str, _WORD],
    at: Annotated[str, _ONE],
    to: Annotated[list[str] | None, typer.Option(help="Slices to look in.", show_default="all")] = None,
    n: Annotated[int, _N] = 10,
    min_count: Annotated[int, _MIN] = MIN_COUNT,
) -> Any:
    """Show the words that stand in other slices where a word stood in one.

    [bold]Example[/bold]

      driftword equivalents sotu.model telegraph --at 1870 --to 1995
    """
    from driftword import explore
    from driftword.model import Model

    return explore.equivalents(Model.open(path), word, at=at, to=to or None, n=n, min_count=min_count)


@question
def analogy(
    path: Annotated[Path, MODEL],
    a: Annotated[str, typer.Argument(help="As this word", show_default=False)],
    b: Annotated[str, typer.Argument(help="is to this,", show_default=False)],
    c: Annotated[str, typer.Argument(help="so is this to which?", show_default=False)],
    at: Annotated[str, _ONE],
    to: Annotated[str | None, typer.Option(help="Slice to look in.", show_default="the same")] = None,
    n: Annotated[int, _N] = 10,
    min_count: Annotated[int, _MIN] = MIN_COUNT,
) -> Any:
    """Complete an analogy: as A is to B, so C is to another word.

    [bold]Example[/bold]

      driftword analogy sotu.model army soldiers navy --at 1900
    """
    from driftword import explore
    from driftword.model import Model

    return explore.analogy(Model.open(path), a, b, c, at=at, to=to, n=n, min_count=min_count)


@question
def changes(
    path: Annotated[Path, MODEL],
    word: Annotated[str | None, typer.Argument(help="A word.", show_default="all words, ranked")] = None,
    n: Annotated[int, _N] = 16,
    min_count: Annotated[int, typer.Option(help="Only words that occur so often before and after.")] = MIN_COUNT,
) -> Any:
    """Show when meaning changed: the slice in which a new use begins.

    Every word has a largest change; "unusual" tells the share of words as frequent whose own is smaller.

    [bold]Examples[/bold]

      driftword changes sotu.model

      driftword changes sotu.model energy
    """
    from driftword import explore
    from driftword.model import Model

    return explore.changes(Model.open(path), word, n=n, min_count=min_count)


@question
def movers(
    path: Annotated[Path, MODEL],
    at: Annotated[str, _ONE],
    n: Annotated[int, _N] = 16,
    min_count: Annotated[int, _MIN] = MIN_COUNT,
) -> Any:
    """Show the words that moved most from the slice before into a given one.

    [bold]Example[/bold]

      driftword movers sotu.model --at 1935
    """
    from driftword import explore
    from driftword.model import Model

    return explore.movers(Model.open(path), at=at, n=n, min_count=min_count)


@question
def pace(path: Annotated[Path, MODEL], min_count: Annotated[int, _MIN] = MIN_COUNT) -> Any:
    """Show how far language moved into each slice: the mean distance of its words from the slice before.

    [bold]Example[/bold]

      driftword pace sotu.model
    """
    from driftword import explore
    from driftword.model import Model

    return explore.pace(Model.open(path), min_count=min_count)


@command(no_args_is_help=True)
def plot(
    path: Annotated[Path, MODEL],
    words: Annotated[list[str] | None, typer.Argument(help="The word; for similarity, the others after it.")] = None,
    kind: Annotated[
        str,
        typer.Option(help="trajectory, neighbors, similarity, frequency, map or changes of a word; drift or history."),
    ] = "trajectory",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help=".svg, .png, .pdf, .html or .json.", show_default="WORD-KIND.svg"),
    ] = None,
    at: Annotated[list[str] | None, _AT] = None,
    n: Annotated[int | None, typer.Option("-n", help="How many words or neighbours.", show_default="as fits")] = None,
    metric: Annotated[str | None, typer.Option(help="For drift: as in [bold]drift[/bold].")] = None,
    begin: Annotated[str | None, typer.Option("--from", help="For drift: from this slice.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="For drift: to this slice.")] = None,
    min_count: Annotated[int | None, typer.Option(help="For drift: only words that occur so often in both.")] = None,
    skip: Annotated[int | None, typer.Option(help="For drift: leave out so many of the most frequent words.")] = None,
) -> None:
    """Draw a figure and save it: SVG, PNG, PDF, HTML (one file, works offline) or Vega-Lite JSON.

    [bold]Examples[/bold]

      driftword plot sotu.model energy

      driftword plot sotu.model peace war prosperity --kind similarity --out peace.pdf

      driftword plot sotu.model energy --at 1865 --at 1975 --out energy.png

      driftword plot sotu.model --kind drift --from 1900 --to 2000 --skip 200 --out drift.png
    """
    from driftword import plot as charts
    from driftword.errors import OptionError
    from driftword.explore import vectors as space
    from driftword.model import Model

    space.choose("kind", kind, charts.KINDS)
    given = list(words or [])
    if kind in charts.WITHOUT_WORD:
        if given:
            raise OptionError(f"a figure of {kind} shows no single word; leave '{given[0]}' out")
        arguments: list[object] = []
    elif kind == "similarity" and len(given) < 2:
        raise OptionError("similarity needs a word and at least one other to compare it with")
    elif not given or (len(given) > 1 and kind != "similarity"):
        raise OptionError(f"a figure of {kind} shows one word; {len(given)} were given")
    else:
        arguments = [given[0], *([given[1:]] if kind == "similarity" else [])]
    draw = getattr(charts, kind)
    asked = {"at": at or None, "n": n, "metric": metric, "min_count": min_count, "skip": skip, "from": begin, "to": end}
    options: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    wrong = [name for name in options if name not in charts.OPTIONS.get(kind, ())]
    if wrong:
        option = f"-{wrong[0]}" if wrong == ["n"] else f"--{wrong[0].replace('_', '-')}"
        raise OptionError(f"a figure of {kind} has no {option}; leave it out")
    model = Model.open(path)
    if "from" in options or "to" in options:
        labels = model.slices.labels
        options["between"] = (options.pop("from", labels[0]), options.pop("to", labels[-1]))
    chart = draw(model, *arguments, **options)
    name = f"{given[0].replace(' ', '-').replace('/', '-')}-{kind}.svg" if given else f"{kind}.svg"
    print(f"wrote {charts.save(chart, out or Path(name))}")


@command("export", no_args_is_help=True)
def export_model(
    path: Annotated[Path, MODEL],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder or file to write.", show_default=False)],
    form: Annotated[
        str,
        typer.Option("--format", help="word2vec, word2vec-binary, projector, parquet, safetensors or numpy."),
    ] = "word2vec",
    at: Annotated[list[str] | None, _AT] = None,
    min_count: Annotated[int, _MIN] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is at --out.")] = False,
) -> None:
    """Write embeddings for other programs: gensim, TensorFlow's projector, data frames, NumPy.

    [bold]Examples[/bold]

      driftword export sotu.model --out vectors --at 1863 --at 1963

      driftword export sotu.model --format parquet --out sotu.parquet --min-count 5
    """
    from driftword.exporting import export
    from driftword.model import Model

    print(f"wrote {export(Model.open(path), out, form=form, at=at or None, min_count=min_count, overwrite=overwrite)}")
