"""Arrays that lie in files: those that do not fit into memory, and those of an object that processes share.

Processes map the file of such an object, so they share its memory, and read only what they need.
"""

from __future__ import annotations

import mmap
import os
import pickle
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics.errors import StoreError
from driftword.basics.process import available_memory

_SHARE: Final = 0.05  # of the free memory that one array takes
_ALIGNED: Final = 64  # bytes, as kernels like it
_NO_RESERVE: Final = 0x4000 if sys.platform == "linux" else 0  # or a file larger than the memory would be refused


def empty_array(n: int, dtype: Any, *, columns: int | None = None) -> npt.NDArray[Any]:
    """Return a new array, ``(n,)`` or ``(n, columns)``: in a temporary file where it would take much of the memory."""
    shape = (n,) if columns is None else (n, columns)
    if np.dtype(dtype).itemsize * n * (columns or 1) <= _SHARE * available_memory():
        return np.empty(shape, dtype=dtype)
    with tempfile.TemporaryFile(prefix="driftword-") as file:  # which is gone when the array is
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape).view(np.ndarray)


@dataclass(frozen=True)
class SharedObject:
    """An object that another process can open; `share` makes one."""

    path: str
    head: bytes  # the object without its arrays; it comes from the process that asks, never from a file
    places: tuple[tuple[int, int], ...]  # of each array in the file: where it begins, and how many bytes it has
    size: int  # of the file

    def open(self) -> Any:
        """Return the object; its arrays are not to be written to."""
        try:
            with open(self.path, "rb") as file:
                if os.fstat(file.fileno()).st_size < self.size:
                    raise StoreError(f"'{self.path}' is not complete here; run the same command again")
                # Kernels are compiled for arrays that can be written to. What is written stays in this process.
                if sys.platform == "win32":
                    mapped = mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_COPY)
                else:
                    flags, protection = mmap.MAP_PRIVATE | _NO_RESERVE, mmap.PROT_READ | mmap.PROT_WRITE
                    mapped = mmap.mmap(file.fileno(), self.size, flags=flags, prot=protection)
        except OSError as error:
            raise StoreError(
                f"'{self.path}' cannot be read here ({error.strerror}); keep it where all processes can read"
            ) from error
        view = memoryview(mapped)
        return pickle.loads(self.head, buffers=[view[begin : begin + n] for begin, n in self.places])


def share(value: Any, path: Path) -> SharedObject:
    """Write the arrays of an object to a file; the caller removes it."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    places, end = [], 0
    with path.open("wb") as file:
        for buffer in buffers:
            raw = buffer.raw()
            file.seek(end)
            file.write(raw)
            places.append((end, raw.nbytes))
            end += -(-raw.nbytes // _ALIGNED) * _ALIGNED
        size = max(end, 1)  # as nothing cannot be mapped
        file.truncate(size)
    return SharedObject(str(path.absolute()), head, tuple(places), size)
