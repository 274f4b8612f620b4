"""The parameters that an engine fits, how they start, and how a static model becomes one with slices.

Where a model has intercepts, they are the last column of `rho`, in units of `INTERCEPT_UNIT`,
and every context has that number there. So an intercept is learned as any other number of an
embedding is. The unit makes its steps longer: intercepts are large, beside other numbers.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from driftword.basics import randomness
from driftword.basics.process import available_cores

Floats = npt.NDArray[np.floating[Any]]

INTERCEPT_UNIT: Final = 5.0
DRAWN_AT_ONCE: Final = 1 << 16  # random numbers that a thread draws, which its cache holds


class Table(NamedTuple):
    """Parameters and their Adagrad accumulators: arrays or tensors."""

    values: Any
    accumulator: Any

    def by_slice(self) -> Table:
        """Return both with slices as their first axis."""
        return Table(by_slice(self.values), by_slice(self.accumulator))


@dataclass
class Parameters:
    """Embeddings, context vectors, and their Adagrad accumulators.

    Every vector has one accumulator, the sum of the mean squares of its gradients; an intercept has its own.
    """

    rho: Floats  # (T, V, K), or (T, V, K + 1) with intercepts
    alpha: Floats  # (V, K), or (T, V, K) where context vectors drift too
    rho_accumulator: Floats  # (T, V, 1), or (T, V, 2) with intercepts
    alpha_accumulator: Floats  # (V, 1), or (T, V, 1)

    @property
    def has_intercepts(self) -> bool:
        """Whether the last column of `rho` holds intercepts."""
        return bool(self.rho.shape[-1] > self.alpha.shape[-1])

    def are_of(self, n_slices: int, n_words: int, dim: int) -> bool:
        """Tell whether the arrays have the shapes of a model with so many slices; of a static one, too."""
        shapes: dict[str, set[tuple[int, ...]]] = {
            "rho": {(t, n_words, dim + intercept) for t in (1, n_slices) for intercept in (0, 1)},
            "alpha": {(n_words, dim), (n_slices, n_words, dim)},
        }
        return all(
            values.dtype.kind == accumulator.dtype.kind == "f"
            and values.shape in shapes[name]
            and accumulator.shape == (*values.shape[:-1], values.shape[-1] - dim + 1)
            for name, (values, accumulator) in ((name, self.table(name)) for name in shapes)
        )

    def table(self, name: str) -> Table:
        """Return `rho` or `alpha` with its accumulators."""
        return Table(getattr(self, name), getattr(self, f"{name}_accumulator"))

    def astype(self, dtype: npt.DTypeLike) -> Parameters:
        """Return the parameters in another precision; arrays that have it already are shared, not copied."""
        return Parameters(*(values.astype(dtype, copy=False) for values in vars(self).values()))


def initial_parameters(
    n_words: int,
    dim: int,
    *,
    seed: int,
    initial_scale: float,
    initial_accumulator: float,
    intercepts: Floats | None = None,
    dtype: type[np.floating[Any]] = np.float64,
) -> Parameters:
    """Draw the initial parameters of a static model: small Gaussian numbers, the same on every machine.

    A model with intercepts begins with those given, one for each word.
    """
    numbers = np.empty((2, n_words, dim), dtype=dtype)
    _draw(numbers.reshape(-1), initial_scale, randomness.key(seed, "initial"))
    rho, alpha = numbers[:1], numbers[1]
    if intercepts is not None:
        rho = np.concatenate([rho, (intercepts[None, :, None] / INTERCEPT_UNIT).astype(dtype)], axis=2)
    return Parameters(rho, alpha, *accumulators(rho, alpha, initial_accumulator))


def accumulators(rho: Any, alpha: Any, initial: float) -> tuple[Floats, Floats]:
    """Return new Adagrad accumulators of embeddings and context vectors."""
    dim = alpha.shape[-1]
    of_rho, of_alpha = (np.full((*a.shape[:-1], a.shape[-1] - dim + 1), initial, a.dtype) for a in (rho, alpha))
    return of_rho, of_alpha


def _draw(numbers: Floats, scale: float, key: int) -> None:
    """Fill an array with normal random numbers, the same however many threads draw them."""

    def draw(begin: int) -> None:
        counters = np.arange(begin, min(begin + DRAWN_AT_ONCE, len(numbers)))
        one, other = randomness.uniform(key, 2 * counters), randomness.uniform(key, 2 * counters + 1)
        # Box and Muller
        numbers[counters[0] : counters[-1] + 1] = scale * (np.sqrt(-2 * np.log1p(-one)) * np.cos(2 * np.pi * other))

    with ThreadPoolExecutor(available_cores()) as threads:  # NumPy lets them run side by side
        list(threads.map(draw, range(0, len(numbers), DRAWN_AT_ONCE)))


def join_intercepts(rho: Floats, intercepts: Floats | None) -> Floats:
    """Return embeddings as engines keep them: with intercepts in their last column, if there are any."""
    if intercepts is None:
        return rho
    rho = np.broadcast_to(rho, (len(intercepts), *rho.shape[1:]))  # they may move where embeddings do not
    return np.concatenate([rho, (intercepts / INTERCEPT_UNIT)[..., None].astype(rho.dtype)], axis=-1)


def split_intercepts(rho: npt.NDArray[Any], dim: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Return embeddings and intercepts apart, from how engines keep them."""
    return (rho, None) if rho.shape[-1] == dim else (rho[..., :dim], rho[..., dim] * INTERCEPT_UNIT)


def by_slice(alpha: Any) -> Any:
    """Return context vectors with slices as their first axis: one, where they are the same in all."""
    return alpha if alpha.ndim == 3 else alpha[None]


def broadcast(static: Parameters, n_slices: int, initial_accumulator: float, *, contexts: bool = False) -> Parameters:
    """Give every slice the static embeddings, and reset the Adagrad accumulators; on request context vectors too."""
    rho = np.repeat(static.rho, n_slices, axis=0)
    alpha = np.repeat(static.alpha[None], n_slices, axis=0) if contexts else static.alpha
    return Parameters(rho, alpha, *accumulators(rho, alpha, initial_accumulator))
