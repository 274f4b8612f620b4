"""How well do the three models predict held-out text? The paper's table, on the UN General Debates.

    python benchmarks/quality.py un5.corpus          the paper's subsampling (t = 1e-5)
    python benchmarks/quality.py un.corpus each      the default subsampling, drawn anew for each pass

Each model has the options that were best for it on validation text (see
docs/choosing-options.md); the table reports test text, which no choice was based on.
Differences are paired by document. The second argument says how text is subsampled:
`once`, as in the paper; `each`, anew for each pass; or `default`, with the default
options of every model; ``once,each`` unless given. A third argument limits the contexts, as in
``8`` or ``2,8``, a fourth the models, as in ``static,dynamic``.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import driftword as dw
from driftword.evaluation import score
from driftword.held_out import Scores, mean_and_error
from machine import describe

#: Found on validation text; what is not named here is a default of Spec.
CHOSEN: dict[tuple[str, int, str], dict[str, Any]] = {
    ("once", 2, "static"): {"prior_precision": 10, "learning_rate": 0.3, "pool": 128, "passes": 6},
    ("once", 2, "binned"): {"prior_precision": 10, "learning_rate": 0.15, "pool": 128, "passes": 4},
    ("once", 2, "dynamic"): {
        "drift_precision": 300, "prior_precision": 10, "learning_rate": 0.3, "pool": 128, "passes": 6,
    },
    ("once", 8, "static"): {"prior_precision": 25, "pool": 128, "passes": 6},
    ("once", 8, "binned"): {"prior_precision": 25, "learning_rate": 0.1, "pool": 128, "passes": 4},
    ("once", 8, "dynamic"): {"drift_precision": 300, "prior_precision": 25, "pool": 128, "passes": 6},
    ("each", 2, "static"): {"prior_precision": 5},
    ("each", 2, "binned"): {"prior_precision": 5},
    ("each", 2, "dynamic"): {"prior_precision": 5},
    ("each", 8, "binned"): {"learning_rate": 0.1, "pool": 128},
}  # fmt: skip


def gain(scores: Scores, base: Scores | None) -> str:
    """Return the gain in L over another model, paired by document, with its standard error."""
    if base is None:
        return ""
    difference = scores.positive + scores.negative - base.positive - base.negative
    return "{:+.4f} ± {:.4f}".format(*mean_and_error(difference, scores.document))


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    corpus = dw.Corpus.open(sys.argv[1])
    protocols = sys.argv[2].split(",") if len(sys.argv) > 2 else ["once", "each"]
    contexts = [int(c) for c in sys.argv[3].split(",")] if len(sys.argv) > 3 else [2, 8]
    models = sys.argv[4].split(",") if len(sys.argv) > 4 else ["static", "binned", "dynamic"]
    print(describe(), end="\n\n")
    t = corpus.subsample
    print(f"{'no subsampling' if t is None else f't = {t:g}'}; L_pos in brackets; gains in L on the test text\n")
    print("| subsample | context | model | validation L | test L | over static | over binned | pass | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for protocol in protocols:
        for context in contexts:
            scores_of: dict[str, Scores] = {}
            for name in models:
                options = CHOSEN.get((protocol, context, name), {})
                passes = options.get("passes", 10)
                begin = time.perf_counter()
                spec = dw.Spec(
                    model=name,
                    context=context,
                    resample="once" if protocol == "once" else "each-pass",
                    **{key: v for key, v in options.items() if key != "passes"},
                )
                model = dw.fit(corpus, spec, passes=passes)
                seconds = time.perf_counter() - begin
                best = next(entry for entry in model.history if entry["pass"] == model.best_pass)
                scores = scores_of[name] = score(model, corpus, split="test")
                summary = scores.summary()
                print(
                    f"| {protocol} | {context} | {name} | {best['L']:.4f} ({best['L_pos']:.3f}) "
                    f"| {summary['L']:.4f} ± {summary['L_se']:.4f} ({summary['L_pos']:.3f}) "
                    f"| {gain(scores, scores_of.get('static')) if name != 'static' else ''} "
                    f"| {gain(scores, scores_of.get('binned')) if name == 'dynamic' else ''} "
                    f"| {best['pass']}/{len(model.history)} | {seconds:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
