"""How many cores there are for this process."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Return how many cores this process may use, which a scheduler or a container may have limited."""
    cores = os.cpu_count() or 1
    return min(cores, len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else cores


def rank() -> tuple[int, int]:
    """Return the number of this process among those that ``torchrun`` started together, and how many they are."""
    if not {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= os.environ.keys():
        return 0, 1
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
