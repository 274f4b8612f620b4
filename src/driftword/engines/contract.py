"""The contract of an engine: what fitting and scoring ask of it, whatever machine it runs on.

Schedules, stopping, checkpoints and saving exist once, in `driftword.fitting.fitting`; an engine
knows nothing of them. Every engine passes ``tests/engines/test_contract.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, SupportsFloat

import numpy.typing as npt

from driftword.corpus import Corpus
from driftword.engines.parameters import Floats, Parameters
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
        """Return an engine in which every slice has the static embeddings, with Adagrad accumulators reset.

        With `contexts` every slice also gets context vectors of its own.
        """
        ...

    def capacity(self) -> float:
        """Return how many tokens it can read at once beside those it works on, for the memory that is free."""
        ...

    def read(self, corpus: Corpus, plan: PassPlan) -> Sequence[Any]:
        """Return the rounds of a pass; each has `positions`, the number of words it predicts."""
        ...

    def round(self, blocks: Any, step: Step) -> SupportsFloat:
        """Take the likelihood step of every block, then the prior's; return the text's summed log-likelihood.

        Where a device is still at work on the round, only who asks for the value as a float waits for it.
        """
        ...

    def score(
        self, text: Text, *, sampler: Sampler, half_window: int, negatives: int, key: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return log sigmoid(eta) of each word, and the summed log sigmoid(-eta) of its negatives."""
        ...

    def finite(self) -> bool:
        """Whether the parameters are still finite."""
        ...

    def embeddings(self) -> tuple[Floats, Floats]:
        """Return the current rho and alpha as NumPy arrays, which may be the engine's own."""
        ...

    def snapshot(self) -> Callable[[], tuple[Floats, Floats]]:
        """Copy the current rho and alpha; return a function that gives the copies as NumPy arrays."""
        ...
