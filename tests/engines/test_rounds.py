from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from cases import make_plan, make_text

import driftword as dw
from driftword.engines import rounds
from driftword.engines.rounds import Sampler, make_rounds, read_pass, training_chunks


def test_negatives_follow_the_counts() -> None:
    counts = np.array([1000, 100, 10, 0, 1])
    drawn = Sampler.make(counts, 0.75).draw(7, np.arange(400_000))
    share = np.bincount(drawn, minlength=5) / 400_000
    expected = counts**0.75 / (counts**0.75).sum()
    np.testing.assert_allclose(share, expected, atol=0.003)
    assert share[3] == 0


def test_rounds_share_every_slice_and_blocks_stay_in_theirs() -> None:
    text = make_text([50, 3, 200, 80, 1], [0, 0, 1, 2, 2], 10)
    parts = make_rounds(text, make_plan(rounds=3))
    seen = np.zeros(len(text.ids), dtype=int)
    for part in parts:
        for b, t in enumerate(part.slice_of):
            runs = range(part.run_offsets[b], part.run_offsets[b + 1])
            assert sum(part.run_end[r] - part.run_begin[r] for r in runs) <= 16
            for r in runs:
                seen[part.run_begin[r] : part.run_end[r]] += 1
                chunk = np.searchsorted(text.offsets, part.run_begin[r], side="right") - 1
                assert text.slice_of[chunk] == t
                assert (part.chunk_begin[r], part.chunk_end[r]) == (text.offsets[chunk], text.offsets[chunk + 1])
        assert set(part.slice_of) == {0, 1, 2}
    assert (seen == 1).all()
    numbers = np.concatenate([part.number for part in parts])
    assert len(np.unique(numbers)) == len(numbers)


@pytest.mark.parametrize("passes_before", [0, 40])
def test_slices_take_turns_in_another_order_each_time(small: dw.Corpus, passes_before: int) -> None:
    """Context vectors follow the slices under way, so none may always be the last. Threads share no slice of a wave."""
    orders, lasts = set(), set()
    options = {"sliced": True, "rounds": 3, "block_size": 4, "run_length": 2, "passes_before": passes_before}
    for number in range(2):
        for part in read_pass(small, make_plan(number=number, **options)):
            assert set(part.slice_of.tolist()) == set(range(len(small.slices)))
            for first, end in pairwise(part.wave_offsets.tolist()):
                wave = part.slice_of[first:end]
                assert np.count_nonzero(np.diff(wave)) + 1 == len(set(wave.tolist()))  # each once, its blocks together
            orders.add(tuple(part.number.tolist()))
            lasts.add(int(part.slice_of[-1]))
            if passes_before:
                assert len(set(part.slice_of[: part.wave_offsets[1]].tolist())) > 2
    assert len(orders) == 6
    assert passes_before or len(lasts) > 2


def test_pieces_of_a_text_are_all_of_it_once_and_other_ones_in_every_pass(small: dw.Corpus) -> None:
    whole = training_chunks(small, make_plan())
    pieces = [training_chunks(small, make_plan(piece=(i, 4))) for i in range(4)]
    assert sorted(np.concatenate(pieces)) == whole.tolist()
    for piece in pieces:  # a share of every slice
        assert set(small.chunk_slice[piece]) == set(small.chunk_slice[whole])
    assert training_chunks(small, make_plan(piece=(0, 4), number=1)).tolist() != pieces[0].tolist()
    some = training_chunks(small, make_plan(piece=(1, 4), slices=(2, 5)))
    assert set(small.chunk_slice[some]) == {2, 3, 4}
    first = [read_pass(small, make_plan(piece=(i, 4)))[0] for i in range(2)]
    assert first[0].key != first[1].key  # other negatives


def test_a_part_of_a_round_has_the_blocks_between_two_shares() -> None:
    whole = make_rounds(make_text([50, 3, 200, 80, 1], [0, 0, 1, 2, 2], 10), make_plan(passes_before=40))[0]
    parts = [whole.part(0, 0.3), whole.part(0.3, 0.3), whole.part(0.3, 1)]
    assert [part.n_blocks for part in parts][1] == 0
    for name in ("number", "slice_of"):
        assert np.concatenate([getattr(part, name) for part in parts]).tolist() == getattr(whole, name).tolist()
    assert sum(part.positions for part in parts) == whole.positions
    assert np.concatenate([part.run_begin for part in parts]).tolist() == whole.run_begin.tolist()
    for part in parts:
        assert part.wave_offsets[-1] == part.n_blocks


@pytest.mark.slow
@pytest.mark.parametrize("slices", [1, 3, 300, 40_000])
def test_runs_are_sorted_as_lexsort_sorts_them(slices: int) -> None:
    random = np.random.default_rng(slices)
    slice_of = np.sort(random.integers(0, slices, 5_000))
    numbers = random.integers(0, 1 << 64, 5_000, dtype=np.uint64)
    np.testing.assert_array_equal(rounds._shuffled(slice_of, numbers), np.lexsort((numbers, slice_of)))
    nothing = np.zeros(0, dtype=np.int64)
    assert not len(rounds._shuffled(nothing, nothing.astype(np.uint64)))
