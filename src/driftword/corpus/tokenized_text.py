"""Tokenized text: word ids in chunks, each with a slice, a split and a document, and the documents they came from."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import StoreError
from driftword.basics.polars_faults import POLARS_ERRORS
from driftword.corpus import word_index
from driftword.corpus.metadata import CorpusMetadata
from driftword.corpus.options import ANNOTATED, PrepareOptions
from driftword.corpus.phrases import PhraseTable
from driftword.corpus.preparation_report import PreparationReport
from driftword.corpus.slices import Slices
from driftword.corpus.splits import SPLITS
from driftword.corpus.stored_documents import StoredDocuments
from driftword.corpus.subsampling import keep_probabilities
from driftword.corpus.vocabulary import Vocabulary
from driftword.sources.annotated_text import ANNOTATION
from driftword.sources.opening import Input
from driftword.storage import shards
from driftword.storage.shards import ShardedArray, read_shards
from driftword.storage.store import Store, Writer, damaged
from driftword.storage.stored_arrays import StoredArray, whole


def _array(name: str, meaning: str) -> property:
    """Return a property for an array of the corpus, which is checked where it is read from a file."""

    def read(self: TokenizedText) -> npt.NDArray[Any]:
        return self._checked(name)

    return property(read, doc=meaning)


_KEPT_WORDS: Final = 8  # whose positions are kept, since several questions are asked of one word


class TokenizedText:
    """Read-only arrays of a corpus and the facts stored with them; `Corpus` adds what users ask of it."""

    #: Seed with which the dates of documents were shuffled; None where they are as they came.
    shuffled: int | None = None

    def __init__(
        self,
        arrays: Mapping[str, npt.NDArray[Any] | StoredArray | ShardedArray],
        words: Sequence[str],
        slices: Slices,
        *,
        metadata: CorpusMetadata,
        stored: Store | None = None,
        fingerprint: str | None = None,
    ) -> None:
        self._arrays = dict(arrays)
        self._unchecked = set(arrays) if stored else set[str]()
        self._document_ends: list[int] | None = None  # in their files, once these are checked
        self.words = tuple(words)
        self.slices = slices
        self.path = stored.folder if stored else None
        self.location = stored.location if stored else None  # whatever the working directory becomes
        self._store = stored
        self._recorded = fingerprint  # as it was computed when the corpus was stored
        self._metadata = metadata
        self.seed: int = metadata.seed
        self.subsample = metadata.subsample
        self.groups: tuple[str, ...] = metadata.groups
        self.options = metadata.options or PrepareOptions()
        self.report: PreparationReport = metadata.report
        self.inputs: tuple[Input, ...] = metadata.inputs
        self.citation: str | None = metadata.citation
        self.versions: Mapping[str, str] = metadata.versions
        self.keep_probability = keep_probabilities(self.raw_counts, self.subsample)
        self._positions: dict[int, npt.NDArray[np.int64]] = {}  # of the words asked for last
        self.spellings: dict[str, str] = {}  # cache of `spans`: tokens as written, and as spelled in the vocabulary

    tokens = _array("tokens", "Word ids, ``(n_tokens,)``; of very many a `ShardedArray`, which is read like an array.")
    offsets = _array("offsets", "Chunk i is ``tokens[offsets[i]:offsets[i + 1]]``.")
    chunk_slice = _array("chunk_slice", "Slice of each chunk.")
    chunk_split = _array("chunk_split", "Split of each chunk: 0 train, 1 valid, 2 test.")
    chunk_document = _array("chunk_document", "Document of each chunk.")
    counts = _array("counts", "Occurrences of each word in each slice, ``(n_slices, n_words)``.")
    raw_counts = _array("raw_counts", "Occurrences of each word before any subsampling, ``(n_words,)``.")

    def _checked(self, name: str) -> npt.NDArray[Any]:
        """Return an array; one from a file has numbers that kernels can use as positions, and of the right number."""
        array = shards.whole(self._arrays[name])
        if name in self._unchecked:
            if isinstance(array, ShardedArray):  # of which only some parts may ever be read
                array = self._arrays[name] = array.checked_by(lambda part: self._check_numbers(name, part))
            else:
                self._check_numbers(name, array)
            self._unchecked.discard(name)
        return array

    def _check_numbers(self, name: str, array: npt.NDArray[Any]) -> None:
        n_chunks, n_words, n_slices = self._arrays["chunk_slice"].shape[0], len(self.words), len(self.slices)
        shape, most = {
            "tokens": ((len(array),), n_words),
            "offsets": ((n_chunks + 1,), self.n_tokens + 1),
            "chunk_slice": ((n_chunks,), n_slices),
            "chunk_split": ((n_chunks,), len(SPLITS)),
            "chunk_group": ((n_chunks,), max(len(self.groups), 1)),
            "counts": ((n_slices, n_words), None),
            "train_counts": ((n_slices, n_words), None),
            "raw_counts": ((n_words,), None),
            word_index.ENDS: ((-(-self.n_tokens // word_index.SEGMENT), n_words), word_index.SEGMENT + 1),
        }.get(name, ((n_chunks,), None))
        right = array.shape == shape and array.dtype.kind in "iu" and not (array.size and int(array.min()) < 0)
        if most is not None and right and array.size:
            right = int(array.max()) < most
        if name == "offsets" and right:
            right = int(array[0]) == 0 and int(array[-1]) == self.n_tokens and bool((np.diff(array) >= 0).all())
        if name == word_index.ENDS and right:
            right = bool((array[:, 1:] >= array[:, :-1]).all())
        if not right:
            assert self.path is not None
            raise damaged(self.path, f"{name}.npy has other numbers than it should have")

    def check_current(self) -> None:
        """Raise `StoreError` if the stored corpus has been replaced, removed or changed since it was opened.

        What a corpus answers always comes from the files that were opened, checked against their checksums.
        """
        if self._store is not None:
            self._store.check_current()

    @property
    def chunk_group(self) -> npt.NDArray[Any]:
        """Group of each chunk, as a number; all 0 where there are no groups."""
        if "chunk_group" not in self._arrays:
            return np.zeros(len(self.chunk_slice), dtype=np.int32)
        return self._checked("chunk_group")

    @cached_property
    def copies(self) -> npt.NDArray[np.int64]:
        """Documents that are copies of others, and the first that each is a copy of, ``(copies, 2)``."""
        if self._store is None or "copies.npy" not in self._store:
            return np.zeros((0, 2), dtype=np.int64)
        found = self._store.array("copies")
        if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu":
            raise damaged(self._store.folder, "copies.npy has other numbers than it should have")
        return np.asarray(found, dtype=np.int64)

    @cached_property
    def chunk_day(self) -> npt.NDArray[np.int32]:
        """Day of each chunk's document, counted from 1970-01-01; the first of its slice where no dates are known."""
        if "chunk_day" in self._arrays:  # of dates that were exchanged
            return np.asarray(self._arrays["chunk_day"], dtype=np.int32)
        if not self.has_documents:
            first: npt.NDArray[np.int32] = np.array(self.slices.first, dtype="datetime64[D]").astype(np.int32)
            return np.asarray(first[self.chunk_slice])
        days = self.documents.select("date").collect()["date"].to_physical().gather(self.chunk_document)
        if days.null_count():
            assert self.path is not None
            raise damaged(self.path, f"{self._document_files[0]} has documents without a date")
        return np.asarray(days.to_numpy(), dtype=np.int32)

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all splits, before subsampling."""
        return self._arrays["tokens"].shape[0]

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words, the slices, and how often each word occurs in each slice."""
        return Vocabulary(self.words, self.slices, self.counts, self.train_counts)

    @cached_property
    def train_counts(self) -> npt.NDArray[Any]:
        """Occurrences of each word in the training text of each slice, ``(n_slices, n_words)``."""
        if "train_counts" in self._arrays:
            return self._checked("train_counts")
        # Count what is held out, which is less, and take it away; the training text is in no slice here.
        held_out = np.where(self.chunk_split == SPLITS.index("train"), -1, self.chunk_slice)
        counts = np.array(self.counts)
        counts -= count_by_slice(self.tokens, self.offsets, held_out, counts.shape).astype(counts.dtype)
        counts.setflags(write=False)
        return counts

    @property
    def word_index(self) -> dict[str, int]:
        """The id of each word."""
        return self.vocabulary.index

    def word_id(self, word: str) -> int:
        """Return the id of a word; the error for an unknown one suggests others."""
        return self.vocabulary.word_id(word)

    def tokens_per_slice(self) -> npt.NDArray[np.int64]:
        """Return the number of tokens in each slice."""
        return np.asarray(self.counts.sum(axis=1, dtype=np.int64))

    def split_sizes(self) -> dict[str, int]:
        """Return the number of tokens in each split."""
        sizes = np.bincount(self.chunk_split, weights=np.diff(self.offsets), minlength=len(SPLITS))
        return {name: int(size) for name, size in zip(SPLITS, sizes, strict=True)}

    def group_sizes(self) -> dict[str, int]:
        """Return the number of documents in each group."""
        _, first = np.unique(self.chunk_document, return_index=True)
        sizes = np.bincount(np.asarray(self.chunk_group)[first], minlength=max(len(self.groups), 1))
        return {name: int(size) for name, size in zip(self.groups, sizes, strict=False)}

    def expected_tokens(self) -> float:
        """Return how many tokens of all splits a pass is expected to see."""
        return float(self.counts.sum(axis=0, dtype=np.int64) @ self.keep_probability)

    def has_split(self, split: str) -> bool:
        """Tell whether any text is in a split: ``"train"``, ``"valid"`` or ``"test"``."""
        return bool((self.chunk_split == split_number(split)).any())

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that decides what a model sees: equal for equal corpora, wherever they are stored."""
        if self._recorded is not None:
            return self._recorded
        digest = hashlib.sha256()
        tokens: Any = self.tokens
        parts = tokens.parts if isinstance(tokens, ShardedArray) else (tokens,)
        for array in (*map(whole, parts), self.offsets, self.chunk_slice, self.chunk_split, self.chunk_document):
            digest.update(np.ascontiguousarray(array).data)
        digest.update("\0".join((*self.words, *self.slices.labels)).encode())
        digest.update(np.ascontiguousarray(self.raw_counts).astype("<i8").data)
        digest.update(f"\0{self.subsample!r}\0{self.seed}".encode())
        if self.groups:
            digest.update(np.ascontiguousarray(self.chunk_group).astype("<i4").data)
            digest.update("\0".join(self.groups).encode())
        return digest.hexdigest()[:16]

    def matches(self, fingerprint: str | None) -> bool:
        """Tell whether this is the corpus with that fingerprint."""
        return isinstance(fingerprint, str) and fingerprint == self.fingerprint

    @property
    def documents(self) -> pl.LazyFrame:
        """The documents as they came: text, date, slice and the other columns of the source."""
        return self._stored_documents().frame

    @property
    def annotated(self) -> bool:
        """Whether the source said what each word is."""
        return self.options.tokens == ANNOTATED

    @property
    def annotations(self) -> pl.LazyFrame:
        """What the source said of the words of each document; see `sources.annotated_text`."""
        return self._stored_documents(annotations=True).frame

    def _stored_documents(self, *, annotations: bool = False) -> StoredDocuments:
        """Return the documents, or what the source said of their words, as they are in files."""
        if not self.has_documents:
            raise StoreError("This corpus was made of ids, so it has no documents")
        assert self._store is not None
        files: dict[str, IO[bytes]] = {name: self._store.open_file(name) for name in self._document_files}
        if self._document_ends is None:
            self._document_ends = self._check_documents(files)
        others = pl.exclude(ANNOTATION) if self.annotated else pl.all()
        columns = pl.col(ANNOTATION) if annotations else others
        return StoredDocuments(list(files.values()), self._document_ends, columns)

    def _check_documents(self, files: Mapping[str, IO[bytes]]) -> list[int]:
        """Refuse tables that are not those of the texts; return how many documents each and those before it have."""
        assert self.path is not None
        schemas, ends = [], [0]
        for name, file in files.items():
            found = pl.scan_parquet(file)
            try:
                schema, rows = found.collect_schema(), found.select(pl.len()).collect().item()
            except POLARS_ERRORS as error:
                raise damaged(self.path, f"{name} cannot be read") from error
            schemas.append(schema)
            ends.append(ends[-1] + rows)
            kinds = [schema.get("text") in (pl.String, pl.List(pl.String)), schema.get("date") == pl.Date]
            if self.annotated:
                kinds.append(schema.get(ANNOTATION) == pl.String)
            complete = len(ends) <= len(files) or ends[-1] > self.chunk_document.max(initial=-1)
            if not (all(kinds) and schema.get("slice") == pl.String and schema == schemas[0] and complete):
                raise damaged(self.path, f"{name} does not have the columns and rows that it should have")
        return ends[1:]

    @contextlib.contextmanager
    def _reading_documents(self) -> Iterator[None]:
        """Turn what Polars says of a table that it cannot read into a sentence."""
        try:
            yield
        except (OSError, *POLARS_ERRORS) as error:
            assert self.path is not None
            first, *others = self._document_files
            name = f"one of {first} to {others[-1]}" if others else first
            raise damaged(self.path, f"{name} cannot be read") from error

    def positions_of(self, word: str) -> npt.NDArray[np.int64]:
        """Return the positions of a word in `tokens`; those of the last few words are kept.

        Threads may share a corpus: at worst two of them look for the same word.
        """
        number = self.word_id(word)
        found = self._kept_positions(number)
        if found is None:
            found = self._find(number)
            found.setflags(write=False)
            for oldest in list(self._positions)[: max(len(self._positions) - _KEPT_WORDS + 1, 0)]:
                self._positions.pop(oldest, None)
            self._positions[number] = found
        return found

    def _kept_positions(self, number: int) -> npt.NDArray[np.int64] | None:
        """Return the positions of a word, given by its number, if they were looked for recently."""
        return self._positions.get(number)

    def _find(self, number: int) -> npt.NDArray[np.int64]:
        """Return the positions of a word; a long text has an index, so that not all of it has to be read."""
        if word_index.ENDS not in self._arrays:
            return shards.find(self.tokens, number)
        ends = self._checked(word_index.ENDS)
        try:
            return word_index.find(self._arrays[word_index.POSITIONS], ends, number)
        except ValueError as error:
            assert self.path is not None
            raise damaged(self.path, f"its index of words is not as it was written ({error})") from error

    @property
    def has_documents(self) -> bool:
        """Whether the texts are stored with the corpus."""
        return bool(self._document_files)

    @property
    def _document_files(self) -> list[str]:
        return [] if self._store is None else self._store.shards("documents", ".parquet")

    @cached_property
    def phrases(self) -> PhraseTable:
        """The phrases that were joined into one word."""
        if self._store is None or "phrases.parquet" not in self._store:
            return PhraseTable()
        table = self._store.table("phrases.parquet", PhraseTable.SCHEMA)
        with self._store.reading("phrases.parquet"):
            return PhraseTable.from_table(table)


def write_facts(writer: Writer, metadata: CorpusMetadata) -> None:
    """Store the facts of a corpus once all else is written, so that nobody has to read all of its text for them."""
    names = (
        "offsets",
        "chunk_slice",
        "chunk_split",
        "chunk_document",
        "counts",
        *["chunk_group"][: len(metadata.groups)],
    )
    arrays: dict[str, Any] = {name: np.load(writer.folder / f"{name}.npy", mmap_mode="r") for name in names}
    arrays["tokens"] = ShardedArray(read_shards(writer.folder, "tokens"))
    vocabulary = pl.read_parquet(writer.folder / "vocabulary.parquet", glob=False)
    arrays["raw_counts"] = vocabulary["raw_count"].to_numpy()
    slices = Slices.from_table(pl.read_parquet(writer.folder / "slices.parquet", glob=False))
    written = TokenizedText(arrays, vocabulary["word"].to_list(), slices, metadata=metadata)
    writer.array("train_counts", written.train_counts)
    word_index.write_index(writer, arrays["tokens"], len(written.words))
    writer.meta = {**metadata.to_dict(), "fingerprint": written.fingerprint}


def chunks_of(corpus: TokenizedText, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the chunks that tokens, given by their positions, are in."""
    return np.searchsorted(corpus.offsets, positions, side="right") - 1


def split_number(split: str) -> int:
    """Return the number under which a split is stored."""
    return SPLITS.index(checks.one_of("split", split, SPLITS))


def concatenated_ranges(begin: npt.NDArray[np.int64], end: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return begin[i]..end[i]-1 for every i, one after the other."""
    lengths = end - begin
    return np.asarray(np.arange(int(lengths.sum())) + np.repeat(begin - (np.cumsum(lengths) - lengths), lengths))


def ranges_of(tokens: npt.NDArray[Any], begin: npt.NDArray[Any], end: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return tokens[begin[i]:end[i]] for every i, one after the other; adjacent ranges are read at once."""
    if not len(begin):
        return tokens[:0]
    new = np.flatnonzero(begin[1:] != end[:-1]) + 1
    return np.concatenate([tokens[b:e] for b, e in zip(begin[np.r_[0, new]], end[np.r_[new - 1, -1]], strict=True)])


def count_by_slice(
    tokens: npt.NDArray[Any],
    offsets: npt.NDArray[np.int64],
    chunk_slice: npt.NDArray[np.integer[Any]],
    shape: tuple[int, ...],
) -> npt.NDArray[np.int64]:
    """Return how often each word occurs in the chunks of each slice, in an array of this shape, ``(T, V)``."""
    counts = np.zeros(shape, dtype=np.int64)
    for t in range(len(counts)):
        here = np.flatnonzero(chunk_slice == t)
        counts[t] = np.bincount(ranges_of(tokens, offsets[:-1][here], offsets[1:][here]), minlength=shape[1])
    return counts
