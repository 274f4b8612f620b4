"""A round as plain PyTorch operations: blocks as batched matrix products.

They run wherever PyTorch does. One block at a time they are the steps of the reference
engine; the blocks of a group all see the parameters from before it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from driftword.engines.parameters import INTERCEPT_UNIT, Table
from driftword.engines.prior import Chain
from driftword.engines.rounds import Step
from driftword.engines.torch.blocks import BlockBatch, DeviceText, send


def likelihood_step(
    rho_table: Table, alpha_table: Table, batch: BlockBatch, blocks: tuple[int, int], step: Step
) -> Tensor:
    """Take the Adagrad step of blocks low..high-1 of a batch at once; return the text's summed log-likelihood."""
    rho, dim = rho_table.values, alpha_table.values.shape[-1]
    low, high = blocks
    rows, row_mask = _padded(batch.row_offsets[low : high + 1])  # (G, B)
    tokens, token_mask = _padded(batch.token_offsets[low : high + 1])  # (G, W)
    words = batch.row_word[rows].long()
    token_words = batch.token_word[tokens].long()
    code = batch.token_rows[tokens][:, None]  # (G, 1, W)
    row = torch.arange(rows.shape[1], device=rows.device)[:, None]  # (B, 1)
    window = (row >= code & 255) & (row < (code >> 8) & 255) & (row != code >> 16) & token_mask[:, None]
    window = window.to(rho.dtype)  # (G, B, W): 1 where the row sees the token
    t = batch.slice_of[low:high, None].long()
    # Where every slice has context vectors of its own, they are rows of one table.
    token_rows = token_words + t * rho.shape[1] if alpha_table.values.ndim == 3 else token_words
    alpha_table = Table(*(part.view(-1, part.shape[-1]) for part in alpha_table))
    pool = batch.negatives[low:high].long()  # (G, M)

    context = with_intercept(window @ alpha_table.values[token_rows], rho)  # (G, B, C)
    own, negative = rho[t, words], rho[t, pool]  # (G, B, C), (G, M, C)
    eta = (own * context).sum(-1)  # (G, B)
    residual = torch.sigmoid(-eta) * row_mask
    weight = row_mask[..., None] * (-step.negatives / step.pool_size)
    negative_residual = torch.sigmoid(context @ negative.mT) * weight  # (G, B, M)
    context_gradient = (residual[..., None] * own + negative_residual @ negative)[..., :dim]  # (G, B, K)

    rho_rows = torch.cat([(t * rho.shape[1] + words)[row_mask], (t * rho.shape[1] + pool).flatten()])
    gradients = torch.cat(
        [(residual[..., None] * context)[row_mask], (negative_residual.mT @ context).reshape(-1, rho.shape[2])]
    )
    _adagrad(Table(*(part.flatten(0, 1) for part in rho_table)), rho_rows, gradients, dim, step.learning_rate)
    moving = token_mask & (token_words >= step.frozen)
    gradients = (window.mT @ context_gradient)[moving]
    _adagrad(alpha_table, token_rows[moving], gradients, dim, step.learning_rate)
    return logsigmoid(eta)[row_mask].double().sum()


def with_intercept(context: Tensor, rho: Tensor) -> Tensor:
    """Fill contexts up to the columns of rho, with what multiplies the intercepts and then zeros."""
    dim, columns = context.shape[-1], rho.shape[2]
    if columns == dim:
        return context
    context = torch.nn.functional.pad(context, (0, columns - dim))
    context[..., dim] = INTERCEPT_UNIT
    return context


def _adagrad(table: Table, rows: Tensor, gradients: Tensor, dim: int, learning_rate: float) -> None:
    """Accumulate the mean squares of gradients, and apart those of intercepts; then move every row."""
    squares = gradients.square()
    squares = torch.cat([squares[:, :dim].mean(1, keepdim=True), squares[:, dim : dim + 1]], dim=1)
    table.accumulator.index_add_(0, rows, squares)
    roots = by_column(table.accumulator[rows].sqrt(), dim, gradients.shape[1])
    table.values.index_add_(0, rows, learning_rate * gradients / roots)


def by_column(of_rows: Tensor, dim: int, columns: int) -> Tensor:
    """Give every column the number of its row: the first one for embeddings, the second for what comes after them."""
    if of_rows.shape[-1] == 1:
        return of_rows
    which = (torch.arange(columns, device=of_rows.device) >= dim).long()
    return of_rows[..., which]


def _padded(offsets: Tensor) -> tuple[Tensor, Tensor]:
    """Turn offsets of lists into a table of indices, one row per list, and a mask of those that exist."""
    size = torch.diff(offsets)
    column = torch.arange(int(size.max()), device=offsets.device)
    mask = column < size[:, None]
    return torch.where(mask, offsets[:-1, None] + column, 0).long(), mask


class DevicePrior(NamedTuple):
    """Chains of a prior on a device: those of embeddings, and of intercepts in the columns after them."""

    precision: Tensor  # (T, C)
    walk: Tensor  # (T + 1, C): of the step into each slice; the first and the last row are 0
    dim: int  # columns of embeddings
    factors: Tensor | None = None  # (T + 1, V): what the walk of embeddings is multiplied by for each word

    @classmethod
    def make(
        cls, embeddings: Chain, intercepts: Chain | None, dim: int, columns: int, device: torch.device
    ) -> DevicePrior:
        """Upload chains, for `dim` columns of embeddings among all of them."""
        slices = len(embeddings.precision)
        precision, walk = np.zeros((slices, columns), dtype=np.float32), np.zeros((slices + 1, columns), dtype="f4")
        precision[:, :dim] = embeddings.precision[:, None]
        if intercepts is not None:
            precision[:, dim:], walk[1:-1, dim:] = intercepts.precision[:, None], intercepts.walk[:, None]
        factors = None
        if embeddings.walk.ndim == 1:
            walk[1:-1, :dim] = embeddings.walk[:, None]
        else:
            walk[1:-1, :dim] = 1
            factors = send(np.pad(embeddings.walk.astype(np.float32), ((1, 1), (0, 0))), device)
        return cls(send(precision, device), send(walk, device), dim, factors)

    def of_words(self, low: int, high: int) -> DevicePrior:
        """Return the prior of words low..high-1."""
        return self if self.factors is None else self._replace(factors=self.factors[:, low:high].contiguous())

    def step_into(self, t: int) -> Tensor:
        """Return the precision of the step into a slice, ``(C,)`` or ``(V, C)``."""
        if self.factors is None:
            return self.walk[t]
        is_embedding = torch.arange(self.walk.shape[1], device=self.walk.device) < self.dim
        return torch.where(is_embedding, self.walk[t] * self.factors[t, :, None], self.walk[t])


def prior_step(table: Table, prior: DevicePrior, *, learning_rate: float) -> None:
    """Take the proximal step of the prior: tridiagonal systems (Thomas algorithm), all columns at once."""
    values, last = table.values, len(table.values) - 1
    upper, rhs = torch.empty_like(values), torch.empty_like(values)
    carried = torch.zeros_like(values[0])  # what earlier slices add to the diagonal
    for t in range(last + 1):
        before, after = prior.step_into(t), prior.step_into(t + 1)
        metric = by_column(table.accumulator[t].sqrt() / learning_rate, prior.dim, values.shape[2])
        diagonal = metric + prior.precision[t] + carried
        pivot = diagonal + after
        target = metric * values[t]
        if t > 0:
            target += before * rhs[t - 1]
        upper[t] = after / pivot
        rhs[t] = target / pivot
        carried = after * diagonal / pivot  # after * (1 - upper), without cancellation
    values[last] = rhs[last]
    for t in range(last - 1, -1, -1):
        values[t] = rhs[t] + upper[t] * values[t + 1]


def score(
    rho: Tensor, alpha: Tensor, text: DeviceText, negatives: Tensor, *, half_window: int
) -> tuple[Tensor, Tensor]:
    """Return log sigmoid(eta) of each word, and the summed log sigmoid(-eta) of its negatives."""
    last, dim = len(text.ids) - 1, alpha.shape[-1]
    first_row = (text.slice_of * rho.shape[1] if alpha.ndim == 3 else torch.zeros_like(text.slice_of)).long()
    alpha = alpha.view(-1, dim)
    context = torch.zeros(len(text.at), dim, device=alpha.device)
    for distance in range(-half_window, half_window + 1):
        if distance:
            neighbor = text.at + distance
            inside = (neighbor >= text.chunk_begin) & (neighbor < text.chunk_end)
            context += alpha[first_row + text.ids[neighbor.clamp(0, last)]] * inside[:, None]
    context = with_intercept(context, rho)
    negative_vectors = rho[text.slice_of[:, None], negatives.long()]  # (P, n, K)
    positive = logsigmoid((rho[text.slice_of, text.ids[text.at]] * context).sum(-1))
    negative = logsigmoid(-(negative_vectors @ context[..., None])[..., 0]).sum(-1)
    return positive, negative
