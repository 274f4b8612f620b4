"""All slices are embedded in one space from the start: each begins where the last one ended, or shares targets."""

from __future__ import annotations

import os

import numpy as np

from driftword.baselines.assembling import EXPONENT, RATES, Array, Task, by_word, train, word2vec
from driftword.basics import randomness
from driftword.basics.progress import progress
from driftword.corpus import Corpus
from driftword.models.model import Model


def incremental(
    corpus: Corpus | str | os.PathLike[str],
    *,
    dim: int = 100,
    context: int = 8,
    negatives: int = 5,
    passes: int = 5,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    show_progress: bool | None = None,
) -> Model:
    """Fit skip-grams to one slice after the other, each beginning where the last one ended, as Kim et al. (2014) did.

    Slices cannot be fitted at once, so that this takes longer than the others where there are many cores.

    Parameters
    ----------
    corpus, dim, context, negatives, out, overwrite, show_progress
        As in `procrustes`.
    passes
        Number of passes over the text of each slice.
    seed
        Seed of random numbers.
    """
    task = Task(
        "incremental", corpus, dim=dim, context=context, negatives=negatives, passes=passes, seed=seed, threads=1,
        out=out, overwrite=overwrite, show_progress=show_progress,
    )  # fmt: skip
    model = word2vec(task, task.counts.sum(axis=0, dtype=np.int64), sg=1)

    def go_on(t: int) -> Array:
        train(model, task, [t])
        return by_word(model, model.wv.vectors, task)

    return task.finish(task.each_slice(go_on, "fitting skip-grams"), "gensim")


def compass(
    corpus: Corpus | str | os.PathLike[str],
    *,
    dim: int = 100,
    context: int = 8,
    negatives: int = 5,
    passes: int = 5,
    seed: int = 0,
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    show_progress: bool | None = None,
) -> Model:
    """Fit CBOW to all text and then, with its target vectors frozen, to every slice, as Di Carlo et al. (2019) did.

    Slices begin with the vectors of all text, so that words that are rare in a slice stay near to those.

    Parameters
    ----------
    corpus, dim, context, negatives, seed, threads, out, overwrite, show_progress
        As in `procrustes`.
    passes
        Number of passes over all text, and again over that of each slice.
    """
    task = Task(
        "compass", corpus, dim=dim, context=context, negatives=negatives, passes=passes, seed=seed, threads=threads,
        out=out, overwrite=overwrite, show_progress=show_progress,
    )  # fmt: skip
    model = word2vec(task, task.counts.sum(axis=0, dtype=np.int64), sg=0, cbow_mean=1)
    with progress(show=task.show_progress) as bar:
        bar.stage("fitting all text", total=task.passes)
        train(model, task, list(range(len(task.counts))), bar)
    inputs, targets = by_word(model, model.wv.vectors, task), by_word(model, model.syn1neg, task)
    found = task.each_slice(lambda t: fit_slice(task, t, inputs, targets), "fitting slices")
    return task.finish(found, "gensim")


def fit_slice(task: Task, t: int, inputs: Array, targets: Array) -> Array:
    """Return the vectors of a slice, fitted with fixed targets from the vectors of all text, ``(V, K)``."""
    from driftword.baselines import compass_kernels as kernels  # Numba loads only where it is used

    own = inputs.copy()
    chances = np.cumsum(task.counts[t].astype(np.float64) ** EXPONENT)
    if not chances[-1]:
        return own
    rates = np.linspace(*RATES, task.passes + 1)
    for number in range(task.passes):
        ids, offsets = task.ids(t, number + 1)
        key = np.uint64(randomness.key(task.seed, "baseline", t, number))
        kernels.train_with_fixed_targets(
            ids, offsets, own, targets, chances / chances[-1], task.half_window, task.spec.negatives,
            rates[number], rates[number + 1], key,
        )  # fmt: skip
    return own
