"""`Spec`, every option of a model, and `Model`, the fitted result.

A `Model` is read-only and mapped into memory: opening one takes milliseconds,
whatever its size, and reading one slice does not load the others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword import store
from driftword.corpus import Slices
from driftword.corpus.corpus import find_word, knows_word
from driftword.corpus.slices import At
from driftword.errors import OptionError
from driftword.keyed_vectors import SliceVectors

KIND: Final = "model"
MODELS: Final = ("static", "binned", "dynamic")
#: Options of older models under the names they have now.
RENAMED: Final = {"squares": "initial_accumulator"}


@dataclass(frozen=True)
class Spec:
    """How a model is built and fitted.

    Parameters
    ----------
    model
        ``"dynamic"``: embeddings drift from slice to slice; ``"binned"``: every slice for itself;
        ``"static"``: one embedding for all slices.
    dim
        Length of the vectors.
    context
        Words around a position that predict it, in total: 8 is four on either side.
    negatives
        Weight of the words that do not occur, against each one that does.
    drift_precision
        Precision of the random walk between neighbouring slices; larger moves less.
    prior_precision
        Precision of context vectors, and of embeddings, shared out over the slices; by default a twentieth of the
        drift precision.
    learning_rate
        Adagrad's step size.
    final_rate
        The learning rate falls in a straight line to this share of itself at the last pass.
    rounds
        How often a pass applies the prior.
    block, run, pool
        Positions that share a pool of negatives, consecutive positions among them, and negatives in the pool.
    exponent
        Negatives are drawn from counts to this power.
    resample
        ``"each-pass"`` draws the subsample anew for each pass; ``"once"`` keeps one, as the paper does.
    initial_accumulator
        Where Adagrad's sums of squared gradients start.
    """

    model: str = "dynamic"
    dim: int = 100
    context: int = 8
    negatives: int = 20
    drift_precision: float = 200.0
    prior_precision: float | None = None
    learning_rate: float = 0.2
    final_rate: float = 0.1
    rounds: int = 10
    block: int = 32
    run: int = 4
    pool: int = 64
    exponent: float = 0.75
    resample: str = "each-pass"
    initial_accumulator: float = 0.01

    def __post_init__(self) -> None:
        _one_of("model", self.model, MODELS)
        _one_of("resample", self.resample, ("each-pass", "once"))
        for name in ("dim", "negatives", "rounds", "block", "run", "pool"):
            if int(getattr(self, name)) != getattr(self, name) or getattr(self, name) < 1:
                raise OptionError(f"{name} is {getattr(self, name)}; it must be a whole number from 1 up")
        if int(self.context) != self.context or self.context < 2 or self.context % 2:
            raise OptionError(
                f"context is {self.context}; it must be an even number from 2 up (8: four on either side)"
            )
        for name in ("drift_precision", "learning_rate", "initial_accumulator"):
            if not 0 < getattr(self, name) < float("inf"):
                raise OptionError(f"{name} is {getattr(self, name)}; it must be positive")
        if self.prior_precision is not None and not 0 <= self.prior_precision < float("inf"):
            raise OptionError(f"prior_precision is {self.prior_precision}; it cannot be negative")
        if not 0 <= self.final_rate <= 1:
            raise OptionError(f"final_rate is {self.final_rate}; it is a share of the learning rate, from 0 to 1")
        if not 0 <= self.exponent <= 2:
            raise OptionError(f"exponent is {self.exponent}; it must lie between 0 and 2")

    @property
    def prior(self) -> float:
        """Precision of context vectors and embeddings."""
        return self.drift_precision / 20 if self.prior_precision is None else self.prior_precision

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Spec:
        """Read back what ``dataclasses.asdict`` gave; names that are not known are left out."""
        known = {field.name for field in fields(cls)}
        renamed = {RENAMED.get(name, name): value for name, value in options.items()}
        return cls(**{name: value for name, value in renamed.items() if name in known})


def _one_of(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise OptionError(f"there is no {name} '{value}'; choose one of {', '.join(known)}")


class Model:
    """Embeddings of every word in every slice; made by `driftword.fitting` or `Model.open`.

    Attributes
    ----------
    rho
        Embeddings, ``(T, V, K)``; T is 1 for the static model.
    alpha
        Context vectors, ``(V, K)``.
    words, slices, counts
        Those of the corpus.
    spec
        The options it was fitted with.
    history
        One entry per pass: words, seconds and validation scores.
    """

    def __init__(
        self, rho: npt.NDArray[Any], alpha: npt.NDArray[Any], *, corpus: Mapping[str, Any], meta: dict[str, Any],
        path: Path | None = None,
    ) -> None:  # fmt: skip
        self.rho = rho
        self.alpha = alpha
        self.words: tuple[str, ...] = tuple(corpus["words"])
        self.slices: Slices = corpus["slices"]
        self.counts: npt.NDArray[Any] = corpus["counts"]
        self.spec = Spec.from_dict(meta["spec"])
        self.history: list[dict[str, Any]] = meta["history"]
        self.meta = meta
        self.path = path

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Model:
        """Open the model stored at `path`."""
        held = store.open_store(path, kind=KIND)
        if not {"spec", "history", "provenance"} <= held.meta.keys():
            raise store.damaged(held.folder, "meta.json does not say all it should")
        try:
            words = pl.read_parquet(held.folder / "vocabulary.parquet", glob=False)["word"].to_list()
            slices = Slices.from_table(pl.read_parquet(held.folder / "slices.parquet", glob=False))
        except (OSError, pl.exceptions.PolarsError) as error:
            raise store.damaged(held.folder, "a table cannot be read") from error
        corpus = {"words": words, "slices": slices, "counts": held.array("counts")}
        return cls(held.array("rho"), held.array("alpha"), corpus=corpus, meta=held.meta, path=held.folder)

    @property
    def title(self) -> str:
        """What to call it: the name of its corpus, or its own."""
        path = self.meta.get("provenance", {}).get("corpus_path") or self.path
        return Path(path).stem if path else "corpus"

    @cached_property
    def word_index(self) -> dict[str, int]:
        """The id of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def word_id(self, word: str) -> int:
        """Return the id of a word; the error for an unknown one names the closest."""
        return find_word(word, self.words, self.word_index)

    def slice_index(self, at: At) -> int:
        """Return the row of `rho` for a slice given as label, year or date; the static model has one for all."""
        number = self.slices.index(at)
        return 0 if len(self.rho) == 1 else number

    def __getitem__(self, key: str | tuple[str, At]) -> npt.NDArray[Any]:
        """Return the vectors of a word in all slices, or in one: ``model["iraq"]``, ``model["iraq", 2008]``."""
        if isinstance(key, tuple):
            return np.asarray(self.rho[self.slice_index(key[1]), self.word_id(key[0])])
        return np.asarray(self.rho[:, self.word_id(key)])

    def at(self, at: At) -> SliceVectors:
        """Return one slice as gensim's users know word vectors: ``model.at(2008).most_similar("iraq")``."""
        return SliceVectors(
            self.words, self.word_index, vectors=self.rho[self.slice_index(at)],
            counts=self.counts[self.slices.index(at)], find=self.word_id,
        )  # fmt: skip

    def __contains__(self, word: object) -> bool:
        return knows_word(self.word_id, word)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def info(self) -> dict[str, Any]:
        """Return the facts that ``driftword info`` shows, ready for JSON."""
        best: dict[str, Any] = next((e for e in self.history if e["pass"] == self.meta.get("best_pass")), {})
        return {
            "kind": KIND,
            "path": str(self.path) if self.path else None,
            "words": len(self.words),
            "slices": len(self.slices),
            "first_slice": self.slices.labels[0],
            "last_slice": self.slices.labels[-1],
            "spec": asdict(self.spec),
            "passes": len(self.history),
            "best_pass": best.get("pass"),
            "validation": {name: best.get(name) for name in ("L_pos", "L_neg", "L")},
            "provenance": self.meta["provenance"],
            "history": self.history,
        }

    def __repr__(self) -> str:
        return (
            f"Model({self.spec.model}, {len(self.words):,} words, {len(self.slices)} slices "
            f"{self.slices.labels[0]} to {self.slices.labels[-1]}, dim {self.spec.dim}, context {self.spec.context})"
        )


class Described(Protocol):
    """What a model remembers of its corpus."""

    @property
    def words(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def slices(self) -> Slices: ...  # noqa: D102
    @property
    def counts(self) -> npt.NDArray[Any]: ...  # noqa: D102


def write_model(
    writer: store.Writer, corpus: Described, *, meta: dict[str, Any], alpha: npt.NDArray[Any], rho: npt.NDArray[Any]
) -> None:
    """Fill a store with a model."""
    writer.array("rho", rho)
    writer.array("alpha", alpha)
    writer.array("counts", np.asarray(corpus.counts))
    vocabulary = {"word": list(corpus.words), "count": corpus.counts.sum(axis=0, dtype=np.int64)}
    pl.DataFrame(vocabulary).write_parquet(writer.folder / "vocabulary.parquet")
    corpus.slices.table().write_parquet(writer.folder / "slices.parquet")
    writer.meta = meta
