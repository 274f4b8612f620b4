"""Questions to a model: every function takes a `Model` and returns a small table."""

from driftword.explore.changepoints import changes
from driftword.explore.drift_ranking import drift, ends, movers, pace
from driftword.explore.nearest_neighbors import analogy, equivalents, neighborhoods, neighbors, similarity, towards
from driftword.explore.trajectories import frequency, telling, trajectory

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
