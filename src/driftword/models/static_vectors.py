"""Vectors of a fit that knows no dates: what tests compare the documents of a model with."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from driftword.storage import store

_NAMES: Final = ("rho", "alpha", "intercepts")


class StaticVectors(NamedTuple):
    """One embedding, context vector and intercept for each word, whatever the date."""

    rho: npt.NDArray[np.float32]  # (V, K)
    alpha: npt.NDArray[np.float32]  # (V, K)
    intercepts: npt.NDArray[np.float32]  # (V,)


def read_static(stored: store.Store, n_words: int) -> StaticVectors | None:
    """Return the static vectors that a store holds, if it does."""
    if not all(f"static_{name}.npy" in stored for name in _NAMES):
        return None
    found = StaticVectors(*(stored.array(f"static_{name}") for name in _NAMES))
    right = found.rho.shape == found.alpha.shape and found.rho.ndim == 2 and found.intercepts.shape == (n_words,)
    numbers = all(array.dtype == np.float32 and np.isfinite(array).all() for array in found)
    if not right or len(found.rho) != n_words or not numbers:
        raise store.damaged(stored.folder, "its static vectors have other shapes, or other numbers, than they should")
    return found


def write_static(writer: store.Writer, vectors: StaticVectors) -> None:
    """Write static vectors."""
    for name, values in zip(_NAMES, vectors, strict=True):
        writer.array(f"static_{name}", np.ascontiguousarray(values, dtype=np.float32))
