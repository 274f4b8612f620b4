"""Storing models: arrays as ``.npy``, tables as ``.parquet``, the rest in ``meta.json``; docs/file-format.md."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Required, TypedDict

import msgspec
import numpy as np
import polars as pl

from driftword.corpus.slices import stored_slices
from driftword.corpus.vocabulary import Vocabulary
from driftword.models.embeddings import Embeddings, GroupEmbeddings
from driftword.models.provenance import Provenance
from driftword.models.significance_table import SCHEMA, SignificanceTable
from driftword.models.spec import Spec
from driftword.storage import store, stored_arrays
from driftword.storage.typed_facts import Count

#: Of all text, and of each group.
_ARRAYS: Final = ("rho", "intercepts", "counts", "train_counts")
_SIGNIFICANCE: Final = "significance.parquet"
_NEW_SENSES: Final = "new_senses.parquet"
#: What is kept of words with a new sense: its collocates and shares, those of the others, and when shares changed.
NEW_SENSES: Final[dict[str, Any]] = {
    "word": pl.String, "collocates": pl.List(pl.String), "others": pl.List(pl.String), "share_before": pl.Float64,
    "share_since": pl.Float64, "change": pl.Date, "q": pl.Float64,
}  # fmt: skip


Pass = TypedDict(
    "Pass",
    {
        "pass": Required[Count], "kind": str, "words": Required[Count], "seconds": Required[float],
        "scoring_seconds": float, "train_L_pos": float | None, "L_pos": float | None, "L_neg": float | None,
        "L": float | None, "L_se": float | None,
    },
    total=False,
)  # fmt: skip
"""What is known of a pass."""


@dataclass(frozen=True)
class _Facts:
    """What ``meta.json`` says of a model, beside what it says of every store."""

    spec: dict[str, Any]
    provenance: Provenance
    history: list[Pass]
    best_pass: Count | None = None
    context_of: list[Count] | None = None
    groups: dict[str, list[Pass]] = field(default_factory=dict)


class _Test(TypedDict):
    permutations: Count
    seed: Count
    within: str | None
    clusters: str | None


@dataclass(frozen=True)
class _Tested:
    significance: _Test


MOST_SENSES: Final = 8  # of a word
LONGEST_NAME: Final = 60  # letters that a figure has room for
_Sense = Annotated[int, msgspec.Meta(ge=1, le=MOST_SENSES)]
_Together = Annotated[list[_Sense], msgspec.Meta(min_length=2, max_length=MOST_SENSES)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME)]


class SenseNames(TypedDict):
    """What a user has said about the senses of a word."""

    n: _Sense | None  # the number of senses that was asked for
    seed: Count
    merged: Annotated[list[_Together], msgspec.Meta(max_length=MOST_SENSES)]  # numbers of senses that are one
    names: dict[str, _Name]  # by number, after merging


@dataclass(frozen=True)
class _Named:
    senses: dict[str, SenseNames] = field(default_factory=dict)


def read(stored: store.Store) -> dict[str, Any]:
    """Return the arguments of the `Model` that a store holds."""
    facts = stored.facts(_Facts)
    with stored.reading(store.META):
        spec = Spec.from_dict(facts.spec)
    words = stored.table("vocabulary.parquet", {"word": pl.String})["word"].to_list()
    slices = stored_slices(stored)
    slices_of_rho = {1, len(slices)}  # all have the same where the model is static, or had a single pass
    words_only, in_slices = (len(words),), (len(slices), len(words))

    def array(name: str, kind: str, *shapes: tuple[int, ...]) -> Any:
        found = stored.lazy_array(name)
        if found.dtype.kind != kind or found.shape not in shapes:
            raise store.damaged(stored.folder, f"{name}.npy has another shape, or other numbers, than it should have")
        return found

    def arrays(before: str = "") -> tuple[Any, Any, Any, Any]:
        """Return rho, intercepts, counts and counts of training text, of all text or of a group."""
        name = f"{before}intercepts"
        return (
            array(f"{before}rho", "f", *((t, *words_only, spec.dim) for t in slices_of_rho)),
            array(name, "f", *((t, *words_only) for t in slices_of_rho)) if f"{name}.npy" in stored else None,
            array(f"{before}counts", "i", in_slices),
            array(f"{before}train_counts", "i", in_slices),
        )

    contexts = () if facts.context_of is None else (max(facts.context_of, default=0) + 1,)
    rho, intercepts, counts, train_counts = arrays()
    return {
        "rho": rho,
        "alpha": array("alpha", "f", (*contexts, *words_only, spec.dim)),
        "intercepts": intercepts,
        "vocabulary": Vocabulary(tuple(words), slices, counts, train_counts),
        "groups": {
            name: GroupEmbeddings(*arrays(f"group{number}_"), history=history)
            for number, (name, history) in enumerate(facts.groups.items())
        },
        "spec": spec,
        "provenance": facts.provenance,
        "history": facts.history,
        "best_pass": facts.best_pass,
        "context_of": facts.context_of,
    }


def write(writer: store.Writer, embeddings: Embeddings, groups: Mapping[str, GroupEmbeddings]) -> None:
    """Write the arrays of a model and of its groups, and which words and slices they are about."""
    vocabulary = embeddings.vocabulary
    writer.array("rho", embeddings.rho)
    writer.array("alpha", embeddings.alpha)
    if embeddings.intercepts is not None:
        writer.array("intercepts", embeddings.intercepts)
    writer.array("counts", np.asarray(vocabulary.counts))
    writer.array("train_counts", np.asarray(vocabulary.train_counts))
    totals = vocabulary.totals.tolist() if vocabulary.counted else [None] * len(vocabulary.words)
    schema = {"word": pl.String, "count": pl.Int64}
    table = pl.DataFrame({"word": list(vocabulary.words), "count": totals}, schema=schema)
    table.write_parquet(writer.folder / "vocabulary.parquet")
    vocabulary.slices.table().write_parquet(writer.folder / "slices.parquet")
    if embeddings.alpha.ndim == 3:
        writer.meta["context_of"] = embeddings.context_of.tolist()
    if groups:
        writer.meta["groups"] = {name: list(group.history) for name, group in groups.items()}
    for number, group in enumerate(groups.values()):
        for name in _ARRAYS:
            if (values := getattr(group, name)) is not None:
                writer.array(f"group{number}_{name}", stored_arrays.whole(values))


def read_significance(stored: store.Store, words: tuple[str, ...]) -> SignificanceTable | None:
    """Return the result of a test of all words, if a store holds one."""
    if _SIGNIFICANCE not in stored:
        return None
    table = stored.table(_SIGNIFICANCE, SCHEMA, empty_cells=True)
    with stored.reading(_SIGNIFICANCE):
        if tuple(table["word"]) != words:
            raise ValueError("its words are others")
    tested = stored.facts(_Tested).significance
    return SignificanceTable(table, **tested)


def write_significance(writer: store.Writer, found: SignificanceTable) -> None:
    """Write the result of a test of all words."""
    found.table.write_parquet(writer.folder / _SIGNIFICANCE)
    writer.meta["significance"] = found.options()


def read_sense_names(stored: store.Store) -> dict[str, SenseNames]:
    """Return the names that a user gave to senses of words."""
    return stored.facts(_Named).senses


def read_new_senses(stored: store.Store, words: Container[str]) -> pl.DataFrame | None:
    """Return the words with a new sense, if all words were looked through."""
    if _NEW_SENSES not in stored:
        return None
    table = stored.table(_NEW_SENSES, NEW_SENSES)
    with stored.reading(_NEW_SENSES):
        if not all(word in words for word in table["word"]):
            raise ValueError("its words are others")
    return table


def write_new_senses(writer: store.Writer, found: pl.DataFrame) -> None:
    """Write the words with a new sense."""
    found.select(*NEW_SENSES).write_parquet(writer.folder / _NEW_SENSES)
