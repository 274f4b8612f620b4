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
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

from driftword import store
from driftword.corpus import Corpus
from driftword.engines import Engine, choose_engine, engine_dtype, make_engine
from driftword.engines.reference import start_parameters
from driftword.engines.rounds import Parameters, Sampler, Step, plan, read_text
from driftword.engines.scoring import EXPONENT, HeldOut, scoring_sampler
from driftword.errors import DriftwordError, OptionError, StoreError
from driftword.model import KIND, Model, Spec, write_model
from driftword.progress import Progress, progress

CHECKPOINT: Final = "checkpoint"
#: Share of the learning rate in a binned model's own passes: nothing but its start holds a word rare in a slice.
BINNED_RATE: Final = 0.2


class FitError(DriftwordError):
    """A fit went wrong in a way its options explain."""


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
        ``"auto"``, ``"cpu"``, or ``"reference"`` (slow; for checking).
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
        Store embeddings as float16.
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
    job = _Job(corpus, spec, passes, choose_engine(engine), threads, reproducible, seed, target, patience)
    with progress(show=show_progress) as bar:
        if target is not None:
            job.continue_or_clear(resume=resume, overwrite=overwrite)
        for _ in job.run(bar):
            job.checkpoint()
        return job.finish(half=half, overwrite=overwrite)


@dataclass
class _Job:
    """One fit under way."""

    corpus: Corpus
    spec: Spec
    passes: int
    engine_name: str
    threads: int | None
    reproducible: bool
    seed: int
    target: Path | None
    patience: int
    history: list[dict[str, Any]] = field(default_factory=list)
    parameters: Parameters | None = None

    def __post_init__(self) -> None:
        self.dtype = engine_dtype(self.engine_name)
        self.sampler = Sampler.make(self.corpus.raw_counts, self.spec.exponent)
        self.scoring = self.sampler if self.spec.exponent == EXPONENT else scoring_sampler(self.corpus)
        self.n_slices = 1 if self.spec.model == "static" else len(self.corpus.slices)
        self.best: tuple[int, np.ndarray[Any, Any], np.ndarray[Any, Any]] | None = None
        self._held_out: dict[bool, HeldOut] = {}

    # -- passes ------------------------------------------------------------------------

    def run(self, bar: Progress) -> Iterator[None]:
        """Run the passes that are left, yielding after each."""
        while len(self.history) < self.passes and not self._stalled():
            number = len(self.history)
            static = number == 0 or self.n_slices == 1
            if self.parameters is None:
                self.parameters = start_parameters(
                    len(self.corpus.words), self.spec.dim, seed=self.seed, squares=self.spec.squares, dtype=self.dtype
                )
            if not static and len(self.parameters.rho) == 1:
                self.parameters = self._spread(self.parameters)
            self.history.append(self._pass(number, static=static, bar=bar))
            self._log()
            if self.target is None and self.best_pass == number + 1:
                self.best = (number + 1, self.parameters.rho.copy(), self.parameters.alpha.copy())
            yield

    def _spread(self, start: Parameters) -> Parameters:
        """Give every slice the static embeddings, and let Adagrad begin anew."""
        rho = np.repeat(start.rho, self.n_slices, axis=0)
        squares = self.spec.squares
        return Parameters(rho, start.alpha, np.full_like(rho, squares), np.full_like(start.alpha, squares))

    def _pass(self, number: int, *, static: bool, bar: Progress) -> dict[str, Any]:
        assert self.parameters is not None
        spec = self.spec
        begin = time.perf_counter()
        engine = make_engine(
            self.engine_name, self.parameters, self.sampler, threads=self.threads, reproducible=self.reproducible
        )
        sample = number + 1 if spec.resample == "each-pass" else 1
        text = read_text(self.corpus, "train", pass_number=sample, sliced=not static)
        blocks = plan(text, block=spec.block, run=spec.run, rounds=spec.rounds, seed=self.seed, pass_number=number)
        total, done = 0.0, 0
        name = "static pass" if static and self.n_slices > 1 else "pass"
        bar.stage(f"{name} {number + 1} of {self.passes}", total=len(text.ids))
        for r, part in enumerate(blocks):
            step = self._step(number + r / spec.rounds, static=static)
            total += engine.round(part, step)
            done += part.positions
            self._check(number, total)
            rate = done / (time.perf_counter() - begin)
            bar.update(done=done, facts=f"{rate / 1e3:,.0f}k words/s, L_pos {total / max(done, 1):.3f}{self._so_far()}")
        seconds = time.perf_counter() - begin
        scores = self._validate(engine, static=static)
        return {
            "pass": number + 1,
            "kind": "static" if static else spec.model,
            "words": len(text.ids),
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

    def _check(self, number: int, total: float) -> None:
        """Stop at the first sign that numbers have run away."""
        assert self.parameters is not None
        if np.isfinite(total) and np.isfinite(self.parameters.alpha).all():
            return
        kept = f"; the state after pass {number} is kept" if number and self.target else ""
        raise FitError(
            f"the fit diverged in pass {number + 1}: numbers grew beyond all bounds; "
            f"use a smaller --learning-rate (it is {self.spec.learning_rate:g}){kept}"
        )

    def _validate(self, engine: Engine, *, static: bool) -> dict[str, float]:
        if not (self.corpus.chunk_split == 1).any():
            return {"L_pos": float("nan"), "L_neg": float("nan"), "L": float("nan"), "L_se": float("nan")}
        if static not in self._held_out:
            self._held_out[static] = HeldOut(self.corpus, "valid", sliced=not static)
        if self.scoring is not self.sampler:
            engine = make_engine(self.engine_name, engine.parameters, self.scoring, threads=self.threads)
        summary = self._held_out[static].score(engine, context=self.spec.context).summary()
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

    def _checkpoints(self) -> dict[int, Path]:
        assert self.target is not None
        target = self.target.absolute()
        found = target.parent.glob(f".{_escaped(target.name)}.pass-*")
        return {int(path.name.rpartition("-")[2]): path for path in found if path.name.rpartition("-")[2].isdigit()}

    def _identity(self) -> dict[str, Any]:
        """Return what must be equal for a fit to be the continuation of another."""
        return {
            "spec": asdict(self.spec),
            "seed": self.seed,
            "corpus": self.corpus.fingerprint,
            "engine": self.engine_name,
            "passes": self.passes if self.spec.final_rate < 1 else None,
        }

    def checkpoint(self) -> None:
        """Store the state after a pass; keep that of the best pass beside it."""
        if self.target is None:
            return
        assert self.parameters is not None
        number = len(self.history)
        with store.create(self._beside(number), kind=CHECKPOINT, overwrite=True, hashed=False) as writer:
            for name, values in vars(self.parameters).items():
                writer.array(name, values)
            writer.meta = {"identity": self._identity(), "history": self.history}
        for other, path in self._checkpoints().items():
            if other not in (number, self.best_pass):
                shutil.rmtree(path, ignore_errors=True)

    def continue_or_clear(self, *, resume: bool, overwrite: bool) -> None:
        """Take up the last checkpoint, or clear those of a fit that is not wanted any more."""
        found = self._checkpoints()
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
            try:
                held = store.open_store(found[number], kind=CHECKPOINT)
            except StoreError:
                continue
            if held.meta["identity"] != self._identity():
                changed = [k for k, v in self._identity().items() if held.meta["identity"].get(k) != v]
                raise OptionError(
                    f"the checkpoint of '{self.target}' was made with another {' and '.join(changed)}; "
                    "use the same options, or begin anew with --overwrite instead of --resume"
                )
            self.history = held.meta["history"]
            lines = "".join(json.dumps(entry) + "\n" for entry in self.history)
            self._log_path().write_text(lines, encoding="utf-8")  # a pass may have been logged and then lost
            self.parameters = Parameters(
                **{name: np.array(held.array(name)) for name in ("rho", "alpha", "rho_squares", "alpha_squares")}
            )
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
        assert self.parameters is not None
        if self.best_pass == len(self.history):
            rho, alpha = self.parameters.rho, self.parameters.alpha
        elif self.target is not None:
            held = store.open_store(self._beside(self.best_pass), kind=CHECKPOINT)
            rho, alpha = held.array("rho"), held.array("alpha")
        else:
            assert self.best is not None
            _, rho, alpha = self.best
        meta = {
            "spec": asdict(self.spec),
            "history": self.history,
            "best_pass": self.best_pass,
            "provenance": {
                "corpus": self.corpus.fingerprint,
                "corpus_path": str(self.corpus.path.absolute()) if self.corpus.path else None,
                "citation": self.corpus.meta.get("citation"),
                "seed": self.seed,
                "passes": self.passes,
                "engine": self.engine_name,
                "threads": self.threads or os.cpu_count(),
                "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
                "versions": {name: version(name) for name in ("driftword", "numpy", "numba", "polars")},
            },
        }
        kind = np.float16 if half else np.float32
        if self.target is None:
            corpus = {"words": self.corpus.words, "slices": self.corpus.slices, "counts": self.corpus.counts}
            return Model(np.asarray(rho, kind), np.asarray(alpha, kind), corpus=corpus, meta={**meta, "files": {}})
        with store.create(self.target, kind=KIND, overwrite=overwrite) as writer:
            write_model(writer, self.corpus, meta=meta, rho=np.asarray(rho, kind), alpha=np.asarray(alpha, kind))
        for path in self._checkpoints().values():
            shutil.rmtree(path, ignore_errors=True)
        return Model.open(self.target)


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
