"""`Model`: the fitted embeddings of every word in every slice, with what is known of how they came about.

A stored model is read-only and mapped into memory: opening one takes milliseconds
whatever its size, and reading one slice neither loads nor checks the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks, tables
from driftword.basics.errors import OptionError, StoreError
from driftword.corpus import Corpus, Slices
from driftword.corpus.corpus import as_corpus
from driftword.corpus.groups import group_number
from driftword.corpus.slices import At
from driftword.corpus.vocabulary import Vocabulary
from driftword.models.provenance import Provenance
from driftword.models.significance_table import SCHEMA, SignificanceTable
from driftword.models.slice_vectors import SliceVectors
from driftword.models.spec import Spec
from driftword.storage import store, stored_arrays
from driftword.storage.stored_arrays import StoredArray

KIND: Final = "model"
_GROUP_ARRAYS: Final = ("rho", "intercepts", "counts", "train_counts")
SIGNIFICANCE: Final = "significance.parquet"
_T = TypeVar("_T")


@dataclass(frozen=True)
class GroupEmbeddings:
    """The embeddings of one group of documents, its intercepts, and how often words occur in it."""

    rho: npt.NDArray[Any] | StoredArray  # (T, V, K)
    intercepts: npt.NDArray[Any] | StoredArray | None  # (T, V)
    counts: npt.NDArray[Any] | StoredArray  # (T, V)
    train_counts: npt.NDArray[Any] | StoredArray  # (T, V)
    history: Sequence[dict[str, Any]] = ()


class Model:
    """Embeddings of every word in every slice; made by `driftword.fit`, `Model.open` or `driftword.read_word2vec`.

    Attributes
    ----------
    rho
        Embeddings, ``(T, V, K)``; T is 1 for the static model.
    alpha
        Context vectors, ``(V, K)``; ``(P, V, K)`` where not all slices have the same, as in a model whose context
        vectors drift, or one that was extended. See `context_of` and `alpha_at`.
    context_of
        Number of the context vectors that each slice has, ``(T,)``; all 0 where all slices have the same.
    intercepts
        Intercept of each word in each slice, ``(T, V)``: its log odds in an average context; None for a model without.
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
    groups
        Names of the groups of documents that have embeddings of their own; see `group`.
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
        self._groups = dict(groups or {})
        self._rho = rho
        self._alpha = alpha
        self._intercepts = intercepts
        self.vocabulary = vocabulary
        self.spec = spec
        self.provenance = provenance
        self.history = list(history)
        self.best_pass = best_pass
        if context_of is None:  # every slice has its own, or all have the same
            context_of = range(len(vocabulary.slices)) if len(alpha.shape) == 3 else [0] * len(vocabulary.slices)
        self.context_of = np.array(context_of, dtype=np.int64)
        contexts = alpha.shape[0] if len(alpha.shape) == 3 else 1
        if len(self.context_of) != len(vocabulary.slices) or not np.isin(self.context_of, range(contexts)).all():
            raise OptionError("`context_of` must say for every slice which context vectors it has")
        self.path = stored.folder if stored else None
        self.location = stored.location if stored else None  # wherever this process works
        self._store = stored
        self._significance: SignificanceTable | None = None
        self._cache: dict[Hashable, Any] = {}

    # -- opening and saving ------------------------------------------------------------

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Model:
        """Open the model stored at `path`, or at an address such as ``s3://bucket/archive.model``."""
        stored = store.open_store(path, kind=KIND)
        meta = stored.meta
        try:
            spec, provenance = Spec.from_dict(meta["spec"]), Provenance.from_dict(meta["provenance"])
            history = list(meta["history"])
            groups = {str(name): list(passes) for name, passes in meta.get("groups", {}).items()}
            context_of = [int(number) for number in meta["context_of"]] if "context_of" in meta else None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise store.damaged(stored.folder, "meta.json is incomplete") from error
        try:
            words = pl.read_parquet(stored.open_file("vocabulary.parquet"))["word"].to_list()
            slices = Slices.from_table(pl.read_parquet(stored.open_file("slices.parquet")))
        except (OSError, pl.exceptions.PolarsError) as error:
            raise store.damaged(stored.folder, "a table cannot be read") from error
        counts, train_counts = stored.lazy_array("counts"), stored.lazy_array("train_counts")
        return cls(
            stored.lazy_array("rho"), stored.lazy_array("alpha"),
            stored.lazy_array("intercepts") if "intercepts.npy" in stored else None,
            vocabulary=Vocabulary(tuple(words), slices, counts, train_counts), spec=spec, provenance=provenance,
            history=history, best_pass=meta.get("best_pass"), groups=_open_groups(stored, groups),
            context_of=context_of, stored=stored,
        )  # fmt: skip

    def save(self, out: str | os.PathLike[str], *, overwrite: bool = False) -> Model:
        """Store the model as a directory and return it as opened from there.

        Parameters
        ----------
        out
            Directory to write.
        overwrite
            Replace a model at `out`.
        """
        with store.create(out, kind=KIND, overwrite=checks.flag("overwrite", overwrite)) as writer:
            self.write(writer)
        return Model.open(out)

    def write(self, writer: store.Writer) -> None:
        """Write the model into a store that is being made."""
        vocabulary = self.vocabulary
        writer.array("rho", self.rho)
        writer.array("alpha", self.alpha)
        if self.intercepts is not None:
            writer.array("intercepts", self.intercepts)
        writer.array("counts", np.asarray(vocabulary.counts))
        writer.array("train_counts", np.asarray(vocabulary.train_counts))
        totals = vocabulary.totals.tolist() if vocabulary.counted else [None] * len(vocabulary.words)
        table = {"word": list(vocabulary.words), "count": totals}
        schema = {"word": pl.String, "count": pl.Int64}
        pl.DataFrame(table, schema=schema).write_parquet(writer.folder / "vocabulary.parquet")
        vocabulary.slices.table().write_parquet(writer.folder / "slices.parquet")
        writer.meta = {
            "spec": self.spec.to_dict(),
            "history": self.history,
            "best_pass": self.best_pass,
            "provenance": self.provenance.to_dict(),
        }
        if self.alpha.ndim == 3:
            writer.meta["context_of"] = self.context_of.tolist()
        if self._groups:
            writer.meta["groups"] = {name: list(group.history) for name, group in self._groups.items()}
        for number, group in enumerate(self._groups.values()):
            for name in _GROUP_ARRAYS:
                if (values := getattr(group, name)) is not None:
                    writer.array(f"group{number}_{name}", stored_arrays.whole(values))
        self._write_significance(writer)

    @property
    def significance(self) -> SignificanceTable | None:
        """What a test of all words found, if there was one; see `driftword.significance`."""
        if self._significance is None and self._store is not None and SIGNIFICANCE in self._store:
            try:
                table = pl.read_parquet(self._store.open_file(SIGNIFICANCE)).select(*SCHEMA)
                if table.schema != pl.Schema(SCHEMA) or tuple(table["word"]) != self.words:
                    raise ValueError
                self._significance = SignificanceTable(table, **self._store.meta["significance"])
            except (OSError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
                raise store.damaged(self._store.folder, f"{SIGNIFICANCE} cannot be read") from error
        return self._significance

    def keep_significance(self, found: SignificanceTable) -> None:
        """Keep what a test of all words found: with this object and, if the model is stored, in its directory."""
        self._significance = found
        if self._store is None:
            return
        with store.amend(self._store, kind=KIND) as writer:
            self._write_significance(writer)
        self._store = store.open_store(self._store.folder, kind=KIND)

    def _write_significance(self, writer: store.Writer) -> None:
        if (found := self.significance) is not None:
            found.table.write_parquet(writer.folder / SIGNIFICANCE)
            writer.meta["significance"] = found.options()

    def open_corpus(self, path: str | os.PathLike[str] | None = None) -> Corpus | None:
        """Open the corpus that the model was fitted to.

        Parameters
        ----------
        path
            Where it is now; by default where it was when the model was fitted.

        Returns
        -------
        The corpus; None where no `path` is given and it is no longer there, or has been replaced by another one.
        """
        location = self.provenance.corpus_path if path is None else checks.location("path", path)
        if location is None:
            return None
        try:
            corpus = Corpus.open(location)
        except StoreError:
            if path is not None:
                raise
            return None
        if self.provenance.shuffled_dates is not None:
            corpus = corpus.shuffle_dates(self.provenance.shuffled_dates)
        if path is None and not corpus.matches(self.provenance.corpus):
            return None
        return self.check_corpus(corpus)

    def documents_of(self, corpus: Corpus) -> Corpus:
        """Return what of a corpus the embeddings are about: the documents of the group, if this is the model of one."""
        group = self.provenance.group
        return corpus if group is None else corpus.of_group(group)

    def check_corpus(self, corpus: Corpus) -> Corpus:
        """Return a corpus if it is the one that the model was fitted to; raise `OptionError` if it is another."""
        if not isinstance(corpus, Corpus):
            raise OptionError(f"`corpus` is {checks.shown(corpus)}, which is not a corpus; open one with `Corpus.open`")
        if corpus.matches(self.provenance.corpus):
            return corpus
        name = f"'{corpus.path}'" if corpus.path else "This corpus"
        raise OptionError(
            f"{name} is not the corpus that the model was fitted to; "
            f"use that one: {self.provenance.corpus_path or 'it was in memory'}"
        )

    def check_current(self) -> None:
        """Raise `StoreError` if the stored model has been replaced, removed or changed since it was opened.

        What a model answers always comes from the files that were opened, checked against their checksums.
        """
        if self._store is not None:
            self._store.check_current()

    # -- what is in it -----------------------------------------------------------------

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups of documents that have embeddings of their own."""
        return tuple(self._groups)

    def group(self, name: str) -> Model:
        """Return the model of one group: its embeddings and counts, which every question can be asked of.

        Parameters
        ----------
        name
            The name of the group.
        """
        number = group_number(self.groups, name)
        name = self.groups[number]
        return self.cached(("group", name), lambda: self._group(name))

    def _group(self, name: str) -> Model:
        group = self._groups[name]
        vocabulary = Vocabulary(self.words, self.slices, group.counts, group.train_counts)
        return Model(
            group.rho, self._alpha, group.intercepts, vocabulary=vocabulary, spec=self.spec,
            provenance=replace(self.provenance, group=name), context_of=self.context_of.tolist(),
        )  # fmt: skip

    @property
    def rho(self) -> npt.NDArray[Any]:
        """Embeddings, ``(T, V, K)``; T is 1 for the static model."""
        return stored_arrays.whole(self._rho)

    @property
    def alpha(self) -> npt.NDArray[Any]:
        """Context vectors, ``(V, K)``; ``(P, V, K)`` where not all slices have the same."""
        return stored_arrays.whole(self._alpha)

    def alpha_at(self, t: int) -> npt.NDArray[Any]:
        """Return the context vectors of a slice, given by its number, ``(V, K)``."""
        return self.alpha if self.alpha.ndim == 2 else self.alpha[self.context_of[t]]

    @property
    def mean_alpha(self) -> npt.NDArray[Any]:
        """Context vectors, ``(V, K)``; where not all slices have the same, their mean over slices."""

        def compute() -> npt.NDArray[Any]:
            weights = np.bincount(self.context_of, minlength=len(self.alpha)) / len(self.context_of)
            return np.tensordot(weights.astype(np.float32), self.alpha, 1)

        return self.alpha if self.alpha.ndim == 2 else self.cached("mean alpha", compute)

    @property
    def intercepts(self) -> npt.NDArray[Any] | None:
        """Intercept of each word in each slice, ``(T, V)``; None for a model without."""
        return None if self._intercepts is None else stored_arrays.whole(self._intercepts)

    @property
    def has_intercepts(self) -> bool:
        """Whether words have intercepts, which take up how frequent they are."""
        return self._intercepts is not None

    def rho_at(self, t: int) -> npt.NDArray[Any]:
        """Return the embeddings of all words in a row of `rho`, ``(V, K)``, without reading the others."""
        return stored_arrays.row(self._rho, t)

    def rho_of(self, words: stored_arrays.Columns) -> npt.NDArray[Any]:
        """Return the embeddings of words, given by their ids, in all slices: ``rho[:, words]``."""
        return stored_arrays.columns(self._rho, words)

    def intercepts_of(self, word: int) -> npt.NDArray[Any]:
        """Return the intercepts of a word, given by its id, in every slice of the model's time, ``(T,)``."""
        if self._intercepts is None:
            raise OptionError("The model has no intercepts; fit it with `intercept=True`")
        values = np.asarray(stored_arrays.columns(self._intercepts, word), dtype=np.float64)
        return values if len(values) == len(self.slices) else np.repeat(values, len(self.slices))

    @property
    def words(self) -> tuple[str, ...]:
        """The vocabulary."""
        return self.vocabulary.words

    @property
    def slices(self) -> Slices:
        """Labels and date ranges of the slices."""
        return self.vocabulary.slices

    @property
    def counts(self) -> npt.NDArray[Any]:
        """Occurrences of each word in each slice, ``(T, V)``; -1 where they are not known."""
        return self.vocabulary.counts

    @property
    def moves(self) -> bool:
        """Whether words have embeddings of their own in every slice, so that they can move."""
        return self._rho.shape[0] > 1

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
        """What to call it: the name of its corpus, or its own."""
        path = self.provenance.corpus_path or self.path
        name = Path(path).stem if path else "corpus"
        name = name if self.provenance.group is None else f"{name}, {self.provenance.group}"
        return name if self.provenance.shuffled_dates is None else f"{name} with shuffled dates"

    @property
    def word_index(self) -> dict[str, int]:
        """The id of each word."""
        return self.vocabulary.index

    def word_id(self, word: str) -> int:
        """Return the id of a word; the error for an unknown one suggests others."""
        return self.vocabulary.word_id(word)

    def slice_index(self, at: At) -> int:
        """Return the row of `rho` for a slice given as label, year or date; the static model has one for all."""
        number = self.slices.index(at)
        return number if self.moves else 0

    def __getitem__(self, key: str | tuple[str, At] | tuple[str, At, str]) -> npt.NDArray[Any]:
        """Return the vectors of a word in all slices, or in one: ``model["iraq"]``, ``model["iraq", 2008]``.

        Where there are groups, also those of a group: ``model["iraq", 2008, "USA"]``.
        """
        if isinstance(key, tuple):
            if len(key) == 3:
                return self.group(key[2])[key[0], key[1]]
            if len(key) != 2:
                raise OptionError(f"{len(key)} values are too many or too few; give a word, a slice and a group")
            return np.asarray(self.rho_at(self.slice_index(key[1]))[self.word_id(key[0])])
        return self.rho_of(self.word_id(key))

    def at(self, at: At, *, metric: str = "centered") -> SliceVectors:
        """Return one slice with the interface of gensim's word vectors: ``model.at(2008).most_similar("iraq")``.

        Parameters
        ----------
        at
            A slice: its label, a year or a date.
        metric
            ``"centered"``: the cosine after subtracting the mean of the slice, as in `neighbors`; ``"cosine"``: of
            the vectors as they are, as gensim computes it.
        """
        vectors = self.rho_at(self.slice_index(at))
        return SliceVectors(self.vocabulary, self.slices.index(at), vectors, metric=metric)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def cached(self, key: Hashable, compute: Callable[[], _T]) -> _T:
        """Return what was computed under this key before, or compute it; it lives as long as the model.

        Threads may share a model: at worst two of them compute the same value.
        """
        if key not in self._cache:
            self._cache[key] = compute()
        value: _T = self._cache[key]
        return value

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
        spec, made, labels = self.spec, self.provenance, self.slices.labels
        facts = {
            "words": f"{len(self.words):,}",
            "slices": f"{len(labels)} ({labels[0]} to {labels[-1]})",
        }
        if made.imported:
            return {"model": f"imported, {spec.dim} dimensions", **facts}
        if made.method is not None:
            return {
                "model": f"{made.method}, {spec.dim} dimensions, context {spec.context}",
                **facts,
                "corpus": f"{made.corpus_path or 'in memory'} ({made.corpus})",
                "made by": f"driftword {made.versions['driftword']}, seed {made.seed}",
                **({} if made.shuffled_dates is None else {"dates": f"shuffled, seed {made.shuffled_dates}"}),
                **({} if self.significance is None else {"tested": self.significance.describe()}),
            }
        scores = self.info()["validation"]
        validation = "L_pos {L_pos:.4f}, L_neg {L_neg:.4f}, L {L:.4f}" if scores["L"] is not None else "not scored"
        ran_on = made.ran_on or f"{made.threads} threads"
        return {
            "model": f"{spec.model}, {spec.dim} dimensions, context {spec.context}, {spec.negatives} negatives",
            **facts,
            "precision": f"drift {spec.drift_precision:g} per {spec.drift_unit}, prior {spec.prior:g}",
            **({"walk": f"{spec.walk}{', contexts drift' * spec.contexts_drift}"} if _other_walk(spec) else {}),
            "learning": f"rate {spec.learning_rate:g}, {spec.rounds} rounds a pass, resample {spec.resample}",
            **({"passes": f"{len(self.history)}; the best was pass {self.best_pass}"} if self.history else {}),
            "validation": validation.format(**scores),
            "corpus": f"{made.corpus_path or 'in memory'} ({made.corpus})",
            "made by": f"{made.engine} engine ({ran_on}), seed {made.seed}",
            **({"groups": ", ".join(self.groups)} if self.groups else {}),
            **({} if made.group is None else {"group": made.group}),
            **({"extended": "; ".join(made.extended)} if made.extended else {}),
            **({} if made.shuffled_dates is None else {"dates": f"shuffled, seed {made.shuffled_dates}"}),
            **({} if self.significance is None else {"tested": self.significance.describe()}),
        }

    def __repr__(self) -> str:
        return (
            f"Model({self.method}, {len(self.words):,} words, {len(self.slices)} slices "
            f"{self.slices.labels[0]} to {self.slices.labels[-1]}, dim {self.spec.dim}, context {self.spec.context})"
        )

    def _repr_html_(self) -> str:
        return tables.html_facts("Model", self.summary())


def _open_groups(stored: store.Store, groups: Mapping[str, list[dict[str, Any]]]) -> dict[str, GroupEmbeddings]:
    """Find the embeddings of groups in a store."""

    def array(number: int, name: str) -> npt.NDArray[Any] | StoredArray | None:
        return stored.lazy_array(f"group{number}_{name}") if f"group{number}_{name}.npy" in stored else None

    found = {}
    for number, (group, history) in enumerate(groups.items()):
        rho, intercepts, counts, train_counts = (array(number, name) for name in _GROUP_ARRAYS)
        if rho is None or counts is None or train_counts is None:
            raise store.damaged(stored.folder, f"the embeddings of the group '{group}' are missing")
        found[group] = GroupEmbeddings(rho, intercepts, counts, train_counts, history)
    return found


def as_model(model: Model | str | os.PathLike[str], group: str | None = None) -> Model:
    """Return a model, opening it where its path is given; where a group is named, the model of that."""
    if group is not None:
        return as_model(model).group(group)
    if isinstance(model, Model):
        return model
    if isinstance(model, str | os.PathLike):
        return Model.open(checks.location("model", model))
    raise OptionError(f"`model` is {checks.shown(model)}, which is not a model; give a Model or the path of one")


def _other_walk(spec: Spec) -> bool:
    """Whether words, or contexts, move in another way than they usually do."""
    return spec.model == "dynamic" and (spec.walk != "random" or spec.dynamic_context)


def models_of_groups(model: Model, groups: str | Sequence[str]) -> dict[str, Model]:
    """Return the models of the groups that a user names, one or several, by their names."""
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


def corpus_of(model: Model, corpus: Corpus | str | os.PathLike[str] | None = None) -> Corpus:
    """Return the corpus that a model was fitted to, given or where it was then; refuse where there is none."""
    if model.provenance.imported:
        raise OptionError("Embeddings made elsewhere have no corpus, so they can be neither scored nor tested")
    if isinstance(corpus, str | os.PathLike):
        corpus = model.open_corpus(checks.location("corpus", corpus))  # with its dates shuffled, where they were
    text = model.open_corpus() if corpus is None else as_corpus(corpus)
    if text is None:
        raise OptionError("The model's corpus is no longer where it was; name it with `corpus`")
    return model.documents_of(model.check_corpus(text))
