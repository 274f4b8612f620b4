"""Fitting groups: how the embeddings of each group differ from those of all text.

Every group starts from the model of all text. Its embeddings and intercepts then follow the text of the group, while
context vectors stay as they are, so that groups share one space and can be compared. The prior is about differences
from the embeddings of all text: small ones are more likely, and they change slowly. A group with little text stays
near all the others.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics.progress import Progress
from driftword.engines.parameters import INTERCEPT_UNIT, Floats, split_intercepts
from driftword.engines.prior import Chain, Prior
from driftword.fitting.continuation import continue_fit
from driftword.fitting.job import WITH_GROUPS, Job, StartAny
from driftword.fitting.schedule import Schedule
from driftword.models.embeddings import GroupEmbeddings

RATE: Final = 0.06  # of the learning rate: groups start near where they end


def fit_groups(
    job: Job, start_engine: StartAny, rho: Floats, alpha: Floats, *, dtype: npt.DTypeLike, bar: Progress
) -> dict[str, GroupEmbeddings]:
    """Fit the groups of a corpus, if it has any and the model moves, from embeddings and contexts of all text."""
    if not job.corpus.groups or job.schedule.spec.model not in WITH_GROUPS or len(rho) < 2:
        return {}
    rho, alpha = np.asarray(rho, dtype=np.float32), np.asarray(alpha, dtype=np.float32)
    prior = group_prior(job.schedule, rho)
    go_on = functools.partial(continue_fit, frozen=alpha.shape[-2], rate=RATE, bar=bar)
    groups = {}
    for name in job.corpus.groups:
        corpus = job.corpus.of_group(name)
        start = functools.partial(start_engine, group=name)
        found, _, history = go_on(corpus, job.schedule, (rho, alpha), prior, start_engine=start, title=f"group {name}")
        own, intercepts = split_intercepts(found.astype(dtype), alpha.shape[-1])
        groups[name] = GroupEmbeddings(own, intercepts, corpus.counts, corpus.train_counts, tuple(history))
    return groups


def group_prior(schedule: Schedule, rho: npt.NDArray[Any]) -> Prior:
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
