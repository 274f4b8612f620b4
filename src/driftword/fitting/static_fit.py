"""A fit without dates: where a test expects words must not depend on the dates that it tests.

Embeddings of a dated fit have followed what they would be tested with, the more so the less they are held back by
priors. So a test has vectors of its own: of a static fit with the usual options, whatever those of the model are. They
are kept with the model.
"""

from __future__ import annotations

import math
import warnings
from typing import Final

import numpy as np

from driftword.basics.errors import DriftwordWarning, StoreError
from driftword.basics.progress import Progress
from driftword.corpus import Corpus
from driftword.engines.parameters import split_intercepts
from driftword.fitting.job import plan_job
from driftword.fitting.training import Training, retry_diverged
from driftword.models.model import Model
from driftword.models.spec import Spec
from driftword.models.static_vectors import StaticVectors

ENOUGH: Final = 12e6  # words that the fit sees, unless that takes too many passes
MOST_PASSES: Final = 4


def static_vectors(
    model: Model,
    corpus: Corpus,
    *,
    threads: int,
    device: str | None = None,
    bar: Progress | None = None,
    seed: int = 0,
) -> StaticVectors:
    """Return the static vectors of a model, which are fitted and kept with it at their first use."""
    if model.static is not None:
        return model.static
    # By default the same seed whatever the model was fitted with, so that its test is the same; and one start, as
    # neighbours, for which several are better, are not asked for.
    spec = Spec(model="static", dim=model.spec.dim, context=model.spec.context, starts=1)
    passes = min(max(math.ceil(ENOUGH / max(corpus.expected_tokens(), 1)), 1), MOST_PASSES)
    machine = {"threads": threads, "reproducible": True, "half_precision": False, "device": device}
    engine = "cpu" if device is None else "torch"

    def fitted(spec: Spec) -> Training:
        job = plan_job(corpus.without_groups(), spec, passes=passes, seed=seed, engine=engine, machine=machine)
        training = Training(job, job.start_alone, None, resumable=False)
        for _ in range(passes):
            training.run_pass(bar or Progress())
        return training

    training = retry_diverged(spec, fitted)
    rho, alpha = training.engine.embeddings()
    embeddings, intercepts = split_intercepts(rho[0], alpha.shape[-1])
    assert intercepts is not None
    vectors = StaticVectors(*(np.array(values, dtype=np.float32) for values in (embeddings, alpha, intercepts)))
    try:
        model.keep_static(vectors)
    except StoreError as error:
        warnings.warn(f"The static fit is not kept with the model: {error}", DriftwordWarning, stacklevel=2)
    return vectors
