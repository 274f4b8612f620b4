"""Would another seed say the same? Fits every combination of options with several seeds.

    python benchmarks/seeds.py un.corpus seeds=0,1,2 drift_precision=15,30 learning_rate=0.2,0.4 model=static,dynamic

Each line is one combination: the mean validation and test L over the seeds, and the share of a
word's ten nearest words that two seeds have in common. Those are nearest by the centred cosine, in
eight slices from the first to the last, for 400 random words in each that occur at least 20 times in
its training text, among words that occur at least five times. Two models that agree by chance share
ten in the number of those words, which is printed too. `passes`, `threads`, `patience`, `engine` and
`device` are options of `fit`, all others are options of `Spec`.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import driftword as dw
from driftword.keyed_vectors import attested_mean, unit
from machine import describe
from options import FIT_OPTIONS, parse_arguments

Array = npt.NDArray[Any]
NEAREST, WORDS, SLICES = 10, 400, 8
LEAST, LEAST_NEIGHBOR = 20, 5  # occurrences in the training text of the slice


def nearest(model: dw.Model, t: int, words: Array, attested: Array) -> Array:
    """Return the words nearest to each of some words in slice t, (words, 10)."""
    rows = np.asarray(model.rho_at(t if model.moves else 0), dtype=np.float32)
    directions = unit(rows - attested_mean(rows, attested))
    candidates = np.flatnonzero(attested)
    similarity = directions[words] @ directions[candidates].T
    similarity[words[:, None] == candidates[None, :]] = -np.inf
    return np.asarray(candidates[np.argpartition(-similarity, NEAREST - 1, axis=1)[:, :NEAREST]])


def shared(models: list[dw.Model], corpus: dw.Corpus) -> tuple[float, float]:
    """Return the share of nearest words that two models have in common, and what chance would give."""
    counts, random = np.asarray(corpus.train_counts), np.random.default_rng(0)
    found, chance = [], []
    for t in np.unique(np.linspace(0, len(counts) - 1, SLICES).astype(int)):
        attested = counts[t] >= LEAST_NEIGHBOR
        words = random.permutation(np.flatnonzero(counts[t] >= LEAST))[:WORDS]
        if not len(words) or attested.sum() <= NEAREST:
            continue
        lists = [nearest(model, int(t), words, attested) for model in models]
        found += [(a[:, :, None] == b[:, None, :]).any(axis=2).mean() for a, b in itertools.combinations(lists, 2)]
        chance.append(NEAREST / (attested.sum() - 1))
    return float(np.mean(found)), float(np.mean(chance))


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    corpus = dw.Corpus.open(sys.argv[1])
    given = parse_arguments(sys.argv[2:])
    seeds = given.pop("seeds", [0, 1, 2])
    for combination in itertools.product(*given.values()):
        options = dict(zip(given, combination, strict=True))
        spec = dw.Spec(**{name: v for name, v in options.items() if name not in FIT_OPTIONS})
        fit_options = {name: v for name, v in options.items() if name in FIT_OPTIONS}
        models = [dw.fit(corpus, spec, seed=seed, **fit_options) for seed in seeds]
        valid = np.mean([model.history[(model.best_pass or 1) - 1]["L"] for model in models])
        test = np.mean([dw.evaluate(model, corpus, split="test")["L"][0] for model in models])
        same, chance = shared(models, corpus)
        shown = " ".join(f"{name}={v}" for name, v in options.items())
        print(
            f"{shown:60} valid L {valid:.4f}   test L {test:.4f}   shared {same:.3f} (chance {chance:.3f})", flush=True
        )


if __name__ == "__main__":
    main()
