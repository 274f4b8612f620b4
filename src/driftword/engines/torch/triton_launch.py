"""How the Triton kernels are launched: shapes, tile sizes, warps. Each function has a twin in `torch.steps`.

The twin of both `likelihood_step` and `ordered_steps` is `torch.steps.likelihood_step`; they differ in whether the
blocks of a launch see each other's steps.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple

import torch
import triton
from torch import Tensor

from driftword.engines.parameters import INTERCEPT_UNIT, Table
from driftword.engines.rounds import Step
from driftword.engines.torch import triton_kernels as kernels
from driftword.engines.torch.blocks import BlockBatch, DeviceText
from driftword.engines.torch.steps import DevicePrior

MIN_TILE: Final = 16  # smallest side of a matrix product
TOKENS: Final = 32  # that an iteration of a loop takes
COLUMNS: Final = 512  # of the prior's systems that a program solves at a time
REGISTERS: Final = 1 << 16  # of a multiprocessor
PRIOR_WARPS: Final = 4
PRIOR_PROGRAMS: Final = 132 * 16  # that a large GPU runs at once
STEP_CHUNK: Final = 8  # gradients that are added at a time
STEP_WARPS: Final = 1
SCORING_ROWS: Final = 8  # Triton 3.6 fails on more


def likelihood_step(
    rho: Table,
    alpha: Table,
    batch: BlockBatch,
    blocks: tuple[int, int],
    step: Step,
    *,
    totals: Tensor,
    precision: str,
    gradients: tuple[Tensor, Tensor] | None = None,
    first_negative: int = 0,
) -> None:
    """Take the Adagrad step of blocks low..high-1 of a batch at once; write the log-likelihood of each to `totals`.

    Where there are `gradients`, no step is taken: those of rho and of alpha are written there instead.
    """
    _, words, columns = rho.values.shape
    dim = alpha.values.shape[-1]
    low, high = blocks
    warps = min(max(_tile(columns) // 16, 4), 16)
    # Two programs share a multiprocessor if neither takes more than half of its registers. Stages would take memory.
    registers = min(REGISTERS // (2 * 32 * warps), 255)
    kernels.likelihood_step[(high - low,)](
        rho, alpha, batch, totals, gradients or (totals, totals), first_negative, low, words,
        _alpha_stride(alpha.values), step.learning_rate, step.negatives / step.pool_size,
        INTERCEPT_UNIT if columns > dim else 0.0, step.frozen,
        DIM=dim, COLUMNS=columns, WIDTH=_tile(columns), ROWS=_tile(batch.max_rows), POOL=step.pool_size,
        POOL_WIDTH=_tile(step.pool_size), TOKENS=TOKENS, PRECISION=precision, WRITE_DOWN=gradients is not None,
        num_warps=warps, num_stages=1, maxnreg=registers,
    )  # fmt: skip


def ordered_steps(
    rho: Table, alpha: Table, batch: BlockBatch, waves: list[int], step: Step, *, totals: Tensor, precision: str
) -> None:
    """Take the steps of a batch wave by wave, always in the same order; write the log-likelihood of each block.

    `waves` are the borders between them, as numbers of blocks. Each wave writes its gradients down, those of rho for
    rows and then for negatives; then every row of a table takes one step, by the sum of its gradients.
    """
    device, words = batch.slice_of.device, rho.values.shape[1]
    rows, tokens = batch.row_offsets.long(), batch.token_offsets.long()
    borders = torch.tensor(waves, device=device)
    wave_of = torch.repeat_interleave(torch.arange(len(waves) - 1, device=device), torch.diff(borders))  # (blocks,)
    most_rows, most_tokens = (int(torch.diff(offsets[borders]).max()) for offsets in (rows, tokens))
    most_blocks = max(b - a for a, b in pairwise(waves))

    block = torch.arange(len(wave_of), device=device)
    row_block, token_block = (torch.repeat_interleave(block, torch.diff(offsets)) for offsets in (rows, tokens))
    negative_block = block.repeat_interleave(step.pool_size)
    first_row = batch.slice_of.long() * words  # of the table, in the slice of each block
    own = torch.arange(len(row_block), device=device) - rows[borders[wave_of]][row_block]
    drawn = torch.arange(len(negative_block), device=device) - step.pool_size * borders[wave_of][negative_block]
    rho_rows, rho_borders = _moved_rows(
        torch.cat([first_row[row_block] + batch.row_word, first_row[negative_block] + batch.negatives.flatten()]),
        torch.cat([wave_of[row_block], wave_of[negative_block]]),
        torch.cat([own, most_rows + drawn]),
        count=len(rho.values) * words,
        waves=len(waves) - 1,
    )
    place = torch.arange(len(token_block), device=device) - tokens[borders[wave_of]][token_block]
    token_row = batch.token_word.long()
    if alpha.values.ndim == 3:
        token_row += first_row[token_block]
    count = alpha.values[..., 0].numel()
    alpha_rows, alpha_borders = _moved_rows(token_row, wave_of[token_block], place, count=count, waves=len(waves) - 1)

    gradients = (
        torch.empty(most_rows + most_blocks * step.pool_size, rho.values.shape[2], device=device),
        torch.empty(most_tokens, alpha.values.shape[-1], device=device),
    )
    for wave, blocks in enumerate(pairwise(waves)):
        likelihood_step(
            rho,
            alpha,
            batch,
            blocks,
            step,
            totals=totals,
            precision=precision,
            gradients=gradients,
            first_negative=most_rows,
        )
        for table, moved, own_borders, own_gradients, frozen in (
            (rho, rho_rows, rho_borders, gradients[0], 0),
            (alpha, alpha_rows, alpha_borders, gradients[1], step.frozen),
        ):
            first, end = own_borders[wave : wave + 2]
            columns = own_gradients.shape[1]
            kernels.take_steps[(end - first,)](
                table, moved, own_gradients, first, table.values.shape[-2], step.learning_rate, frozen,
                DIM=alpha.values.shape[-1], COLUMNS=columns, WIDTH=_tile(columns), CHUNK=STEP_CHUNK,
                num_warps=STEP_WARPS,
            )  # fmt: skip


class MovedRows(NamedTuple):
    """The rows that move, wave after wave, and where their gradients stand, in the order of blocks."""

    rows: Tensor  # (n,) of a table of parameters
    offsets: Tensor  # (n + 1,)
    places: Tensor  # (gradients,) row n has those at places[offsets[n] : offsets[n + 1]]


def _moved_rows(row: Tensor, wave: Tensor, place: Tensor, *, count: int, waves: int) -> tuple[MovedRows, list[int]]:
    """Gather equal rows of a wave, of `count` rows that there are; return also where those of each wave begin."""
    key = wave * count + row
    key, order = torch.sort(key.int() if waves * count < 1 << 31 else key, stable=True)
    starts = torch.nonzero(torch.diff(key, prepend=key.new_tensor([-1])))[:, 0]
    first = key[starts]
    borders = torch.searchsorted(first, torch.arange(waves + 1, device=key.device) * count)
    offsets = torch.cat([starts, starts.new_tensor([len(key)])])
    return MovedRows(first.long() % count, offsets, place[order].int()), borders.tolist()


def prior_step(table: Table, prior: DevicePrior, *, learning_rate: float) -> None:
    """Take the proximal step of the prior for all words and dimensions."""
    slices, size, row = len(table.values), table.values[0].numel(), table.values.shape[2]
    tiles = triton.cdiv(size, COLUMNS)
    programs = min(tiles, PRIOR_PROGRAMS)
    scratch = torch.empty(programs * slices * COLUMNS, device=table.values.device)
    kernels.prior_step[(programs,)](
        table, scratch, size, tiles, slices, 1 / learning_rate, prior, row, ACCUMULATORS=table.accumulator.shape[2],
        COLUMNS=COLUMNS, BY_WORD=prior.factors is not None, num_warps=PRIOR_WARPS,
    )  # fmt: skip


def score(
    rho: Tensor, alpha: Tensor, text: DeviceText, negatives: Tensor, *, half_window: int
) -> tuple[Tensor, Tensor]:
    """Return log sigmoid(eta) of each word, and the summed log sigmoid(-eta) of its negatives."""
    _, words, columns = rho.shape
    dim = alpha.shape[-1]
    count, n_negatives = negatives.shape
    positive, negative = torch.empty(2, count, device=rho.device)
    kernels.score[(triton.cdiv(count, SCORING_ROWS),)](
        rho, alpha, text, negatives, positive, negative, count, words, _alpha_stride(alpha),
        INTERCEPT_UNIT if columns > dim else 0.0, HALF_WINDOW=half_window, NEGATIVES=n_negatives, DIM=dim,
        COLUMNS=columns, WIDTH=_tile(columns), ROWS=SCORING_ROWS, num_warps=4,
    )  # fmt: skip
    return positive, negative


def _alpha_stride(alpha: Tensor) -> int:
    """Return how far apart the context vectors of adjacent slices are; 0 where all slices share them."""
    return alpha.shape[-2] * alpha.shape[-1] if alpha.ndim == 3 else 0


def _tile(count: int) -> int:
    """Return the side of a tile that holds `count` numbers."""
    return max(MIN_TILE, triton.next_power_of_2(count))
