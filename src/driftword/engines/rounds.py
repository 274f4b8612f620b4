"""What every engine works on: rounds of blocks of text, and random negatives.

A pass over the training text is divided into *runs* of consecutive positions of one
chunk. The runs of a slice are put into a random order and packed into *blocks*. The
blocks of every slice are distributed over the *rounds* of the pass, so that each round
sees the same share of every slice, and slices take turns within a round. The positions
of a block share one pool of negatives. All of this is a function of the seed and the
pass number alone.

The blocks of a round are worked on in *waves*: all blocks of a wave see the context
vectors as they were before it, so that they can be computed at the same time. The result
does not depend on how many threads there are. The first steps of Adagrad are long, and
many of them from the same point overshoot together, so waves begin with one block and
grow with the blocks done.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from driftword.basics import randomness
from driftword.basics.process import available_cores
from driftword.corpus import Corpus
from driftword.corpus.tokenized_text import concatenated_ranges
from driftword.engines.prior import Prior

Ints = npt.NDArray[np.integer[Any]]

TURNS: Final = 4  # that each slice has in a round
SEGMENTS: Final = 32  # of a slice in each piece of a text, at least, where it has as many chunks
SEGMENT_TOKENS: Final = 1 << 15  # in a segment, about, at most: enough to be read at once
SORTED_PARTS: Final = 256  # into which runs are divided, about, to be sorted
WAVE_BLOCKS: Final = 256  # in a wave, at most
WAVE_SLICES: Final = 128  # in a wave, at most: threads work on different ones
SLICES_AT_ONCE: Final = 16  # so many are enough to keep threads busy, each with some of them
WAVE_SHARE: Final = 1 / 256  # of the blocks done since the accumulators were reset that a wave may have


@dataclass(frozen=True)
class PassPlan:
    """How one pass reads the text: which subsample, and how it is divided into rounds of blocks."""

    number: int  # of the pass
    subsample: int  # number of the subsample that it sees
    sliced: bool  # whether slices are kept apart; the static model treats all text as one slice
    block_size: int  # positions in a block
    run_length: int  # positions in a run
    rounds: int
    seed: int
    passes_before: int = 0  # since the Adagrad accumulators were reset
    slices: tuple[int, int] | None = None  # the first slice that is read, and the one after the last; None for all
    first: int = 0  # number that the first of these slices gets
    piece: tuple[int, int] = (0, 1)  # which piece of the text is read, and of how many; all of it is one

    @property
    def texts_before(self) -> int:
        """The number of texts as long as this one that came before, since the Adagrad accumulators were reset."""
        return self.passes_before * self.piece[1] + self.piece[0]

    def key(self, stream: str) -> int:
        """Return the key of one use of randomness, which no other piece or pass has."""
        return randomness.key(self.seed, stream, self.number, *(self.piece[:1] if self.piece[1] > 1 else ()))


@dataclass(frozen=True)
class Centering:
    """What is known of contexts, to centre them: the mean context vector is moved into the intercepts."""

    frequencies: npt.NDArray[np.float32]  # (V,) of words in contexts
    size: float  # words in a context, on average: fewer than it may have, where texts are short


@dataclass(frozen=True)
class Step:
    """How one round moves the parameters: learning rate, context, negatives and prior."""

    learning_rate: float
    half_window: int  # words of context on either side
    negatives: int  # weight of the negatives of one position
    pool_size: int  # negatives that a block draws
    prior: Prior  # the round's share of it
    centering: Centering | None = None  # for a model with intercepts
    frozen: int = 0  # words, the first ones, whose context vectors do not move


class Text(NamedTuple):
    """Tokens in chunks, as one pass sees them."""

    ids: Ints  # (n,)
    offsets: Ints  # (chunks + 1,)
    chunk: Ints  # (chunks,) number of each chunk in the corpus
    slice_of: Ints  # (chunks,) slice of each chunk; all 0 for the static model
    position: Ints  # (n,) of each token in the corpus

    def select(self, chosen: npt.NDArray[np.bool_]) -> Text:
        """Return some of the chunks."""
        lengths = np.diff(self.offsets)
        tokens = np.repeat(chosen, lengths)
        offsets = np.r_[0, np.cumsum(lengths[chosen])]
        return Text(self.ids[tokens], offsets, self.chunk[chosen], self.slice_of[chosen], self.position[tokens])


class Blocks(NamedTuple):
    """The blocks of a round; block b holds runs ``run_offsets[b]`` to ``run_offsets[b + 1] - 1``."""

    ids: Ints  # (n,) the text that the runs point into
    run_begin: Ints  # (runs,)
    run_end: Ints  # (runs,)
    chunk_begin: Ints  # (runs,) where the chunk of each run begins: contexts do not cross it
    chunk_end: Ints  # (runs,)
    run_offsets: Ints  # (blocks + 1,)
    wave_offsets: Ints  # (waves + 1,) wave w holds blocks wave_offsets[w] to wave_offsets[w + 1] - 1
    slice_of: Ints  # (blocks,)
    number: Ints  # (blocks,) of each block within the pass; its negatives are drawn by it
    key: np.uint64  # of the pass's negatives

    @property
    def positions(self) -> int:
        """The number of words that the blocks predict."""
        return int((self.run_end - self.run_begin).sum())

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return len(self.slice_of)

    def part(self, begin: float, end: float) -> Blocks:
        """Return the waves between two shares of the round; one that crosses a border belongs where it begins."""
        low, high = np.searchsorted(self.wave_offsets[:-1], np.array([begin, end]) * len(self.slice_of))
        blocks = slice(self.wave_offsets[low], self.wave_offsets[high])
        offsets = self.run_offsets[blocks.start : blocks.stop + 1]
        runs = slice(offsets[0], offsets[-1])
        return self._replace(
            run_begin=self.run_begin[runs],
            run_end=self.run_end[runs],
            chunk_begin=self.chunk_begin[runs],
            chunk_end=self.chunk_end[runs],
            run_offsets=offsets - offsets[0],
            wave_offsets=self.wave_offsets[low : high + 1] - blocks.start,
            slice_of=self.slice_of[blocks],
            number=self.number[blocks],
        )


class Sampler(NamedTuple):
    """Draws words in proportion to a power of their counts, by Walker's alias method on integers."""

    threshold: npt.NDArray[np.uint32]  # (V,) a draw of word v stays v up to this, in units of 2**-32
    alias: npt.NDArray[np.int32]  # (V,) the word it becomes otherwise

    @classmethod
    def make(cls, counts: Ints, exponent: float) -> Sampler:
        """Build the alias table."""
        weight = np.asarray(counts, dtype=np.float64) ** exponent * (np.asarray(counts) > 0)
        if not weight.any():
            weight = np.ones(len(counts))
        scaled = weight / weight.sum() * len(weight)
        threshold = np.full(len(weight), 2**32 - 1, dtype=np.uint32)
        alias = np.arange(len(weight), dtype=np.int32)
        below, above = np.flatnonzero(scaled < 1).tolist(), np.flatnonzero(scaled >= 1).tolist()
        while below and above:
            rare, frequent = below.pop(), above[-1]
            threshold[rare] = min(int(scaled[rare] * 2**32), 2**32 - 1)
            alias[rare] = frequent
            scaled[frequent] -= 1 - scaled[rare]
            if scaled[frequent] < 1:
                below.append(above.pop())
        return cls(threshold, alias)

    def draw(self, key: int | np.uint64, counters: Ints) -> npt.NDArray[np.int32]:
        """Return the word that each counter draws."""
        random = randomness.bits(int(key), counters)
        word = ((random >> np.uint64(32)) * np.uint64(len(self.alias)) >> np.uint64(32)).astype(np.int64)
        stays = (random & np.uint64(0xFFFFFFFF)) <= self.threshold[word]
        return np.where(stays, word, self.alias[word]).astype(np.int32)


def read_text(corpus: Corpus, split: str, *, pass_number: int, sliced: bool, most: float = float("inf")) -> Text:
    """Return the tokens of a split that a pass sees; of documents chosen at random where they are more than `most`."""
    chunks = corpus.chunks_of(split)
    of_all = float(np.diff(corpus.offsets)[chunks].sum()) / max(len(corpus.tokens), 1)
    share = most / max(corpus.expected_tokens() * of_all, 1.0)
    if share < 1:
        document = np.asarray(corpus.chunk_document)[chunks]
        chunks = chunks[randomness.uniform(randomness.key(corpus.seed, "chosen"), document) < share]
    return _text(corpus, chunks, pass_number, sliced=sliced)


def read_pass(corpus: Corpus, plan: PassPlan) -> list[Blocks]:
    """Read the training text that a pass sees, as rounds of blocks."""
    text = _text(corpus, training_chunks(corpus, plan), plan.subsample, sliced=plan.sliced)
    if plan.sliced and plan.slices is not None:
        text = text._replace(slice_of=text.slice_of + np.int32(plan.first - plan.slices[0]))
    return make_rounds(text, plan)


def training_chunks(corpus: Corpus, plan: PassPlan) -> npt.NDArray[np.int64]:
    """Return the numbers of the chunks that a pass, or a piece of one, reads."""
    chunks = corpus.chunks_of("train")
    slice_of = corpus.chunk_slice[chunks]
    if plan.slices is not None:
        inside = (slice_of >= plan.slices[0]) & (slice_of < plan.slices[1])
        chunks, slice_of = chunks[inside], slice_of[inside]
    piece, pieces = plan.piece
    if pieces == 1 or not len(chunks):
        return chunks
    # Each slice is cut into segments of adjacent chunks, so that reading is quick; every pass deals them out anew.
    order = np.argsort(slice_of, kind="stable")
    slice_of = slice_of[order]
    size = np.diff(corpus.offsets)[chunks[order]]
    before = np.cumsum(size) - size
    new_slice = _changes(slice_of)
    which = np.cumsum(new_slice) - 1
    start = before[new_slice]
    length = np.diff(np.r_[start, before[-1] + size[-1]])
    unit = np.clip(length // (pieces * SEGMENTS), 1, SEGMENT_TOKENS)
    segment = (before - start[which]) // unit[which]
    new_segment = new_slice | _changes(segment)
    number = np.cumsum(new_segment) - 1  # of the segment of each chunk
    slice_of_segment = slice_of[new_segment]
    random = randomness.bits(randomness.key(plan.seed, "pieces", plan.number), np.arange(len(slice_of_segment)))
    dealt = np.lexsort((random, slice_of_segment))
    rank = np.empty(len(dealt), dtype=np.int64)
    rank[dealt] = np.arange(len(dealt))  # adjacent in a slice: one for each piece in turn
    return np.sort(chunks[order[rank[number] % pieces == piece]])


def _text(corpus: Corpus, chunks: npt.NDArray[np.int64], pass_number: int, *, sliced: bool) -> Text:
    ids, offsets, chunk, position = corpus.sample_chunks(chunks, pass_number=pass_number)
    slice_of = corpus.chunk_slice[chunk] if sliced else np.zeros(len(chunk), dtype=np.int32)
    return Text(ids.astype(np.int32), offsets, chunk, slice_of.astype(np.int32), position)


def make_rounds(text: Text, plan: PassPlan) -> list[Blocks]:
    """Divide a text into rounds of blocks of at most ``plan.block_size`` positions (or one run, if that is longer)."""
    # So that a run that begins at the last position still fits.
    capacity = max(plan.block_size - plan.run_length + 1, 1)
    lengths = np.diff(text.offsets)
    runs_in_chunk = -(-lengths // plan.run_length)
    chunk = np.repeat(np.arange(len(lengths)), runs_in_chunk)
    rank_in_chunk = np.arange(len(chunk)) - np.repeat(np.cumsum(runs_in_chunk) - runs_in_chunk, runs_in_chunk)
    chunk_begin, chunk_end = text.offsets[:-1][chunk], text.offsets[1:][chunk]
    begin = chunk_begin + rank_in_chunk * plan.run_length
    end = np.minimum(begin + plan.run_length, chunk_end)
    order = _shuffled(text.slice_of[chunk], randomness.bits(plan.key("order"), begin))
    begin, end, chunk_begin, chunk_end, slice_of = (
        values[order] for values in (begin, end, chunk_begin, chunk_end, text.slice_of[chunk])
    )

    # Pack runs into blocks: a block is full when the positions of its slice pass a multiple of the capacity.
    before = np.cumsum(end - begin) - (end - begin)
    new_slice = _changes(slice_of)
    bin_of = (before - before[new_slice][np.cumsum(new_slice) - 1]) // capacity
    first = np.flatnonzero(new_slice | _changes(bin_of))
    block_slice = slice_of[first]
    rank_in_slice = np.arange(len(first)) - np.searchsorted(block_slice, block_slice)
    blocks_in_slice = np.bincount(block_slice, minlength=int(block_slice.max(initial=0)) + 1)[block_slice]
    turn = rank_in_slice * plan.rounds * TURNS // np.maximum(blocks_in_slice, 1)
    # The blocks of a slice follow each other within a turn, as its embeddings are then in the cache. But context
    # vectors follow the slice under way, so slices come in another order in every turn.
    place = randomness.bits(plan.key("turns"), turn * (block_slice.max(initial=0) + 1) + block_slice)
    key = np.uint64(plan.key("negatives"))

    run_offsets = np.r_[first, len(begin)]
    done = plan.texts_before * len(first)
    result = []
    for r in range(plan.rounds):
        in_round = np.flatnonzero(turn // TURNS == r)
        numbers = _in_waves(in_round, block_slice[in_round], place[in_round], turn[in_round], done)
        runs = concatenated_ranges(run_offsets[numbers], run_offsets[numbers + 1])
        sizes = run_offsets[numbers + 1] - run_offsets[numbers]
        offsets, waves, slices = np.r_[0, np.cumsum(sizes)], wave_offsets(len(numbers), done), block_slice[numbers]
        part = Blocks(
            text.ids, begin[runs], end[runs], chunk_begin[runs], chunk_end[runs], offsets, waves, slices, numbers, key
        )
        result.append(part)
        done += len(numbers)
    return result


def moves_at_once(n_slices: int) -> bool:
    """Tell whether each block of a wave moves its embeddings at once, as there are enough slices for all threads."""
    return n_slices >= SLICES_AT_ONCE


def _in_waves(numbers: Ints, slice_of: Ints, place: Ints, turn: Ints, done: int) -> Ints:
    """Put the blocks of a round in order: in every wave some slices, the blocks of each next to each other."""
    order = np.lexsort((place, turn))
    new_turn = _changes(turn[order])
    new_slice = new_turn | _changes(place[order])
    slices, turns = np.cumsum(new_slice) - 1, np.cumsum(new_turn) - 1  # slices are numbered anew in every turn
    rank = np.arange(len(order)) - np.flatnonzero(new_slice)[slices]  # of a block among those of its slice and turn
    among = slices - slices[new_turn][turns]  # which slice of the turn
    in_turn = np.bincount(turns[new_slice], minlength=1)[turns]
    groups = -(-in_turn // WAVE_SLICES)
    at_a_time = np.maximum(WAVE_BLOCKS * groups // np.maximum(in_turn, 1), 1)
    again = np.lexsort((slices, rank // at_a_time, among * groups // np.maximum(in_turn, 1), turn[order]))
    sizes = np.diff(wave_offsets(len(order), done))
    wave = np.repeat(np.arange(len(sizes)), sizes)
    order = order[again]
    return np.asarray(numbers[order[np.lexsort((slice_of[order], wave))]])


def _changes(values: Ints) -> npt.NDArray[np.bool_]:
    """Mark every value that differs from the one before it; the first one does."""
    return np.asarray(np.r_[True, values[1:] != values[:-1]][: len(values)])


def _shuffled(slice_of: Ints, random: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Return the order of runs by slice, then by random numbers: as ``lexsort`` does, in parts that threads sort."""
    bits = max(SORTED_PARTS.bit_length() - int(slice_of.max(initial=0)).bit_length(), 1)
    part = slice_of.astype(np.int64) << bits | (random >> np.uint64(64 - bits)).astype(np.int64)
    if part.max(initial=0) < 1 << 16:
        part = part.astype(np.uint16)  # NumPy sorts these in linear time
    order = np.argsort(part, kind="stable")
    ends = np.cumsum(np.bincount(part, minlength=1))

    def sort(number: int) -> None:
        here = slice(ends[number - 1] if number else 0, ends[number])
        order[here] = order[here][np.argsort(random[order[here]], kind="stable")]

    with ThreadPoolExecutor(available_cores()) as threads:
        list(threads.map(sort, range(len(ends))))
    return order


def wave_offsets(count: int, done: int, *, most: int = WAVE_BLOCKS) -> npt.NDArray[np.int64]:
    """Divide `count` blocks into waves of at most `most`, `done` blocks after the accumulators were reset."""
    offsets = [0]
    while offsets[-1] < count:
        size = min(max(int((done + offsets[-1]) * WAVE_SHARE), 1), most)
        offsets.append(min(offsets[-1] + size, count))
    return np.array(offsets, dtype=np.int64)
