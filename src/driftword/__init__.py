"""driftword: how words change their meaning over time."""

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import driftword.plot as plot
    from driftword.corpus import Corpus, Slices, prepare  # type: ignore[no-redef]
    from driftword.errors import DriftwordError
    from driftword.evaluate import compare, evaluate
    from driftword.explore import (
        analogy,
        changes,
        drift,
        equivalents,
        frequency,
        movers,
        neighborhoods,
        neighbors,
        pace,
        similarity,
        towards,
        trajectory,
    )  # fmt: skip
    from driftword.export import export, read_word2vec
    from driftword.fit import fit
    from driftword.model import Model, Spec
    from driftword.tune import tune

__version__ = "0.1.0"
__all__ = [
    "Corpus", "DriftwordError", "Model", "Slices", "Spec", "analogy", "changes", "compare", "drift", "equivalents",
    "evaluate", "export", "fit", "frequency", "movers", "neighborhoods", "neighbors", "pace", "plot", "prepare",
    "read_word2vec", "similarity", "towards", "trajectory", "tune",
]  # fmt: skip

_PLACES = {
    "corpus": ("Corpus", "Slices", "prepare"),
    "errors": ("DriftwordError",),
    "evaluate": ("compare", "evaluate"),
    "explore": (
        "analogy", "changes", "drift", "equivalents", "frequency", "movers", "neighborhoods", "neighbors", "pace",
        "similarity", "towards", "trajectory",
    ),
    "export": ("export", "read_word2vec"),
    "fit": ("fit",),
    "model": ("Model", "Spec"),
    "tune": ("tune",),
}  # fmt: skip
_PLACE = {name: place for place, names in _PLACES.items() for name in names}


class _Package(types.ModuleType):
    """Loads a name when it is first used: Polars and NumPy take a third of a second, and not every start needs them."""

    def __getattr__(self, name: str) -> Any:
        if name == "plot":
            return importlib.import_module("driftword.plot")
        if name not in _PLACE:
            raise AttributeError(f"module 'driftword' has no attribute '{name}'")
        value = getattr(importlib.import_module(f"driftword.{_PLACE[name]}"), name)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PLACE and isinstance(value, types.ModuleType):
            return  # the module `driftword.fit` must not hide the function of that name
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return [*__all__, "__version__"]


sys.modules[__name__].__class__ = _Package
