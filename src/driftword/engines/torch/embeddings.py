"""Where embeddings and their accumulators are stored: on the device, there in half precision, or in main memory.

All work is done in float32 on the device. In the last two cases a few slices at a time
are copied there, or for the prior a few words of all slices.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from driftword.basics.process import available_cores
from driftword.engines.parameters import Floats, Table

STORAGE_SHARE: Final = 0.75  # of the free memory that rho may take; the text and its blocks need some too
WORKING_SHARE: Final = 0.25  # of the free memory that slices copied to the device for work may take
ALIGNMENT: Final = 4
DOWNLOADED_AT_ONCE: Final = 1 << 22  # bytes that a thread copies from a GPU at a time
MOST_DOWNLOADING: Final = 8  # threads
MIN_RANGES: Final = 8  # into which slices or words are divided when not all of them fit


class DeviceEmbeddings:
    """Embeddings ``(T, V, K)`` and their Adagrad accumulators ``(T, V, 1)`` or ``(T, V, 2)``, for work on a device.

    A single slice may be given to be repeated, which is then done only where it is stored.
    """

    def __init__(
        self,
        rho: Floats,
        accumulator: Floats,
        device: torch.device,
        *,
        repeat: int = 1,
        intercepts: bool = False,
        half_precision: bool = False,
        memory: int | None = None,
    ) -> None:
        self._options: dict[str, Any] = {"intercepts": intercepts, "half_precision": half_precision, "memory": memory}
        self.device, self._memory = device, memory
        self.slices, self.words, self._given_columns = len(rho) * repeat, *rho.shape[1:]
        if intercepts:  # a column more than a good number of them
            rho = _aligned(rho)
        self.columns = rho.shape[2]
        self._free = free_memory(device, memory)
        half_precision &= self.slices > 1
        size = rho.size * (2 if half_precision else 4) + accumulator.size * 4
        fits = size * repeat < self._free * STORAGE_SHARE
        storage = device if fits else torch.device("cpu")
        dtypes = (torch.float16 if half_precision else torch.float32, torch.float32)  # there are few accumulators
        #: Whether everything is on the device in the precision of the work, so that nothing need be copied.
        self.resident = fits and not half_precision
        stored = [_store(a, storage, dtype, repeat) for a, dtype in zip((rho, accumulator), dtypes, strict=True)]
        if storage != device and rho.size:
            stored = [values.pin_memory() for values in stored]  # copies from there are several times as fast
        #: Both, wherever and in whatever precision they are stored.
        self.stored = Table(*stored)

    def slice_ranges(self, *, write_back: bool = True) -> Iterator[tuple[int, int, Table]]:
        """Yield ranges of slices, each with its embeddings on the device; what is done to them is then stored."""
        return self._ranges(0, self.words * self.columns, write_back=write_back)

    def word_ranges(self) -> Iterator[tuple[int, int, Table]]:
        """Yield ranges of words, each with its embeddings of all slices, likewise."""
        return self._ranges(1, self.slices * self.columns, write_back=True)

    def _ranges(self, axis: int, size: int, *, write_back: bool) -> Iterator[tuple[int, int, Table]]:
        """Yield ranges of slices or words, of `size` numbers each, that fit into the device's working memory."""
        count = self.stored.values.shape[axis]
        at_once = count
        if not self.resident:
            at_once = max(1, min(int(self._free * WORKING_SHARE) // (4 * size), -(-count // MIN_RANGES)))
        for low in range(0, count, at_once):
            high = min(low + at_once, count)
            stored = Table(*(values.narrow(axis, low, high - low) for values in self.stored))
            if self.resident:
                yield low, high, stored
                continue
            on_device = Table(*(_copy_as_float32(part, self.device) for part in stored))
            yield low, high, on_device
            if write_back:
                for target, values in zip(stored, on_device, strict=True):
                    for t in range(len(values)):  # a slice is contiguous, and is copied while the next is converted
                        target[t].copy_(values[t].to(target.dtype), non_blocking=True)
                if self.device.type == "cuda":
                    torch.cuda.synchronize(self.device)

    def broadcast(self, n_slices: int, initial_accumulator: float) -> DeviceEmbeddings:
        """Return the embeddings of the first slice repeated in every slice, with the accumulators reset."""
        static = self.download(self.stored.values[:1])
        accumulator = np.full((1, *self.stored.accumulator.shape[1:]), initial_accumulator, static.dtype)
        return DeviceEmbeddings(static, accumulator, self.device, repeat=n_slices, **self._options)

    def download(self, values: Tensor) -> Floats:
        """Return what is stored as a float32 array, without the columns that only fill rows up."""
        return download(values, min(self._given_columns, values.shape[-1]))

    def snapshot(self) -> Callable[[], Floats]:
        """Copy the current embeddings, on the device if they fit; return a function that gives them as an array."""
        values = self.stored.values
        fits = values.nbytes < free_memory(self.device, self._memory) * STORAGE_SHARE
        copy = values.clone() if values.device.type == "cpu" or fits else values.cpu()
        return lambda: self.download(copy)


def download(values: Tensor, columns: int) -> Floats:
    """Return the first columns of a tensor as a float32 array.

    A plain copy from a GPU goes through one small buffer, and one thread at a time touches the new memory for the first
    time. Threads with a pinned buffer each are several times as fast.
    """
    if values.device.type == "cpu":
        return values.float()[..., :columns].contiguous().numpy()
    result = np.empty((*values.shape[:-1], columns), dtype=np.float32)
    source, target = values.view(-1, values.shape[-1]), result.reshape(-1, columns)
    rows = max(1, DOWNLOADED_AT_ONCE // (4 * columns))
    torch.cuda.synchronize(values.device)
    own = threading.local()

    def copy(first: int) -> None:
        if not hasattr(own, "buffer"):
            own.buffer = torch.empty(rows, columns, pin_memory=True)
            own.stream = torch.cuda.Stream(values.device)  # type: ignore[no-untyped-call]
        with torch.cuda.stream(own.stream):
            part = source[first : first + rows, :columns]
            buffer = own.buffer[: len(part)]
            buffer.copy_(part.float().contiguous(), non_blocking=True)
        own.stream.synchronize()
        np.copyto(target[first : first + rows], buffer.numpy())

    with ThreadPoolExecutor(min(available_cores(), MOST_DOWNLOADING)) as threads:
        list(threads.map(copy, range(0, len(source), rows)))
    return result


def _aligned(values: Floats) -> Floats:
    """Fill rows up to whole vectors of four numbers, which a GPU reads at once; what is added stays zero."""
    missing = -values.shape[2] % ALIGNMENT
    return np.pad(values, ((0, 0), (0, 0), (0, missing))) if missing else values


def _store(values: Floats, storage: torch.device, dtype: torch.dtype, repeat: int) -> Tensor:
    """Move an array to where it is stored, and repeat it there; on the CPU a writable one is shared, not copied."""
    if storage.type == "cpu" and dtype == torch.float32 and values.flags.writeable and repeat == 1:
        return torch.from_numpy(np.ascontiguousarray(values))
    result = torch.tensor(np.ascontiguousarray(values)).to(storage, dtype)
    return result.expand(len(values) * repeat, -1, -1).contiguous()


def _copy_as_float32(part: Tensor, device: torch.device) -> Tensor:
    """Copy some slices, or some words of all slices, to the device as float32."""
    result = torch.empty(part.shape, device=device)
    for t in range(len(part)):
        result[t].copy_(part[t], non_blocking=True)
    return result


def free_memory(device: torch.device, memory: int | None) -> float:
    """Return how many bytes may be used on a device: `memory` if given, otherwise what is free there."""
    if memory is not None:
        return memory
    return float(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else 1e15
