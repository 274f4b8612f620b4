"""The text of a pass on a device: subsampling, runs, blocks and negatives as PyTorch operations.

The same numbers as `corpus.sample`, `rounds.plan` and `Sampler.draw` give with NumPy:
the corpus is uploaded once, and each pass is then cut where the arithmetic is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from driftword import randomness
from driftword.corpus import Corpus
from driftword.engines.rounds import Pass, Sampler, Text

PIECE: Final = 1 << 26  # tokens that are subsampled at a time


@dataclass(frozen=True)
class Rounds:
    """A pass as runs in blocks, and the round of each block."""

    ids: Tensor  # (n,) int32
    offsets: Tensor  # (chunks + 1,)
    begin: Tensor  # (runs,) where each begins; block b holds runs borders[b] to borders[b + 1] - 1
    chunk: Tensor  # (runs,) int32
    run: int  # most positions of one
    borders: Tensor  # (blocks + 1,)
    slice_of: Tensor  # (blocks,)
    round_of: Tensor  # (blocks,)
    key: int
    most_rows: int  # in any block


@dataclass(frozen=True)
class Round:
    """One round, laid out for the kernels: for every block its rows, their contexts and its negatives."""

    positions: int
    rounds: Rounds
    blocks: Tensor  # (blocks,) their numbers


@dataclass(frozen=True)
class Layout:
    """Blocks as flat lists. A row is a position whose word is predicted; a token stands around some rows of its run."""

    row_word: Tensor  # (rows,) int32
    row_first: Tensor  # (blocks + 1,) int32
    token_word: Tensor  # (tokens,) int32
    token_rows: Tensor  # (tokens,) int32: first row + 256 * (last row + 1) + 65536 * own row (255: none), in its block
    token_first: Tensor  # (blocks + 1,) int32
    slice_of: Tensor  # (blocks,) int32
    negatives: Tensor  # (blocks, pool) int32
    most_rows: int  # in any block


class DeviceSampler:
    """A `Sampler` on a device."""

    def __init__(self, sampler: Sampler, device: torch.device) -> None:
        self.threshold = put(sampler.threshold.astype(np.int64), device)
        self.other = put(sampler.other.astype(np.int64), device)

    def draw(self, key: int, counters: Tensor) -> Tensor:
        """Return the word that each counter stands for."""
        random = _bits(key, counters)
        place = (_shift(random, 32) * len(self.other)) >> 32
        stay = (random & 0xFFFFFFFF) <= self.threshold[place]
        return torch.where(stay, place, self.other[place]).to(torch.int32)


class DeviceCorpus:
    """The training text of a corpus, uploaded once; one larger than `room` bytes comes piece by piece for each pass."""

    def __init__(self, corpus: Corpus, device: torch.device, *, room: float = float("inf"), piece: int = PIECE) -> None:
        self.corpus = corpus
        chunks = np.flatnonzero(corpus.chunk_split == 0)
        self._device = device
        tokens = _signed(corpus.tokens)
        self._tokens = put(tokens, device) if tokens.nbytes < room else tokens
        self._begin = put(corpus.offsets[:-1][chunks].astype(np.int64), device)
        self._end = put(corpus.offsets[1:][chunks].astype(np.int64), device)
        self._slice_of = put(corpus.chunk_slice[chunks].astype(np.int64), device)
        self._keep = None
        if corpus.subsample is not None:
            self._keep = put(np.asarray(corpus.keep, dtype=np.float64), device)
        filled = np.cumsum(np.diff(corpus.offsets)[chunks])
        cuts = np.searchsorted(filled, np.arange(piece, int(filled[-1]) + piece, piece), side="right")
        self._cuts = sorted({0, *np.minimum(cuts, len(chunks)).tolist(), len(chunks)})

    def sample(self, how: Pass) -> tuple[Tensor, Tensor, Tensor]:
        """Return the ids that a pass sees, where chunks begin and end among them, and the slice of each chunk."""
        key = randomness.key(self.corpus.seed, "subsample", how.sample)
        ids, lengths = [], []
        for low, high in zip(self._cuts[:-1], self._cuts[1:], strict=True):
            begin, end = self._begin[low:high], self._end[low:high]
            position = ranges(begin, end)
            words = self._words(position)
            size = end - begin
            if self._keep is not None:
                kept = _uniform(key, position) < self._keep[words]
                before = torch.zeros(len(kept) + 1, dtype=torch.int64, device=self._device)
                torch.cumsum(kept, 0, out=before[1:])
                size = torch.diff(before[_offsets(size)])
                words = words[kept]
            ids.append(words)
            lengths.append(size)
        slices = self._slice_of if how.sliced else torch.zeros_like(self._slice_of)
        return torch.cat(ids), _offsets(torch.cat(lengths)), slices

    def _words(self, position: Tensor) -> Tensor:
        """Return the words at rising positions."""
        if isinstance(self._tokens, Tensor):
            words = self._tokens[position]
        else:
            first, last = int(position[0]), int(position[-1])
            words = put(self._tokens[first : last + 1], self._device)[position - first]
        return words.to(torch.int32) & ((1 << 8 * words.element_size()) - 1 if words.element_size() < 4 else -1)

    def read(self, how: Pass) -> list[Round]:
        """Cut a pass into rounds of blocks; see `rounds.plan`, which does the same."""
        ids, offsets, slices = self.sample(how)
        return plan(ids, offsets, slices, how)


def plan(ids: Tensor, offsets: Tensor, slices: Tensor, how: Pass) -> list[Round]:
    """Cut a text, which stands in the order of its slices, into rounds of blocks, as `rounds.plan` does."""
    room = max(how.block - how.run + 1, 1)
    device = ids.device
    pieces = (torch.diff(offsets) + how.run - 1) // how.run
    chunk = torch.repeat_interleave(torch.arange(len(pieces), device=device, dtype=torch.int32), pieces)
    begin = torch.arange(len(chunk), device=device) - _offsets(pieces)[chunk]
    begin = begin * how.run + offsets[chunk]
    key = _shift(_bits(randomness.key(how.seed, "order", how.number), begin), 17) + (slices[chunk] << 47)
    order = torch.argsort(key, stable=True)
    del key
    chunk, begin = chunk[order], begin[order]
    del order

    slice_of = slices[chunk]
    before = _offsets(_lengths(begin, offsets[chunk + 1], how.run))
    changed = torch.ones(len(begin), dtype=torch.bool, device=device)
    changed[1:] = slice_of[1:] != slice_of[:-1]
    bin_of = (before[:-1] - before[:-1][changed][torch.cumsum(changed, 0) - 1]) // room
    changed[1:] |= bin_of[1:] != bin_of[:-1]
    del bin_of
    first = torch.nonzero(changed)[:, 0]
    block_slice = slice_of[first]
    in_slice = torch.arange(len(first), device=device) - torch.searchsorted(block_slice, block_slice)
    of_slice = torch.bincount(block_slice)[block_slice] if len(first) else first
    round_of = in_slice * how.rounds // torch.clamp(of_slice, min=1)
    borders = torch.cat([first, first.new_tensor([len(begin)])])
    key_of = randomness.key(how.seed, "negatives", how.number)
    most = max(how.block, how.run)
    whole = Rounds(ids, offsets, begin, chunk, how.run, borders, block_slice, round_of, key_of, most)
    size = torch.bincount(round_of, weights=torch.diff(before[borders]).double(), minlength=how.rounds)
    # Slices take turns, so that blocks which are worked on at the same time seldom share one.
    share = (in_slice.double() + 0.5) / torch.clamp(of_slice, min=1)
    parts = [torch.nonzero(round_of == r)[:, 0] for r in range(how.rounds)]
    parts = [mine[torch.argsort(share[mine], stable=True)] for mine in parts]
    return [Round(int(positions), whole, mine) for positions, mine in zip(size.tolist(), parts, strict=True)]


def lay_out(part: Round, blocks: Tensor, *, reach: int, pool: int, sampler: DeviceSampler) -> Layout:
    """Write the rows and contexts of some blocks out, and draw their negatives."""
    whole = part.rounds
    sizes = whole.borders[blocks + 1] - whole.borders[blocks]
    runs = ranges(whole.borders[blocks], whole.borders[blocks + 1])
    block_of = torch.repeat_interleave(torch.arange(len(blocks), device=runs.device), sizes)
    begin, chunk = whole.begin[runs], whole.chunk[runs]
    low, high = whole.offsets[chunk], whole.offsets[chunk + 1]
    end = begin + _lengths(begin, high, whole.run)
    run_first = _offsets(sizes)
    row_start = _offsets(end - begin)
    row_first = row_start[run_first]
    rows = ranges(begin, end)
    left, right = torch.maximum(low, begin - reach), torch.minimum(high, end + reach)
    token_start = _offsets(right - left)
    place = ranges(left, right)
    run = torch.repeat_interleave(torch.arange(len(runs), device=runs.device), right - left)
    base = (row_start[:-1] - row_first[block_of] - begin)[run]  # from a place in the text to a row of the block
    begin, end = begin[run], end[run]
    lowest = base + torch.maximum(begin, place - reach)
    highest = base + torch.minimum(end, place + reach + 1)
    own = torch.where((place >= begin) & (place < end), base + place, 255)
    counters = blocks[:, None] * pool + torch.arange(pool, device=blocks.device)
    return Layout(
        row_word=whole.ids[rows],
        row_first=row_first.to(torch.int32),
        token_word=whole.ids[place],
        token_rows=(lowest + 256 * highest + 65536 * own).to(torch.int32),
        token_first=token_start[run_first].to(torch.int32),
        slice_of=whole.slice_of[blocks].to(torch.int32),
        negatives=sampler.draw(whole.key, counters),
        most_rows=whole.most_rows,
    )


def _lengths(begin: Tensor, high: Tensor, run: int) -> Tensor:
    return torch.clamp(high - begin, max=run)


def upload(text: Text, device: torch.device) -> dict[str, Tensor]:
    """Put held-out text on a device: ids, places in it and in the corpus, slice and bounds of each token's chunk."""
    lengths = np.diff(text.offsets)
    fields = {
        "ids": text.ids,
        "position": text.position,
        "slice_of": np.repeat(text.slice_of, lengths),
        "low": np.repeat(text.offsets[:-1], lengths),
        "high": np.repeat(text.offsets[1:], lengths),
        "place": np.arange(len(text.ids)),
        "few": np.arange(256),
    }
    return {name: put(np.asarray(a).astype(np.int64), device) for name, a in fields.items()}


def put(values: npt.NDArray[Any], device: torch.device) -> Tensor:
    """Put an array on a device; one in memory that may be written is shared, not copied."""
    return torch.from_numpy(np.require(values, requirements=["C", "W"])).to(device)


def ranges(begin: Tensor, end: Tensor) -> Tensor:
    """Return the concatenation of begin[i]..end[i]-1 over all i."""
    lengths = end - begin
    offsets = _offsets(lengths)
    shift = torch.repeat_interleave(begin - offsets[:-1], lengths)
    return shift + torch.arange(len(shift), device=begin.device)


def _offsets(lengths: Tensor) -> Tensor:
    result = torch.zeros(len(lengths) + 1, dtype=torch.int64, device=lengths.device)
    torch.cumsum(lengths, 0, out=result[1:])
    return result


def _signed(tokens: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """View unsigned ids as the signed type of the same size, which every PyTorch operation knows."""
    return tokens.view(f"i{tokens.dtype.itemsize}") if tokens.dtype.kind == "u" else tokens


def _shift(x: Tensor, count: int) -> Tensor:
    return (x >> count) & ((1 << (64 - count)) - 1)  # logical, as for unsigned numbers


def _bits(key: int, counters: Tensor) -> Tensor:
    """Return 64 random bits for each counter; signed arithmetic wraps round as unsigned does."""
    x = (counters ^ _wrapped(key)) + _wrapped(randomness.GOLDEN)
    x = (x ^ _shift(x, 30)) * _wrapped(randomness.MULTIPLY_1)
    x = (x ^ _shift(x, 27)) * _wrapped(randomness.MULTIPLY_2)
    return x ^ _shift(x, 31)


def _uniform(key: int, counters: Tensor) -> Tensor:
    return _shift(_bits(key, counters), 11).double() * 2.0**-53


def _wrapped(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
