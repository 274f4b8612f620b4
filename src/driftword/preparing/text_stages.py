"""The seam between what `prepare` decides and where the text is: on this machine (`local_text`) or many (`cluster`).

A reader reads the source, counts its words, and gives out word ids that answer what the later stages ask. What is
decided from the answers (slices, phrases, vocabulary, splits) is decided once, in `preparation`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from driftword.corpus.from_ids import id_type
from driftword.corpus.options import PrepareOptions
from driftword.corpus.preparation_report import PreparationReport
from driftword.corpus.slices import Slices
from driftword.corpus.tokens import TokenRule, make_rule
from driftword.preparing.pairs import Joins, PairCounts, PairShape
from driftword.sources.opening import Input, ReadingOptions, Source
from driftword.storage.store import Writer


@dataclass(frozen=True)
class ReadingRequest:
    """How a source is to be read; the names are those of `PrepareOptions`."""

    rule: TokenRule
    text: str | None
    time: str | None
    time_format: str | None
    language: str | None
    skip_bad_dates: bool
    lemmas: bool  # whether to make them here
    files: ReadingOptions

    @classmethod
    def of(cls, options: PrepareOptions) -> ReadingRequest:
        """Return what the options of `prepare` say about reading."""
        return cls(
            make_rule(options), options.text, options.time, options.time_format,
            options.language, options.skip_bad_dates, options.lemmas,
            ReadingOptions(options.time_from_name, options.encoding, options.skip_bad_rows, options.skip_bad_files,
                           options.element, options.columns),
        )  # fmt: skip


@dataclass(frozen=True)
class ReadText:
    """A source that was read."""

    text: str  # the column that holds the text
    time: str
    rule: TokenRule  # how the text was split
    report: PreparationReport  # what was left out
    days: npt.NDArray[np.int32]  # date of each document, as days since 1970-01-01
    lengths: npt.NDArray[np.int64]  # how many tokens each document has
    columns: list[str]  # of the documents besides text and date


@dataclass(frozen=True)
class TokenPlaces:
    """Where the tokens of documents go: by slices, and in the order of documents within each."""

    slice_of: npt.NDArray[np.int32]  # of each document
    lengths: npt.NDArray[np.int64]  # words of the vocabulary in each document
    n_slices: int
    n_words: int  # of the vocabulary

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the tokens."""
        return np.dtype(id_type(self.n_words))

    @property
    def n_tokens(self) -> int:
        """How many tokens there are."""
        return int(self.lengths.sum())

    def sizes(self) -> npt.NDArray[np.int64]:
        """Return how many tokens each slice has."""
        return np.bincount(self.slice_of, weights=self.lengths, minlength=self.n_slices).astype(np.int64)

    def of_documents(self, begin: int, end: int) -> TokenPlaces:
        """Return the places of some of the documents as if there were no others."""
        return TokenPlaces(self.slice_of[begin:end], self.lengths[begin:end], self.n_slices, self.n_words)


class WordIds(Protocol):
    """The word ids of all documents dated within the slices, wherever they are stored."""

    def stage(self, name: str, passes: int) -> None:
        """Begin a stage that reads the ids `passes` times."""

    def counts(self, n_ids: int) -> npt.NDArray[np.int64]:
        """Count how often each id occurs."""

    def count_pairs(self, shape: PairShape, floor: int) -> PairCounts:
        """Count the pairs that may occur at least `floor` times."""

    def join(self, shape: PairShape, joins: Joins) -> Self:
        """Return the ids with pairs joined into phrases, and close these."""

    def vocabulary_words(self, new_id: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Count the words of the vocabulary in each document, and all of its words."""

    def write_tokens(self, writer: Writer, new_id: npt.NDArray[np.int32], places: TokenPlaces) -> npt.NDArray[np.int32]:
        """Write the tokens of the vocabulary by slices; return how often each word occurs in each."""


@dataclass(frozen=True)
class CountedWords:
    """The words of all documents dated within the slices; words broken at line ends are mended."""

    ids: WordIds  # id 0 is a token that is dropped
    words: list[str]  # of each id; empty for an id that is no word, or that several words share
    n_numbers: int  # how many tokens are dropped
    nameless: int = 0  # different words that share an id because they are too rare to matter


class TextReader(Protocol):
    """Reads a source and counts its words."""

    def read(self, source: Source, request: ReadingRequest) -> ReadText:
        """Read all rows; raise `SourceError` if they cannot make a corpus."""

    def store_documents(self, writer: Writer, slices: Slices, inside: npt.NDArray[np.bool_]) -> Callable[[], None]:
        """Begin to store the documents inside the slices; return a function that waits until they are stored."""

    def count_words(
        self, slices: Slices, inside: npt.NDArray[np.bool_], *, least: Callable[[int], int], needed: Collection[str]
    ) -> CountedWords:
        """Count the words of documents inside the slices.

        Words that occur less often than `least` requires, given the length of the text, need no id of their own unless
        they are `needed`.
        """

    def inputs(self) -> tuple[Input, ...]:
        """Return the names of what was read, with hashes."""
