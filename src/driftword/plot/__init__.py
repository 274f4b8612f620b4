"""Charts of what `explore` finds: they show in notebooks, and `save` writes them to files.

It imports the rooms up to `uses` that read models; other rooms use the charts and `save`.
"""

from driftword.plot.charts import KINDS, OPTIONS, WITHOUT_WORD, changes, drift, history, map, neighbors, trajectory
from driftword.plot.line_charts import contrast, frequency, similarity
from driftword.plot.saving import FORMATS, drawable, save
from driftword.plot.sense_chart import senses

__all__ = [
    "FORMATS",
    "KINDS",
    "OPTIONS",
    "WITHOUT_WORD",
    "changes",
    "contrast",
    "drawable",
    "drift",
    "frequency",
    "history",
    "map",
    "neighbors",
    "save",
    "senses",
    "similarity",
    "trajectory",
]
