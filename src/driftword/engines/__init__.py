"""The only seam: an engine runs rounds of blocks and scores text, on whatever machine there is.

Schedules, stopping, checkpoints and saving exist once, in `fit`; an engine knows
none of them.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from driftword.engines.rounds import Blocks, Parameters, Sampler, Step, Text
from driftword.errors import OptionError

ENGINES: Final = ("cpu", "reference")


class Engine(Protocol):
    """What `fit` and `evaluate` ask of an engine."""

    name: str
    dtype: Any
    parameters: Parameters

    def round(self, blocks: Blocks, step: Step) -> float:
        """Climb the likelihood over some blocks, then apply the prior; return the text's log-likelihood."""
        ...

    def score(self, text: Text, *, reach: int, negatives: int, key: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return log s(eta) of each word and the summed log s(-eta) of its negatives."""
        ...


def choose_engine(name: str) -> str:
    """Return the engine that a user's word stands for."""
    if name == "auto":
        return "cpu"
    if name not in ENGINES:
        raise OptionError(f"there is no engine '{name}'; choose one of auto, {', '.join(ENGINES)}")
    return name


def make_engine(
    name: str, parameters: Parameters, sampler: Sampler, *, threads: int | None = None, reproducible: bool = False
) -> Engine:
    """Start an engine on parameters, which it may change."""
    if name == "reference":
        from driftword.engines.reference import ReferenceEngine

        return ReferenceEngine(parameters, sampler)
    from driftword.engines.cpu import CpuEngine

    return CpuEngine(parameters, sampler, threads=threads, reproducible=reproducible)


def engine_dtype(name: str) -> Any:
    """Return the type of number an engine computes with."""
    return np.float64 if name == "reference" else np.float32
