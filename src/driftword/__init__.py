"""driftword: how words change their meaning over time."""

from driftword.corpus import Corpus, Slices, prepare
from driftword.errors import DriftwordError

__version__ = "0.1.0"
__all__ = ["Corpus", "DriftwordError", "Slices", "prepare"]
