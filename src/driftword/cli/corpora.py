"""Commands about text: prepare it, describe it, read in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from driftword.basics import checks
from driftword.basics.errors import OptionError, StoreError
from driftword.basics.visible_text import visible
from driftword.cli.app import Answer, command, command_line, question, with_options
from driftword.cli.arguments import CORPUS, DASK, IN_SLICE, JSON, THREADS, WHERE
from driftword.cli.options import prepare_options
from driftword.corpus.options import PrepareOptions


@command(no_args_is_help=True)
@prepare_options()
def prepare(
    source: Annotated[
        str,
        typer.Argument(
            help="A CSV, TSV, JSON lines, TEI, CoNLL-U or VRT file (also .gz, .bz2, .xz, .zst), a Parquet or Arrow "
            "file; a glob in quotes; a folder of such files or of .txt files; an address such as "
            "s3://bucket/*.parquet; or sotu, for the State of the Union addresses.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Directory to write the corpus to, or an address such as s3://bucket/x.",
            show_default=False,
        ),
    ],
    *,
    options: PrepareOptions,
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="The same as --skip-bad-dates, --skip-bad-rows and --skip-bad-files together."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the splits and the subsampling.")] = 0,
    dask: Annotated[str | None, DASK] = None,
    threads: Annotated[int | None, THREADS] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a corpus that is already at --out.")] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Turn dated text into a corpus.

    Reads the text once, divides it into slices of time, finds words and phrases, and holds out a fifth of it
    for validation and testing. At the end it says what is in the corpus, and what was left out and why.

    [bold]Examples[/bold]

      driftword prepare speeches.csv --text body --time year --out speeches.corpus

      driftword prepare "papers/*.jsonl.gz" --time date --slices 1q --out papers.corpus

      driftword prepare letters/ --slices 10y --out letters.corpus   (a folder of .txt files, 1861-05-12_home.txt)

      driftword prepare posts.parquet --language en --stopwords stop.txt --out posts.corpus

      driftword prepare debates.parquet --group country --groups USA,RUS,CHN --out debates.corpus

      driftword prepare "s3://bucket/*.parquet" --out s3://bucket/archive.corpus

      driftword prepare "archive/*.parquet" --dask tcp://host:8786 --out archive.corpus   (on many machines)

      driftword prepare sotu --slices 5y --out sotu.corpus   (the State of the Union addresses)
    """
    from driftword import preparing
    from driftword.cli import answers, terminal

    if skip_bad:
        options = replace(options, skip_bad_dates=True, skip_bad_rows=True, skip_bad_files=True)
    corpus = preparing.prepare(source, options, out=out, seed=seed, dask=dask, threads=threads, overwrite=overwrite)
    if as_json:
        terminal.print_json(corpus.info())
        return
    console = terminal.out()
    answers.print_corpus(corpus, console, spell=with_options)
    fit = command_line("fit", out, "--out", f"{out.rstrip('/').removesuffix('.corpus')}.model")
    console.print("\n" + visible(f"Written to {out}. Next: {fit}"), markup=False)


@command(no_args_is_help=True)
def info(
    path: Annotated[str, typer.Argument(help="A corpus or a model directory.", show_default=False)],
    verify: Annotated[
        bool, typer.Option("--verify", help="Also read every file and compare it with its recorded hash.")
    ] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Show what is in a corpus or a model.

    For a corpus: its documents, words and slices, how much text each slice has, and what was left out and why.
    For a model: its options, how it was fitted and how well it predicts.

    [bold]Examples[/bold]

      driftword info sotu.corpus

      driftword info sotu.corpus --verify   (after copying it)
    """
    from driftword.cli import answers, terminal
    from driftword.corpus import Corpus
    from driftword.models.model import Model
    from driftword.storage import store

    location = checks.location("path", path)
    meta = store.read_meta(location)
    if meta is None and isinstance(location, Path) and location.is_dir() and not (location / store.META).exists():
        raise StoreError(
            f"'{path}' is neither a corpus nor a model (it has no {store.META}); name one that prepare or fit wrote"
        )
    kind = "model" if meta and meta["kind"] == "model" else "corpus"
    if verify:
        store.open_store(path, kind=kind).verify()
    opened: Any = Model.open(path) if kind == "model" else Corpus.open(path)
    if as_json:
        terminal.print_json(opened.info())
    elif kind == "model":
        terminal.print_facts(opened.summary(), terminal.out())
    else:
        answers.print_corpus(opened, terminal.out(), spell=with_options)


@question
def passages(
    path: Annotated[str, CORPUS],
    word: Annotated[str, typer.Argument(help='A word, or a phrase in quotes: "social security".', show_default=False)],
    at: Annotated[str | None, IN_SLICE] = None,
    n: Annotated[int, typer.Option("-n", help="How many lines, from as many documents as possible.")] = 10,
    width: Annotated[int, typer.Option(help="Characters of text on either side.")] = 60,
    where: Annotated[list[str] | None, WHERE] = None,
) -> Any:
    """Show a word in the texts it occurs in, one line per occurrence.

    Lines come from all slices, or from one of them with --at.

    [bold]Examples[/bold]

      driftword passages sotu.corpus energy --at 1955

      driftword passages sotu.corpus energy --where party=Republican

      driftword passages sotu.corpus "social security" -n 20 --csv > lines.csv
    """
    from driftword.cli import answers, terminal
    from driftword.corpus import Corpus

    corpus = Corpus.open(path)
    conditions = dict(read_condition(text) for text in where or [])
    lines = corpus.passages(word, at=at, n=n, width=width, where=conditions or None)

    def for_people(lines: Any, console: Any) -> None:
        if lines.is_empty():
            in_slice = f" in {corpus.slices.labels[corpus.slices.index(at)]}" if at else ""
            terminal.say(f"'{word}' does not occur{in_slice}{' in such documents' if conditions else ''}.")
        else:
            answers.print_passages(lines, console)

    return Answer(lines, for_people)


def read_condition(text: str) -> tuple[str, str]:
    """Read a column and the value that documents must have in it."""
    column, equals, value = text.partition("=")
    if not equals:
        raise OptionError(f"`where` is '{text}'; write COLUMN=VALUE, such as country=FRA")
    return column.strip(), value.strip()
