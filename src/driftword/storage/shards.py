"""Long arrays in several files, so that no file of a store is too large to copy, check or write in one go.

An array of at most `SHARD_VALUES` values is one file, ``NAME.npy``. A longer one is cut into files of that many values,
``NAME-00000.npy``, ``NAME-00001.npy`` and so on. Readers see one array.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import numpy as np
import numpy.typing as npt

from driftword.storage import stored_arrays
from driftword.storage.stored_arrays import Array, StoredArray

#: Values in one file: 2 GiB of word ids, for vocabularies of up to 65,536 words.
SHARD_VALUES = 1 << 30


def shard_sizes(length: int) -> list[int]:
    """Return how many values each file of an array has."""
    full, rest = divmod(length, SHARD_VALUES)
    return [SHARD_VALUES] * full + [rest] * (rest > 0 or full == 0)


def shard_names(name: str, number: int) -> list[str]:
    """Return the names of the files of an array, without their ending."""
    return [name] if number == 1 else [f"{name}-{i:05}" for i in range(number)]


def shards_among(files: Iterable[str], name: str, ending: str = ".npy") -> list[str]:
    """Return those of some files that hold an array, or a table, in order: one, or several that are numbered."""
    return sorted(file for file in files if re.fullmatch(rf"{name}(-\d{{5,}})?{re.escape(ending)}", file))


def shard_files(folder: Path, name: str, ending: str = ".npy") -> list[Path]:
    """Return the files of an array, or a table, in a folder."""
    return [folder / file for file in shards_among((path.name for path in folder.iterdir()), name, ending)]


def read_shards(folder: Path, name: str) -> list[Array]:
    """Return the files of an array in a folder, mapped into memory."""
    return [np.load(path, mmap_mode="r") for path in shard_files(folder, name)]


def write_header(file: BinaryIO, dtype: npt.DTypeLike, length: int) -> int:
    """Begin a ``.npy`` file with an array of one dimension; return where its values begin."""
    shape = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(file, shape)
    return file.tell()


class ShardWriter:
    """Writes the values of an array of one dimension to its files, in any order."""

    def __init__(self, folder: Path, name: str, dtype: npt.DTypeLike, length: int) -> None:
        self._itemsize, self._size = np.dtype(dtype).itemsize, SHARD_VALUES
        sizes = shard_sizes(length)
        self._files = [(folder / f"{shard}.npy").open("wb") for shard in shard_names(name, len(sizes))]
        self._begin = [write_header(file, dtype, size) for file, size in zip(self._files, sizes, strict=True)]

    def write(self, position: int, values: Array) -> None:
        """Write values at a position of the array."""
        while len(values):
            shard, at = divmod(position, self._size)
            part = values[: self._size - at]
            file = self._files[shard]
            file.seek(self._begin[shard] + at * self._itemsize)
            file.write(part.data)
            position, values = position + len(part), values[len(part) :]

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            file.close()


class ShardedArray:
    """Arrays of one dimension that are read as one; slices and selections of it are ordinary arrays.

    Of arrays in a store, only what is read is checked, also by what `check` says of its values.
    """

    ndim: Final = 1

    def __init__(self, parts: Sequence[Array | StoredArray], check: Callable[[Array], None] | None = None) -> None:
        self.parts, self._check = tuple(parts), check
        self._ends = np.cumsum([len(part) for part in self.parts])

    def __len__(self) -> int:
        return int(self._ends[-1])

    @property
    def shape(self) -> tuple[int]:
        """Its length, as an ordinary array has it."""
        return (len(self),)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its values."""
        return self.parts[0].dtype

    @property
    def nbytes(self) -> int:
        """The number of bytes of its values."""
        return len(self) * self.dtype.itemsize

    def checked_by(self, check: Callable[[Array], None]) -> ShardedArray:
        """Return the same values; those that are read are checked by a function before, which raises an error."""
        return ShardedArray(self.parts, check)

    def view(self, dtype: npt.DTypeLike) -> ShardedArray:
        """Return the same values read as another type of the same size."""
        return ShardedArray(
            [part.view(dtype) for part in self.parts], lambda part: self._check_read(part.view(self.dtype))
        )

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:  # noqa: FBT001
        if copy is False:
            raise ValueError("an array in several files cannot be one in memory without a copy")
        return np.concatenate([self._slice(slice(None))], dtype=dtype)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._slice(key)
        if np.ndim(key) == 0:
            number = range(len(self))[key]  # which may count from the end, or raise an error
            return self._slice(slice(number, number + 1))[0]
        wanted = np.asarray(key)
        if wanted.dtype == bool:
            wanted = np.flatnonzero(wanted)
        return self._select(wanted)

    def _slice(self, key: slice) -> Array:
        begin, end, step = key.indices(len(self))
        if step != 1:
            return self._select(np.arange(begin, end, step))
        found = []
        for part, last in zip(self.parts, self._ends.tolist(), strict=True):
            first = last - len(part)
            if begin < last and end > first:
                found.append(part[max(begin - first, 0) : end - first])
        values = found[0] if len(found) == 1 else np.concatenate(found) if found else self.parts[0][:0]
        self._check_read(values)
        return values

    def _select(self, positions: npt.NDArray[Any]) -> Array:
        """Return the values at any positions, in their order."""
        positions = np.where(positions < 0, positions + len(self), positions) if len(positions) else positions
        if len(positions) and not 0 <= int(positions.min()) <= int(positions.max()) < len(self):
            raise IndexError(f"position {int(positions.max())} of an array of {len(self)} values")
        found = np.empty(len(positions), dtype=self.dtype)
        which = np.searchsorted(self._ends, positions, side="right")
        for number in np.unique(which).tolist():
            here = which == number
            inside = positions[here] - (int(self._ends[number]) - len(self.parts[number]))
            first = int(inside.min())
            found[here] = self.parts[number][first : int(inside.max()) + 1][inside - first]
        self._check_read(found)
        return found

    def _check_read(self, values: Array) -> None:
        if self._check is not None:
            self._check(values)

    def __reduce__(self) -> Any:
        return np.asarray, (np.asarray(self),)


def whole(array: Array | StoredArray | ShardedArray) -> Array:
    """Return an array in memory, or all of a stored one; one in several files is read like an array."""
    return cast(Array, array) if isinstance(array, ShardedArray) else stored_arrays.whole(array)


def find(array: Array | ShardedArray, value: int) -> npt.NDArray[np.int64]:
    """Return the positions at which an array has a value."""
    if not isinstance(array, ShardedArray):
        return np.flatnonzero(array == value)
    before = np.r_[0, array._ends[:-1]]
    found = [
        np.flatnonzero(stored_arrays.whole(part) == value) + begin
        for part, begin in zip(array.parts, before, strict=True)
    ]
    return np.concatenate(found)
