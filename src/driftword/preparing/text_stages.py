"""The seam between what `prepare` decides and where the text is: on this machine (`local_text`) or many (`cluster`).

A reader reads the source, counts its words, and gives out word ids that answer what the later stages ask. What is
decided from the answers (slices, phrases, vocabulary, splits) is decided once, in `preparation`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from driftword.corpus.options import PrepareOptions
from driftword.corpus.preparation_report import PreparationReport
from driftword.corpus.slices import Slices
from driftword.corpus.tokens import TokenRule, make_rule
from driftword.preparing.document_parts import DocumentParts
from driftword.preparing.phrases import PhraseIds
from driftword.preparing.token_writer import TokenIds
from driftword.sources.opening import Input, ReadingOptions, Source


@dataclass(frozen=True)
class ReadingRequest:
    """How a source is to be read; the names are those of `PrepareOptions`."""

    rule: TokenRule
    text: str | None
    time: str | None
    time_format: str | None
    language: str | None
    skip_bad_dates: bool
    files: ReadingOptions

    @classmethod
    def of(cls, options: PrepareOptions) -> ReadingRequest:
        """Return what the options of `prepare` say about reading."""
        return cls(
            make_rule(options.tokens, numbers=options.numbers), options.text, options.time, options.time_format,
            options.language, options.skip_bad_dates,
            ReadingOptions(options.time_from_name, options.encoding, options.skip_bad_rows, options.skip_bad_files),
        )  # fmt: skip


@dataclass(frozen=True)
class ReadText:
    """A source that was read.

    Parameters
    ----------
    text, time, rule
        The columns that hold text and time, and how text was split.
    report
        What was left out.
    days, lengths
        Date of each document, as days since 1970-01-01, and how many tokens it has.
    documents
        The documents themselves.
    """

    text: str
    time: str
    rule: TokenRule
    report: PreparationReport
    days: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int64]
    documents: DocumentParts


class WordIds(PhraseIds, TokenIds, Protocol):
    """The word ids of all documents that lie in a slice, wherever they are."""


@dataclass(frozen=True)
class CountedWords:
    """The words of all documents that lie in a slice, those broken at line ends mended.

    Parameters
    ----------
    ids
        Their ids; id 0 is a token that is dropped.
    words
        The word of each id; empty for an id that is no word, or that several words share.
    n_numbers
        How many tokens are dropped.
    nameless
        How many different words share an id without a word, as they are too rare to matter.
    """

    ids: WordIds
    words: list[str]
    n_numbers: int
    nameless: int = 0


class TextReader(Protocol):
    """Reads a source and counts its words."""

    def read(self, source: Source, request: ReadingRequest) -> ReadText:
        """Read all rows; raise `SourceError` if they cannot make a corpus."""
        ...

    def count_words(
        self, slices: Slices, inside: npt.NDArray[np.bool_], *, least: Callable[[int], int], needed: Collection[str]
    ) -> CountedWords:
        """Count the words of documents inside the slices.

        Words that occur fewer times than `least` says, for a text of so many words, need no id of their own, unless
        they are `needed`.
        """
        ...

    def inputs(self) -> tuple[Input, ...]:
        """Name what was read, with hashes."""
        ...
