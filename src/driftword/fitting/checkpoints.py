"""Checkpoints of a fit: its state after some passes, in a hidden folder beside the place of the model.

The last checkpoint holds all it takes to continue; one of the best pass, where that is another, holds its embeddings.
Each says which fit it belongs to, and is compared with its checksums when it is opened. A log of scores, one line of
JSON per pass, is written beside the model and stays.
"""

from __future__ import annotations

import json
import re
import secrets
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from driftword.basics.errors import DriftwordWarning, ExistsError, OptionError, StoreError
from driftword.engines.parameters import Floats, Parameters
from driftword.storage import store
from driftword.storage.atomic_writes import discard, writing

KIND: Final = "checkpoint"
_PARAMETERS: Final = ("rho", "alpha", "rho_accumulator", "alpha_accumulator")
_AGAIN: Final = "start again with `overwrite=True` instead of `resume=True`"

History = list[dict[str, Any]]


@dataclass
class Checkpoints:
    """The checkpoints of one fit, whose process holds the lock of `target`.

    Parameters
    ----------
    target
        Where the model will be stored.
    identity
        What must be equal for a fit to be the continuation of another: options, seed, corpus, engine.
    fit
        A random name of this very fit: checkpoints of two fits with equal options are never mixed.
    """

    target: Path
    identity: Mapping[str, Any]
    fit: str = field(default_factory=lambda: secrets.token_hex(8))

    def resume(self) -> tuple[Parameters, History] | None:
        """Return the state after the last complete checkpoint, or None where there is none."""
        existing = find_checkpoints(self.target)
        damaged: dict[int, StoreError] = {}
        for number in sorted(existing, reverse=True):
            try:
                checkpoint = store.open_store(existing[number], kind=KIND)
                if "rho_accumulator.npy" not in checkpoint:
                    continue  # only the embeddings of the best pass
                parameters = Parameters(**{name: np.array(checkpoint.array(name)) for name in _PARAMETERS})
                self._check_identity(checkpoint)
                self._check_best(checkpoint)
            except StoreError as error:
                damaged[number] = error
                continue
            return parameters, self._continue_from(number, checkpoint.meta["history"], damaged)
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

    def _continue_from(self, number: int, history: History, damaged: Mapping[int, StoreError]) -> History:
        if damaged:
            warnings.warn(
                f"Continuing after pass {number}, as the last checkpoint cannot be used: {damaged[max(damaged)]}",
                DriftwordWarning,
                stacklevel=4,
            )
        for pass_number in damaged:
            discard(find_checkpoints(self.target)[pass_number], self.target)
        lines = "".join(json.dumps(entry) + "\n" for entry in history)
        with writing(self._log_path):
            self._log_path.write_text(lines, encoding="utf-8")  # a later pass may have been logged and then lost
        return history

    def _check_identity(self, checkpoint: store.Store) -> None:
        made = checkpoint.meta.get("identity", {})
        if changed := [name for name, value in self.identity.items() if made.get(name) != value]:
            raise OptionError(
                f"The checkpoint of '{self.target}' was made with another {' and '.join(changed)}; "
                f"use the same options, or {_AGAIN}"
            )
        self.fit = checkpoint.meta["fit"]

    def _check_best(self, checkpoint: store.Store) -> None:
        """Check now what would otherwise be found missing when the fit is finished."""
        best = checkpoint.meta["best_pass"]
        if best != len(checkpoint.meta["history"]):
            self.open_best(best)

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
        checkpoint = store.open_store(_folder(self.target) / f"pass-{best_pass:03}", kind=KIND)
        if checkpoint.meta.get("fit") != self.fit:
            raise StoreError(f"'{checkpoint.folder}' belongs to another fit")
        return checkpoint.array("rho"), checkpoint.array("alpha")

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
        with store.create(_folder(self.target) / f"pass-{number:03}", kind=KIND, overwrite=True) as writer:
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
    matches = {path: re.fullmatch(r"pass-([0-9]+)", path.name) for path in _folder(target).glob("pass-*")}
    return {int(match[1]): path for path, match in matches.items() if match}


def _folder(target: Path) -> Path:
    target = target.absolute()
    return target.parent / f".{target.name}.checkpoints"
