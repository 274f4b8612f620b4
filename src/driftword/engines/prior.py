"""The prior: what is expected of the parameters before any text is read."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating[Any]]


class Chain(NamedTuple):
    """A Gaussian prior of numbers that every word has in every slice: how large, and how different in adjacent slices.

    It is all there is to a walk: independent slices, random walks in unequal steps, returns to a mean (around a
    center) and words that move more or less than others differ in these two alone.
    """

    precision: Array  # (T,) in each slice
    walk: Array  # (T - 1,) of each step between adjacent slices, or (T - 1, V) of each step of each word

    @classmethod
    def independent(cls, precision: float | Array) -> Chain:
        """Return a chain without couplings; of one slice, where a number is given."""
        values = np.atleast_1d(np.asarray(precision, dtype=np.float64))
        return cls(values, np.zeros(len(values) - 1))

    @property
    def walk_by_word(self) -> Array:
        """The walk as ``(T - 1, V)``, or as ``(T - 1, 1)`` where it is the same for all words."""
        return self.walk if self.walk.ndim == 2 else self.walk[:, None]

    def part(self, low: int, high: int) -> Chain:
        """Return the chain of slices low..high-1."""
        return Chain(self.precision[low:high], self.walk[low : high - 1])

    def share(self, part: float) -> Chain:
        """Return a part of it, or a multiple."""
        return Chain(self.precision * part, self.walk * part)


@dataclass(frozen=True)
class Prior:
    """The priors on all parameters.

    Intercepts are measured in the unit in which engines keep them (`parameters.INTERCEPT_UNIT`). Where there is a
    center, all that is said of parameters is said of how they differ from it.
    """

    alpha: Chain  # of one slice, where context vectors are the same in all
    rho: Chain
    intercept: Chain
    center: Array | None = None  # of embeddings and intercepts, as `Parameters.rho`, or with one slice for all
    alpha_center: Array | None = None  # of context vectors, (V, K)

    def share(self, part: float) -> Prior:
        """Return a part of the prior, for one of several times that it is applied."""
        chains = {name: getattr(self, name).share(part) for name in ("alpha", "rho", "intercept")}
        return dataclasses.replace(self, **chains)
