"""What every benchmark prints first: the machine, the versions and the commit."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("DRIFTWORD_DATA", ROOT.parent / "shared" / "data"))


def describe(*packages: str) -> str:
    """Return three lines: the machine, the versions and the commit."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    names = ("driftword", "numpy", "polars", *packages)
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    return "\n".join(
        [
            f"machine   {_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}",
            "versions  " + ", ".join(f"{name} {version(name)}" for name in names),
            f"commit    {commit or 'unknown'}",
        ]
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
