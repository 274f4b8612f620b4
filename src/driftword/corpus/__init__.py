"""The `Corpus`: dated text as token ids, and what one asks of it: passages, slices, vocabulary, groups.

It imports `basics`, `storage` and `sources`; others take `Corpus` and `Slices`.
"""

from driftword.corpus.corpus import Corpus
from driftword.corpus.slices import Slices

__all__ = ["Corpus", "Slices"]
