"""How the Triton kernels are started: shapes, sizes of tiles, warps."""

from __future__ import annotations

from typing import Any, Final

import torch
import triton
from torch import Tensor

from driftword.engines import triton_kernels as kernels
from driftword.engines.rounds import Step
from driftword.engines.torch_blocks import Layout

SMALLEST: Final = 16  # side of a matrix product
TOKENS: Final = 32  # that a step of a loop takes
LANES: Final = 512  # columns of the prior that a program works on at a time
WARPS: Final = 4  # that do it
PROGRAMS: Final = 132 * 16  # that a large GPU runs at once
SCORED_ROWS: Final = 8  # Triton 3.6 fails on more


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
        TOKENS=TOKENS, PRECISION=precision, **{"num_warps": min(max(_tile(dim) // 16, 4), 16), **options},
    )  # fmt: skip


def smooth(rho: Tensor, squares: Tensor, step: Step) -> None:
    """Solve the systems of all words and dimensions."""
    slices, size = len(rho), rho[0].numel()
    tiles = triton.cdiv(size, LANES)
    programs = min(tiles, PROGRAMS)
    scratch = torch.empty(programs * slices * LANES, device=rho.device)
    kernels.smooth[(programs,)](
        rho, squares, scratch, size, tiles, slices, 1 / step.learning_rate, step.drift, step.anchor, LANES=LANES,
        num_warps=WARPS,
    )  # fmt: skip


def score(rho: Tensor, alpha: Tensor, text: dict[str, Tensor], *, drawn: Tensor, reach: int) -> tuple[Tensor, Tensor]:
    """Return log s(eta) of each word of `text` and the summed log s(-eta) of its negatives."""
    _, words, dim = rho.shape
    count, negatives = drawn.shape
    positive, negative = torch.empty(2, count, device=rho.device)
    kernels.score[(triton.cdiv(count, SCORED_ROWS),)](
        rho, alpha, text["ids"], text["place"], text["slice_of"], text["low"], text["high"], drawn, positive, negative,
        count, words, REACH=reach, NEGATIVES=negatives, DIM=dim, WIDTH=_tile(dim), ROWS=SCORED_ROWS, num_warps=4,
    )  # fmt: skip
    return positive, negative


def _tile(count: int) -> int:
    return max(SMALLEST, triton.next_power_of_2(count))
