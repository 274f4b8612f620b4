"""The torch engine: rounds on an NVIDIA GPU, or wherever PyTorch runs.

Hundreds of blocks are worked on at once and add up in the same parameters, as threads
of the CPU engine do. Where Triton is, a block is one program of a kernel; elsewhere
blocks are batched matrix products. What does not fit on the device is kept in half
precision, or in the machine's memory, and comes to it a few slices at a time.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable
from typing import Any, Final

import numpy.typing as npt
import torch
from torch import Tensor

from driftword.corpus import Corpus
from driftword.engines import torch_steps as plain
from driftword.engines.rounds import Floats, Parameters, Pass, Sampler, Step, Text
from driftword.engines.torch_blocks import DeviceCorpus, DeviceSampler, Layout, Round, lay_out, put, upload
from driftword.engines.torch_rho import ROOM, Rho, free_memory, gigabytes
from driftword.errors import OptionError

PIECE: Final = 1 << 17  # blocks that are laid out at a time
BATCH: Final = 256  # blocks in one batch of plain operations
SCORED: Final = 1 << 16  # positions that are scored at a time
#: Blocks that may be worked on at once, as a share of those done since Adagrad began: its first steps are long, and
#: many of them at once from the same place go too far together.
CAUTION: Final = 1 / 256
ENOUGH: Final = 512  # about what a large GPU works on at once; more need no care
MOST_ROWS: Final = 128


class TorchEngine:
    """Runs rounds on one device."""

    name = "torch"

    def __init__(
        self,
        parameters: Parameters,
        sampler: Sampler,
        *,
        device: str | None = None,
        half: bool = False,
        memory: int | None = None,
        batch: int = BATCH,
    ) -> None:
        self.device = find_device(device)
        self.machine = _named(self.device)
        self._half, self._memory, self._batch = half, memory, batch
        self._triton = self.device.type == "cuda" and importlib.util.find_spec("triton") is not None
        self.precision = "tf32"  # of matrix products in Triton's kernels
        self._scored = SCORED * (32 if self._triton else 1)
        self._sampler = sampler
        self._draw = DeviceSampler(sampler, self.device)
        self._corpus: DeviceCorpus | None = None
        self._uploaded: dict[int, tuple[Text, dict[str, Tensor]]] = {}
        with _enough_memory(self):
            self._alpha = put(parameters.alpha, self.device)
            self._alpha_squares = put(parameters.alpha_squares, self.device)
            self._rho = Rho(parameters.rho, parameters.rho_squares, self.device, half=half, memory=memory)
        self._blocks_done = 0

    @property
    def parameters(self) -> Parameters:
        """The parameters as they are now, as NumPy arrays."""
        rho, squares = self._rho.numpy()
        return Parameters(rho, _numpy(self._alpha), squares, _numpy(self._alpha_squares))

    def spread(self, slices: int, squares: float) -> TorchEngine:
        """Give every slice the static embeddings, and let Adagrad begin anew."""
        with _enough_memory(self):
            self._rho = self._rho.spread(slices, squares)
            self._alpha_squares.fill_(squares)
        self._blocks_done = 0
        return self

    def read(self, corpus: Corpus, how: Pass) -> list[Round]:
        """Return the rounds of a pass."""
        if max(how.block, how.run) > MOST_ROWS:
            raise OptionError(f"the torch engine takes blocks of at most {MOST_ROWS} positions; use a smaller --block")
        with _enough_memory(self):
            if self._corpus is None or self._corpus.corpus is not corpus:
                self._corpus = DeviceCorpus(corpus, self.device, room=free_memory(self.device, self._memory) * ROOM)
            return self._corpus.read(how)

    def round(self, blocks: Round, step: Step) -> float:
        """Climb the likelihood over some blocks, then apply the prior; return the summed log-likelihood of the text."""
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        slices = blocks.rounds.slice_of[blocks.blocks]
        with _enough_memory(self):
            for low, high in self._rho.groups():
                mine = (
                    blocks.blocks
                    if high - low == self._rho.slices
                    else blocks.blocks[(slices >= low) & (slices < high)]
                )
                with self._rho.slices_at(low, high) as values:
                    for part in mine.split(PIECE):
                        laid = lay_out(blocks, part, reach=step.reach, pool=step.pool, sampler=self._draw)
                        laid.slice_of.sub_(low)
                        total += self._climb(values, laid, len(part), step)
            self._apply_prior(step)
        return float(total)

    def _climb(self, values: tuple[Tensor, Tensor], laid: Layout, count: int, step: Step) -> Tensor:
        shared = (self._alpha, self._alpha_squares)
        totals = torch.zeros(count, device=self.device)
        done = 0
        while done < count:
            most = max(1, int(self._blocks_done * CAUTION))
            size = min(count - done, (count if most >= ENOUGH else most) if self._triton else min(self._batch, most))
            if self._triton:
                _triton_launch().climb(
                    values, shared, laid, (done, done + size), step, totals=totals, precision=self.precision
                )
            else:
                totals[done] = plain.climb(values, shared, laid, (done, done + size), step)
            done += size
            self._blocks_done += size
        return totals.double().sum()

    def _apply_prior(self, step: Step) -> None:
        plain.shrink(self._alpha, self._alpha_squares, rate=step.learning_rate, prior=step.prior)
        for low, high in self._rho.word_groups():
            with self._rho.words_at(low, high) as (rho, squares):
                if not step.chained:
                    for t in range(len(rho)):
                        plain.shrink(rho[t], squares[t], rate=step.learning_rate, prior=step.anchor)
                elif self._triton:
                    _triton_launch().smooth(rho, squares, step)
                else:
                    plain.smooth(rho, squares, step)

    def score(
        self, text: Text, *, sampler: Sampler, reach: int, negatives: int, key: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return log s(eta) of each word and the summed log s(-eta) of its negatives."""
        with _enough_memory(self):
            if id(text) not in self._uploaded:
                self._uploaded[id(text)] = (text, upload(text, self.device))
            held = self._uploaded[id(text)][1]
            draw = self._draw if sampler is self._sampler else DeviceSampler(sampler, self.device)
            steps: Any = _triton_launch() if self._triton else plain
            result = torch.zeros(2, len(text.ids), device=self.device)
            order = held["slice_of"]  # rises: text stands in the order of its slices
            if self._rho.slices == 1:  # one for all
                order = torch.zeros_like(order)
            for low, high in self._rho.groups():
                begin, end = torch.searchsorted(order, torch.tensor([low, high], device=self.device)).tolist()
                with self._rho.slices_at(low, high, changed=False) as (rho, _):
                    for here in range(begin, end, self._scored):
                        part = slice(here, min(here + self._scored, end))
                        drawn = draw.draw(key, held["position"][part, None] * negatives + held["few"][:negatives])
                        positions = {name: held[name][part] for name in ("low", "high", "place")}
                        positions |= {"ids": held["ids"], "slice_of": order[part] - low}
                        found = steps.score(rho, self._alpha, positions, drawn=drawn, reach=reach)
                        result[0, part], result[1, part] = found
            positive, negative = result.cpu().numpy()
        return positive, negative

    def finite(self) -> bool:
        """Whether numbers have stayed within bounds."""
        return bool(torch.isfinite(self._alpha).all())

    def embeddings(self) -> tuple[Floats, Floats]:
        """Return rho and alpha as they are now."""
        return self._rho.embeddings(), _numpy(self._alpha)

    def snapshot(self) -> Callable[[], tuple[Floats, Floats]]:
        """Keep rho and alpha as they are now; return a way to get them back."""
        rho, alpha = self._rho.snapshot(), self._alpha.clone()
        return lambda: (rho(), _numpy(alpha))


def find_device(name: str | None) -> torch.device:
    """Return the device that a user means; the first GPU by default."""
    try:
        device = torch.device(name or "cuda")
    except RuntimeError as error:
        raise OptionError(f"there is no device '{name}'; use cuda, cuda:1, ... or cpu") from error
    if device.type not in ("cuda", "cpu"):
        raise OptionError(f"the torch engine runs on cuda or cpu, not on '{name}'")
    if device.type == "cuda" and not torch.cuda.is_available():
        why = "this PyTorch was built without CUDA"
        if torch.version.cuda is not None:
            try:
                torch.cuda.init()
                why = "it sees no GPU"
            except (RuntimeError, AssertionError) as error:
                why = str(error).splitlines()[0].rstrip(".")
        raise OptionError(f"PyTorch cannot use a GPU here: {why}; use --engine cpu")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise OptionError(f"there is no device '{name}'; this machine has {torch.cuda.device_count()}, from cuda:0")
    return device


class _enough_memory:  # noqa: N801 - used as a verb
    """Turn a device's lack of memory into a sentence with the remedy."""

    def __init__(self, engine: TorchEngine) -> None:
        self.engine = engine

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        if isinstance(error, torch.OutOfMemoryError):
            free, whole = torch.cuda.mem_get_info(self.engine.device)
            half = "" if self.engine._half else "--half-precision, "
            raise OptionError(
                f"the GPU has not enough memory ({gigabytes(free)} of {gigabytes(whole)} free); "
                f"use {half}a smaller --dim, or --engine cpu"
            ) from error


def _triton_launch() -> Any:
    """Import what needs Triton where it is needed."""
    return importlib.import_module("driftword.engines.triton_launch")


def _named(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"PyTorch on {os.cpu_count()} cores"


def _numpy(values: Tensor) -> Floats:
    return values.cpu().numpy()
