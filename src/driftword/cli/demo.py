"""The demonstration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from driftword.cli.shell import command


@command()
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
