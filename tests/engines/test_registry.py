from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from cases import make_parameters

import driftword as dw
from driftword.basics.errors import OptionError
from driftword.engines import choose_engine, make_engine, registry
from driftword.engines.registry import ENGINES
from driftword.engines.rounds import Sampler

SAMPLER = Sampler.make(np.ones(5), 1)


def test_auto_takes_a_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for usable, name in ((True, "torch"), (False, "cpu")):
        monkeypatch.setattr(registry, "gpu_is_usable", lambda usable=usable: usable)
        assert choose_engine("auto") == name
    assert choose_engine("auto", "cpu") == "torch"  # only the torch engine has devices
    for name in ENGINES:
        assert choose_engine(name) == name


def test_without_pytorch_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert choose_engine("auto") == "cpu"
    with pytest.raises(OptionError, match=r"pip install 'driftword\[torch\]', or pass `engine=\"cpu\"`"):
        make_engine("torch", make_parameters(1, 5, 2), SAMPLER)


@pytest.mark.parametrize("name", list(ENGINES))
def test_parameters_are_cast_to_the_precision_of_the_engine(name: str) -> None:
    device = "cpu" if "device" in ENGINES[name].options else None
    parameters = make_parameters(1, 5, 2).astype(np.float16)
    engine = make_engine(name, parameters, SAMPLER, threads=1, device=device)
    assert {values.dtype for values in vars(engine.parameters).values()} == {np.dtype(ENGINES[name].dtype)}
    np.testing.assert_array_equal(engine.parameters.rho, parameters.rho)


def test_asking_wrongly(small: dw.Corpus) -> None:
    with pytest.raises(OptionError, match="`engine` is 'gpu'; choose one of auto, cpu, torch, reference"):
        dw.fit(small, engine="gpu")
    with pytest.raises(OptionError, match="`device` is an option of the torch engine, not of 'cpu'; leave it out"):
        dw.fit(small, engine="cpu", device="cpu")
