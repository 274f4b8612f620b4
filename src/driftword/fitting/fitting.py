"""Fitting a model: check what the user gave, plan the fit (`job`), train it (`training`) and keep it (`keeping`)."""

from __future__ import annotations

import os
from pathlib import Path

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.basics.jit import compiling_shown
from driftword.basics.process import rank
from driftword.basics.progress import Progress, progress
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.fitting.job import Job, StartAny, plan_job, telling_others
from driftword.fitting.keeping import CHECKPOINT_EVERY, Keeper, reserved_for
from driftword.fitting.training import Training
from driftword.models.model import Model
from driftword.models.spec import Spec, as_spec


def fit(
    corpus: Corpus | str | os.PathLike[str],
    spec: Spec | None = None,
    *,
    passes: int = 10,
    engine: str = "auto",
    threads: int | None = None,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    patience: int = 2,
    reproducible: bool = False,
    half_precision: bool = False,
    device: str | None = None,
    checkpoint_every: float = CHECKPOINT_EVERY,
    overwrite: bool = False,
    show_progress: bool | None = None,
) -> Model:
    """Fit a model to a corpus.

    Parameters
    ----------
    corpus
        What `driftword.prepare` made, or its path.
    spec
        The options of the model; the defaults were chosen on held-out text.
    passes
        Maximum number of passes over the training text, including the static one.
    engine
        ``"auto"``, ``"cpu"``, ``"torch"`` (an NVIDIA GPU), or ``"reference"`` (slow; for checking). Auto takes a GPU
        where PyTorch sees one.
    threads
        Number of threads of the CPU engine; all cores by default.
    seed
        Seed of the initial values, the order of the text and the negatives.
    out
        Directory to write, or an address such as ``"s3://bucket/archive.model"``, where no checkpoints are kept; None
        keeps the model in memory.
    resume
        Continue from the last checkpoint of an interrupted fit with the same `out` and options.
    patience
        Stop after this many passes without a better validation score.
    reproducible
        Make a fit on a GPU identical every time, at the cost of some speed; on the CPU every fit is, whatever the
        number of threads.
    half_precision
        Store embeddings as float16, and on a GPU also fit with it: half the memory.
    device
        Where the torch engine runs: ``"cuda"``, ``"cuda:1"``, or ``"cpu"``, which is slow.
    checkpoint_every
        Keep a checkpoint after a pass when the last one is at least this many seconds old; 0 keeps one after every
        pass.
    overwrite
        Replace a model at `out`, or the checkpoints of an interrupted fit of it.
    show_progress
        Show a progress bar; by default where standard error is a terminal.

    Returns
    -------
    The model of the pass with the best validation score.
    """
    with telling_others():
        corpus, spec = as_corpus(corpus), as_spec(spec)
        passes, patience = checks.whole("passes", passes, least=1), checks.whole("patience", patience, least=1)
        threads, seed = checks.threads(threads), checks.seed(seed)
        checkpoint_every = checks.real("checkpoint_every", checkpoint_every, low=0)
        resume, overwrite = checks.flag("resume", resume), checks.flag("overwrite", overwrite)
        reproducible = checks.flag("reproducible", reproducible)
        half_precision = checks.flag("half_precision", half_precision)
        show_progress = checks.show_progress(show_progress)
        out = checks.optional(checks.location, "out", out)
        if resume and out is None:
            raise OptionError("Only a fit with an output directory can be resumed; give its `out`")
        if resume and isinstance(out, str):
            raise OptionError(f"Nothing can be resumed at '{out}', where no checkpoints are kept; leave out `resume`")
        machine = {"threads": threads, "reproducible": reproducible, "half_precision": half_precision, "device": device}
        job = plan_job(corpus, spec, passes=passes, seed=seed, engine=engine, machine=machine)
    if rank()[0] > 0:  # another process leads
        follow(corpus)
        if out is None:
            raise OptionError("Of several processes that fit together only the first has the model; give its `out`")
        return Model.open(out)
    with job.starting() as start_engine, progress(show=show_progress) as bar, compiling_shown(bar):
        return run_job(
            job, start_engine, patience=patience, bar=bar, out=out, resume=resume, overwrite=overwrite,
            checkpoint_every=checkpoint_every,
        )  # fmt: skip


def run_job(
    job: Job,
    start_engine: StartAny,
    *,
    patience: int,
    bar: Progress,
    out: Path | str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    checkpoint_every: float = CHECKPOINT_EVERY,
) -> Model:
    """Run a fit that was planned; the options are those of `fit`."""
    with reserved_for(job, out, overwrite=overwrite) as checkpoints:
        state = None
        if checkpoints is not None and resume:
            state = checkpoints.resume()
        elif checkpoints is not None:
            checkpoints.clear(overwrite=overwrite)
        training = Training(job, start_engine, state, resumable=checkpoints is not None)
        keeper = Keeper(training, checkpoints, every=checkpoint_every)
        while not training.is_done(patience):
            training.run_pass(bar)
            keeper.after_pass()
        training.warn_if_useless()
        return keeper.finish(out, overwrite=overwrite, bar=bar)


def follow(corpus: Corpus | str | os.PathLike[str]) -> None:
    """Take part in a fit that another process of this ``torchrun`` leads, until it is done."""
    from driftword.engines.distributed.engine import follow as carry_out

    with telling_others():
        corpus = as_corpus(corpus)
    carry_out(corpus)
