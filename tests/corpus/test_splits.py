from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftword.corpus import splits

documents = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3000)), min_size=1, max_size=60)


@given(documents, st.integers(0, 2**62))
def test_every_word_is_in_one_chunk_and_every_large_slice_in_all_splits(rows: list[tuple[int, int]], seed: int) -> None:
    rows.sort(key=lambda row: row[0])
    slice_of = np.array([t for t, _ in rows], dtype=np.int32)
    lengths = np.array([n for _, n in rows], dtype=np.int64)
    size, document, split = splits.cut(lengths, slice_of, 5, seed=seed)
    assert (np.diff(document) >= 0).all()
    assert np.bincount(document, weights=size, minlength=len(rows)).tolist() == lengths.tolist()
    same = (np.diff(document) == 0) & (np.diff(split) == 0)
    assert not same.any()  # neighbours in one split are one chunk
    for t in range(5):
        words = [size[(slice_of[document] == t) & (split == s)].sum() for s in range(3)]
        total = sum(words)
        if total < splits.ENOUGH_WORDS:
            assert words[1] == words[2] == 0
        else:
            assert min(words) > 0
            for held_out in words[1:]:
                assert abs(held_out - 0.1 * total) <= max(0.1 * total, splits.SHORTEST_PIECE)


def test_shares_are_80_10_10() -> None:
    lengths = np.full(400, 900)
    size, _, split = splits.cut(lengths, np.repeat(np.arange(4), 100).astype(np.int32), 4, seed=3)
    shares = np.bincount(split, weights=size) / size.sum()
    np.testing.assert_allclose(shares, [0.8, 0.1, 0.1], atol=0.005)


def test_the_seed_decides() -> None:
    lengths, slice_of = np.full(100, 500), np.zeros(100, dtype=np.int32)
    first, second, other = (splits.cut(lengths, slice_of, 1, seed=seed) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert first[2].tolist() != other[2].tolist()
