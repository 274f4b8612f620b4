"""What engines share that keep their parameters in the machine's own memory, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from driftword.corpus import Corpus
from driftword.engines.rounds import Blocks, Floats, Parameters, Pass, read_pass


class HostEngine:
    """Holds parameters and reads text."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def read(self, corpus: Corpus, how: Pass) -> Sequence[Blocks]:
        """Return the rounds of a pass."""
        return read_pass(corpus, how)

    def finite(self) -> bool:
        """Whether numbers have stayed within bounds."""
        return bool(np.isfinite(self.parameters.alpha).all())

    def embeddings(self) -> tuple[Floats, Floats]:
        """Return rho and alpha as they are now."""
        return self.parameters.rho, self.parameters.alpha

    def snapshot(self) -> Callable[[], tuple[Floats, Floats]]:
        """Keep rho and alpha as they are now; return a way to get them back."""
        kept = self.parameters.rho.copy(), self.parameters.alpha.copy()
        return lambda: kept


def spread(start: Parameters, slices: int, squares: float) -> Parameters:
    """Give every slice the static embeddings, and let Adagrad begin anew."""
    rho = np.repeat(start.rho, slices, axis=0)
    return Parameters(rho, start.alpha, np.full_like(rho, squares), np.full_like(start.alpha, squares))
