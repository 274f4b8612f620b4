"""What a command is asked about: a model, or vectors of occurrences, with the corpus of either."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from driftword.corpus import Corpus
    from driftword.models.model import Model
    from driftword.models.usage import Usage


def open_with_corpus(path: str, corpus: str | None) -> tuple[Model | Usage, Corpus | None]:
    """Open what is stored at a path, and its corpus: the one named, or where it was, if it is still there."""
    from driftword.models.usage import Usage, as_source, corpus_of_source

    source = as_source(path)
    if isinstance(source, Usage):
        return source, source.corpus if corpus is None else corpus_of_source(source, corpus)
    return source, source.open_corpus(corpus)
