"""Comparing models: static, binned and dynamic ones under one protocol, on the test text.

Beside the paper's three models there is *frequency*: a static model whose intercepts move, so
that words may become more or less frequent, but not change their meaning. What the dynamic
model gains over it is what dynamics add beyond frequency; see ``docs/paper.md``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.basics.tables import lines_of
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.fitting.evaluation import score
from driftword.fitting.fitting import fit
from driftword.fitting.held_out import Scores, mean_and_error
from driftword.fitting.tuning import FACTORS, option_value, tuned_options
from driftword.fitting.tuning import tune as tune_options
from driftword.models.model import KIND, Model
from driftword.models.spec import MODELS, Spec, as_spec
from driftword.storage import store
from driftword.storage.atomic_writes import reserved

BASELINES: Final = MODELS[:-1]  # models over which gains are shown
GROUPS: Final = " by groups"  # a model whose groups predict their own text, where the corpus has any
_Results = dict[tuple[int, str], list[tuple[Model, Scores]]]  # by context and name, for each seed


def compare(
    corpus: Corpus | str | os.PathLike[str],
    *,
    contexts: int | Sequence[int] = (2, 8),
    models: str | Sequence[str] | None = None,
    spec: Spec | None = None,
    passes: int = 10,
    seeds: int | Sequence[int] = 0,
    tune: bool = False,
    threads: int | None = None,
    engine: str = "auto",
    device: str | None = None,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    show_progress: bool | None = None,
) -> pl.DataFrame:
    """Fit several models under one protocol and score them on the test text: the paper's table.

    Parameters
    ----------
    corpus
        What `driftword.prepare` made, or its path.
    contexts
        Context sizes.
    models
        Which models: ``"static"``, ``"frequency"`` (static embeddings, with intercepts that move), ``"binned"`` and
        ``"dynamic"``; by default all, of which a model without intercepts has no ``"frequency"``.
    spec
        Options that all of them share; `model` and `context` are set for each.
    passes
        Most passes over the text; each model keeps the pass that is best on validation text.
    seeds
        A seed, or several: every model is then fitted with each, and its scores are means over them.
    tune
        First choose the options of each model and context on validation text, as `driftword.tune` does, with the same
        number of candidates for all. This takes about six times as long.
    threads, engine, device, show_progress
        As in `fit`.
    out
        Folder for the fitted models; those already there with the same options are used again, and so is the result
        of a tuning.
    overwrite
        Replace models that are there with other options.

    Returns
    -------
    One row per context and model: the scores on test text with standard errors over documents; `over_static`,
    `over_frequency` and `over_binned`, the gain in L over those models of the same context, paired by document, with
    standard errors over documents and (with several seeds) over seeds; `L_seed_sd`, the standard deviation of L between
    seeds; best_pass, seconds, and the number of seeds; after a tuning, the options that were chosen.
    """
    corpus, spec = as_corpus(corpus), as_spec(spec)
    given = checks.several_numbers("contexts", contexts)
    sizes = list(dict.fromkeys(replace(spec, context=context).context for context in given))
    if models is None:
        names = [name for name in MODELS if spec.intercept or name != "frequency"]
    else:
        names = checks.some_of("models", models, MODELS)
    if not names or not sizes:
        raise OptionError("There is nothing to compare; name at least one of `models` and one of `contexts`")
    numbers = checks.seeds(seeds)
    passes, threads = checks.whole("passes", passes, least=1), checks.threads(threads)
    overwrite, show_progress = checks.flag("overwrite", overwrite), checks.show_progress(show_progress)
    out, tune = checks.optional(checks.path, "out", out), checks.flag("tune", tune)
    machine: dict[str, Any] = {"threads": threads, "engine": engine, "device": device}
    options: dict[str, Any] = {**machine, "passes": passes, "show_progress": show_progress}
    results: _Results = {}
    with nullcontext() if out is None else reserved(out):
        specs = [replace(spec, model=name, context=context) for context in sizes for name in names]
        if tune:
            resume = not overwrite
            specs = [
                tune_options(corpus, one, seed=numbers[0], out=_path(out, one), resume=resume, **options).spec
                for one in specs
            ]
        fits = [(one, seed, _path(out, one, seed if len(numbers) > 1 else None)) for one in specs for seed in numbers]
        for one, seed, path in fits:  # before the first is fitted
            if path is not None and _fitted_before(path, one, corpus, seed=seed, passes=passes) is None:
                store.check_free(path, kind=KIND, overwrite=overwrite)
        for one, seed, path in fits:
            model = _fitted_before(path, one, corpus, seed=seed, passes=passes) or fit(
                corpus, one, seed=seed, out=path, overwrite=overwrite, **options
            )
            for suffix in ("", GROUPS) if model.groups else ("",):
                scored = score(model, corpus, split="test", groups=bool(suffix), **machine)
                results.setdefault((one.context, one.model + suffix), []).append((model, scored))
    bases = (*BASELINES, *(MODELS[-1:] if corpus.groups else ()))
    rows = [_row(results, bases, key, tuned=tune) for key in results]
    types = {name: pl.Float64 for base in bases for name in (f"over_{base}", f"over_{base}_se")}
    return pl.DataFrame(rows, schema_overrides={**types, "L_seed_sd": pl.Float64})


def _path(out: Path | None, spec: Spec, seed: int | None = None) -> Path | None:
    of_seed = "" if seed is None else f"-seed{seed}"
    return None if out is None else out / f"{spec.model}-{spec.context}{of_seed}.model"


def _fitted_before(path: Path | None, spec: Spec, corpus: Corpus, *, seed: int, passes: int) -> Model | None:
    """Open the model at `path` if it is the one wanted."""
    if path is None or store.read_meta(path) is None:
        return None
    model = Model.open(path)
    made = (model.spec, model.provenance.corpus, model.provenance.seed, model.provenance.passes)
    return model if made == (spec, corpus.fingerprint, seed, passes) else None


def _row(results: _Results, bases: Sequence[str], key: tuple[int, str], *, tuned: bool) -> dict[str, Any]:
    """Return one row of a comparison: scores of a model as means over seeds, and its gains over the baselines."""
    models, scores = zip(*results[key], strict=True)
    positive, negative = (np.mean([getattr(s, part) for s in scores], axis=0) for part in ("positive", "negative"))
    means = replace(scores[0], positive=positive, negative=negative)
    row: dict[str, Any] = {"context": key[0], "model": key[1], **means.summary()}
    for base in bases:
        others = [found for _, found in results.get((key[0], base), [])] if base != key[1] else []
        row[f"over_{base}"], row[f"over_{base}_se"] = paired_gain(scores, others) if others else (None, None)
    row |= {
        "seeds": len(models),
        "L_seed_sd": float(np.std([one.summary()["L"] for one in scores], ddof=1)) if len(models) > 1 else None,
        "best_pass": models[0].best_pass if len(models) == 1 else None,
        "seconds": round(sum(entry["seconds"] for model in models for entry in model.history), 1),
    }
    if tuned:
        spec = models[0].spec
        row |= {name: option_value(spec, name) if name in tuned_options(spec) else None for name in FACTORS}
    return row


def paired_gain(scores: Sequence[Scores], base: Sequence[Scores]) -> tuple[float, float]:
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
    gains = [base for base in MODELS if f"over_{base}" in rows.columns]
    bases = [base for base in gains if rows[f"over_{base}"].is_not_null().any()]
    heads = ["context", "model", "L", "L_pos", *(f"over {base}" for base in bases)]

    def cell(row: dict[str, Any], name: str, digits: int = 3) -> str:
        if row[name] is None:
            return ""
        text = f"{row[name]:.{digits}f} {sign} {row[name + '_se']:.{digits}f}"
        return f"${text}$" if format == "latex" else text

    body = [
        [str(row["context"]), row["model"], cell(row, "L"), cell(row, "L_pos"),
         *(cell(row, f"over_{base}", 4) for base in bases)]
        for row in rows.iter_rows(named=True)
    ]  # fmt: skip
    heads = [head.replace("_", r"\_") for head in heads] if format == "latex" else heads
    return lines_of(heads, body, form=format)
