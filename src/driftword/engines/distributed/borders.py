"""The prior of a chain of slices that several processes share, each with some adjacent slices.

The proximal step of the prior is one tridiagonal system over all slices. Every process
eliminates the inside of its own part (`eliminate`), which leaves two equations: one of its
first slice, one of its last. Those of all processes are solved from the first process to
the last and back, with two numbers for each number of an embedding sent one way and one
the other (`solve`). Then every process knows the new embeddings of the slices just outside
its part, and its own follow by the usual step. That is the solution of the whole system,
not an approximation.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
import torch
from torch import Tensor

from driftword.engines.parameters import Table
from driftword.engines.torch.steps import DevicePrior, by_column

WORDS: Final = 1 << 10  # that are sent at a time: the next process works on them meanwhile


def eliminate(
    table: Table, prior: DevicePrior, slices: tuple[int, int], *, learning_rate: float, threads: int = 1
) -> Tensor:
    """Eliminate the inside of a part of a chain: of slices first..end-1 of a table ``(T, V, C)``.

    The table has the slices just outside the part too, where there are any; `prior` is that of all its slices. What is
    left are two equations for every number of an embedding, ``(2, 3, V, C)`` in float64. The first one is about x in
    the last slice of the part, the second about x in its first slice, and each has three coefficients:

    - pivot x = target + far (x before the part) + (step out of the part) (x after it),
    - pivot x = target + far (x after the part) + (step into the part) (x before it).
    """
    first, end = slices
    if table.values.device.type != "cpu":
        ways = range(first, end), range(end - 1, first - 1, -1)
        return torch.stack([sweep(table, prior, way, learning_rate) for way in ways])
    from driftword.engines.distributed import border_kernels

    n_words = table.values.shape[1]
    equations = np.empty((2, 3, *table.values.shape[1:]))
    factors = np.ones((len(table.values) + 1, 1), np.float32) if prior.factors is None else prior.factors.numpy()
    arrays, precision, walk = Table(*(a.numpy() for a in table)), prior.precision.numpy(), prior.walk.numpy()

    def of_words(low: int, high: int) -> None:
        border_kernels.eliminate(
            arrays, low, high, first, end, 1 / learning_rate, precision, walk, factors, prior.dim, equations
        )

    borders = [n_words * part // (4 * threads) for part in range(4 * threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(of_words, borders[:-1], borders[1:]))
    return torch.from_numpy(equations)


def sweep(table: Table, prior: DevicePrior, slices: range, learning_rate: float) -> Tensor:
    """Eliminate slice after slice; return pivot, target and far of the last one."""
    forward = slices.step > 0
    pivot = target = far = excess = torch.zeros((), dtype=torch.float64, device=table.values.device)
    for t in slices:
        behind = prior.step_into(t if forward else t + 1).double()
        ahead = prior.step_into(t + 1 if forward else t).double()
        metric = by_column(table.accumulator[t].double().sqrt() / learning_rate, prior.dim, table.values.shape[2])
        if t == slices.start:
            carried, far = behind, behind.expand_as(table.values[t])
        else:
            carried, target, far = behind * excess / pivot, behind / pivot * target, behind / pivot * far
        excess = metric + prior.precision[t] + carried
        pivot = excess + ahead
        target = target + metric * table.values[t]
    return torch.stack([pivot.expand_as(target), target, far])


def solve(
    equations: Tensor,
    into: Tensor | None,
    out_of: Tensor | None,
    *,
    send: Callable[[Tensor, int], None],
    receive: Callable[[Tensor, int], None],
) -> tuple[Tensor | None, Tensor | None]:
    """Return the new embeddings of the slice before the part and of that after it; all processes call this together.

    `equations` are what `eliminate` returned; `into` and `out_of` are the precision of the step into the part and out
    of it, ``(C,)`` or ``(V, C)``, None at an end of the chain. A process sends numbers to the next one (1) or the one
    before (-1), and receives from there.
    """
    device, (n_words, columns) = equations.device, equations.shape[2:]
    ranges = [slice(low, min(low + WORDS, n_words)) for low in range(0, n_words, WORDS)]
    before = None if into is None else torch.empty(2, n_words, columns, device=device)
    after = None if out_of is None else torch.empty(n_words, columns, device=device)

    def of_words(step: Tensor | None, words: slice) -> Tensor:
        assert step is not None
        return (step[words] if step.ndim == 2 else step).double()

    # x of the last slice before the part is (offset + slope * x of the first slice in it); 1 - slope is sent.
    for words in ranges:
        (p, r, c), (q, s, d) = equations[:, :, words]
        offset = slope = torch.zeros((), dtype=torch.float64, device=device)
        if before is not None:
            message = torch.empty_like(before[:, words])
            receive(message, -1)
            before[:, words] = message
            offset, slope = message[0].double(), 1 - message[1].double()
        if out_of is not None:
            b = 0.0 if into is None else of_words(into, words)
            pivot = q - b * slope
            own_offset = (r + c * (offset + slope * (b * offset + s) / pivot)) / p
            own_slope = (of_words(out_of, words) + c * slope * d / pivot) / p
            send(torch.stack([own_offset, 1 - own_slope]).float(), 1)
    for words in ranges:
        q, s, d = equations[1, :, words]
        right = s
        if after is not None:
            message = torch.empty_like(after[words])
            receive(message, 1)
            after[words] = message
            right = s + d * message
        if before is not None:
            b = of_words(into, words)
            offset, slope = before[0, words].double(), 1 - before[1, words].double()
            first = (right + b * offset) / (q - b * slope)
            send(first.float(), -1)
            before[0, words] = offset + slope * first
    return (None if before is None else before[0]), after
