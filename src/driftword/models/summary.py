"""A model in a few lines, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftword.models.provenance import Provenance
from driftword.models.spec import Spec


def summarize(info: Mapping[str, Any], spec: Spec, made: Provenance, *, tested: str | None) -> dict[str, str]:
    """Return what a model is, how it was fitted and how well it predicts, from the facts of ``Model.info``."""
    size = {
        "words": f"{info['words']:,}",
        "slices": f"{info['slices']} ({info['first_slice']} to {info['last_slice']})",
    }
    if made.imported:
        return {"model": f"imported, {spec.dim} dimensions", **size}
    corpus = f"{made.corpus_path or 'in memory'} ({made.corpus})"
    dates = None if made.shuffled_dates is None else f"shuffled, seed {made.shuffled_dates}"
    if made.method is not None:
        facts = {
            "model": f"{made.method}, {spec.dim} dimensions, context {spec.context}",
            **size,
            "corpus": corpus,
            "made by": f"driftword {made.versions.get('driftword', '')}, seed {made.seed}",
            "dates": dates,
            "tested": tested,
        }
    else:
        other_walk = spec.model == "dynamic" and (spec.walk != "random" or spec.dynamic_context)
        scored = all(score is not None for score in info["validation"].values())
        scores = "L_pos {L_pos:.4f}, L_neg {L_neg:.4f}, L {L:.4f}" if scored else "not scored"
        facts = {
            "model": f"{spec.model}, {spec.dim} dimensions, context {spec.context}, {spec.negatives} negatives",
            **size,
            "precision": f"drift {spec.drift_precision:g} per {spec.drift_unit}, prior {spec.prior:g}",
            "walk": f"{spec.walk}{', contexts drift' * spec.contexts_drift}" if other_walk else None,
            "learning": f"rate {spec.learning_rate:g}, {spec.rounds} rounds a pass, resample {spec.resample}",
            "passes": f"{info['passes']}; the best was pass {info['best_pass']}" if info["passes"] else None,
            "validation": scores.format(**info["validation"]),
            "corpus": corpus,
            "made by": f"{made.engine} engine ({made.ran_on or f'{made.threads} threads'}), seed {made.seed}",
            "groups": ", ".join(info["groups"]) or None,
            "group": made.group,
            "extended": "; ".join(made.extended) or None,
            "dates": dates,
            "tested": tested,
        }
    return {name: fact for name, fact in facts.items() if fact is not None}
