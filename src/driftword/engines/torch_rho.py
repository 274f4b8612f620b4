"""Where `rho` and its squared gradients live: on the device, on it in half precision, or in the machine's memory.

Work is always done in float32 on the device. In the second and third case a few
slices come there at a time, or for the prior, a few words of all slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from driftword.engines.rounds import Floats

ROOM: Final = 0.75  # share of the free memory that rho may take; the text and its blocks need some too
WORKING: Final = 0.25  # share of it that slices may take which come to the device for work
PARTS: Final = 8  # in at least so many parts


class Rho:
    """Embeddings and their sums of squared gradients, ``(T, V, K)`` each."""

    def __init__(
        self, rho: Floats, squares: Floats, device: torch.device, *, half: bool = False, memory: int | None = None
    ) -> None:
        self._options: dict[str, Any] = {"half": half, "memory": memory}
        self.device = device
        self.slices, self.words, self.dim = rho.shape
        self._free = free_memory(device, memory)
        self._half = half and self.slices > 1
        small = 2 * rho.size * (2 if self._half else 4) < self._free * ROOM
        home = device if small else torch.device("cpu")
        # As halves, squares need the range and embeddings the digits.
        types = (torch.float16, torch.bfloat16) if self._half else (torch.float32, torch.float32)
        #: Whether everything is on the device as it is worked on.
        self.resident = small and not self._half
        pinned = home != device  # pages that stay where they are travel several times as fast
        self._rho = _moved(rho, home, types[0], pinned=pinned)
        self._squares = _moved(squares, home, types[1], pinned=pinned)

    def _fitting(self, whole: int, size: int) -> list[tuple[int, int]]:
        """Cut `whole` things of so many numbers into groups that the device has room to work on."""
        if self.resident:
            return [(0, whole)]
        each = max(1, min(int(self._free * WORKING) // (2 * 4 * size), -(-whole // PARTS)))
        return [(low, min(low + each, whole)) for low in range(0, whole, each)]

    def groups(self) -> list[tuple[int, int]]:
        """Return the ranges of slices that are worked on together."""
        return self._fitting(self.slices, self.words * self.dim)

    def word_groups(self) -> list[tuple[int, int]]:
        """Return the ranges of words that are worked on together."""
        return self._fitting(self.words, self.slices * self.dim)

    @contextmanager
    def slices_at(self, low: int, high: int, *, changed: bool = True) -> Iterator[tuple[Tensor, Tensor]]:
        """Lend some slices for work."""
        with self._lent((self._rho[low:high], self._squares[low:high]), changed=changed) as lent:
            yield lent

    @contextmanager
    def words_at(self, low: int, high: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Lend some words of all slices for work."""
        with self._lent((self._rho[:, low:high], self._squares[:, low:high]), changed=True) as lent:
            yield lent

    @contextmanager
    def _lent(self, home: tuple[Tensor, Tensor], *, changed: bool) -> Iterator[tuple[Tensor, Tensor]]:
        if self.resident:
            yield home
            return
        rho, squares = (_float(part, self.device) for part in home)
        yield rho, squares
        if changed:
            for there, here in zip(home, (rho, squares), strict=True):
                for t in range(len(here)):  # a slice is in one piece, and may travel while others are prepared
                    there[t].copy_(here[t].to(there.dtype), non_blocking=True)
            _wait(self.device)

    def spread(self, slices: int, squares: float) -> Rho:
        """Return one in which every slice is this one's first, and squares begin anew."""
        start = self._rho[:1].float().cpu().numpy()
        shape = (slices, *start.shape[1:])
        return Rho(
            np.broadcast_to(start, shape), np.broadcast_to(np.float32(squares), shape), self.device, **self._options
        )

    def numpy(self) -> tuple[Floats, Floats]:
        """Return both as float32 arrays."""
        return self.embeddings(), self._squares.float().cpu().numpy()

    def embeddings(self) -> Floats:
        """Return the embeddings as a float32 array."""
        return self._rho.float().cpu().numpy()

    def snapshot(self) -> Callable[[], Floats]:
        """Keep the embeddings as they are now; return a way to get them back."""
        size = self._rho.nbytes
        roomy = self._rho.device.type == "cuda" and size < free_memory(self.device, self._options["memory"]) * ROOM
        kept = self._rho.clone() if roomy or self._rho.device.type == "cpu" else self._rho.cpu()
        return lambda: kept.float().cpu().numpy()


def _moved(values: Floats, home: torch.device, kind: torch.dtype, *, pinned: bool) -> Tensor:
    """Put an array where it lives; one that repeats a single slice is repeated there."""
    if values.strides[0] == 0 and len(values) > 1:
        first = torch.tensor(np.ascontiguousarray(values[:1])).to(home, kind)
        result = first.expand(values.shape).contiguous()
    elif home.type == "cpu" and kind == torch.float32 and values.flags.writeable:
        result = torch.from_numpy(np.ascontiguousarray(values))
    else:
        result = torch.tensor(np.ascontiguousarray(values)).to(home, kind)
    return result.pin_memory() if pinned and result.numel() else result


def _float(part: Tensor, device: torch.device) -> Tensor:
    """Bring some slices, or some words of all of them, to the device as float32."""
    result = torch.empty(part.shape, device=device)
    for t in range(len(part)):
        result[t].copy_(part[t], non_blocking=True)
    return result


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def free_memory(device: torch.device, memory: int | None) -> float:
    """Return how many bytes are free on a device, or allowed there."""
    if memory is not None:
        return memory
    return float(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else 1e15


def gigabytes(size: float) -> str:
    """Write a number of bytes for people."""
    return f"{size / 1e9:.1f} GB"
