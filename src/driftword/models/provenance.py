"""Provenance: what a model was made from, by which program and on which machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from driftword.basics.process import machine, versions
from driftword.corpus import Corpus
from driftword.storage.typed_facts import Count


@dataclass(frozen=True)
class Provenance:
    """How a model was made; None where that is not known."""

    engine: str  # that fitted it, or "imported" for embeddings made elsewhere
    corpus: str | None = None  # fingerprint of the corpus it was fitted to
    corpus_path: str | None = None  # where that was stored
    citation: str | None = None  # what users of the corpus are asked to cite
    seed: Count | None = None
    passes: Count | None = None
    threads: Count | None = None
    shuffled_dates: Count | None = None  # seed with which the dates of its documents were shuffled before
    group: str | None = None  # of documents that it is about; None for all of them
    extended: tuple[str, ...] = ()  # what `extend` added later, in order: slices, documents, and by which version
    ran_on: str | None = None  # what the engine ran on
    machine: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)  # of the packages that decide the result
    method: str | None = None  # the baseline that made it; None for driftword's own models

    @classmethod
    def of(cls, corpus: Corpus, *, packages: Mapping[str, str] | None = None, **facts: Any) -> Provenance:
        """Return the provenance of a model that is made here and now from a corpus, with the help of some packages."""
        return cls(
            corpus=corpus.fingerprint,
            corpus_path=corpus.location,
            citation=corpus.citation,
            shuffled_dates=corpus.shuffled,
            machine=machine(),
            versions={**versions(), **(packages or {})},
            **facts,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the facts ready for JSON."""
        return asdict(self)

    @property
    def imported(self) -> bool:
        """Whether the embeddings were made elsewhere."""
        return self.engine == "imported"
