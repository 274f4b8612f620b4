"""How long does it take to go from a word to its passages? Give a corpus directory.

    python benchmarks/passages.py un.corpus

Looks up the twenty most frequent words and eighty drawn at random, in all slices and
in the middle one, and prints the median and the slowest time.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import driftword as dw
from machine import describe


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    corpus = dw.Corpus.open(sys.argv[1])
    corpus.passages(corpus.words[0])
    rng = np.random.default_rng(0)
    seconds = []
    for word in [*corpus.words[:20], *rng.choice(corpus.words, 80)]:
        for at in (None, corpus.slices.labels[len(corpus.slices) // 2]):
            begin = time.perf_counter()
            corpus.passages(str(word), at=at)
            seconds.append(time.perf_counter() - begin)
    print(f"{len(seconds)} look-ups: median {np.median(seconds):.3f} s, slowest {max(seconds):.3f} s")


if __name__ == "__main__":
    main()
