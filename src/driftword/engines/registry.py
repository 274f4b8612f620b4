"""The registry of engines: their names, where each is, its precision, and what it needs."""

from __future__ import annotations

import ctypes
import importlib.util
import pkgutil
from collections.abc import Callable
from contextlib import suppress
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
class EngineEntry:
    """One engine of the registry."""

    place: str  # module and class, imported only when used
    dtype: type[np.floating[Any]]  # of its parameters
    options: tuple[str, ...] = ()  # those about the machine that it takes
    package: str | None = None  # an optional dependency that must be installed, under this name as an extra too


ENGINES: Final = {
    "cpu": EngineEntry("driftword.engines.cpu.engine:CpuEngine", np.float32, ("threads",)),
    "torch": EngineEntry(
        "driftword.engines.torch.engine:TorchEngine",
        np.float32,
        ("device", "half_precision", "reproducible"),
        package="torch",
    ),
    "reference": EngineEntry("driftword.engines.reference:ReferenceEngine", np.float64),
}


def choose_engine(name: str, device: str | None = None) -> str:
    """Return the name of the engine to use: `name` itself, or for ``"auto"`` the fastest one here."""
    name = checks.one_of("engine", name, (AUTO, *ENGINES))
    device = checks.optional(checks.text, "device", device)
    if name == AUTO:
        return "torch" if device is not None or gpu_is_usable() else "cpu"
    if device is not None and "device" not in ENGINES[name].options:
        raise OptionError(f"`device` is an option of the torch engine, not of '{name}'; leave it out")
    return name


def make_engine(name: str, parameters: Parameters, sampler: Sampler, **options: Any) -> Engine:
    """Make an engine that starts from `parameters`, which it may change.

    They may have any precision and are cast to the engine's own; `sampler` draws negatives. The options are those of
    `driftword.fit` that concern the machine: threads, device, half_precision, reproducible. An engine takes those it
    knows.
    """
    entry = ENGINES[name]
    check_package(name)
    make: Callable[..., Engine] = pkgutil.resolve_name(entry.place)
    return make(
        parameters.astype(entry.dtype), sampler, **{key: options[key] for key in entry.options if key in options}
    )


def check_package(name: str) -> None:
    """Refuse an engine whose package is not installed."""
    package = ENGINES[name].package
    if package is not None and importlib.util.find_spec(package) is None:
        raise OptionError(
            f"The {name} engine needs the package '{package}', which is not installed; "
            f"run: pip install 'driftword[{package}]', or pass `engine=\"cpu\"`"
        )


def gpu_is_usable() -> bool:
    """Tell whether PyTorch is installed and sees an NVIDIA GPU."""
    has_driver = False
    for library in ("libcuda.so.1", "nvcuda.dll"):  # looking for the driver is much quicker than importing PyTorch
        with suppress(OSError):
            has_driver = ctypes.CDLL(library) is not None
    if not has_driver or importlib.util.find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())
