"""How long does each question to a model take? Give a model directory.

    python benchmarks/queries.py un.model

Every question about a word is asked of ten words drawn at random, and every question
about all words three times; a first answer, which is not counted, reads the slices. The
median is printed beside the limit that we set ourselves for a model of 77 slices, 25,000
words and 100 dimensions. `neighbors` answers with the default metric, and `drift` ranks
the whole vocabulary between the first and the last slice.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import driftword as dw
from driftword.explore.drift_metrics import METRICS
from machine import describe


def drift_of_all(model: dw.Model, metric: str, _: str) -> object:
    """Rank the whole vocabulary between the first and the last slice."""
    between = (model.slices.labels[0], model.slices.labels[-1])
    return dw.drift(model, metric=metric, between=between, min_count=0, skip=0, interpolated=True)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    model = dw.Model.open(sys.argv[1])
    labels = model.slices.labels
    middle = labels[len(labels) // 2]
    frequent = np.argsort(-np.asarray(model.counts).sum(axis=0))[: min(2000, len(model.words))]
    other, third, *words = [model.words[v] for v in np.random.default_rng(0).choice(frequent, 13, replace=False)]
    questions: list[tuple[str, float, Callable[[str], object]]] = [
        ("neighbors, one slice", 0.05, lambda word: dw.neighbors(model, word, at=middle)),
        ("model.at().most_similar", 0.05, lambda word: model.at(middle).most_similar(word)),
        ("neighbors, all slices", 3, lambda word: dw.neighbors(model, word, at="all")),
        ("trajectory", 3, lambda word: dw.trajectory(model, word)),
        ("similarity", 3, lambda word: dw.similarity(model, word, other)),
        ("towards", 3, lambda word: dw.towards(model, word, low=other, high=third)),
        ("equivalents, all slices", 3, lambda word: dw.equivalents(model, word, at=middle)),
        ("analogy", 3, lambda word: dw.analogy(model, other, word, third, at=middle)),
        ("changes of a word", 3, lambda word: dw.changes(model, word)),
    ]
    of_all_words: list[tuple[str, float, Callable[[str], object]]] = [
        ("changes of all words", 3, lambda _: dw.changes(model)),
        ("movers", 1, lambda _: dw.movers(model, at=middle, min_count=0, skip=0)),
        *((f"drift, {metric}", 1.0, partial(drift_of_all, model, metric)) for metric in METRICS),
    ]
    print(f"{'question':28}{'median s':>10}{'slowest':>10}{'limit':>8}")
    for (name, limit, ask), asked in [*((q, words) for q in questions), *((q, words[:4]) for q in of_all_words)]:
        seconds = []
        for word in asked:
            begin = time.perf_counter()
            ask(word)
            seconds.append(time.perf_counter() - begin)
        print(f"{name:28}{np.median(seconds[1:]):10.3f}{max(seconds[1:]):10.3f}{limit:8.2f}")


if __name__ == "__main__":
    main()
