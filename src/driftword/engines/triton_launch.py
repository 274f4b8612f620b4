"""How the Triton kernels are started: shapes, sizes of tiles, warps."""

from __future__ import annotations

from typing import Any, Final

import triton
from torch import Tensor

from driftword.engines import triton_kernels as kernels
from driftword.engines.rounds import Step
from driftword.engines.torch_text import Layout

SMALLEST: Final = 16  # side of a matrix product
TOKENS: Final = 32  # that a step of a loop takes
CELLS: Final = 4096  # of a tile of time and columns


def climb(
    values: tuple[Tensor, Tensor],
    shared: tuple[Tensor, Tensor],
    blocks: Layout,
    span: tuple[int, int],
    step: Step,
    *,
    totals: Tensor,
    precision: str,
    **options: Any,
) -> None:
    """Work on some blocks at once."""
    _, words, dim = values[0].shape
    low, high = span
    kernels.climb[(high - low,)](
        *values, *shared, blocks.row_word, blocks.row_first, blocks.token_word, blocks.token_rows, blocks.token_first,
        blocks.slice_of, blocks.negatives, totals, low, words, step.learning_rate, step.negatives / step.pool,
        DIM=dim, WIDTH=_tile(dim), ROWS=_tile(blocks.most_rows), POOL=step.pool, COLUMNS=_tile(step.pool),
        TOKENS=TOKENS, PRECISION=precision, **{"num_warps": 4, **options},
    )  # fmt: skip


def smooth(rho: Tensor, squares: Tensor, step: Step) -> None:
    """Solve the systems of all words and dimensions."""
    slices = len(rho)
    size = rho[0].numel()
    times = triton.next_power_of_2(max(slices, 2))
    lanes = max(CELLS // times, 8)
    kernels.smooth[(triton.cdiv(size, lanes),)](
        rho, squares, size, 1 / step.learning_rate, step.drift, step.anchor, T=slices, TIMES=times, LANES=lanes,
        num_warps=8,
    )  # fmt: skip


def _tile(count: int) -> int:
    return max(SMALLEST, triton.next_power_of_2(count))
