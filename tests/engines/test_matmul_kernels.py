from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftword.engines.cpu.matmul_kernels import LANES, TILE, add_product


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 40), st.booleans())
def test_the_product_kept_in_registers_is_a_matrix_product(tiles: int, vectors: int, n: int, transposed: bool) -> None:
    random = np.random.default_rng(n)
    left = random.normal(size=(n, tiles * TILE) if transposed else (tiles * TILE, n)).astype(np.float32)
    left = left.T if transposed else left
    right, out = (random.normal(size=(rows, vectors * LANES)).astype(np.float32) for rows in (n, tiles * TILE))
    exact = out + left.astype(np.float64) @ right
    add_product(left, right, *out.shape, n, out)
    np.testing.assert_allclose(out, exact, atol=1e-4)
