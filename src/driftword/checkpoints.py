"""Checkpoints of a fit: its state after some passes, beside the place where the model will be stored.

The last checkpoint holds all it takes to continue; one of the best pass, where that is another, holds its embeddings.
A log of scores, one line of JSON per pass, is written beside the model and stays.
"""

from __future__ import annotations

import glob
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from driftword import store
from driftword.engines.parameters import Floats, Parameters
from driftword.errors import ExistsError, OptionError, StoreError

KIND: Final = "checkpoint"
_PARAMETERS: Final = ("rho", "alpha", "rho_accumulator", "alpha_accumulator")

History = list[dict[str, Any]]


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of one fit.

    Parameters
    ----------
    target
        Where the model will be stored.
    identity
        What must be equal for a fit to be the continuation of another: options, seed, corpus, engine.
    """

    target: Path
    identity: Mapping[str, Any]

    def resume(self) -> tuple[Parameters, History] | None:
        """Return the state after the last complete checkpoint, or None where there is none."""
        existing = find_checkpoints(self.target)
        for number in sorted(existing, reverse=True):
            try:
                checkpoint = store.open_store(existing[number], kind=KIND)
                parameters = Parameters(**{name: np.array(checkpoint.array(name)) for name in _PARAMETERS})
            except StoreError:
                continue  # incomplete, or only the embeddings of the best pass
            if checkpoint.meta["identity"] != self.identity:
                changed = [name for name, v in self.identity.items() if checkpoint.meta["identity"].get(name) != v]
                raise OptionError(
                    f"The checkpoint of '{self.target}' was made with another {' and '.join(changed)}; "
                    "use the same options, or start again with `overwrite=True` instead of `resume=True`"
                )
            history: History = checkpoint.meta["history"]
            lines = "".join(json.dumps(entry) + "\n" for entry in history)
            self._log_path.write_text(lines, encoding="utf-8")  # a later pass may have been logged and then lost
            return parameters, history
        if existing:
            raise OptionError(
                f"No checkpoint of '{self.target}' can be continued: they are incomplete, or of an earlier driftword; "
                "start again with `overwrite=True` instead of `resume=True`"
            )
        return None

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
        self._write(len(history), vars(parameters), history)
        for number, path in find_checkpoints(self.target).items():
            if number not in (len(history), best_pass):
                shutil.rmtree(path, ignore_errors=True)

    def save_best(self, rho: Floats, alpha: Floats, history: History, *, best_pass: int) -> None:
        """Store the embeddings of the best pass."""
        self._write(best_pass, {"rho": rho, "alpha": alpha}, history)

    def open_best(self, best_pass: int) -> tuple[Floats, Floats]:
        """Return the embeddings of the best pass."""
        checkpoint = store.open_store(_path(self.target, best_pass), kind=KIND)
        return checkpoint.array("rho"), checkpoint.array("alpha")

    def remove(self) -> None:
        """Remove all checkpoints: the model is stored, or another fit begins."""
        for path in find_checkpoints(self.target).values():
            shutil.rmtree(path, ignore_errors=True)

    def log(self, entry: Mapping[str, Any]) -> None:
        """Add the scores of a pass to the log."""
        self.target.absolute().parent.mkdir(parents=True, exist_ok=True)
        with store.writing(self._log_path), self._log_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    @property
    def _log_path(self) -> Path:
        return self.target.with_name(self.target.name + ".log.jsonl")

    def _write(self, number: int, arrays: Mapping[str, Floats], history: History) -> None:
        with store.create(_path(self.target, number), kind=KIND, overwrite=True, hashed=False) as writer:
            for name, values in arrays.items():
                writer.array(name, values)
            writer.meta = {"identity": dict(self.identity), "history": history}


def find_checkpoints(target: Path) -> dict[int, Path]:
    """Return the checkpoints that an interrupted fit left, by pass."""
    target = target.absolute()
    paths = target.parent.glob(f".{glob.escape(target.name)}.pass-*")
    return {int(path.name.rpartition("-")[2]): path for path in paths if path.name.rpartition("-")[2].isdigit()}


def _path(target: Path, number: int) -> Path:
    target = target.absolute()
    return target.parent / f".{target.name}.pass-{number:03}"
