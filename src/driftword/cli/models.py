"""Commands about models: fit them, score them, compare them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from driftword.cli.app import CORPUS, CSV, FORM, JSON, MODEL, command, end, show
from driftword.errors import OptionError
from driftword.model import Spec

_SPEC = Spec()
ENGINE = typer.Option(help="auto (a GPU where PyTorch sees one), cpu, torch, or reference, which is slow.")
DEVICE = typer.Option(help="For torch: cuda, cuda:1, ... or cpu.")


@command("fit", no_args_is_help=True)
def fit_model(
    path: Annotated[Path, CORPUS],
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
    engine: Annotated[str, ENGINE] = "auto",
    device: Annotated[str | None, DEVICE] = None,
    threads: Annotated[int | None, typer.Option(help="Threads.", show_default="all cores")] = None,
    seed: Annotated[int, typer.Option(help="Seed of start, order and negatives.")] = 0,
    reproducible: Annotated[
        bool, typer.Option("--reproducible", help="Same to the last bit each time with several threads, but slower.")
    ] = False,
    half: Annotated[
        bool, typer.Option("--half", "--half-precision", help="Store float16, on a GPU while fitting too.")
    ] = False,
    checkpoint_every: Annotated[
        float, typer.Option(help="Keep a checkpoint after a pass if the last is so many seconds old.")
    ] = 20.0,
    choose: Annotated[
        bool, typer.Option("--tune", help="First choose rates, precisions and block on the validation text.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted fit stopped.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a model at --out.")] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Fit a model to a corpus.

    [bold]Examples[/bold]

      driftword fit sotu.corpus --out sotu.model

      driftword fit sotu.corpus --model static --context 2 --out static.model

      driftword fit sotu.corpus --out sotu.model --resume   (after Ctrl-C)

      driftword fit sotu.corpus --out sotu.model --tune   (about five times as long)

      driftword fit un.corpus --out un.model --device cuda:1
    """
    from driftword import store, terminal
    from driftword.corpus import Corpus
    from driftword.engines import gpu_is_usable
    from driftword.fitting import checkpoints, fit
    from driftword.model import KIND
    from driftword.tuning import tune

    spec = Spec(
        model=model, context=context, dim=dim, drift_precision=drift_precision, prior_precision=prior_precision,
        learning_rate=learning_rate, final_rate=final_rate, negatives=negatives, pool=pool, block=block, run=run,
        rounds=rounds, resample=resample,
    )  # fmt: skip
    corpus = Corpus.open(path)
    if model == "dynamic" and len(corpus.slices) == 1:
        terminal.warn("the corpus has one slice, so the dynamic model equals the static one")
    if engine == "auto" and device is None and gpu_is_usable():
        terminal.warn("fitting on the GPU, as PyTorch sees one; --engine cpu would use the processor")
    if choose:  # Ctrl-C here loses nothing but time: no pass of the fit itself is complete
        store.check_free(out, kind=KIND, overwrite=overwrite)
        tuned = tune(
            corpus, spec, passes=passes, seed=seed, threads=threads, engine=engine, device=device, out=out,
            resume=resume,
        )  # fmt: skip
        spec = tuned.spec
        if not as_json:
            terminal.print_table(tuned.tried, terminal.out())
    try:
        made = fit(
            corpus, spec, passes=passes, engine=engine, threads=threads, seed=seed, out=out, resume=resume,
            patience=patience, reproducible=reproducible, half=half, device=device, overwrite=overwrite,
            checkpoint_seconds=checkpoint_every,
        )  # fmt: skip
    except KeyboardInterrupt:
        if not checkpoints(out):
            end("interrupted; no pass was old enough to be kept", 130)
        again = " ".join([*(part for part in sys.argv[1:] if part != "--resume"), "--resume"])
        end(f"interrupted; the passes that were complete are kept. Go on with: driftword {again}", 130)
    if as_json:
        terminal.print_json(made.info())
        return
    terminal.print_model(made, terminal.out())


@command("evaluate", no_args_is_help=True)
def evaluate_model(
    path: Annotated[Path, MODEL],
    corpus: Annotated[
        Path | None, typer.Option(help="The corpus it was fitted to.", show_default="where it was then")
    ] = None,
    split: Annotated[str, typer.Option(help="test, valid or train.")] = "test",
    by: Annotated[str | None, typer.Option(help="slice, or band of frequency.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads.", show_default="all cores")] = None,
    engine: Annotated[str, ENGINE] = "auto",
    device: Annotated[str | None, DEVICE] = None,
    as_json: Annotated[bool, JSON] = False,
    as_csv: Annotated[bool, CSV] = False,
    form: Annotated[str | None, FORM] = None,
) -> None:
    """Score a model on held-out text.

    L_pos is the mean log-probability of the words that occur, L_neg that of twenty drawn words that do not;
    L is their sum, and what models are compared by. Standard errors (_se) are over documents.

    [bold]Examples[/bold]

      driftword evaluate sotu.model

      driftword evaluate sotu.model --by slice --csv
    """
    from driftword.corpus import Corpus
    from driftword.evaluation import evaluate
    from driftword.model import Model

    model = Model.open(path)
    where = corpus or model.meta["provenance"]["corpus_path"]
    if where is None:
        raise OptionError("the model does not know its corpus; name it with --corpus")
    scores = evaluate(model, Corpus.open(where), split=split, by=by, threads=threads, engine=engine, device=device)
    show(scores, as_json, as_csv, form)


@command("compare", no_args_is_help=True)
def compare_models(
    path: Annotated[Path, CORPUS],
    contexts: Annotated[str, typer.Option(help="Sizes of context, with commas between.")] = "2,8",
    passes: Annotated[int, typer.Option(help="Most passes over the text.")] = 10,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder to keep the fitted models in.")] = None,
    resample: Annotated[str, typer.Option(help="each-pass, or once as in the paper.")] = _SPEC.resample,
    seed: Annotated[int, typer.Option(help="Seed of start, order and negatives.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads.", show_default="all cores")] = None,
    engine: Annotated[str, ENGINE] = "auto",
    device: Annotated[str | None, DEVICE] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace models in that folder that have other options.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write a Markdown table.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Write a LaTeX table.")] = False,
    as_json: Annotated[bool, JSON] = False,
    as_csv: Annotated[bool, CSV] = False,
) -> None:
    """Fit static, binned and dynamic models and score them on the test text: the paper's table.

    [bold]Example[/bold]

      driftword compare sotu.corpus --out models
    """
    from driftword.corpus import Corpus
    from driftword.evaluation import as_table, compare

    try:
        sizes = [int(size) for size in contexts.split(",")]
    except ValueError as error:
        raise OptionError(f"contexts '{contexts}' is not understood; write numbers such as 2,8") from error
    spec = Spec(resample=resample)
    table = compare(
        Corpus.open(path), contexts=sizes, spec=spec, passes=passes, seed=seed, threads=threads, engine=engine,
        device=device, out=out, overwrite=overwrite,
    )  # fmt: skip
    if markdown or latex:
        print(as_table(table, form="latex" if latex else "markdown"))
        return
    show(table, as_json, as_csv)
