from __future__ import annotations

import numpy as np
from cases import NAMES, make_parameters

from driftword.engines.parameters import broadcast, initial_parameters


def test_initial_parameters_are_gaussian_and_depend_on_the_seed_alone() -> None:
    first, again, other = (
        initial_parameters(400, 50, seed=seed, initial_scale=0.2, initial_accumulator=0.5) for seed in (1, 1, 2)
    )
    assert first.rho.shape == (1, 400, 50)
    assert first.alpha.shape == (400, 50)
    for name in NAMES:
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    for values in (first.rho[0], first.alpha):
        assert abs(values.mean()) < 0.002
        assert abs(values.std() / 0.2 - 1) < 0.02
        assert (np.abs(values) < 6 * 0.2).all()
    assert abs(np.corrcoef(first.rho.ravel(), first.alpha.ravel())[0, 1]) < 0.03
    assert abs(np.corrcoef(first.rho.ravel(), other.rho.ravel())[0, 1]) < 0.03
    assert (first.rho_accumulator == 0.5).all()
    assert (first.alpha_accumulator == 0.5).all()


def test_slices_do_not_share_memory_after_broadcast() -> None:
    parameters = broadcast(make_parameters(1, 5, 2), 3, 0.25)
    parameters.rho[0] = 7
    parameters.rho_accumulator[0] = 7
    assert (parameters.rho[1:] != 7).all()
    assert (parameters.rho_accumulator[1:] == 0.25).all()


def test_casting_shares_what_has_the_type_already() -> None:
    parameters = make_parameters(1, 5, 2)
    assert parameters.astype(np.float64).rho is parameters.rho
    assert parameters.astype(np.float32).rho.dtype == np.float32
