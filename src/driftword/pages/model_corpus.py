"""The corpus that a model was fitted to. To be replaced by `Model.open_corpus`."""

from __future__ import annotations

import os

from driftword.corpus import Corpus
from driftword.errors import DriftwordError, OptionError
from driftword.model import Model


def open_corpus(model: Model, path: str | os.PathLike[str] | None = None) -> Corpus | None:
    """Open the corpus at `path`, or the one the model remembers; None where that is gone or has been replaced."""
    remembered = model.meta["provenance"].get("corpus_path")
    if path is None and remembered is None:
        return None
    try:
        corpus = Corpus.open(path or remembered)
    except DriftwordError:
        if path is not None:
            raise
        return None
    if corpus.fingerprint == model.meta["provenance"].get("corpus"):
        return corpus
    if path is not None:
        raise OptionError(f"'{path}' is not the corpus that the model was fitted to; give that one as `corpus`")
    return None
