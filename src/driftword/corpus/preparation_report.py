"""What `prepare` read, and what it left out and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class PreparationReport:
    """Counts from the preparation of a corpus; a corpus made of ids has none of them.

    Parameters
    ----------
    rows
        Rows of the source.
    no_text, bad_rows, bad_dates
        Rows left out: without text, malformed, or with a date that cannot be read.
    bad_files, bad_file_examples
        Files left out because they cannot be read, and the names of the first ones.
    bad_date_examples
        Row number and value of the first dates that cannot be read.
    other_languages
        Documents left out because they are in another language, by language.
    outside_slices
        Documents left out because their date lies outside the slices.
    documents
        Documents stored with the corpus.
    no_words, no_vocabulary
        Stored documents of which nothing remains: without any word, or without a word of the vocabulary.
    tokens_read, distinct_words
        Words in the documents, and how many of them are different.
    numbers, rare_tokens
        Tokens left out: numbers, and words outside the vocabulary.
    replaced_characters
        Characters that could not be decoded and were replaced by U+FFFD.
    detected_encodings
        Files that are not UTF-8, by the encoding they were read in.
    language_sample
        Languages noticed in a sample of the documents, where no language was asked for.
    keep_missing
        Words to keep that do not occur.
    slices_without_held_out
        Slices too small to hold out text.
    unspaced
        Whether the words do not seem to be separated by spaces.
    """

    rows: int = 0
    no_text: int = 0
    bad_rows: int = 0
    bad_files: int = 0
    bad_file_examples: tuple[str, ...] = ()
    bad_dates: int = 0
    bad_date_examples: tuple[tuple[int, str], ...] = ()
    other_languages: Mapping[str, int] = field(default_factory=dict)
    outside_slices: int = 0
    documents: int = 0
    no_words: int = 0
    no_vocabulary: int = 0
    tokens_read: int = 0
    distinct_words: int = 0
    numbers: int = 0
    rare_tokens: int = 0
    replaced_characters: int = 0
    detected_encodings: Mapping[str, int] = field(default_factory=dict)
    language_sample: Mapping[str, int] = field(default_factory=dict)
    keep_missing: tuple[str, ...] = ()
    slices_without_held_out: tuple[str, ...] = ()
    unspaced: bool = False

    @classmethod
    def from_dict(cls, report: Mapping[str, Any]) -> PreparationReport:
        """Read back what `to_dict` gave; unknown names are ignored, and missing ones keep their default."""
        known = {one.name for one in fields(cls)}
        values: dict[str, Any] = {name: value for name, value in report.items() if name in known}
        for name in ("bad_file_examples", "keep_missing", "slices_without_held_out"):
            values[name] = tuple(values.get(name, ()))
        values["bad_date_examples"] = tuple((row, value) for row, value in values.get("bad_date_examples", ()))
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return the report ready for JSON; empty for a corpus made of ids."""
        return asdict(self) if self != PreparationReport() else {}
