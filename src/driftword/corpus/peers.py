"""The peers of a word: words of similar frequency, with which it is compared."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
PEERS: Final = 200  # of each word, counting itself; a twentieth of the words of a small vocabulary
FEWEST_PEERS: Final = 20


def peer_windows(frequency: Array) -> tuple[Array, Array, int]:
    """Return words in order of frequency, where the peers of each begin in that order, and how many there are."""
    order = np.argsort(frequency, kind="stable")
    n = len(order)
    width = min(max(FEWEST_PEERS, min(PEERS, n // 20)), n)
    return order, np.clip(np.arange(n) - width // 2, 0, n - width), width


class Peers:
    """The peers of any word among the words of a mask, ``(V,)``."""

    def __init__(self, frequency: Array, among: Array) -> None:
        order, self._begin, self._width = peer_windows(frequency[among])
        self._words = np.flatnonzero(among)[order]
        by_frequency = np.argsort(frequency, kind="stable")
        self._place = np.empty(len(frequency), dtype=np.int64)  # of each word, or of the one before that is among them
        self._place[by_frequency] = np.maximum(np.cumsum(among[by_frequency]) - 1, 0)

    def of(self, v: int) -> Array:
        """Return the peers of word v; it is not among them itself."""
        first = self._begin[self._place[v]] if self._width else 0
        window = self._words[first : first + self._width]
        return np.asarray(window[window != v])
