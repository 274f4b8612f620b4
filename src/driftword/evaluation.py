"""Held-out scores of models, and the comparison of static, binned and dynamic."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from driftword import store
from driftword.corpus import Corpus
from driftword.engines import choose_engine, make_engine
from driftword.engines.parameters import Parameters
from driftword.errors import OptionError, StoreError
from driftword.fitting import fit
from driftword.held_out import HeldOut, Scores, mean_and_error
from driftword.model import KIND, MODELS, Model, Spec
from driftword.tables import lines_of

#: Frequency bands, by rank in the vocabulary.
BANDS: Final = ((0, 100), (100, 1_000), (1_000, 5_000), (5_000, 25_000), (25_000, None))


def evaluate(
    model: Model,
    corpus: Corpus,
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
        The model.
    corpus
        The corpus it was fitted to.
    split
        ``"test"``, ``"valid"`` or ``"train"``.
    by
        ``"slice"`` or ``"band"`` (of frequency) for one row each; by default one row for all.
    threads
        Threads to use; all cores by default.
    engine, device
        As in `fit`: auto takes a GPU where PyTorch sees one.

    Returns
    -------
    L_pos, L_neg and L = L_pos + L_neg with standard errors over documents, positions and documents.
    """
    if by not in (None, "slice", "band"):
        raise OptionError(f"scores can be had by slice or by band, not by '{by}'")
    scores = score(model, corpus, split=split, threads=threads, engine=engine, device=device)
    if by is None:
        return pl.DataFrame([{"split": split, **scores.summary()}])
    rows: list[dict[str, Any]] = []
    if by == "slice":
        for t, label in enumerate(corpus.slices.labels):
            here = scores.slice_of == t
            if here.any():
                rows.append({"slice": label, **scores.summary(here)})
    else:
        for low, high in BANDS:
            here = (scores.word >= low) & (scores.word < (high or len(corpus.words)))
            if here.any():
                name = f"{low + 1:,}-{min(high or len(corpus.words), len(corpus.words)):,}"
                rows.append({"ranks": name, **scores.summary(here)})
    return pl.DataFrame(rows)


def score(model: Model, corpus: Corpus, *, split: str, engine: str = "auto", **machine: Any) -> Scores:
    """Score every position of a split."""
    made_for = model.meta["provenance"]["corpus"]
    if made_for != corpus.fingerprint:
        raise StoreError(
            f"the model was fitted to another corpus (its fingerprint is {made_for}, this one's {corpus.fingerprint}); "
            f"open the one it was made from: {model.meta['provenance']['corpus_path'] or 'it was in memory'}"
        )
    held_out = HeldOut(corpus, split)
    if not len(held_out.text.ids):
        raise OptionError(f"the corpus has no {split} text to score")
    rho, alpha = (np.asarray(a, dtype=np.float32) if a.dtype != np.float32 else a for a in (model.rho, model.alpha))
    chosen = choose_engine(engine, machine.get("device"))
    runner = make_engine(chosen, Parameters(rho, alpha, rho[:, :0], alpha[:0]), held_out.sampler, **machine)
    return held_out.score(runner, context=model.spec.context)


def compare(
    corpus: Corpus,
    *,
    contexts: Sequence[int] = (2, 8),
    models: Sequence[str] = MODELS,
    spec: Spec | None = None,
    passes: int = 10,
    seed: int = 0,
    threads: int | None = None,
    engine: str = "auto",
    device: str | None = None,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    show_progress: bool | None = None,
) -> pl.DataFrame:
    """Fit the three models under one protocol and score them on the test text: the paper's table.

    Parameters
    ----------
    corpus
        What `driftword.prepare` made.
    contexts
        Sizes of context.
    models
        Which models.
    spec
        Options that all of them share; `model` and `context` are set for each.
    passes
        Most passes over the text; each model keeps the pass that is best on validation text.
    seed, threads, engine, device
        As in `fit`.
    out
        Folder for the fitted models; those already there with the same options are used again.
    overwrite
        Replace models that are there with other options.
    show_progress
        Show progress bars; by default where standard error is a terminal.

    Returns
    -------
    One row per context and model: the scores on test text, and the difference in L to the static
    model of the same context with its standard error over documents.
    """
    for name in models:
        if name not in MODELS:
            raise OptionError(f"there is no model '{name}'; choose of {', '.join(MODELS)}")
    names = sorted(models, key=MODELS.index)
    specs = {(context, name): replace(spec or Spec(), model=name, context=context)
             for context in contexts for name in names}  # fmt: skip
    paths = {key: None if out is None else Path(out) / f"{key[1]}-{key[0]}.model" for key in specs}
    for key, path in paths.items():  # before the first is fitted
        if path is not None and _held(corpus, specs[key], path, seed, passes) is None:
            store.check_free(path, kind=KIND, overwrite=overwrite)
    machine: dict[str, Any] = {"threads": threads, "engine": engine, "device": device}
    options: dict[str, Any] = {"passes": passes, "seed": seed, "show_progress": show_progress, **machine}
    rows = []
    for context in contexts:
        base: Scores | None = None
        for name in names:
            chosen, path = specs[context, name], paths[context, name]
            model = None if path is None else _held(corpus, chosen, path, seed, passes)
            model = model or fit(corpus, chosen, out=path, overwrite=overwrite, **options)
            scores = score(model, corpus, split="test", **machine)
            row: dict[str, Any] = {"context": context, "model": name, **scores.summary()}
            row["best_pass"] = model.meta["best_pass"]
            row["seconds"] = round(sum(entry["seconds"] for entry in model.history), 1)
            if name == "static":
                base = scores
            gain = None if base is None or name == "static" else _difference(scores, base)
            row["L_gain"], row["L_gain_se"] = gain or (None, None)
            rows.append(row)
    schema = {"L_gain": pl.Float64, "L_gain_se": pl.Float64}
    return pl.DataFrame(rows, schema_overrides=schema)


def _difference(scores: Scores, base: Scores) -> tuple[float, float]:
    """Return the mean difference in L and its standard error, paired by document."""
    difference = scores.positive + scores.negative - base.positive - base.negative
    return mean_and_error(difference, scores.document)


def _held(corpus: Corpus, spec: Spec, path: Path, seed: int, passes: int) -> Model | None:
    """Open the model at `path` if it is the one wanted."""
    if store.read_meta(path) is None:
        return None
    model = Model.open(path)
    made = model.meta["provenance"]
    same = (asdict(model.spec), made["corpus"], made["seed"], made["passes"])
    return model if same == (asdict(spec), corpus.fingerprint, seed, passes) else None


def as_table(rows: pl.DataFrame, *, form: str) -> str:
    """Write the comparison as Markdown or LaTeX, as it stands in a paper."""
    contexts = rows["context"].unique(maintain_order=True).to_list()
    heads = ["", *(f"context {context}" for context in contexts)]
    body = []
    for name in rows["model"].unique(maintain_order=True):
        cells = []
        for context in contexts:
            row = rows.filter((pl.col("context") == context) & (pl.col("model") == name)).row(0, named=True)
            error = "\\pm" if form == "latex" else "±"
            cell = f"{row['L']:.3f} {error} {row['L_se']:.3f} ({row['L_pos']:.3f})"
            cells.append(f"${cell}$" if form == "latex" else cell)
        body.append([name, *cells])
    return lines_of(heads, body, form=form)
