"""The base class of engines that keep their parameters as NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Self

import numpy as np

from driftword.basics.process import available_memory
from driftword.corpus import Corpus
from driftword.engines.contract import LocalEngine
from driftword.engines.parameters import Floats, Parameters, Table, broadcast, by_slice
from driftword.engines.rounds import Blocks, PassPlan, Sampler, read_pass

BYTES_PER_TOKEN: Final = 64  # of text under way: ids, runs, blocks and their order
TEXT_SHARE: Final = 0.2  # of the free memory that one text may take: while it is worked on, the next one is read


class ArrayEngine(LocalEngine):
    """Keeps the parameters and reads text; subclasses add the steps and `score`."""

    def __init__(self, parameters: Parameters, sampler: Sampler) -> None:
        self.parameters, self.sampler = parameters, sampler

    def broadcast(self, n_slices: int, initial_accumulator: float, *, contexts: bool = False) -> Self:
        """Give every slice the static embeddings, and reset the Adagrad accumulators."""
        self.parameters = broadcast(self.parameters, n_slices, initial_accumulator, contexts=contexts)
        return self

    def vectors(self) -> Floats:
        """Return all context vectors and then all embeddings, without intercepts, as means over slices."""
        rho, alpha = self.embeddings()
        return np.concatenate([by_slice(alpha).mean(axis=0), rho[..., : alpha.shape[-1]].mean(axis=0)])

    def merge(self, other: Any, own: Floats, others: Floats, share: float) -> None:
        """Multiply all vectors by a matrix, and add those of another engine, multiplied by another matrix."""
        dim, dtype = len(own), self.parameters.alpha.dtype
        own, others = own.astype(dtype), others.astype(dtype)
        for name in ("rho", "alpha"):
            mine, theirs = (engine.table(name).by_slice() for engine in (self, other))
            for values, added in zip(mine.values, theirs.values, strict=True):  # a slice at a time, to save memory
                values[:, :dim] = values[:, :dim] @ own + added[:, :dim] @ others
                values[:, dim:] += dtype.type(share) * (added[:, dim:] - values[:, dim:])
            mine.accumulator[...] += dtype.type(share) * (theirs.accumulator - mine.accumulator)

    def table(self, name: str) -> Table:
        """Return `rho` or `alpha` with its accumulators."""
        return self.parameters.table(name)

    def capacity(self) -> float:
        """Return how many tokens it can read at once, beside those it works on, into the memory that is free."""
        return available_memory() * TEXT_SHARE / BYTES_PER_TOKEN

    def read(self, corpus: Corpus, plan: PassPlan) -> Sequence[Blocks]:
        """Return the rounds of a pass."""
        return read_pass(corpus, plan)

    def finite(self) -> bool:
        """Tell whether the parameters are still finite; alpha shows it, as every other number soon reaches it."""
        return bool(np.isfinite(self.parameters.alpha).all())

    def embeddings(self) -> tuple[Floats, Floats]:
        """Return the current rho and alpha, not copies."""
        return self.parameters.rho, self.parameters.alpha

    def snapshot(self) -> Callable[[], tuple[Floats, Floats]]:
        """Copy the current rho and alpha; return a function that gives the copies."""
        copies = self.parameters.rho.copy(), self.parameters.alpha.copy()
        return lambda: copies
