"""Held-out scores of models, and the comparison of static, binned and dynamic."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from driftword import checks, store
from driftword.atomic_writes import reserved
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.corpus.splits import SPLITS
from driftword.engines import choose_engine, make_engine
from driftword.engines.parameters import Parameters, join_intercepts
from driftword.errors import OptionError
from driftword.fitting import fit
from driftword.held_out import HeldOut, Scores, mean_and_error
from driftword.model import KIND, Model, as_model
from driftword.spec import MODELS, Spec, as_spec
from driftword.tables import lines_of

#: Frequency bands, by rank in the vocabulary.
BANDS: Final = ((0, 100), (100, 1_000), (1_000, 5_000), (5_000, 25_000), (25_000, None))
BASELINES: Final = ("static", "binned")  # models over which a comparison shows gains


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
    text = model.open_corpus() if corpus is None else as_corpus(corpus)
    if model.provenance.imported:
        raise OptionError("Embeddings made elsewhere cannot be scored: they have no corpus")
    if text is None:
        raise OptionError("The model's corpus is no longer where it was; name it with `corpus`")
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


def compare(
    corpus: Corpus | str | os.PathLike[str],
    *,
    contexts: int | Sequence[int] = (2, 8),
    models: str | Sequence[str] = MODELS,
    spec: Spec | None = None,
    passes: int = 10,
    seeds: int | Sequence[int] = 0,
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
        What `driftword.prepare` made, or its path.
    contexts
        Context sizes.
    models
        Which models.
    spec
        Options that all of them share; `model` and `context` are set for each.
    passes
        Most passes over the text; each model keeps the pass that is best on validation text.
    seeds
        A seed, or several: every model is then fitted with each, and its scores are means over them.
    threads, engine, device
        As in `fit`.
    out
        Folder for the fitted models; those already there with the same options are used again.
    overwrite
        Replace models that are there with other options.
    show_progress
        Show progress bars; by default where standard error is a terminal.

    Returns
    -------
    One row per context and model: the scores on test text with standard errors over documents; `over_static` and
    `over_binned`, the gain in L over those models of the same context, paired by document, with standard errors over
    documents and (with several seeds) over seeds; `L_seed_sd`, the standard deviation of L between seeds; best_pass,
    seconds, and the number of seeds.
    """
    corpus, spec = as_corpus(corpus), as_spec(spec)
    sizes = list(dict.fromkeys(replace(spec, context=context).context for context in _numbers("contexts", contexts)))
    names = sorted({checks.one_of("models", name, MODELS) for name in _names("models", models)}, key=MODELS.index)
    if not names or not sizes:
        raise OptionError("There is nothing to compare; name at least one of `models` and one of `contexts`")
    given = _numbers("seeds", seeds)
    numbers = list(dict.fromkeys(checks.whole("seeds", seed, most=checks.LARGEST_SEED) for seed in given))
    if not numbers:
        raise OptionError("`seeds` is empty; give at least one")
    passes, threads = checks.whole("passes", passes, least=1), checks.threads(threads)
    overwrite, show_progress = checks.flag("overwrite", overwrite), checks.show_progress(show_progress)
    out = checks.optional(checks.path, "out", out)
    entries = [
        _Entry(replace(spec, model=name, context=context), seed, _path(out, name, context, seed, numbers))
        for context in sizes
        for name in names
        for seed in numbers
    ]
    options: dict[str, Any] = {"threads": threads, "engine": engine, "device": device}
    scores: dict[tuple[int, str], list[Scores]] = {}
    fitted: dict[tuple[int, str], list[Model]] = {}
    with nullcontext() if out is None else reserved(out):
        for entry in entries:  # before the first is fitted
            if entry.path is not None and entry.open(corpus, passes) is None:
                store.check_free(entry.path, kind=KIND, overwrite=overwrite)
        for entry in entries:
            model = entry.open(corpus, passes) or fit(
                corpus, entry.spec, passes=passes, seed=entry.seed, out=entry.path, overwrite=overwrite,
                show_progress=show_progress, **options,
            )  # fmt: skip
            key = (entry.spec.context, entry.spec.model)
            scores.setdefault(key, []).append(score(model, corpus, split="test", **options))
            fitted.setdefault(key, []).append(model)
    rows = [_row(scores, fitted, context, name) for context in sizes for name in names]
    types = {name: pl.Float64 for base in BASELINES for name in (f"over_{base}", f"over_{base}_se")}
    return pl.DataFrame(rows, schema_overrides={**types, "L_seed_sd": pl.Float64})


def _numbers(name: str, given: Any) -> list[Any]:
    """Return a number, or several, as a list."""
    return (
        [given]
        if isinstance(checks.plain(given), int | float)
        else checks.several(name, given, remedy="give a whole number, or a list of them")
    )


def _names(name: str, given: Any) -> list[Any]:
    """Return the name of a model, or several, as a list."""
    return (
        [given]
        if isinstance(given, str)
        else checks.several(name, given, remedy="give the name of a model, or a list of names")
    )


@dataclass(frozen=True)
class _Entry:
    """One model of a comparison."""

    spec: Spec
    seed: int
    path: Path | None

    def open(self, corpus: Corpus, passes: int) -> Model | None:
        """Open the model at `path` if it is the one wanted."""
        if self.path is None or store.read_meta(self.path) is None:
            return None
        model = Model.open(self.path)
        made = model.provenance
        same = (model.spec, made.corpus, made.seed, made.passes)
        return model if same == (self.spec, corpus.fingerprint, self.seed, passes) else None


def _path(out: Path | None, name: str, context: int, seed: int, seeds: Sequence[int]) -> Path | None:
    if out is None:
        return None
    return out / (f"{name}-{context}.model" if len(seeds) == 1 else f"{name}-{context}-seed{seed}.model")


def _row(
    scores: dict[tuple[int, str], list[Scores]], fitted: dict[tuple[int, str], list[Model]], context: int, name: str
) -> dict[str, Any]:
    """Return one row of a comparison: scores of a model as means over seeds, and its gains over the baselines."""
    own, models = scores[context, name], fitted[context, name]
    values = [one.summary()["L"] for one in own]
    row: dict[str, Any] = {"context": context, "model": name, **_mean_scores(own).summary()}
    for base in BASELINES:
        others = scores.get((context, base)) if base != name else None
        gain, error = _gain(own, others) if others else (None, None)
        row[f"over_{base}"], row[f"over_{base}_se"] = gain, error
    return {
        **row,
        "seeds": len(own),
        "L_seed_sd": float(np.std(values, ddof=1)) if len(own) > 1 else None,
        "best_pass": models[0].best_pass if len(models) == 1 else None,
        "seconds": round(sum(entry["seconds"] for model in models for entry in model.history), 1),
    }


def _mean_scores(scores: Sequence[Scores]) -> Scores:
    positive, negative = (np.mean([getattr(s, part) for s in scores], axis=0) for part in ("positive", "negative"))
    return replace(scores[0], positive=positive, negative=negative)


def _gain(scores: Sequence[Scores], base: Sequence[Scores]) -> tuple[float, float]:
    """Return the mean gain in L, paired by document and seed, and its standard error over documents and seeds."""
    gains = [s.positive + s.negative - b.positive - b.negative for s, b in zip(scores, base, strict=True)]
    mean, error = mean_and_error(np.mean(gains, axis=0), scores[0].document)
    if len(gains) > 1:
        between = np.var([gain.mean() for gain in gains], ddof=1) / len(gains)
        error = float(np.sqrt(error**2 + between))
    return mean, error


def comparison_table(rows: pl.DataFrame, *, format: str) -> str:
    """Write a comparison as Markdown or LaTeX for a paper: scores and paired gains with standard errors."""
    sign = r"\pm" if format == "latex" else "±"
    heads = ["context", "model", "L", "L_pos", *(f"over {base}" for base in BASELINES)]

    def cell(row: dict[str, Any], name: str, digits: int = 3) -> str:
        if row[name] is None:
            return ""
        text = f"{row[name]:.{digits}f} {sign} {row[name + '_se']:.{digits}f}"
        return f"${text}$" if format == "latex" else text

    body = [
        [str(row["context"]), row["model"], cell(row, "L"), cell(row, "L_pos"),
         *(cell(row, f"over_{base}", 4) for base in BASELINES)]
        for row in rows.iter_rows(named=True)
    ]  # fmt: skip
    heads = [head.replace("_", r"\_") for head in heads] if format == "latex" else heads
    return lines_of(heads, body, form=format)
