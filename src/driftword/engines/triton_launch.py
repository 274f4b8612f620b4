"""How the Triton kernels are launched: shapes, tile sizes, warps. Each function has a twin in `torch_steps`."""

from __future__ import annotations

from typing import Any, Final

import torch
import triton
from torch import Tensor

from driftword.engines import triton_kernels as kernels
from driftword.engines.parameters import INTERCEPT_UNIT
from driftword.engines.rounds import Step
from driftword.engines.torch_blocks import BlockBatch, ScoringBatch
from driftword.engines.torch_steps import DevicePrior

MIN_TILE: Final = 16  # smallest side of a matrix product
TOKENS: Final = 32  # that an iteration of a loop takes
COLUMNS: Final = 512  # of the prior's systems that a program solves at a time
PRIOR_WARPS: Final = 4
PRIOR_PROGRAMS: Final = 132 * 16  # that a large GPU runs at once
SCORING_ROWS: Final = 8  # Triton 3.6 fails on more


def likelihood_step(
    rho_and_accumulator: tuple[Tensor, Tensor],
    alpha_and_accumulator: tuple[Tensor, Tensor],
    batch: BlockBatch,
    blocks: tuple[int, int],
    step: Step,
    *,
    totals: Tensor,
    precision: str,
    **options: Any,
) -> None:
    """Take the Adagrad step of blocks low..high-1 of a batch at once; write the log-likelihood of each to `totals`."""
    _, words, columns = rho_and_accumulator[0].shape
    dim = alpha_and_accumulator[0].shape[1]
    low, high = blocks
    kernels.likelihood_step[(high - low,)](
        *rho_and_accumulator, *alpha_and_accumulator, batch.row_word, batch.row_offsets, batch.token_word,
        batch.token_rows, batch.token_offsets, batch.slice_of, batch.negatives, totals, low, words,
        step.learning_rate, step.negatives / step.pool, INTERCEPT_UNIT if columns > dim else 0.0,
        DIM=dim, COLUMNS=columns, WIDTH=_tile(columns), ROWS=_tile(batch.max_rows), POOL=step.pool,
        POOL_WIDTH=_tile(step.pool), TOKENS=TOKENS, PRECISION=precision,
        **{"num_warps": min(max(_tile(columns) // 16, 4), 16), **options},
    )  # fmt: skip


def random_walk_step(rho: Tensor, accumulator: Tensor, prior: DevicePrior, *, learning_rate: float) -> None:
    """Take the proximal step of the random walk for all words and dimensions."""
    slices, size = len(rho), rho[0].numel()
    tiles = triton.cdiv(size, COLUMNS)
    programs = min(tiles, PRIOR_PROGRAMS)
    scratch = torch.empty(programs * slices * COLUMNS, device=rho.device)
    kernels.random_walk_step[(programs,)](
        rho, accumulator, scratch, size, tiles, slices, 1 / learning_rate, prior.precision, prior.walk, rho.shape[2],
        COLUMNS=COLUMNS, num_warps=PRIOR_WARPS,
    )  # fmt: skip


def score(rho: Tensor, alpha: Tensor, batch: ScoringBatch, *, half_window: int) -> tuple[Tensor, Tensor]:
    """Return log sigmoid(eta) of each word, and the summed log sigmoid(-eta) of its negatives."""
    _, words, columns = rho.shape
    dim = alpha.shape[1]
    count, negatives = batch.negatives.shape
    positive, negative = torch.empty(2, count, device=rho.device)
    kernels.score[(triton.cdiv(count, SCORING_ROWS),)](
        rho, alpha, batch.ids, batch.index, batch.slice_of, batch.chunk_begin, batch.chunk_end, batch.negatives,
        positive, negative, count, words, INTERCEPT_UNIT if columns > dim else 0.0, HALF_WINDOW=half_window,
        NEGATIVES=negatives, DIM=dim, COLUMNS=columns, WIDTH=_tile(columns), ROWS=SCORING_ROWS, num_warps=4,
    )  # fmt: skip
    return positive, negative


def _tile(count: int) -> int:
    """Return the side of a tile that holds `count` numbers."""
    return max(MIN_TILE, triton.next_power_of_2(count))
