"""Requests to storage at an address: each is made here, counted, and given up where nothing answers.

Storage bills requests and bytes, so a user is told how many there were: those that S3 counts where nothing has to be
tried again. Whoever wants to know counts within `counting`; what is opened there is counted there from then on, in
whatever thread it is used.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

from driftword.basics.addresses import open_system

_PATIENCE: Final = 60.0  # seconds in which storage has to answer, besides the time that the bytes take
_RESTART: Final = 15.0  # seconds in which a server that cannot be reached may come back
#: What the packages of fsspec call an error of theirs if a server cannot be reached.
_UNREACHED: Final = {"ConnectionError", "ClientConnectionError"}
_SLOWEST: Final = 1 << 17  # bytes a second that a connection has at least
_USUAL: Final = 8 << 20  # bytes that are read at once
_MANY: Final = 180 * _SLOWEST  # what a listing may have: there may be a million files
_PART: Final = 50 << 20  # bytes of the parts in which s3fs copies a large file


@dataclass
class Counts:
    """Requests that read or write, and the bytes of what was read and written."""

    reads: int = 0
    bytes_read: int = 0
    writes: int = 0
    bytes_written: int = 0

    def __str__(self) -> str:
        parts = [("read", self.reads, self.bytes_read), ("wrote", self.writes, self.bytes_written)]
        return ", ".join(
            f"{verb} {size / 1e6:,.1f} MB in {number:,} request{'s'[: number != 1]}"
            for verb, number, size in parts
            if number
        )


class Traffic:
    """What was read and written, by place: a protocol and a bucket or host."""

    def __init__(self) -> None:
        self._lock, self._places = threading.Lock(), dict[str, Counts]()

    def add(self, place: str, counts: Counts) -> None:
        """Add what was read from a place or written to it."""
        with self._lock:
            sums = zip(astuple(self._places.get(place, Counts())), astuple(counts), strict=True)
            self._places[place] = Counts(*map(sum, sums))

    def take(self) -> Mapping[str, Counts]:
        """Return what was counted since it was last taken."""
        with self._lock:
            taken, self._places = self._places, {}
            return taken


_counting: ContextVar[Traffic] = ContextVar("where the requests of what is opened are counted")


def current() -> Traffic:
    """Return where requests are counted now; a counter that nobody looks at, if nobody wants to know."""
    return _counting.get(None) or Traffic()


@contextlib.contextmanager
def counting() -> Iterator[Traffic]:
    """Count the requests of everything that is opened in this block."""
    token = _counting.set(Traffic())
    try:
        yield _counting.get()
    finally:
        _counting.reset(token)


class Storage:
    """The storage of an address; errors are those of its package, as every storage has its own."""

    def __init__(self, address: str) -> None:
        self.system, self.path = open_system(address)
        protocol, _, rest = address.partition("://")
        self._place = f"{protocol}://{rest.lstrip('/').split('/')[0].rpartition('@')[2]}"  # without a password
        self._traffic = current()

    def read(self, path: str, begin: int, end: int) -> bytes:
        """Return a part of a file; one of more than 8 MiB is expected to be shorter."""
        size = end - begin if end - begin <= _USUAL else 0
        data = bytes(self._call("cat_file", path, start=begin, end=end, size=size))
        self._count(bytes_read=len(data))
        return data

    def copy_here(self, target: Path, size: int) -> None:
        """Copy the file at the address, of this size, to this machine."""
        if self._place.startswith("http"):  # which may answer with compressed content unless it is asked for a part
            with self.system.open(self.path, "rb") as source, target.open("wb") as file:
                shutil.copyfileobj(source, file, 1 << 22)
            self._count(reads=1)
        else:
            self._call("get_file", self.path, str(target), size=size)
        self._count(reads=math.ceil(size / _PART) if size > _PART else 0, bytes_read=size)

    def list(self, method: str, path: str) -> dict[str, Any]:
        """Return what `ls`, `find` or `glob` finds, by path; nothing of what was seen before is used."""
        self.system.invalidate_cache()
        try:
            found = self._call(method, path, detail=True, size=0 if method == "ls" else _MANY)
        except FileNotFoundError:
            self._count(reads=1)  # which looked whether it is in the folder above
            raise
        self._count(reads=len(found) // 1000)
        return found if isinstance(found, dict) else {info["name"]: info for info in found}

    def is_folder(self, path: str) -> bool:
        """Tell whether a path is a folder."""
        return bool(self._call("isdir", path))

    def info(self, path: str) -> dict[str, Any]:
        """Return what is known of a file or folder."""
        return dict(self._call("info", path))

    def copy_there(self, source: Path, path: str) -> None:
        """Copy a file to the storage, where it appears when it is complete."""
        size = source.stat().st_size
        self._call("put_file", str(source), path, size=size, writes=1)
        self._count(writes=1 + math.ceil(size / _PART) if size >= 2 * _PART else 0, bytes_written=size)

    def write(self, path: str, data: bytes) -> None:
        """Write a small file."""
        self._call("pipe_file", path, data, writes=1)
        self._count(bytes_written=len(data))

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            self._call("rm_file", path, writes=1)

    def _call(self, method: str, *arguments: Any, size: int = 0, writes: int = 0, **options: Any) -> Any:
        """Make a request by a method of the file system; raise TimeoutError if it takes too long for so many bytes."""
        self._count(writes=writes, reads=1 - writes)
        seconds = _PATIENCE + size / _SLOWEST
        if getattr(self.system, "async_impl", False):  # of others, none is reached through a network
            options["timeout"] = seconds
        begin = time.monotonic()
        while True:
            try:
                return getattr(self.system, method)(*arguments, **options)
            except TimeoutError as error:
                raise TimeoutError(f"the storage did not answer within {seconds:.0f} seconds") from error
            except Exception as error:
                names = {kind.__name__ for kind in type(error).__mro__}
                if not names & _UNREACHED or time.monotonic() - begin > _RESTART:
                    raise
            time.sleep(1)

    def _count(self, **counts: int) -> None:
        self._traffic.add(self._place, Counts(**counts))
