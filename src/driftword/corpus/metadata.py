"""What a corpus records about itself in ``meta.json``; nothing else reads or writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from driftword.basics.process import versions
from driftword.corpus.options import CorpusOptions
from driftword.corpus.preparation_report import PreparationReport
from driftword.sources.opening import Input


@dataclass(frozen=True)
class CorpusMetadata:
    """Everything about a corpus that is not an array or a table."""

    seed: int  # of the splits and of the subsampling
    subsample: float | None  # threshold t of the subsampling; None keeps every token
    inputs: tuple[Input, ...]  # what the corpus was made from
    citation: str | None = None  # what users of the text are asked to cite
    options: CorpusOptions = field(default_factory=CorpusOptions)
    report: PreparationReport = field(default_factory=PreparationReport)
    groups: tuple[str, ...] = ()  # names of the groups of documents, if there are any
    versions: Mapping[str, str] = field(default_factory=versions)  # of the packages that decide the result

    @classmethod
    def from_dict(cls, meta: Mapping[str, Any]) -> CorpusMetadata:
        """Read back what `to_dict` gave; raise KeyError or TypeError where something is missing."""
        return cls(
            seed=int(meta["seed"]),
            subsample=meta["subsample"],
            inputs=tuple(Input(entry["name"], entry["sha256"]) for entry in meta["inputs"]),
            citation=meta.get("citation"),
            options=CorpusOptions.from_dict(meta["options"]),
            report=PreparationReport.from_dict(meta["report"]),
            groups=tuple(str(name) for name in meta.get("groups", ())),
            versions=meta.get("versions", {}),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the metadata ready for JSON."""
        return {**asdict(self), "options": self.options.to_dict(), "report": self.report.to_dict()}
