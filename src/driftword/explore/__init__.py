"""Questions to a model: every function takes a `Model` and returns a small table."""

from driftword.explore.movement import changes, drift, movers
from driftword.explore.near import analogy, equivalents, neighbors, similarity, towards
from driftword.explore.path import telling, trajectory

__all__ = [
    "analogy",
    "changes",
    "drift",
    "equivalents",
    "movers",
    "neighbors",
    "similarity",
    "telling",
    "towards",
    "trajectory",
]
