"""Dated text into a `Corpus`."""

from driftword.corpus.corpus import Corpus
from driftword.corpus.preparation import prepare
from driftword.corpus.slices import Slices

__all__ = ["Corpus", "Slices", "prepare"]
