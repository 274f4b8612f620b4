"""From a source to a corpus: read once, split into words, join phrases, choose the vocabulary, lay slices, store.

It imports the rooms up to `corpus`; other rooms use `prepare` and `extension.extend_corpus`.
"""

from driftword.preparing.preparation import prepare

__all__ = ["prepare"]
