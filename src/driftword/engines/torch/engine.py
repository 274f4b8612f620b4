"""The torch engine: rounds on an NVIDIA GPU, or wherever PyTorch runs.

Hundreds of blocks run at once and update the same parameters, as the threads of the CPU
engine do. With Triton a block is one program of a kernel; without it blocks are batched
matrix products. What does not fit on the device is kept in half precision, or in the
machine's memory and copied to the device a few slices at a time.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, ParamSpec, TypeVar

import numpy.typing as npt
import torch
from torch import Tensor

from driftword.basics.errors import OptionError
from driftword.basics.process import available_cores
from driftword.corpus import Corpus
from driftword.engines.array_engine import BYTES_PER_TOKEN, TEXT_SHARE
from driftword.engines.contract import LocalEngine
from driftword.engines.parameters import INTERCEPT_UNIT, Floats, Parameters, Table
from driftword.engines.prior import Prior
from driftword.engines.rounds import PassPlan, Sampler, Step, Text, wave_offsets
from driftword.engines.torch import steps as plain_steps
from driftword.engines.torch.blocks import (
    BlockBatch,
    DeviceCorpus,
    DevicePass,
    DeviceRound,
    DeviceSampler,
    DeviceText,
    make_batch,
    to_device,
)
from driftword.engines.torch.embeddings import STORAGE_SHARE, DeviceEmbeddings, download, free_memory
from driftword.engines.torch.steps import DevicePrior

BATCH_BLOCKS: Final = 1 << 17  # blocks in a `BlockBatch`
CONCURRENT_BLOCKS: Final = 256  # blocks that run at once as plain operations
SCORING_POSITIONS: Final = 1 << 16  # positions that are scored at a time as plain operations
#: Warm-up: blocks that may run at once, as a share of those done since the accumulators were reset. The first steps
#: of Adagrad are long, and many of them at once from the same point overshoot together.
WARMUP_SHARE: Final = 1 / 128
WARMUP_BLOCKS: Final = 512  # when that many may run at once, a large GPU is full, and the warm-up is over
ORDERED_BLOCKS: Final = 1024  # blocks that run at once where their steps are taken in order
MOST_UNDER_WAY: Final = 2  # batches whose steps are not yet done, while the next one is made
DRAWN_SHARE: Final = 1 / 16  # of the free memory that the negatives of a held-out text may take
MAX_ROWS: Final = 128  # in a block

P = ParamSpec("P")
R = TypeVar("R")


def _explaining_out_of_memory(method: Callable[P, R]) -> Callable[P, R]:
    """Have a method of the engine say what to do when the device runs out of memory."""

    @functools.wraps(method)
    def explaining(*args: P.args, **options: P.kwargs) -> R:
        try:
            return method(*args, **options)
        except torch.OutOfMemoryError as error:
            engine: Any = args[0]
            free, whole = (f"{size / 1e9:.1f} GB" for size in torch.cuda.mem_get_info(engine.device))
            remedy = "" if engine.half_precision else "pass `half_precision=True`, "
            raise OptionError(
                f"The GPU has too little memory ({free} of {whole} are free); "
                f'{remedy}use a smaller `dim`, or pass `engine="cpu"`'
            ) from error

    return explaining


class TorchEngine(LocalEngine):
    """Runs rounds on one device."""

    @_explaining_out_of_memory
    def __init__(
        self,
        parameters: Parameters,
        sampler: Sampler,
        *,
        device: str | None = None,
        half_precision: bool = False,
        reproducible: bool = False,
        memory: int | None = None,
        concurrent: int = CONCURRENT_BLOCKS,
    ) -> None:
        self.device = find_device(device)
        on_gpu = self.device.type == "cuda"
        self.machine = torch.cuda.get_device_name(self.device) if on_gpu else f"PyTorch on {available_cores()} cores"
        self.half_precision, self._memory, self._concurrent = half_precision, memory, concurrent
        self._triton: Any = None
        if on_gpu and importlib.util.find_spec("triton") is not None:
            self._triton = importlib.import_module("driftword.engines.torch.triton_launch")
        self._steps: Any = self._triton or plain_steps
        if reproducible and on_gpu and not self._triton:
            raise OptionError(
                'Without Triton a GPU adds in no fixed order; leave out `reproducible`, or pass `engine="cpu"`'
            )
        self._reproducible = reproducible
        self.precision = "tf32"  # of matrix products in the Triton kernels
        self._scoring_positions = SCORING_POSITIONS * (32 if self._triton else 1)
        self._sampler = sampler
        self._device_sampler = DeviceSampler(sampler, self.device)
        self._corpus: DeviceCorpus | None = None
        self._texts: dict[int, tuple[Text, DeviceText]] = {}  # by the id of the text, which is kept so that it lasts
        self._drawn: dict[tuple[int, ...], tuple[Tensor, Sampler]] = {}  # likewise
        self._uploads: dict[str, tuple[Floats, Tensor]] = {}  # by name: what was uploaded, and where it is
        self._alpha = Table(*(to_device(values, self.device) for values in parameters.table("alpha")))
        self._rho = DeviceEmbeddings(
            *parameters.table("rho"),
            self.device,
            intercepts=parameters.has_intercepts,
            half_precision=half_precision,
            memory=memory,
        )
        self._blocks_done = 0
        #: Where batches are made while the kernels of earlier ones run, and when those that run are done.
        self._beside = torch.cuda.Stream(self.device, priority=-1) if on_gpu else None
        self._under_way: deque[torch.cuda.Event] = deque()

    @property
    def parameters(self) -> Parameters:
        """The current parameters as NumPy arrays."""
        rho, rho_accumulator = map(self._rho.download, self._rho.stored)
        alpha, alpha_accumulator = map(_numpy, self._alpha)
        return Parameters(rho, alpha, rho_accumulator, alpha_accumulator)

    @_explaining_out_of_memory
    def broadcast(self, n_slices: int, initial_accumulator: float, *, contexts: bool = False) -> TorchEngine:
        """Give every slice the static embeddings, and reset the Adagrad accumulators."""
        # Context vectors before rho, which takes what memory is left.
        alpha = self._alpha.values.repeat(n_slices, 1, 1) if contexts else self._alpha.values
        self._alpha = Table(alpha, torch.full_like(alpha[..., :1], initial_accumulator))
        self._rho = self._rho.broadcast(n_slices, initial_accumulator)
        self._blocks_done = 0
        return self

    def vectors(self) -> Floats:
        """Return all context vectors and then all embeddings, without intercepts, as means over slices."""
        alpha, rho = self._alpha.by_slice().values, self._rho.stored.values
        means = [table[..., : alpha.shape[-1]].mean(0, dtype=torch.float32).cpu() for table in (alpha, rho)]
        return torch.cat(means).numpy()

    @_explaining_out_of_memory
    def merge(self, other: Any, own: Floats, others: Floats, share: float) -> None:
        """Multiply all vectors by a matrix, and add those of another engine, multiplied by another matrix."""
        for name, columns in (("alpha", len(own)), ("rho", self._rho.columns)):
            by_own, by_others = (torch.zeros(columns, columns, device=self.device) for _ in range(2))
            for whole, matrix, rest in ((by_own, own, 1 - share), (by_others, others, share)):
                whole.fill_diagonal_(rest)  # of intercepts
                whole[: len(own), : len(own)] = to_device(matrix.astype("f4"), self.device)
            theirs = other.table(name).by_slice()
            ranges = [(0, 0, self._alpha.by_slice())] if name == "alpha" else self._rho.slice_ranges()
            for low, _, table in ranges:
                for t, (values, accumulator) in enumerate(zip(*table, strict=True), start=low):
                    added, weight = (part[t].to(self.device).float() for part in theirs)
                    values.copy_(values @ by_own + added @ by_others)
                    accumulator.lerp_(weight, share)

    def table(self, name: str) -> Table:
        """Return `rho` or `alpha` with its accumulators where they are stored, not copies."""
        return self._alpha if name == "alpha" else self._rho.stored

    def word_ranges(self, name: str) -> Iterator[tuple[int, int, Table]]:
        """Yield ranges of words, each with `rho` or `alpha` of these words in all slices."""
        return super().word_ranges(name) if name == "alpha" else self._rho.word_ranges()

    def capacity(self) -> float:
        """Return how many tokens it can read at once, beside those it works on, into the memory that is free."""
        return free_memory(self.device, self._memory) * TEXT_SHARE / BYTES_PER_TOKEN

    @_explaining_out_of_memory
    def read(self, corpus: Corpus, plan: PassPlan) -> list[DeviceRound]:
        """Return the rounds of a pass."""
        for name, size in (("block_size", plan.block_size), ("run_length", plan.run_length)):
            if size > MAX_ROWS:
                raise OptionError(
                    f"`{name}` is {size}, and the torch engine takes blocks of at most {MAX_ROWS} positions; "
                    f"use a smaller `{name}`"
                )
        if self._corpus is None or self._corpus.corpus is not corpus or self._corpus.slices != plan.slices:
            memory = free_memory(self.device, self._memory) * STORAGE_SHARE
            self._corpus = DeviceCorpus(corpus, self.device, plan, memory=memory)
        return self._corpus.read(plan)

    @_explaining_out_of_memory
    def likelihood_step(self, blocks: DeviceRound, step: Step) -> Tensor:
        """Take the likelihood step of every block; return the text's summed log-likelihood.

        It is a number on the device, which may still be at work.
        """
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        self._blocks_done = blocks.done
        slice_of = blocks.whole.slice_of[blocks.blocks]
        for low, high, rho in self._rho.slice_ranges():
            numbers = blocks.blocks
            if high - low < self._rho.slices:
                numbers = numbers[(slice_of >= low) & (slice_of < high)]
            for part in numbers.split(BATCH_BLOCKS) if len(numbers) else ():
                batch = self._make_batch(blocks.whole, part, step)
                batch.slice_of.sub_(low)
                total += self._take_steps(rho, self._contexts(low, high), batch, len(part), step)
                if self._beside is not None:  # only a few batches are kept in memory
                    self._under_way.append(torch.cuda.current_stream(self.device).record_event())
        return total

    def _make_batch(self, whole: DevicePass, blocks: Tensor, step: Step) -> BlockBatch:
        """Make a batch; on a GPU beside the work that is under way there, as it depends on nothing of that."""
        make = functools.partial(
            make_batch, whole, blocks, half_window=step.half_window, pool=step.pool_size, sampler=self._device_sampler
        )
        if self._beside is None or not self._rho.resident:  # otherwise which blocks these are is still being found out
            return make()
        if len(self._under_way) >= MOST_UNDER_WAY:
            self._under_way.popleft().synchronize()
        with torch.cuda.stream(self._beside):
            batch = make()
        here = torch.cuda.current_stream(self.device)
        here.wait_stream(self._beside)
        for values in batch:
            if isinstance(values, Tensor):
                values.record_stream(here)  # so that its memory is not used again too early
        return batch

    def _contexts(self, low: int, high: int) -> Table:
        """Return the context vectors of slices low..high-1."""
        return self._alpha if self._alpha.values.ndim == 2 else Table(*(part[low:high] for part in self._alpha))

    def _take_steps(self, rho: Table, alpha: Table, batch: BlockBatch, count: int, step: Step) -> Tensor:
        """Take the likelihood step of a batch, as many blocks at once as the warm-up allows."""
        totals = torch.zeros(count, device=self.device)
        if self._triton and self._reproducible:
            waves = wave_offsets(count, self._blocks_done, most=ORDERED_BLOCKS).tolist()
            self._triton.ordered_steps(rho, alpha, batch, waves, step, totals=totals, precision=self.precision)
            self._blocks_done += count
            return totals.double().sum()
        done = 0
        while done < count:
            allowed = max(1, int(self._blocks_done * WARMUP_SHARE))
            if self._triton:
                size = min(count - done, count if allowed >= WARMUP_BLOCKS else allowed)
                self._triton.likelihood_step(
                    rho, alpha, batch, (done, done + size), step, totals=totals, precision=self.precision
                )
            else:
                size = min(count - done, self._concurrent, allowed)
                totals[done] = plain_steps.likelihood_step(rho, alpha, batch, (done, done + size), step)
            done += size
            self._blocks_done += size
        return totals.double().sum()

    @_explaining_out_of_memory
    def prior_step(self, step: Step) -> None:
        """Take the proximal step of the prior, and centre contexts if there are intercepts."""
        prior, rate, columns = step.prior, step.learning_rate, self._rho.columns
        alpha, accumulator = self._alpha.by_slice()
        _, n_words, dim = alpha.shape
        if step.frozen < n_words:
            of_alpha = DevicePrior.make(prior.alpha, None, dim, dim, self.device)
            center: Any = 0
            if prior.alpha_center is not None:
                center = to_device(prior.alpha_center[step.frozen :].astype("f4"), self.device)
            moving = (alpha[:, step.frozen :] - center).contiguous()
            self._steps.prior_step(
                Table(moving, accumulator[:, step.frozen :].contiguous()), of_alpha, learning_rate=rate
            )
            alpha[:, step.frozen :] = moving + center
        of_rho = DevicePrior.make(prior.rho, prior.intercept, dim, columns, self.device)
        mean_context: Tensor | None = None
        if step.centering is not None and columns > dim:
            mean = self._upload("frequencies", step.centering.frequencies) @ alpha  # (1, K) or (T, K)
            alpha -= mean[:, None]
            mean_context = torch.zeros(len(mean), columns, device=self.device)
            mean_context[:, :dim] = step.centering.size / INTERCEPT_UNIT * mean
        for low, high, table in self._rho.word_ranges():
            rho, center = table.values, self._center(prior, low, high)
            if center is not None:
                rho[..., : center.shape[2]] -= center
            self._steps.prior_step(table, of_rho.of_words(low, high), learning_rate=rate)
            if center is not None:
                rho[..., : center.shape[2]] += center
            if mean_context is not None:
                one = len(mean_context) == 1
                rho[..., dim] += rho @ mean_context[0] if one else (rho @ mean_context[..., None])[..., 0]

    def _center(self, prior: Prior, low: int, high: int) -> Tensor | None:
        """Return the center of the prior for words low..high-1; all of it is uploaded once where it fits."""
        if prior.center is None:
            return None
        if self._rho.resident:
            return self._upload("center", prior.center)[:, low:high]
        return to_device(prior.center[:, low:high].astype("f4"), self.device)

    def _upload(self, name: str, values: Floats) -> Tensor:
        """Return an array on the device; one that is asked for again and again is uploaded once."""
        if name not in self._uploads or self._uploads[name][0] is not values:
            self._uploads[name] = (values, to_device(values.astype("f4"), self.device))
        return self._uploads[name][1]

    @_explaining_out_of_memory
    def score(
        self, text: Text, *, sampler: Sampler, half_window: int, negatives: int, key: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return log sigmoid(eta) of each word, and the summed log sigmoid(-eta) of its negatives."""
        if id(text) not in self._texts:
            self._texts[id(text)] = (text, DeviceText.upload(text, self.device))
        on_device = self._texts[id(text)][1]
        drawn = self._draws(text, on_device, sampler, negatives=negatives, key=key)
        scores = torch.zeros(2, len(text.ids), device=self.device)
        slice_of = on_device.slice_of.clamp(max=self._rho.slices - 1)  # increasing: text is sorted by slice
        for low, high, rho in self._rho.slice_ranges(write_back=False):
            alpha = self._contexts(low, high).values
            begin, end = torch.searchsorted(slice_of, torch.tensor([low, high], device=self.device)).tolist()
            for start in range(begin, end, self._scoring_positions):
                part = slice(start, min(start + self._scoring_positions, end))
                text_part = on_device.part(part)._replace(slice_of=slice_of[part] - low)
                found = self._steps.score(rho.values, alpha, text_part, drawn(part), half_window=half_window)
                scores[0, part], scores[1, part] = found
        positive, negative = download(scores, scores.shape[1])
        return positive, negative

    def _draws(
        self, text: Text, on_device: DeviceText, sampler: Sampler, *, negatives: int, key: int
    ) -> Callable[[slice], Tensor]:
        """Return a function that gives the negatives of some positions, which are kept if there is room for them."""
        own = self._device_sampler if sampler is self._sampler else DeviceSampler(sampler, self.device)
        number = torch.arange(negatives, device=self.device)

        def draw(part: slice) -> Tensor:
            return own.draw(key, on_device.position[part, None] * negatives + number)

        name = (id(text), id(sampler), negatives, key)
        if name not in self._drawn:
            if 4 * negatives * len(text.ids) > free_memory(self.device, self._memory) * DRAWN_SHARE:
                return draw
            step = self._scoring_positions
            parts = [draw(slice(first, first + step)) for first in range(0, len(text.ids), step)]
            self._drawn[name] = (torch.cat(parts) if parts else draw(slice(0)), sampler)
        return self._drawn[name][0].__getitem__

    def finite(self) -> bool:
        """Tell whether the parameters are still finite; alpha shows it, as every other number soon reaches it."""
        return bool(torch.isfinite(self._alpha.values).all())

    def embeddings(self) -> tuple[Floats, Floats]:
        """Return the current rho and alpha."""
        return self._rho.download(self._rho.stored.values), _numpy(self._alpha.values)

    def snapshot(self) -> Callable[[], tuple[Floats, Floats]]:
        """Copy the current rho and alpha; return a function that gives the copies as NumPy arrays."""
        rho, alpha = self._rho.snapshot(), self._alpha.values.clone()
        return lambda: (rho(), _numpy(alpha))


def find_device(name: str | None) -> torch.device:
    """Return the device of a name; by default the first GPU."""
    choices = '`device="cuda"`, `device="cuda:1"` and so on, or `device="cpu"`'
    try:
        device = torch.device(name or "cuda")
    except RuntimeError as error:
        raise OptionError(f"There is no device '{name}'; pass {choices}") from error
    if device.type not in ("cuda", "cpu"):
        raise OptionError(f"The torch engine does not run on '{name}'; pass {choices}")
    if device.type == "cuda" and not torch.cuda.is_available():
        reason = "this PyTorch was built without CUDA"
        if torch.version.cuda is not None:
            try:
                torch.cuda.init()
                reason = "it sees no GPU"
            except (RuntimeError, AssertionError) as error:
                reason = str(error).splitlines()[0].rstrip(".")
        raise OptionError(f'PyTorch cannot use a GPU here: {reason}; pass `engine="cpu"`')
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise OptionError(f"There is no device '{name}'; this machine has {count}, numbered from cuda:0")
    return device


def _numpy(values: Tensor) -> Floats:
    return values.cpu().numpy()
