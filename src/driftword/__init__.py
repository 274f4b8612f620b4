"""driftword: how words change their meaning over time."""

from typing import Any

from driftword.corpus import Corpus, Slices, prepare
from driftword.errors import DriftwordError
from driftword.evaluate import compare, evaluate
from driftword.explore import (
    analogy,
    changes,
    drift,
    equivalents,
    movers,
    neighbors,
    similarity,
    towards,
    trajectory,
)
from driftword.export import export, read_word2vec
from driftword.fit import fit
from driftword.model import Model, Spec
from driftword.tune import tune

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "plot":  # charts take a while to import; not everyone draws
        import importlib

        return importlib.import_module("driftword.plot")
    raise AttributeError(f"module 'driftword' has no attribute '{name}'")


__all__ = [
    "Corpus",
    "DriftwordError",
    "Model",
    "Slices",
    "Spec",
    "analogy",
    "changes",
    "compare",
    "drift",
    "equivalents",
    "evaluate",
    "export",
    "fit",
    "movers",
    "neighbors",
    "prepare",
    "read_word2vec",
    "similarity",
    "towards",
    "trajectory",
    "tune",
]
