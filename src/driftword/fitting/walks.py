"""Walks: priors on how embeddings move from slice to slice.

All are chains (`engines.prior.Chain`), so every engine solves them in the same way. Those that depend on the
embeddings themselves are made anew before every pass.
"""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.corpus.peers import peer_windows
from driftword.engines.prior import Chain, Prior
from driftword.models.spec import Spec

Array = npt.NDArray[Any]
#: Walks that are the same before and after a fit; all others depend on where embeddings are.
KNOWN_BEFORE: Final = ("random", "ou")
TAIL: Final = 4.0  # the smaller, the less a long step costs


def walk_chain(spec: Spec, steps: Array, own: Array) -> Chain:
    """Return the chain of embeddings before any is known.

    Given are the time between adjacent slices, in the drift unit, and the precision of embeddings in each slice.
    """
    if spec.walk != "ou":
        return Chain(own, spec.drift_precision / steps)
    # An Ornstein-Uhlenbeck process: what is left of a distance from the mean after a step, and its variance in the
    # end. Written as couplings of differences, what remains on the diagonal is never negative.
    left = np.exp(-steps / spec.ou_time)
    precision = 2 * spec.drift_precision / spec.ou_time
    before, after = np.r_[0, left], np.r_[left, 0]
    return Chain(precision * (1 / (1 + before) + 1 / (1 + after) - 1), precision * left / (1 - left**2))


def adapted(spec: Spec, prior: Prior, rho: Array, counts: Array) -> Prior:
    """Return the prior of the next pass, given the embeddings (as engines keep them) and counts of words."""
    if len(rho) < 2:
        return prior
    if spec.walk == "ou":  # its chain is known before, its centre is not
        weights = prior.rho.precision / (prior.rho.precision.sum() + spec.prior)
        center = np.tensordot(weights, rho, 1)[None]
        center[..., spec.dim :] = 0  # intercepts have a walk of their own
        return dataclasses.replace(prior, center=center.astype(np.float32))
    if spec.walk in KNOWN_BEFORE:
        return prior
    length = np.stack([np.linalg.norm((b - a)[:, : spec.dim], axis=1) for a, b in pairwise(rho)])
    length *= np.sqrt(prior.rho.walk)[:, None]  # (T - 1, V), in units of what is expected
    if spec.walk == "words":
        length = np.sqrt((length**2).mean(axis=0, keepdims=True))
    ratio = (length / np.maximum(_among_peers(length, counts), 1e-12)) ** 2 if length.any() else np.ones_like(length)
    walk = prior.rho.walk[:, None] * (TAIL + 1) / (TAIL + ratio)
    return dataclasses.replace(prior, rho=Chain(prior.rho.precision, walk))


def _among_peers(values: Array, counts: Array) -> Array:
    """Return the mean of each row of values among words as frequent."""
    order, begin, width = peer_windows(counts)
    sums = np.cumsum(np.pad(values[:, order], ((0, 0), (1, 0))), axis=1, dtype=np.float64)
    result = np.empty(values.shape)
    result[:, order] = (sums[:, begin + width] - sums[:, begin]) / width
    return result
