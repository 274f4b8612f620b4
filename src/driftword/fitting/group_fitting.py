"""Fitting groups: how the embeddings of each group differ from those of all text.

Every group starts from the model of all text. Its embeddings and intercepts then follow the text of the group, while
context vectors stay as they are, so that groups share one space and can be compared. The prior is about differences
from the embeddings of all text: small ones are more likely, and they change slowly. A group with little text stays
near all the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics.progress import Progress
from driftword.corpus import Corpus
from driftword.engines import Engine
from driftword.engines.parameters import INTERCEPT_UNIT, Parameters
from driftword.engines.prior import Chain, Prior
from driftword.engines.rounds import Sampler
from driftword.fitting.continuation import Continuation
from driftword.fitting.schedule import Schedule

Array = npt.NDArray[Any]
RATE: Final = 0.06  # of the learning rate: groups start near where they end


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

    def run(self, bar: Progress) -> dict[str, FittedGroup]:
        """Fit every group."""
        return {name: self.fit(name, bar) for name in self.corpus.groups}

    def fit(self, name: str, bar: Progress) -> FittedGroup:
        """Fit one group to its text."""
        corpus = self.corpus.of_group(name)
        continuation = Continuation(corpus, self.schedule, self.start_engine, title=f"group {name}")
        found = continuation.run(self.rho, self.alpha, self.prior, frozen=self.alpha.shape[-2], rate=RATE, bar=bar)
        return FittedGroup(found.rho, found.history, corpus)


def group_prior(schedule: Schedule, rho: Array) -> Prior:
    """Return what is expected of the differences between a group and all text."""
    prior = schedule.prior
    own = np.full(len(rho), schedule.spec.group_precision / len(rho))
    return Prior(
        alpha=prior.alpha,  # no matter: context vectors stay
        rho=Chain(own, prior.rho.walk),
        # As much weaker as the walk of intercepts is.
        intercept=Chain(own * INTERCEPT_UNIT**2 / 300, prior.intercept.walk),
        center=rho.astype(np.float32),
    )
