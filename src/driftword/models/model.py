"""`Model`: the fitted embeddings of every word in every slice, and how they were made.

A stored model is read-only and mapped into memory: opening one takes milliseconds
whatever its size, and reading one slice neither loads nor checks the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks, tables
from driftword.basics.addresses import is_address, is_on_this_machine
from driftword.basics.errors import DriftwordError, OptionError
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.corpus.groups import OTHERS, group_number
from driftword.corpus.slices import At
from driftword.corpus.vocabulary import Vocabulary
from driftword.models import storing
from driftword.models.embeddings import Embeddings, GroupEmbeddings
from driftword.models.provenance import Provenance
from driftword.models.significance_table import SignificanceTable
from driftword.models.spec import Spec
from driftword.models.static_vectors import StaticVectors, read_static, write_static
from driftword.models.summary import summarize
from driftword.storage import store
from driftword.storage.stored_arrays import StoredArray

KIND: Final = "model"


class Model(Embeddings):
    """Embeddings of every word in every slice; made by `driftword.fit`, `Model.open` or `driftword.read_word2vec`.

    Attributes
    ----------
    context_of
        Number of the context vectors that each slice has, ``(T,)``; all 0 where all slices have the same.
    vocabulary
        The words, the slices, and how often each word occurs in each slice.
    spec
        The options it was fitted with.
    provenance
        Which corpus, seed, engine and machine it came from.
    history
        One entry per pass: words, seconds and validation scores.
    best_pass
        The pass whose embeddings these are: the one with the best validation score.
    path
        Where it is stored; None for a model in memory.
    """

    def __init__(
        self,
        rho: npt.NDArray[Any] | StoredArray,
        alpha: npt.NDArray[Any] | StoredArray,
        intercepts: npt.NDArray[Any] | StoredArray | None = None,
        *,
        vocabulary: Vocabulary,
        spec: Spec,
        provenance: Provenance,
        history: Sequence[dict[str, Any]] = (),
        best_pass: int | None = None,
        groups: Mapping[str, GroupEmbeddings] | None = None,
        context_of: Sequence[int] | None = None,
        stored: store.Store | None = None,
    ) -> None:
        super().__init__(rho, alpha, intercepts, vocabulary, context_of)
        self.spec = spec
        self.provenance = provenance
        self.history = list(history)
        self.best_pass = best_pass
        self.path = stored.folder if stored else None
        self.location = stored.location if stored else None  # wherever this process works
        self._store = stored
        self._groups = dict(groups or {})
        self._significance: SignificanceTable | None = None
        self._new_senses: pl.DataFrame | None = None
        self._static: StaticVectors | None = None
        self._sense_names: dict[str, storing.SenseNames] | None = None

    # -- opening and saving ------------------------------------------------------------

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Model:
        """Open the model stored at `path`, or at an address such as ``s3://bucket/archive.model``."""
        stored = store.open_store(path, kind=KIND)
        with stored.reading(store.META):
            return cls(**storing.read(stored), stored=stored)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Model:
        """Store the model as a directory and return it as opened from there.

        Parameters
        ----------
        path
            Directory to write, or an address such as ``"s3://bucket/archive.model"``.
        overwrite
            Replace a model at `path`.
        """
        with store.create(path, kind=KIND, overwrite=checks.flag("overwrite", overwrite)) as writer:
            self.write(writer)
        return Model.open(path)

    def write(self, writer: store.Writer) -> None:
        """Write the model into a store that is being made."""
        writer.meta = {
            "spec": self.spec.to_dict(),
            "history": self.history,
            "best_pass": self.best_pass,
            "provenance": self.provenance.to_dict(),
        }
        storing.write(writer, self, self._groups)
        if self.significance is not None:
            storing.write_significance(writer, self.significance)
        if self.static is not None:
            write_static(writer, self.static)
        if self.sense_names:
            writer.meta["senses"] = self.sense_names
        if self.new_senses is not None:
            storing.write_new_senses(writer, self.new_senses)

    def check_current(self) -> None:
        """Raise `StoreError` if the stored model has been replaced, removed or changed since it was opened.

        A model always answers from the files that were opened, checked against their checksums.
        """
        if self._store is not None:
            self._store.check_current()

    # -- what is kept with it ----------------------------------------------------------

    @property
    def significance(self) -> SignificanceTable | None:
        """The result of a significance test of all words, if there was one; see `driftword.significance`."""
        if self._significance is None and self._store is not None:
            self._significance = storing.read_significance(self._store, self.words)
        return self._significance

    def keep_significance(self, found: SignificanceTable) -> None:
        """Keep the result of a test of all words: in this object and, if the model is stored, in its directory.

        Words with a new sense were looked for among those that an earlier test found, so they are forgotten.
        """
        stale = self.new_senses
        self._significance, self._new_senses = found, None if stale is None else stale.clear()

        def write(writer: store.Writer) -> None:
            storing.write_significance(writer, found)
            if self._new_senses is not None:
                storing.write_new_senses(writer, self._new_senses)

        self._amend(write)

    @property
    def static(self) -> StaticVectors | None:
        """Vectors of a fit without dates, which tests compare documents with, if there was a test."""
        if self._static is None and self._store is not None:
            self._static = read_static(self._store, len(self.words))
        return self._static

    def keep_static(self, vectors: StaticVectors) -> None:
        """Keep vectors of a fit without dates: in this object and, if the model is stored, in its directory."""
        self._static = vectors
        self._amend(lambda writer: write_static(writer, vectors))

    @property
    def sense_names(self) -> dict[str, storing.SenseNames]:
        """What a user has said about the senses of words: see `driftword.name_senses`."""
        if self._sense_names is None:
            self._sense_names = {} if self._store is None else storing.read_sense_names(self._store)
        return self._sense_names

    def keep_sense_names(self, word: str, names: storing.SenseNames | None) -> None:
        """Keep what a user says about the senses of a word: in this object and, if it is stored, in its directory."""
        kept = {other: value for other, value in self.sense_names.items() if other != word}
        self._sense_names = kept if names is None else {**kept, word: names}
        self._amend(lambda writer: writer.meta.update(senses=self._sense_names))

    @property
    def new_senses(self) -> pl.DataFrame | None:
        """The words with a new sense, the largest gain first, if `driftword.senses` has looked through all words."""
        if self._new_senses is None and self._store is not None:
            self._new_senses = storing.read_new_senses(self._store, self.word_index)
        return self._new_senses

    def keep_new_senses(self, found: pl.DataFrame) -> None:
        """Keep the words with a new sense: in this object and, if the model is stored, in its directory."""
        self._new_senses = found.select(*storing.NEW_SENSES)
        self._amend(lambda writer: storing.write_new_senses(writer, found))

    def _amend(self, write: Callable[[store.Writer], None]) -> None:
        """Add to the stored model, if it is stored."""
        if self._store is not None:
            with store.amend(self._store, kind=KIND) as writer:
                write(writer)
            self._store = store.open_store(self._store.folder, kind=KIND)

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups of documents that have embeddings of their own; see `group`."""
        return tuple(self._groups)

    def group(self, name: str) -> Model:
        """Return the model of one group, with its embeddings and counts; it answers all that a model does.

        Parameters
        ----------
        name
            The name of the group.
        """
        name = self.groups[group_number(self.groups, name)]

        def make() -> Model:
            group = self._groups[name]
            return Model(
                group.rho,
                self._alpha,
                group.intercepts,
                vocabulary=Vocabulary(self.words, self.slices, group.counts, group.train_counts),
                spec=self.spec,
                provenance=replace(self.provenance, group=name),
                context_of=self.context_of.tolist(),
            )

        return self.cached(("group", name), make)

    def __getitem__(self, key: str | tuple[str, At] | tuple[str, At, str]) -> npt.NDArray[Any]:
        """Return the vectors of a word in all slices, or in one: ``model["iraq"]``, ``model["iraq", 2008]``.

        Where there are groups, also those of a group: ``model["iraq", 2008, "USA"]``.
        """
        if not isinstance(key, tuple):
            return self.rho_of(self.word_id(key))
        if len(key) == 3:
            return self.group(key[2])[key[0], key[1]]
        if len(key) != 2:
            raise OptionError(f"{len(key)} values are too many or too few; give a word, a slice and a group")
        return np.asarray(self.rho_at(self.slice_index(key[1]))[self.word_id(key[0])])

    # -- the corpus it was fitted to ---------------------------------------------------

    def open_corpus(self, path: str | os.PathLike[str] | None = None) -> Corpus | None:
        """Open the corpus that the model was fitted to.

        Parameters
        ----------
        path
            Where it is now; by default the folder on this machine in which it was when the model was fitted.

        Returns
        -------
        The corpus; None where no `path` is given and it is no longer there, or has been replaced by another one, or was
        at an address: a file may name any, so an address is opened only where it is given.
        """
        if path is not None:
            corpus = Corpus.open(path)
        elif (folder := self.provenance.corpus_path) is None or not is_on_this_machine(folder):
            return None
        else:
            try:
                corpus = Corpus.open(Path(folder))
            except DriftwordError:
                return None
        if self.provenance.shuffled_dates is not None:
            corpus = corpus.shuffle_dates(self.provenance.shuffled_dates)
        if path is None and not corpus.matches(self.provenance.corpus):
            return None
        return self.check_corpus(corpus)

    def documents_of(self, corpus: Corpus) -> Corpus:
        """Return the part of a corpus that the embeddings are about: that of the group, if this is the model of one."""
        group = self.provenance.group
        return corpus if group is None else corpus.of_group(group)

    def check_corpus(self, corpus: Corpus) -> Corpus:
        """Return a corpus if the model was fitted to it; raise `OptionError` if it is another one."""
        if not isinstance(corpus, Corpus):
            raise OptionError(f"`corpus` is {checks.shown(corpus)}, which is not a corpus; open one with `Corpus.open`")
        if corpus.matches(self.provenance.corpus):
            return corpus
        name = f"'{corpus.path}'" if corpus.path else "This corpus"
        raise OptionError(
            f"{name} is not the corpus that the model was fitted to; "
            f"use that one: {self.provenance.corpus_path or 'it was in memory'}"
        )

    # -- facts -------------------------------------------------------------------------

    @property
    def predicts(self) -> bool:
        """Whether it gives probabilities of words; baselines and imported embeddings do not."""
        return not self.provenance.imported and self.provenance.method is None

    @property
    def method(self) -> str:
        """The name of what made it: ``"static"``, ``"dynamic"``, ``"procrustes"``, ..."""
        return "imported" if self.provenance.imported else self.provenance.method or self.spec.model

    @property
    def title(self) -> str:
        """A title: the name of its corpus, or its own."""
        path = self.provenance.corpus_path or self.path
        name = Path(path).stem if path else "corpus"
        name = name if self.provenance.group is None else f"{name}, {self.provenance.group}"
        return name if self.provenance.shuffled_dates is None else f"{name} with shuffled dates"

    def info(self) -> dict[str, Any]:
        """Return the facts that ``driftword info`` shows, ready for JSON."""
        best: dict[str, Any] = next((entry for entry in self.history if entry["pass"] == self.best_pass), {})
        return {
            "kind": KIND,
            "path": str(self.path) if self.path else None,
            "words": len(self.words),
            "slices": len(self.slices),
            "first_slice": self.slices.labels[0],
            "last_slice": self.slices.labels[-1],
            "groups": list(self.groups),
            "spec": self.spec.to_dict(),
            "passes": len(self.history),
            "best_pass": best.get("pass"),
            "validation": {name: best.get(name) for name in ("L_pos", "L_neg", "L")},
            "provenance": self.provenance.to_dict(),
            "history": self.history,
        }

    def summary(self) -> dict[str, str]:
        """Return the facts for people: what the model is, how it was fitted and how well it predicts."""
        tested = None if self.significance is None else self.significance.describe()
        return summarize(self.info(), self.spec, self.provenance, tested=tested)

    def __repr__(self) -> str:
        return (
            f"Model({self.method}, {len(self.words):,} words, {len(self.slices)} slices "
            f"{self.slices.labels[0]} to {self.slices.labels[-1]}, dim {self.spec.dim}, context {self.spec.context})"
        )

    def _repr_html_(self) -> str:
        return tables.html_facts("Model", self.summary())


def as_model(model: Model | str | os.PathLike[str], group: str | None = None) -> Model:
    """Return a model, opened where its path is given; where a group is named, the model of that group."""
    if group is not None:
        return as_model(model).group(group)
    if isinstance(model, Model):
        return model
    if isinstance(model, str | os.PathLike):
        return Model.open(checks.location("model", model))
    raise OptionError(f"`model` is {checks.shown(model)}, which is not a model; give a Model or the path of one")


def models_of_groups(model: Model, groups: str | Sequence[str]) -> dict[str, Model]:
    """Return the models of one group or of several, by name."""
    if (group := model.provenance.group) is not None:
        raise OptionError(f"The model is that of a group, {checks.quoted(group)}; leave out `group`, or `groups`")
    alone = isinstance(checks.plain(groups), str)
    named = [groups] if alone else checks.several("groups", groups, remedy="name one group or several")
    if not named:
        raise OptionError("`groups` is empty; name at least one group")
    names = (model.groups[group_number(model.groups, name)] for name in named)
    return {name: model.group(name) for name in names}


def check_predicts(model: Model) -> None:
    """Refuse a model that gives no probabilities."""
    if not model.predicts:
        name = "Embeddings made elsewhere" if model.provenance.imported else f"Embeddings of '{model.method}'"
        raise OptionError(f"{name} give no probabilities of words, so they have no held-out scores and no intervals")


def why_no_corpus(model: Model) -> str:
    """Say why `Model.open_corpus` found none, as the beginning of a sentence."""
    if is_address(model.provenance.corpus_path or ""):
        return "The model's corpus is at an address, which is opened only where you give it"
    return "The model's corpus is no longer where it was"


def corpus_of(model: Model, corpus: Corpus | str | os.PathLike[str] | None = None) -> Corpus:
    """Return the corpus that a model was fitted to: the one given, or from where it was then."""
    if model.provenance.imported:
        raise OptionError("Embeddings made elsewhere have no corpus, so they can be neither scored nor tested")
    if isinstance(corpus, str | os.PathLike):
        corpus = model.open_corpus(checks.location("corpus", corpus))  # with its dates shuffled, where they were
    text = model.open_corpus() if corpus is None else as_corpus(corpus)
    if text is None:
        raise OptionError(f"{why_no_corpus(model)}; name it with `corpus`")
    return model.documents_of(model.check_corpus(text))


def two_groups(model: Model, groups: Any) -> tuple[str, str]:
    """Return the two groups that are compared, as a user names them or by default."""
    if (group := model.provenance.group) is not None:
        raise OptionError(f"The model is that of a group, {checks.quoted(group)}; ask the one that has all groups")
    if not model.groups:
        raise OptionError(
            "The model has no groups; name the column that says who speaks as `group` of `prepare`, and fit again"
        )
    return two_of(model.groups, groups)


def two_of(known: Sequence[str], groups: Any) -> tuple[str, str]:
    """Return two of the groups of a model or a corpus, as a user names them, or the two that there are."""
    if groups is None:
        named = [name for name in known if name != OTHERS]
        if len(named) != 2:
            raise OptionError(f"There are {len(known)} groups; name two of them with `groups`")
        return named[0], named[1]
    given = checks.several("groups", groups, remedy="name two groups, such as ('left', 'right')")
    if len(given) != 2:
        raise OptionError(f"`groups` is {checks.shown(groups)}; name two groups of {', '.join(known)}")
    first, second = (known[group_number(known, name)] for name in given)
    if first == second:
        raise OptionError(f"'{first}' is compared with itself; name two different groups")
    return first, second
