"""The peers of a word: words of similar frequency, with which what it does is compared."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
PEERS: Final = 200  # of each word, fewer in a small vocabulary


def peer_windows(frequency: Array) -> tuple[Array, Array, int]:
    """Return words in order of frequency, where the peers of each begin in that order, and how many they are."""
    order = np.argsort(frequency, kind="stable")
    n = len(order)
    width = min(max(PEERS // 10, min(PEERS, n // 20)), n)
    return order, np.clip(np.arange(n) - width // 2, 0, n - width), width
