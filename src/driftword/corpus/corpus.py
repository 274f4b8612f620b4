"""The `Corpus`: every token of the vocabulary, in chunks that have a slice and a split.

It is immutable and mapped into memory, so opening one is instant whatever its
size. `prepare` stores tokens in order of their slices, and within a slice in order
of their documents. A chunk is a run of consecutive words of one document that
belongs to one split; no context reaches beyond it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks, tables
from driftword.basics.errors import OptionError
from driftword.corpus import derived, sampling, word_index
from driftword.corpus.from_ids import KIND, check_ids
from driftword.corpus.groups import group_number
from driftword.corpus.metadata import CorpusMetadata
from driftword.corpus.passages import find_lines
from driftword.corpus.sampling import Sample
from driftword.corpus.slices import At, Slices, stored_slices
from driftword.corpus.summary import facts_of, summarize
from driftword.corpus.tokenized_text import TokenizedText, split_number
from driftword.storage import store


@dataclass(frozen=True)
class _Identity:
    fingerprint: str


class Corpus(TokenizedText):
    """Dated text as token ids; made by `driftword.prepare`, `Corpus.open` or `Corpus.from_ids`.

    Attributes
    ----------
    tokens
        Word ids, ``(n_tokens,)``.
    offsets
        Chunk i is ``tokens[offsets[i]:offsets[i + 1]]``.
    chunk_slice, chunk_split, chunk_document
        Slice, split (0 train, 1 valid, 2 test) and document of each chunk.
    words
        The vocabulary, most frequent word first.
    counts
        Occurrences of each word in each slice, ``(n_slices, n_words)``.
    raw_counts
        Occurrences of each word before any subsampling, ``(n_words,)``.
    keep_probability
        Probability with which a pass keeps a token of each word, ``(n_words,)``.
    slices
        Labels and date ranges of the slices.
    groups, chunk_group
        Names of the groups of documents, if there are any, and the group of each chunk.
    seed, subsample
        Seed of the splits and of the subsampling, and its threshold t; None keeps every token.
    options, report
        What `prepare` was asked for, with every default resolved; what it read, and what it left out and why.
    inputs
        The files or data that the corpus was made from, each with its SHA-256.
    citation
        What users of the text are asked to cite.
    versions
        Versions of the packages that made the corpus.
    shuffled
        Seed with which the dates of documents were shuffled; None where they are as they came.
    """

    # -- opening and making ------------------------------------------------------------

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Corpus:
        """Open the corpus stored at `path`, or at an address such as ``s3://bucket/archive.corpus``."""
        stored = store.open_store(path, kind=KIND)
        with stored.reading(store.META):
            metadata = CorpusMetadata.from_dict(stored.meta)
        vocabulary = stored.table("vocabulary.parquet", {"word": pl.String, "raw_count": pl.Int64})
        slices = stored_slices(stored)
        names = ["offsets", "chunk_slice", "chunk_split", "chunk_document", "counts", "train_counts"]
        names += ["chunk_group"] if metadata.groups else []
        arrays: dict[str, Any] = {name: stored.lazy_array(name) for name in names}
        arrays["tokens"] = stored.long_array("tokens")
        if f"{word_index.ENDS}.npy" in stored:
            arrays[word_index.POSITIONS] = stored.long_array(word_index.POSITIONS)
            arrays[word_index.ENDS] = stored.lazy_array(word_index.ENDS)
        arrays["raw_counts"] = vocabulary["raw_count"].to_numpy()
        return cls(
            arrays, vocabulary["word"].to_list(), slices, metadata=metadata, stored=stored,
            fingerprint=stored.facts(_Identity).fingerprint,
        )  # fmt: skip

    @classmethod
    def from_ids(
        cls,
        words: Sequence[str],
        ids: npt.ArrayLike,
        offsets: npt.ArrayLike,
        *,
        chunk_slice: npt.ArrayLike,
        chunk_split: Sequence[str] | npt.ArrayLike,
        slices: Slices | Sequence[str | int],
        chunk_document: npt.ArrayLike | None = None,
        groups: Sequence[str] = (),
        chunk_group: npt.ArrayLike | None = None,
        raw_counts: npt.ArrayLike | None = None,
        subsample: float | str | None = None,
        seed: int = 0,
        out: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
    ) -> Corpus:
        """Make a corpus of token ids prepared elsewhere.

        Parameters
        ----------
        words
            The vocabulary; ``ids`` are positions in it.
        ids, offsets
            Chunk i is ``ids[offsets[i]:offsets[i + 1]]``.
        chunk_slice
            Slice of each chunk: its number (0 is the first).
        chunk_split
            Split of each chunk: ``"train"``, ``"valid"`` or ``"test"``, or 0, 1, 2.
        slices
            The slices in order of time, or labels such as years.
        chunk_document
            Document of each chunk; by default each chunk is one.
        groups, chunk_group
            Names of groups of documents, and the number of the group of each chunk; by default there are none.
        raw_counts
            Occurrences of each word before the text was subsampled, if it was.
        subsample
            Threshold t for subsampling; None, the default, keeps every token.
        seed
            Seed of the subsampling.
        out
            Where to store the corpus; None keeps it in memory.
        overwrite
            Replace a corpus at `out`.
        """
        path, overwrite = checks.optional(checks.location, "out", out), checks.flag("overwrite", overwrite)
        checked = check_ids(
            words, ids, offsets, chunk_slice=chunk_slice, chunk_split=chunk_split, slices=slices,
            chunk_document=chunk_document, groups=groups, chunk_group=chunk_group, raw_counts=raw_counts,
            subsample=subsample, seed=seed,
        )  # fmt: skip
        if path is None:
            return cls(checked.arrays, checked.words, checked.slices, metadata=checked.metadata)
        checked.write(path, overwrite=overwrite)
        return cls.open(path)

    # -- corpora made of it ----------------------------------------------------------------

    def shuffle_dates(self, seed: int = 0) -> Corpus:
        """Return the corpus with its documents' dates exchanged at random: the same text, in a world without change.

        A model of it shows what a corpus in which nothing changes looks like.

        Parameters
        ----------
        seed
            Seed of the exchange.
        """
        return derived.with_shuffled_dates(self, checks.seed(seed))

    def of_group(self, group: str) -> Corpus:
        """Return the documents of one group as a corpus of their own, with the same words, slices and splits.

        Parameters
        ----------
        group
            The name of the group.
        """
        return derived.some_chunks(self, self.chunk_group == group_number(self.groups, group))

    def without_groups(self) -> Corpus:
        """Return the same text as a corpus without groups."""
        return derived.without_groups(self)

    def from_slice(self, first: int) -> Corpus:
        """Return the documents of a slice, given by its number, and of all later ones as a corpus of their own."""
        return derived.some_chunks(self, self.chunk_slice >= first, first)

    # -- its text --------------------------------------------------------------------------

    def chunks(self, split: str = "train", *, at: At | None = None, pass_number: int = 0) -> Iterator[npt.NDArray[Any]]:
        """Yield the token ids of each chunk of a split, after subsampling.

        Parameters
        ----------
        split
            ``"train"``, ``"valid"`` or ``"test"``.
        at
            A slice (label, year or date); all slices by default.
        pass_number
            Which subsample: each number draws another one.
        """
        return sampling.read_chunks(self, self.chunks_of(split, at=at), checks.whole("pass_number", pass_number))

    def sample(self, split: str = "train", *, at: At | None = None, pass_number: int = 0) -> Sample:
        """Return all chunks of a split at once, after subsampling; see `chunks`.

        Returns
        -------
        Token ids, where chunks begin and end among them, the number of each chunk in the
        corpus, and the position of each token in ``tokens``.
        """
        return self.sample_chunks(self.chunks_of(split, at=at), pass_number=pass_number)

    def chunks_of(self, split: str, *, at: At | None = None) -> npt.NDArray[np.int64]:
        """Return the numbers of the chunks of a split, of all slices or of one."""
        which = self.chunk_split == split_number(split)
        if at is not None:
            which &= self.chunk_slice == self.slices.index(at)
        return np.flatnonzero(which)

    def sample_chunks(
        self, chunks: npt.NDArray[np.int64], *, pass_number: int = 0, threads: int | None = None
    ) -> Sample:
        """Return some chunks, given by their numbers, after subsampling; see `sample`."""
        return sampling.sample_chunks(self, chunks, checks.whole("pass_number", pass_number), threads=threads)

    def sampled(
        self, positions: npt.NDArray[np.int64], ids: npt.NDArray[Any], pass_number: int
    ) -> npt.NDArray[np.bool_]:
        """Tell which tokens a pass sees: a function of seed, pass and position only."""
        return sampling.are_sampled(self, positions, ids, pass_number)

    def passages(
        self,
        word: str,
        *,
        at: At | None = None,
        n: int = 10,
        width: int = 60,
        where: Mapping[str, Any] | None = None,
    ) -> pl.DataFrame:
        """Show a word where it occurs in the texts, one line per occurrence.

        Parameters
        ----------
        word
            A word or phrase of the vocabulary.
        at
            A slice (label, year or date); all slices by default.
        n
            How many lines, taken from as many documents as possible.
        width
            Characters of text on either side.
        where
            Only documents with these values in their other columns, such as ``{"country": "FRA"}``. A column or a
            value that no document has is an error, which names some that they have.

        Returns
        -------
        One row per line: left, keyword, right, date, slice, document and the documents' other columns.
        """
        return find_lines(self, word, at=at, n=n, width=width, where=where)[0]

    # -- facts -----------------------------------------------------------------------------

    def info(self) -> dict[str, Any]:
        """Return the facts that ``driftword info`` shows, ready for JSON."""
        return facts_of(self)

    def summary(self) -> dict[str, str]:
        """Return the facts for people: what is in the corpus, and what was left out and why."""
        return summarize(self)

    def _repr_html_(self) -> str:
        return tables.html_facts("Corpus", self.summary())

    def __repr__(self) -> str:
        return (
            f"Corpus({self.n_tokens:,} tokens, {len(self.words):,} words, {len(self.slices)} slices "
            f"{self.slices.labels[0]} to {self.slices.labels[-1]})"
        )


def as_corpus(corpus: Corpus | str | os.PathLike[str]) -> Corpus:
    """Return a corpus, opening it where its path is given."""
    if isinstance(corpus, Corpus):
        return corpus
    if isinstance(corpus, str | os.PathLike):
        return Corpus.open(checks.location("corpus", corpus))
    raise OptionError(f"`corpus` is {checks.shown(corpus)}, which is not a corpus; give a Corpus or the path of one")
