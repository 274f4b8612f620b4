"""The command that makes vectors of occurrences with an encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from driftword.basics.checks import comma_separated
from driftword.basics.errors import OptionError
from driftword.cli.app import command, command_line, end, interrupted
from driftword.cli.arguments import CORPUS, THREADS


@command(no_args_is_help=True)
def encode(
    path: Annotated[str, CORPUS],
    words: Annotated[
        list[str] | None, typer.Argument(help="Words.", show_default="those that --model lists first")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(help="Folder of an encoder in Hugging Face's format, or the name of one in its cache here."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Directory to write.", show_default="beside the corpus")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A tested model: encode the words that it lists first.", show_default=False)
    ] = None,
    top: Annotated[int, typer.Option(help="How many words of --model.")] = 50,
    n: Annotated[int, typer.Option("-n", help="How many occurrences of each word, at random; 0 for all.")] = 1_000,
    seed: Annotated[int, typer.Option(help="Seed of the choice.")] = 0,
    width: Annotated[int, typer.Option(help="Characters of text on either side that the encoder sees.")] = 200,
    controls: Annotated[
        int, typer.Option(help="How many words drawn at random show what all words do at a time.")
    ] = 30,
    layers: Annotated[int, typer.Option(help="Take the mean of so many of the last layers.")] = 4,
    pool: Annotated[str, typer.Option(help="word: the vector of the word; text: of all that is seen.")] = "word",
    device: Annotated[
        str | None, typer.Option(help="Where it runs: cpu, cuda, cuda:1, ...", show_default="a GPU, if there is one")
    ] = None,
    threads: Annotated[int | None, THREADS] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace vectors at --out.")] = False,
) -> None:
    r"""Make vectors of the occurrences of words with an encoder, such as BERT, that is on this machine.

    Nothing is downloaded. significance, drift, senses, evidence, describe and collocates then take the result in the
    place of a model. An interrupted encoding goes on where it was when the same command is given again. Needs the
    extra: pip install 'driftword\[encoder]'.

    [bold]Examples[/bold]

      driftword encode sotu.corpus energy bonds frontier --encoder ./all-MiniLM-L6-v2

      driftword encode un.corpus --model un.model --top 200 --encoder bert-base-uncased --device cuda

      driftword senses sotu.usage bonds
    """
    from driftword.cli import terminal
    from driftword.corpus import Corpus
    from driftword.encoding.encoding import encode as make
    from driftword.models.model import Model

    if encoder is None:
        raise OptionError("No encoder is named; give its folder as `encoder`")
    names = comma_separated(words)
    if not names and model is not None:
        tested = Model.open(model).significance
        if tested is None:
            raise OptionError(f"The model at '{model}' has not been tested; run `significance` first, or name words")
        names = tested.listed[:top]
    if not names:
        raise OptionError("No words are named; name some, or a tested model whose words are listed as `model`")
    place = Path(path).with_suffix(".usage") if out is None else out
    try:
        made = make(
            Corpus.open(path), names, encoder=encoder, n=n or None, seed=seed, width=width, controls=controls,
            layers=layers, pool=pool, out=place, overwrite=overwrite, device=device, threads=threads,
        )  # fmt: skip
    except (KeyboardInterrupt, Exception):
        if not interrupted():
            raise
        end("Interrupted; what was encoded is kept, and the same command goes on from there", 130)
    encoded = int((~made.occurrences["control"]).sum())
    terminal.out().print(
        f"{encoded:,} occurrences of {len(made.words):,} words, {made.vectors.shape[1]} dimensions, by "
        f"{made.encoding['encoder'] if made.encoding else encoder}"
    )
    terminal.out().print(f"\nWritten to {place}. Next: {command_line('significance', place)}")
