"""Held-out scores of models."""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus import Corpus
from driftword.corpus.splits import SPLITS
from driftword.engines import Engine, choose_engine, make_engine
from driftword.engines.parameters import Parameters, join_intercepts
from driftword.fitting.held_out import HeldOut, Scores, mean_and_error
from driftword.models.model import Model, as_model, check_predicts, corpus_of

#: Frequency bands, by rank in the vocabulary.
BANDS: Final = ((0, 100), (100, 1_000), (1_000, 5_000), (5_000, 25_000), (25_000, None))


def evaluate(
    model: Model | str | os.PathLike[str],
    *,
    corpus: Corpus | str | os.PathLike[str] | None = None,
    split: str = "test",
    by: str | None = None,
    threads: int | None = None,
    engine: str = "auto",
    device: str | None = None,
) -> pl.DataFrame:
    """Score a model on held-out text; one with groups predicts the text of each with its own embeddings.

    Parameters
    ----------
    model
        The model, or its path.
    corpus
        The corpus it was fitted to, or its path; by default where it was then.
    split
        ``"test"``, ``"valid"`` or ``"train"``.
    by
        ``"slice"``, ``"band"`` (of frequency) or ``"group"`` for one row each; by default one row for all text.
    threads
        Number of threads; all cores by default.
    engine, device
        As in `fit`: auto takes a GPU where PyTorch sees one.

    Returns
    -------
    L_pos, L_neg and L = L_pos + L_neg with standard errors over documents, and the number of positions and documents.
    By group also how much the group's own embeddings gain in L over those of all text (over_all_text).
    """
    by = checks.optional(checks.one_of, "by", by, known=("slice", "band", "group"))
    split = checks.one_of("split", split, SPLITS)
    threads = checks.threads(threads)
    model = as_model(model)
    text = corpus_of(model, corpus)
    check_predicts(model)
    options: dict[str, Any] = {"split": split, "threads": threads, "engine": engine, "device": device}
    if by == "group" and not model.groups:
        raise OptionError("The model has no groups; prepare its corpus with `group`, or choose another `by`")
    scores = score(model, text, **options)
    if by is None:
        return pl.DataFrame([{"split": split, **scores.summary()}])
    if by == "slice":
        parts = {label: scores.slice_of == t for t, label in enumerate(text.slices.labels)}
    elif by == "group":
        parts = {name: scores.group_of == number for number, name in enumerate(model.groups)}
    else:
        ends = [(low, min(high or len(text.words), len(text.words))) for low, high in BANDS]
        parts = {f"{low + 1:,}-{high:,}": (scores.word >= low) & (scores.word < high) for low, high in ends}
    parts = {name: here for name, here in parts.items() if here.any()}
    rows = [{"ranks" if by == "band" else by: name, **scores.summary(here)} for name, here in parts.items()]
    if by == "group":  # compared with what the embeddings of all text predict
        common = score(model, text, groups=False, **options)
        difference = scores.positive + scores.negative - common.positive - common.negative
        for row, here in zip(rows, parts.values(), strict=True):
            gain, error = mean_and_error(difference[here], scores.document[here])
            row |= {"over_all_text": gain, "over_all_text_se": error}
    return pl.DataFrame(rows)


def score(
    model: Model, corpus: Corpus, *, split: str, groups: bool = True, engine: str = "auto", **options: Any
) -> Scores:
    """Score every position of a split, with the embeddings of its group where there are any and they are wanted."""
    name = choose_engine(engine, options.get("device"))
    held_out = HeldOut(corpus, split)
    if not len(held_out.text.ids):
        raise OptionError(f"The corpus has no {split} text to score")

    def start(model: Model, alpha: Any) -> Engine:
        rho, alpha = (np.asarray(a, dtype=np.float32) for a in (model.rho, alpha))
        rho = join_intercepts(rho, model.intercepts)
        return make_engine(name, Parameters(rho, alpha, rho[:, :0], alpha[:0]), held_out.sampler, **options)

    context = model.spec.context
    if model.groups and groups:
        engines = (start(model.group(group), model.alpha) for group in model.groups)
        return held_out.score_parts(held_out.chunk_group, engines, context=context)
    if model.alpha.ndim == 2 or len(model.alpha) == len(model.slices):
        return held_out.score(start(model, model.alpha), context=context)
    part_of = model.context_of[held_out.text.slice_of]
    return held_out.score_parts(part_of, (start(model, alpha) for alpha in model.alpha), context=context)
