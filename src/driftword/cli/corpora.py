"""Commands about text: prepare it, describe it, read in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from driftword.basics import checks
from driftword.basics.checks import comma_separated
from driftword.basics.errors import OptionError, StoreError
from driftword.basics.visible_text import visible
from driftword.cli.app import CORPUS, DASK, JSON, THREADS, command, command_line, question, with_options


def _word_list(option: str, path: Path | None) -> list[str]:
    """Read a list of words, one per line."""
    if path is None:
        return []
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError as error:
        raise OptionError(f"The file '{path}' given as `{option}` is not UTF-8; save it as UTF-8") from error
    except OSError as error:
        raise OptionError(f"The file '{path}' given as `{option}` cannot be read: {error.strerror}") from error


def _groups(given: str | None) -> list[str] | int | None:
    """Read --groups: names separated by commas, or a number."""
    if given is None:
        return None
    return int(given) if given.strip().isdecimal() else comma_separated([given])


@command(no_args_is_help=True)
def prepare(
    source: Annotated[
        str,
        typer.Argument(
            help="A CSV, TSV, JSON lines, Parquet or Arrow file (also .gz, .zst); a glob in quotes; a folder of such "
            "files or of .txt files; an address such as s3://bucket/*.parquet; or sotu, for the State of the Union "
            "addresses.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory to write the corpus to.", show_default=False)],
    text: Annotated[
        str | None, typer.Option(help="Column that holds the text.", show_default="text, body, content, ...")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="Column that holds the date.", show_default="date, time, year, ...")
    ] = None,
    slices: Annotated[
        str,
        typer.Option(
            help="How to divide time: 1y, 2y, 10y, 1q, 1mo, 1w; equal:N for N slices with about as many words each; "
            "edges such as 1946,1970,1991,2023; or periods such as 1810-1860,1960-2010."
        ),
    ] = "1y",
    vocabulary: Annotated[int, typer.Option(help="How many words to keep, the most frequent ones.")] = 25_000,
    min_count: Annotated[
        int | None,
        typer.Option(help="How often a word must occur to be kept.", show_default="5, less for short texts"),
    ] = None,
    stopwords: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of words to leave out, one per line.")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of words to keep however rare they are, one per line.")
    ] = None,
    phrases: Annotated[
        bool, typer.Option("--phrases/--no-phrases", help='Join collocations such as "health care" into one word.')
    ] = True,
    phrase_threshold: Annotated[
        float, typer.Option(help="Smallest normalised PMI of a phrase: 0 is chance, 1 means never apart.")
    ] = 0.45,
    phrase_min_count: Annotated[
        int | None, typer.Option(help="How often a phrase must occur.", show_default="10, or 1 in a million words")
    ] = None,
    tokens: Annotated[
        str,
        typer.Option(
            help="How text is split: words finds them in running text; whitespace is for text that is already split; "
            "list is for a column of lists of words, which is also noticed automatically."
        ),
    ] = "words",
    numbers: Annotated[bool, typer.Option("--numbers", help="Keep numbers as words.")] = False,
    language: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            help="Keep only documents in this language (en, de, fr, ...), and those too short to tell.",
            show_default="all",
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Encoding of the files, such as cp1252 or shift_jis.", show_default="detected"
        ),
    ] = None,
    subsample: Annotated[
        str, typer.Option(metavar="T", help="Threshold of the subsampling: auto, none, or a number such as 1e-5.")
    ] = "auto",
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that divides the documents into groups, such as country or party; models "
            "then also have embeddings of each group.",
            show_default="no groups",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Values of that column that become groups, separated by commas, or how many of the "
            "largest; the rest is one group more.",
            show_default="all values, if they are few",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the splits and the subsampling.")] = 0,
    time_format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="Format of the dates, such as %d/%m/%Y, or %y for two-digit years; or seconds or milliseconds "
            "since 1970.",
            show_default="dates as people write them",
        ),
    ] = None,
    time_from_name: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Regular expression that finds the date in the path of a .txt file.",
            show_default="a date, a month, or a year of four digits",
        ),
    ] = None,
    skip_bad_dates: Annotated[
        bool, typer.Option("--skip-bad-dates", help="Leave out documents whose date cannot be read.")
    ] = False,
    skip_bad_rows: Annotated[bool, typer.Option("--skip-bad-rows", help="Leave out malformed rows.")] = False,
    skip_bad_files: Annotated[
        bool, typer.Option("--skip-bad-files", help="Leave out files that cannot be read to their end.")
    ] = False,
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="The same as --skip-bad-dates, --skip-bad-rows and --skip-bad-files together."),
    ] = False,
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

      driftword prepare "archive/*.parquet" --dask tcp://host:8786 --out archive.corpus   (on many machines)

      driftword prepare sotu --slices 5y --out sotu.corpus   (the State of the Union addresses)
    """
    from driftword import preparing
    from driftword.cli import terminal

    corpus = preparing.prepare(
        source, out=out, text=text, time=time, slices=slices, vocabulary=vocabulary, min_count=min_count,
        stopwords=_word_list("stopwords", stopwords), keep=_word_list("keep", keep), phrases=phrases,
        phrase_threshold=phrase_threshold, phrase_min_count=phrase_min_count, tokens=tokens, numbers=numbers,
        language=language, encoding=encoding, subsample=subsample, group=group, groups=_groups(groups), seed=seed,
        time_format=time_format, time_from_name=time_from_name, skip_bad_dates=skip_bad_dates or skip_bad,
        skip_bad_rows=skip_bad_rows or skip_bad, skip_bad_files=skip_bad_files or skip_bad, dask=dask,
        threads=threads, overwrite=overwrite,
    )  # fmt: skip
    if as_json:
        terminal.print_json(corpus.info())
        return
    console = terminal.out()
    terminal.print_corpus(corpus, console, spell=with_options)
    fit = command_line("fit", out, "--out", out.with_suffix(".model"))
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
    from driftword.cli import terminal
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
        terminal.print_corpus(opened, terminal.out(), spell=with_options)


@question
def passages(
    path: Annotated[str, CORPUS],
    word: Annotated[str, typer.Argument(help='A word, or a phrase in quotes: "social security".', show_default=False)],
    at: Annotated[
        str | None, typer.Option(help="A slice: its label, a year or a date.", show_default="all slices")
    ] = None,
    n: Annotated[int, typer.Option("-n", help="How many lines, from as many documents as possible.")] = 10,
    width: Annotated[int, typer.Option(help="Characters of text on either side.")] = 60,
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only documents with this value in a column: COLUMN=VALUE. May be given several times."),
    ] = None,
) -> Any:
    """Show a word in the texts it occurs in, one line per occurrence.

    Lines come from all slices, or from one of them with --at.

    [bold]Examples[/bold]

      driftword passages sotu.corpus energy --at 1955

      driftword passages sotu.corpus energy --where party=Republican

      driftword passages sotu.corpus "social security" -n 20 --csv > lines.csv
    """
    from driftword.cli import terminal
    from driftword.corpus import Corpus

    corpus = Corpus.open(path)
    conditions = dict(_condition(text) for text in where or [])
    lines = corpus.passages(word, at=at, n=n, width=width, where=conditions or None)

    def for_people(lines: Any, console: Any) -> None:
        if lines.is_empty():
            in_slice = f" in {corpus.slices.labels[corpus.slices.index(at)]}" if at else ""
            terminal.say(f"'{word}' does not occur{in_slice}{' in such documents' if conditions else ''}.")
        else:
            terminal.print_passages(lines, console)

    return lines, for_people


def _condition(text: str) -> tuple[str, str]:
    column, equals, value = text.partition("=")
    if not equals:
        raise OptionError(f"`where` is '{text}'; write COLUMN=VALUE, such as country=FRA")
    return column.strip(), value.strip()
