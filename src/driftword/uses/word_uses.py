"""The occurrences of a word: where they are, in which documents, on which days, and what is around them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics.errors import OptionError
from driftword.corpus import Corpus
from driftword.corpus.tokenized_text import chunks_of
from driftword.models.model import Model
from driftword.models.usage import Usage
from driftword.uses.usage_vectors import FAR, windows

Array = npt.NDArray[Any]
MOST: Final = 20_000  # occurrences that are looked at, taken evenly from all


@dataclass(frozen=True, kw_only=True)
class WordUses:
    """Occurrences of a word."""

    corpus: Corpus
    word: str
    positions: Array  # (n,) of tokens, ascending

    @cached_property
    def chunk(self) -> Array:
        """The chunk of each occurrence."""
        return chunks_of(self.corpus, self.positions)

    @cached_property
    def document(self) -> Array:
        """The document of each occurrence."""
        return np.asarray(self.corpus.chunk_document[self.chunk])

    @cached_property
    def slice_of(self) -> Array:
        """The slice of each occurrence."""
        return np.asarray(self.corpus.chunk_slice[self.chunk])

    @cached_property
    def day(self) -> Array:
        """The day of each occurrence, since 1970-01-01."""
        return np.asarray(self.corpus.chunk_day[self.chunk])

    @cached_property
    def around(self) -> Array:
        """The words around each occurrence, ``(n, 2 FAR + 1)``."""
        return windows(self.corpus, self.positions, FAR)

    def among(self, chosen: Array) -> WordUses:
        """Return some of the occurrences."""
        return WordUses(corpus=self.corpus, word=self.word, positions=self.positions[chosen])


def find_uses(model: Model | Usage, corpus: Corpus, word: str) -> WordUses:
    """Find where a word occurs, without copies of documents; of very frequent words, some of the places.

    Of vectors of occurrences, the places are those that have vectors.
    """
    v = model.word_id(word)
    if isinstance(model, Usage):
        positions = np.unique(model.position[model.rows(v)])
        return WordUses(corpus=corpus, word=model.words[v], positions=positions)
    positions = corpus.positions_of(model.words[v])
    if len(corpus.copies):
        document = corpus.chunk_document[chunks_of(corpus, positions)]
        positions = positions[~np.isin(document, corpus.copies[:, 0])]
    if not len(positions):
        raise OptionError(f"'{model.words[v]}' does not occur in the corpus; name another word")
    if len(positions) > MOST:
        positions = positions[np.linspace(0, len(positions) - 1, MOST).astype(np.int64)]
    return WordUses(corpus=corpus, word=model.words[v], positions=positions)
