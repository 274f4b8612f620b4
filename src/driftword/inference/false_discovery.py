"""False discovery rates: how many of the words that are called changed did not change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from driftword.inference.occurrences import Array
from driftword.inference.permutation_test import TestResult

_GROUPS: Final = 16  # at most, of words in a similar number of documents
_GROUP_SIZE: Final = 100  # words, at least
_POOLED: Final = 400  # permuted values of every word that are pooled
_ENOUGH: Final = 10  # permuted values at least as large as the observed one: a p-value is then taken as it is


def false_discovery_rates(results: Sequence[TestResult], documents: Array, *, among: int | None = None) -> Array:
    """Return for every word the false discovery rate if it and all words with more evidence are called changed.

    This is the procedure of Benjamini and Hochberg. It needs p-values far smaller than a word's own permutations can
    show, so those of words in a similar number of documents are pooled. A p-value that a word's own permutations can
    show is taken from them. If the words are a choice among more, their number makes up for having chosen: the others
    count as words without any evidence.
    """
    if not results:
        return np.zeros(0)
    p, z = (np.array([getattr(result, name) for result in results]) for name in ("p", "z"))
    n = np.array([len(result.null) for result in results])
    tail = np.where(p < (_ENOUGH + 1) / (n + 1), _pooled(results, z, documents), p)
    order = np.lexsort((-z, tail))
    rates = tail[order] * (among or len(tail)) / np.arange(1, len(tail) + 1)
    rates = np.minimum.accumulate(rates[::-1])[::-1]
    rates = np.maximum(rates, p[order])  # no word is surer among many than alone
    result = np.empty(len(tail))
    # Words with less evidence have larger rates, if only a little, so that a table can be sorted by them.
    result[order] = np.minimum(rates * (1 + 1e-9 * np.arange(len(tail))), 1)
    return result


def _pooled(results: Sequence[TestResult], z: Array, documents: Array) -> Array:
    """Return the share of permuted values as large as the observed one, of words in a similar number of documents."""
    pooled = np.empty(len(z))
    groups = max(1, min(_GROUPS, len(z) // _GROUP_SIZE))
    for members in np.array_split(np.argsort(documents, kind="stable"), groups):
        most = _POOLED if len(members) > _GROUP_SIZE else None
        null = np.sort(np.concatenate([results[i].null[:most] for i in members]))
        above = len(null) - np.searchsorted(null, z[members])
        pooled[members] = (1 + above) / (1 + len(null))
    return pooled
