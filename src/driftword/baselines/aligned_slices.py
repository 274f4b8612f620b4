"""Every slice is embedded on its own, and then rotated onto the one before."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from driftword.baselines.assembling import EXPONENT, Array, Task, by_word, train, word2vec
from driftword.basics import randomness
from driftword.basics.errors import OptionError
from driftword.corpus import Corpus
from driftword.fitting.starts import rotation
from driftword.models.model import Model
from driftword.models.slice_vectors import unit

_MORE_DIRECTIONS = 10  # than are kept, for the random projection
_POWER_STEPS = 3


def procrustes(
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
    """Fit skip-grams to every slice and rotate each slice onto the one before, as Hamilton et al. (2016) did.

    Parameters
    ----------
    corpus
        What `driftword.prepare` made, or its path.
    dim
        Number of dimensions of the vectors.
    context
        Number of words around a position that are its context: 8 is four on either side.
    negatives
        Number of words that do not occur, drawn for each that does.
    passes
        Number of passes over the text.
    seed
        Seed of random numbers: the same one gives the same embeddings, on any number of threads.
    threads
        Number of slices that are fitted at once; all cores by default.
    out
        Directory to store the model in; by default it stays in memory.
    overwrite
        Replace a model at `out`.
    show_progress
        Show a progress bar; by default in a terminal only.
    """
    task = Task(
        "procrustes", corpus, dim=dim, context=context, negatives=negatives, passes=passes, seed=seed, threads=threads,
        out=out, overwrite=overwrite, show_progress=show_progress,
    )  # fmt: skip

    def skip_grams(t: int) -> Array:
        if not task.present[t].any():
            return np.zeros((len(task.corpus.words), task.spec.dim), dtype=np.float32)
        model = word2vec(task, task.counts[t], sg=1)
        train(model, task, [t])
        return by_word(model, model.wv.vectors, task)

    found = task.each_slice(skip_grams, "fitting skip-grams")
    return task.finish(aligned(unit(found), task.present), "gensim")


def ppmi(
    corpus: Corpus | str | os.PathLike[str],
    *,
    dim: int = 100,
    context: int = 8,
    seed: int = 0,
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    show_progress: bool | None = None,
) -> Model:
    """Factorise the positive pointwise mutual information of every slice and rotate each slice onto the one before.

    With these vectors, a significance test calls more words changed than it should (docs/benchmarks.md).

    It needs SciPy, which comes with ``pip install 'driftword[baselines]'``.

    Parameters
    ----------
    corpus, dim, context, out, overwrite, show_progress
        As in `procrustes`.
    seed
        Seed of the random projection by which the factors are found.
    threads
        Number of slices that are factorised at once; all cores by default.
    """
    task = Task(
        "ppmi", corpus, dim=dim, context=context, seed=seed, threads=threads, out=out, overwrite=overwrite,
        show_progress=show_progress,
    )  # fmt: skip
    n_words = len(task.corpus.words)
    if task.spec.dim > n_words:
        raise OptionError(f"{n_words:,} words are too few for {task.spec.dim} factors; give a smaller `dim`")

    def factorise(t: int) -> Array:
        generator = np.random.default_rng([randomness.key(task.seed, "baseline", t)])
        return left_factors(mutual_information(task, t), task.spec.dim, generator)

    found = task.each_slice(factorise, "factorising")
    return task.finish(aligned(unit(found), task.present))


def aligned(found: Array, present: Array) -> Array:
    """Rotate the vectors of each slice, ``(T, V, K)``, onto those of the last one before that shares words with it."""
    latest = found[0].copy()  # the last vector of every word so far
    known = present[0].copy()
    for t in range(1, len(found)):
        both = known & present[t]
        if both.any():
            found[t] = found[t] @ rotation(found[t, both], latest[both])
        latest[present[t]] = found[t, present[t]]
        known |= present[t]
    return found


def mutual_information(task: Task, t: int) -> Any:
    """Return the positive pointwise mutual information of words and context words in a slice, as a sparse matrix."""
    try:
        from scipy.sparse import csr_array
    except ImportError as error:
        raise OptionError("To fit 'ppmi', install SciPy: pip install 'driftword[baselines]'") from error
    ids, offsets = task.ids(t, 1)
    n_words, chunk = len(task.corpus.words), np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    pairs = csr_array((n_words, n_words), dtype=np.float64)
    for distance in range(1, task.half_window + 1):
        same = chunk[:-distance] == chunk[distance:] if len(ids) > distance else np.zeros(0, dtype=bool)
        one, other = ids[: len(same)][same].astype(np.int64), ids[distance:][same].astype(np.int64)
        # Nearer words count for more, as the shrinking windows of word2vec make them do.
        weights = np.full(len(one), 1 - (distance - 1) / task.half_window)
        pairs = pairs + csr_array((weights, (one, other)), shape=pairs.shape)
    pairs = (pairs + pairs.T).tocoo()
    by_word = np.maximum(pairs.sum(axis=1), 1e-12)
    smoothed = by_word**EXPONENT
    expected = by_word[pairs.row] * (smoothed / smoothed.sum())[pairs.col]
    information = np.log(np.maximum(pairs.data / expected, 1))
    kept = information > 0
    return csr_array((information[kept], (pairs.row[kept], pairs.col[kept])), shape=pairs.shape)


def left_factors(matrix: Any, dim: int, generator: np.random.Generator) -> Array:
    """Return the left singular vectors of a sparse matrix with the largest singular values, ``(V, dim)``.

    By a random projection and power steps (Halko, Martinsson and Tropp, 2011), which takes seconds.
    """
    width = min(dim + _MORE_DIRECTIONS, matrix.shape[1])
    basis = matrix @ generator.standard_normal((matrix.shape[1], width))
    for _ in range(_POWER_STEPS):
        basis = matrix @ (matrix.T @ np.linalg.qr(basis)[0])
    basis = np.linalg.qr(basis)[0]
    left, _, _ = np.linalg.svd((matrix.T @ basis).T, full_matrices=False)
    return np.asarray(basis @ left[:, :dim], dtype=np.float32)
