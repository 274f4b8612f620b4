"""Questions to a model: every function takes a `Model` or its path and returns a small table.

It imports the rooms up to `uses`, but neither engines nor fitting, so that exploring starts at once. Everything
that shows something takes it from here.
"""

from driftword.explore.before_and_after import shift_slices, shifts
from driftword.explore.changepoints import changes
from driftword.explore.dated_changes import by_chance, changes_by_slice, timeline
from driftword.explore.drift_ranking import attested_range, drift, movers, rank_drift
from driftword.explore.first_use import displacement, displacement_interval, farthest, group_displacement
from driftword.explore.group_contrast import contrast
from driftword.explore.journeys import journey
from driftword.explore.nearest_neighbors import analogy, equivalents, neighborhoods, neighbors
from driftword.explore.slice_selection import representative_slices
from driftword.explore.trajectories import frequency, similarity, towards, trajectory

__all__ = [
    "analogy",
    "attested_range",
    "by_chance",
    "changes",
    "changes_by_slice",
    "contrast",
    "displacement",
    "displacement_interval",
    "drift",
    "equivalents",
    "farthest",
    "frequency",
    "group_displacement",
    "journey",
    "movers",
    "neighborhoods",
    "neighbors",
    "rank_drift",
    "representative_slices",
    "shift_slices",
    "shifts",
    "similarity",
    "timeline",
    "towards",
    "trajectory",
]
