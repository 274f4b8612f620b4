"""Choosing options on validation text, by successive halving.

Many candidates are fitted for a few passes; the best quarter of them start again with twice as many passes, until
few are left. They are scored on the validation split; the test split is never looked at.
"""

from __future__ import annotations

import functools
import itertools
import os
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import DriftwordWarning, FitError, OptionError, StoreError
from driftword.basics.process import rank
from driftword.basics.progress import Progress, progress
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.fitting.fitting import follow, run_job
from driftword.fitting.job import Job, StartAny, plan_job
from driftword.fitting.training import DivergedError
from driftword.models.spec import Spec, as_spec
from driftword.storage.atomic_writes import replacing, reserved
from driftword.storage.checksums import sealed_json, unseal_json

#: What each option is multiplied by. Blocks are this model's minibatches.
FACTORS: Final[dict[str, tuple[float, ...]]] = {
    "learning_rate": (0.5, 1.0, 1.5),
    "drift_precision": (0.1, 0.3, 1.0, 3.0, 10.0),
    "intercept_precision": (0.1, 0.3, 1.0, 3.0, 10.0),
    "prior_precision": (0.2, 1.0, 5.0),
    "block_size": (0.5, 1.0, 2.0),
}
FIRST_PASSES: Final = 2
KEEP: Final = 4  # one candidate in this many goes on
_PATIENCE: Final = 2  # passes without a better score, after which a candidate is stopped


@dataclass(frozen=True)
class Tuned:
    """The best options found, and all that was tried: one row for each fit."""

    spec: Spec
    tried: pl.DataFrame


def tune(
    corpus: Corpus | str | os.PathLike[str],
    spec: Spec | None = None,
    *,
    candidates: int = 16,
    passes: int = 10,
    seed: int = 0,
    threads: int | None = None,
    engine: str = "auto",
    device: str | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    show_progress: bool | None = None,
) -> Tuned:
    """Choose learning rate, precisions and block size on the validation text.

    Parameters
    ----------
    corpus
        What `driftword.prepare` made, or its path.
    spec
        Where to start, and all options that are not tuned.
    candidates
        How many combinations to try first: `spec` itself, and others drawn at random around it.
    passes
        Maximum number of passes of a candidate; use the number that the final fit will have.
    seed, threads, engine, device, show_progress
        As in `fit`.
    out
        Where the model will be written; the result of the tuning is kept beside it, as ``NAME.tuning.json``.
    resume
        Use the result kept there instead of tuning again.
    """
    corpus, spec = as_corpus(corpus), as_spec(spec)
    candidates = checks.whole("candidates", candidates, least=2)
    passes, seed = checks.whole("passes", passes, least=1), checks.seed(seed)
    threads, show_progress = checks.threads(threads), checks.show_progress(show_progress)
    out, resume = checks.optional(checks.path, "out", out), checks.flag("resume", resume)
    if not corpus.has_split("valid"):
        raise OptionError("The corpus has no validation text to choose options by")
    result_path = None if out is None else out.with_name(out.name + ".tuning.json")
    request = {"spec": spec.to_dict(), "corpus": corpus.fingerprint, "passes": passes, "seed": seed}
    corpus = corpus.without_groups()  # they are fitted to the model that is chosen, not to every candidate
    machine = {"threads": threads, "reproducible": False, "half_precision": False, "device": device}
    plan = functools.partial(plan_job, corpus, seed=seed, engine=engine, machine=machine)
    if rank()[0] > 0:  # another process leads
        follow(corpus)
        if result_path is None:
            raise OptionError("Of several processes that tune together only the first has the result; give its `out`")
        return _load_result(result_path, request)
    left, rows = _candidates(spec, candidates, seed), []
    budget = min(FIRST_PASSES, passes)
    with (
        plan(spec, passes=passes).starting() as start_engine,
        nullcontext() if out is None else reserved(out),
        progress(show=show_progress) as bar,
    ):
        if resume and result_path is not None and result_path.exists():
            return _load_result(result_path, request)
        while True:
            each = "1 pass" if budget == 1 else f"{budget} passes"
            bar.stage(f"{spec.model}, context {spec.context}: {len(left)} candidates, {each} each", total=len(left))
            scores: list[float] = []
            for candidate in left:
                rows.append(_try(plan(candidate, passes=budget), start_engine))
                scores.append(rows[-1][spec.select_by])
                bar.update(done=len(scores), facts=f"best {spec.select_by} {max(scores):.3f}")
            best = [left[i] for i in np.argsort(-np.array(scores), kind="stable")]
            if len(left) < 2 * KEEP or budget == passes:
                break
            left, budget = best[: len(left) // KEEP], min(2 * budget, passes)
    if not np.isfinite(max(scores)):
        raise FitError("Every candidate diverged; start with a smaller `learning_rate`")
    if result_path is not None:
        with replacing(result_path) as partial:
            partial.write_bytes(sealed_json({"asked": request, "spec": best[0].to_dict(), "tried": rows}))
    return Tuned(best[0], pl.DataFrame(rows))


def _load_result(path: Path, request: dict[str, Any]) -> Tuned:
    """Read the result of an earlier tuning, if it was asked for the same."""
    try:
        stored = unseal_json(path.read_bytes())
        changed = [name for name, value in request.items() if stored["asked"][name] != value]
        tuned = Tuned(Spec.from_dict(stored["spec"]), pl.DataFrame(stored["tried"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"'{path}' cannot be read; remove it, or start again without `resume`") from error
    if changed:
        raise OptionError(f"'{path}' was made with another {' and '.join(changed)}; use the same options, or remove it")
    return tuned


def tuned_options(spec: Spec) -> list[str]:
    """Return the names of the options that are tuned for a model: those that it depends on, and that are not tied."""
    wanted = {
        "learning_rate": True,
        "drift_precision": spec.model == "dynamic",
        "intercept_precision": spec.intercept and spec.model in ("binned", "frequency"),  # or it follows the drift's
        "prior_precision": spec.prior_precision is not None,  # it follows the drift's as well
        "block_size": spec.block_size > 1,  # otherwise every position has negatives of its own
    }
    return [name for name in FACTORS if wanted[name]]


def _candidates(spec: Spec, count: int, seed: int) -> list[Spec]:
    """Return the options to start from, and others around them, drawn at random."""
    names = tuned_options(spec)
    others = [
        replace(spec, **{name: _times(spec, name, factor) for name, factor in zip(names, factors, strict=True)})
        for factors in itertools.product(*(FACTORS[name] for name in names))
        if set(factors) != {1.0}
    ]
    chosen = np.random.default_rng(seed).permutation(len(others))[: count - 1]
    return [spec, *(others[i] for i in sorted(chosen))]


def _times(spec: Spec, name: str, factor: float) -> Any:
    if name == "block_size":
        return max(1, round(spec.block_size * factor))
    return float(f"{option_value(spec, name) * factor:.3g}")


def option_value(spec: Spec, name: str) -> Any:
    """Return the value of an option, a default that follows another one resolved."""
    return spec.intercept_walk if name == "intercept_precision" else getattr(spec, name)


def _try(job: Job, start_engine: StartAny) -> dict[str, Any]:
    """Fit a candidate, and return a row with its options and scores."""
    spec = job.schedule.spec
    row: dict[str, Any] = {"passes": job.schedule.passes}
    row |= {name: option_value(spec, name) for name in tuned_options(spec)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DriftwordWarning)  # of candidates; the best one is told by its scores
            model = run_job(job, start_engine, patience=_PATIENCE, bar=Progress())
    except DivergedError:
        return {**row, "L": float("-inf"), "L_pos": float("-inf"), "best_pass": None}
    best = model.history[(model.best_pass or 1) - 1]
    return {**row, "L": best["L"], "L_pos": best["L_pos"], "best_pass": best["pass"]}
