"""Going on from given embeddings: passes over more text, as long as they help, with context vectors that may stay."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics.errors import FitError
from driftword.basics.progress import Progress
from driftword.corpus import Corpus
from driftword.engines import Engine
from driftword.engines.parameters import Parameters, accumulators
from driftword.engines.prior import Prior
from driftword.engines.rounds import Sampler
from driftword.engines.streaming import rounds_of_pass
from driftword.fitting.held_out import MOST_VALIDATION, HeldOut
from driftword.fitting.job import StartEngine
from driftword.fitting.schedule import Schedule

Array = npt.NDArray[Any]
SMALLER: Final = 4  # times, after a pass that did not help
_RESTARTS: Final = 2


def continue_fit(
    corpus: Corpus,
    schedule: Schedule,
    start: tuple[Array, Array],
    prior: Prior,
    *,
    frozen: int,
    rate: float,
    start_engine: StartEngine,
    title: str,
    bar: Progress,
) -> tuple[Array, Array, list[dict[str, Any]]]:
    """Run passes over a corpus, as long as its validation text is predicted better.

    Return the best embeddings, as engines keep them, the context vectors, and the scores after each pass. After a pass
    that does not help, the best parameters so far are taken up again with smaller steps.

    `start` has embeddings, as engines keep them, and context vectors, of which those of the first `frozen` words stay;
    `prior` is that of a whole pass, and `rate` the share of the schedule's learning rate.
    """
    spec, held_out = schedule.spec, HeldOut(corpus, "valid", most=MOST_VALIDATION)
    sampler = Sampler.make(corpus.raw_counts, spec.exponent)

    def engine_at(rho: Array, alpha: Array) -> Engine:
        new = accumulators(rho, alpha, spec.initial_accumulator)
        return start_engine(Parameters(rho.copy(), alpha.copy(), *new), sampler)

    def validate() -> float:
        if not len(held_out.text.ids):
            return float("nan")
        return held_out.score(engine, context=spec.context).summary()[spec.select_by]

    engine, least = engine_at(*start), rate / SMALLER**_RESTARTS
    best, best_score, history = start, validate(), list[dict[str, Any]]()
    for number in range(1, schedule.passes):
        begin = time.perf_counter()
        plan = dataclasses.replace(schedule.plan(number), sliced=len(start[0]) > 1)
        n_rounds, rounds = rounds_of_pass(engine, corpus, plan)
        bar.stage(f"{title}, pass {number} of {schedule.passes - 1}", total=corpus.expected_tokens())
        words = 0
        for r, part in enumerate(rounds):
            step = schedule.step(number, r, prior, rounds=n_rounds)
            slower = dataclasses.replace(step, learning_rate=rate * step.learning_rate, centering=None, frozen=frozen)
            engine.round(part, slower)
            words += part.positions
            bar.update(more=part.positions)
        if not words:
            break  # there is no text to learn from
        found, score = engine.embeddings(), validate()
        if not all(np.isfinite(values).all() for values in found):
            raise FitError(f"The fit of the {title} diverged; use a smaller `learning_rate`")
        seconds = round(time.perf_counter() - begin, 3)
        history.append({"pass": number, "words": words, "seconds": seconds, spec.select_by: score})
        if not score <= best_score:  # also where there is no validation text
            best, best_score = (found[0].copy(), found[1].copy()), score
            continue
        rate /= SMALLER
        if rate < least:
            break
        engine = engine_at(*best)
    return *best, history
