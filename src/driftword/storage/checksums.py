"""Checksums of blocks, so that a changed byte is noticed where it is read, and reading a part checks only that part.

A file's checksums are the XXH3-64 of each of its blocks of 1 MiB, as 16 hexadecimal digits each, one after the other.
They protect against accidents, not against somebody who changes data and checksums on purpose.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, BinaryIO, Final

import msgspec
import numpy as np
import xxhash

from driftword.basics import system_calls
from driftword.basics.process import available_cores
from driftword.storage.typed_facts import Count

META: Final = "meta.json"  # the file of a store that lists the others with their checksums
LARGEST_META: Final = 1 << 28  # bytes of it: those of a corpus of a million files
BLOCK: Final = 1 << 20
_DIGITS: Final = 16
_SHARE: Final = 64  # blocks that one thread checks at a time
_SEAL: Final = b',\n "checksum": "'  # what precedes the checksum of a JSON file
_NEVER, _FAILED = (-1, 0), (-2, 0)  # in the place of the times at which a file was last touched
Problem = Callable[[str], Exception]


def checksum(data: bytes | memoryview) -> str:
    """Return the checksum of one block."""
    return xxhash.xxh3_64_hexdigest(data)


def file_checksums(file: BinaryIO) -> str:
    """Return the checksums of all blocks of a file that has just been opened."""
    return "".join(checksum(block) for block in iter(functools.partial(file.read, BLOCK), b""))


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal text."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed_json(content: Mapping[str, Any]) -> bytes:
    """Return an object as indented JSON whose last entry is a checksum of the text before it."""
    body = json.dumps(content, indent=1, ensure_ascii=False).removesuffix("\n}").encode()
    return body + _SEAL + f'{checksum(body)}"\n}}\n'.encode()


def unseal_json(text: bytes, *, required: bool = True) -> dict[str, Any]:
    """Read what `sealed_json` made; raise ValueError where it has changed, or lacks a checksum that is `required`."""
    body, seal, rest = text.rpartition(_SEAL)
    if seal and rest != f'{checksum(body)}"\n}}\n'.encode():
        raise ValueError("has changed since it was written")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("cannot be read") from error
    if not isinstance(content, dict):
        raise ValueError("cannot be read")
    if required and not seal:
        raise ValueError("has no checksum")
    return content


class Entry(msgspec.Struct, frozen=True):
    """What `meta.json` says of a file: its size, and the checksums of its blocks."""

    bytes: Count
    xxh3: str

    def __post_init__(self) -> None:
        if len(self.xxh3) != -(-self.bytes // BLOCK) * _DIGITS:
            raise ValueError("the number of checksums does not fit the size of a file")


class CheckedFile:
    """A file that stays open, and whose blocks are compared with their checksums when they are first read.

    What was checked is checked again after the file has been touched. A file that was opened stays readable when
    another one takes its name. `problem` makes an error of a description of what is wrong.
    """

    def __init__(self, file: IO[bytes], name: str, entry: Entry, problem: Problem) -> None:
        self.handle, self.name, self.size = file.fileno(), name, entry.bytes
        self._expected = entry.xxh3
        self._problem = problem
        self._lock = threading.Lock()
        self._stamp = _NEVER  # when the file was last touched, as of the last check
        self._unchecked = np.ones(-(-self.size // BLOCK), dtype=bool)
        self._any_unchecked = True
        self.close = weakref.finalize(self, file.close)

    def check_again(self) -> None:
        """Check the file once more if it has been touched since it was checked; else look at its size alone."""
        size, touched = self._status()
        self._check_size(size)
        if self._stamp not in (_NEVER, touched):
            self.check()

    def check(self, begin: int = 0, end: int | None = None) -> None:
        """Raise the error if bytes from `begin` to `end` are not as they were written."""
        self.check_parts([(begin, self.size if end is None else end)])

    def check_parts(self, parts: Iterable[tuple[int, int]]) -> None:
        """Raise the error if bytes of these parts are not as they were written."""
        size, touched = self._status()
        if touched == self._stamp and not self._any_unchecked:
            return
        with self._lock:
            if touched != self._stamp:
                self._check_size(size)
                self._unchecked[:] = True
                self._any_unchecked, self._stamp = True, touched
            try:
                for begin, end in parts:
                    self._check_unchecked(begin, end)
            except BaseException:
                self._stamp = _FAILED
                raise

    def head(self, size: int) -> bytes:
        """Return the first bytes, unchecked: they say where the rest is, and are checked with it."""
        return bytes(self._read(0, memoryview(bytearray(min(size, self.size)))))

    def read(self) -> bytes:
        """Return the whole content, checked; the bytes that are returned are those that were compared."""
        self._check_size(self._status()[0])
        data = self._read(0, memoryview(bytearray(self.size)))
        for block in range(len(self._unchecked)):
            self._compare(block, data[block * BLOCK : (block + 1) * BLOCK])
        return bytes(data)

    def _status(self) -> tuple[int, tuple[int, int]]:
        """Return the size of the file, and when it was last touched; on Windows the second time alone says that."""
        status = os.fstat(self.handle)
        return status.st_size, (status.st_ctime_ns, status.st_mtime_ns)

    def _check_size(self, size: int) -> None:
        if size != self.size:
            raise self._problem(f"{self.name} has {size:,} bytes instead of {self.size:,}")

    def _check_unchecked(self, begin: int, end: int) -> None:
        first = begin // BLOCK
        blocks = np.flatnonzero(self._unchecked[first : -(-end // BLOCK)]) + first
        shares = [blocks[i : i + _SHARE] for i in range(0, len(blocks), _SHARE)]
        if len(shares) < 2:
            for share in shares:
                self._check_blocks(share)
        else:
            with ThreadPoolExecutor(min(len(shares), available_cores(), 8)) as pool:
                list(pool.map(self._check_blocks, shares))
        self._unchecked[blocks] = False
        self._any_unchecked = bool(self._unchecked.any())

    def _check_blocks(self, blocks: np.ndarray[Any, Any]) -> None:
        # Read rather than map: an error of the disk is then an exception, and a file cut short a short read.
        buffer = memoryview(bytearray(min(BLOCK, self.size)))
        for block in blocks.tolist():
            self._compare(block, self._read(block * BLOCK, buffer[: self.size - block * BLOCK]))

    def _compare(self, block: int, data: memoryview) -> None:
        if checksum(data) != self._expected[block * _DIGITS : (block + 1) * _DIGITS]:
            raise self._problem(f"the content of {self.name} has changed since it was written")

    def _read(self, begin: int, buffer: memoryview) -> memoryview:
        """Fill a buffer from a position of the file."""
        filled = 0
        try:
            while filled < len(buffer):
                count = system_calls.read_at(self.handle, buffer[filled:], begin + filled)
                if not count:
                    raise OSError(None, "it ends too early")
                filled += count
        except OSError as error:
            raise self._problem(f"{self.name} cannot be read ({error.strerror or error})") from error
        return buffer
