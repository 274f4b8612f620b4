"""Would another seed say the same? Fits every combination of options with several seeds.

    python benchmarks/seeds.py un.corpus seeds=0,1,2 drift_precision=15,30 learning_rate=0.2,0.4 model=static,dynamic

Each line is one combination: the mean validation and test L over the seeds, and the share of a
word's ten nearest words that two seeds have in common. Those are nearest by the centred cosine, in
eight slices from the first to the last, for 400 random words in each that occur at least 20 times in
its training text, among words that occur at least five times. Two models that agree by chance share
ten in the number of those words. `passes`, `threads`, `patience`, `engine` and
`device` are options of `fit`, all others are options of `Spec`.
"""

from __future__ import annotations

import itertools
import sys

import numpy as np

import driftword as dw
from driftword.benchmarking.measures import shared_neighbors
from machine import describe
from options import FIT_OPTIONS, parse_arguments


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
        test = np.mean([dw.evaluate(model, corpus=corpus, split="test")["L"][0] for model in models])
        same = np.mean(shared_neighbors(models, corpus))
        shown = " ".join(f"{name}={v}" for name, v in options.items())
        print(f"{shown:60} valid L {valid:.4f}   test L {test:.4f}   shared {same:.3f}", flush=True)


if __name__ == "__main__":
    main()
