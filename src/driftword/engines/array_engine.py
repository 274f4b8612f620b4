"""The base class of engines that keep their parameters as NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from driftword.corpus import Corpus
from driftword.engines.parameters import Floats, Parameters
from driftword.engines.rounds import Blocks, PassPlan, read_pass


class ArrayEngine:
    """Keeps the parameters and reads text; subclasses add `broadcast`, `round` and `score`."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def read(self, corpus: Corpus, plan: PassPlan) -> Sequence[Blocks]:
        """Return the rounds of a pass."""
        return read_pass(corpus, plan)

    def finite(self) -> bool:
        """Whether the parameters are still finite; alpha tells, as every other number soon reaches it."""
        return bool(np.isfinite(self.parameters.alpha).all())

    def embeddings(self) -> tuple[Floats, Floats]:
        """Return the current rho and alpha, not copies."""
        return self.parameters.rho, self.parameters.alpha

    def snapshot(self) -> Callable[[], tuple[Floats, Floats]]:
        """Copy the current rho and alpha; return a function that gives the copies."""
        copies = self.parameters.rho.copy(), self.parameters.alpha.copy()
        return lambda: copies
