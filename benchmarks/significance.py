"""How a test of all words gets faster with more threads: seconds, efficiency, and whether the table is the same.

    python benchmarks/significance.py un.model
    python benchmarks/significance.py un.model --threads 1,8,16 --dask

Efficiency is the time of the first number of threads, times that number, over the time and number of another. All of it
counts: reading the text, starting processes, testing. The fit without dates that a test begins with is made before, and
kernels are compiled. Where a row has another table than the first, the script ends with status 1.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import driftword as dw
from driftword.basics.progress import Progress
from driftword.inference import word_tests
from driftword.inference.designs import times_compared
from driftword.inference.word_tests import TestDesign


def main() -> None:
    """Measure one number of threads after the other, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--corpus", help="by default where it was when the model was fitted")
    parser.add_argument("--threads", default="1,2,4,8,16")
    parser.add_argument("--dask", action="store_true", help="also on a local cluster, which takes all cores")
    arguments = parser.parse_args()
    model = dw.Model.open(arguments.model)
    corpus = dw.Corpus.open(arguments.corpus or model.provenance.corpus_path)
    measure(model, corpus, [int(n) for n in arguments.threads.split(",")], dask=arguments.dask)


def measure(model: dw.Model, corpus: dw.Corpus, numbers: list[int], *, dask: bool = False) -> None:
    """Print a row for each number of threads."""
    design = TestDesign(times_compared(model, None)[0], permutations=1000, seed=0, dated=True)
    words, bar = np.arange(len(model.words)), Progress()
    scores = word_tests.score_documents(model, corpus, design, threads=numbers[-1], bar=bar)
    word_tests.run_tests(scores, words[:: max(len(words) // 256, 1)], design, threads=1, bar=bar)
    print(f"{len(words):,} words, {len(scores.text.ids):,} tokens that a pass sees, {len(model.slices)} slices\n")
    print("| threads | reading | testing | efficiency |\n|---|---|---|---|")
    first, same = None, True
    for number in [*numbers, *["dask"] * dask]:
        began = time.perf_counter()
        if number == "dask":
            read, found = began, word_tests.run_on_cluster(model, corpus, words, design, dask="local", bar=bar)
        else:
            scores = word_tests.score_documents(model, corpus, design, threads=number, bar=bar)
            read = time.perf_counter()
            found = word_tests.run_tests(scores, words, design, threads=number, bar=bar)
        ended = time.perf_counter()
        table = word_tests.results_table(model, found, of_all=True)
        first = first or (number, ended - began, table)
        efficiency = "" if number == "dask" else f"{first[0] * first[1] / (number * (ended - began)):.2f}"
        equal = table.equals(first[2])
        same &= equal
        note = "" if equal else " another table!"
        print(f"| {number} | {read - began:.1f} s | {ended - read:.1f} s | {efficiency}{note} |", flush=True)
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
