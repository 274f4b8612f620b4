"""The rounds of a pass, whether or not its text fits into memory.

Text that fits is read at once and mixed well. Otherwise every round reads a piece of its own:
adjacent documents of every slice, in another order in every pass. The next piece is read
while the engine works on this one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from driftword.corpus import Corpus
from driftword.engines.contract import Engine
from driftword.engines.rounds import PassPlan


def rounds_of_pass(engine: Engine, corpus: Corpus, plan: PassPlan) -> tuple[int, Iterator[Any]]:
    """Return how many rounds a pass has (at least ``plan.rounds``), and the rounds one after the other."""
    pieces = math.ceil(corpus.expected_tokens() / engine.capacity())
    if pieces <= 1:
        rounds = engine.read(corpus, plan)
        return len(rounds), iter(rounds)
    pieces = max(pieces, plan.rounds)
    return pieces, _streamed(engine, corpus, dataclasses.replace(plan, rounds=1), pieces)


def _streamed(engine: Engine, corpus: Corpus, plan: PassPlan, pieces: int) -> Iterator[Any]:
    def read(piece: int) -> Any:
        return engine.read(corpus, dataclasses.replace(plan, piece=(piece, pieces)))[0]

    if engine.reads_ahead:
        yield from map(read, range(pieces))
        return
    with ThreadPoolExecutor(1) as reader:
        upcoming = reader.submit(read, 0)
        for piece in range(pieces):
            here = upcoming.result()
            if piece + 1 < pieces:
                upcoming = reader.submit(read, piece + 1)
            yield here
            del here  # or there would be three pieces in memory
