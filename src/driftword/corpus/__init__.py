"""The `Corpus`: dated text as token ids, and what one asks of it: passages, slices, vocabulary, groups.

It imports `basics`, `storage` and `sources`; other rooms use `Corpus` and `Slices`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftword.corpus.corpus import Corpus
    from driftword.corpus.slices import Slices

__all__ = ["Corpus", "Slices"]


def __getattr__(name: str) -> Any:
    """Load a class when it is first used: the options of `prepare` are needed before Polars is."""
    if name not in __all__:
        raise AttributeError(f"module 'driftword.corpus' has no attribute '{name}'")
    return getattr(importlib.import_module(f"driftword.corpus.{name.lower()}"), name)
