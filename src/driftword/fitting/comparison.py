"""Comparing models: static, binned and dynamic ones under one protocol, on the test text.

Beside the paper's three models there is *frequency*: a static model whose intercepts move, so
that its words may become more or less frequent, but not change their meaning. What the dynamic
model gains over it is what dynamics add beyond frequency; ``docs/paper.md`` says how exactly.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
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
    threads, engine, device
        As in `fit`.
    out
        Folder for the fitted models; those already there with the same options are used again, and so is the result
        of a tuning.
    overwrite
        Replace models that are there with other options.
    show_progress
        Show progress bars; by default where standard error is a terminal.

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
    names = _model_names(models, spec)
    if not names or not sizes:
        raise OptionError("There is nothing to compare; name at least one of `models` and one of `contexts`")
    numbers = checks.seeds(seeds)
    passes, threads = checks.whole("passes", passes, least=1), checks.threads(threads)
    overwrite, show_progress = checks.flag("overwrite", overwrite), checks.show_progress(show_progress)
    out = checks.optional(checks.path, "out", out)
    tune = checks.flag("tune", tune)
    options: dict[str, Any] = {"threads": threads, "engine": engine, "device": device, "passes": passes}
    scores: dict[tuple[int, str], list[Scores]] = {}
    fitted: dict[tuple[int, str], list[Model]] = {}
    with nullcontext() if out is None else reserved(out):
        specs = {(context, name): replace(spec, model=name, context=context) for context in sizes for name in names}
        if tune:
            for (context, name), start in specs.items():
                tuned = tune_options(
                    corpus, start, seed=numbers[0], out=_path(out, name, context), resume=not overwrite,
                    show_progress=show_progress, **options,
                )  # fmt: skip
                specs[context, name] = tuned.spec
        entries = [
            _Entry(key, one, seed, _path(out, key[1], key[0], seed if len(numbers) > 1 else None))
            for key, one in specs.items()
            for seed in numbers
        ]
        for entry in entries:  # before the first is fitted
            if entry.path is not None and entry.open(corpus, passes) is None:
                store.check_free(entry.path, kind=KIND, overwrite=overwrite)
        for entry in entries:
            model = entry.open(corpus, passes) or fit(
                corpus, entry.spec, seed=entry.seed, out=entry.path, overwrite=overwrite, show_progress=show_progress,
                **options,
            )  # fmt: skip
            for key, groups in ((entry.key, False), ((entry.key[0], entry.key[1] + GROUPS), True)):
                if not groups or model.groups:
                    scored = score(
                        model, corpus, split="test", groups=groups, threads=threads, engine=engine, device=device
                    )
                    scores.setdefault(key, []).append(scored)
                    fitted.setdefault(key, []).append(model)
    bases = (*BASELINES, *(MODELS[-1:] if corpus.groups else ()))
    rows = [_row(scores, fitted, bases, key) for key in scores]
    specs = {key: specs[key[0], key[1].removesuffix(GROUPS)] for key in scores}
    if tune:
        rows = [
            row | {name: option_value(one, name) if name in tuned_options(one) else None for name in FACTORS}
            for row, one in zip(rows, specs.values(), strict=True)
        ]
    types = {name: pl.Float64 for base in bases for name in (f"over_{base}", f"over_{base}_se")}
    return pl.DataFrame(rows, schema_overrides={**types, "L_seed_sd": pl.Float64})


def _model_names(given: Any, spec: Spec) -> list[str]:
    """Return the names of the models to compare, in a fixed order."""
    if given is None:
        return [name for name in MODELS if spec.intercept or name != "frequency"]
    return checks.some_of("models", given, MODELS)


@dataclass(frozen=True)
class _Entry:
    """One model of a comparison."""

    key: tuple[int, str]  # its context and its name
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


def _path(out: Path | None, name: str, context: int, seed: int | None = None) -> Path | None:
    if out is None:
        return None
    return out / (f"{name}-{context}.model" if seed is None else f"{name}-{context}-seed{seed}.model")


def _row(
    scores: dict[tuple[int, str], list[Scores]],
    fitted: dict[tuple[int, str], list[Model]],
    bases: Sequence[str],
    key: tuple[int, str],
) -> dict[str, Any]:
    """Return one row of a comparison: scores of a model as means over seeds, and its gains over the baselines."""
    (context, name), own, models = key, scores[key], fitted[key]
    values = [one.summary()["L"] for one in own]
    row: dict[str, Any] = {"context": context, "model": name, **_mean_scores(own).summary()}
    for base in bases:
        others = scores.get((context, base)) if base != name else None
        gain, error = paired_gain(own, others) if others else (None, None)
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
