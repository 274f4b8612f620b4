"""The cores and memory that this process may use, the processes around it, and the versions it runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from driftword.basics.system_calls import resource


def versions() -> dict[str, str]:
    """Return the versions of the packages that decide a result."""
    from importlib.metadata import version  # which takes as long to load as all else that a program begins with

    return {name: version(name) for name in ("driftword", "numpy", "polars")}


def machine() -> str:
    """Describe this machine in a few words."""
    import platform

    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def python_program(module: str) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment that run a module in another process, with the packages of this one.

    A file in the current directory is not taken for a module (``-P``), unless this process would take it for one.
    """
    return [sys.executable, "-P", "-m", module], {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def available_cores() -> int:
    """Return the number of cores that this process may use, which a scheduler or container may have limited."""
    cores = os.cpu_count() or 1
    return min(cores, len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else cores


def rank() -> tuple[int, int]:
    """Return the rank of this process among those that ``torchrun`` started together, and their number."""
    if not {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= os.environ.keys():
        return 0, 1
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def available_memory() -> float:
    """Return how many bytes of memory this process may still use; infinity where the system does not say."""
    limits = [_kilobytes("/proc/meminfo", "MemAvailable:"), _free_in_group(), *_free_of_limits()]
    return max(0.0, min((limit for limit in limits if limit is not None), default=float("inf")))


def _free_in_group() -> float | None:
    """Return how much of its limit a container or scheduler leaves; cached files do not count as used."""
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = float(Path("/sys/fs/cgroup/memory.current").read_text())
        facts = dict(line.split() for line in Path("/sys/fs/cgroup/memory.stat").read_text().splitlines())
        return None if limit == "max" else float(limit) - used + float(facts.get("file", 0))
    except (OSError, ValueError):
        return None


def _free_of_limits() -> list[float | None]:
    """Return how much the limits of this process leave: of its data, and of its address space."""
    if resource is None:
        return []
    found: list[float | None] = []
    for limit, name in ((resource.RLIMIT_DATA, "VmData:"), (resource.RLIMIT_AS, "VmSize:")):
        most, used = resource.getrlimit(limit)[0], _kilobytes("/proc/self/status", name)
        found.append(None if most == resource.RLIM_INFINITY or used is None else most - used)
    return found


def _kilobytes(path: str, name: str) -> float | None:
    try:
        lines = Path(path).read_text().splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith(name))
    except (OSError, StopIteration, ValueError, IndexError):
        return None
