"""Processes that compute for this one, and arrays that they share."""

from __future__ import annotations

import operator
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftword.basics.child_processes import in_processes
from driftword.basics.errors import DriftwordError, StoreError
from driftword.basics.shared_arrays import share


@pytest.mark.slow
def test_every_job_is_done_once() -> None:
    jobs = [(i, 2) for i in range(20)]
    assert sorted(in_processes(operator.mul, jobs, 2)) == [2 * i for i in range(20)]
    assert list(in_processes(operator.mul, [], 2)) == []


@pytest.mark.slow
def test_an_error_is_raised_here_with_its_place() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        list(in_processes(operator.truediv, [(1, 0)], 1))
    assert "In another process" in raised.value.__notes__[0]


@pytest.mark.slow
def test_a_killed_process_is_said() -> None:
    with pytest.raises(DriftwordError, match=r"ended \(exit status -9\), perhaps for want of memory; give fewer"):
        list(in_processes(os._exit if os.name == "nt" else signal.raise_signal, [(signal.SIGKILL,)], 1))


def test_shared_arrays_are_those_that_were_shared(tmp_path: Path) -> None:
    value: dict[str, Any] = {
        "long": np.arange(1000), "flat": np.ones((3, 5), dtype=np.float32), "strided": np.arange(10)[::2],
        "other": np.asfortranarray(np.eye(4)[:, :3]), "empty": np.zeros(0), "name": "x",
    }  # fmt: skip
    value["again"] = value["long"]
    shared = share(value, tmp_path / "arrays")
    found, other = shared.open(), shared.open()
    assert found["name"] == "x"
    assert found["again"] is found["long"]
    for name in ("long", "flat", "other", "strided", "empty"):
        np.testing.assert_array_equal(found[name], value[name])
        assert found[name].dtype == value[name].dtype
        assert found[name].flags.f_contiguous == value[name].flags.f_contiguous or name == "strided"
        assert found[name].flags.writeable  # or kernels would be compiled again
        assert found[name].ctypes.data % 16 == 0
    found["long"][0] = 7
    assert other["long"][0] == 0  # what one writes, nobody else sees
    assert shared.open()["long"][0] == 0


def test_a_file_that_is_not_complete_or_gone_is_said(tmp_path: Path) -> None:
    path = tmp_path / "arrays"
    shared = share(np.arange(1000), path)
    os.truncate(path, 100)
    with pytest.raises(StoreError, match="not complete here"):
        shared.open()
    path.unlink()
    with pytest.raises(StoreError, match="cannot be read here"):
        shared.open()
    assert share("no arrays", path).open() == "no arrays"
