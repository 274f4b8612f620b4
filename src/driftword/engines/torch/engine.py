"""The torch engine: rounds on an NVIDIA GPU, or wherever PyTorch runs.

Hundreds of blocks run at once and update the same parameters, as the threads of the CPU
engine do. With Triton a block is one program of a kernel; without it blocks are batched
matrix products. What does not fit on the device is kept in half precision, or in the
machine's memory and copied to the device a few slices at a time.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy.typing as npt
import torch
from torch import Tensor

from driftword.basics.errors import OptionError
from driftword.basics.process import available_cores
from driftword.corpus import Corpus
from driftword.engines.array_engine import BYTES_PER_TOKEN, TEXT_SHARE
from driftword.engines.parameters import INTERCEPT_UNIT, Floats, Parameters
from driftword.engines.prior import Prior
from driftword.engines.rounds import PassPlan, Sampler, Step, Text, wave_offsets
from driftword.engines.torch import steps as torch_steps
from driftword.engines.torch.blocks import (
    BlockBatch,
    DeviceCorpus,
    DevicePass,
    DeviceRound,
    DeviceSampler,
    DeviceText,
    ScoringBatch,
    make_batch,
    to_device,
)
from driftword.engines.torch.embeddings import STORAGE_SHARE, Rho, download, free_memory, gigabytes

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


class TorchEngine:
    """Runs rounds on one device."""

    reads_ahead = False

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
        self.machine = _describe(self.device)
        self._half_precision, self._memory, self._concurrent = half_precision, memory, concurrent
        self._triton = self.device.type == "cuda" and importlib.util.find_spec("triton") is not None
        if reproducible and self.device.type == "cuda" and not self._triton:
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
        with self._explaining_out_of_memory():
            self._alpha = to_device(parameters.alpha, self.device)
            self._alpha_accumulator = to_device(parameters.alpha_accumulator, self.device)
            self._rho = Rho(
                parameters.rho, parameters.rho_accumulator, self.device, intercepts=parameters.has_intercepts,
                half_precision=half_precision, memory=memory,
            )  # fmt: skip
        self._blocks_done = 0
        #: Where batches are made while the kernels of earlier ones run, and when those that run are done.
        self._beside = torch.cuda.Stream(self.device, priority=-1) if self.device.type == "cuda" else None
        self._under_way: deque[torch.cuda.Event] = deque()
        self._uploaded: tuple[Floats, Tensor] | None = None
        self._uploaded_center: tuple[Floats, Tensor] | None = None

    @property
    def parameters(self) -> Parameters:
        """The current parameters as NumPy arrays."""
        rho, rho_accumulator = self._rho.numpy()
        return Parameters(rho, _numpy(self._alpha), rho_accumulator, _numpy(self._alpha_accumulator))

    def broadcast(self, n_slices: int, initial_accumulator: float, *, contexts: bool = False) -> TorchEngine:
        """Give every slice the static embeddings, and reset the Adagrad accumulators."""
        with self._explaining_out_of_memory():
            if contexts:  # before rho, which takes what memory is left
                self._alpha = self._alpha.repeat(n_slices, 1, 1)
            self._alpha_accumulator = torch.full_like(self._alpha, initial_accumulator)
            self._rho = self._rho.broadcast(n_slices, initial_accumulator)
        self._blocks_done = 0
        return self

    def capacity(self) -> float:
        """Return how many tokens it can read at once beside those it works on, for the memory that is free."""
        return free_memory(self.device, self._memory) * TEXT_SHARE / BYTES_PER_TOKEN

    def read(self, corpus: Corpus, plan: PassPlan) -> list[DeviceRound]:
        """Return the rounds of a pass."""
        for name, size in (("block_size", plan.block_size), ("run_length", plan.run_length)):
            if size > MAX_ROWS:
                raise OptionError(
                    f"`{name}` is {size}, and the torch engine takes blocks of at most {MAX_ROWS} positions; "
                    f"use a smaller `{name}`"
                )
        with self._explaining_out_of_memory():
            if self._corpus is None or self._corpus.corpus is not corpus or self._corpus.slices != plan.slices:
                memory = free_memory(self.device, self._memory) * STORAGE_SHARE
                self._corpus = DeviceCorpus(corpus, self.device, plan, memory=memory)
            return self._corpus.read(plan)

    def round(self, blocks: DeviceRound, step: Step) -> Tensor:
        """Take the likelihood step of every block, then the prior's; return the text's summed log-likelihood.

        It is a number on the device, which may still be at work: only who asks for its value waits.
        """
        total = self._likelihood_steps(blocks, step)
        self.prior_step(step)
        return total

    def likelihood_step(self, blocks: DeviceRound, step: Step) -> float:
        """Take the likelihood step of every block; return the text's summed log-likelihood."""
        return float(self._likelihood_steps(blocks, step))

    def _likelihood_steps(self, blocks: DeviceRound, step: Step) -> Tensor:
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        self._blocks_done = blocks.done
        slice_of = blocks.whole.slice_of[blocks.blocks]
        with self._explaining_out_of_memory():
            for low, high in self._rho.slice_groups():
                numbers = blocks.blocks
                if high - low < self._rho.slices:
                    numbers = numbers[(slice_of >= low) & (slice_of < high)]
                with self._rho.slices_on_device(low, high) as rho_and_accumulator:
                    for part in numbers.split(BATCH_BLOCKS):
                        batch = self._prepare(blocks.whole, part, step)
                        batch.slice_of.sub_(low)
                        total += self._take_steps(
                            rho_and_accumulator, self._contexts(low, high), batch, len(part), step
                        )
                        self._mark()
        return total

    def _prepare(self, whole: DevicePass, blocks: Tensor, step: Step) -> BlockBatch:
        """Make a batch; on a GPU beside the work that is under way there, as it depends on nothing of that."""
        options: dict[str, Any] = {
            "half_window": step.half_window, "pool": step.pool_size, "sampler": self._device_sampler,
        }  # fmt: skip
        if self._beside is None or not self._rho.resident:  # otherwise which blocks these are is still being found out
            return make_batch(whole, blocks, **options)
        if len(self._under_way) >= MOST_UNDER_WAY:
            self._under_way.popleft().synchronize()
        with torch.cuda.stream(self._beside):
            batch = make_batch(whole, blocks, **options)
        here = torch.cuda.current_stream(self.device)
        here.wait_stream(self._beside)
        for values in vars(batch).values():
            if isinstance(values, Tensor):
                values.record_stream(here)  # so that its memory is not used again too early
        return batch

    def _mark(self) -> None:
        """Note when the steps of a batch are done, as only a few batches are kept in memory."""
        if self._beside is not None:
            event = torch.cuda.Event()
            event.record(torch.cuda.current_stream(self.device))
            self._under_way.append(event)

    def _contexts(self, low: int, high: int) -> tuple[Tensor, Tensor]:
        """Return the context vectors of slices low..high-1, and their accumulator."""
        if self._alpha.ndim == 2:
            return self._alpha, self._alpha_accumulator
        return self._alpha[low:high], self._alpha_accumulator[low:high]

    def _take_steps(
        self,
        rho_and_accumulator: tuple[Tensor, Tensor],
        alpha_and_accumulator: tuple[Tensor, Tensor],
        batch: BlockBatch,
        count: int,
        step: Step,
    ) -> Tensor:
        """Take the likelihood step of a batch, as many blocks at once as the warm-up allows."""
        totals = torch.zeros(count, device=self.device)
        if self._triton and self._reproducible:
            waves = wave_offsets(count, self._blocks_done, most=ORDERED_BLOCKS).tolist()
            steps = _triton_launch().OrderedSteps(
                batch, waves, pool=step.pool_size, rho=rho_and_accumulator[0], alpha=alpha_and_accumulator[0]
            )
            steps.take(rho_and_accumulator, alpha_and_accumulator, step, totals=totals, precision=self.precision)
            self._blocks_done += count
            return totals.double().sum()
        done = 0
        while done < count:
            allowed = max(1, int(self._blocks_done * WARMUP_SHARE))
            if self._triton:
                size = min(count - done, count if allowed >= WARMUP_BLOCKS else allowed)
                _triton_launch().likelihood_step(
                    rho_and_accumulator, alpha_and_accumulator, batch, (done, done + size), step,
                    totals=totals, precision=self.precision,
                )  # fmt: skip
            else:
                size = min(count - done, self._concurrent, allowed)
                totals[done] = torch_steps.likelihood_step(
                    rho_and_accumulator, alpha_and_accumulator, batch, (done, done + size), step
                )
            done += size
            self._blocks_done += size
        return totals.double().sum()

    def prior_step(self, step: Step) -> None:
        """Take the proximal step of the prior, and centre contexts if there are intercepts."""
        with self._explaining_out_of_memory():
            self._prior_step(step)

    def _prior_step(self, step: Step) -> None:
        prior_step: Any = _triton_launch().prior_step if self._triton else torch_steps.prior_step
        dim, prior, rate = self._alpha.shape[-1], step.prior, step.learning_rate
        alpha, accumulator = (a if a.ndim == 3 else a[None] for a in (self._alpha, self._alpha_accumulator))
        if step.frozen < alpha.shape[1]:
            of_alpha = torch_steps.DevicePrior.make(prior.alpha, None, dim, dim, self.device)
            center: Any = 0
            if prior.alpha_center is not None:
                center = to_device(prior.alpha_center[step.frozen :].astype("f4"), self.device)
            moving = (alpha[:, step.frozen :] - center).contiguous()
            prior_step(moving, accumulator[:, step.frozen :].contiguous(), of_alpha, learning_rate=rate)
            alpha[:, step.frozen :] = moving + center
        of_rho = torch_steps.DevicePrior.make(prior.rho, prior.intercept, dim, self._rho.dim, self.device)
        mean_context: Tensor | None = None
        if step.centering is not None and self._rho.dim > dim:
            mean = self._frequencies(step.centering.frequencies) @ alpha  # (1, K) or (T, K)
            alpha -= mean[:, None]
            mean_context = torch.zeros(len(mean), self._rho.dim, device=self.device)
            mean_context[:, :dim] = step.centering.size / INTERCEPT_UNIT * mean
        for low, high in self._rho.word_groups():
            with self._rho.words_on_device(low, high) as (rho, accumulator):
                own_center = self._center(prior, low, high)
                if own_center is not None:
                    rho[..., : own_center.shape[2]] -= own_center
                prior_step(rho, accumulator, of_rho.of_words(low, high), learning_rate=rate)
                if own_center is not None:
                    rho[..., : own_center.shape[2]] += own_center
                if mean_context is not None:
                    one = len(mean_context) == 1
                    rho[..., dim] += rho @ mean_context[0] if one else (rho @ mean_context[..., None])[..., 0]

    def shared(self, *, rho: bool) -> list[tuple[Tensor, Tensor]]:
        """Return what the text of every slice moves, with its accumulators: context vectors, on request rho too."""
        contexts = [(self._alpha, self._alpha_accumulator)] if self._alpha.ndim == 2 else []
        return [*contexts, self._rho.tensors] if rho else contexts

    def chain(self, name: str) -> Iterator[tuple[int, int, Tensor, Tensor]]:
        """Yield ranges of words, with rho (or alpha) and its accumulators in all slices."""
        if name == "alpha":
            yield 0, self._alpha.shape[1], self._alpha, self._alpha_accumulator
            return
        for low, high in self._rho.word_groups():
            with self._rho.words_on_device(low, high) as (values, accumulator):
                yield low, high, values, accumulator

    def hold(self, name: str, t: int, values: Tensor, accumulator: float) -> None:
        """Set one slice of rho (or alpha), and its accumulators to a number that lets nothing move it."""
        stored = (self._alpha, self._alpha_accumulator) if name == "alpha" else self._rho.tensors
        stored[0][t].copy_(values)
        stored[1][t] = accumulator

    def _center(self, prior: Prior, low: int, high: int) -> Tensor | None:
        """Return the center of the prior for words low..high-1; all of it is uploaded once where it fits."""
        if prior.center is None:
            return None
        if not self._rho.resident:
            return to_device(prior.center[:, low:high].astype("f4"), self.device)
        if self._uploaded_center is None or self._uploaded_center[0] is not prior.center:
            self._uploaded_center = (prior.center, to_device(prior.center.astype("f4"), self.device))
        return self._uploaded_center[1][:, low:high]

    def _frequencies(self, frequencies: Floats) -> Tensor:
        """Return the frequencies of words on the device, uploaded once."""
        if self._uploaded is None or self._uploaded[0] is not frequencies:
            self._uploaded = (frequencies, to_device(frequencies.astype("f4"), self.device))
        return self._uploaded[1]

    def score(
        self, text: Text, *, sampler: Sampler, half_window: int, negatives: int, key: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return log sigmoid(eta) of each word, and the summed log sigmoid(-eta) of its negatives."""
        with self._explaining_out_of_memory():
            if id(text) not in self._texts:
                self._texts[id(text)] = (text, DeviceText.upload(text, self.device))
            on_device = self._texts[id(text)][1]
            drawn = self._draws(text, on_device, sampler, negatives=negatives, key=key)
            score: Any = _triton_launch().score if self._triton else torch_steps.score
            scores = torch.zeros(2, len(text.ids), device=self.device)
            slice_of = on_device.slice_of  # increasing: text is sorted by slice
            if self._rho.slices == 1:  # one for all
                slice_of = torch.zeros_like(slice_of)
            for low, high in self._rho.slice_groups():
                begin, end = torch.searchsorted(slice_of, torch.tensor([low, high], device=self.device)).tolist()
                with self._rho.slices_on_device(low, high, write_back=False) as (rho, _):
                    for start in range(begin, end, self._scoring_positions):
                        part = slice(start, min(start + self._scoring_positions, end))
                        batch = ScoringBatch(
                            ids=on_device.ids,
                            index=torch.arange(part.start, part.stop, device=self.device),
                            slice_of=slice_of[part] - low,
                            chunk_begin=on_device.chunk_begin[part],
                            chunk_end=on_device.chunk_end[part],
                            negatives=drawn(part),
                        )
                        scores[0, part], scores[1, part] = score(
                            rho, self._contexts(low, high)[0], batch, half_window=half_window
                        )
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
        """Whether the parameters are still finite; alpha tells, as every other number soon reaches it."""
        return bool(torch.isfinite(self._alpha).all())

    def embeddings(self) -> tuple[Floats, Floats]:
        """Return the current rho and alpha."""
        return self._rho.embeddings(), _numpy(self._alpha)

    def snapshot(self) -> Callable[[], tuple[Floats, Floats]]:
        """Copy the current rho and alpha; return a function that gives the copies as NumPy arrays."""
        rho, alpha = self._rho.snapshot(), self._alpha.clone()
        return lambda: (rho(), _numpy(alpha))

    @contextmanager
    def _explaining_out_of_memory(self) -> Iterator[None]:
        """Say what to do when the device runs out of memory."""
        try:
            yield
        except torch.OutOfMemoryError as error:
            free, whole = torch.cuda.mem_get_info(self.device)
            remedy = "" if self._half_precision else "pass `half_precision=True`, "
            raise OptionError(
                f"The GPU has too little memory ({gigabytes(free)} of {gigabytes(whole)} are free); "
                f'{remedy}use a smaller `dim`, or pass `engine="cpu"`'
            ) from error


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


def _triton_launch() -> Any:
    """Import what needs Triton only where it is used."""
    return importlib.import_module("driftword.engines.torch.triton_launch")


def _describe(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"PyTorch on {available_cores()} cores"


def _numpy(values: Tensor) -> Floats:
    return values.cpu().numpy()
