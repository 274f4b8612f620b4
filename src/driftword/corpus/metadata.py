"""Facts that a corpus records about itself in ``meta.json``, beside those of every store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from driftword.basics.process import versions
from driftword.corpus.options import PrepareOptions
from driftword.corpus.preparation_report import PreparationReport
from driftword.sources.opening import Input


@dataclass(frozen=True)
class CorpusMetadata:
    """Everything about a corpus that is not an array or a table."""

    seed: int  # of the splits and of the subsampling
    subsample: float | None  # threshold t of the subsampling; None keeps every token
    inputs: tuple[Input, ...]  # what the corpus was made from
    citation: str | None = None  # what users of the text are asked to cite
    options: PrepareOptions | None = None  # of `prepare`, every default resolved; None for a corpus made of ids
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
            citation=meta["citation"],
            options=None if meta["options"] is None else PrepareOptions.from_dict(meta["options"]),
            report=PreparationReport.from_dict(meta["report"]),
            groups=tuple(str(name) for name in meta["groups"]),
            versions=meta["versions"],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the metadata ready for JSON."""
        options = None if self.options is None else self.options.to_dict()
        return {**asdict(replace(self, options=None)), "options": options, "report": self.report.to_dict()}
