"""What `prepare` read, and what it left out and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class PreparationReport:
    """Counts from the preparation of a corpus; a corpus made of ids has none of them."""

    rows: int = 0  # of the source
    # Rows, files and documents that were left out
    no_text: int = 0
    bad_rows: int = 0  # malformed
    bad_files: int = 0
    bad_file_examples: tuple[str, ...] = ()  # names of the first files that cannot be read
    bad_dates: int = 0
    bad_date_examples: tuple[tuple[int, str], ...] = ()  # row number and value of the first dates that cannot be read
    other_languages: Mapping[str, int] = field(default_factory=dict)  # documents in another language, by language
    outside_slices: int = 0  # documents whose date is in no slice
    # Documents that are stored, and those of them of which nothing remains
    documents: int = 0
    no_words: int = 0
    no_vocabulary: int = 0  # with words, but none of the vocabulary
    copies: int = 0  # of an earlier document, word for word or nearly
    copies_dropped: bool = False
    # Their words
    tokens_read: int = 0
    distinct_words: int = 0
    numbers: int = 0  # tokens left out because they are numbers
    rare_tokens: int = 0  # tokens left out because they are outside the vocabulary
    # What is worth a note
    replaced_characters: int = 0  # that could not be decoded, and became U+FFFD
    without_lemma: int = 0  # words whose lemma the source does not say, and which are counted as they are written
    suspicious: Mapping[str, int] = field(default_factory=dict)  # words of the text that may be misread, by what is odd
    detected_encodings: Mapping[str, int] = field(default_factory=dict)  # files that are not UTF-8, by encoding
    language_sample: Mapping[str, int] = field(default_factory=dict)  # noticed where no language was asked for
    keep_missing: tuple[str, ...] = ()  # words to keep that do not occur
    slices_without_held_out: tuple[str, ...] = ()  # slices too small to hold out text
    outside_vocabulary: Mapping[str, float] = field(default_factory=dict)  # share of the tokens of each slice
    document_length: Mapping[str, float] = field(default_factory=dict)  # median number of tokens, of each slice
    repeated_passages: Mapping[str, float] = field(default_factory=dict)  # share of the text of each slice
    unspaced: bool = False  # whether words do not seem to be separated by spaces

    def to_dict(self) -> dict[str, Any]:
        """Return the report ready for JSON; empty for a corpus made of ids."""
        return asdict(self) if self != PreparationReport() else {}
