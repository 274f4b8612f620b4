"""A round as plain PyTorch operations: blocks as batched matrix products.

They run wherever PyTorch does. One block at a time they are the reference engine's
steps; the blocks of a batch all see the parameters from before it.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from driftword.engines.rounds import Step
from driftword.engines.torch_blocks import Layout


def climb(
    values: tuple[Tensor, Tensor], shared: tuple[Tensor, Tensor], blocks: Layout, span: tuple[int, int], step: Step
) -> Tensor:
    """Move along the gradients of some blocks at once; `values` are rho and its squares, `shared` alpha and its."""
    rho, alpha = values[0], shared[0]
    dim = alpha.shape[1]
    low, high = span
    rows, row_known = _padded(blocks.row_first[low : high + 1])  # (G, B)
    tokens, token_known = _padded(blocks.token_first[low : high + 1])  # (G, W)
    words = blocks.row_word[rows].long()
    around = blocks.token_word[tokens].long()
    code = blocks.token_rows[tokens][:, None]  # (G, 1, W)
    row = torch.arange(rows.shape[1], device=rows.device)[:, None]  # (B, 1)
    near = (row >= code & 255) & (row < (code >> 8) & 255) & (row != code >> 16) & token_known[:, None]
    near = near.to(alpha.dtype)  # (G, B, W)
    t = blocks.slice_of[low:high, None].long()
    pool = blocks.negatives[low:high].long()  # (G, M)

    context = near @ alpha[around]  # (G, B, K)
    own, absent = rho[t, words], rho[t, pool]  # (G, B, K), (G, M, K)
    eta = (own * context).sum(-1)  # (G, B)
    gain = torch.sigmoid(-eta) * row_known
    loss = torch.sigmoid(context @ absent.mT) * (row_known[..., None] * (-step.negatives / step.pool))  # (G, B, M)
    context_gradient = gain[..., None] * own + loss @ absent  # (G, B, K)

    places = torch.cat([(t * rho.shape[1] + words)[row_known], (t * rho.shape[1] + pool).flatten()])
    gradients = torch.cat([(gain[..., None] * context)[row_known], (loss.mT @ context).reshape(-1, dim)])
    adagrad(rho.view(-1, dim), values[1].view(-1, dim), places, gradients, rate=step.learning_rate)
    gradients = (near.mT @ context_gradient)[token_known]
    adagrad(alpha, shared[1], around[token_known], gradients, rate=step.learning_rate)
    return logsigmoid(eta)[row_known].double().sum()


def adagrad(values: Tensor, squares: Tensor, places: Tensor, gradients: Tensor, *, rate: float) -> None:
    """Add all squares first, then move every row."""
    squares.index_add_(0, places, gradients * gradients)
    values.index_add_(0, places, rate * gradients / squares[places].sqrt())


def _padded(first: Tensor) -> tuple[Tensor, Tensor]:
    """Turn borders of lists into a table of places, and say which of them are in a list."""
    size = torch.diff(first)
    column = torch.arange(int(size.max()), device=first.device)
    known = column < size[:, None]
    return torch.where(known, first[:-1, None] + column, 0).long(), known


def shrink(values: Tensor, squares: Tensor, *, rate: float, prior: float) -> None:
    """Take the proximal step of independent Gaussian priors."""
    metric = squares.sqrt() / rate
    values *= metric / (metric + prior)


def smooth(values: Tensor, squares: Tensor, step: Step) -> None:
    """Take the proximal step of the random walk: a tridiagonal system over time (Thomas), all columns at once."""
    last = len(values) - 1
    upper, right = torch.empty_like(values), torch.empty_like(values)
    before = torch.zeros_like(values[0])  # what the slices before add to the diagonal
    for t in range(last + 1):
        metric = squares[t].sqrt() / step.learning_rate
        own = metric + step.anchor + before
        pivot = own + (step.drift if t < last else 0)
        target = metric * values[t]
        if t > 0:
            target += step.drift * right[t - 1]
        upper[t] = step.drift / pivot
        right[t] = target / pivot
        before = step.drift * own / pivot  # drift (1 - upper), without the loss of digits
    values[last] = right[last]
    for t in range(last - 1, -1, -1):
        values[t] = right[t] + upper[t] * values[t + 1]


def score(rho: Tensor, alpha: Tensor, text: dict[str, Tensor], *, drawn: Tensor, reach: int) -> tuple[Tensor, Tensor]:
    """Return log s(eta) of each word of `text` and the summed log s(-eta) of its negatives."""
    here, last = text["place"], len(text["ids"]) - 1
    context = torch.zeros(len(here), alpha.shape[1], device=alpha.device)
    for distance in range(-reach, reach + 1):
        if distance:
            other = here + distance
            known = (other >= text["low"]) & (other < text["high"])
            context += alpha[text["ids"][other.clamp(0, last)]] * known[:, None]
    slices, words = text["slice_of"], text["ids"][here]
    absent = rho[slices[:, None], drawn.long()]  # (P, n, K)
    positive = logsigmoid((rho[slices, words] * context).sum(-1))
    negative = logsigmoid(-(absent @ context[..., None])[..., 0]).sum(-1)
    return positive, negative
