"""Where does the time of a CPU pass go, and how far is it from what the processor could do?

    python benchmarks/roofline.py un.corpus

Every part of a block is timed alone on one thread, with the default options and arrays of the same
sizes that stay in the cache; then whole rounds on the text itself. What the parts do not explain is waiting for
memory, and what is not listed (drawing negatives, gathering rows, copying). The peak is the same matrix product on a
tile that never leaves the first cache, with so many terms that nothing but the products counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from numba import njit

import driftword as dw
import speed
from driftword.engines.cpu import block_kernels as kernels
from driftword.engines.cpu import row_kernels as rows
from driftword.engines.cpu.matmul_kernels import LANES, TILE, add_product, padded
from driftword.engines.cpu.row_kernels import CHUNK
from driftword.engines.parameters import Table
from machine import describe

REPEATS = 2000


# Loops are compiled as a whole: a call from Python takes longer than a part.


@njit(**kernels.FAST)
def _products(n, block, columns, negatives, context, transposed, residual, gradient):  # noqa: PLR0917
    for _ in range(n):
        width = padded(columns, LANES)
        add_product(negatives, transposed, len(negatives), len(context), columns, residual, anew=True)
        add_product(residual.T, negatives, len(context), width, len(negatives), gradient)
        add_product(residual, context, len(negatives), width, block, negatives, anew=True)


@njit(**kernels.FAST)
def _steps(n, gradients, table, words, options):
    for _ in range(n):
        for r in range(len(words)):
            table.accumulator[words[r], 0] += kernels._square(gradients, r, options.dim)
        for r in range(len(words)):
            kernels._step(table, words[r], gradients, r, np.float32(1), options)


@njit(**kernels.FAST)
def _windows(n, vectors, sums, run, found):
    seen = len(vectors)
    half = (seen - run) // 2
    for _ in range(n):
        rows.prefix_sums(sums, 0, vectors, 0, seen)
        for i in range(run):
            rows.window_sum(found, i, sums, i, i + 2 * half + 1, i + half, i + half + 1)
        rows.prefix_sums(sums, 0, vectors, 0, run)
        for j in range(seen):
            rows.window_sum(found, j, sums, max(j - 2 * half, 0), min(j + 1, run), 0, 0)


@njit(**kernels.FAST)
def _sigmoids(n, values):
    for _ in range(n):
        for i in range(values.shape[0]):
            for k in range(values.shape[1]):
                values[i, k] = kernels.sigmoid(values[i, k])


@njit(**kernels.FAST)
def _one_tile(n, left, right, out):
    for _ in range(n):
        add_product(left, right, len(left), right.shape[1], len(right), out)


def microseconds(task: Callable[..., object], *arguments: object) -> float:
    """Return the median time of one call in five tries of many."""
    task(1, *arguments)
    tries = []
    for _ in range(5):
        begin = time.perf_counter()
        task(REPEATS, *arguments)
        tries.append((time.perf_counter() - begin) / REPEATS)
    return 1e6 * float(np.median(tries))


def parts(spec: dw.Spec) -> dict[str, float]:
    """Return microseconds for a word of each part of a block."""
    random = np.random.default_rng(0)

    def numbers(*shape: int) -> np.ndarray:
        return (0.01 * random.normal(size=shape)).astype(np.float32)

    block, pool, run, half, columns = (
        spec.block_size,
        spec.pool_size,
        spec.run_length,
        spec.context // 2,
        spec.dim + spec.intercept,
    )
    width, block_rows, seen = padded(columns, CHUNK), padded(padded(block, LANES), TILE), run + 2 * half
    moved = block + pool + block // run * seen  # rows of both tables that a block moves
    context = numbers(block_rows, width)
    products = microseconds(
        _products, block, columns, numbers(pool, width), context, np.ascontiguousarray(context.T),
        numbers(pool, block_rows), numbers(block_rows, width),
    )  # fmt: skip
    table = Table(numbers(moved, width), np.ones((moved, 1), np.float32))
    step = kernels.Options(half, pool, np.float32(1), np.float32(1e-6), 0, moved, 1, spec.dim, columns, at_once=True)
    steps = microseconds(_steps, numbers(moved, width), table, random.permutation(moved), step)
    windows = microseconds(_windows, numbers(seen, width), numbers(seen + 1, width), run, numbers(seen, width))
    return {
        "three matrix products": products / block,
        f"Adagrad, {moved / block:.0f} rows a word": steps / block,
        "sums over windows": windows / run,
        "sigmoids of negatives": microseconds(_sigmoids, numbers(pool, block_rows)) / block,
    }


def peak() -> float:
    """Return GFLOP/s of the matrix product on one tile."""
    best = 0.0
    for n in (64, 100, 200):
        shapes = ((TILE, n), (n, LANES), (TILE, LANES))
        took = microseconds(_one_tile, *(np.full(shape, 1e-3, np.float32) for shape in shapes))
        best = max(best, 2 * TILE * LANES * n / took / 1e3)
    return best


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    spec, corpus = dw.Spec(), dw.Corpus.open(sys.argv[1])
    print(describe(), end="\n\n")
    found, best = parts(spec), peak()
    flops = 3 * 2 * spec.pool_size * (spec.dim + spec.intercept)
    whole = {}
    for threads in (1, 2):
        costs = (speed.round_cost(corpus, spec, threads=threads) for _ in range(3))
        whole[threads] = np.median([1e6 * cost.likelihood / cost.words for cost in costs])
    print("one thread                  microseconds a word")
    for name, took in found.items():
        print(f"{name:28}{took:9.2f}")
    print(f"{'memory and the rest':28}{whole[1] - sum(found.values()):9.2f}")
    print(f"{'a word of text':28}{whole[1]:9.2f}   ({whole[2]:.2f} with two threads)")
    print(f"\nmatrix products {flops / found['three matrix products'] / 1e3:.0f} GFLOP/s, at the peak {best:.0f};")
    print(f"with nothing else, at the peak, a word would take {flops / best / 1e3:.2f} microseconds")


if __name__ == "__main__":
    main()
