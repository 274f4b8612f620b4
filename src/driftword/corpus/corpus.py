"""The `Corpus`: every token of the vocabulary, in chunks that have a slice and a split.

It is immutable and mapped into memory, so opening one is instant whatever its
size. `prepare` stores tokens in order of their slices, and within a slice in order
of their documents. A chunk is a run of consecutive words of one document that
belongs to one split; no context reaches beyond it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks, randomness, tables
from driftword.basics.errors import OptionError
from driftword.basics.process import available_cores
from driftword.corpus.from_ids import KIND, check_ids
from driftword.corpus.groups import group_number
from driftword.corpus.metadata import CorpusMetadata
from driftword.corpus.passages import find_lines
from driftword.corpus.slices import At, Slices
from driftword.corpus.splits import SPLITS
from driftword.corpus.summary import summarize
from driftword.corpus.tokenized_text import TokenizedText, concatenated_ranges, ranges_of, split_number
from driftword.storage import store

_BLOCK: Final = 1 << 20
Sample = tuple[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]


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
    """

    #: Seed with which the dates of documents were shuffled; None where they are as they came.
    shuffled: int | None = None

    # -- opening and making ------------------------------------------------------------

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Corpus:
        """Open the corpus stored at `path`, or at an address such as ``s3://bucket/archive.corpus``."""
        stored = store.open_store(path, kind=KIND)
        try:
            metadata, fingerprint = CorpusMetadata.from_dict(stored.meta), str(stored.meta["fingerprint"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise store.damaged(stored.folder, "meta.json is incomplete") from error
        try:
            vocabulary = pl.read_parquet(stored.open_file("vocabulary.parquet"))
            slices = Slices.from_table(pl.read_parquet(stored.open_file("slices.parquet")))
        except (OSError, pl.exceptions.PolarsError) as error:
            raise store.damaged(stored.folder, "a table cannot be read") from error
        names = ["offsets", "chunk_slice", "chunk_split", "chunk_document", "counts", "train_counts"]
        names += ["chunk_group"] if metadata.groups else []
        arrays: dict[str, Any] = {name: stored.lazy_array(name) for name in names}
        arrays["tokens"] = stored.long_array("tokens")
        arrays["raw_counts"] = vocabulary["raw_count"].to_numpy()
        return cls(
            arrays, vocabulary["word"].to_list(), slices, metadata=metadata, stored=stored,
            fingerprint=fingerprint,
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
        path, overwrite = checks.optional(checks.path, "out", out), checks.flag("overwrite", overwrite)
        checked = check_ids(
            words, ids, offsets, chunk_slice=chunk_slice, chunk_split=chunk_split, slices=slices,
            chunk_document=chunk_document, groups=groups, chunk_group=chunk_group, raw_counts=raw_counts,
            subsample=subsample, seed=seed,
        )  # fmt: skip
        if path is None:
            return cls(checked.arrays, checked.words, checked.slices, metadata=checked.metadata)
        checked.write(path, overwrite=overwrite)
        return cls.open(path)

    # -- what is in it -----------------------------------------------------------------

    def shuffle_dates(self, seed: int = 0) -> Corpus:
        """Return the corpus with its documents' dates exchanged at random: the same text, in a world without change.

        A model of it shows what a corpus in which nothing changes looks like.

        Parameters
        ----------
        seed
            Seed of the exchange.
        """
        seed = checks.seed(seed)
        documents, first, number = np.unique(self.chunk_document, return_index=True, return_inverse=True)
        random = randomness.bits(randomness.key(seed, "dates"), np.arange(len(documents)))
        dates = np.asarray(self.chunk_slice)[first][np.argsort(random, kind="stable")]
        chunk_slice = dates[number]
        counts = np.zeros((len(self.slices), len(self.words)), dtype=np.int64)
        slice_of = np.repeat(chunk_slice, np.diff(self.offsets))
        for t in range(len(counts)):
            counts[t] = np.bincount(self.tokens[slice_of == t], minlength=len(self.words))
        changed = {"chunk_slice": chunk_slice, "counts": counts.astype(self.counts.dtype)}
        for array in changed.values():
            array.setflags(write=False)
        arrays = {name: array for name, array in self._arrays.items() if name != "train_counts"} | changed
        shuffled = Corpus(arrays, self.words, self.slices, metadata=self._metadata, stored=self._store)
        shuffled.shuffled = seed
        return shuffled

    def of_group(self, group: str) -> Corpus:
        """Return the documents of one group as a corpus of their own, with the same words, slices and splits.

        Parameters
        ----------
        group
            The name of the group.
        """
        return self._part(self.chunk_group == group_number(self.groups, group), 0)

    def without_groups(self) -> Corpus:
        """Return the same text as a corpus without groups."""
        if not self.groups:
            return self
        arrays = {name: array for name, array in self._arrays.items() if name != "chunk_group"}
        metadata = replace(self._metadata, groups=())
        plain = Corpus(arrays, self.words, self.slices, metadata=metadata, stored=self._store)
        plain.shuffled = self.shuffled
        return plain

    def from_slice(self, first: int) -> Corpus:
        """Return the documents of a slice, given by its number, and of all later ones as a corpus of their own."""
        return self._part(self.chunk_slice >= first, first)

    def _part(self, wanted: npt.NDArray[np.bool_], first: int) -> Corpus:
        """Return some chunks, in the slices from `first` on, as a corpus with the same words and splits."""
        chosen = np.flatnonzero(wanted)
        begin, end = self.offsets[:-1][chosen], self.offsets[1:][chosen]
        arrays = {
            "tokens": self.tokens[concatenated_ranges(begin, end)],
            "offsets": np.r_[0, np.cumsum(end - begin)],
            "chunk_slice": self.chunk_slice[chosen] - np.int32(first),
            **{name: getattr(self, name)[chosen] for name in ("chunk_split", "chunk_document")},
        }
        slices = Slices(self.slices.labels[first:], self.slices.first[first:], self.slices.last[first:])
        counts = np.zeros((len(slices), len(self.words)), dtype=np.int64)
        token_slice = np.repeat(arrays["chunk_slice"], np.diff(arrays["offsets"]))
        np.add.at(counts, (token_slice, arrays["tokens"].astype(np.int64)), 1)
        arrays |= {"counts": counts.astype(self.counts.dtype), "raw_counts": self.raw_counts}
        for array in arrays.values():
            array.setflags(write=False)
        metadata = replace(self._metadata, groups=())
        return Corpus(arrays, self.words, slices, metadata=metadata, stored=self._store)

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
        pass_number = checks.whole("pass_number", pass_number)  # now, not when the first chunk is asked for
        samples = self._read_samples(self.chunks_of(split, at=at), pass_number)
        return (chunk for ids, offsets, _, _ in samples for chunk in np.split(ids, offsets[1:-1]))

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
        from driftword.corpus import token_kernels as kernels  # Numba loads only where it is used

        key = np.uint64(randomness.key(self.seed, "subsample", checks.whole("pass_number", pass_number)))
        begin, end = self.offsets[:-1][chunks], self.offsets[1:][chunks]
        if not len(chunks):
            return self.tokens[:0], np.zeros(1, dtype=np.int64), chunks, chunks

        def sample(part: slice) -> tuple[npt.NDArray[Any], ...]:
            tokens = ranges_of(self.tokens, begin[part], end[part])
            ids, positions = np.empty_like(tokens), np.empty(len(tokens), dtype=np.int64)
            counts = np.empty(part.stop - part.start, dtype=np.int64)
            n = kernels.sample(tokens, begin[part], end[part], key, self.keep_probability, ids, positions, counts)
            return ids[:n].copy(), counts, positions[:n].copy()

        borders = np.searchsorted(np.cumsum(end - begin), np.arange(_BLOCK, int((end - begin).sum()), _BLOCK))
        parts = itertools.starmap(slice, itertools.pairwise(np.unique([0, *borders, len(chunks)]).tolist()))
        with ThreadPoolExecutor(threads or available_cores()) as pool:
            ids, counts, positions = map(np.concatenate, zip(*pool.map(sample, parts), strict=True))
        return ids, np.r_[0, np.cumsum(counts)], chunks, positions

    def _read_samples(self, chosen: npt.NDArray[np.int64], pass_number: int) -> Iterator[Sample]:
        """Yield samples of many chunks at a time, which is faster than chunk by chunk."""
        begin, end = self.offsets[:-1][chosen], self.offsets[1:][chosen]
        filled = np.cumsum(end - begin)
        i = 0
        while i < len(chosen):
            stop = max(int(np.searchsorted(filled, (filled[i - 1] if i else 0) + _BLOCK, side="right")), i + 1)
            positions = concatenated_ranges(begin[i:stop], end[i:stop])
            ids = self.tokens[positions]
            sampled = self.sampled(positions, ids, pass_number)
            before = np.r_[0, np.cumsum(sampled)]
            offsets = before[np.r_[0, np.cumsum(end[i:stop] - begin[i:stop])]]
            yield ids[sampled], offsets, chosen[i:stop], positions[sampled]
            i = stop

    def sampled(
        self, positions: npt.NDArray[np.int64], ids: npt.NDArray[Any], pass_number: int
    ) -> npt.NDArray[np.bool_]:
        """Tell which tokens a pass sees: a function of seed, pass and position only."""
        if self.subsample is None:
            return np.ones(len(ids), dtype=bool)
        key = randomness.key(self.seed, "subsample", pass_number)
        return np.asarray(randomness.uniform(key, positions) < self.keep_probability[ids])

    def expected_tokens(self) -> float:
        """Return how many tokens of all splits a pass is expected to see."""
        return float(self.counts.sum(axis=0, dtype=np.int64) @ self.keep_probability)

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

    def info(self) -> dict[str, Any]:
        """Return the facts that ``driftword info`` shows, ready for JSON."""
        per_slice = self.tokens_per_slice()
        documents = len(np.unique(self.chunk_document))
        return {
            "kind": KIND,
            "path": str(self.path) if self.path else None,
            "source": [entry.name for entry in self.inputs],
            "citation": self.citation,
            "documents": documents,
            "tokens": self.n_tokens,
            "words": len(self.words),
            "phrases": sum(" " in word for word in self.words),
            "slices": len(self.slices),
            "first_slice": self.slices.labels[0],
            "last_slice": self.slices.labels[-1],
            "empty_slices": int((per_slice == 0).sum()),
            "groups": self.group_sizes(),
            "splits": self.split_sizes(),
            "subsample": self.subsample,
            "tokens_a_pass": round(self.expected_tokens()),
            "seed": self.seed,
            "fingerprint": self.fingerprint,
            "report": self.report.to_dict(),
            "tokens_per_slice": dict(zip(self.slices.labels, per_slice.tolist(), strict=True)),
        }

    def summary(self) -> dict[str, str]:
        """Return the facts for people: what is in the corpus, and what was left out and why."""
        return summarize(self.info(), self.options, self.report)

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
