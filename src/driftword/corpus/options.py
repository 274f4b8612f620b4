"""The options that a corpus was prepared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True)
class CorpusOptions:
    """What `prepare` was asked for, with every default resolved; a corpus made of ids has none of it.

    The names are those of the parameters of `prepare`.
    """

    text: str | None = None
    time: str | None = None
    time_format: str | None = None
    time_from_name: str | None = None
    encoding: str | None = None
    language: str | None = None
    slices: str | tuple[str, ...] | None = None
    vocabulary: int | None = None
    min_count: int | None = None
    tokens: str | None = None
    numbers: bool = False
    phrases: bool = False
    phrase_threshold: float | None = None
    phrase_min_count: int | None = None
    connectors: tuple[str, ...] = ()
    stopwords: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    subsample: float | str | None = None
    group: str | None = None
    groups: tuple[str, ...] | int | None = None

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> CorpusOptions:
        """Read back what `to_dict` gave; unknown names are ignored."""
        known = {field.name for field in fields(cls)}
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in options.items()}
        return cls(**{name: value for name, value in values.items() if name in known})

    def to_dict(self) -> dict[str, Any]:
        """Return the options ready for JSON; empty for a corpus made of ids."""
        return asdict(self) if self != CorpusOptions() else {}
