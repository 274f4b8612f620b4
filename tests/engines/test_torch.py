"""The torch engine against the reference, block by block, on the CPU; its kernels in Triton's interpreter."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cases import NAMES, SETTING, make_case, make_parameters, make_plan, make_step, make_text, single
from hypothesis import given, settings

import driftword as dw
from driftword.basics.errors import OptionError
from driftword.engines import choose_engine
from driftword.engines.reference import ReferenceEngine
from driftword.engines.rounds import PassPlan, Sampler, Text, make_rounds, read_pass
from driftword.engines.torch import blocks as torch_blocks
from driftword.engines.torch import steps
from driftword.engines.torch.blocks import DeviceCorpus, DeviceRound, DeviceSampler
from driftword.engines.torch.engine import TorchEngine

CPU = torch.device("cpu")
torch.set_num_threads(1)  # for numbers as few as these, more threads only wait for each other


def device_rounds(text: Text, plan: PassPlan) -> list[DeviceRound]:
    """Make rounds on the device, with blocks in the order of slices."""
    tensors = (torch.tensor(np.asarray(a, dtype=kind)) for a, kind in (
        (text.ids, np.int32), (text.offsets, np.int64), (text.slice_of, np.int64)))  # fmt: skip
    return [replace(part, blocks=part.blocks.sort().values) for part in torch_blocks.make_rounds(*tensors, plan)]


@pytest.mark.slow
@settings(max_examples=30)
@given(SETTING)
def test_a_round_of_the_torch_engine_is_a_round_of_the_reference(setting: dict[str, Any]) -> None:
    text, plan, exact, sampler, step = make_case({**setting, "passes_before": 0})  # one block at a time
    parameters = copy.deepcopy(exact)
    engine = TorchEngine(single(parameters), sampler, device="cpu", concurrent=1)
    reference = ReferenceEngine(parameters, sampler)
    for on_device, blocks in zip(device_rounds(text, plan), make_rounds(text, plan), strict=True):
        assert on_device.positions == blocks.positions
        in_order = replace(on_device, blocks=torch.tensor(blocks.number))
        assert float(engine.round(in_order, step)) == pytest.approx(reference.round(blocks, step), rel=1e-3, abs=1e-3)
    for name in NAMES:
        found, right = getattr(engine.parameters, name), getattr(parameters, name)
        np.testing.assert_allclose(found, right, rtol=2e-3, atol=2e-3, err_msg=name)
    options = {"sampler": sampler, "half_window": step.half_window, "negatives": 5, "key": 12345}
    for a, b in zip(reference.score(text, **options), engine.score(text, **options), strict=True):
        np.testing.assert_allclose(b, a, rtol=5e-3, atol=5e-3)


@pytest.mark.slow
@settings(max_examples=15)
@given(SETTING)
def test_a_few_slices_and_words_at_a_time_are_all_of_them(setting: dict[str, Any]) -> None:
    text, plan, exact, sampler, step = make_case(setting)
    whole, parts = (
        TorchEngine(single(copy.deepcopy(exact)), sampler, device="cpu", concurrent=1, memory=memory)
        for memory in (None, 2000)
    )
    for part in device_rounds(text, plan):
        assert float(parts.round(part, step)) == pytest.approx(float(whole.round(part, step)), rel=1e-5)
    for name in NAMES:
        found, right = getattr(parts.parameters, name), getattr(whole.parameters, name)
        np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5, err_msg=name)
    options = {"sampler": sampler, "half_window": step.half_window, "negatives": 5, "key": 12345}
    for a, b in zip(whole.score(text, **options), parts.score(text, **options), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


def test_text_on_a_device_is_the_text_of_numpy(small: dw.Corpus) -> None:
    uploaded = DeviceCorpus(small, CPU, make_plan())
    streamed = DeviceCorpus(small, CPU, make_plan(), memory=0, tokens_per_part=500)
    sampler = Sampler.make(small.raw_counts, 0.75)
    for sliced in (True, False):
        plan = make_plan(number=2, subsample=3, sliced=sliced, rounds=3, seed=5)
        for a, b in zip(uploaded.sample(plan), streamed.sample(plan), strict=True):
            assert (a == b).all()
        for host, device in zip(read_pass(small, plan), uploaded.read(plan), strict=True):
            blocks = device.blocks.sort().values
            assert host.positions == device.positions
            order = np.argsort(host.number)
            assert (blocks.numpy() == host.number[order]).all()
            assert (device.whole.slice_of[blocks].numpy() == host.slice_of[order]).all()
            counters = np.arange(1000) * 7
            drawn = DeviceSampler(sampler, CPU).draw(int(host.key), torch.tensor(counters))
            assert (drawn.numpy() == sampler.draw(host.key, counters)).all()
        assert (device.whole.ids.numpy() == host.ids).all()


def test_slices_take_turns(small: dw.Corpus) -> None:
    part = DeviceCorpus(small, CPU, make_plan()).read(make_plan(block_size=8))[0]
    order = part.whole.slice_of[part.blocks].tolist()
    assert len(set(order[:10])) >= 8


@pytest.mark.slow
def test_a_fit_is_as_good_as_on_the_cpu_engine(small: dw.Corpus, tmp_path: Path) -> None:
    spec = dw.Spec(dim=8, context=4, rounds=3, block_size=16, run_length=8, pool_size=16, learning_rate=0.1)
    scores = {}
    for engine, half in (("cpu", False), ("torch", False), ("torch", True)):
        options: dict[str, Any] = {"device": "cpu"} if engine == "torch" else {}
        model = dw.fit(small, spec, passes=4, engine=engine, half_precision=half, **options)
        scores[engine, half] = model.history[model.best_pass - 1]["L"]
        assert model.rho.dtype == (np.float16 if half else np.float32)
    on_cpu, on_torch = (
        dw.evaluate(model, corpus=small, **options)["L"][0] for options in ({"engine": "cpu"}, {"device": "cpu"})
    )
    assert on_torch == pytest.approx(on_cpu, abs=1e-4)
    assert scores["torch", False] == pytest.approx(scores["cpu", False], abs=0.03)
    assert scores["torch", True] == pytest.approx(scores["cpu", False], abs=0.03)


@pytest.mark.slow
def test_a_fit_is_resumed(small: dw.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = dw.Spec(dim=8, context=4, rounds=2, learning_rate=0.1)

    def stop_after_a_checkpoint(_: Any) -> bool:
        if (tmp_path / ".m.checkpoints" / "pass-002").exists():
            raise KeyboardInterrupt
        return True

    with monkeypatch.context() as patch:
        patch.setattr(TorchEngine, "finite", stop_after_a_checkpoint)
        with pytest.raises(KeyboardInterrupt):
            dw.fit(small, spec, passes=4, device="cpu", out=tmp_path / "m", checkpoint_every=0)
    model = dw.fit(small, spec, passes=4, device="cpu", out=tmp_path / "m", resume=True)
    whole = dw.fit(small, spec, passes=4, device="cpu")
    np.testing.assert_array_equal(model.rho, whole.rho)  # as if it had never been killed
    assert model.provenance.engine == "torch"
    assert [entry["pass"] for entry in model.history] == list(range(1, len(model.history) + 1))


def test_what_does_not_fit_comes_in_parts() -> None:
    parameters = single(make_parameters(6, 40, 8))
    engine = TorchEngine(copy.deepcopy(parameters), Sampler.make(np.ones(40), 1), device="cpu", memory=6_000)
    assert len(list(engine._rho.slice_ranges())) > 1
    assert len(list(engine._rho.word_ranges())) > 1
    for name in NAMES:
        np.testing.assert_array_equal(getattr(engine.parameters, name), getattr(parameters, name))


@pytest.mark.slow
def test_the_kernels_are_the_plain_steps() -> None:
    pytest.importorskip("triton")
    script = Path(__file__).with_name("kernel_twins.py")
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "equal", done.stderr


COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from driftword.engines.parameters import Table
from driftword.engines.torch import triton_kernels as kernels
from driftword.engines.torch.blocks import BlockBatch, DeviceText
from driftword.engines.torch.steps import DevicePrior
from driftword.engines.torch.triton_launch import MovedRows

F, I, L = "*fp32", "*i32", "*i64"
table, batch, prior = Table(F, F), BlockBatch(*[I] * 7, "i32"), DevicePrior(F, F, "i32", F)
block = [table, table, batch, F, (F, F)] + ["i32"] * 4 + ["fp32"] * 3 + ["i32"]
solve = [table, F, "i32", "i32", "i32", "fp32", prior, "i32"]
def signatures(*dims):
    yield "likelihood_step", block, [*dims, 32, 64, 64, 32, "tf32", False]
    yield "likelihood_step", block, [*dims, 32, 64, 64, 32, "tf32", True]
    yield "take_steps", [table, MovedRows(L, L, I), F, "i32", "i32", "fp32", "i32"], [*dims, 8]
    yield "prior_step", solve, [2, 512, False]
    yield "prior_step", solve, [2, 512, True]
    yield "score", [F, F, DeviceText(*[L] * 6), I, F, F, "i32", "i32", "i32", "fp32"], [4, 20, *dims, 8]


for capability, dims in ((80, (20, 24, 32)), (90, (100, 104, 128))):
    for name, kinds, constants in signatures(*dims):
        kernel = getattr(kernels, name)
        names = kernel.arg_names
        fixed = dict(zip(names[len(kinds):], constants, strict=True))
        kind = dict(zip(names, kinds)) | dict.fromkeys(fixed, "constexpr")
        made = triton.compile(ASTSource(kernel, kind, fixed), target=GPUTarget("cuda", capability, 32))
        assert made.asm["cubin"], name
print("compiled")
"""


@pytest.mark.slow
def test_the_kernels_compile_for_gpus_that_are_not_here() -> None:
    pytest.importorskip("triton")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", COMPILE], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "compiled", done.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_machine_without_a_gpu_says_so(small: dw.Corpus) -> None:
    assert choose_engine("auto") == "cpu"
    with pytest.raises(OptionError, match='PyTorch cannot use a GPU here: .*; pass `engine="cpu"`'):
        dw.fit(small, engine="torch")


def test_devices_and_blocks_that_cannot_be_used(small: dw.Corpus) -> None:
    with pytest.raises(OptionError, match="There is no device 'gpu7'; pass `device=\"cuda\"`"):
        dw.fit(small, device="gpu7")
    with pytest.raises(OptionError, match="The torch engine does not run on 'mps'; pass `device="):
        dw.fit(small, device="mps")
    for name in ("block_size", "run_length"):
        with pytest.raises(OptionError, match=f"`{name}` is 200, .* at most 128 positions; use a smaller `{name}`"):
            dw.fit(small, dw.Spec(**{name: 200}), device="cpu")  # type: ignore[arg-type]


def test_too_little_memory_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = TorchEngine(single(make_parameters(2, 9, 4)), Sampler.make(np.ones(9), 1), device="cpu")
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (6.1e9, 8e9))

    def fail(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(steps, "prior_step", fail)
    text = make_text([9], [0], 9)
    (part,) = device_rounds(text, make_plan(block_size=8))
    with pytest.raises(
        OptionError, match=r"6.1 GB of 8.0 GB are free\); pass `half_precision=True`, use a smaller `dim`, or"
    ):
        engine.round(part, make_step())
