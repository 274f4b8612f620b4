"""How long does each question to a model take? Give a model directory.

    python benchmarks/looking.py un.model

Every question is asked of ten words drawn at random (or once for all words), after one
that is not counted, and the median is printed beside the limit that a reader's patience
sets for a model of 77 slices, 25,000 words and 100 dimensions.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import driftword as dw
from driftword.explore.drift_ranking import METRICS
from machine import describe


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    model = dw.Model.open(sys.argv[1])
    labels = model.slices.labels
    middle = labels[len(labels) // 2]
    common = np.argsort(-np.asarray(model.counts).sum(axis=0))[: min(2000, len(model.words))]
    other, third, *words = [model.words[v] for v in np.random.default_rng(0).choice(common, 13, replace=False)]
    questions: list[tuple[str, float, Callable[[str], object]]] = [
        ("neighbors, one slice", 0.05, lambda word: dw.neighbors(model, word, at=middle)),
        ("model.at().most_similar", 0.05, lambda word: model.at(middle).most_similar(word)),
        ("neighbors, all slices", 3, lambda word: dw.neighbors(model, word)),
        ("trajectory", 3, lambda word: dw.trajectory(model, word)),
        ("similarity", 3, lambda word: dw.similarity(model, word, other)),
        ("towards", 3, lambda word: dw.towards(model, word, ([other], [third]))),
        ("equivalents, all slices", 3, lambda word: dw.equivalents(model, word, at=middle)),
        ("analogy", 3, lambda word: dw.analogy(model, other, word, third, at=middle)),
        ("changes of a word", 3, lambda word: dw.changes(model, word)),
    ]
    whole: list[tuple[str, float, Callable[[str], object]]] = [
        ("changes of all words", 3, lambda _: dw.changes(model)),
        ("pace", 1, lambda _: dw.pace(model)),
        ("movers", 1, lambda _: dw.movers(model, at=middle)),
        *((f"drift, {metric}", 1.0, lambda _, metric=metric: dw.drift(model, metric=metric)) for metric in METRICS),  # type: ignore[misc]
    ]
    print(f"{'question':28}{'median s':>10}{'slowest':>10}{'limit':>8}")
    for (name, limit, ask), some in [*((q, words) for q in questions), *((q, words[:4]) for q in whole)]:
        seconds = []
        for word in some:
            begin = time.perf_counter()
            ask(word)
            seconds.append(time.perf_counter() - begin)
        print(f"{name:28}{np.median(seconds[1:]):10.3f}{max(seconds[1:]):10.3f}{limit:8.2f}")


if __name__ == "__main__":
    main()
