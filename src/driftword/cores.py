"""How many cores there are for this process."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Return how many cores this process may use, which a scheduler or a container may have limited."""
    cores = os.cpu_count() or 1
    return min(cores, len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else cores
