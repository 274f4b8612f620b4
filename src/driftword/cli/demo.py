"""The demonstration."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from driftword.cli.app import command

_TITLE = "the State of the Union"
WORDS = ("energy", "security", "relief", "power")


@command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory to write.")] = Path("demo"),
) -> None:
    """Show driftword at work on two centuries of State of the Union addresses, and write a report."""
    from driftword import explore, plot
    from driftword.cli import answers, finding_answers, terminal
    from driftword.fitting.comparison import compare
    from driftword.inference.significance import significance
    from driftword.models.model import Model
    from driftword.models.significance_table import verdict
    from driftword.pages.offline_report import report
    from driftword.preparing import prepare
    from driftword.uses.describing import describe
    from driftword.uses.driving_passages import evidence

    console = terminal.out()
    console.print("[bold]State of the Union addresses, 1790-2026[/bold]\n")
    corpus = prepare("sotu", out=out / "sotu.corpus", slices="5y", vocabulary=10_000, overwrite=True)
    answers.print_corpus(corpus, console)

    console.print("\n[bold]Held-out text: one embedding for all times, or one that drifts?[/bold]")
    scores = compare(corpus, contexts=(8,), models=("static", "dynamic"), out=out, passes=3, overwrite=True)
    answers.print_comparison(scores, console)

    model = Model.open(out / "dynamic-8.model")
    tested = significance(model, corpus=corpus)
    console.print("\n[bold]The words that changed most, and what changed in them[/bold]")
    finding_answers.print_sentences(describe(model, n=12, corpus=corpus), console)
    console.print("\n[bold]The passages that show it[/bold]")
    word = WORDS[0]
    finding_answers.print_evidence(evidence(model, word, corpus=corpus), describe(model, word, corpus=corpus), console)
    rates = dict(tested.select("word", "q").iter_rows())
    for word in WORDS:
        console.print(f"\n[bold]{word}[/bold] and its neighbours; its change is {verdict(rates[word])}")
        answers.print_neighbors(explore.neighbors(model, word, n=8), model, word, console)

    for word in WORDS:
        plot.save(plot.trajectory(model, word), out / f"{word}.svg")
    written = report(model, out=out / "report.html", corpus=corpus, words=WORDS, n=20, title=_TITLE, overwrite=True)
    program = "driftword" if shutil.which("driftword") else sys.argv[0]  # make's own is in .venv/bin
    console.print(
        f"\nOpen [bold]{written}[/bold] in a browser: the words that changed most, each with the passages that show "
        "it, its trajectory, and its neighbours then and now. It is a single file that you can send to anyone.\n"
        "The explorer has all other words, and every question is a command:"
    )
    console.print(f'  {program} explore {out / "dynamic-8.model"} --title "{_TITLE}"   (in the browser)')
    console.print(f"  {program} neighbors {out / 'dynamic-8.model'} liberty")
    console.print(f"  {program} passages {out / 'sotu.corpus'} liberty --at 1863")
