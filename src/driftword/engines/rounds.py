"""What every engine works on: parameters, rounds of blocks, and random negatives.

A pass over the training text is cut into *runs* of consecutive positions of one
chunk. The runs of a slice are put into a random order and packed into *blocks*;
the blocks of every slice are dealt out over the *rounds* of the pass, so that
each round sees the same share of every slice. The positions of a block share one
pool of negatives. All of it is a function of seed and pass alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from driftword import randomness
from driftword.corpus import Corpus

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.integer[Any]]


@dataclass
class Parameters:
    """Embeddings, context vectors, and Adagrad's sums of squared gradients."""

    rho: Floats  # (T, V, K)
    alpha: Floats  # (V, K)
    rho_squares: Floats  # (T, V, K)
    alpha_squares: Floats  # (V, K)


@dataclass(frozen=True)
class Pass:
    """How one pass reads the text: which subsample, and how it is cut into rounds of blocks."""

    number: int
    sample: int  # which subsample it sees
    sliced: bool  # each slice for itself, or all text as one slice (static)
    block: int
    run: int
    rounds: int
    seed: int


@dataclass(frozen=True)
class Step:
    """How one round moves: step size, context, negatives and prior."""

    learning_rate: float
    reach: int  # words of context on either side
    negatives: int
    pool: int
    drift: float  # precision of the random walk, the round's share of it
    prior: float  # precision of alpha, the round's share of it
    anchor: float  # precision of rho in each slice, the round's share of it
    chained: bool  # slices hang together (dynamic), or each stands alone (binned)


@dataclass(frozen=True)
class Text:
    """Tokens in chunks, as one pass sees them."""

    ids: Ints  # (n,)
    offsets: Ints  # (chunks + 1,)
    chunk: Ints  # (chunks,) which chunk of the corpus
    slice_of: Ints  # (chunks,) slice of each chunk; all 0 for the static model
    position: Ints  # (n,) where each token stands in the corpus


@dataclass(frozen=True)
class Blocks:
    """Blocks of runs; block b holds runs ``first[b]`` to ``first[b + 1] - 1``."""

    ids: Ints  # (n,) the text the runs point into
    begin: Ints  # (runs,)
    end: Ints  # (runs,)
    low: Ints  # (runs,) the chunk of each run begins here
    high: Ints  # (runs,) and ends here
    first: Ints  # (blocks + 1,)
    slice_of: Ints  # (blocks,)
    number: Ints  # (blocks,) counter of each block's negatives
    key: int  # key of the pass's negatives

    @property
    def positions(self) -> int:
        """How many words the blocks predict."""
        return int((self.end - self.begin)[self.first[0] : self.first[-1]].sum())


@dataclass(frozen=True)
class Sampler:
    """Draws words in proportion to their counts to a power, by Walker's alias method on integers."""

    threshold: npt.NDArray[np.uint32]
    other: npt.NDArray[np.int32]

    @classmethod
    def make(cls, counts: Ints, exponent: float) -> Sampler:
        """Build the alias table."""
        weight = np.asarray(counts, dtype=np.float64) ** exponent * (np.asarray(counts) > 0)
        if not weight.any():
            weight = np.ones(len(counts))
        scaled = weight / weight.sum() * len(weight)
        threshold = np.full(len(weight), 2**32 - 1, dtype=np.uint32)
        other = np.arange(len(weight), dtype=np.int32)
        small = [int(i) for i in np.flatnonzero(scaled < 1)]
        large = [int(i) for i in np.flatnonzero(scaled >= 1)]
        while small and large:
            little, much = small.pop(), large[-1]
            threshold[little] = min(int(scaled[little] * 2**32), 2**32 - 1)
            other[little] = much
            scaled[much] -= 1 - scaled[little]
            if scaled[much] < 1:
                small.append(large.pop())
        return cls(threshold, other)

    def draw(self, key: int, counters: Ints) -> npt.NDArray[np.int32]:
        """Return the word that each counter stands for."""
        random = randomness.bits(key, counters)
        place = ((random >> np.uint64(32)) * np.uint64(len(self.other)) >> np.uint64(32)).astype(np.int64)
        stay = (random & np.uint64(0xFFFFFFFF)) <= self.threshold[place]
        return np.where(stay, place, self.other[place]).astype(np.int32)


def read_text(corpus: Corpus, split: str, *, pass_number: int, sliced: bool) -> Text:
    """Return the tokens of a split that a pass sees."""
    ids, offsets, chunk, position = corpus.sample(split, pass_number=pass_number)
    slices = corpus.chunk_slice[chunk] if sliced else np.zeros(len(chunk), dtype=np.int32)
    return Text(ids.astype(np.int32), offsets, chunk, slices.astype(np.int32), position)


def read_pass(corpus: Corpus, how: Pass) -> list[Blocks]:
    """Read the training text that a pass sees and cut it into rounds of blocks."""
    text = read_text(corpus, "train", pass_number=how.sample, sliced=how.sliced)
    return plan(text, block=how.block, run=how.run, rounds=how.rounds, seed=how.seed, pass_number=how.number)


def plan(text: Text, *, block: int, run: int, rounds: int, seed: int, pass_number: int) -> list[Blocks]:
    """Cut a pass into rounds of blocks, none with more than `block` positions (or one run, if that is longer)."""
    room = max(block - run + 1, 1)  # as the last run of a block may begin at its last place
    lengths = np.diff(text.offsets)
    pieces = -(-lengths // run)
    chunk = np.repeat(np.arange(len(lengths)), pieces)
    rank = np.arange(len(chunk)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    low, high = text.offsets[:-1][chunk], text.offsets[1:][chunk]
    begin = low + rank * run
    end = np.minimum(begin + run, high)
    order_key = randomness.bits(randomness.key(seed, "order", pass_number), begin)
    order = np.lexsort((order_key, text.slice_of[chunk]))
    begin, end, low, high, slice_of = (a[order] for a in (begin, end, low, high, text.slice_of[chunk]))

    # Pack runs into blocks: a block is full when the positions of its slice pass a multiple of its room.
    before = np.cumsum(end - begin) - (end - begin)
    new_slice = np.r_[True, np.diff(slice_of) != 0] if len(slice_of) else np.zeros(0, dtype=bool)
    base = before[new_slice][np.cumsum(new_slice) - 1] if len(slice_of) else before
    bin_of = (before - base) // room
    first = np.flatnonzero(new_slice | np.r_[True, np.diff(bin_of) != 0][: len(bin_of)])
    block_slice = slice_of[first]
    in_slice = np.arange(len(first)) - np.searchsorted(block_slice, block_slice)
    of_slice = np.bincount(block_slice, minlength=int(block_slice.max(initial=0)) + 1)[block_slice]
    round_of = in_slice * rounds // np.maximum(of_slice, 1)
    key = randomness.key(seed, "negatives", pass_number)

    borders = np.r_[first, len(begin)]
    result = []
    for r in range(rounds):
        mine = np.flatnonzero(round_of == r)
        runs = _ranges(borders[mine], borders[mine + 1])
        sizes = borders[mine + 1] - borders[mine]
        result.append(
            Blocks(
                text.ids,
                begin[runs],
                end[runs],
                low[runs],
                high[runs],
                np.r_[0, np.cumsum(sizes)],
                block_slice[mine],
                mine,
                key,
            )
        )
    return result


def _ranges(begin: Ints, end: Ints) -> Ints:
    lengths = end - begin
    return np.asarray(np.arange(int(lengths.sum())) + np.repeat(begin - (np.cumsum(lengths) - lengths), lengths))
