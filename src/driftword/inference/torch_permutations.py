"""The significance test on a GPU: as `permutation_test`, for many words at a time.

Words are sorted by their number of documents and padded to that of the largest in their batch. Permutations are drawn
by sorting random numbers, within strata where there are any, so they are not those of the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import torch
from torch import Tensor

from driftword.inference.document_scores import DocumentScores, Smoothing
from driftword.inference.occurrences import Array
from driftword.inference.permutation_test import (
    COLLINEAR,
    LEAST_ROOM,
    LEAST_WEIGHT,
    NOISE_BLOCKS,
    WAVES,
    TestResult,
    WordDocuments,
)

_ROOM: Final = 1 << 27  # numbers in the largest array
_PADDING: Final = 1.3  # times as many documents as the smallest word of a batch has


class ExpectedContexts:
    """Computes where words would be expected, as `DocumentScores.expected` does."""

    def __init__(self, scores: DocumentScores, device: str) -> None:
        self.scores, self.device = scores, device
        self.contexts, self.relative, self.rho = (
            torch.as_tensor(array, device=device) for array in (scores.contexts, scores.relative, scores.rho)
        )
        self.smoothing = tuple(
            torch.as_tensor(array, dtype=torch.float32, device=device)
            for array in (scores.smoothing.weights, scores.smoothing.share, scores.smoothing.prior)
        )

    def __call__(self, words: Sequence[int], *, frequent: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Return mean and noise, ``(words, T, K)``, and chances, ``(words, T)``."""
        scores, dim = self.scores, self.scores.dim
        rho = self.rho[torch.as_tensor(np.asarray(words), device=self.device)]
        begin, end = scores.group_begin, scores.group_ends(frequent=frequent)
        sums = torch.stack(
            [
                torch.sigmoid(rho @ self.contexts[:, low:high]) @ self.relative[low:high]
                for low, high in zip(begin.tolist(), end.tolist(), strict=True)
            ],
            dim=1,
        ).unflatten(1, (-1, 2))  # (words, T, 2, width)
        positions = torch.as_tensor(scores.group_positions(end).T, dtype=torch.float32, device=self.device)  # (T, 2)
        chances, sums = sums[..., dim], sums[..., :dim]
        weights, share, prior = self.smoothing
        n = positions.sum(1).clamp_min(1)
        own_sums, own_chances = sums.sum(2) / n[:, None], chances.sum(2) / n
        total = own_chances @ weights.T + prior * (own_chances @ share)[:, None]
        total = total.clamp_min(1e-30)
        mean = torch.einsum("ts,wsk->wtk", weights, own_sums)
        mean = (mean + prior[:, None] * torch.einsum("s,wsk->wk", share, own_sums)[:, None]) / total[..., None]
        rest = (sums - mean[:, :, None] * chances[..., None]) / positions.clamp_min(1)[..., None]
        both = (positions > 0).all(1)[:, None]
        return mean, torch.where(both, (rest[:, :, 0] - rest[:, :, 1]) / 2, 0.0), total


def batches(words: list[int], documents: dict[int, WordDocuments], permutations: int) -> Iterator[list[int]]:
    """Yield words in groups with a similar number of documents, as many as there is room for."""
    size = {v: len(documents[v].time) for v in words}
    batch: list[int] = []
    for v in sorted(words, key=size.__getitem__):
        room = (len(batch) + 1) * size[v] * permutations * WAVES
        if batch and (size[v] > _PADDING * size[batch[0]] + 8 or room > _ROOM):
            yield batch
            batch = []
        batch.append(v)
    if batch:
        yield batch


def run_batch(
    words: Sequence[WordDocuments],
    expected: tuple[Tensor, Tensor, Tensor],
    smoothing: Smoothing,
    *,
    n_times: int,
    permutations: int,
    generator: torch.Generator,
) -> list[TestResult | None]:
    """Test words in a similar number of documents; None where nothing can be exchanged."""
    mean, noise, chances = expected
    device = mean.device
    size = max(len(word.time) for word in words)

    def padded(arrays: list[Array], dtype: torch.dtype) -> Tensor:
        out = np.zeros((len(arrays), size, *arrays[0].shape[1:]), dtype=arrays[0].dtype)
        for row, array in zip(out, arrays, strict=True):
            row[: len(array)] = array
        return torch.as_tensor(out, device=device).to(dtype)

    lengths = torch.as_tensor([len(word.time) for word in words], device=device)
    here = torch.arange(size, device=device) < lengths[:, None]  # (B, D)
    mask = here[..., None].float()
    slice_of = padded([word.scores.slice_of for word in words], torch.int64)
    time = padded([word.time for word in words], torch.float32)
    grouped = any(word.strata is not None for word in words)
    own_strata = [np.zeros(len(w.time), dtype=np.int64) if w.strata is None else w.strata for w in words]
    _, strata = torch.where(here, padded(own_strata, torch.int64), -1).unique(return_inverse=True)

    def sums(values: Tensor) -> Tensor:
        """Return for every document the sum over its stratum."""
        if not grouped:
            return values.sum(1, keepdim=True).expand_as(values)
        same: Tensor = (strata[:, :, None] == strata[:, None]).float() * mask.mT
        return same @ values

    counts = sums(mask)
    weight = padded([word.scores.weights for word in words], torch.float32)[..., None]
    contexts = padded([word.scores.contexts for word in words], torch.float32)
    rest = (contexts - weight * mean.gather(1, slice_of[..., None].expand(-1, -1, mean.shape[2]))) * mask
    rest = rest - weight * (sums(rest) / sums(weight).clamp_min(LEAST_WEIGHT))
    root = weight.clamp_min(LEAST_WEIGHT).sqrt()
    rest = rest / root * mask
    rest = (rest - sums(rest) / counts.clamp_min(1)) * mask

    columns: list[Tensor] = []
    weights = torch.zeros(len(words), WAVES, device=device)
    for k in range(1, WAVES + 1):
        column = torch.cos(torch.pi * k * (time + 0.5) / n_times)[..., None] * mask
        column = ((column - sums(column) / counts.clamp_min(1)) * mask)[..., 0].double()
        length = column.norm(dim=1, keepdim=True)
        for _ in range(2):
            for other in columns:
                column = column - other * (other * column).sum(1, keepdim=True)
        left = column.norm(dim=1, keepdim=True)
        good = (left > COLLINEAR * length.clamp_min(1e-12)) & (length > 1e-6)
        columns.append(torch.where(good, column / left.clamp_min(1e-12), 0.0))
        weights[:, k - 1] = torch.where(good[:, 0], 1 / k, 0.0)
    waves = torch.stack(columns, 2).float()  # (B, D, n)

    n_slices = mean.shape[1]
    indicator = torch.nn.functional.one_hot(slice_of, n_slices).float()
    leverage = (waves * weight / root * mask).mT @ indicator  # (B, n, T)
    pulls = (leverage / chances[:, None]) @ torch.as_tensor(smoothing.weights, dtype=torch.float32, device=device)
    block = torch.arange(n_slices, device=device) * NOISE_BLOCKS // n_slices
    noise = torch.stack(
        [torch.einsum("bnt,btk->bnk", pulls[..., block == i], noise[:, block == i]) for i in range(NOISE_BLOCKS)], 1
    )  # (B, blocks, n, K)

    observed = waves.mT @ rest  # (B, n, K)
    dates = _exchanges(strata if grouped else None, here, permutations, generator)
    exchanged = waves[torch.arange(len(words), device=device)[:, None, None], dates]  # (B, P, D, n)
    permuted = torch.einsum("bpdn,bdk->bpnk", exchanged, rest)
    sign = torch.randint(0, 2, (len(words), permutations, NOISE_BLOCKS), generator=generator, device=device) * 2.0 - 1
    permuted += torch.einsum("bpi,bink->bpnk", sign, noise)
    squares = permuted.square().sum(3).double()  # (B, P, n)
    lengths_squared = rest.square().sum(2)  # (B, D)
    spreads = torch.einsum("bpdn,bd->bpn", exchanged.square_(), lengths_squared).double().clamp_min(1e-30)

    own_squares = observed.square().sum(2).double()
    own_spread = torch.einsum("bdn,bd->bn", waves.square(), lengths_squared).double().clamp_min(1e-30)
    statistic, null = (own_squares / own_spread * weights).sum(1), (squares / spreads * weights[:, None]).sum(2)
    deviation = null.std(1).clamp_min(1e-30)
    z, standard = (statistic - null.mean(1)) / deviation, (null - null.mean(1, keepdim=True)) / deviation[:, None]
    p = (1 + (null >= statistic[:, None]).sum(1)) / (1 + permutations)
    lengths_squared = lengths_squared.double()
    total = lengths_squared.sum(1).clamp_min(1e-30)
    share, shares = own_squares.sum(1) / total, squares.sum(2) / total[:, None]
    # As in `permutation_test.summarize`.
    n = lengths.double()
    free = n - torch.tensor([1 if w.strata is None else len(np.unique(w.strata)) for w in words], device=device)
    room = (1 - (weights > 0).sum(1) / free.clamp_min(1)).clamp_min(LEAST_ROOM)
    leverage = (waves.square().sum(2) + (1 - free / n)[:, None]).clamp_max(1 - LEAST_ROOM)
    residual = (rest - waves @ observed).square().sum(2).double()
    left = (total - own_squares.sum(1))[:, None] - residual / (1 - leverage)
    left = left / (total[:, None] - lengths_squared * (n / (n - 1).clamp_min(1))[:, None]).clamp_min(1e-30)
    middle = (left * here).sum(1) / n
    jackknife = (n - 1) * ((left - middle[:, None]).square() * here).sum(1) / n
    chance = shares.var(1) / room**2
    variance = torch.maximum(jackknife / room**2 - chance / 2, chance)
    expected_squares = (sums(waves.square().sum(2, keepdim=True)) * lengths_squared[..., None])[..., 0].double()
    by_chance = (expected_squares / (counts[..., 0] - 1).clamp_min(1) * here).sum(1) + noise.square().sum((1, 2, 3))
    effect = (share - by_chance / total) / room
    found = [a.cpu().numpy() for a in (effect, variance.sqrt(), p, z, standard.float(), weights.sum(1))]
    return [
        TestResult(float(effect), float(error), float(p), float(z), null) if any_wave else None
        for effect, error, p, z, null, any_wave in zip(*found, strict=True)
    ]


def _exchanges(strata: Tensor | None, here: Tensor, permutations: int, generator: torch.Generator) -> Tensor:
    """Draw permutations of documents within strata, ``(B, permutations, D)``; padding keeps its place."""
    shape = (len(here), permutations, here.shape[1])
    if strata is None:
        random = torch.rand(shape, generator=generator, device=here.device)
        return torch.where(here[:, None], random, 2.0).argsort(dim=2)
    random = torch.rand(shape, generator=generator, device=here.device, dtype=torch.float64)
    group = torch.where(here, strata.double(), 1e9)
    base, order = group.argsort(dim=1, stable=True), (group[:, None] + random).argsort(dim=2)
    return torch.empty_like(order).scatter_(2, base[:, None].expand_as(order), order)
