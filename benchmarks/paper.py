"""Table 2 of the paper: its protocol, and beside it our defaults, on one corpus.

    python benchmarks/paper.py un5.corpus                  (prepared with --subsample 1e-5, as the paper's text)
    python benchmarks/paper.py arxiv_ml.npz contexts=8 seeds=0,1 engine=torch

The paper chose learning rate and drift precision on validation text by L_pos, among 1 to 10 for the latter. So the
first part fits each model with every combination of the values below with the first seed, takes the best by validation
L_pos, and fits it with all seeds. The second part fits the models with their default options. Tables are of test text,
which no choice was based on: means over seeds, gains paired by document and seed with standard errors over both. The
third part fits the paper's dynamic model with larger drift precisions than the paper allowed.

A file `arxiv_ml.npz` holds the text of the paper's first corpus as its authors published it: `words`, `raw_counts`,
`years`, and for train, valid and test the ids of all words, `..._offsets` of documents and their `..._year`.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import driftword as dw
from driftword.fitting.comparison import paired_gain
from driftword.fitting.evaluation import score
from driftword.fitting.held_out import Scores
from machine import describe
from options import parse_arguments

RATES = (0.02, 0.05, 0.1, 0.2)
PRECISIONS = (1.0, 3.0, 10.0)
BEYOND = (100.0, 300.0)  # drift precisions that the paper did not try
PAPER_MODELS = ("static", "binned", "dynamic")


def read_corpus(path: str) -> dw.Corpus:
    """Open a corpus, or make one of the authors' arrays."""
    if not path.endswith(".npz"):
        return dw.Corpus.open(path)
    held = np.load(Path(path), allow_pickle=False)
    splits = ("train", "valid", "test")
    lengths = np.concatenate([np.diff(held[f"{split}_offsets"]) for split in splits])
    return dw.Corpus.from_ids(
        [str(word) for word in held["words"]],
        np.concatenate([held[split] for split in splits]),
        np.r_[0, np.cumsum(lengths)],
        chunk_slice=np.searchsorted(held["years"], np.concatenate([held[f"{split}_year"] for split in splits])),
        chunk_split=np.repeat(np.arange(3), [len(held[f"{split}_year"]) for split in splits]),
        slices=[int(year) for year in held["years"]],
        raw_counts=held["raw_counts"],
    )


def fit(corpus: dw.Corpus, spec: dw.Spec, seed: int, options: dict[str, Any]) -> dw.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dw.DriftwordWarning)
        return dw.fit(corpus, spec, seed=seed, show_progress=False, **options)


def choose(corpus: dw.Corpus, model: str, context: int, seed: int, options: dict[str, Any]) -> dw.Spec:
    """Return the paper's options with the best learning rate and drift precision by L_pos on validation text."""
    tried: list[tuple[float, dw.Spec]] = []
    for rate, precision in itertools.product(RATES, PRECISIONS if model == "dynamic" else PRECISIONS[:1]):
        spec = dw.Spec.paper(model=model, context=context, learning_rate=rate, drift_precision=precision)
        try:
            fitted = fit(corpus, spec, seed, options)
        except dw.FitError:  # it diverged
            continue
        tried.append((fitted.history[(fitted.best_pass or 1) - 1]["L_pos"], spec))
    return max(tried, key=lambda one: one[0])[1]


def only_positive(scores: list[Scores]) -> list[Scores]:
    """Return scores without the words that do not occur."""
    return [replace(one, negative=np.zeros_like(one.negative)) for one in scores]


def report(protocol: str, spec: dw.Spec, scores: list[Scores], bases: dict[str, list[Scores]]) -> None:
    """Print one row of the table."""
    summaries = [one.summary() for one in scores]
    means = {name: np.mean([summary[name] for summary in summaries]) for name in ("L_pos", "L")}
    gains = [
        "{:+.4f} ± {:.4f}".format(*paired_gain(only_positive(scores), only_positive(bases[base])))
        if base in bases and bases[base] is not scores
        else ""
        for base in ("static", "binned")
    ]
    chosen = f"rate {spec.learning_rate:g}" + (f", λ {spec.drift_precision:g}" if spec.model == "dynamic" else "")
    print(
        f"| {protocol} | {spec.context} | {spec.model} | {chosen} | {means['L_pos']:.4f} | {means['L']:.4f} "
        f"| {' | '.join(gains)} |", flush=True,
    )  # fmt: skip


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    corpus = read_corpus(sys.argv[1])
    given = parse_arguments(sys.argv[2:])
    seeds, contexts = given.pop("seeds", [0, 1, 2]), given.pop("contexts", [2, 8])
    options = {name: values[0] for name, values in given.items()}
    print(describe(), end="\n\n")
    print("| options | context | model | chosen | L_pos | L | L_pos over static | over binned |")
    print("|---|---|---|---|---|---|---|---|")
    for context in contexts:
        bases: dict[str, list[Scores]] = {}
        for model in PAPER_MODELS:
            spec = choose(corpus, model, context, seeds[0], options)
            bases[model] = [score(fit(corpus, spec, seed, options), corpus, split="test") for seed in seeds]
            report("paper", spec, bases[model], bases)
        for precision in BEYOND:
            beyond = replace(spec, drift_precision=precision)
            scores = [score(fit(corpus, beyond, seed, options), corpus, split="test") for seed in seeds]
            report("paper, larger λ", beyond, scores, bases)
        bases = {}
        for model in ("static", "frequency", "binned", "dynamic"):
            spec = dw.Spec(model=model, context=context)
            bases[model] = [score(fit(corpus, spec, seed, options), corpus, split="test") for seed in seeds]
            report("default", spec, bases[model], bases)


if __name__ == "__main__":
    main()
