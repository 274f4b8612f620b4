"""The loop over passes: an engine runs the rounds of each, and validation text scores it.

Nothing here depends on the machine, and nothing is written: `keeping` does that.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final, SupportsFloat, TypeVar

import numpy as np

from driftword.basics.errors import DriftwordWarning, FitError, OptionError
from driftword.basics.progress import Progress
from driftword.engines.contract import Engine
from driftword.engines.parameters import Parameters
from driftword.engines.registry import ENGINES
from driftword.engines.rounds import Sampler
from driftword.engines.streaming import rounds_of_pass
from driftword.fitting.held_out import KNOWS_NOTHING, MOST_VALIDATION, HeldOut, initial_intercepts
from driftword.fitting.job import Job, StartAny
from driftword.fitting.schedule import START_PASSES
from driftword.fitting.starts import merge
from driftword.models.spec import Spec

LOOK_EVERY: Final = 0.1  # seconds between two looks at what a device does: it stands still for them
_LEAST_RATE: Final = 0.02  # below which a fit that diverges is not tried again
_T = TypeVar("_T")
_SCORES: Final = ("L_pos", "L_neg", "L", "L_se")

History = list[dict[str, Any]]


class DivergedError(FitError):
    """The numbers of a fit grew beyond what they can mean; a smaller learning rate helps."""


def retry_diverged(spec: Spec, fit: Callable[[Spec], _T], tell: Callable[[Spec], None] = lambda _: None) -> _T:
    """Fit with a spec, and again with a third of its learning rate where that diverges: a few words, all frequent.

    `tell` is told of each spec that is tried instead.
    """
    while True:
        try:
            return fit(spec)
        except DivergedError:
            if spec.learning_rate < _LEAST_RATE:
                raise
            spec = replace(spec, learning_rate=spec.learning_rate / 3)
            tell(spec)


class Training:
    """An engine at work on a job, anew or from the state of an interrupted fit, and the scores of the passes so far."""

    def __init__(
        self, job: Job, start_engine: StartAny, state: tuple[Parameters, History] | None, *, resumable: bool
    ) -> None:
        self.job, self.corpus, self.schedule, self.resumable = job, job.corpus, job.schedule, resumable
        self.start_engine = start_engine
        spec, corpus = job.schedule.spec, job.corpus
        reader = ThreadPoolExecutor(1)  # the first pass need not wait for the text it will be scored on
        self._held_out = reader.submit(HeldOut, corpus, "valid", most=MOST_VALIDATION)
        reader.shutdown(wait=False)
        if state is None:
            intercepts, dtype = initial_intercepts(corpus, spec), ENGINES[job.engine].dtype
            starts = [job.schedule.of_start(number) for number in range(job.schedule.starts)]
            states = [start.initial_parameters(len(corpus.words), intercepts, dtype) for start in starts]
            self.history: History = []
        else:
            states, self.history = [state[0]], state[1]
        sampler = Sampler.make(corpus.raw_counts, spec.exponent)
        self.engines = [start_engine(parameters, sampler) for parameters in states]  # one for each start, then the mean

    @property
    def engine(self) -> Engine:
        """The engine of the fit; while it has several starts, that of the first."""
        return self.engines[0]

    def is_done(self, patience: int) -> bool:
        """Tell whether all passes are done, or the score has not become better for `patience` of them."""
        done = len(self.history)
        return done >= self.schedule.passes or (bool(self._own_passes()) and done - self.best_pass >= patience)

    def run_pass(self, bar: Progress) -> None:
        """Run one pass and score it; stop a fit that has diverged."""
        number, spec = len(self.history), self.schedule.spec
        static = self.schedule.is_static(number)
        if number == 1 and not static:
            self.engines = [
                engine.broadcast(self.schedule.n_slices, spec.initial_accumulator, contexts=spec.contexts_drift)
                for engine in self.engines
            ]
        begin, words, likelihood = time.perf_counter(), 0, 0.0
        for start in range(len(self.engines)):
            seen, total = self._run_rounds(number, start, bar)
            words, likelihood = words + seen, likelihood + total
        if number + 1 == START_PASSES:
            merge(self.engines)
        if not words and number == 0:
            raise OptionError("There is too little text to train on: a pass sees no word; bring more text")
        trained = time.perf_counter()
        scores = self._validate()
        self.history.append(
            {
                "pass": number + 1,
                "kind": "static" if static else spec.model,
                "words": words,
                "seconds": round(trained - begin, 3),
                "scoring_seconds": round(time.perf_counter() - trained, 3),
                "train_L_pos": likelihood / max(words, 1),
                **scores,
            }
        )
        # It has diverged where it is nearer to knowing nothing than to word frequencies alone, and because of what it
        # claims. One that is merely slow claims little: it predicts words that occur no worse than frequencies do.
        frequency_positive, frequency = self._frequency_scores
        if scores["L"] < (frequency + KNOWS_NOTHING) / 2 and scores["L_pos"] < frequency_positive:
            raise self._diverged(number, self._beside_frequencies(scores["L"]))

    def _run_rounds(self, number: int, start: int, bar: Progress) -> tuple[int, float]:
        """Run the rounds of a pass; return how many words it saw, and their summed log-probability."""
        begin = looked = time.perf_counter()
        schedule, corpus, static = self.schedule.of_start(start), self.corpus, self.schedule.is_static(number)
        engine = self.engines[start]
        n_rounds, rounds = rounds_of_pass(engine, corpus, schedule.plan(number))
        name = "static pass" if static and schedule.n_slices > 1 else "pass"
        which = f", start {start + 1} of {len(self.engines)}" if len(self.engines) > 1 else ""
        bar.stage(f"{name} {number + 1} of {schedule.passes}{which}", total=self._expected_words)
        prior = None
        if not static and schedule.spec.walk != "random":
            prior = schedule.prior_at(engine.embeddings()[0], corpus.raw_counts)
        words, likelihood = 0, 0.0
        unseen: list[SupportsFloat] = []
        for r, part in enumerate(rounds):
            unseen.append(engine.round(part, schedule.step(number, r, prior, rounds=n_rounds)))
            words += part.positions
            now = time.perf_counter()
            if r + 1 < n_rounds and now - looked < LOOK_EVERY:
                continue
            for one in unseen:  # one after the other: how many there are depends on time, and the sum must not
                likelihood += float(one)
            unseen, looked = [], now
            if not (np.isfinite(likelihood) and engine.finite()):
                raise self._diverged(number, "numbers grew beyond all bounds")
            rate = words / (time.perf_counter() - begin)
            facts = f"{rate / 1e3:,.0f}k words/s, L_pos {likelihood / max(words, 1):.3f}"
            if self.history:
                facts += ", validation {L_pos:.3f} {L_neg:+.3f} = {L:.3f}".format(**self.history[-1])
            bar.update(done=words, facts=facts)
        return words, likelihood

    @functools.cached_property
    def _expected_words(self) -> float:
        """The number of words that a pass is expected to see."""
        return float(self.corpus.train_counts.sum(axis=0, dtype=np.float64) @ self.corpus.keep_probability)

    def _validate(self) -> dict[str, float]:
        if not self.corpus.has_split("valid"):
            return dict.fromkeys(_SCORES, float("nan"))
        summary = self._held_out.result().score(self.engine, context=self.schedule.spec.context).summary()
        return {name: summary[name] for name in _SCORES}

    @functools.cached_property
    def _frequency_scores(self) -> tuple[float, float]:
        """L_pos and L of word frequencies alone; NaN without validation text."""
        text = self._held_out.result()
        return text.frequency_scores(self.corpus) if len(text.text.ids) else (float("nan"), float("nan"))

    def warn_if_useless(self) -> None:
        """Say so where the finished model is surely no better than word frequencies alone."""
        best = self.history[self.best_pass - 1]
        if best["L"] + 2 * best["L_se"] < self._frequency_scores[1]:
            warnings.warn(
                f"The model predicts less well than word frequencies alone: {self._beside_frequencies(best['L'])}; "
                "give it more text or more `passes`, or try another `learning_rate` "
                f"(it is {self.schedule.spec.learning_rate:g})",
                DriftwordWarning,
                stacklevel=3,
            )

    def _beside_frequencies(self, score: float) -> str:
        alone = self._frequency_scores[1]
        return f"on validation text its L is {score:.2f}, and that of word frequencies alone {alone:.2f}"

    def _diverged(self, number: int, reason: str) -> DivergedError:
        remedy = f"use a smaller `learning_rate` (it is {self.schedule.spec.learning_rate:g})"
        state = f"; the state after pass {number} is kept" if number and self.resumable else ""
        return DivergedError(f"The fit diverged in pass {number + 1}: {reason}; {remedy}{state}")

    @property
    def best_pass(self) -> int:
        """The pass with the best validation score; of the model's own passes, once there is one."""
        own, score = self._own_passes() or self.history, self.schedule.spec.select_by
        return int(max(own, key=lambda entry: (np.nan_to_num(entry[score], nan=-np.inf), entry["pass"]))["pass"])

    def _own_passes(self) -> History:
        return [entry for entry in self.history if entry["kind"] == self.schedule.spec.model]
