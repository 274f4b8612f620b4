"""The Triton kernels beside the plain operations that they stand for, in Triton's interpreter or on a GPU."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from cases import by_word, make_parameters, make_plan, make_step, make_text, single

from driftword.engines.parameters import Table
from driftword.engines.rounds import Sampler
from driftword.engines.torch import steps as plain
from driftword.engines.torch import triton_launch as fast
from driftword.engines.torch.blocks import DeviceSampler, DeviceText, make_batch, make_rounds


def compare(
    dim: int,
    slices: int,
    pool: int,
    half_window: int,
    filling: int,
    *,
    size: int = 1,
    device: str = "cpu",
    precision: str = "ieee",
    tolerance: float = 1e-4,
) -> None:
    """Take every kind of step with both, and compare the numbers.

    `filling` columns follow those of embeddings, the first of them with intercepts. Where there are three slices, each
    has context vectors, and every word a walk, of its own. The text grows with `size`.
    """
    contexts, words, lengths = slices == 3, 12 * size, [30, 1, 17] * size
    text = make_text(lengths, [i * slices // len(lengths) for i in range(len(lengths))], words)
    tensors = (torch.tensor(np.asarray(a), device=device) for a in (text.ids, text.offsets, text.slice_of.astype("i8")))
    (part,) = make_rounds(*tensors, make_plan(block_size=12, run_length=5))
    place = torch.device(device)
    sampler = DeviceSampler(Sampler.make(np.ones(words), 1), place)
    batch = make_batch(part.whole, part.blocks, half_window=half_window, pool=pool, sampler=sampler)
    options = {"rho": by_word(slices, words)} if contexts else {}
    step = make_step(slices, half_window=half_window, pool_size=pool, frozen=2, **options)
    parameters = single(make_parameters(slices, words, dim, intercept=filling > 0, contexts=contexts))

    def tables() -> tuple[Table, Table]:
        rho, alpha = ([torch.tensor(a, device=device) for a in parameters.table(name)] for name in ("rho", "alpha"))
        rho[0] = torch.nn.functional.pad(rho[0], (0, max(filling - 1, 0)))
        return Table(*rho), Table(*alpha)

    def check(totals: torch.Tensor, right: float) -> None:
        assert abs(float(totals.double().sum()) - right) < 10 * tolerance * abs(right)
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)

    one, other = tables(), tables()
    count = part.n_blocks
    totals = torch.zeros(count, device=device)
    alone = [(b, b + 1) for b in range(count)]
    for blocks in [(0, count)] if device == "cpu" else alone:  # the interpreter takes one after the other
        fast.likelihood_step(*one, batch, blocks, step, totals=totals, precision=precision)
    check(totals, sum(float(plain.likelihood_step(*other, batch, blocks, step)) for blocks in alone))
    waves = [0, 1, 3, count]  # the blocks of a wave see the parameters from before it
    fast.ordered_steps(*one, batch, waves, step, totals=totals, precision=precision)
    check(totals, sum(float(plain.likelihood_step(*other, batch, wave, step)) for wave in pairwise(waves)))
    columns = one[0].values.shape[2]
    prior = plain.DevicePrior.make(step.prior.rho, step.prior.intercept, dim, columns, place)
    for steps, (rho, _) in ((fast, one), (plain, other)):
        steps.prior_step(rho, prior, learning_rate=step.learning_rate)
    torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)
    whole = DeviceText.upload(text, place)
    negatives = torch.arange(5 * len(text.ids), dtype=torch.int32, device=device).view(-1, 5) % words
    found, right = (
        torch.stack(steps.score(one[0].values, one[1].values, whole, negatives, half_window=half_window))
        for steps in (fast, plain)
    )
    torch.testing.assert_close(found, right, rtol=tolerance, atol=tolerance)


if __name__ == "__main__":
    for sizes in ((5, 1, 7, 2, 3), (20, 3, 16, 4, 0), (33, 5, 20, 1, 1)):
        compare(*sizes)
    print("equal")
