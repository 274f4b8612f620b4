"""Counter-based random numbers: a hash of (seed, stream, pass, position).

Nothing here has state. A draw depends only on its counters, so it is the same
on every engine, in every order and for every way the work is split.
The hash is the finaliser of SplitMix64 (Steele, Lea & Flood 2014).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

GOLDEN: Final = 0x9E3779B97F4A7C15
MULTIPLY_1: Final = 0xBF58476D1CE4E5B9
MULTIPLY_2: Final = 0x94D049BB133111EB
_MASK: Final = (1 << 64) - 1

#: Each use of randomness has a stream of its own, so that no two are correlated.
STREAMS: Final = {"split": 1, "subsample": 2, "order": 3, "negatives": 4, "scoring": 5, "start": 6}


def mix(x: int) -> int:
    """Scramble one 64-bit number."""
    x = (x + GOLDEN) & _MASK
    x = ((x ^ (x >> 30)) * MULTIPLY_1) & _MASK
    x = ((x ^ (x >> 27)) * MULTIPLY_2) & _MASK
    return x ^ (x >> 31)


def key(seed: int, stream: str, *counters: int) -> int:
    """Combine the counters that stay the same over many draws into one key."""
    state = mix(seed & _MASK)
    for counter in (STREAMS[stream], *counters):
        state = mix(state ^ (counter & _MASK))
    return state


def bits(stream_key: int, positions: npt.NDArray[np.integer]) -> npt.NDArray[np.uint64]:
    """Return 64 random bits for each position."""
    x = positions.astype(np.uint64)
    x ^= np.uint64(stream_key)
    x += np.uint64(GOLDEN)
    x ^= x >> np.uint64(30)
    x *= np.uint64(MULTIPLY_1)
    x ^= x >> np.uint64(27)
    x *= np.uint64(MULTIPLY_2)
    x ^= x >> np.uint64(31)
    return x


def uniform(stream_key: int, positions: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
    """Return a number in [0, 1) for each position, from its 53 highest bits."""
    return (bits(stream_key, positions) >> np.uint64(11)).astype(np.float64) * 2.0**-53
