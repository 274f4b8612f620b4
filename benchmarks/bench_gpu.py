"""How fast is the torch engine on this machine's GPU, and is it as good as the CPU engine?

    python benchmarks/bench_gpu.py un.corpus [fits kernels peers seeds scaling memory]

One table for each part, all of them by default. Times are taken with device events or
after the device has finished, compilation and warm-up are left out, and each is a median.

fits     the complete fit (static pass and nine more, with the prior, without validation), also
         with steps in a fixed order (reproducible=True)
kernels  the two kernels: bytes they must move, their time, and the share of the bandwidth
         that a plain copy reaches
peers    the CPU engine on all cores, and a dense PyTorch loop: one gradient of the whole
         prior for every minibatch, as in the public port
seeds    three seeds on both engines
scaling  synthetic text from a Zipf law: words a second with more slices, words,
         dimensions and text, up to 200 x 200,000 x 100
memory   half precision, and slices that are copied from the machine's memory
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

import driftword as dw
from driftword.engines.parameters import initial_parameters
from driftword.engines.rounds import Centering, PassPlan, Sampler, Step
from driftword.engines.torch import triton_launch
from driftword.engines.torch.blocks import BlockBatch, DeviceRound, make_batch, make_rounds
from driftword.engines.torch.engine import BATCH_BLOCKS, TorchEngine
from driftword.engines.torch.steps import DevicePrior
from driftword.fitting.schedule import Schedule
from machine import describe

DEVICE = torch.device("cuda")
PLAN = PassPlan(1, 1, sliced=True, block_size=32, run_length=4, rounds=10, seed=0)


def milliseconds(task: Callable[[], object], *, repeats: int = 20) -> float:
    """Return the median time of a task on the device."""
    for _ in range(3):
        task()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        task()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return float(np.median(times))


def bandwidth() -> float:
    """Return bytes a second that a copy on the device reads and writes."""
    one = torch.empty(1 << 30, dtype=torch.float32, device=DEVICE)
    other = torch.empty_like(one)
    return 2 * one.nbytes / milliseconds(lambda: other.copy_(one)) * 1000


def run_fit(corpus: dw.Corpus, spec: dw.Spec, **options: Any) -> dict[str, Any]:
    """Fit a model; return how long it took and how well it scores."""
    begin = time.perf_counter()
    model = dw.fit(corpus, spec, patience=99, show_progress=False, **options)
    wall = time.perf_counter() - begin
    best = next(entry for entry in model.history if entry["pass"] == model.best_pass)
    seconds = sum(entry["seconds"] for entry in model.history)
    return {
        "seconds": seconds,
        "scoring": sum(entry["scoring_seconds"] for entry in model.history),
        "wall": wall,
        "words": sum(entry["words"] for entry in model.history) / seconds,
        "L": best["L"],
        "pass": best["pass"],
    }


def fits(corpus: dw.Corpus) -> None:
    """Print the complete fit at both sizes of context."""
    print("\nfits       context   seconds   wall s   scoring s   M words/s   validation L (pass)")
    for context in (2, 8):
        spec = dw.Spec(context=context)
        for name, options in (("torch", {}), ("in order", {"reproducible": True})):
            dw.fit(corpus, spec, passes=2, engine="torch", show_progress=False, **options)  # compiles
            runs = [run_fit(corpus, spec, engine="torch", **options) for _ in range(3)]
            middle = sorted(runs, key=lambda run: run["seconds"])[1]
            print(
                f"{name:11}{context:7}{middle['seconds']:10.2f}{middle['wall']:9.2f}{middle['scoring']:12.2f}"
                f"{middle['words'] / 1e6:12.1f}   {middle['L']:.4f} ({middle['pass']})"
            )


def make_engine(corpus: Any, spec: dw.Spec, *, slices: int, **options: Any) -> TorchEngine:
    """Make an engine whose parameters are broadcast to all slices."""
    intercepts = np.zeros(len(corpus.words)) if spec.intercept else None
    static = initial_parameters(
        len(corpus.words), spec.dim, seed=0, initial_scale=0.1, initial_accumulator=0.01, intercepts=intercepts
    ).astype(np.float32)
    engine = TorchEngine(static, Sampler.make(corpus.raw_counts, 0.75), **options)
    engine.broadcast(slices, 0.01)
    engine._blocks_done = 1 << 30  # past the warm-up
    return engine


def make_step(corpus: Any, spec: dw.Spec, *, slices: int) -> Step:
    """Return a step such as `fit` takes."""
    centering = Centering(np.full(len(corpus.words), 1 / len(corpus.words), np.float32), spec.context)
    return Schedule(spec, 10, np.ones(slices - 1), 0, centering if spec.intercept else None).step(5, 0)


def make_blocks(engine: TorchEngine, part: DeviceRound, step: Step) -> BlockBatch:
    """Return the first batch of a round."""
    blocks = part.blocks[:BATCH_BLOCKS]
    sampler = engine._device_sampler
    return make_batch(part.whole, blocks, half_window=step.half_window, pool=step.pool_size, sampler=sampler)


def kernels(corpus: dw.Corpus) -> None:
    """Print both kernels against the memory roofline."""
    copied = bandwidth()
    print(f"\nkernels    a plain copy moves {copied / 1e12:.2f} TB/s")
    print("kernel                 GB moved      ms   TB/s   of a copy   M words/s")
    for context in (2, 8):
        spec = dw.Spec(context=context)
        engine = make_engine(corpus, spec, slices=len(corpus.slices))
        step = make_step(corpus, spec, slices=len(corpus.slices))
        part = engine.read(corpus, PLAN)[0]
        blocks = len(part.blocks[:BATCH_BLOCKS])
        batch = make_blocks(engine, part, step)
        totals = torch.zeros(blocks, device=DEVICE)
        rho, alpha = engine.table("rho"), engine.table("alpha")
        # A row is read, and it is read and written; its one accumulator hardly counts.
        rows = len(batch.row_word) + batch.negatives.numel() + len(batch.token_word)
        moved = rows * spec.dim * 4 * 3
        took = milliseconds(
            lambda: triton_launch.likelihood_step(rho, alpha, batch, (0, blocks), step, totals=totals, precision="tf32")
        )
        words = len(batch.row_word) / took / 1e3
        print(f"likelihood, context {context}{moved / 1e9:11.2f}{took:8.2f}{moved / took / 1e9:7.2f}"
              f"{moved / took * 1000 / copied:11.0%}{words:12.1f}")  # fmt: skip
        batched = milliseconds(lambda: make_blocks(engine, part, step))
        print(f"  making the batch{batched:19.2f}")
    prior = DevicePrior.make(step.prior.rho, step.prior.intercept, spec.dim, rho.values.shape[2], torch.device(DEVICE))
    took = milliseconds(lambda: triton_launch.prior_step(rho, prior, learning_rate=step.learning_rate))
    moved = 2 * rho.values.nbytes
    print(f"random walk          {moved / 1e9:11.2f}{took:8.2f}{moved / took / 1e9:7.2f}"
          f"{moved / took * 1000 / copied:11.0%}")  # fmt: skip
    took = milliseconds(lambda: engine.read(corpus, PLAN), repeats=5)
    print(f"reading a pass       {took:19.2f}")


def peers(corpus: dw.Corpus) -> None:
    """Print the CPU engine and a dense PyTorch loop on the same text."""
    print("\npeers                          M words/s   validation L")
    dw.fit(corpus, passes=2, engine="torch", show_progress=False)  # compiles
    gpu = run_fit(corpus, dw.Spec(), engine="torch", passes=10)
    print(f"torch, ten passes            {gpu['words'] / 1e6:11.2f}   {gpu['L']:.4f}")
    cpu = run_fit(corpus, dw.Spec(), engine="cpu", passes=10)
    print(f"cpu, all cores, ten passes   {cpu['words'] / 1e6:11.2f}   {cpu['L']:.4f}")
    dense = dense_loop(corpus, dw.Spec())
    print(f"dense PyTorch loop           {dense / 1e6:11.2f}   (speed only)")
    print(f"torch / cpu {gpu['words'] / cpu['words']:.1f}x, torch / dense {gpu['words'] / dense:.1f}x")


def dense_loop(corpus: dw.Corpus, spec: dw.Spec, *, batch: int = 10_000, batches: int = 60) -> float:
    """Return words a second of a loop that takes the gradient of the whole prior for every minibatch."""
    shape = (len(corpus.slices), len(corpus.words), spec.dim)
    rho = torch.nn.Parameter(0.1 * torch.randn(shape, device=DEVICE))
    alpha = torch.nn.Parameter(0.1 * torch.randn(shape[1:], device=DEVICE))
    optimizer = torch.optim.Adagrad([rho, alpha], lr=0.05)
    sample, *_ = corpus.sample("train", pass_number=1)
    ids = torch.tensor(sample[: batch * batches].astype(np.int64), device=DEVICE)
    offsets = [d for d in range(-spec.context // 2, spec.context // 2 + 1) if d]
    weight = torch.tensor(corpus.raw_counts.astype(np.float64) ** 0.75, device=DEVICE)
    slices = torch.randint(0, shape[0], (batches,)).tolist()

    def step(n: int) -> None:
        positions = torch.arange(n * batch, (n + 1) * batch, device=DEVICE)
        context: Any = sum(alpha[ids[(positions + d).clamp(0, len(ids) - 1)]] for d in offsets)
        absent = torch.multinomial(weight, batch * spec.negatives, replacement=True).view(batch, -1)
        own = rho[slices[n]]
        likely = torch.nn.functional.logsigmoid((own[ids[positions]] * context).sum(-1)).sum()
        unlikely = torch.nn.functional.logsigmoid(-(own[absent] @ context[..., None])).sum()
        prior = spec.drift_precision / 2 * (rho[1:] - rho[:-1]).square().sum() + spec.prior / 2 * alpha.square().sum()
        loss = prior - len(ids) / batch * (likely + unlikely)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    for n in range(5):
        step(n)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for n in range(5, batches):
        step(n)
    torch.cuda.synchronize()
    return (batches - 5) * batch / (time.perf_counter() - begin)


def seeds(corpus: dw.Corpus) -> None:
    """Print three seeds on both engines."""
    print("\nseeds      context   engine   validation L of seeds 0, 1, 2   mean")
    for context in (2, 8):
        for engine in ("torch", "cpu"):
            scores = [run_fit(corpus, dw.Spec(context=context), engine=engine, seed=seed)["L"] for seed in range(3)]
            shown = ", ".join(f"{score:.4f}" for score in scores)
            print(f"           {context:7}   {engine:8} {shown}   {np.mean(scores):.4f}")


class Zipf:
    """Text drawn from a Zipf law on the device, in chunks of 500 words."""

    def __init__(self, slices: int, words: int, tokens: int) -> None:
        power = 1 / torch.arange(1, words + 1, device=DEVICE, dtype=torch.float64)
        self.counts = (power / power.sum() * tokens).long().clamp(min=1).cpu().numpy()
        borders = torch.cumsum(power / power.sum(), 0).float()
        parts = [
            torch.searchsorted(borders, torch.rand(min(1 << 26, tokens - low), device=DEVICE), out_int32=True)
            for low in range(0, tokens, 1 << 26)
        ]
        self.ids = torch.cat(parts).clamp_(max=words - 1)
        chunks = tokens // 500
        self.offsets = torch.arange(chunks + 1, device=DEVICE) * 500
        self.slice_of = torch.arange(chunks, device=DEVICE) * slices // chunks
        self.words = range(words)
        self.raw_counts = self.counts

    def read(self, plan: PassPlan) -> list[DeviceRound]:
        """Divide the text into rounds."""
        return make_rounds(self.ids, self.offsets, self.slice_of, plan)


def scaling(_: dw.Corpus) -> None:
    """Print how speed changes with the size of everything."""
    print("\nscaling   slices    words   dim   M tokens   GB of rho   M words/s   s a pass   peak GB")
    base = {"slices": 50, "words": 50_000, "tokens": 50_000_000, "dim": 100}
    for change in (
        {}, {"slices": 100}, {"slices": 200}, {"words": 100_000}, {"words": 200_000}, {"dim": 50}, {"dim": 200},
        {"tokens": 100_000_000}, {"tokens": 200_000_000},
        {"slices": 200, "words": 200_000, "tokens": 1_000_000_000},
    ):  # fmt: skip
        size = base | change
        text = Zipf(size["slices"], size["words"], size["tokens"])
        spec = dw.Spec(dim=size["dim"])
        torch.cuda.reset_peak_memory_stats()
        engine = make_engine(text, spec, slices=size["slices"])
        step = make_step(text, spec, slices=size["slices"])
        engine.round(text.read(replace(PLAN, rounds=1000))[0], step)  # compiles
        torch.cuda.synchronize()
        begin = time.perf_counter()
        parts = text.read(PLAN)
        words = sum(part.positions for part in parts)
        for part in parts:
            engine.round(part, step)
        took = time.perf_counter() - begin
        numbers = size["slices"] * size["words"] * size["dim"]
        print(
            f"         {size['slices']:7}{size['words']:9}{size['dim']:6}{size['tokens'] / 1e6:11.0f}"
            f"{numbers * 4 / 1e9:12.1f}{words / took / 1e6:12.1f}{took:11.2f}"
            f"{torch.cuda.max_memory_allocated() / 1e9:10.1f}", flush=True
        )  # fmt: skip
        del engine, parts, text
        torch.cuda.empty_cache()


def memory(corpus: dw.Corpus) -> None:
    """Print what half precision and streaming cost."""
    print("\nmemory                    seconds a pass   peak GB   validation L after three passes")
    spec = dw.Spec()
    for name, half, limit, precision in (
        ("float32, TF32 products", False, None, "tf32"),
        ("float32, exact products", False, None, "ieee"),
        ("half precision", True, None, "tf32"),
        ("float32, 1 GB allowed", False, 1_000_000_000, "tf32"),
        ("half, 0.5 GB allowed", True, 500_000_000, "tf32"),
    ):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        original = TorchEngine.__init__

        def limited(self: TorchEngine, *args: Any, **options: Any) -> None:
            original(self, *args, **{**options, "memory": limit})
            self.precision = precision

        TorchEngine.__init__ = limited  # type: ignore[method-assign]
        try:
            model = dw.fit(corpus, spec, passes=3, patience=9, engine="torch", half_precision=half, show_progress=False)
        finally:
            TorchEngine.__init__ = original  # type: ignore[method-assign]
        last = model.history[-1]
        peak = torch.cuda.max_memory_allocated() / 1e9
        print(f"{name:26}{last['seconds']:14.2f}{peak:10.2f}   {last['L']:.4f}")


def main() -> None:
    parts = (fits, kernels, peers, seeds, scaling, memory)
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= {part.__name__ for part in parts}:
        sys.exit(__doc__)
    print(describe("torch", "triton"))
    print(f"GPU       {torch.cuda.get_device_name()}")
    corpus = dw.Corpus.open(sys.argv[1])
    for part in parts:
        if len(sys.argv) == 2 or part.__name__ in sys.argv[2:]:
            part(corpus)


if __name__ == "__main__":
    main()
