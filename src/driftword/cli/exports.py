"""Commands that write for others: figures, and embeddings in other programs' formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from driftword.basics.checks import comma_separated
from driftword.basics.errors import OptionError
from driftword.cli.app import command
from driftword.cli.arguments import AT, BETWEEN, MIN_COUNT_IN_SLICE, MODEL, read_slices, two_slices
from driftword.cli.queries import of_group


@command(no_args_is_help=True)
@of_group
def plot(
    path: Annotated[str, MODEL],
    words: Annotated[list[str] | None, typer.Argument(help="The word; for similarity, the others after it.")] = None,
    kind: Annotated[
        str,
        typer.Option(
            help="trajectory, neighbors, similarity, frequency, map, changes, contrast or senses of a word; drift or "
            "history."
        ),
    ] = "trajectory",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="File to write: .svg, .png, .pdf, .html or .json.", show_default="WORD-KIND.svg"
        ),
    ] = None,
    at: Annotated[list[str] | None, AT] = None,
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
        "at": read_slices(at), "n": n, "metric": metric, "between": two_slices(between), "min_count": min_count,
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
    min_count: Annotated[int, MIN_COUNT_IN_SLICE] = 0,
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

    written = export(path, out=out, format=format, at=read_slices(at), min_count=min_count, overwrite=overwrite)
    terminal.say(f"Wrote {written}")
