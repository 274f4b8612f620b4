"""The base class of engines that keep their parameters as NumPy arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from driftword.basics.process import available_memory
from driftword.corpus import Corpus
from driftword.engines.parameters import Floats, Parameters
from driftword.engines.rounds import Blocks, PassPlan, Step, read_pass

BYTES_PER_TOKEN: Final = 64  # of text under way: ids, runs, blocks and their order
TEXT_SHARE: Final = 0.2  # of the free memory that one text may take: while it is worked on, the next one is read


class ArrayEngine(ABC):
    """Keeps the parameters and reads text; subclasses add `broadcast`, the steps and `score`."""

    reads_ahead = False

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def capacity(self) -> float:
        """Return how many tokens it can read at once beside those it works on, for the memory that is free."""
        return available_memory() * TEXT_SHARE / BYTES_PER_TOKEN

    def read(self, corpus: Corpus, plan: PassPlan) -> Sequence[Blocks]:
        """Return the rounds of a pass."""
        return read_pass(corpus, plan)

    @abstractmethod
    def likelihood_step(self, blocks: Blocks, step: Step) -> float:
        """Take the likelihood step of every block; return the text's summed log-likelihood."""

    @abstractmethod
    def prior_step(self, step: Step) -> None:
        """Take the proximal step of the prior, and centre contexts if there are intercepts."""

    def round(self, blocks: Blocks, step: Step) -> float:
        """Take the likelihood step of every block, then the prior's; return the text's summed log-likelihood."""
        total = self.likelihood_step(blocks, step)
        self.prior_step(step)
        return total

    def shared(self, *, rho: bool) -> list[tuple[Floats, Floats]]:
        """Return what the text of every slice moves, with its accumulators: context vectors, on request rho too."""
        p = self.parameters
        contexts = [(p.alpha, p.alpha_accumulator)] if p.alpha.ndim == 2 else []
        return [*contexts, (p.rho, p.rho_accumulator)] if rho else contexts

    def chain(self, name: str) -> Iterator[tuple[int, int, Floats, Floats]]:
        """Yield ranges of words, with rho (or alpha) and its accumulators in all slices."""
        values = getattr(self.parameters, name)
        yield 0, values.shape[1], values, getattr(self.parameters, f"{name}_accumulator")

    def hold(self, name: str, t: int, values: Any, accumulator: float) -> None:
        """Set one slice of rho (or alpha), and its accumulators to a number that lets nothing move it."""
        getattr(self.parameters, name)[t] = values
        getattr(self.parameters, f"{name}_accumulator")[t] = accumulator

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
