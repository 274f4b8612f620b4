"""The tokens that a pass sees: each is kept with the probability of its word.

Whether it is kept depends on seed, pass and position only, so it does not matter in which order text is read, or how
much of it at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from driftword.basics import randomness
from driftword.basics.workers import Workers
from driftword.corpus.tokenized_text import TokenizedText, concatenated_ranges, ranges_of

_BLOCK: Final = 1 << 20  # tokens that are read at a time
Sample = tuple[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]


def are_sampled(
    text: TokenizedText, positions: npt.NDArray[np.int64], ids: npt.NDArray[Any], pass_number: int
) -> npt.NDArray[np.bool_]:
    """See `Corpus.sampled`."""
    if text.subsample is None:
        return np.ones(len(ids), dtype=bool)
    return np.asarray(randomness.uniform(_key(text, pass_number), positions) < text.keep_probability[ids])


def read_chunks(text: TokenizedText, chunks: npt.NDArray[np.int64], pass_number: int) -> Iterator[npt.NDArray[Any]]:
    """Yield what a pass sees of each chunk; many are read at a time, which is faster than one by one."""
    begin, end = text.offsets[:-1][chunks], text.offsets[1:][chunks]
    for block in _blocks(end - begin):
        positions = concatenated_ranges(begin[block], end[block])
        ids = text.tokens[positions]
        kept = are_sampled(text, positions, ids, pass_number)
        borders = np.cumsum(end[block] - begin[block])[:-1]
        for words, seen in zip(np.split(ids, borders), np.split(kept, borders), strict=True):
            yield words[seen]


class _Chunks(NamedTuple):
    tokens: npt.NDArray[Any]  # of all chunks, one after the other
    begin: npt.NDArray[np.int64]  # of each chunk in the corpus
    end: npt.NDArray[np.int64]


class Seen(NamedTuple):
    """What a pass sees of some chunks."""

    ids: npt.NDArray[Any]
    positions: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]  # of each chunk


def sample_parts(
    text: TokenizedText, chunks: npt.NDArray[np.int64], pass_number: int, *, threads: int | None = None
) -> Iterator[Seen]:
    """Yield what a pass sees of some chunks, in their order, many at a time; few of these parts are in memory."""
    from driftword.corpus import token_kernels as kernels  # Numba loads only where it is used

    begin, end = text.offsets[:-1][chunks], text.offsets[1:][chunks]
    key = np.uint64(_key(text, pass_number))

    def sample(block: slice) -> Seen:
        here = _Chunks(ranges_of(text.tokens, begin[block], end[block]), begin[block], end[block])
        n = len(here.tokens)
        seen = Seen(np.empty_like(here.tokens), np.empty(n, dtype=np.int64), np.empty(len(here.begin), dtype=np.int64))
        n = kernels.sample(here, key, text.keep_probability, seen)
        return Seen(seen.ids[:n].copy(), seen.positions[:n].copy(), seen.counts)

    with Workers(threads) as workers:
        yield from workers.map(sample, _blocks(end - begin))


def sample_chunks(
    text: TokenizedText, chunks: npt.NDArray[np.int64], pass_number: int, *, threads: int | None = None
) -> Sample:
    """Return what `sample_parts` yields all at once; see `Corpus.sample`."""
    if not len(chunks):
        return text.tokens[:0], np.zeros(1, dtype=np.int64), chunks, chunks
    parts = sample_parts(text, chunks, pass_number, threads=threads)
    ids, positions, counts = map(np.concatenate, zip(*parts, strict=True))
    return ids, np.r_[0, np.cumsum(counts)], chunks, positions


def _key(text: TokenizedText, pass_number: int) -> int:
    return randomness.key(text.seed, "subsample", pass_number)


def _blocks(lengths: npt.NDArray[np.int64]) -> Iterator[slice]:
    """Yield ranges of chunks that have about `_BLOCK` tokens together, given how many each has."""
    borders = np.searchsorted(np.cumsum(lengths), np.arange(_BLOCK, int(lengths.sum()), _BLOCK))
    return itertools.starmap(slice, itertools.pairwise(np.unique([0, *borders, len(lengths)]).tolist()))
