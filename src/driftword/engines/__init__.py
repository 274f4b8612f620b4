"""The only seam: an engine runs rounds of blocks and scores text, on whatever machine there is.

Schedules, stopping, checkpoints and saving exist once, in `fit`; an engine knows
none of them.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from driftword.corpus import Corpus
from driftword.engines.rounds import Floats, Parameters, Pass, Sampler, Step, Text
from driftword.errors import OptionError

ENGINES: Final = ("cpu", "torch", "reference")


class Engine(Protocol):
    """What `fit` and `evaluate` ask of an engine."""

    name: str
    machine: str  # what it runs on, in words

    @property
    def parameters(self) -> Parameters:
        """The parameters as they are now, as NumPy arrays."""
        ...

    def spread(self, slices: int, squares: float) -> Engine:
        """Return an engine in which every slice has the static embeddings, and Adagrad begins anew."""
        ...

    def read(self, corpus: Corpus, how: Pass) -> Sequence[Any]:
        """Return the rounds of a pass, each with the number of its `positions`."""
        ...

    def round(self, blocks: Any, step: Step) -> float:
        """Climb the likelihood over some blocks, then apply the prior; return the text's log-likelihood."""
        ...

    def score(
        self, text: Text, *, sampler: Sampler, reach: int, negatives: int, key: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return log s(eta) of each word and the summed log s(-eta) of its negatives."""
        ...

    def finite(self) -> bool:
        """Whether numbers have stayed within bounds."""
        ...

    def embeddings(self) -> tuple[Floats, Floats]:
        """Return rho and alpha as they are now, as NumPy arrays, which may be the engine's own."""
        ...

    def snapshot(self) -> Callable[[], tuple[Floats, Floats]]:
        """Keep rho and alpha as they are now; return a way to get them back."""
        ...


def choose_engine(name: str, device: str | None = None) -> str:
    """Return the engine that a user's word stands for."""
    if name == "auto":
        return "torch" if device is not None or _gpu_is_usable() else "cpu"
    if name not in ENGINES:
        raise OptionError(f"there is no engine '{name}'; choose one of auto, {', '.join(ENGINES)}")
    if device is not None and name != "torch":
        raise OptionError(f"a device is chosen for the torch engine, not for '{name}'; leave --device out")
    return name


def _gpu_is_usable() -> bool:
    """Whether PyTorch is installed and sees an NVIDIA GPU; asks for the driver first, which takes no time."""
    if importlib.util.find_spec("torch") is None:
        return False
    for library in ("libcuda.so.1", "nvcuda.dll"):
        try:
            ctypes.CDLL(library)
            break
        except OSError:
            continue
    else:
        return False
    import torch

    return bool(torch.cuda.is_available())


def make_engine(
    name: str,
    parameters: Parameters,
    sampler: Sampler,
    *,
    threads: int | None = None,
    reproducible: bool = False,
    device: str | None = None,
    half: bool = False,
) -> Engine:
    """Start an engine on parameters, which it may change."""
    if name == "reference":
        from driftword.engines.reference import ReferenceEngine

        return ReferenceEngine(parameters, sampler)
    if name == "torch":
        if importlib.util.find_spec("torch") is None:
            raise OptionError(
                "the torch engine needs PyTorch; install it with: pip install 'driftword[torch]', or use --engine cpu"
            )
        if reproducible:
            raise OptionError("the torch engine adds numbers in no fixed order; use --engine cpu with --reproducible")
        from driftword.engines.torch import TorchEngine

        return TorchEngine(parameters, sampler, device=device, half=half)
    from driftword.engines.cpu import CpuEngine

    return CpuEngine(parameters, sampler, threads=threads, reproducible=reproducible)


def engine_dtype(name: str) -> Any:
    """Return the type of number an engine computes with."""
    return np.float64 if name == "reference" else np.float32
