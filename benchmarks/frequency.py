"""Does the movement of rho tell how a word's frequency changed? If so, drift measures frequency too.

    python benchmarks/frequency.py sotu.corpus seed=0,1,2 model=static,binned,dynamic intercept=true,false

Fits every combination of the options given, and prints the held-out scores of each, R2 (the
share of the log frequency ratio that a ridge regression on the movement of rho predicts in
five folds; 0 is what movements without frequency get) and the Spearman correlation of
absolute drift with the absolute log frequency ratio. Frequencies are those of the last
quarter of the slices and the first. Words need 20 occurrences in both. `passes`, `seed`,
`threads` and `engine` are options of `fit`, all others are options of `Spec`.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import driftword as dw
from machine import describe
from options import FIT_OPTIONS, parse_arguments

Array = npt.NDArray[Any]
FOLDS = 5
MIN_COUNT = 20  # occurrences in the first and in the last quarter of the slices


def quarters(counts: Array) -> tuple[Array, Array]:
    """Return the occurrences of each word in the first and in the last quarter of the slices."""
    quarter = max(1, len(counts) // 4)
    return counts[:quarter].sum(axis=0), counts[-quarter:].sum(axis=0)


def log_frequency_ratio(counts: Array) -> Array:
    """Return the log of how much more frequent each word is in the last quarter of the slices than in the first."""
    first, last = quarters(np.asarray(counts, dtype=np.float64))
    ratio = np.log(last + 0.5) - np.log(first + 0.5)
    return np.asarray(ratio - np.log(max(last.sum(), 1) / max(first.sum(), 1)))


def movement(model: dw.Model) -> Array:
    """Return how rho moved from the first quarter of the slices to the last, (V, K)."""
    quarter = max(1, len(model.slices) // 4)
    rho = np.asarray(model.rho, dtype=np.float64)
    return np.asarray(rho[-quarter:].mean(axis=0) - rho[:quarter].mean(axis=0))


def frequency_in_movement(model: dw.Model) -> float:
    """Return the share of the log frequency ratio that is predicted from the movement of rho, in five folds."""
    counts = np.asarray(model.counts)
    often = np.minimum(*quarters(counts)) >= MIN_COUNT
    if not model.moves or often.sum() < 10 * FOLDS:
        return float("nan")
    moved, ratio = movement(model)[often], log_frequency_ratio(counts)[often]
    fold = np.random.default_rng(0).permutation(len(ratio)) % FOLDS
    predicted = np.zeros_like(ratio)
    for f in range(FOLDS):
        train, test = fold != f, fold == f
        mean, center = moved[train].mean(axis=0), ratio[train].mean()
        x = moved[train] - mean
        weights = np.linalg.solve(
            x.T @ x + 1e-3 * np.trace(x.T @ x) / len(mean) * np.eye(len(mean)), x.T @ (ratio[train] - center)
        )
        predicted[test] = (moved[test] - mean) @ weights + center
    return float(1 - ((ratio - predicted) ** 2).sum() / ((ratio - ratio.mean()) ** 2).sum())


def spearman(one: Array, other: Array) -> float:
    """Return the rank correlation."""
    return float(np.corrcoef(one.argsort().argsort(), other.argsort().argsort())[0, 1])


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    corpus = dw.Corpus.open(sys.argv[1])
    given = parse_arguments(sys.argv[2:])
    for combination in itertools.product(*given.values()):
        options = dict(zip(given, combination, strict=True))
        spec = dw.Spec(**{name: v for name, v in options.items() if name not in FIT_OPTIONS})
        model = dw.fit(corpus, spec, **{name: v for name, v in options.items() if name in FIT_OPTIONS})
        best = next(entry for entry in model.history if entry["pass"] == model.best_pass)
        test = dw.evaluate(model, corpus=corpus, split="test").row(0, named=True)
        facts = ""
        if model.moves:
            often = np.minimum(*quarters(np.asarray(model.counts))) >= MIN_COUNT
            ratio = np.abs(log_frequency_ratio(np.asarray(model.counts)))[often]
            drift = np.linalg.norm(movement(model), axis=1)[often]
            facts = f"   R2 {frequency_in_movement(model):.3f}   Spearman with drift {spearman(drift, ratio):.3f}"
        shown = " ".join(f"{name}={v}" for name, v in options.items())
        print(f"{shown:60} valid L {best['L']:.4f}   test L {test['L']:.4f} pass {best['pass']}{facts}", flush=True)


if __name__ == "__main__":
    main()
