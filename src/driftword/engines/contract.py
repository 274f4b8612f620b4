"""The contract of an engine: what fitting and scoring ask of it, whatever machine it runs on.

Schedules, stopping, checkpoints and saving exist once, in `driftword.fitting` (`schedule`, `training`,
`keeping`); an engine knows nothing of them. Every engine passes ``tests/engines/test_contract.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, SupportsFloat

import numpy.typing as npt

from driftword.corpus import Corpus
from driftword.engines.parameters import Floats, Parameters, Table
from driftword.engines.rounds import PassPlan, Sampler, Step, Text


class Engine(Protocol):
    """Runs rounds of training blocks and scores text."""

    machine: str  # what it runs on, for people
    reads_ahead: bool  # whether it reads the next piece of a text by itself while it works on this one

    @property
    def parameters(self) -> Parameters:
        """The current parameters as NumPy arrays."""
        ...

    def broadcast(self, n_slices: int, initial_accumulator: float, *, contexts: bool = False) -> Engine:
        """Return this engine, in which every slice now has the static embeddings, with Adagrad accumulators reset.

        With `contexts` every slice also gets context vectors of its own.
        """
        ...

    def vectors(self) -> Floats:
        """Return all context vectors and then all embeddings, without intercepts, as means over slices."""
        ...

    def merge(self, other: Any, own: Floats, others: Floats, share: float) -> None:
        """Multiply all vectors by a matrix, and add those of another engine, multiplied by another matrix.

        Intercepts and accumulators become the mean of both, in which the other engine's have a share. That engine
        serves no more.
        """
        ...

    def capacity(self) -> float:
        """Return how many tokens it can read at once, beside those it works on, into the memory that is free."""
        ...

    def read(self, corpus: Corpus, plan: PassPlan) -> Sequence[Any]:
        """Return the rounds of a pass; each has `positions`, the number of words it predicts."""
        ...

    def round(self, blocks: Any, step: Step) -> SupportsFloat:
        """Take the likelihood step of every block, then the prior's; return the text's summed log-likelihood.

        A device may still be at work on the round; whoever asks for the value as a float waits for it.
        """
        ...

    def score(
        self, text: Text, *, sampler: Sampler, half_window: int, negatives: int, key: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return log sigmoid(eta) of each word, and the summed log sigmoid(-eta) of its negatives."""
        ...

    def finite(self) -> bool:
        """Tell whether the parameters are still finite."""
        ...

    def embeddings(self) -> tuple[Floats, Floats]:
        """Return the current rho and alpha as NumPy arrays, which may be the engine's own."""
        ...

    def snapshot(self) -> Callable[[], tuple[Floats, Floats]]:
        """Copy the current rho and alpha; return a function that gives the copies as NumPy arrays."""
        ...


class LocalEngine(ABC):
    """An engine in one process: it also takes the steps of a round one by one, and shows where parameters are.

    That is what several processes need which fit one model together (`distributed`).
    """

    reads_ahead = False

    @abstractmethod
    def likelihood_step(self, blocks: Any, step: Step) -> SupportsFloat:
        """Take the likelihood step of every block; return the text's summed log-likelihood."""

    @abstractmethod
    def prior_step(self, step: Step) -> None:
        """Take the proximal step of the prior, and centre contexts if there are intercepts."""

    def round(self, blocks: Any, step: Step) -> SupportsFloat:
        """Take the likelihood step of every block, then the prior's; return the text's summed log-likelihood."""
        total = self.likelihood_step(blocks, step)
        self.prior_step(step)
        return total

    @abstractmethod
    def table(self, name: str) -> Table:
        """Return `rho` or `alpha` with its accumulators where they are stored, not copies."""

    def word_ranges(self, name: str) -> Iterator[tuple[int, int, Table]]:
        """Yield ranges of words, each with `rho` or `alpha` of these words in all slices."""
        table = self.table(name)
        yield 0, table.values.shape[1], table
