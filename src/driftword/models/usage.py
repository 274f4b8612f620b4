"""`Usage`: vectors of occurrences, made by any encoder, with the documents and dates that they come from.

A `Model` compares the contexts of a word with those that it expects. Where vectors come from elsewhere, from BERT or
from R, a word is what its occurrences are; all questions about documents and dates are the same.

Vectors are seen in a few directions: those in which occurrences of the same word differ most, over all words that have
vectors. Others are mostly noise of the encoder, or say which word it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypedDict, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks, tables
from driftword.basics.addresses import is_on_this_machine
from driftword.basics.errors import DriftwordError, OptionError, StoreError, UnknownWordError
from driftword.basics.suggestions import closest, did_you_mean
from driftword.corpus import Corpus, Slices
from driftword.corpus.corpus import as_corpus
from driftword.corpus.slices import stored_slices
from driftword.models.model import Model, as_model, corpus_of
from driftword.models.significance_table import SignificanceTable
from driftword.models.storing import read_significance, write_significance
from driftword.storage import store

Array = npt.NDArray[Any]
KIND: Final = "usage"
DIRECTIONS: Final = 64  # in which vectors are compared
#: What is stored of each occurrence. Without a corpus, `position` is -1, and there may be no text.
SCHEMA: Final[dict[str, Any]] = {
    "word": pl.String, "text": pl.String, "begin": pl.Int64, "end": pl.Int64, "date": pl.Date, "slice": pl.String,
    "document": pl.Int64, "occurrence": pl.Int64, "position": pl.Int64, "control": pl.Boolean,
}  # fmt: skip
_T = TypeVar("_T")


class Encoding(TypedDict):
    """What made the vectors."""

    encoder: str  # its name, or the last part of its path
    checksum: str  # of its files; empty where vectors were brought
    layers: int  # whose mean is taken, counted from the last
    pool: str  # what of a text is taken: the word, or all of it


class _Facts(msgspec.Struct):
    """What ``meta.json`` says of vectors, beside what it says of every store."""

    encoding: Encoding | None = None
    corpus: str | None = None  # fingerprint of the corpus
    corpus_path: str | None = None


class Usage:
    """Vectors of occurrences of words; made by `driftword.usage`, `driftword.encode` or `Usage.open`.

    Attributes
    ----------
    occurrences
        A row for each: word, text with the word from character begin to end, date, slice, document, occurrence in it,
        position in the corpus (-1 without one), and control, whether the word is there to show what all words do.
    vectors
        The vectors, ``(n, K)``, in the same order.
    slices
        The slices of time.
    words
        The words that have vectors.
    corpus
        The corpus that they occur in; None for vectors without one.
    encoding
        What made the vectors; None where that is not known.
    path
        Where it is stored; None in memory.
    """

    def __init__(
        self,
        occurrences: pl.DataFrame,
        vectors: Any,
        slices: Slices,
        *,
        corpus: Corpus | None = None,
        encoding: Encoding | None = None,
        path: Path | str | None = None,
        corpus_facts: tuple[str | None, str | None] | None = None,
    ) -> None:
        self.occurrences, self.vectors, self.slices = occurrences, vectors, slices
        self.encoding, self.path, self.corpus = encoding, path, corpus
        self._significance: SignificanceTable | None = None
        place = None if corpus is None or corpus.path is None else str(Path(corpus.path).absolute())
        self._corpus_facts = corpus_facts or ((None, None) if corpus is None else (corpus.fingerprint, place))
        self._cache: dict[Hashable, Any] = {}

    # -- opening and saving ------------------------------------------------------------

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, corpus: Corpus | str | os.PathLike[str] | None = None) -> Usage:
        """Open the vectors stored at `path`.

        Parameters
        ----------
        path
            A directory, as made by `driftword.encode` or `Usage.save`.
        corpus
            The corpus they were made of, or its path; by default where it was then, if it is still there.
        """
        stored = store.open_store(path, kind=KIND)
        facts = stored.facts(_Facts)
        table, vectors, slices = (
            stored.table("occurrences.parquet", SCHEMA),
            stored.array("vectors"),
            stored_slices(stored),
        )
        numbers = table.select(pl.col("document", "begin").min(), last=pl.col("position").min())
        if vectors.ndim != 2 or vectors.dtype.kind != "f" or len(vectors) != table.height or not table.height:
            raise store.damaged(stored.folder, "its vectors are not those of its occurrences")
        if not np.isfinite(vectors).all() or not set(table["slice"].unique()) <= set(slices.labels):
            raise store.damaged(stored.folder, "it has numbers, or slices, that nothing of ours wrote")
        if min(numbers.row(0)) < -1:
            raise store.damaged(stored.folder, "it has documents, or positions, below 0")
        try:
            text = _corpus_of(facts, corpus, table)
        except OptionError as error:
            if corpus is not None:
                raise
            raise store.damaged(stored.folder, "its occurrences are not in the corpus that it names") from error
        made = cls(
            table, vectors, slices, corpus=text, encoding=facts.encoding, path=stored.folder,
            corpus_facts=(facts.corpus, facts.corpus_path),
        )  # fmt: skip
        made._significance = read_significance(stored, made.words)
        return made

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Usage:
        """Store the vectors as a directory and return them as opened from there.

        Parameters
        ----------
        path
            Directory to write.
        overwrite
            Replace vectors at `path`.
        """
        with store.create(path, kind=KIND, overwrite=checks.flag("overwrite", overwrite)) as writer:
            corpus, place = self._corpus_facts
            writer.meta = {"encoding": self.encoding, "corpus": corpus, "corpus_path": place}
            writer.array("vectors", self.vectors)
            self.occurrences.select(*SCHEMA).write_parquet(writer.folder / "occurrences.parquet")
            self.slices.table().write_parquet(writer.folder / "slices.parquet")
        return Usage.open(path, corpus=self.corpus)

    # -- what is kept with it ----------------------------------------------------------

    @property
    def significance(self) -> SignificanceTable | None:
        """The result of a significance test of all words, if there was one; see `driftword.significance`."""
        return self._significance

    def keep_significance(self, found: SignificanceTable) -> None:
        """Keep the result of a test of all words: in this object and, if it is stored, in its directory."""
        self._significance = found
        if self.path is not None:
            with store.amend(store.open_store(self.path, kind=KIND), kind=KIND) as writer:
                write_significance(writer, found)

    # -- words -------------------------------------------------------------------------

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words that were asked for, in the order of their first occurrences here; no control words."""
        asked = self.occurrences.filter(~pl.col("control"))
        return tuple(asked["word"].unique(maintain_order=True))

    @cached_property
    def word_of(self) -> Array:
        """The number of the word of each occurrence; -1 for control words."""
        number = pl.col("word").replace_strict({word: v for v, word in enumerate(self.words)}, default=-1)
        found = self.occurrences.select(pl.when("control").then(-1).otherwise(number).cast(pl.Int64).alias("v"))
        return found["v"].to_numpy()

    @cached_property
    def position(self) -> Array:
        """The position of each occurrence in the corpus."""
        return self.occurrences["position"].to_numpy()

    def rows_at(self, positions: Array) -> Array:
        """Return the rows of the occurrences at these positions."""
        order = np.argsort(self.position, kind="stable")
        return np.asarray(order[np.searchsorted(self.position[order], positions)])

    def word_id(self, word: str) -> int:
        """Return the number of a word; the error for an unknown one suggests others."""
        asked = checks.text("word", word)
        found = next((form for form in (asked, asked.lower()) if form in self.words), None)
        if found is None:
            close = closest(asked.lower(), self.words, n=2)
            hint = did_you_mean(asked.lower(), close, n=2) or "; encode its occurrences first"
            raise UnknownWordError(f"{checks.quoted(asked)} has no vectors here{hint}", close, asked)
        return self.words.index(found)

    def rows(self, v: int) -> Array:
        """Return the rows of the occurrences of a word, given by its number."""
        return np.flatnonzero(self.word_of == v)

    # -- what each occurrence has ------------------------------------------------------

    @cached_property
    def document(self) -> Array:
        """The document of each occurrence; without a corpus, numbered from 0."""
        numbers = self.occurrences["document"]
        return numbers.to_numpy() if self.corpus is not None else numbers.rank("dense").to_numpy().astype(np.int64) - 1

    @cached_property
    def day(self) -> Array:
        """The day of each occurrence, since 1970-01-01."""
        return self.occurrences["date"].to_physical().to_numpy().astype(np.int64)

    @cached_property
    def slice_of(self) -> Array:
        """The number of the slice of each occurrence."""
        index = {label: t for t, label in enumerate(self.slices.labels)}
        return self.occurrences["slice"].replace_strict(index, return_dtype=pl.Int64).to_numpy()

    @cached_property
    def places(self) -> Array:
        """The vectors in the directions in which occurrences of the same word differ most, ``(n, DIRECTIONS)``."""
        vectors = np.asarray(self.vectors, dtype=np.float64)
        means, word = self._means(vectors)
        rest = vectors - means[word]
        axes = np.linalg.eigh(rest.T @ rest)[1][:, ::-1][:, :DIRECTIONS]
        return np.asarray((vectors - means.mean(axis=0)) @ axes, dtype=np.float32)

    @cached_property
    def without_means(self) -> Array:
        """The places of occurrences beside the means of their words."""
        means, word = self._means(self.places)
        return np.asarray(self.places - means[word])

    def _means(self, rows: Array) -> tuple[Array, Array]:
        """Return the mean of every word, control words too, and which word each occurrence is of."""
        word = self.occurrences["word"].rank("dense").to_numpy().astype(np.int64) - 1
        sums = np.zeros((int(word.max()) + 1, rows.shape[1]))
        np.add.at(sums, word, rows)
        return sums / np.bincount(word)[:, None], word

    def cached(self, key: Hashable, compute: Callable[[], _T]) -> _T:
        """Return what was computed under a key before, or compute it."""
        if key not in self._cache:
            self._cache[key] = compute()
        found: _T = self._cache[key]
        return found

    def __len__(self) -> int:
        return self.occurrences.height

    def _repr_html_(self) -> str:
        facts = {
            "occurrences": f"{len(self):,}", "words": f"{len(self.words):,}",
            "dimensions": str(self.vectors.shape[1]),
            "slices": f"{len(self.slices)} ({self.slices.labels[0]} to {self.slices.labels[-1]})",
        }  # fmt: skip
        made = {} if self.encoding is None else {"encoder": str(self.encoding["encoder"])}
        return tables.html_facts("Usage", facts | made)

    def __repr__(self) -> str:
        made = "" if self.encoding is None else f", by {self.encoding['encoder']}"
        return (
            f"Usage({len(self):,} occurrences of {len(self.words):,} words, {self.vectors.shape[1]} dimensions{made})"
        )


def as_source(given: Model | Usage | str | os.PathLike[str]) -> Model | Usage:
    """Return a model or vectors of occurrences, opened where their path is given."""
    if isinstance(given, Usage):
        return given
    if isinstance(given, str | os.PathLike):
        location = checks.location("model", given)
        if (store.read_meta(location) or {}).get("kind") == KIND:
            return Usage.open(location)
    return as_model(given)


def corpus_of_source(source: Model | Usage, corpus: Corpus | str | os.PathLike[str] | None) -> Corpus:
    """Return the corpus that a model was fitted to, or that vectors are of: the one given, or theirs."""
    if isinstance(source, Model):
        return corpus_of(source, corpus)
    usage = source
    text = usage.corpus if corpus is None else check_corpus(as_corpus(corpus), usage.occurrences)
    if text is None:
        raise OptionError(
            "These vectors have no corpus, so the words around them are not known; draw occurrences with "
            "`occurrences` from a corpus of the texts, and name it with `corpus`"
        )
    return text


def usage_of(given: Any, corpus: Corpus | None) -> Usage:
    """Return vectors, opened where their path is given, of occurrences in a corpus."""
    if not isinstance(given, Usage | str | os.PathLike):
        raise OptionError(
            f"`usage` is {checks.shown(given)}, which is no vectors of occurrences; give what `encode` made"
        )
    found = given if isinstance(given, Usage) else Usage.open(given)
    if corpus is not None:
        check_corpus(corpus, found.occurrences)
    return found


def check_corpus(corpus: Corpus, table: pl.DataFrame) -> Corpus:
    """Return a corpus if the occurrences are in it; raise `OptionError` if it is another one."""
    positions, words = table["position"].to_numpy(), table["word"].to_list()
    index = {word: v for v, word in enumerate(corpus.words)}
    ids = np.array([index.get(word, -1) for word in words])
    inside = (positions >= 0) & (positions < corpus.n_tokens)
    if inside.all():
        inside = np.asarray(corpus.tokens[positions]) == ids
    if not inside.all():
        i = int(np.argmin(inside))
        raise OptionError(
            f"Row {i:,} of the occurrences, of {checks.quoted(words[i])}, is not at its position in this corpus; "
            "give what `occurrences` returned for it"
        )
    return corpus


def _corpus_of(facts: _Facts, given: Any, table: pl.DataFrame) -> Corpus | None:
    """Return the corpus of stored vectors: the one given, or from where it was, if it is still the same."""
    if given is not None:
        return check_corpus(as_corpus(given), table)
    if facts.corpus is None or facts.corpus_path is None or not is_on_this_machine(facts.corpus_path):
        return None
    try:
        found = Corpus.open(Path(facts.corpus_path))
    except (DriftwordError, StoreError):
        return None
    return check_corpus(found, table) if found.fingerprint == facts.corpus else None
