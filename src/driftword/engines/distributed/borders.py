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

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from driftword.engines.torch.steps import DevicePrior

WORDS: Final = 1 << 10  # that are sent at a time: the next process works on them meanwhile


@dataclass(frozen=True)
class Equations:
    """What is left of a part of the chain: x is a number of an embedding in its first or in its last slice.

    The last one: pivot x = target + far (x before the part) + (step out of the part) (x after it).
    The first one: pivot x = target + far (x after the part) + (step into the part) (x before it).
    """

    last: Tensor  # (3, V, C) in float64: pivot, target, far
    first: Tensor

    @classmethod
    def join(cls, parts: Sequence[Equations]) -> Equations:
        """Return those of several ranges of words as one."""
        if len(parts) == 1:
            return parts[0]
        return cls(torch.cat([part.last for part in parts], 1), torch.cat([part.first for part in parts], 1))

    def of_words(self, low: int, high: int) -> tuple[Tensor, Tensor]:
        """Return both for some words."""
        return self.last[:, low:high], self.first[:, low:high]


def eliminate(
    values: Tensor,
    accumulator: Tensor,
    prior: DevicePrior,
    slices: tuple[int, int],
    *,
    learning_rate: float,
    threads: int = 1,
) -> Equations:
    """Eliminate the inside of a part of a chain.

    Parameters
    ----------
    values, accumulator
        Embeddings and Adagrad accumulators, ``(T, V, C)``; with the slices just outside the part, where there are any.
    prior
        The prior of these slices.
    slices
        The first slice of the part, and the one after its last.
    learning_rate
        Of the step.
    threads
        How many work on it where there is no GPU.
    """
    first, end = slices
    shape = (3, *values.shape[1:])
    if values.device.type == "cpu":
        from driftword.engines.distributed import border_kernels

        last_equation, first_equation = (torch.empty(shape, dtype=torch.float64) for _ in range(2))
        factors = np.ones((len(values) + 1, 1), np.float32) if prior.factors is None else prior.factors.numpy()

        def of_words(low: int, high: int) -> None:
            border_kernels.eliminate(
                values.numpy(), accumulator.numpy(), low, high, first, end, 1 / learning_rate,
                prior.precision.numpy(), prior.walk.numpy(), factors, prior.dim, last_equation.numpy(),
                first_equation.numpy(),
            )  # fmt: skip

        borders = [shape[1] * part // (4 * threads) for part in range(4 * threads + 1)]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(of_words, borders[:-1], borders[1:]))
        return Equations(last_equation, first_equation)
    return Equations(
        sweep(values, accumulator, prior, range(first, end), learning_rate),
        sweep(values, accumulator, prior, range(end - 1, first - 1, -1), learning_rate),
    )


def sweep(values: Tensor, accumulator: Tensor, prior: DevicePrior, slices: range, learning_rate: float) -> Tensor:
    """Eliminate slice after slice; return pivot, target and far of the last one."""
    forward = slices.step > 0
    pivot = target = far = excess = torch.zeros((), dtype=torch.float64, device=values.device)
    for t in slices:
        behind = prior.step_into(t if forward else t + 1).double()
        ahead = prior.step_into(t + 1 if forward else t).double()
        metric = accumulator[t].double().sqrt() / learning_rate
        if t == slices.start:
            carried, far = behind, behind.expand_as(metric)
        else:
            carried, target, far = behind * excess / pivot, behind / pivot * target, behind / pivot * far
        excess = metric + prior.precision[t] + carried
        pivot = excess + ahead
        target = target + metric * values[t]
    return torch.stack([pivot, target, far])


def solve(
    equations: Equations,
    into: Tensor | None,
    out_of: Tensor | None,
    *,
    send: Callable[[Tensor, int], None],
    receive: Callable[[Tensor, int], None],
) -> tuple[Tensor | None, Tensor | None]:
    """Return the new embeddings of the slice before the part and of that after it; all processes call this together.

    Parameters
    ----------
    equations
        What `eliminate` returned.
    into, out_of
        Precision of the step into the part and out of it, ``(C,)`` or ``(V, C)``; None at an end of the chain.
    send, receive
        How a process sends numbers to the next one (1) or the one before (-1), and receives from there.
    """
    _, n_words, columns = equations.last.shape
    ranges = [(low, min(low + WORDS, n_words)) for low in range(0, n_words, WORDS)]
    like = equations.last
    before = None if into is None else torch.empty(2, n_words, columns, dtype=torch.float32, device=like.device)
    after = None if out_of is None else torch.empty(n_words, columns, dtype=torch.float32, device=like.device)

    # x of the last slice before the part is (offset + slope * x of the first slice in it); 1 - slope is sent.
    for low, high in ranges:
        (p, r, c), (q, s, d) = equations.of_words(low, high)
        offset = slope = torch.zeros((), dtype=torch.float64, device=like.device)
        if before is not None:
            message = torch.empty(2, high - low, columns, dtype=torch.float32, device=like.device)
            receive(message, -1)
            before[:, low:high] = message
            offset, slope = message[0].double(), 1 - message[1].double()
        if out_of is not None:
            b = 0.0 if into is None else _of_words(into, low, high)
            pivot = q - b * slope
            own_offset = (r + c * (offset + slope * (b * offset + s) / pivot)) / p
            own_slope = (_of_words(out_of, low, high) + c * slope * d / pivot) / p
            send(torch.stack([own_offset, 1 - own_slope]).float(), 1)
    for low, high in ranges:
        _, (q, s, d) = equations.of_words(low, high)
        right = s
        if after is not None:
            message = torch.empty(high - low, columns, dtype=torch.float32, device=like.device)
            receive(message, 1)
            after[low:high] = message
            right = s + d * message
        if before is not None:
            b = _of_words(into, low, high)  # type: ignore[arg-type]
            offset, slope = before[0, low:high].double(), 1 - before[1, low:high].double()
            first = (right + b * offset) / (q - b * slope)
            send(first.float(), -1)
            before[0, low:high] = offset + slope * first
    return (None if before is None else before[0]), after


def _of_words(step: Tensor, low: int, high: int) -> Tensor:
    return (step[low:high] if step.ndim == 2 else step).double()
