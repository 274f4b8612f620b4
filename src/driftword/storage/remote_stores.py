"""Stores on storage that fsspec reads: what is used is fetched, compared with its checksums, and kept.

A large file is represented on this machine by a temporary file with holes, which is gone when the process ends. Before
a part of it is read, the blocks that are still missing are fetched. So whoever reads a few slices of a corpus fetches
only those, and reading them again costs nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import IO, Any, Final

import numpy as np

from driftword.basics import system_calls
from driftword.basics.errors import StoreError
from driftword.basics.polars_faults import reason
from driftword.basics.traffic import Storage
from driftword.storage.checksums import BLOCK, LARGEST_META, META, CheckedFile, Entry, Problem

_AHEAD: Final = 8  # blocks that are fetched at once where a file is read from end to end


class RemoteFolder:
    """A folder at an address."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self._storage = Storage(self.address)

    def read(self, name: str, begin: int, end: int) -> bytes:
        """Return a part of a file; raise FileNotFoundError where there is none."""
        try:
            return self._storage.read(f"{self._storage.path}/{name}", begin, end)
        except Exception as error:  # every storage has its own
            if isinstance(error, FileNotFoundError | NotADirectoryError) and "bucket does not" not in str(error):
                raise FileNotFoundError(name) from error
            place, why = f"{self.address}/{name}", reason(error).rstrip(".")
            raise StoreError(f"'{place}' cannot be read: {why}; check the address and your access") from error

    def read_meta(self) -> bytes:
        """Return the content of `meta.json`; no more of it is fetched than there can be."""
        text = self.read(META, 0, LARGEST_META + 1)
        if len(text) > LARGEST_META:
            raise StoreError(f"'{self.address}/{META}' is too large to be that of a corpus or model; check the address")
        return text

    def find_meta(self, kind: str, _: float) -> bytes:
        """Return the content of `meta.json`, without waiting: who replaces a store removes it first."""
        try:
            return self.read_meta()
        except FileNotFoundError:
            raise StoreError(
                f"There is no {kind} at '{self.address}'; check the address, or make one there first"
            ) from None

    def open(self, name: str, entry: Entry, problem: Problem) -> CheckedFile:
        """Return a file of which parts are fetched when they are checked."""

        def fetch(begin: int, end: int) -> bytes:
            try:
                return self.read(name, begin, end)
            except FileNotFoundError as error:
                raise problem(f"{name} is missing") from error

        return _FetchedFile(fetch, name, entry, problem)


class _FetchedFile(CheckedFile):
    """A file at an address, of which this machine has the blocks that were checked."""

    def __init__(self, fetch: Callable[[int, int], bytes], name: str, entry: Entry, problem: Problem) -> None:
        super().__init__(_temporary_file(entry.bytes), name, entry, problem)
        self._fetch = fetch

    def head(self, size: int) -> bytes:
        self.check(0, min(size, self.size))
        return super().head(size)

    def read(self) -> bytes:
        self.check()
        return super().head(self.size)

    def _status(self) -> tuple[int, tuple[int, int]]:
        return self.size, (0, 0)  # nobody else knows of the file, and what is written to it has been checked

    def _check_unchecked(self, begin: int, end: int) -> None:
        if end > BLOCK and self._unchecked[begin // BLOCK : -(-end // BLOCK)].any():  # not where it begins
            end = max(end, min(begin + _AHEAD * BLOCK, self.size))
        super()._check_unchecked(begin, end)

    def _check_blocks(self, blocks: np.ndarray[Any, Any]) -> None:
        for run in np.split(blocks, np.flatnonzero(np.diff(blocks) > 1) + 1):
            for part in np.split(run, range(_AHEAD, len(run), _AHEAD)):
                if len(part):
                    self._copy(int(part[0]) * BLOCK, min((int(part[-1]) + 1) * BLOCK, self.size))

    def _copy(self, begin: int, end: int) -> None:
        """Fetch a part, compare it with its checksums, and keep it."""
        data = memoryview(self._fetch(begin, end))
        if len(data) != end - begin:
            raise self._problem(f"{self.name} has fewer than {self.size:,} bytes")
        for at in range(0, len(data), BLOCK):
            self._compare((begin + at) // BLOCK, data[at : at + BLOCK])
        try:
            while len(data):
                written = system_calls.write_at(self.handle, data, begin)
                begin, data = begin + written, data[written:]
        except OSError as error:
            raise _no_place(error) from error


def _temporary_file(size: int) -> IO[bytes]:
    try:
        file = tempfile.TemporaryFile(prefix="driftword-")  # noqa: SIM115 - it stays open
        file.truncate(size)
    except OSError as error:
        raise _no_place(error) from error
    return file


def _no_place(error: OSError) -> StoreError:
    return StoreError(
        f"There is no place for what is fetched: {error.strerror}; set TMPDIR to a folder with more space"
    )
