"""Several starts of a fit become one: their mean, without the directions that noise has filled.

Where a fit begins, its steps are long, and what they add by chance stays: later steps are too short to undo it, and
fit the text to it. It differs from start to start, and what the text says does not. So vectors are rotated onto those
of the first start, as likelihood and prior are the same for rotated ones, and averaged. In each direction, the starts
show how much of the mean is still noise, and vectors are shortened by that share, as Wiener's filter does.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from driftword.engines.contract import Engine
from driftword.engines.parameters import Floats

Matrix = npt.NDArray[np.float64]

LEAST_KEPT: Final = 0.02  # of a direction in which starts have nothing in common: text may fill it yet


def merge(engines: list[Engine]) -> None:
    """Leave only the first of some engines, with the mean of all."""
    count = len(engines)
    if count == 1:
        return
    rotations, filtering = rotate_and_filter([engine.vectors() for engine in engines])
    own = filtering / count
    for number in range(1, count):
        other = rotations[number] @ filtering / count
        engines[0].merge(engines.pop(1), own, other, 1 / (number + 1))
        own = np.eye(len(filtering))  # the first time was enough


def rotation(vectors: Floats, onto: Floats) -> Matrix:
    """Return the orthogonal matrix that brings some vectors as close as possible to others (Procrustes)."""
    left, _, right = np.linalg.svd(vectors.T.astype(np.float64) @ onto)
    return np.asarray(left @ right)


def rotate_and_filter(vectors: list[Floats]) -> tuple[list[Matrix], Matrix]:
    """Return what rotates the vectors of each start onto the first, and what filters noise out of their mean."""
    first, count = vectors[0].astype(np.float64), len(vectors)
    rotations, total, squares = [np.eye(first.shape[1])], first.copy(), first.T @ first
    for other in vectors[1:]:
        rotations.append(rotation(other, first))
        rotated = other @ rotations[-1]
        total += rotated
        squares += rotated.T @ rotated
    mean = total / count
    energy, directions = np.linalg.eigh(mean.T @ mean)
    energy = np.maximum(energy, np.finfo(np.float64).tiny)
    single = np.einsum("ik,ij,jk->k", directions, squares / count, directions)  # energy of one start, on average
    noise = (single - energy) / (count - 1)  # in the mean
    kept = np.clip(1 - noise / energy, LEAST_KEPT, 1)
    return rotations, (directions * kept) @ directions.T
