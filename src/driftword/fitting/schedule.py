"""The schedule of a fit: what each pass reads, and how large its steps are.

Every model begins with one static pass. The binned and the dynamic model then copy its embeddings into every slice
and continue from there. The learning rate falls linearly over all passes. The first passes may be done several times,
and the others go on from the mean (`starts`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics import randomness
from driftword.engines.parameters import INTERCEPT_UNIT, Floats, Parameters, initial_parameters
from driftword.engines.prior import Chain, Prior
from driftword.engines.rounds import Centering, PassPlan, Step
from driftword.fitting.walks import adapted, walk_chain
from driftword.models.spec import Spec

FROZEN: Final = 1e9  # precision of a walk that goes nowhere, and does not exceed what 32 bits can hold
START_PASSES: Final = 2  # passes of a start; noise of later ones is smaller, as their steps are
USUAL_CONTEXT: Final = 8  # words; in longer contexts more of them move at once, and each must move less


@dataclass(frozen=True)
class Schedule:
    """Passes are numbered from 0."""

    spec: Spec
    passes: int
    distances: npt.NDArray[np.float64]  # years from each slice of the model to the next; none in a static one
    seed: int
    centering: Centering | None  # of a model with intercepts

    @property
    def starts(self) -> int:
        """How often the fit begins."""
        return self.spec.starts if self.passes > START_PASSES else 1

    def of_start(self, number: int) -> Schedule:
        """Return the schedule of one start, which has random numbers of its own."""
        return replace(self, seed=randomness.key(self.seed, "start", number)) if number else self

    @property
    def n_slices(self) -> int:
        """The number of slices of the model."""
        return len(self.distances) + 1

    def is_static(self, number: int) -> bool:
        """Tell whether all text counts as one slice in a pass."""
        return number == 0 or self.n_slices == 1

    def initial_parameters(
        self, n_words: int, intercepts: Floats | None, dtype: type[np.floating[Any]] = np.float32
    ) -> Parameters:
        """Draw the parameters of a static model, to begin with."""
        spec = self.spec
        start = {"initial_scale": spec.initial_scale, "initial_accumulator": spec.initial_accumulator}
        return initial_parameters(n_words, spec.dim, seed=self.seed, **start, intercepts=intercepts, dtype=dtype)

    def plan(self, number: int) -> PassPlan:
        """Return how a pass reads the text."""
        spec = self.spec
        sample = number + 1 if spec.resample == "each-pass" else 1
        before = number if self.n_slices == 1 else max(number - 1, 0)
        return PassPlan(
            number, sample, not self.is_static(number), spec.block_size, spec.run_length, spec.rounds, self.seed, before
        )  # fmt: skip

    def step(self, number: int, round_number: int, prior: Prior | None = None, *, rounds: int | None = None) -> Step:
        """Return the step of a round; the prior (by default the usual one) is shared out over the rounds of a pass."""
        spec, static = self.spec, self.is_static(number)
        rounds = rounds or spec.rounds
        progress = (number + round_number / rounds) / max(self.passes, 1)
        rate = spec.learning_rate * (1 - (1 - spec.final_rate) * progress) * min(1.0, USUAL_CONTEXT / spec.context)
        return Step(
            learning_rate=rate * (spec.binned_rate if spec.model == "binned" and not static else 1),
            half_window=spec.context // 2,
            negatives=spec.negatives,
            pool_size=spec.pool_size,
            prior=(prior or (self._static_prior if static else self._prior)).share(1 / rounds),
            centering=self.centering,
        )

    @property
    def prior(self) -> Prior:
        """The prior of one pass over slices."""
        return self._static_prior if self.n_slices == 1 else self._prior

    def prior_at(self, rho: npt.NDArray[Any], counts: npt.NDArray[Any]) -> Prior:
        """Return the prior of the next pass over slices, given embeddings as engines keep them and counts of words."""
        return adapted(self.spec, self.prior, rho, counts) if self.spec.model == "dynamic" else self.prior

    @functools.cached_property
    def _static_prior(self) -> Prior:
        own = Chain.independent(self.spec.prior)
        return Prior(own, own, Chain.independent(0.0))

    @functools.cached_property
    def _prior(self) -> Prior:
        spec, n = self.spec, self.n_slices
        steps = self.distances / {"span": self.distances.sum(), "year": 1.0, "slice": self.distances}[spec.drift_unit]
        own = np.full(n, spec.prior / n)
        if spec.prior_slices == "first":  # which restrains the others only through the walk
            own = np.where(np.arange(n) == 0, spec.prior, spec.prior * (spec.model == "binned"))
        chain = walk_chain(spec, steps, own)
        if spec.model != "dynamic":
            chain = Chain(own, (FROZEN if spec.model == "frequency" else 0.0) / steps)
        return Prior(
            alpha=Chain(own, spec.drift_precision / steps) if spec.contexts_drift else Chain.independent(spec.prior),
            rho=chain,
            # Without the walk, a word that does not occur in a slice would seem impossible there.
            intercept=Chain(np.zeros(n), spec.intercept_walk * INTERCEPT_UNIT**2 / steps),
        )
