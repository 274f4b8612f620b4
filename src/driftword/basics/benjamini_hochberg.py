"""False discovery rates of p-values, by the procedure of Benjamini and Hochberg (1995)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def benjamini_hochberg(p: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return for each p-value the false discovery rate if it and all smaller ones are called findings."""
    order = np.argsort(p, kind="stable")
    rates = np.empty(len(p))
    rates[order] = np.minimum.accumulate((p[order] * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1]
    return np.minimum(rates, 1.0)
