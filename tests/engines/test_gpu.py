"""On a machine with an NVIDIA GPU: the kernels compiled, hundreds of blocks at once, memory that runs out."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cases import NAMES, make_parameters, make_plan, make_step, make_text, single

import driftword as dw
from driftword.basics.errors import OptionError
from driftword.engines import choose_engine
from driftword.engines.parameters import Table
from driftword.engines.prior import Chain
from driftword.engines.rounds import Sampler
from driftword.engines.torch import steps as plain
from driftword.engines.torch.blocks import make_rounds
from driftword.engines.torch.embeddings import download
from driftword.engines.torch.engine import TorchEngine

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")]


@pytest.mark.parametrize(("precision", "tolerance"), [("ieee", 1e-3), ("tf32", 2e-2)])
@pytest.mark.parametrize("sizes", [(100, 7, 64, 1, 4), (100, 7, 64, 4, 4), (100, 3, 64, 4, 4)])
def test_compiled_kernels_are_the_plain_steps(precision: str, tolerance: float, sizes: tuple[int, ...]) -> None:
    from kernel_twins import compare

    compare(*sizes, size=40, device="cuda", precision=precision, tolerance=tolerance)


@pytest.mark.parametrize("by_word", [False, True])
@pytest.mark.parametrize("slices", [2, 77, 200, 700])
def test_the_prior_is_solved_for_any_number_of_slices(slices: int, by_word: bool) -> None:
    from driftword.engines.torch import triton_launch as fast

    random = torch.Generator("cuda").manual_seed(0)
    rho = torch.randn(slices, 300, 20, device="cuda", generator=random)
    accumulator = torch.rand(slices, 300, 2, device="cuda", generator=random) ** 4 * 100 + 0.01
    exact, found = rho.double(), rho.clone()
    for precision in (0.1, 20.0, 1e4):
        walk, own = precision * np.linspace(1, 2, slices - 1), np.linspace(0.02, 0.01, slices)
        if by_word:
            walk = walk[:, None] * np.linspace(0.1, 9, 300)
        chains = (Chain(own, walk), Chain(np.zeros(slices), np.full(slices - 1, precision)))
        prior = plain.DevicePrior.make(*chains, 19, 20, torch.device("cuda"))
        plain.prior_step(Table(exact, accumulator.double()), prior, learning_rate=0.2)
        fast.prior_step(Table(found, accumulator), prior, learning_rate=0.2)
        torch.testing.assert_close(found.double(), exact, rtol=1e-4, atol=1e-4)
        exact = found.double()


def clustered(n: int = 400_000) -> dw.Corpus:
    """Make a corpus of words that keep company: each chunk draws from one of fifty groups, which drift."""
    random = np.random.default_rng(0)
    chunks, slices = n // 200, np.sort(random.integers(0, 8, n // 200))
    group = random.integers(0, 50, chunks)[:, None] + (random.random((chunks, 200)) < 0.1) * slices[:, None]
    group %= 50
    ids = group * 40 + np.minimum(random.zipf(1.5, (chunks, 200)) - 1, 39)
    return dw.Corpus.from_ids(
        [f"w{i}" for i in range(2000)],
        ids.ravel(),
        np.arange(chunks + 1) * 200,
        chunk_slice=slices,
        chunk_split=random.choice(3, chunks, p=[0.8, 0.1, 0.1]),
        slices=list(range(2000, 2008)),
    )


def best(model: dw.Model) -> float:
    return float(model.history[model.best_pass - 1]["L"])


def test_a_fit_is_as_good_as_on_the_cpu(tmp_path: Path) -> None:
    corpus = clustered()
    assert choose_engine("auto") == "torch"
    spec = dw.Spec(dim=32)
    scores = {name: best(dw.fit(corpus, spec, passes=5, **options)) for name, options in {
        "cpu": {"engine": "cpu"}, "gpu": {}, "half": {"half_precision": True},
    }.items()}  # fmt: skip
    assert scores["gpu"] == pytest.approx(scores["cpu"], abs=0.01)
    assert scores["half"] == pytest.approx(scores["gpu"], abs=0.01)


def test_a_reproducible_fit_is_the_same_every_time() -> None:
    """Two fits are equal to the last bit, and as good as one whose steps come in any order."""
    corpus, spec = clustered(), dw.Spec(dim=32)
    one, again = (dw.fit(corpus, spec, passes=4, seed=1, reproducible=True) for _ in range(2))
    other = dw.fit(corpus, spec, passes=4, seed=1)
    assert one.rho.tobytes() == again.rho.tobytes()
    assert one.alpha.tobytes() == again.alpha.tobytes()
    assert one.history[-1]["L"] == again.history[-1]["L"]
    assert best(one) == pytest.approx(best(other), abs=0.005)


def test_what_does_not_fit_on_the_gpu_is_streamed() -> None:
    corpus = clustered(100_000)
    sampler = Sampler.make(corpus.raw_counts, 0.75)
    parameters = single(make_parameters(8, 2000, 16))
    plan = make_plan(number=1, subsample=1, block_size=32, rounds=2)
    results = []
    for memory in (None, 1_000_000):
        engine = TorchEngine(copy.deepcopy(parameters), sampler, memory=memory)
        assert engine._rho.resident == (memory is None)
        for part in engine.read(corpus, plan):
            engine.round(part, make_step(8, pool_size=64))
        results.append(engine.parameters)
    for name in NAMES:  # not equal: blocks come in another order
        found, right = (getattr(result, name) - getattr(parameters, name) for result in results)
        assert np.corrcoef(found.ravel(), right.ravel())[0, 1] > 0.5


def test_slices_without_text_are_passed_over_where_steps_are_taken_in_order() -> None:
    text = make_text([90, 400], [0, 6], 500)
    tensors = (torch.tensor(np.asarray(a), device="cuda") for a in (text.ids, text.offsets, text.slice_of.astype("i8")))
    (part,) = make_rounds(*tensors, make_plan())
    for options in ({"half_precision": True}, {"memory": 100_000}):
        parameters = single(make_parameters(7, 500, 16))
        engine: Any = TorchEngine(parameters, Sampler.make(np.ones(500), 1), reproducible=True, **options)
        assert float(engine.round(part, make_step(7))) < 0


def test_devices_that_are_not_there() -> None:
    with pytest.raises(OptionError, match="There is no device 'cuda:99'"):
        TorchEngine(single(make_parameters(1, 9, 4)), Sampler.make(np.ones(9), 1), device="cuda:99")


def test_out_of_memory_is_a_sentence() -> None:
    engine: Any = TorchEngine(single(make_parameters(1, 9, 4)), Sampler.make(np.ones(9), 1))
    engine._rho.broadcast = lambda *_: torch.empty(1 << 50, device="cuda")
    with pytest.raises(OptionError, match='pass `half_precision=True`, use a smaller `dim`, or pass `engine="cpu"`'):
        engine.broadcast(3, 0.1)


def test_numbers_come_from_the_gpu_as_they_are() -> None:
    for shape in ((2, 3_000_017), (5, 7_001, 104), (1, 1), (0, 4)):
        values = torch.randn(shape, device="cuda")
        columns = max(1, shape[-1] - 3)
        np.testing.assert_array_equal(download(values, columns), values[..., :columns].cpu().numpy())
    half = torch.randn(3, 5, device="cuda").half()
    np.testing.assert_array_equal(download(half, 5), half.float().cpu().numpy())
