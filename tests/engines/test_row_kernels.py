"""Every operation on rows, beside the same in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from driftword.engines.cpu import row_kernels as rows
from driftword.engines.cpu.row_kernels import CHUNK, aligned_zeros


@njit
def operations(table: Any, ids: Any, out: Any, transposed: Any) -> Any:
    """Carry all of them out; every one has rows of `out` of its own."""
    rows.fetch(table, 1)
    rows.set_row(out, 0, table, 1, np.float32(0.5))
    rows.set_row(out, 1, table, 2, np.float32(1))
    rows.add_row(out, 1, table, 3, np.float32(-2))
    rows.set_row(out, 2, table, 2, np.float32(1))
    rows.blend_row(out, 2, table, 3, np.float32(0.25), np.float32(3))
    rows.prefix_sums(out, 3, table, 2, 2)  # rows 3, 4, 5
    square = rows.window_sum(out, 6, table, 0, 4, 1, 2)
    rows.transpose(table, transposed, len(table))
    rows.prefix_sums_of(table, out, 1, ids, 1, 2)  # rows 0, 1, 2 of what is no longer needed
    return rows.dot(out, 1, out, 2), square


@pytest.mark.parametrize("columns", [1, 15, 16, 101])
def test_operations_are_those_of_numpy(columns: int) -> None:
    random = np.random.default_rng(columns)
    table, out = aligned_zeros(8, columns), aligned_zeros(7, columns)
    table[:, :columns] = random.normal(size=(8, columns))
    exact, transposed = table.astype(np.float64), aligned_zeros(table.shape[1], 8)
    before = out.copy()
    product, square = operations(table, np.array([9, 2, 0], np.int32), out, transposed)
    right = before.astype(np.float64)
    right[0], right[1], right[2] = exact[1] / 2, exact[2] - 2 * exact[3], 3 * exact[2] + exact[3] / 4
    right[3], right[4], right[5] = 0, exact[2], exact[2] + exact[3]
    right[6] = exact[4] - exact[0] - (exact[2] - exact[1])
    np.testing.assert_allclose(out, right, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(transposed[:, :8], exact.T, rtol=1e-6)
    assert product == pytest.approx(right[1] @ right[2], rel=1e-4, abs=1e-4)
    assert square == pytest.approx(right[6] @ right[6], rel=1e-5)
    np.testing.assert_allclose(table[:3], [0 * right[0], right[3], right[3] + right[1]], rtol=1e-5, atol=1e-5)


def test_rows_begin_with_lines_of_the_cache_and_what_is_not_finite_stays_visible() -> None:
    """A fit that diverges must not seem to go on."""
    table, out = aligned_zeros(8, 3), aligned_zeros(7, 3)
    assert table.shape == (8, CHUNK)
    assert table.ctypes.data % (4 * CHUNK) == 0
    table[3, 2] = np.nan
    operations(table, np.zeros(3, np.int32), out, aligned_zeros(CHUNK, 8))
    assert np.isnan(out[[1, 2, 5], 2]).all()
