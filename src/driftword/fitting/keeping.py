"""What stays of a fit: checkpoints while it runs, the embeddings of its best pass, and in the end the model.

Checkpoints are in a hidden folder beside the place of the model. The last one holds all it takes to continue; one of
the best pass, where that is another, holds its embeddings. Each says which fit it belongs to, and is compared with its
checksums when it is opened. A log of scores, one line of JSON per pass, is written beside the model and stays.
"""

from __future__ import annotations

import json
import re
import secrets
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics.errors import DriftwordWarning, ExistsError, FitError, OptionError, StoreError
from driftword.basics.process import available_cores
from driftword.basics.progress import Progress
from driftword.engines.parameters import Floats, Parameters, accumulators, by_slice, split_intercepts
from driftword.fitting.group_fitting import fit_groups
from driftword.fitting.job import Job
from driftword.fitting.training import History, Training
from driftword.models.model import KIND, Model
from driftword.models.provenance import Provenance
from driftword.models.storing import Pass
from driftword.storage import store
from driftword.storage.atomic_writes import check_space, discard, reserved, writing
from driftword.storage.typed_facts import Count

CHECKPOINT: Final = "checkpoint"
CHECKPOINT_EVERY: Final = 20.0  # seconds that a kill may cost at most, besides the pass under way
_SCORED: Final = {"kind", "train_L_pos", "L_pos", "L_neg", "L", "L_se"}  # of every pass
_PARAMETERS: Final = ("rho", "alpha", "rho_accumulator", "alpha_accumulator")
_AGAIN: Final = "start again with `overwrite=True` instead of `resume=True`"


class Keeper:
    """Keeps what a training has reached; without checkpoints, in memory alone."""

    def __init__(self, training: Training, checkpoints: Checkpoints | None, *, every: float) -> None:
        self.training, self.checkpoints, self.every = training, checkpoints, every
        self._saved = time.perf_counter()
        self._best: tuple[int, Callable[[], tuple[Floats, Floats]]] | None = None  # a pass, and its embeddings

    def after_pass(self) -> None:
        """Log a pass; store a checkpoint if one is due, or else keep the embeddings of the best pass in memory."""
        training, checkpoints = self.training, self.checkpoints
        if checkpoints is not None:
            checkpoints.log(training.history[-1])
        due = time.perf_counter() - self._saved >= self.every and len(training.engines) == 1  # not between starts
        if checkpoints is not None and due:
            self.save(checkpoints)
            self._saved = time.perf_counter()
        elif training.best_pass == len(training.history) < training.schedule.passes:
            self._best = (training.best_pass, training.engine.snapshot())

    def save(self, checkpoints: Checkpoints) -> None:
        """Store the state after the last pass, and the embeddings of the best."""
        training = self.training
        if self._best is not None and self._best[0] == training.best_pass:
            checkpoints.save_best(*self._best[1](), training.history, best_pass=training.best_pass)
        self._best = None
        checkpoints.save(training.engine.parameters, training.history, best_pass=training.best_pass)

    def finish(self, out: Path | str | None, *, overwrite: bool, bar: Progress) -> Model:
        """Return the model of the best pass, stored at `out` if that is given; then the checkpoints are removed.

        If the model cannot be stored, the state of the fit is, so that nothing has to be done again.
        """
        model = self._make_model(bar)
        if out is None:
            return model
        if self.checkpoints is None:
            return model.save(out, overwrite=overwrite)
        try:
            stored = model.save(out, overwrite=overwrite)
        except StoreError as error:
            with suppress(StoreError):  # the last checkpoint stays where this one cannot be written
                self.save(self.checkpoints)
            if not find_checkpoints(self.checkpoints.target):
                raise
            raise StoreError(
                f"{error}. The fit is kept: continue it with `resume=True` once this is put right"
            ) from error
        self.checkpoints.remove()
        return stored

    def _make_model(self, bar: Progress) -> Model:
        job, schedule = self.training.job, self.training.schedule
        dtype = np.float16 if job.machine["half_precision"] else np.float32
        best = self.best_embeddings()
        groups = fit_groups(job, self.training.start_engine, *best, dtype=dtype, bar=bar)
        with np.errstate(over="ignore"):  # found below
            rho, alpha = (np.asarray(values, dtype) for values in best)
        rho, intercepts = split_intercepts(rho, alpha.shape[-1])
        if schedule.spec.model == "frequency":
            rho = rho[:1]  # the walk keeps it the same in every slice
        if not (_finite(rho) and _finite(alpha)):
            raise FitError("Some embeddings are too large for 16 bits; fit without `half_precision`")
        provenance = Provenance.of(
            job.corpus,
            engine=job.engine,
            seed=schedule.seed,
            passes=schedule.passes,
            threads=job.machine["threads"] or available_cores(),
            ran_on=self.training.engine.machine,
        )
        return Model(
            rho,
            alpha,
            intercepts,
            vocabulary=job.corpus.vocabulary,
            spec=schedule.spec,
            provenance=provenance,
            history=self.training.history,
            best_pass=self.training.best_pass,
            groups=groups,
        )

    def best_embeddings(self) -> tuple[Floats, Floats]:
        """Return rho and alpha of the best pass, wherever they are."""
        best = self.training.best_pass
        if best == len(self.training.history):
            return self.training.engine.embeddings()
        if self._best is not None and self._best[0] == best:
            return self._best[1]()
        assert self.checkpoints is not None
        return self.checkpoints.open_best(best)


def _finite(values: npt.NDArray[Any]) -> bool:
    """Tell whether all numbers are finite; in threads, as there may be billions."""
    with ThreadPoolExecutor(available_cores()) as threads:
        return all(threads.map(lambda part: bool(np.isfinite(part).all()), by_slice(values)))


@contextmanager
def reserved_for(job: Job, out: Path | str | None, *, overwrite: bool) -> Iterator[Checkpoints | None]:
    """Keep other writers away from `out` until the model is stored; yield its checkpoints, or None without a folder."""
    if out is not None:
        store.check_free(out, kind=KIND, overwrite=overwrite)
    if not isinstance(out, Path):
        if out is not None:  # where it is written before it is copied
            check_space(Path(tempfile.gettempdir(), "model"), job.model_size)
        yield None
        return
    check_space(out, job.model_size)
    with reserved(out) as lock:
        store.check_free(out, kind=KIND, overwrite=overwrite)
        yield Checkpoints(
            lock.target, job.identity, (job.schedule.n_slices, len(job.corpus.words), job.schedule.spec.dim)
        )


@dataclass(frozen=True)
class _Facts:
    """What ``meta.json`` says of a checkpoint, beside what it says of every store."""

    fit: str
    identity: dict[str, Any]
    history: list[Pass]
    best_pass: Count


@dataclass
class Checkpoints:
    """The checkpoints of one fit, whose process holds the lock of the place where its model will be stored."""

    target: Path  # that place
    identity: Mapping[str, Any]  # what must be equal for a fit to be the continuation of another
    shape: tuple[int, int, int]  # of its embeddings: slices, words, dimension
    #: A random name of this very fit: checkpoints of two fits with equal options are never mixed.
    fit: str = field(default_factory=lambda: secrets.token_hex(8))

    def resume(self) -> tuple[Parameters, History] | None:
        """Return the state after the last complete checkpoint, or None where there is none."""
        existing = find_checkpoints(self.target)
        damaged: dict[int, StoreError] = {}
        for number in sorted(existing, reverse=True):
            try:
                checkpoint = store.open_store(existing[number], kind=CHECKPOINT)
                if "rho_accumulator.npy" not in checkpoint:
                    continue  # only the embeddings of the best pass
                parameters = Parameters(**{name: np.array(checkpoint.array(name)) for name in _PARAMETERS})
                facts = checkpoint.facts(_Facts)
                self._check_identity(facts)
                self._check_shapes(checkpoint, parameters)
                history, best_pass = [dict(entry) for entry in facts.history], facts.best_pass
                if not 1 <= best_pass <= len(history) or not all(entry.keys() >= _SCORED for entry in history):
                    raise store.damaged(checkpoint.folder, "its history is incomplete")
                if best_pass != len(history):
                    self.open_best(best_pass)  # rather than find it missing when the fit is finished
            except StoreError as error:
                damaged[number] = error
                continue
            self._clear_after(number, history, damaged)
            return parameters, history
        if damaged:
            last = damaged[max(damaged)]
            raise StoreError(
                f"The interrupted fit of '{self.target}' cannot be continued: {last}. Or {_AGAIN}"
            ) from last
        if existing:
            raise OptionError(f"The checkpoints of '{self.target}' hold the best pass alone; {_AGAIN}")
        self._log_path.unlink(missing_ok=True)  # of passes that were lost before a checkpoint was complete
        warnings.warn(
            f"There is no interrupted fit of '{self.target}' to resume; starting from the beginning",
            DriftwordWarning,
            stacklevel=3,
        )
        return None

    def _clear_after(self, number: int, history: History, damaged: Mapping[int, StoreError]) -> None:
        """Discard damaged checkpoints, with a warning, and what was logged after a pass and then lost."""
        if damaged:
            warnings.warn(
                f"Continuing after pass {number}, as the last checkpoint cannot be used: {damaged[max(damaged)]}",
                DriftwordWarning,
                stacklevel=4,
            )
        for pass_number in damaged:
            discard(find_checkpoints(self.target)[pass_number], self.target)
        with writing(self._log_path):
            self._log_path.write_text("".join(json.dumps(entry) + "\n" for entry in history), encoding="utf-8")

    def _check_identity(self, facts: _Facts) -> None:
        if changed := [name for name, value in self.identity.items() if facts.identity.get(name) != value]:
            raise OptionError(
                f"The checkpoint of '{self.target}' was made with another {' and '.join(changed)}; "
                f"use the same options, or {_AGAIN}"
            )
        self.fit = facts.fit

    def clear(self, *, overwrite: bool) -> None:
        """Remove what an earlier fit left, if that is wanted."""
        existing = find_checkpoints(self.target)
        if existing and not overwrite:
            raise ExistsError(
                f"An interrupted fit of '{self.target}' was kept after pass {max(existing)}; "
                "continue it with `resume=True`, or start again with `overwrite=True`"
            )
        self.remove()
        self._log_path.unlink(missing_ok=True)

    def save(self, parameters: Parameters, history: History, *, best_pass: int) -> None:
        """Store the state after a pass, and remove all but the best pass beside it."""
        self._write(len(history), vars(parameters), history, best_pass)
        for number, path in find_checkpoints(self.target).items():
            if number not in (len(history), best_pass):
                discard(path, self.target)

    def save_best(self, rho: Floats, alpha: Floats, history: History, *, best_pass: int) -> None:
        """Store the embeddings of the best pass."""
        self._write(best_pass, {"rho": rho, "alpha": alpha}, history, best_pass)

    def open_best(self, best_pass: int) -> tuple[Floats, Floats]:
        """Return the embeddings of the best pass."""
        checkpoint = store.open_store(_folder(self.target) / f"pass-{best_pass:03}", kind=CHECKPOINT)
        if checkpoint.facts(_Facts).fit != self.fit:
            raise StoreError(f"'{checkpoint.folder}' belongs to another fit")
        rho, alpha = checkpoint.array("rho"), checkpoint.array("alpha")
        self._check_shapes(checkpoint, Parameters(rho, alpha, *accumulators(rho, alpha, 0.0)))
        return rho, alpha

    def _check_shapes(self, checkpoint: store.Store, parameters: Parameters) -> None:
        if not parameters.are_of(*self.shape):
            raise store.damaged(checkpoint.folder, "its arrays have other shapes than they should have")

    def remove(self) -> None:
        """Remove all checkpoints: the model is stored, or another fit begins."""
        discard(_folder(self.target), self.target)

    def log(self, entry: Mapping[str, Any]) -> None:
        """Add the scores of a pass to the log."""
        with writing(self._log_path), self._log_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    @property
    def _log_path(self) -> Path:
        return self.target.with_name(self.target.name + ".log.jsonl")

    def _write(self, number: int, arrays: Mapping[str, Floats], history: History, best_pass: int) -> None:
        with store.create(_folder(self.target) / f"pass-{number:03}", kind=CHECKPOINT, overwrite=True) as writer:
            for name, values in arrays.items():
                writer.array(name, values)
            writer.meta = {
                "fit": self.fit,
                "identity": dict(self.identity),
                "history": history,
                "best_pass": best_pass,
            }


def find_checkpoints(target: Path) -> dict[int, Path]:
    """Return the checkpoints that an interrupted fit left, by pass."""
    paths = _folder(target).glob("pass-*")
    return {int(path.name[5:]): path for path in paths if re.fullmatch("pass-[0-9]+", path.name)}


def _folder(target: Path) -> Path:
    target = target.absolute()
    return target.with_name(f".{target.name}.checkpoints")
