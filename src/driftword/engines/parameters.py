"""The parameters that an engine fits, how they start, and how a static model becomes one with slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword import randomness

Floats = npt.NDArray[np.floating[Any]]

INITIAL_SCALE: Final = 0.1  # standard deviation of the initial embeddings and context vectors


@dataclass
class Parameters:
    """Embeddings, context vectors, and their Adagrad accumulators (sums of squared gradients)."""

    rho: Floats  # (T, V, K)
    alpha: Floats  # (V, K)
    rho_accumulator: Floats  # (T, V, K)
    alpha_accumulator: Floats  # (V, K)

    def astype(self, dtype: npt.DTypeLike) -> Parameters:
        """Return the parameters in another precision; arrays that have it already are shared, not copied."""
        return Parameters(
            self.rho.astype(dtype, copy=False),
            self.alpha.astype(dtype, copy=False),
            self.rho_accumulator.astype(dtype, copy=False),
            self.alpha_accumulator.astype(dtype, copy=False),
        )


def initial_parameters(n_words: int, dim: int, *, seed: int, initial_accumulator: float) -> Parameters:
    """Draw the initial parameters of a static model: small Gaussian numbers, the same on every machine."""
    counters = np.arange(2 * n_words * dim)
    key = randomness.key(seed, "initial")
    first, second = randomness.uniform(key, 2 * counters), randomness.uniform(key, 2 * counters + 1)
    normal = np.sqrt(-2 * np.log1p(-first)) * np.cos(2 * np.pi * second)  # Box-Muller
    rho, alpha = (INITIAL_SCALE * normal).reshape(2, n_words, dim)
    rho = rho[None].copy()
    return Parameters(
        rho, alpha.copy(), np.full_like(rho, initial_accumulator), np.full_like(alpha, initial_accumulator)
    )


def broadcast(static: Parameters, n_slices: int, initial_accumulator: float) -> Parameters:
    """Give every slice the static embeddings, and reset the Adagrad accumulators."""
    rho = np.repeat(static.rho, n_slices, axis=0)
    return Parameters(
        rho, static.alpha, np.full_like(rho, initial_accumulator), np.full_like(static.alpha, initial_accumulator)
    )
