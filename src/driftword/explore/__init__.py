"""Questions to a model: every function takes a `Model` and returns a small table."""

from driftword.explore.cuts import changes
from driftword.explore.movement import drift, ends, movers, pace
from driftword.explore.near import analogy, equivalents, neighborhoods, neighbors, similarity, towards
from driftword.explore.path import frequency, telling, trajectory

__all__ = [
    "analogy",
    "changes",
    "drift",
    "ends",
    "equivalents",
    "frequency",
    "movers",
    "neighborhoods",
    "neighbors",
    "pace",
    "similarity",
    "telling",
    "towards",
    "trajectory",
]
