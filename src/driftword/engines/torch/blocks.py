"""The text of a pass on a device: subsampling, runs, blocks and negatives as PyTorch operations.

These give the same numbers as `corpus.sample`, `rounds.make_rounds` and `Sampler.draw` do
with NumPy. The corpus is uploaded once, and every pass is then prepared on the device.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from driftword.basics import randomness
from driftword.corpus import Corpus
from driftword.corpus.tokenized_text import ranges_of
from driftword.engines.rounds import TURNS, Ints, PassPlan, Sampler, Text, training_chunks

TOKENS_PER_PART: Final = 1 << 26  # tokens that are subsampled at a time
NO_ROW: Final = 255  # marks a token that is not a row itself


@dataclass(frozen=True)
class DevicePass:
    """The blocks of a whole pass; block b holds runs ``run_offsets[b]`` to ``run_offsets[b + 1] - 1``."""

    ids: Tensor  # (n,) int32
    chunk_offsets: Tensor  # (chunks + 1,)
    run_begin: Tensor  # (runs,)
    run_chunk: Tensor  # (runs,) int32
    run_length: int  # positions in a run, at most
    run_offsets: Tensor  # (blocks + 1,)
    slice_of: Tensor  # (blocks,)
    key: int  # of the pass's negatives
    max_rows: int  # in any block


@dataclass(frozen=True)
class DeviceRound:
    """One round of a pass."""

    positions: int
    whole: DevicePass
    blocks: Tensor  # (blocks of the round,) their numbers in the pass
    done: int  # blocks before them, since the accumulators were reset

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return len(self.blocks)

    def part(self, begin: float, end: float) -> DeviceRound:
        """Return the blocks between two shares of the round."""
        low, high = (round(share * len(self.blocks)) for share in (begin, end))
        return dataclasses.replace(self, blocks=self.blocks[low:high], done=self.done + low)


class BlockBatch(NamedTuple):
    """Some blocks as flat lists, for the kernels.

    A row is a position whose word is predicted. A token is a word in the context of some rows of its run.
    """

    row_word: Tensor  # (rows,) int32
    row_offsets: Tensor  # (blocks + 1,) int32
    token_word: Tensor  # (tokens,) int32
    token_rows: Tensor  # (tokens,) int32: rows in its block that see it, as first + 256 * end + 65536 * own row
    token_offsets: Tensor  # (blocks + 1,) int32
    slice_of: Tensor  # (blocks,) int32
    negatives: Tensor  # (blocks, pool) int32
    max_rows: int  # in any block


class DeviceText(NamedTuple):
    """Positions of a held-out text on a device, int64 throughout."""

    ids: Tensor  # (n,) of the whole text
    at: Tensor  # (P,) index of each position in `ids`
    position: Tensor  # (P,) of each token in the corpus
    slice_of: Tensor  # (P,)
    chunk_begin: Tensor  # (P,) as an index into `ids`
    chunk_end: Tensor  # (P,)

    @classmethod
    def upload(cls, text: Text, device: torch.device) -> DeviceText:
        """Copy a text to a device."""
        ids, position, offsets, slice_of = (
            to_device(values, device).long() for values in (text.ids, text.position, text.offsets, text.slice_of)
        )
        of_chunks = (slice_of, offsets[:-1], offsets[1:])
        of_tokens = (torch.repeat_interleave(values, torch.diff(offsets)) for values in of_chunks)
        return cls(ids, torch.arange(len(ids), device=device), position, *of_tokens)

    def part(self, positions: slice) -> DeviceText:
        """Return some of the positions."""
        return DeviceText(self.ids, *(values[positions] for values in self[1:]))


class DeviceSampler:
    """A `Sampler` on a device."""

    def __init__(self, sampler: Sampler, device: torch.device) -> None:
        self.threshold = to_device(sampler.threshold.astype(np.int64), device)
        self.alias = to_device(sampler.alias.astype(np.int64), device)

    def draw(self, key: int, counters: Tensor) -> Tensor:
        """Return the word that each counter draws."""
        random = _bits(key, counters)
        word = (_shift(random, 32) * len(self.alias)) >> 32
        stays = (random & 0xFFFFFFFF) <= self.threshold[word]
        return torch.where(stays, word, self.alias[word]).to(torch.int32)


class DeviceCorpus:
    """The training text of a corpus, uploaded once; if it takes more than `memory` bytes, in parts for each pass."""

    def __init__(
        self,
        corpus: Corpus,
        device: torch.device,
        plan: PassPlan,
        *,
        memory: float = float("inf"),
        tokens_per_part: int = TOKENS_PER_PART,
    ) -> None:
        self.corpus, self.slices = corpus, plan.slices
        self._device, self._tokens_per_part = device, tokens_per_part
        self._shift = 0 if plan.slices is None else plan.first - plan.slices[0]
        chunks = training_chunks(corpus, dataclasses.replace(plan, piece=(0, 1)))
        tokens = corpus.tokens  # unsigned ids become signed ones of the same size, which all operations support
        self._tokens: Any = tokens.view(f"i{tokens.dtype.itemsize}") if tokens.dtype.kind == "u" else tokens
        self._uploaded_from: int | None = None  # position in the corpus of the first token that is uploaded
        begin = int(corpus.offsets[chunks].min(initial=len(corpus.tokens)))
        end = int(corpus.offsets[chunks + 1].max(initial=begin))
        if (end - begin) * self._tokens.dtype.itemsize < memory:
            self._tokens, self._uploaded_from = to_device(self._tokens[begin:end], device), begin
        self._keep = None
        if corpus.subsample is not None:
            self._keep = to_device(np.asarray(corpus.keep_probability, dtype=np.float64), device)

    def sample(self, plan: PassPlan) -> tuple[Tensor, Tensor, Tensor]:
        """Return the ids that a pass sees, the offsets of its chunks, and the slice of each chunk."""
        chunks = training_chunks(self.corpus, plan)
        key = randomness.key(self.corpus.seed, "subsample", plan.subsample)
        begin, end = self.corpus.offsets[chunks], self.corpus.offsets[chunks + 1]
        every = np.arange(self._tokens_per_part, (end - begin).sum(), self._tokens_per_part)
        borders = np.searchsorted(np.cumsum(end - begin), every, "right")
        parts = pairwise([0, *np.unique(borders[borders > 0]).tolist(), len(chunks)])
        ids, lengths = zip(*(self._sample(begin[a:b], end[a:b], key) for a, b in parts), strict=True)
        slice_of = np.zeros(len(chunks), dtype=np.int64)
        if plan.sliced:
            slice_of += self.corpus.chunk_slice[chunks] + self._shift
        return torch.cat(ids), _offsets(torch.cat(lengths)), to_device(slice_of, self._device)

    def _sample(self, begin: Ints, end: Ints, key: int) -> tuple[Tensor, Tensor]:
        """Return the sampled words of some chunks, and how many each has."""
        on_device = [to_device(np.asarray(border).astype(np.int64), self._device) for border in (begin, end)]
        position = concatenated_ranges(*on_device)
        if self._uploaded_from is not None:
            words = self._tokens[position - self._uploaded_from]
        else:
            words = to_device(ranges_of(self._tokens, begin, end), self._device)
        words = words.to(torch.int32) & ((1 << 8 * words.element_size()) - 1 if words.element_size() < 4 else -1)
        size = on_device[1] - on_device[0]
        if self._keep is None:
            return words, size
        uniform = _shift(_bits(key, position), 11).double() * 2.0**-53  # as `randomness.uniform`
        sampled = uniform < self._keep[words]
        return words[sampled], torch.diff(_offsets(sampled)[_offsets(size)])

    def read(self, plan: PassPlan) -> list[DeviceRound]:
        """Return the rounds of a pass, as `rounds.read_pass` does."""
        return make_rounds(*self.sample(plan), plan)


def make_rounds(ids: Tensor, chunk_offsets: Tensor, chunk_slice: Tensor, plan: PassPlan) -> list[DeviceRound]:
    """Divide a text, sorted by slice, into rounds of blocks, as `rounds.make_rounds` does."""
    capacity = max(plan.block_size - plan.run_length + 1, 1)
    device = ids.device
    runs_in_chunk = (torch.diff(chunk_offsets) + plan.run_length - 1) // plan.run_length
    chunk = torch.repeat_interleave(torch.arange(len(runs_in_chunk), device=device, dtype=torch.int32), runs_in_chunk)
    begin = torch.arange(len(chunk), device=device) - _offsets(runs_in_chunk)[chunk]
    begin = begin * plan.run_length + chunk_offsets[chunk]
    order_key = _shift(_bits(plan.key("order"), begin), 17) + (chunk_slice[chunk] << 47)
    order = torch.argsort(order_key, stable=True)
    del order_key
    chunk, begin = chunk[order], begin[order]
    del order

    slice_of = chunk_slice[chunk]
    before = _offsets(torch.clamp(chunk_offsets[chunk + 1] - begin, max=plan.run_length))
    starts_block = torch.ones(len(begin), dtype=torch.bool, device=device)
    starts_block[1:] = slice_of[1:] != slice_of[:-1]
    bin_of = (before[:-1] - before[:-1][starts_block][torch.cumsum(starts_block, 0) - 1]) // capacity
    starts_block[1:] |= bin_of[1:] != bin_of[:-1]
    del bin_of
    first = torch.nonzero(starts_block)[:, 0]
    block_slice = slice_of[first]
    rank_in_slice = torch.arange(len(first), device=device) - torch.searchsorted(block_slice, block_slice)
    blocks_in_slice = torch.bincount(block_slice)[block_slice] if len(first) else first
    turn = rank_in_slice * plan.rounds * TURNS // torch.clamp(blocks_in_slice, min=1)
    round_of = turn // TURNS
    counters = turn * (block_slice.max() + 1 if len(first) else 1) + block_slice
    place = _shift(_bits(plan.key("turns"), counters.long()), 1)
    run_offsets = torch.cat([first, first.new_tensor([len(begin)])])
    key = plan.key("negatives")
    max_rows = max(plan.block_size, plan.run_length)
    whole = DevicePass(ids, chunk_offsets, begin, chunk, plan.run_length, run_offsets, block_slice, key, max_rows)
    positions = torch.bincount(round_of, weights=torch.diff(before[run_offsets]).double(), minlength=plan.rounds)
    # Slices are mixed, so that blocks which run at the same time rarely share one.
    when = (rank_in_slice.double() + 0.5) / torch.clamp(blocks_in_slice, min=1)
    blocks = []
    for r in range(plan.rounds):
        numbers = torch.nonzero(round_of == r)[:, 0]
        numbers = numbers[torch.argsort(place[numbers], stable=True)]
        blocks.append(numbers[torch.argsort(when[numbers], stable=True)])
    done = accumulate(map(len, blocks[:-1]), initial=plan.texts_before * len(first))
    rounds = zip(positions.tolist(), blocks, done, strict=True)
    return [DeviceRound(int(n), whole, numbers, before) for n, numbers, before in rounds]


def make_batch(whole: DevicePass, blocks: Tensor, *, half_window: int, pool: int, sampler: DeviceSampler) -> BlockBatch:
    """List the rows and tokens of some blocks, and draw their negatives."""
    runs_in_block = whole.run_offsets[blocks + 1] - whole.run_offsets[blocks]
    runs = concatenated_ranges(whole.run_offsets[blocks], whole.run_offsets[blocks + 1])
    block_of = torch.repeat_interleave(torch.arange(len(blocks), device=runs.device), runs_in_block)
    begin, chunk = whole.run_begin[runs], whole.run_chunk[runs]
    chunk_begin, chunk_end = whole.chunk_offsets[chunk], whole.chunk_offsets[chunk + 1]
    end = torch.minimum(begin + whole.run_length, chunk_end)
    block_start = _offsets(runs_in_block)  # as a run of the batch
    row_start = _offsets(end - begin)  # of each run
    row_offsets = row_start[block_start]
    rows = concatenated_ranges(begin, end)
    left, right = torch.maximum(chunk_begin, begin - half_window), torch.minimum(chunk_end, end + half_window)
    token_start = _offsets(right - left)  # of each run
    token = concatenated_ranges(left, right)  # as an index into the text
    run = torch.repeat_interleave(torch.arange(len(runs), device=runs.device), right - left)
    to_row = (row_start[:-1] - row_offsets[block_of] - begin)[run]  # from an index into the text to a row of the block
    begin, end = begin[run], end[run]
    first_row = to_row + torch.maximum(begin, token - half_window)
    end_row = to_row + torch.minimum(end, token + half_window + 1)
    own_row = torch.where((token >= begin) & (token < end), to_row + token, NO_ROW)
    counters = blocks[:, None] * pool + torch.arange(pool, device=blocks.device)
    return BlockBatch(
        row_word=whole.ids[rows],
        row_offsets=row_offsets.to(torch.int32),
        token_word=whole.ids[token],
        token_rows=(first_row + 256 * end_row + 65536 * own_row).to(torch.int32),
        token_offsets=token_start[block_start].to(torch.int32),
        slice_of=whole.slice_of[blocks].to(torch.int32),
        negatives=sampler.draw(whole.key, counters),
        max_rows=whole.max_rows,
    )


def to_device(values: npt.NDArray[Any], device: torch.device) -> Tensor:
    """Copy an array to a device; on the CPU a writable array is shared, not copied."""
    return torch.from_numpy(np.require(values, requirements=["C", "W"])).to(device)


def send(values: npt.NDArray[Any], device: torch.device) -> Tensor:
    """Copy an array to a device without waiting for the work that is under way there."""
    tensor = torch.from_numpy(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def concatenated_ranges(begin: Tensor, end: Tensor) -> Tensor:
    """Return begin[i]..end[i]-1 for every i, one after the other."""
    lengths = end - begin
    shift = torch.repeat_interleave(begin - _offsets(lengths)[:-1], lengths)
    return shift + torch.arange(len(shift), device=begin.device)


def _offsets(lengths: Tensor) -> Tensor:
    """Return where each of several lists begins once they are concatenated, and where the last one ends."""
    result = torch.zeros(len(lengths) + 1, dtype=torch.int64, device=lengths.device)
    torch.cumsum(lengths, 0, out=result[1:])
    return result


def _shift(x: Tensor, count: int) -> Tensor:
    """Shift right logically, as for unsigned numbers."""
    return (x >> count) & ((1 << (64 - count)) - 1)


def _bits(key: int, counters: Tensor) -> Tensor:
    """Return 64 random bits for each counter, as `randomness.bits` does; signed arithmetic wraps as unsigned does."""
    x = (counters ^ _to_signed(key)) + _to_signed(randomness.GOLDEN_GAMMA)
    x = (x ^ _shift(x, 30)) * _to_signed(randomness.MULTIPLIER_1)
    x = (x ^ _shift(x, 27)) * _to_signed(randomness.MULTIPLIER_2)
    return x ^ _shift(x, 31)


def _to_signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
