"""Arrays of a store, mapped into memory and compared with their checksums where they are first used."""

from __future__ import annotations

import contextlib
import copy
import io
import mmap
import tokenize
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.storage.checksums import CheckedFile

_HEADER: Final = 1 << 14  # bytes; NumPy itself refuses headers that are longer than 10,000
Array = npt.NDArray[Any]
Columns = int | slice | list[int] | Array


class StoredArray:
    """An array in an open ``.npy`` file. Parts are checked when they are read; pickled, it is an ordinary array."""

    def __init__(self, file: CheckedFile) -> None:
        head = file.head(_HEADER)
        shape, fortran_order, dtype, self._begin = _read_header(head)
        count = int(np.prod(shape, dtype=np.int64))
        if self._begin + count * dtype.itemsize != file.size:
            raise ValueError("its size is not that of its array")
        mapped = mmap.mmap(file.handle, file.size, access=mmap.ACCESS_READ)
        values = np.frombuffer(mapped, dtype, count=count, offset=self._begin)
        self._values: Array = values.reshape(shape, order="F" if fortran_order else "C")
        self._in_rows = not fortran_order
        self._file = file

    @property
    def shape(self) -> tuple[int, ...]:
        """Its dimensions."""
        return self._values.shape

    def whole(self) -> Array:
        """Return all of it."""
        self._file.check()
        return self._values

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its values."""
        return self._values.dtype

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, key: slice) -> Array:
        begin, end, _ = key.indices(len(self))
        size = self._values[:1].nbytes
        self._check((begin * size, end * size))
        return self._values[key]

    def view(self, dtype: npt.DTypeLike) -> StoredArray:
        """Return the same values read as another type of the same size."""
        viewed = copy.copy(self)
        viewed._values = self._values.view(dtype)
        return viewed

    def row(self, row: int) -> Array:
        """Return ``array[row]``."""
        size = self._values[:1].nbytes
        self._check((row * size, (row + 1) * size))
        return np.asarray(self._values[row])

    def columns(self, columns: Columns) -> Array:
        """Return ``array[:, columns]``."""
        numbers = np.atleast_1d(np.arange(self.shape[1])[columns])
        if len(numbers):
            row, size = self._values[:1].nbytes, self._values[:1, :1].nbytes
            first, last = int(numbers.min()) * size, (int(numbers.max()) + 1) * size
            self._check(*((begin + first, begin + last) for begin in range(0, self._values.nbytes, row)))
        return np.asarray(self._values[:, columns])

    def _check(self, *parts: tuple[int, int]) -> None:
        if self._in_rows:
            header = (0, self._begin)  # which says where the rest is
            self._file.check_parts([header, *((self._begin + begin, self._begin + end) for begin, end in parts)])
        else:
            self._file.check()

    def __reduce__(self) -> Any:
        return np.array, (self.whole(),)


def read_array(data: bytes) -> Array:
    """Return the read-only array that the content of a ``.npy`` file holds."""
    with _damage_as_value_error():
        values: Array = np.load(io.BytesIO(data), allow_pickle=False)
    values.setflags(write=False)
    return values


def whole(array: Array | StoredArray) -> Array:
    """Return an array in memory, or all of a stored one."""
    return array.whole() if isinstance(array, StoredArray) else array


def row(array: Array | StoredArray, number: int) -> Array:
    """Return ``array[number]``, checking only that part of a stored one."""
    return array.row(number) if isinstance(array, StoredArray) else np.asarray(array[number])


def columns(array: Array | StoredArray, numbers: Columns) -> Array:
    """Return ``array[:, numbers]``, checking only those parts of a stored one."""
    return array.columns(numbers) if isinstance(array, StoredArray) else np.asarray(array[:, numbers])


def _read_header(head: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return shape, order, type and first byte of the values of a ``.npy`` file."""
    file = io.BytesIO(head)
    with _damage_as_value_error():
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran_order, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    return shape, fortran_order, dtype, file.tell()


@contextlib.contextmanager
def _damage_as_value_error() -> Iterator[None]:
    """NumPy reads headers as Python code, which a changed byte may spoil in ways that depend on Python's version."""
    try:
        yield
    except (SyntaxError, tokenize.TokenError) as error:
        raise ValueError(f"its header is damaged: {error}") from error
