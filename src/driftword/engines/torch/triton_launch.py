"""How the Triton kernels are launched: shapes, tile sizes, warps. Each function has a twin in `torch_steps`.

The twin of both `likelihood_step` and `OrderedSteps` is `torch_steps.likelihood_step`; they differ in whether the
blocks of a launch see each other's steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import torch
import triton
from torch import Tensor

from driftword.engines.parameters import INTERCEPT_UNIT
from driftword.engines.rounds import Step
from driftword.engines.torch import triton_kernels as kernels
from driftword.engines.torch.blocks import BlockBatch, ScoringBatch
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
    rho_and_accumulator: tuple[Tensor, Tensor],
    alpha_and_accumulator: tuple[Tensor, Tensor],
    batch: BlockBatch,
    blocks: tuple[int, int],
    step: Step,
    *,
    totals: Tensor,
    precision: str,
    gradients: tuple[Tensor, Tensor] | None = None,
    first_negative: int = 0,
    **options: Any,
) -> None:
    """Take the Adagrad step of blocks low..high-1 of a batch at once; write the log-likelihood of each to `totals`.

    Where there are `gradients`, no step is taken: those of rho and of alpha are written there instead.
    """
    _, words, columns = rho_and_accumulator[0].shape
    dim = alpha_and_accumulator[0].shape[-1]
    low, high = blocks
    warps = min(max(_tile(columns) // 16, 4), 16)
    # Two programs share a multiprocessor if neither takes more than half of its registers. Stages would take memory.
    options = {"num_warps": warps, "num_stages": 1, "maxnreg": min(REGISTERS // (2 * 32 * warps), 255), **options}
    kernels.likelihood_step[(high - low,)](
        *rho_and_accumulator, *alpha_and_accumulator, batch.row_word, batch.row_offsets, batch.token_word,
        batch.token_rows, batch.token_offsets, batch.slice_of, batch.negatives, totals,
        *(gradients or (totals, totals)), first_negative, low, words, _alpha_stride(alpha_and_accumulator[0]),
        step.learning_rate, step.negatives / step.pool_size, INTERCEPT_UNIT if columns > dim else 0.0, step.frozen,
        DIM=dim, COLUMNS=columns, WIDTH=_tile(columns), ROWS=_tile(batch.max_rows), POOL=step.pool_size,
        POOL_WIDTH=_tile(step.pool_size), TOKENS=TOKENS, PRECISION=precision, WRITE_DOWN=gradients is not None,
        **options,
    )  # fmt: skip


class OrderedSteps:
    """Takes the steps of a batch wave by wave, always in the same order."""

    def __init__(self, batch: BlockBatch, waves: list[int], *, pool: int, rho: Tensor, alpha: Tensor) -> None:
        """`waves` are the borders between them, as numbers of blocks."""
        self._batch, self._waves = batch, waves
        count = waves[-1]
        device = rho.device
        borders = torch.tensor(waves, device=device)
        wave_of = torch.repeat_interleave(torch.arange(len(waves) - 1, device=device), torch.diff(borders))  # (blocks,)
        rows, tokens = batch.row_offsets.long(), batch.token_offsets.long()
        self._most_rows = int(torch.diff(rows[borders]).max())
        most_tokens = int(torch.diff(tokens[borders]).max())
        most_blocks = max(b - a for a, b in pairwise(waves))

        slice_of, words = batch.slice_of.long() * rho.shape[1], rho.shape[1]
        row_block = torch.repeat_interleave(torch.arange(count, device=device), torch.diff(rows))
        token_block = torch.repeat_interleave(torch.arange(count, device=device), torch.diff(tokens))
        negative_block = torch.arange(count, device=device).repeat_interleave(pool)
        own = torch.arange(len(row_block), device=device) - rows[borders[wave_of]][row_block]
        drawn = torch.arange(len(negative_block), device=device) - pool * borders[wave_of][negative_block]
        self._rho = _WaveRows.make(
            torch.cat([slice_of[row_block] + batch.row_word, slice_of[negative_block] + batch.negatives.flatten()]),
            torch.cat([wave_of[row_block], wave_of[negative_block]]),
            torch.cat([own, self._most_rows + drawn]),
            count=len(rho) * words,
            waves=len(waves) - 1,
        )
        place = torch.arange(len(token_block), device=device) - tokens[borders[wave_of]][token_block]
        token_row = batch.token_word.long()
        if alpha.ndim == 3:
            token_row += slice_of[token_block]
        self._alpha = _WaveRows.make(
            token_row, wave_of[token_block], place, count=alpha[..., 0].numel(), waves=len(waves) - 1
        )
        self._gradients = (
            torch.empty(self._most_rows + most_blocks * pool, rho.shape[2], device=device),
            torch.empty(most_tokens, alpha.shape[-1], device=device),
        )

    def take(
        self,
        rho_and_accumulator: tuple[Tensor, Tensor],
        alpha_and_accumulator: tuple[Tensor, Tensor],
        step: Step,
        *,
        totals: Tensor,
        precision: str,
    ) -> None:
        """Take the steps of all waves; write the log-likelihood of each block to `totals`."""
        for wave, blocks in enumerate(pairwise(self._waves)):
            likelihood_step(
                rho_and_accumulator, alpha_and_accumulator, self._batch, blocks, step, totals=totals,
                precision=precision, gradients=self._gradients, first_negative=self._most_rows,
            )  # fmt: skip
            for pair, rows, gradients, frozen in (
                (rho_and_accumulator, self._rho, self._gradients[0], 0),
                (alpha_and_accumulator, self._alpha, self._gradients[1], step.frozen),
            ):
                first, end = rows.waves[wave], rows.waves[wave + 1]
                columns = gradients.shape[1]
                kernels.take_steps[(end - first,)](
                    *pair, rows.rows, rows.offsets, rows.places, gradients, first, pair[0].shape[-2],
                    step.learning_rate, frozen, COLUMNS=columns, WIDTH=_tile(columns), CHUNK=STEP_CHUNK,
                    num_warps=STEP_WARPS,
                )  # fmt: skip


@dataclass(frozen=True)
class _WaveRows:
    """The rows that each wave moves, and where their gradients stand, in the order of blocks."""

    rows: Tensor  # (n,) of a table of parameters
    offsets: Tensor  # (n + 1,)
    places: Tensor  # (gradients,) row n has those at places[offsets[n] : offsets[n + 1]]
    waves: list[int]  # wave w has rows waves[w] to waves[w + 1] - 1

    @classmethod
    def make(cls, row: Tensor, wave: Tensor, place: Tensor, *, count: int, waves: int) -> _WaveRows:
        """Gather equal rows of a wave, of `count` rows that there are."""
        key = wave * count + row
        key, order = torch.sort(key.int() if waves * count < 1 << 31 else key, stable=True)
        starts = torch.nonzero(torch.diff(key, prepend=key.new_tensor([-1])))[:, 0]
        first = key[starts]
        borders = torch.searchsorted(first, torch.arange(waves + 1, device=key.device) * count)
        offsets = torch.cat([starts, starts.new_tensor([len(key)])])
        return cls(first.long() % count, offsets, place[order].int(), borders.tolist())


def prior_step(values: Tensor, accumulator: Tensor, prior: DevicePrior, *, learning_rate: float) -> None:
    """Take the proximal step of the prior for all words and dimensions."""
    slices, size = len(values), values[0].numel()
    tiles = triton.cdiv(size, COLUMNS)
    programs = min(tiles, PRIOR_PROGRAMS)
    scratch = torch.empty(programs * slices * COLUMNS, device=values.device)
    by_word = prior.factors is not None
    kernels.prior_step[(programs,)](
        values, accumulator, scratch, size, tiles, slices, 1 / learning_rate, prior.precision, prior.walk,
        prior.factors if by_word else prior.walk, values.shape[2], prior.dim, COLUMNS=COLUMNS, BY_WORD=by_word,
        num_warps=PRIOR_WARPS,
    )  # fmt: skip


def score(rho: Tensor, alpha: Tensor, batch: ScoringBatch, *, half_window: int) -> tuple[Tensor, Tensor]:
    """Return log sigmoid(eta) of each word, and the summed log sigmoid(-eta) of its negatives."""
    _, words, columns = rho.shape
    dim = alpha.shape[-1]
    count, negatives = batch.negatives.shape
    positive, negative = torch.empty(2, count, device=rho.device)
    kernels.score[(triton.cdiv(count, SCORING_ROWS),)](
        rho, alpha, batch.ids, batch.index, batch.slice_of, batch.chunk_begin, batch.chunk_end, batch.negatives,
        positive, negative, count, words, _alpha_stride(alpha), INTERCEPT_UNIT if columns > dim else 0.0,
        HALF_WINDOW=half_window, NEGATIVES=negatives, DIM=dim, COLUMNS=columns, WIDTH=_tile(columns), ROWS=SCORING_ROWS,
        num_warps=4,
    )  # fmt: skip
    return positive, negative


def _alpha_stride(alpha: Tensor) -> int:
    """Return how far apart the context vectors of adjacent slices are; 0 where all slices share them."""
    return alpha.shape[-2] * alpha.shape[-1] if alpha.ndim == 3 else 0


def _tile(count: int) -> int:
    """Return the side of a tile that holds `count` numbers."""
    return max(MIN_TILE, triton.next_power_of_2(count))
