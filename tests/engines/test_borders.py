"""Processes that each have some slices solve the prior of all of them."""

from __future__ import annotations

import threading
from queue import Queue

import numpy as np
import pytest
import torch

from driftword.engines.distributed import borders
from driftword.engines.distributed.borders import eliminate, solve, sweep
from driftword.engines.parameters import Table
from driftword.engines.prior import Chain
from driftword.engines.torch.steps import DevicePrior, prior_step

CPU = torch.device("cpu")
DIM, COLUMNS, WORDS, RATE = 4, 5, 7, 0.3


def chains(slices: int, *, by_word: bool, stiff: float) -> tuple[Chain, Chain]:
    random = np.random.default_rng(1)
    walk = stiff * (1 + random.random((slices - 1, WORDS) if by_word else slices - 1))
    return Chain(random.random(slices), walk), Chain(np.zeros(slices), 5 * (1 + random.random(slices - 1)))


def solved_apart(
    table: Table, chain: tuple[Chain, Chain], cuts: list[int]
) -> list[tuple[torch.Tensor | None, torch.Tensor | None]]:
    """Let a thread for each part eliminate and solve; return what each finds for the slices outside its part."""
    letters: dict[tuple[int, int], Queue[torch.Tensor]] = {}
    parts = len(cuts) - 1
    for rank in range(parts):
        letters[rank, rank + 1], letters[rank + 1, rank] = Queue(), Queue()
    found: list[tuple[torch.Tensor | None, torch.Tensor | None]] = [(None, None)] * parts

    def run(rank: int) -> None:
        low, high = cuts[rank], cuts[rank + 1]
        outside = (int(low > 0), int(high < cuts[-1]))
        here = slice(low - outside[0], high + outside[1])
        own = [one.part(here.start, here.stop) for one in chain]
        prior = DevicePrior.make(own[0], own[1], DIM, COLUMNS, CPU)
        inside = (outside[0], outside[0] + high - low)
        equations = eliminate(Table(*(part[here] for part in table)), prior, inside, learning_rate=RATE)
        found[rank] = solve(
            equations,
            prior.step_into(inside[0]) if outside[0] else None,
            prior.step_into(inside[1]) if outside[1] else None,
            send=lambda message, steps: letters[rank, rank + steps].put(message.clone()),
            receive=lambda message, steps: message.copy_(letters[rank + steps, rank].get(timeout=10)),
        )

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(parts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("cuts", [[0, 3, 9], [0, 1, 2, 3, 9], [0, 4, 5, 8, 9]])
@pytest.mark.parametrize(("by_word", "stiff"), [(False, 30.0), (True, 30.0), (False, 1e6), (False, 0.0)])
def test_parts_of_a_chain_find_the_solution_of_the_whole(
    cuts: list[int], by_word: bool, stiff: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(borders, "WORDS", 3)  # so that words are sent in several messages
    random = np.random.default_rng(0)
    values = torch.from_numpy(random.normal(size=(9, WORDS, COLUMNS)).astype("f4"))
    accumulator = torch.from_numpy((0.1 + 10 * random.random((9, WORDS, 2))).astype("f4"))
    chain = chains(9, by_word=by_word, stiff=stiff)
    whole = values.double()
    prior_step(Table(whole, accumulator.double()), DevicePrior.make(*chain, DIM, COLUMNS, CPU), learning_rate=RATE)
    found = solved_apart(Table(values, accumulator), chain, cuts)
    for rank, (before, after) in enumerate(found):
        for result, t in ((before, cuts[rank] - 1), (after, cuts[rank + 1])):
            if result is None:
                assert t in (-1, 9)
            else:
                np.testing.assert_allclose(result, whole[t], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("by_word", [False, True])
def test_the_kernel_eliminates_as_plain_operations_do(by_word: bool) -> None:
    random = np.random.default_rng(2)
    values = torch.from_numpy(random.normal(size=(6, WORDS, COLUMNS)).astype("f4"))
    accumulator = torch.from_numpy(random.random((6, WORDS, 2)).astype("f4"))
    prior = DevicePrior.make(*chains(6, by_word=by_word, stiff=3.0), DIM, COLUMNS, CPU)
    table = Table(values, accumulator)
    found = eliminate(table, prior, (1, 5), learning_rate=RATE)
    for equations, slices in zip(found, (range(1, 5), range(4, 0, -1)), strict=True):
        np.testing.assert_allclose(equations, sweep(table, prior, slices, RATE), rtol=1e-6)
