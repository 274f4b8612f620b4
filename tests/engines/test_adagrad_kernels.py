from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from driftword.engines.cpu.adagrad_kernels import WIDTH, fetch, take_step


@njit
def steps(words: np.ndarray, gradients: np.ndarray, values: np.ndarray, accumulator: np.ndarray, rate: float) -> None:
    for r in range(len(words)):
        fetch(values, words[r])
        take_step(values, accumulator, gradients, words[r], r, rate)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [1, WIDTH - 1, WIDTH, 3 * WIDTH + 2, 101])
def test_a_step_is_that_of_adagrad(columns: int) -> None:
    """Whatever the size of the accumulators is, and also in the columns that no whole vector covers."""
    random = np.random.default_rng(columns)
    values = random.standard_normal((7, columns)).astype(np.float32)
    accumulator = (10.0 ** random.uniform(-12, 30, (7, columns))).astype(np.float32)
    gradients = random.standard_normal((3, columns + 5)).astype(np.float32)
    words = np.array([4, 0, 4], dtype=np.int32)
    right = values.astype(np.float64)
    for r, word in enumerate(words):
        right[word] += 0.3 * gradients[r, :columns] / np.sqrt(accumulator[word].astype(np.float64))
    found = values.copy()
    steps(words, gradients, found, accumulator, np.float32(0.3))
    np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-6)
    assert (found[[1, 2, 3, 5, 6]] == values[[1, 2, 3, 5, 6]]).all()


def test_what_is_not_finite_stays_visible() -> None:
    """A fit that diverges must not seem to go on."""
    values = np.zeros((1, WIDTH), dtype=np.float32)
    steps(np.zeros(1, dtype=np.int32), np.full((1, WIDTH), np.nan, np.float32), values, values + 1, np.float32(0.3))
    assert np.isnan(values).all()
