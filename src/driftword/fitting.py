"""Fitting: passes and rounds, schedule, validation, stopping, checkpoints.

Every model begins with one static pass. The binned and the dynamic model then
copy its embeddings into every slice and go on from there. After each pass the
held-out validation text is scored; the best pass is kept, and fitting stops when
it no longer gets better. Nothing here knows on what machine it runs.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

from driftword import store
from driftword.corpus import Corpus
from driftword.engines import Engine, choose_engine, engine_dtype, make_engine
from driftword.engines.reference import start_parameters
from driftword.engines.rounds import Floats, Parameters, Pass, Sampler, Step
from driftword.errors import FitError, OptionError, StoreError
from driftword.held_out import EXPONENT, HeldOut
from driftword.model import KIND, Model, Spec, write_model
from driftword.progress import Progress, progress

CHECKPOINT: Final = "checkpoint"
CHECKPOINT_SECONDS: Final = 20.0  # what a kill may cost at most, beside the pass under way
#: Share of the learning rate in a binned model's own passes: nothing but its start holds a word rare in a slice.
BINNED_RATE: Final = 0.2


def fit(
    corpus: Corpus,
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
    half: bool = False,
    device: str | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    overwrite: bool = False,
    show_progress: bool | None = None,
) -> Model:
    """Fit a model to a corpus.

    Parameters
    ----------
    corpus
        What `driftword.prepare` made.
    spec
        The options of the model; its defaults were chosen on held-out text.
    passes
        Most passes over the training text, the static one included.
    engine
        ``"auto"``, ``"cpu"``, ``"torch"`` (an NVIDIA GPU), or ``"reference"`` (slow; for checking). Auto takes a GPU
        where PyTorch sees one.
    threads
        Threads of the CPU engine; all cores by default.
    seed
        Seed of the start, the order of the text and the negatives.
    out
        Directory to write; None keeps the model in memory.
    resume
        Go on from the last checkpoint of an interrupted fit with the same `out` and options.
    patience
        Stop after this many passes without a better validation score.
    reproducible
        Make a fit with several threads the same to the last bit each time; one thread always is.
    half
        Store embeddings as float16, on a GPU while fitting too: half the memory.
    device
        Where the torch engine runs: ``"cuda"``, ``"cuda:1"``, or ``"cpu"``, which is slow.
    checkpoint_seconds
        Keep a checkpoint after a pass when the last one is at least so old; 0 keeps one after every pass.
    overwrite
        Replace a model at `out`, or the checkpoints of an interrupted fit of it.
    show_progress
        Show a progress bar; by default where standard error is a terminal.
    """
    spec = spec or Spec()
    if passes < 1 or patience < 1:
        raise OptionError(f"passes is {passes} and patience {patience}; both must be at least 1")
    if threads is not None and threads < 1:
        raise OptionError(f"threads is {threads}; use at least one")
    if not 0 <= seed < 1 << 63:
        raise OptionError(f"seed is {seed}; it must be a whole number from 0 to {(1 << 63) - 1}")
    if resume and out is None:
        raise OptionError("only a fit with an output directory can be resumed")
    if not (corpus.chunk_split == 0).any():
        raise OptionError("the corpus has no training text")
    target = None if out is None else Path(out)
    if target is not None:
        store.check_free(target, kind=KIND, overwrite=overwrite)
    machine = {"threads": threads, "reproducible": reproducible, "device": device, "half": half}
    job = _Job(corpus, spec, passes, choose_engine(engine, device), machine, seed, target, patience)
    with progress(show=show_progress) as bar:
        if target is not None:
            job.continue_or_clear(resume=resume, overwrite=overwrite)
        kept = time.perf_counter()
        for _ in job.run(bar):
            if target is not None and time.perf_counter() - kept >= checkpoint_seconds:
                job.checkpoint()
                kept = time.perf_counter()
            elif job.best_pass == len(job.history) < passes:
                job.remember()
        return job.finish(half=half, overwrite=overwrite)


@dataclass
class _Job:
    """One fit under way."""

    corpus: Corpus
    spec: Spec
    passes: int
    engine_name: str
    machine: dict[str, Any]
    seed: int
    target: Path | None
    patience: int
    history: list[dict[str, Any]] = field(default_factory=list)
    engine: Engine | None = None
    best: tuple[int, Callable[[], tuple[Floats, Floats]]] | None = None  # the best pass, where it is in memory

    def __post_init__(self) -> None:
        self.n_slices = 1 if self.spec.model == "static" else len(self.corpus.slices)
        self.sampler = Sampler.make(self.corpus.raw_counts, self.spec.exponent)
        own = self.sampler if self.spec.exponent == EXPONENT else None
        reader = ThreadPoolExecutor(1)  # the first pass need not wait for the text it will be scored on
        self._held_out = reader.submit(HeldOut, self.corpus, "valid", sampler=own)
        reader.shutdown(wait=False)

    def _start(self, parameters: Parameters) -> Engine:
        return make_engine(self.engine_name, parameters, self.sampler, **self.machine)

    # -- passes ------------------------------------------------------------------------

    def run(self, bar: Progress) -> Iterator[None]:
        """Run the passes that are left, yielding after each."""
        while len(self.history) < self.passes and not self._stalled():
            number = len(self.history)
            static = number == 0 or self.n_slices == 1
            if self.engine is None:
                self.engine = self._start(
                    start_parameters(
                        len(self.corpus.words),
                        self.spec.dim,
                        seed=self.seed,
                        squares=self.spec.squares,
                        dtype=engine_dtype(self.engine_name),
                    )
                )
            if number == 1 and not static:
                self.engine = self.engine.spread(self.n_slices, self.spec.squares)
            self.history.append(self._pass(self.engine, number, static=static, bar=bar))
            self._log()
            yield

    def _pass(self, engine: Engine, number: int, *, static: bool, bar: Progress) -> dict[str, Any]:
        spec = self.spec
        begin = time.perf_counter()
        sample = number + 1 if spec.resample == "each-pass" else 1
        how = Pass(number, sample, not static, spec.block, spec.run, spec.rounds, self.seed)
        parts = engine.read(self.corpus, how)
        words = sum(part.positions for part in parts)
        if not words and number == 0:
            raise OptionError("there is too little text to train on: a pass sees no word; bring more of it")
        total, done = 0.0, 0
        name = "static pass" if static and self.n_slices > 1 else "pass"
        bar.stage(f"{name} {number + 1} of {self.passes}", total=words)
        for r, part in enumerate(parts):
            step = self._step(number + r / spec.rounds, static=static)
            total += engine.round(part, step)
            done += part.positions
            self._check(engine, number, total)
            rate = done / (time.perf_counter() - begin)
            bar.update(done=done, facts=f"{rate / 1e3:,.0f}k words/s, L_pos {total / max(done, 1):.3f}{self._so_far()}")
        seconds = time.perf_counter() - begin
        scores = self._validate(engine)
        return {
            "pass": number + 1,
            "kind": "static" if static else spec.model,
            "words": words,
            "seconds": round(seconds, 3),
            "scoring_seconds": round(time.perf_counter() - begin - seconds, 3),
            "train_L_pos": total / max(done, 1),
            **scores,
        }

    def _step(self, done: float, *, static: bool) -> Step:
        spec = self.spec
        share = 1 - (1 - spec.final_rate) * done / max(self.passes, 1)
        alone = not static and spec.model == "binned"
        return Step(
            learning_rate=spec.learning_rate * share * (BINNED_RATE if alone else 1),
            reach=spec.context // 2,
            negatives=spec.negatives,
            pool=spec.pool,
            drift=spec.drift_precision / spec.rounds,
            prior=spec.prior / spec.rounds,
            anchor=spec.prior / spec.rounds / (1 if static else self.n_slices),
            chained=not static and spec.model == "dynamic",
        )

    def _check(self, engine: Engine, number: int, total: float) -> None:
        """Stop at the first sign that numbers have run away."""
        if np.isfinite(total) and engine.finite():
            return
        kept = f"; the state after pass {number} is kept" if number and self.target else ""
        raise FitError(
            f"the fit diverged in pass {number + 1}: numbers grew beyond all bounds; "
            f"use a smaller --learning-rate (it is {self.spec.learning_rate:g}){kept}"
        )

    def _validate(self, engine: Engine) -> dict[str, float]:
        if not (self.corpus.chunk_split == 1).any():
            return {"L_pos": float("nan"), "L_neg": float("nan"), "L": float("nan"), "L_se": float("nan")}
        summary = self._held_out.result().score(engine, context=self.spec.context).summary()
        return {name: summary[name] for name in ("L_pos", "L_neg", "L", "L_se")}

    @property
    def best_pass(self) -> int:
        """The pass with the best validation score; of the model's own passes, once there is one."""
        own = [entry for entry in self.history if entry["kind"] == self.spec.model] or self.history
        return int(max(own, key=lambda entry: (np.nan_to_num(entry["L"], nan=-np.inf), entry["pass"]))["pass"])

    def _stalled(self) -> bool:
        own = [entry for entry in self.history if entry["kind"] == self.spec.model]
        return bool(own) and len(self.history) - self.best_pass >= self.patience

    def _so_far(self) -> str:
        if not self.history:
            return ""
        last = self.history[-1]
        return f", held out {last['L_pos']:.3f} {last['L_neg']:+.3f} = {last['L']:.3f}"

    # -- what is on disk ---------------------------------------------------------------

    def _beside(self, number: int) -> Path:
        assert self.target is not None
        target = self.target.absolute()
        return target.parent / f".{target.name}.pass-{number:03}"

    def _identity(self) -> dict[str, Any]:
        """Return what must be equal for a fit to be the continuation of another."""
        return {
            "spec": asdict(self.spec),
            "seed": self.seed,
            "corpus": self.corpus.fingerprint,
            "engine": self.engine_name,
            "passes": self.passes if self.spec.final_rate < 1 else None,
        }

    def remember(self) -> None:
        """Keep the best pass in memory, as long as no checkpoint does."""
        assert self.engine is not None
        self.best = (self.best_pass, self.engine.snapshot())

    def checkpoint(self) -> None:
        """Store the state after a pass; keep that of the best pass beside it."""
        assert self.engine is not None
        number = len(self.history)
        if self.best is not None and self.best[0] == self.best_pass:
            rho, alpha = self.best[1]()
            self._store(self.best_pass, {"rho": rho, "alpha": alpha})
        self.best = None
        self._store(number, vars(self.engine.parameters))
        for other, path in checkpoints(self.target).items():
            if other not in (number, self.best_pass):
                shutil.rmtree(path, ignore_errors=True)

    def _store(self, number: int, arrays: Mapping[str, Floats]) -> None:
        with store.create(self._beside(number), kind=CHECKPOINT, overwrite=True, hashed=False) as writer:
            for name, values in arrays.items():
                writer.array(name, values)
            writer.meta = {"identity": self._identity(), "history": self.history}

    def continue_or_clear(self, *, resume: bool, overwrite: bool) -> None:
        """Take up the last checkpoint, or clear those of a fit that is not wanted any more."""
        found = checkpoints(self.target)
        if found and not resume and not overwrite:
            raise OptionError(
                f"an interrupted fit of '{self.target}' is kept after pass {max(found)}; "
                "go on with --resume, or begin anew with --overwrite"
            )
        if not resume:
            for path in found.values():
                shutil.rmtree(path, ignore_errors=True)
            self._log_path().unlink(missing_ok=True)
            return
        for number in sorted(found, reverse=True):
            names = ("rho", "alpha", "rho_squares", "alpha_squares")
            try:
                held = store.open_store(found[number], kind=CHECKPOINT)
                parameters = Parameters(**{name: np.array(held.array(name)) for name in names})
            except StoreError:
                continue  # not whole, or only the best pass without what it takes to go on
            if held.meta["identity"] != self._identity():
                changed = [k for k, v in self._identity().items() if held.meta["identity"].get(k) != v]
                raise OptionError(
                    f"the checkpoint of '{self.target}' was made with another {' and '.join(changed)}; "
                    "use the same options, or begin anew with --overwrite instead of --resume"
                )
            self.history = held.meta["history"]
            lines = "".join(json.dumps(entry) + "\n" for entry in self.history)
            self._log_path().write_text(lines, encoding="utf-8")  # a pass may have been logged and then lost
            self.engine = self._start(parameters)
            return

    def _log_path(self) -> Path:
        assert self.target is not None
        return self.target.with_name(self.target.name + ".log.jsonl")

    def _log(self) -> None:
        if self.target is not None:
            self.target.absolute().parent.mkdir(parents=True, exist_ok=True)
            with store.writing(self._log_path()), self._log_path().open("a", encoding="utf-8") as file:
                file.write(json.dumps(self.history[-1]) + "\n")

    def finish(self, *, half: bool, overwrite: bool) -> Model:
        """Make the model of the best pass."""
        assert self.engine is not None
        if self.best_pass == len(self.history):
            rho, alpha = self.engine.embeddings()
        elif self.best is not None and self.best[0] == self.best_pass:
            rho, alpha = self.best[1]()
        else:
            held = store.open_store(self._beside(self.best_pass), kind=CHECKPOINT)
            rho, alpha = held.array("rho"), held.array("alpha")
        meta = {
            "spec": asdict(self.spec),
            "history": self.history,
            "best_pass": self.best_pass,
            "provenance": {
                "corpus": self.corpus.fingerprint,
                "corpus_path": str(self.corpus.path.absolute()) if self.corpus.path else None,
                "citation": self.corpus.citation,
                "seed": self.seed,
                "passes": self.passes,
                "engine": self.engine_name,
                "threads": self.machine["threads"] or os.cpu_count(),
                "ran_on": self.engine.machine,
                "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
                "versions": {name: version(name) for name in ("driftword", "numpy", "polars")},
            },
        }
        kind = np.float16 if half else np.float32
        if self.target is None:
            corpus = {"words": self.corpus.words, "slices": self.corpus.slices, "counts": self.corpus.counts}
            return Model(np.asarray(rho, kind), np.asarray(alpha, kind), corpus=corpus, meta={**meta, "files": {}})
        with store.create(self.target, kind=KIND, overwrite=overwrite) as writer:
            write_model(writer, self.corpus, meta=meta, rho=np.asarray(rho, kind), alpha=np.asarray(alpha, kind))
        for path in checkpoints(self.target).values():
            shutil.rmtree(path, ignore_errors=True)
        return Model.open(self.target)


def checkpoints(target: Path | None) -> dict[int, Path]:
    """Return what an interrupted fit has kept, by its pass."""
    if target is None:
        return {}
    target = target.absolute()
    found = target.parent.glob(f".{_escaped(target.name)}.pass-*")
    return {int(path.name.rpartition("-")[2]): path for path in found if path.name.rpartition("-")[2].isdigit()}


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
