"""Counter-based random numbers: a hash of (seed, stream, pass, position).

Nothing here has state. A draw depends only on its counters, so it is the same on every engine, in whatever order the
work is done and however it is divided. The hash is SplitMix64 (Steele, Lea & Flood 2014). Its constants are written
only here; kernels that repeat the hash import them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

GOLDEN_GAMMA: Final = 0x9E3779B97F4A7C15
MULTIPLIER_1: Final = 0xBF58476D1CE4E5B9
MULTIPLIER_2: Final = 0x94D049BB133111EB
_MASK: Final = (1 << 64) - 1

#: Each use of randomness has its own stream, so that no two are correlated.
STREAMS: Final = {
    "split": 1, "subsample": 2, "order": 3, "negatives": 4, "scoring": 5, "initial": 6, "turns": 7,
    "background": 8, "halves": 9, "permutations": 10, "signs": 11, "dates": 12, "draws": 13,
    "process": 14, "pieces": 15, "chosen": 16, "baseline": 17, "start": 18, "holdout": 19, "contexts": 20, "folds": 21,
    "word contexts": 22, "words": 23, "senses": 24, "power": 25, "passages": 26, "occurrences": 27, "keywords": 28,
}  # fmt: skip


def mix(x: int) -> int:
    """Hash one 64-bit number."""
    x = (x + GOLDEN_GAMMA) & _MASK
    x = ((x ^ (x >> 30)) * MULTIPLIER_1) & _MASK
    x = ((x ^ (x >> 27)) * MULTIPLIER_2) & _MASK
    return x ^ (x >> 31)


def key(seed: int, stream: str, *counters: int) -> int:
    """Combine a seed, a stream and the counters that many draws share into one key."""
    state = mix(seed & _MASK)
    for counter in (STREAMS[stream], *counters):
        state = mix(state ^ (counter & _MASK))
    return state


def bits(stream_key: int, positions: npt.NDArray[np.integer]) -> npt.NDArray[np.uint64]:
    """Return 64 random bits for each position."""
    x = positions.astype(np.uint64)
    x ^= np.uint64(stream_key)
    x += np.uint64(GOLDEN_GAMMA)
    x ^= x >> np.uint64(30)
    x *= np.uint64(MULTIPLIER_1)
    x ^= x >> np.uint64(27)
    x *= np.uint64(MULTIPLIER_2)
    x ^= x >> np.uint64(31)
    return x


def uniform(stream_key: int, positions: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
    """Return a number in [0, 1) for each position, from its 53 highest bits."""
    return (bits(stream_key, positions) >> np.uint64(11)).astype(np.float64) * 2.0**-53
