"""The prior: what is expected of the parameters before any text is read."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Prior:
    """Gaussian priors on context vectors and embeddings, and random walks of embeddings and intercepts.

    Intercepts are measured in the unit in which engines keep them (`parameters.INTERCEPT_UNIT`). Where there is a
    `center`, all that is said of embeddings and intercepts is said of how they differ from it.
    """

    alpha: float  # precision of context vectors
    rho: Array  # (T,) precision of embeddings in each slice
    walk: Array  # (T - 1,) of each step between adjacent slices; 0 where they are independent
    intercept_walk: Array  # (T - 1,) the same for intercepts
    intercept: Array | None = None  # (T,) precision of intercepts in each slice; None stands for no prior on them
    center: Array | None = None  # as `Parameters.rho`

    @property
    def intercepts(self) -> Array:
        """Precision of intercepts in each slice, ``(T,)``."""
        return np.zeros_like(self.rho) if self.intercept is None else self.intercept

    def share(self, part: float) -> Prior:
        """Return a part of the prior, for one of several times that it is applied."""
        return dataclasses.replace(
            self, alpha=self.alpha * part, rho=self.rho * part, walk=self.walk * part,
            intercept_walk=self.intercept_walk * part, intercept=self.intercepts * part,
        )  # fmt: skip
