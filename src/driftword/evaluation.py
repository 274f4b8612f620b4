"""Held-out scores of models."""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np
import polars as pl

from driftword import checks
from driftword.corpus import Corpus
from driftword.corpus.splits import SPLITS
from driftword.engines import choose_engine, make_engine
from driftword.engines.parameters import Parameters, join_intercepts
from driftword.errors import OptionError
from driftword.held_out import HeldOut, Scores
from driftword.model import Model, as_model, corpus_of

#: Frequency bands, by rank in the vocabulary.
BANDS: Final = ((0, 100), (100, 1_000), (1_000, 5_000), (5_000, 25_000), (25_000, None))


def evaluate(
    model: Model | str | os.PathLike[str],
    corpus: Corpus | str | os.PathLike[str] | None = None,
    *,
    split: str = "test",
    by: str | None = None,
    threads: int | None = None,
    engine: str = "auto",
    device: str | None = None,
) -> pl.DataFrame:
    """Score a model on held-out text.

    Parameters
    ----------
    model
        The model, or its path.
    corpus
        The corpus it was fitted to, or its path; by default where it was then.
    split
        ``"test"``, ``"valid"`` or ``"train"``.
    by
        ``"slice"`` or ``"band"`` (of frequency) for one row each; by default one row for all text.
    threads
        Number of threads; all cores by default.
    engine, device
        As in `fit`: auto takes a GPU where PyTorch sees one.

    Returns
    -------
    L_pos, L_neg and L = L_pos + L_neg with standard errors over documents, and the number of positions and documents.
    """
    by = checks.optional(checks.one_of, "by", by, known=("slice", "band"))
    split = checks.one_of("split", split, SPLITS)
    threads = checks.threads(threads)
    model = as_model(model)
    text = corpus_of(model, corpus)
    scores = score(model, text, split=split, threads=threads, engine=engine, device=device)
    if by is None:
        return pl.DataFrame([{"split": split, **scores.summary()}])
    rows: list[dict[str, Any]] = []
    if by == "slice":
        for t, label in enumerate(text.slices.labels):
            here = scores.slice_of == t
            if here.any():
                rows.append({"slice": label, **scores.summary(here)})
    else:
        for low, high in BANDS:
            here = (scores.word >= low) & (scores.word < (high or len(text.words)))
            if here.any():
                name = f"{low + 1:,}-{min(high or len(text.words), len(text.words)):,}"
                rows.append({"ranks": name, **scores.summary(here)})
    return pl.DataFrame(rows)


def score(model: Model, corpus: Corpus, *, split: str, engine: str = "auto", **options: Any) -> Scores:
    """Score every position of a split."""
    name = choose_engine(engine, options.get("device"))
    model.check_corpus(corpus)
    held_out = HeldOut(corpus, split)
    if not len(held_out.text.ids):
        raise OptionError(f"The corpus has no {split} text to score")
    rho, alpha = (np.asarray(a, dtype=np.float32) for a in (model.rho, model.alpha))
    rho = join_intercepts(rho, model.intercepts)
    runner = make_engine(name, Parameters(rho, alpha, rho[:, :0], alpha[:0]), held_out.sampler, **options)
    return held_out.score(runner, context=model.spec.context)
