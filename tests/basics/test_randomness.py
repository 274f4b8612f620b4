from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftword.basics import randomness


@given(st.integers(0, 2**63 - 1), st.integers(0, 1000), st.lists(st.integers(0, 2**40), min_size=1, max_size=20))
def test_arrays_and_single_numbers_agree(seed: int, pass_number: int, positions: list[int]) -> None:
    key = randomness.key(seed, "subsample", pass_number)
    expected = [randomness.mix(key ^ position) for position in positions]
    assert randomness.bits(key, np.array(positions)).tolist() == expected


def test_draws_are_uniform_and_streams_differ() -> None:
    positions = np.arange(200_000)
    draws = randomness.uniform(randomness.key(0, "subsample", 1), positions)
    assert draws.min() >= 0
    assert draws.max() < 1
    histogram = np.histogram(draws, bins=20, range=(0, 1))[0]
    chi_square = ((histogram - 10_000) ** 2 / 10_000).sum()
    assert chi_square < 43.8  # 0.999 quantile with 19 degrees of freedom
    others = [randomness.key(0, "subsample", 2), randomness.key(1, "subsample", 1), randomness.key(0, "split", 1)]
    for other in others:
        assert abs(np.corrcoef(draws, randomness.uniform(other, positions))[0, 1]) < 0.01
