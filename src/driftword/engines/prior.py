"""The prior: what is expected of the parameters before any text is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Prior:
    """Gaussian priors on context vectors and embeddings, and random walks of embeddings and intercepts.

    Intercepts are measured in the unit in which engines keep them (`parameters.INTERCEPT_UNIT`).
    """

    alpha: float  # precision of context vectors
    rho: npt.NDArray[np.floating[Any]]  # (T,) precision of embeddings in each slice
    walk: npt.NDArray[np.floating[Any]]  # (T - 1,) of each step between adjacent slices; 0 where they are independent
    intercept_walk: npt.NDArray[np.floating[Any]]  # (T - 1,) the same for intercepts

    def share(self, part: float) -> Prior:
        """Return a part of the prior, for one of several times that it is applied."""
        return Prior(self.alpha * part, self.rho * part, self.walk * part, self.intercept_walk * part)
