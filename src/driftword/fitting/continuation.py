"""Going on from a fitted model: passes over more text, as long as they help, with context vectors that stay."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics.errors import FitError
from driftword.basics.progress import Progress
from driftword.corpus import Corpus
from driftword.engines import Engine
from driftword.engines.parameters import Parameters
from driftword.engines.prior import Prior
from driftword.engines.rounds import Sampler
from driftword.engines.streaming import rounds_of_pass
from driftword.fitting.held_out import MOST_VALIDATION, HeldOut
from driftword.fitting.schedule import Schedule

Array = npt.NDArray[Any]
SMALLER: Final = 4  # times, after a pass that did not help
_RESTARTS: Final = 2


@dataclass(frozen=True)
class Continued:
    """Embeddings, as engines keep them, context vectors, and the scores after each pass."""

    rho: Array
    alpha: Array
    history: list[dict[str, Any]]


class Continuation:
    """Fits embeddings to the text of a corpus, from given ones."""

    def __init__(
        self, corpus: Corpus, schedule: Schedule, start_engine: Callable[[Parameters, Sampler], Engine], *, title: str
    ) -> None:
        self.corpus, self.schedule, self.start_engine, self.title = corpus, schedule, start_engine, title
        self.sampler = Sampler.make(corpus.raw_counts, schedule.spec.exponent)
        self.held_out = HeldOut(corpus, "valid", most=MOST_VALIDATION)

    def run(self, rho: Array, alpha: Array, prior: Prior, *, frozen: int, rate: float, bar: Progress) -> Continued:
        """Run passes, as long as the validation text is predicted better.

        After a pass that does not help, the best parameters so far are taken up again with smaller steps.

        Parameters
        ----------
        rho, alpha
            Where to start, as engines keep them.
        prior
            The prior of a whole pass.
        frozen
            Words, the first ones, whose context vectors stay.
        rate
            Share of the schedule's learning rate.
        bar
            Where to show progress.
        """
        schedule, spec = self.schedule, self.schedule.spec
        engine, least = self._start(rho, alpha), rate / SMALLER**_RESTARTS
        best, best_score, history = (rho, alpha), self._validate(engine), list[dict[str, Any]]()
        for number in range(1, schedule.passes):
            begin = time.perf_counter()
            plan = dataclasses.replace(schedule.plan(number), sliced=len(rho) > 1)
            n_rounds, rounds = rounds_of_pass(engine, self.corpus, plan)
            bar.stage(f"{self.title}, pass {number} of {schedule.passes - 1}", total=self.corpus.expected_tokens())
            words = 0
            for r, part in enumerate(rounds):
                step = schedule.step(number, r)
                engine.round(part, dataclasses.replace(
                    step, learning_rate=rate * step.learning_rate, prior=prior.share(1 / n_rounds), centering=None,
                    frozen=frozen,
                ))  # fmt: skip
                words += part.positions
                bar.update(more=part.positions)
            if not words:
                break  # there is no text to learn from
            found, score = engine.embeddings(), self._validate(engine)
            if not all(np.isfinite(values).all() for values in found):
                raise FitError(f"The fit of the {self.title} diverged; use a smaller `learning_rate`")
            seconds = round(time.perf_counter() - begin, 3)
            history.append({"pass": number, "words": words, "seconds": seconds, spec.select_by: score})
            if not score <= best_score:  # also where there is no validation text
                best, best_score = (found[0].copy(), found[1].copy()), score
                continue
            rate /= SMALLER
            if rate < least:
                break
            engine = self._start(*best)
        return Continued(*best, history)

    def _validate(self, engine: Engine) -> float:
        if not len(self.held_out.text.ids):
            return float("nan")
        return self.held_out.score(engine, context=self.schedule.spec.context).summary()[self.schedule.spec.select_by]

    def _start(self, rho: Array, alpha: Array) -> Engine:
        fresh = (np.full(a.shape, self.schedule.spec.initial_accumulator, dtype=np.float32) for a in (rho, alpha))
        return self.start_engine(Parameters(rho.copy(), alpha.copy(), *fresh), self.sampler)
