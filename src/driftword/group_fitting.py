"""Fitting groups: how the embeddings of each group differ from those of all text.

Every group starts from the model of all text. Its embeddings and intercepts then follow the text of the group, while
context vectors stay as they are, so that groups share one space and can be compared. The prior is about differences
from the embeddings of all text: small ones are more likely, and they change slowly. A group with little text stays
near all the others.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.corpus import Corpus
from driftword.engines import Engine
from driftword.engines.parameters import INTERCEPT_UNIT, Parameters
from driftword.engines.prior import Prior
from driftword.engines.rounds import Sampler, Step
from driftword.errors import FitError
from driftword.held_out import HeldOut
from driftword.progress import Progress
from driftword.schedule import Schedule

Array = npt.NDArray[Any]
RATE: Final = 0.06  # of the learning rate: groups start near where they end
SMALLER: Final = 4  # times, after a pass that did not help


@dataclass(frozen=True)
class FittedGroup:
    """The embeddings of one group, as engines keep them, and the scores after each pass."""

    rho: Array
    history: list[dict[str, Any]]
    corpus: Corpus  # its documents


class GroupFit:
    """Fits the groups of a corpus, from the embeddings of all text (as engines keep them) and the context vectors."""

    def __init__(
        self,
        corpus: Corpus,
        schedule: Schedule,
        start: tuple[Array, Array],
        start_engine: Callable[[Parameters, Sampler], Engine],
    ) -> None:
        self.corpus, self.schedule, self.start_engine = corpus, schedule, start_engine
        self.rho, self.alpha = start
        self.prior = group_prior(schedule, self.rho)
        self.sampler = Sampler.make(corpus.raw_counts, schedule.spec.exponent)

    def run(self, bar: Progress) -> dict[str, FittedGroup]:
        """Fit every group."""
        return {name: self.fit(name, bar) for name in self.corpus.groups}

    def fit(self, name: str, bar: Progress) -> FittedGroup:
        """Fit one group: passes over its text, as long as its validation text is predicted better.

        After a pass that does not help, the best embeddings so far are taken up again with smaller steps.
        """
        corpus, schedule, spec = self.corpus.of_group(name), self.schedule, self.schedule.spec
        held_out = HeldOut(corpus, "valid")
        engine, rate = self._start(self.rho), RATE

        def validate() -> float:
            if not len(held_out.text.ids):
                return float("nan")
            return held_out.score(engine, context=spec.context).summary()[spec.select_by]

        best, best_score, history = self.rho, validate(), list[dict[str, Any]]()
        for number in range(1, schedule.passes):
            begin = time.perf_counter()
            rounds = engine.read(corpus, schedule.plan(number))
            words = sum(part.positions for part in rounds)
            if not words:
                break  # there is no text by which it could differ
            bar.stage(f"group {name}, pass {number} of {schedule.passes - 1}", total=words)
            for r, part in enumerate(rounds):
                engine.round(part, group_step(schedule, number, r, self.prior, rate))
                bar.update(more=part.positions)
            found, score = engine.embeddings()[0], validate()
            if not np.isfinite(found).all():
                raise FitError(f"The fit of the group '{name}' diverged; use a smaller `learning_rate`")
            seconds = round(time.perf_counter() - begin, 3)
            history.append({"pass": number, "words": words, "seconds": seconds, spec.select_by: score})
            if not score <= best_score:  # also where there is no validation text
                best, best_score = found.copy(), score
                continue
            rate /= SMALLER
            if rate < RATE / SMALLER**2:
                break
            engine = self._start(best)
        return FittedGroup(best, history, corpus)

    def _start(self, rho: Array) -> Engine:
        """Return an engine that starts from these embeddings."""
        fresh = (np.full(a.shape, self.schedule.spec.initial_accumulator, dtype=np.float32) for a in (rho, self.alpha))
        return self.start_engine(Parameters(rho.copy(), self.alpha.copy(), *fresh), self.sampler)


def group_step(schedule: Schedule, number: int, round_number: int, prior: Prior, rate: float) -> Step:
    """Return the step of a round: that of the model, about differences, with context vectors that stay."""
    step = schedule.step(number, round_number)
    assert prior.center is not None
    return dataclasses.replace(
        step, learning_rate=rate * step.learning_rate, prior=prior.share(1 / schedule.spec.rounds), centering=None,
        frozen=prior.center.shape[1],
    )  # fmt: skip


def group_prior(schedule: Schedule, rho: Array) -> Prior:
    """Return what is expected of the differences between a group and all text."""
    spec, walks = schedule.spec, schedule.step(1, 0).prior
    per_slice = np.full(len(rho), spec.group_precision / len(rho))
    return Prior(
        alpha=0.0,
        rho=per_slice,
        walk=walks.walk * spec.rounds,
        intercept_walk=walks.intercept_walk * spec.rounds,
        intercept=per_slice * INTERCEPT_UNIT**2 / 300,  # as much weaker as the walk of intercepts is
        center=rho.astype(np.float32),
    )
