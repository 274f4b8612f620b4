"""Commands about models: fit them, score them, describe them."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftword.basics import checks
from driftword.basics.errors import DriftwordError, OptionError
from driftword.basics.visible_text import visible
from driftword.cli.app import command, command_line, end, interrupted, question
from driftword.cli.arguments import CORPUS, DEVICE, ENGINE, JSON, MODEL, PASSES, THREADS, WHERE_CORPUS
from driftword.cli.options import spec_options
from driftword.models.spec import PAPER_SUBSAMPLE, Spec

if TYPE_CHECKING:
    from driftword.corpus import Corpus
    from driftword.models.model import Model

_MUCH_MEMORY = 1e9  # bytes, of which the user is told


@command("fit", no_args_is_help=True)
@spec_options()
def fit_model(
    path: Annotated[str, CORPUS],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Directory to write, or an address such as s3://bucket/x.model.",
            show_default=False,
        ),
    ],
    *,
    spec: Spec,
    passes: Annotated[int, PASSES] = 10,
    patience: Annotated[int, typer.Option(help="Stop after this many passes without a better validation score.")] = 2,
    seed: Annotated[int, typer.Option(help="Seed of the initial values, the order of the text and the negatives.")] = 0,
    engine: Annotated[str, ENGINE] = "auto",
    device: Annotated[str | None, DEVICE] = None,
    threads: Annotated[int | None, THREADS] = None,
    reproducible: Annotated[
        bool,
        typer.Option(
            "--reproducible", help="Get identical results every time on a GPU too; on the CPU they always are."
        ),
    ] = False,
    half_precision: Annotated[
        bool, typer.Option("--half-precision", help="Store float16, and on a GPU also fit with it: half the memory.")
    ] = False,
    checkpoint_every: Annotated[
        float, typer.Option(help="Keep a checkpoint after a pass if the last is this many seconds old.")
    ] = 20.0,
    significance: Annotated[
        bool | None,
        typer.Option(
            "--significance/--no-significance",
            help="Test in the end which words changed by more than chance, as [bold]significance[/bold] does.",
            show_default="if it takes less than a fifth of the fit",
        ),
    ] = None,
    shuffle_dates: Annotated[
        bool,
        typer.Option(
            "--shuffle-dates", help="Exchange the dates of documents first: a world without change, to compare."
        ),
    ] = False,
    tune: Annotated[
        bool, typer.Option("--tune", help="First choose rates, precisions and block size on the validation text.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted fit.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a model at --out.")] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Fit a model to a corpus.

    [bold]Examples[/bold]

      driftword fit sotu.corpus --out sotu.model

      driftword fit sotu.corpus --model static --context 2 --out static.model

      driftword fit sotu.corpus --out sotu.model --resume   (after Ctrl-C)

      driftword fit sotu.corpus --out sotu.model --tune   (takes about five times as long)

      driftword fit sotu.corpus --out paper.model --paper --drift-precision 1   (the options of the paper)

      driftword fit un.corpus --out un.model --device cuda:1

      torchrun --nproc-per-node 8 -m driftword fit un.corpus --out un.model   (eight processes, a GPU each)

      driftword fit sotu.corpus --out chance.model --shuffle-dates --significance   (what chance looks like)
    """
    from driftword.basics.process import rank
    from driftword.cli import terminal
    from driftword.corpus import Corpus
    from driftword.engines import choose_engine
    from driftword.fitting import tuning
    from driftword.fitting.fitting import fit, follow
    from driftword.fitting.job import WITH_GROUPS, fit_memory, telling_others
    from driftword.fitting.keeping import find_checkpoints
    from driftword.models.model import KIND
    from driftword.storage import store
    from driftword.storage.atomic_writes import reserved

    with telling_others():
        corpus = Corpus.open(path)
        if shuffle_dates:
            corpus = corpus.shuffle_dates(seed)
    if rank()[0]:  # the first process does the talking
        if tune:
            follow(corpus.without_groups())
        return follow(corpus)
    warn_about_text(corpus, spec)
    begin = time.perf_counter()
    if spec.model == "dynamic" and len(corpus.slices) == 1:
        terminal.warn("The corpus has one slice, so the dynamic model equals the static one")
    if engine == "auto" and choose_engine(engine, device) == "torch" and device is None:
        terminal.warn("Fitting on the GPU that PyTorch sees; --engine cpu uses the processor instead")
    if spec.contexts_drift or (corpus.groups and spec.model in WITH_GROUPS):
        size = fit_memory(spec, len(corpus.slices), len(corpus.words), len(corpus.groups))
        if size > _MUCH_MEMORY:
            terminal.warn(f"The fit takes about {size / 1e9:.1f} GB of memory")
    if spec.model != "static" and passes == 1:
        terminal.warn(f"With a single pass, which is static, a {spec.model} model does not move; use more --passes")
    with telling_others():
        place = checks.location("out", out)
        folder = place if isinstance(place, Path) else None  # nothing is kept beside a model at an address
        if resume and folder is None:
            raise OptionError(f"Nothing can be resumed at '{out}', where no checkpoints are kept; leave out `resume`")
    try:
        with telling_others():
            store.check_free(place, kind=KIND, overwrite=overwrite)
        with nullcontext() if folder is None else reserved(folder):  # from the tuning to the model
            if tune:  # Ctrl-C here loses nothing but time: no pass of the fit itself is complete
                with telling_others():
                    tuned = tuning.tune(
                        corpus, spec, passes=passes, seed=seed, threads=threads, engine=engine, device=device,
                        out=folder, resume=resume,
                    )  # fmt: skip
                spec = tuned.spec
                if not as_json:
                    terminal.print_table(tuned.tried, terminal.out())
            model = fit(
                corpus, spec, passes=passes, engine=engine, threads=threads, seed=seed, out=folder, resume=resume,
                patience=patience, reproducible=reproducible, half_precision=half_precision, device=device,
                overwrite=overwrite, checkpoint_every=checkpoint_every,
            )  # fmt: skip
    except (KeyboardInterrupt, Exception):
        if not interrupted() or folder is None:
            raise
        if not find_checkpoints(folder):
            end("Interrupted before the first checkpoint; nothing was kept", 130)
        again = command_line(*(part for part in sys.argv[1:] if part != "--resume"), "--resume")
        end(f"Interrupted; the last checkpoint is kept. Continue with: {again}", 130)
    options = {"threads": threads, "engine": "auto" if engine == "reference" else engine, "device": device}
    limit = (time.perf_counter() - begin) / 5
    try:
        tested = _test_significance(model, corpus, options, wanted=significance, limit=limit, out=out)
    finally:
        if folder is None:  # where nothing is added to a model that is there
            model = model.save(out, overwrite=overwrite)
    if as_json:
        terminal.print_json(model.info())
        return
    console = terminal.out()
    terminal.print_facts(model.summary(), console)
    if not tested and significance is None and len(model.slices) > 1:
        ask = f"Which words changed by more than chance is not tested yet: {command_line('significance', out)}"
        if folder is None:
            ask = "Which words changed by more than chance is not tested; --significance does that before the upload"
        console.print("\n" + visible(ask), markup=False)
    console.print("\n" + visible(f"Written to {out}. Next: {command_line('explore', out)}"), markup=False)


def _test_significance(
    model: Model, corpus: Corpus, options: dict[str, Any], *, wanted: bool | None, limit: float, out: str | Path
) -> bool:
    """Test which words changed, if that is wanted or quick; tell whether. The model is kept, whatever happens."""
    from driftword.cli import terminal
    from driftword.inference.significance import significance, takes_less_than

    if wanted is False or len(model.slices) < 2:
        return False
    try:
        if wanted or takes_less_than(limit, model, corpus, **options):
            significance(model, corpus=corpus, **options)
            return True
    except KeyboardInterrupt:
        again = command_line("significance", out)
        end(f"Interrupted; the model is complete, but its words are not tested. Test them with: {again}", 130)
    except DriftwordError as error:
        terminal.warn(f"The words are not tested: {error}")
    return False


@command("extend", no_args_is_help=True)
def extend_model(
    path: Annotated[str, MODEL],
    source: Annotated[
        str, typer.Argument(help="The new documents, as in prepare: a file, a glob or a folder.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Directory to write the longer model to.", show_default=False)
    ],
    corpus_out: Annotated[
        Path | None,
        typer.Option(help="Directory to write the longer corpus to.", show_default="beside it, ending in .corpus"),
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column that holds the text.", show_default="as before")] = None,
    time: Annotated[str | None, typer.Option(help="Column that holds the date.", show_default="as before")] = None,
    refit_from: Annotated[
        str | None,
        typer.Option(
            metavar="SLICE",
            help="Fit the slices from this one on again, with new documents among them; only earlier ones stay.",
            show_default="all old slices stay",
        ),
    ] = None,
    passes: Annotated[int, typer.Option(help="Maximum number of passes over the new text.")] = 4,
    seed: Annotated[int, typer.Option(help="Seed of the order of the text and the negatives.")] = 0,
    engine: Annotated[str, ENGINE] = "auto",
    device: Annotated[str | None, DEVICE] = None,
    threads: Annotated[int | None, THREADS] = None,
    significance: Annotated[
        bool,
        typer.Option(
            "--significance", help="Then test again which words changed by more than chance, in all of the time."
        ),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is already there.")] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Add new documents to a model, in slices after those it has.

    The new text is prepared as the old was. Old slices and the ids of words stay as they were, byte for byte; words
    that are new and frequent enough join at the end of the vocabulary. The model and its corpus are not changed:
    longer ones are written.

    [bold]Examples[/bold]

      driftword extend debates.model 2023.csv --out debates-2023.model

      driftword extend debates.model late.csv --refit-from 2021 --out complete.model   (documents of old slices)
    """
    from driftword.cli import terminal
    from driftword.fitting.extending import extend
    from driftword.models.model import corpus_of

    model = extend(
        path, source, out=out, corpus_out=corpus_out, text=text, time=time, refit_from=refit_from, passes=passes,
        seed=seed, threads=threads, engine=engine, device=device, overwrite=overwrite,
    )  # fmt: skip
    options = {"threads": threads, "engine": "auto" if engine == "reference" else engine, "device": device}
    if significance:
        _test_significance(model, corpus_of(model), options, wanted=True, limit=0.0, out=out)
    if as_json:
        terminal.print_json(model.info())
        return
    console = terminal.out()
    terminal.print_facts(model.summary(), console)
    if not significance:
        again = command_line("significance", out)
        console.print(
            "\n" + visible(f"Written to {out}. Which words changed is to be tested again: {again}"), markup=False
        )


@question
def evaluate(
    path: Annotated[str, MODEL],
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
    split: Annotated[str, typer.Option(help="test, valid or train.")] = "test",
    by: Annotated[
        str | None, typer.Option(help="slice, band (of frequency) or group.", show_default="all text")
    ] = None,
    threads: Annotated[int | None, THREADS] = None,
    engine: Annotated[str, ENGINE] = "auto",
    device: Annotated[str | None, DEVICE] = None,
) -> Any:
    """Score a model on held-out text.

    L_pos is the mean log-probability of the words that occur, L_neg that of twenty random words that do not; L is
    their sum, and what models are compared by. Standard errors (_se) are over documents.

    [bold]Examples[/bold]

      driftword evaluate sotu.model

      driftword evaluate sotu.model --by slice --csv
    """
    from driftword.fitting import evaluation

    return evaluation.evaluate(path, corpus=corpus, split=split, by=by, threads=threads, engine=engine, device=device)


@command("card", no_args_is_help=True)
def print_card(
    path: Annotated[str, MODEL],
    *,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
    score: Annotated[bool, typer.Option(help="Score the test text, which takes some seconds.")] = True,
) -> None:
    """Describe a model for those who did not make it: text, options, scores, how sure it is, what to cite.

    It is written in Markdown, to be published beside the model or in the appendix of a paper.

    [bold]Examples[/bold]

      driftword card sotu.model > CARD.md
    """
    from driftword.cli.terminal import print_for_programs
    from driftword.exchange.model_card import card

    print_for_programs(card(path, corpus=corpus, score=score))


def warn_about_text(corpus: Corpus, spec: Spec) -> None:
    """Say so where a model gets the paper's options, but not text that was subsampled as the paper's."""
    if spec.prior_slices == "first" and corpus.subsample not in (None, PAPER_SUBSAMPLE):
        from driftword.cli import terminal

        terminal.warn(
            f"The paper subsamples text with t = {PAPER_SUBSAMPLE:g}, this corpus has {corpus.subsample:g}; "
            f"prepare it again with --subsample {PAPER_SUBSAMPLE:g} to do as the paper does"
        )
