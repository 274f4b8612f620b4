"""Storing models: arrays as ``.npy``, tables as ``.parquet``, the rest in ``meta.json``; docs/file-format.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.corpus import Slices
from driftword.corpus.vocabulary import Vocabulary
from driftword.models.embeddings import Embeddings, GroupEmbeddings
from driftword.models.provenance import Provenance
from driftword.models.significance_table import SCHEMA, SignificanceTable
from driftword.models.spec import Spec
from driftword.storage import store, stored_arrays

_GROUP_ARRAYS: Final = ("rho", "intercepts", "counts", "train_counts")
_SIGNIFICANCE: Final = "significance.parquet"


def read(stored: store.Store) -> dict[str, Any]:
    """Return the arguments of the `Model` that a store holds."""
    meta = stored.meta
    try:
        facts = {
            "spec": Spec.from_dict(meta["spec"]),
            "provenance": Provenance.from_dict(meta["provenance"]),
            "history": list(meta["history"]),
            "best_pass": meta.get("best_pass"),
            "context_of": [int(number) for number in meta["context_of"]] if "context_of" in meta else None,
        }
        groups = {str(name): list(passes) for name, passes in meta.get("groups", {}).items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise store.damaged(stored.folder, "meta.json is incomplete") from error
    try:
        words = pl.read_parquet(stored.open_file("vocabulary.parquet"))["word"].to_list()
        slices = Slices.from_table(pl.read_parquet(stored.open_file("slices.parquet")))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise store.damaged(stored.folder, "a table cannot be read") from error
    counts, train_counts = stored.lazy_array("counts"), stored.lazy_array("train_counts")
    return {
        "rho": stored.lazy_array("rho"),
        "alpha": stored.lazy_array("alpha"),
        "intercepts": stored.lazy_array("intercepts") if "intercepts.npy" in stored else None,
        "vocabulary": Vocabulary(tuple(words), slices, counts, train_counts),
        "groups": {
            name: _read_group(stored, number, name, history) for number, (name, history) in enumerate(groups.items())
        },
        **facts,
    }


def _read_group(stored: store.Store, number: int, name: str, history: list[dict[str, Any]]) -> GroupEmbeddings:
    found = [f"group{number}_{part}" for part in _GROUP_ARRAYS]
    arrays = [stored.lazy_array(part) if f"{part}.npy" in stored else None for part in found]
    rho, intercepts, counts, train_counts = arrays
    if rho is None or counts is None or train_counts is None:
        raise store.damaged(stored.folder, f"the embeddings of the group '{name}' are missing")
    return GroupEmbeddings(rho, intercepts, counts, train_counts, history)


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
        for name in _GROUP_ARRAYS:
            if (values := getattr(group, name)) is not None:
                writer.array(f"group{number}_{name}", stored_arrays.whole(values))


def read_significance(stored: store.Store, words: tuple[str, ...]) -> SignificanceTable | None:
    """Return the result of a test of all words, if a store holds one."""
    if _SIGNIFICANCE not in stored:
        return None
    try:
        table = pl.read_parquet(stored.open_file(_SIGNIFICANCE)).select(*SCHEMA)
        if table.schema != pl.Schema(SCHEMA) or tuple(table["word"]) != words:
            raise ValueError
        return SignificanceTable(table, **stored.meta["significance"])
    except (OSError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise store.damaged(stored.folder, f"{_SIGNIFICANCE} cannot be read") from error


def write_significance(writer: store.Writer, found: SignificanceTable) -> None:
    """Write the result of a test of all words."""
    found.table.write_parquet(writer.folder / _SIGNIFICANCE)
    writer.meta["significance"] = found.options()
