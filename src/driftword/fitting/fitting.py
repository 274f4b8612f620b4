"""Fitting: passes over the text, validation after each, stopping, and the model of the best pass.

Nothing here depends on the machine: an engine runs the rounds, the schedule says how.
"""

from __future__ import annotations

import contextlib
import functools
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, SupportsFloat

import numpy as np
import numpy.typing as npt

from driftword.basics import checks
from driftword.basics.errors import DriftwordWarning, FitError, OptionError, StoreError
from driftword.basics.process import available_cores, machine, rank, versions
from driftword.basics.progress import Progress, progress
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.engines import Engine, choose_engine, make_engine
from driftword.engines.parameters import Floats, Parameters, by_slice, initial_parameters, split_intercepts
from driftword.engines.registry import ENGINES
from driftword.engines.rounds import Sampler
from driftword.engines.streaming import rounds_of_pass
from driftword.fitting.checkpoints import Checkpoints, History, find_checkpoints
from driftword.fitting.group_fitting import GroupFit
from driftword.fitting.held_out import (
    EXPONENT,
    KNOWS_NOTHING,
    MOST_VALIDATION,
    HeldOut,
    frequency_log_odds,
    measure_contexts,
)
from driftword.fitting.memory import WITH_GROUPS, check_memory
from driftword.fitting.schedule import Schedule
from driftword.models.model import KIND, GroupEmbeddings, Model
from driftword.models.provenance import Provenance
from driftword.models.spec import Spec, as_spec
from driftword.storage import store
from driftword.storage.atomic_writes import check_space, reserved

LOOK_EVERY: Final = 0.1  # seconds between two looks at what a device does: it stands still for them
CHECKPOINT_EVERY: Final = 20.0  # seconds that a kill may cost at most, besides the pass under way
StartEngine = Callable[[Parameters, Sampler], Engine]
_SCORES: Final = ("L_pos", "L_neg", "L", "L_se")


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
        Directory to write; None keeps the model in memory.
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
    corpus = as_corpus(corpus)
    spec = as_spec(spec)
    passes, patience = checks.whole("passes", passes, least=1), checks.whole("patience", patience, least=1)
    threads, seed = checks.threads(threads), checks.seed(seed)
    checkpoint_every = checks.real("checkpoint_every", checkpoint_every, low=0)
    resume, overwrite = checks.flag("resume", resume), checks.flag("overwrite", overwrite)
    reproducible = checks.flag("reproducible", reproducible)
    half_precision = checks.flag("half_precision", half_precision)
    show_progress = checks.show_progress(show_progress)
    out = checks.optional(checks.path, "out", out)
    if resume and out is None:
        raise OptionError("Only a fit with an output directory can be resumed; give its `out`")
    if not corpus.has_split("train"):
        raise OptionError("The corpus has no training text")
    name = choose_engine(engine, device)
    distances = corpus.slices.distances[: 0 if spec.model == "static" else None]
    check_memory(spec, len(corpus.slices), len(corpus.words), len(corpus.groups))
    centering = measure_contexts(corpus, spec.context // 2) if spec.intercept else None
    schedule = Schedule(spec, passes, distances, seed, centering)
    options: dict[str, Any] = {
        "threads": threads,
        "reproducible": reproducible,
        "device": device,
        "half_precision": half_precision,
    }
    number, processes = rank()
    if number:
        return _follow(corpus, out)
    with contextlib.ExitStack() as stack:
        start_alone: StartEngine = functools.partial(make_engine, name, **options)
        start_engine = start_alone
        if processes > 1:
            from driftword.engines.distributed.engine import leading  # it needs PyTorch

            start_engine = stack.enter_context(leading(corpus, name, options))
        checkpoints = None
        if out is not None:
            store.check_free(out, kind=KIND, overwrite=overwrite)
            tables = 1 + len(corpus.groups) + spec.contexts_drift
            values = (tables * schedule.n_slices + 1) * len(corpus.words) * spec.dim
            check_space(Path(out), values * (2 if half_precision else 4))
            lock = stack.enter_context(reserved(out))  # before the work, and until it is stored
            store.check_free(out, kind=KIND, overwrite=overwrite)
            checkpoints = Checkpoints(lock.target, _identity(corpus, schedule, name))
        bar = stack.enter_context(progress(show=show_progress))
        state = None
        if checkpoints is not None:
            if resume:
                state = checkpoints.resume()
            else:
                checkpoints.clear(overwrite=overwrite)
        training = _Training(corpus, schedule, state, start_engine, start_alone, dtype=ENGINES[name].dtype)
        saved = time.perf_counter()
        while len(training.history) < passes and not training.stalled(patience):
            training.run_pass(bar, resumable=checkpoints is not None)
            if checkpoints is not None:
                checkpoints.log(training.history[-1])
            if checkpoints is not None and time.perf_counter() - saved >= checkpoint_every:
                training.save(checkpoints)
                saved = time.perf_counter()
            elif training.best_pass == len(training.history) < passes:
                training.snapshot_best()
        training.warn_if_useless()
        model = _make_model(training, checkpoints, name, threads, half_precision=half_precision, bar=bar)
        if out is None or checkpoints is None:
            return model
        stored = _store(model, out, training, checkpoints, overwrite=overwrite)
        checkpoints.remove()
        return stored


def follow(corpus: Corpus | str | os.PathLike[str]) -> None:
    """Take part in a fit that another process of this ``torchrun`` leads, until it is done."""
    from driftword.engines.distributed.engine import follow as carry_out

    carry_out(as_corpus(corpus))


def _follow(corpus: Corpus, out: str | os.PathLike[str] | None) -> Model:
    """Take part in a fit; return its model, if it is stored where this process can open it."""
    follow(corpus)
    if out is None:
        raise OptionError("Of several processes that fit together only the first has the model; give its `out`")
    return Model.open(out)


def _store(
    model: Model, out: str | os.PathLike[str], training: _Training, checkpoints: Checkpoints, *, overwrite: bool
) -> Model:
    """Store a finished model; if that fails, keep the state of the fit, so that nothing has to be done again."""
    try:
        return model.save(out, overwrite=overwrite)
    except StoreError as error:
        with contextlib.suppress(StoreError):  # the last checkpoint stays where this one cannot be written
            training.save(checkpoints)
        if not find_checkpoints(checkpoints.target):
            raise
        raise StoreError(f"{error}. The fit is kept: continue it with `resume=True` once this is put right") from error


def _identity(corpus: Corpus, schedule: Schedule, engine: str) -> dict[str, Any]:
    """Return what must be equal for a fit to be the continuation of another."""
    return {
        "spec": schedule.spec.to_dict(),
        "seed": schedule.seed,
        "corpus": corpus.fingerprint,
        "engine": engine,
        "passes": schedule.passes if schedule.spec.final_rate < 1 else None,  # the learning rate depends on it
    }


class _Training:
    """The loop over passes: an engine, the scores after each pass, and the best pass so far."""

    def __init__(
        self,
        corpus: Corpus,
        schedule: Schedule,
        state: tuple[Parameters, History] | None,
        start_engine: StartEngine,
        start_alone: StartEngine,
        *,
        dtype: type[np.floating[Any]],
    ) -> None:
        self.corpus, self.schedule = corpus, schedule
        self.start_alone = start_alone  # an engine of this process, even where several fit together
        spec = schedule.spec
        sampler = Sampler.make(corpus.raw_counts, spec.exponent)
        reader = ThreadPoolExecutor(1)  # the first pass need not wait for the text it will be scored on
        scoring_sampler = sampler if spec.exponent == EXPONENT else None
        self._held_out = reader.submit(HeldOut, corpus, "valid", sampler=scoring_sampler, most=MOST_VALIDATION)
        reader.shutdown(wait=False)
        parameters, self.history = state or (
            initial_parameters(
                len(corpus.words),
                spec.dim,
                seed=schedule.seed,
                initial_scale=spec.initial_scale,
                initial_accumulator=spec.initial_accumulator,
                intercepts=frequency_log_odds(corpus, spec.exponent, spec.negatives) if spec.intercept else None,
                dtype=dtype,
            ),
            [],
        )
        self.engine = start_engine(parameters, sampler)
        self._best: tuple[int, Callable[[], tuple[Floats, Floats]]] | None = None  # a pass, and its embeddings

    def run_pass(self, bar: Progress, *, resumable: bool) -> None:
        """Run one pass and score it; `resumable` says whether there are checkpoints to continue from."""
        number, schedule, corpus = len(self.history), self.schedule, self.corpus
        static = schedule.is_static(number)
        if number == 1 and not static:
            self.engine = self.engine.broadcast(
                schedule.n_slices, schedule.spec.initial_accumulator, contexts=schedule.spec.contexts_drift
            )
        begin = time.perf_counter()
        n_rounds, rounds = rounds_of_pass(self.engine, corpus, schedule.plan(number))
        total, done, looked = 0.0, 0, begin
        name = "static pass" if static and schedule.n_slices > 1 else "pass"
        bar.stage(f"{name} {number + 1} of {schedule.passes}", total=self._expected_words)
        prior = None
        if not static and schedule.spec.walk != "random":
            prior = schedule.prior_at(self.engine.embeddings()[0], corpus.raw_counts)
        unseen: list[SupportsFloat] = []
        for r, part in enumerate(rounds):
            unseen.append(self.engine.round(part, schedule.step(number, r, prior, rounds=n_rounds)))
            done += part.positions
            now = time.perf_counter()
            if r + 1 < n_rounds and now - looked < LOOK_EVERY:
                continue
            total, unseen, looked = total + sum(map(float, unseen)), [], now
            if not (np.isfinite(total) and self.engine.finite()):
                raise self._diverged(number, "numbers grew beyond all bounds", resumable=resumable)
            rate = done / (time.perf_counter() - begin)
            facts = f"{rate / 1e3:,.0f}k words/s, L_pos {total / max(done, 1):.3f}{self._last_scores()}"
            bar.update(done=done, facts=facts)
        if not done and number == 0:
            raise OptionError("There is too little text to train on: a pass sees no word; bring more text")
        seconds = time.perf_counter() - begin
        scores = self._validate()
        self.history.append(
            {
                "pass": number + 1,
                "kind": "static" if static else schedule.spec.model,
                "words": done,
                "seconds": round(seconds, 3),
                "scoring_seconds": round(time.perf_counter() - begin - seconds, 3),
                "train_L_pos": total / max(done, 1),
                **scores,
            }
        )
        self.check_convergence(resumable=resumable)

    @functools.cached_property
    def _expected_words(self) -> float:
        """How many words a pass is expected to see."""
        return float(self.corpus.train_counts.sum(axis=0, dtype=np.float64) @ self.corpus.keep_probability)

    def _validate(self) -> dict[str, float]:
        if not self.corpus.has_split("valid"):
            return dict.fromkeys(_SCORES, float("nan"))
        summary = self._held_out.result().score(self.engine, context=self.schedule.spec.context).summary()
        return {name: summary[name] for name in _SCORES}

    @functools.cached_property
    def _frequency_scores(self) -> tuple[float, float]:
        """L_pos and L of word frequencies alone; NaN without validation text."""
        text = self._held_out.result()
        return text.frequency_scores(self.corpus) if len(text.text.ids) else (float("nan"), float("nan"))

    def check_convergence(self, *, resumable: bool) -> None:
        """Stop a fit whose last pass has diverged: one that is far off, and because of what it claims.

        Far off is nearer to knowing nothing than to word frequencies alone. A fit that is merely slow is far off as
        well, but claims little: it predicts the words that occur no worse than their frequencies do.
        """
        positive, frequency = self._frequency_scores
        last = self.history[-1]
        if last["L"] < (frequency + KNOWS_NOTHING) / 2 and last["L_pos"] < positive:
            raise self._diverged(len(self.history) - 1, self._worse(last["L"]), resumable=resumable)

    def warn_if_useless(self) -> None:
        """Say so where the finished model is surely no better than word frequencies alone."""
        best = self.history[self.best_pass - 1]
        if best["L"] + 2 * best["L_se"] < self._frequency_scores[1]:
            warnings.warn(
                f"The model predicts less well than word frequencies alone: {self._worse(best['L'])}; give it more "
                f"text or more `passes`, or try another `learning_rate` (it is {self.schedule.spec.learning_rate:g})",
                DriftwordWarning,
                stacklevel=3,
            )

    def _worse(self, score: float) -> str:
        alone = self._frequency_scores[1]
        return f"on validation text its L is {score:.2f}, and that of word frequencies alone {alone:.2f}"

    def _diverged(self, number: int, reason: str, *, resumable: bool) -> FitError:
        remedy = f"use a smaller `learning_rate` (it is {self.schedule.spec.learning_rate:g})"
        state = f"; the state after pass {number} is kept" if number and resumable else ""
        return FitError(f"The fit diverged in pass {number + 1}: {reason}; {remedy}{state}")

    def _last_scores(self) -> str:
        if not self.history:
            return ""
        last = self.history[-1]
        return f", validation {last['L_pos']:.3f} {last['L_neg']:+.3f} = {last['L']:.3f}"

    @property
    def best_pass(self) -> int:
        """The pass with the best validation score; of the model's own passes, once there is one."""
        own, score = self._own_passes() or self.history, self.schedule.spec.select_by
        return int(max(own, key=lambda entry: (np.nan_to_num(entry[score], nan=-np.inf), entry["pass"]))["pass"])

    def stalled(self, patience: int) -> bool:
        """Tell whether the validation score has not become better for this many passes."""
        return bool(self._own_passes()) and len(self.history) - self.best_pass >= patience

    def _own_passes(self) -> History:
        return [entry for entry in self.history if entry["kind"] == self.schedule.spec.model]

    def snapshot_best(self) -> None:
        """Keep the embeddings of the best pass, which is the last one, in memory until a checkpoint does."""
        self._best = (self.best_pass, self.engine.snapshot())

    def save(self, checkpoints: Checkpoints) -> None:
        """Store the state after the last pass, and the embeddings of the best."""
        if self._best is not None and self._best[0] == self.best_pass:
            checkpoints.save_best(*self._best[1](), self.history, best_pass=self.best_pass)
        self._best = None
        checkpoints.save(self.engine.parameters, self.history, best_pass=self.best_pass)

    def best_embeddings(self, checkpoints: Checkpoints | None) -> tuple[Floats, Floats]:
        """Return rho and alpha of the best pass, wherever they are."""
        if self.best_pass == len(self.history):
            return self.engine.embeddings()
        if self._best is not None and self._best[0] == self.best_pass:
            return self._best[1]()
        assert checkpoints is not None
        return checkpoints.open_best(self.best_pass)


def _make_model(
    training: _Training, checkpoints: Checkpoints | None, engine: str, threads: int | None, *, half_precision: bool,
    bar: Progress,
) -> Model:  # fmt: skip
    corpus, schedule = training.corpus, training.schedule
    dtype = np.float16 if half_precision else np.float32
    best = training.best_embeddings(checkpoints)
    groups = _fit_groups(training, best, dtype, bar)
    with np.errstate(over="ignore"):  # found below
        rho, alpha = (np.asarray(values, dtype) for values in best)
    rho, intercepts = split_intercepts(rho, alpha.shape[-1])
    if schedule.spec.model == "frequency":
        rho = rho[:1]  # the walk keeps it the same in every slice
    if not (_finite(rho) and _finite(alpha)):
        raise FitError("Some embeddings are too large for 16 bits; fit without `half_precision`")
    provenance = Provenance(
        engine=engine,
        corpus=corpus.fingerprint,
        corpus_path=corpus.location,
        citation=corpus.citation,
        seed=schedule.seed,
        passes=schedule.passes,
        shuffled_dates=corpus.shuffled,
        threads=threads or available_cores(),
        ran_on=training.engine.machine,
        machine=machine(),
        versions=versions(),
    )
    return Model(
        rho, alpha, intercepts, vocabulary=corpus.vocabulary, spec=schedule.spec, provenance=provenance,
        history=training.history, best_pass=training.best_pass, groups=groups,
    )  # fmt: skip


def _finite(values: npt.NDArray[Any]) -> bool:
    """Whether all numbers are finite; seen to in threads, as there may be billions."""
    with ThreadPoolExecutor(available_cores()) as threads:
        return all(threads.map(lambda part: bool(np.isfinite(part).all()), by_slice(values)))


def _fit_groups(
    training: _Training, best: tuple[Floats, Floats], dtype: type[np.floating[Any]], bar: Progress
) -> dict[str, GroupEmbeddings]:
    """Fit the groups of the corpus, if it has any and the model moves."""
    corpus, schedule = training.corpus, training.schedule
    if not corpus.groups or schedule.spec.model not in WITH_GROUPS or len(best[0]) < 2:
        return {}
    start = (np.asarray(best[0], dtype=np.float32), np.asarray(best[1], dtype=np.float32))
    found = {}
    for name, group in GroupFit(corpus, schedule, start, training.start_alone).run(bar).items():
        rho, intercepts = split_intercepts(group.rho.astype(dtype), start[1].shape[-1])
        found[name] = GroupEmbeddings(
            rho, intercepts, group.corpus.counts, group.corpus.train_counts, tuple(group.history)
        )
    return found
