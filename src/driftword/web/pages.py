"""What stands on each page, ready for a template or for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from jinja2 import Environment, PackageLoader, select_autoescape

from driftword import __version__, explore
from driftword.corpus import Corpus
from driftword.errors import OptionError
from driftword.explore import space
from driftword.explore.movement import METRICS
from driftword.model import Model

MOST_ROWS: Final = 200
MOST_SLICES: Final = 12
PASSAGES: Final = 12


def start(model: Model, corpus: Corpus | None, *, metric: str, n: int, min_count: int, skip: int) -> dict[str, Any]:
    """Return the corpus at a glance, and the words that changed most."""
    moving = len(model.rho) > 1
    counts = np.asarray(model.counts)
    held = next((entry for entry in model.history if entry["pass"] == model.meta.get("best_pass")), {})
    return {
        "title": model.title,
        "words": len(model.words),
        "slices": list(model.slices.labels),
        "tokens": counts.sum(axis=1, dtype=np.int64).tolist(),
        "held_out": {name: held.get(name) for name in ("L_pos", "L_neg", "L")},
        "metric": metric,
        "min_count": min_count,
        "skip": skip,
        "drift": explore.drift(
            model, n=bounded("n", n, MOST_ROWS), metric=metric, min_count=min_count, skip=skip
        ).to_dicts()
        if moving
        else [],
        "cite": cite(model),
        "has_corpus": corpus is not None,
    }


def word(model: Model, corpus: Corpus | None, asked: str, *, at: Sequence[str], n: int) -> dict[str, Any]:
    """Return all there is to say about a word."""
    v = model.word_id(asked)
    name = model.words[v]
    n = bounded("n", n, MOST_ROWS)
    if len(at) > MOST_SLICES:
        raise OptionError(f"{len(at)} slices were asked for; a page shows at most {MOST_SLICES}")
    labels = model.slices.labels
    chosen = [labels[t] for t in (space.slice_numbers(model, list(at)) if at else explore.telling(model, name))]
    near = explore.neighbors(model, name, at=chosen, n=n).to_dicts()
    moving = len(model.rho) > 1
    return {
        "title": f"{name} · {model.title}",
        "word": name,
        "slices": list(labels),
        "counts": np.asarray(model.counts)[:, v].astype(np.int64).tolist(),
        "chosen": chosen,
        "neighbors": side_by_side(chosen, near),
        "changes": explore.changes(model, name, n=3).to_dicts() if moving and len(labels) > 2 else [],
        "moving": moving,
        "cite": cite(model),
        "has_corpus": corpus is not None,
        "corpus_path": model.meta["provenance"].get("corpus_path"),
    }


def side_by_side(chosen: Sequence[str], near: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the neighbours of each slice in a list, with what entered since the one before and what left after it."""
    lists = [[row for row in near if row["slice"] == label] for label in chosen]
    result = []
    for i, label in enumerate(chosen):
        before = {row["word"] for row in lists[i - 1]} if i else None
        after = {row["word"] for row in lists[i + 1]} if i + 1 < len(chosen) else None
        rows = [
            {
                **row,
                "entered": before is not None and row["word"] not in before,
                "left": after is not None and row["word"] not in after,
            }
            for row in lists[i]
        ]
        result.append({"slice": label, "words": rows})
    return result


def passages(corpus: Corpus | None, asked: str, at: str | None, *, n: int = PASSAGES) -> list[dict[str, Any]]:
    """Return the texts behind a word, and its other columns."""
    if corpus is None:
        return []
    found = corpus.passages(asked, at=at or None, n=bounded("n", n, MOST_ROWS), width=90)
    known = {"left", "keyword", "right", "slice", "document", "date"}
    return [
        {
            **{name: row[name] for name in ("slice", "left", "keyword", "right")},
            "date": str(row["date"]) if row.get("date") else None,
            "about": {name: str(value) for name, value in row.items() if name not in known and value is not None},
        }
        for row in found.to_dicts()
    ]


def templates(**names: Any) -> Environment:
    """Return the templates, which escape whatever stands in the text."""
    found = Environment(loader=PackageLoader("driftword.web"), autoescape=select_autoescape(), trim_blocks=True)
    found.globals |= {"metrics": METRICS, **names}
    return found


def cite(model: Model) -> str:
    """Return the line that says what a finding was made from."""
    made, spec = model.meta["provenance"], model.spec
    source = f" {made['citation']}." if made.get("citation") else ""
    return (
        f"{model.title}, {model.slices.labels[0]} to {model.slices.labels[-1]}.{source} "
        f"{spec.model} Bernoulli embeddings (K = {spec.dim}, context {spec.context}, "
        f"drift precision {spec.drift_precision:g}, seed {made.get('seed')}), "
        f"driftword {__version__}."
    )


def bounded(name: str, value: int, most: int) -> int:
    """Check a number that a reader gave."""
    if not 1 <= value <= most:
        raise OptionError(f"{name} is {value}; ask for 1 to {most}")
    return value
