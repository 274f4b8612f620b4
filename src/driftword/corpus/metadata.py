"""Facts that a corpus records about itself in ``meta.json``, beside those of every store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from driftword.basics.process import versions
from driftword.corpus.options import PrepareOptions
from driftword.corpus.preparation_report import PreparationReport
from driftword.sources.opening import Input
from driftword.storage.typed_facts import Count, typed


@dataclass(frozen=True)
class _Facts:
    """Everything about a corpus that is not an array or a table, but for its options, which check themselves."""

    seed: Count  # of the splits and of the subsampling
    subsample: float | None  # threshold t of the subsampling; None keeps every token
    inputs: tuple[Input, ...]  # what the corpus was made from
    citation: str | None = None  # what users of the text are asked to cite
    report: PreparationReport = field(default_factory=PreparationReport)
    groups: tuple[str, ...] = ()  # names of the groups of documents, if there are any
    versions: Mapping[str, str] = field(default_factory=versions)  # of the packages that decide the result

    def __post_init__(self) -> None:
        if self.subsample is not None and not self.subsample > 0:
            raise ValueError("`subsample` is not a positive number")


@dataclass(frozen=True)
class CorpusMetadata(_Facts):
    """Everything about a corpus that is not an array or a table."""

    options: PrepareOptions | None = None  # of `prepare`, every default resolved; None for a corpus made of ids

    @classmethod
    def from_dict(cls, meta: Mapping[str, Any]) -> CorpusMetadata:
        """Read back what `to_dict` gave; raise ValueError where something is missing or of another type."""
        options = meta.get("options")
        return cls(**vars(typed(meta, _Facts)), options=None if options is None else PrepareOptions.from_dict(options))

    def to_dict(self) -> dict[str, Any]:
        """Return the metadata ready for JSON."""
        options = None if self.options is None else self.options.to_dict()
        return {**asdict(replace(self, options=None)), "options": options, "report": self.report.to_dict()}
