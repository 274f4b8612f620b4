"""The registry of engines: their names, how each is made, its precision, and what it needs.

Nothing outside this module depends on the name of an engine.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.engines.contract import Engine
from driftword.engines.parameters import Parameters
from driftword.engines.rounds import Sampler

AUTO: Final = "auto"


@dataclass(frozen=True)
class EngineOptions:
    """The options of a fit that concern the machine; an engine takes those it knows."""

    threads: int | None = None
    device: str | None = None
    half_precision: bool = False
    reproducible: bool = False


@dataclass(frozen=True)
class EngineEntry:
    """One engine of the registry."""

    make: Callable[[Parameters, Sampler, EngineOptions], Engine]
    dtype: type[np.floating[Any]]  # of its parameters
    package: str | None = None  # an optional dependency that must be installed, under this name as an extra too
    takes_device: bool = False


def _make_cpu(parameters: Parameters, sampler: Sampler, options: EngineOptions) -> Engine:
    from driftword.engines.cpu.engine import CpuEngine

    return CpuEngine(parameters, sampler, threads=options.threads)


def _make_torch(parameters: Parameters, sampler: Sampler, options: EngineOptions) -> Engine:
    from driftword.engines.torch.engine import TorchEngine

    return TorchEngine(
        parameters, sampler, device=options.device, half_precision=options.half_precision,
        reproducible=options.reproducible,
    )  # fmt: skip


def _make_reference(parameters: Parameters, sampler: Sampler, _: EngineOptions) -> Engine:
    from driftword.engines.reference import ReferenceEngine

    return ReferenceEngine(parameters, sampler)


ENGINES: Final[dict[str, EngineEntry]] = {
    "cpu": EngineEntry(_make_cpu, np.float32),
    "torch": EngineEntry(_make_torch, np.float32, package="torch", takes_device=True),
    "reference": EngineEntry(_make_reference, np.float64),
}


def choose_engine(name: str, device: str | None = None) -> str:
    """Return the name of the engine to use: `name` itself, or for ``"auto"`` the fastest one here."""
    name = checks.one_of("engine", name, (AUTO, *ENGINES))
    device = checks.optional(checks.text, "device", device)
    if name == AUTO:
        return "torch" if device is not None or gpu_is_usable() else "cpu"
    if device is not None and not ENGINES[name].takes_device:
        raise OptionError(f"`device` is an option of the torch engine, not of '{name}'; leave it out")
    return name


def make_engine(
    name: str,
    parameters: Parameters,
    sampler: Sampler,
    *,
    threads: int | None = None,
    reproducible: bool = False,
    device: str | None = None,
    half_precision: bool = False,
) -> Engine:
    """Make an engine that starts from `parameters`, which it may change.

    Parameters
    ----------
    name
        What `choose_engine` returned.
    parameters
        Where to start, in any precision; they are cast to the engine's own.
    sampler
        The distribution of the negatives.
    threads, reproducible, device, half_precision
        As in `driftword.fit`.
    """
    entry = ENGINES[name]
    check_package(name)
    options = EngineOptions(threads, device, half_precision, reproducible)
    return entry.make(parameters.astype(entry.dtype), sampler, options)


def check_package(name: str) -> None:
    """Refuse an engine whose package is not installed."""
    package = ENGINES[name].package
    if package is not None and importlib.util.find_spec(package) is None:
        raise OptionError(
            f"The {name} engine needs the package '{package}', which is not installed; "
            f"run: pip install 'driftword[{package}]', or pass `engine=\"cpu\"`"
        )


def gpu_is_usable() -> bool:
    """Whether PyTorch is installed and sees an NVIDIA GPU."""
    if importlib.util.find_spec("torch") is None:
        return False
    for library in ("libcuda.so.1", "nvcuda.dll"):  # looking for the driver is much quicker than importing PyTorch
        try:
            ctypes.CDLL(library)
            break
        except OSError:
            continue
    else:
        return False
    import torch

    return bool(torch.cuda.is_available())
