"""Calls of the operating system that fail: a process hands over every call that writes, and is told how it ended.

The process installs a filter (Linux: seccomp with user notification, which needs neither root nor a compiler), and its
calls wait for the supervisor, a thread of the harness. It reads in `/proc` what a call is about, lets it go on or lets
it fail. Only calls about one folder count, and, from the first of these on, large allocations and starts of threads.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import platform
import select
import socket
import struct
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: What can fail, and with which errors.
ERRORS: Final = {
    "open": (errno.ENOSPC, errno.EACCES),
    "write": (errno.ENOSPC, errno.EIO),
    "sync": (errno.EIO,),
    "mkdir": (errno.ENOSPC, errno.EACCES),
    "move": (errno.EACCES,),
    "link": (errno.ENOSPC, errno.EACCES),
    "remove": (errno.EACCES,),
    "lock": (errno.EIO,),
    "memory": (errno.ENOMEM,),
    "thread": (errno.EAGAIN,),
}


@dataclass(frozen=True)
class Call:
    """A call of the system: its number on each machine, and which arguments say what it is about.

    A path is an argument, after one for the folder that it is relative to where there is one.
    """

    name: str
    kind: str
    aarch64: int | None
    x86_64: int
    descriptor: int | None = None
    paths: tuple[tuple[int | None, int], ...] = ()


CALLS: Final = (
    Call("openat", "open", 56, 257, paths=((0, 1),)),
    Call("open", "open", None, 2, paths=((None, 0),)),
    Call("creat", "open", None, 85, paths=((None, 0),)),
    Call("write", "write", 64, 1, descriptor=0),
    Call("writev", "write", 66, 20, descriptor=0),
    Call("pwrite64", "write", 68, 18, descriptor=0),
    Call("pwritev", "write", 70, 296, descriptor=0),
    Call("pwritev2", "write", 287, 328, descriptor=0),
    Call("ftruncate", "write", 46, 77, descriptor=0),
    Call("fallocate", "write", 47, 285, descriptor=0),
    Call("sendfile", "write", 71, 40, descriptor=0),
    Call("copy_file_range", "write", 285, 326, descriptor=2),
    Call("fsync", "sync", 82, 74, descriptor=0),
    Call("fdatasync", "sync", 83, 75, descriptor=0),
    Call("mkdirat", "mkdir", 34, 258, paths=((0, 1),)),
    Call("mkdir", "mkdir", None, 83, paths=((None, 0),)),
    Call("renameat", "move", 38, 264, paths=((0, 1), (2, 3))),
    Call("renameat2", "move", 276, 316, paths=((0, 1), (2, 3))),
    Call("rename", "move", None, 82, paths=((None, 0), (None, 1))),
    Call("linkat", "link", 37, 265, paths=((0, 1), (2, 3))),
    Call("link", "link", None, 86, paths=((None, 0), (None, 1))),
    Call("unlinkat", "remove", 35, 263, paths=((0, 1),)),
    Call("unlink", "remove", None, 87, paths=((None, 0),)),
    Call("rmdir", "remove", None, 84, paths=((None, 0),)),
    Call("flock", "lock", 32, 73, descriptor=0),
    Call("mmap", "memory", 222, 9, descriptor=4),
    Call("brk", "memory", 214, 12),
    Call("clone", "thread", 220, 56),
    Call("clone3", "thread", 435, 435),
)

_MACHINE: Final = platform.machine()
_ARCHITECTURES: Final = {"aarch64": 0xC00000B7, "x86_64": 0xC000003E}  # as the filter sees them
_SECCOMP: Final = {"aarch64": 277, "x86_64": 317}
_BY_NUMBER: Final = {getattr(call, _MACHINE, None): call for call in CALLS}
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_LARGE: Final = (1 << 20) + 1  # bytes; Python takes memory for its objects by the megabyte, and asks for it every time
_HERE: Final = -100 & 0xFFFFFFFF  # instead of a descriptor: the working directory

# Structures and requests of <linux/seccomp.h> and <linux/filter.h>.
_NOTICE: Final = struct.Struct("QIIiIQ6Q")
_REPLY: Final = struct.Struct("QqiI")
_INSTRUCTION: Final = struct.Struct("HBBI")
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE: Final = 1
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # where the filter finds them


@dataclass(frozen=True)
class Fault:
    """A call that fails, by its number among those of its kind; with `lasting`, all later ones that know its error."""

    kind: str
    number: int
    error: int
    lasting: bool = False

    def __str__(self) -> str:
        since = " and all that follow" if self.lasting else ""
        return f"{self.kind} {self.number}{since}: {errno.errorcode[self.error]}"

    def hits(self, kind: str, counts: Counter[str]) -> bool:
        """Tell whether a call fails, when so many of each kind have been made."""
        if not self.lasting:
            return kind == self.kind and counts[kind] == self.number
        return counts[self.kind] >= self.number and self.error in ERRORS[kind]


class Supervisor:
    """Decides about the calls of the process that connects to `address`."""

    def __init__(self, folder: Path) -> None:
        self.folder = f"{os.path.realpath(folder)}/"
        self.address = f"torture-{os.getpid()}-{id(self)}"
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(f"\0{self.address}")
        self._server.listen()
        self._fault: Fault | None = None
        self.counts: Counter[str] = Counter()
        self.failed: list[str] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def expect(self, fault: Fault | None) -> None:
        """Count anew, and let this fail."""
        with self._lock:
            self._fault, self.counts, self.failed = fault, Counter(), []

    def close(self) -> None:
        """Accept no more processes."""
        self._server.shutdown(socket.SHUT_RDWR)  # which wakes the thread that waits for one
        self._server.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                with connection:
                    connection.sendall(struct.pack("I", _SECCOMP[_MACHINE]) + _filter())
                    connection.shutdown(socket.SHUT_WR)
                    descriptors = socket.recv_fds(connection, 1, 1)[1]
                for listener in descriptors:
                    threading.Thread(target=self._listen, args=(listener,), daemon=True).start()

    def _listen(self, listener: int) -> None:
        """Answer every call until the process has ended."""
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        while poll.poll()[0][1] & select.POLLIN:
            notice = bytearray(_NOTICE.size)
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it was killed meanwhile
                fcntl.ioctl(listener, _RECEIVE, notice)
                identity, thread, _, number, _, _, *arguments = _NOTICE.unpack(notice)
                answer = self._answer(thread, _BY_NUMBER[number], arguments)
                fcntl.ioctl(listener, _SEND, _REPLY.pack(identity, *(answer or (0, 0, _CONTINUE))))
        os.close(listener)

    def _answer(self, thread: int, call: Call, arguments: list[int]) -> tuple[int, int, int] | None:
        """Return what a call that fails returns, its error, and no flags; None for one that goes on."""
        with self._lock:
            about = self._about(thread, call, arguments)
            if about is None:
                return None
            self.counts[call.kind] += call.name != "brk"
            if self._fault is None or not self._fault.hits(call.kind, self.counts):
                return None
            if call.name == "brk":  # it has no error: the heap ends where it did
                end = _heap_end(thread)
                return (end, 0, 0) if arguments[0] > end else None
            self.failed.append(f"{call.name} {about}".strip())
            return 0, -self._fault.error, 0

    def _about(self, thread: int, call: Call, arguments: list[int]) -> str | None:
        """Return what a call is about, or None if it does not count."""
        if call.name in ("clone", "clone3", "brk"):
            return "" if self.counts else None
        if call.name == "mmap" and arguments[3] & mmap.MAP_ANONYMOUS:
            return f"of {arguments[1] >> 10} KiB" if self.counts else None
        for path in _paths(thread, call, arguments):
            if path.startswith(self.folder):
                return path.removeprefix(self.folder)
        return None


def available() -> bool:
    """Tell whether calls of other processes can be supervised here."""
    return sys.platform == "linux" and _MACHINE in _ARCHITECTURES


def _paths(thread: int, call: Call, arguments: list[int]) -> Iterator[str]:
    """Return the paths that a call is about."""
    process = Path("/proc") / str(thread)
    with contextlib.suppress(OSError):  # a descriptor that is not open, or memory that cannot be read
        if call.descriptor is not None:
            yield str((process / f"fd/{arguments[call.descriptor]}").readlink())
        for folder, path in call.paths:
            here = folder is None or arguments[folder] & 0xFFFFFFFF == _HERE
            base = (process / ("cwd" if here else f"fd/{arguments[folder]}")).readlink()
            with (process / "mem").open("rb", buffering=0) as memory:
                memory.seek(arguments[path])
                name = os.fsdecode(memory.read(4096).split(b"\0")[0])
            yield os.path.normpath(base / name)


def _heap_end(thread: int) -> int:
    """Return where the heap of a process ends."""
    lines = Path(f"/proc/{thread}/maps").read_text().splitlines()
    return int(next(line for line in lines if line.endswith("[heap]")).split()[0].partition("-")[2], 16)


def _filter() -> bytes:
    """Return the program that decides in the kernel which calls the supervisor sees at all."""
    allow, notify = (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _NOTIFY)
    program = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, _ARCHITECTURES[_MACHINE]), allow, (_LOAD, 0, 0, _NUMBER)]
    for number, call in _BY_NUMBER.items():
        if number is None:
            continue
        test = []
        if call.name in ("open", "openat"):
            flags = call.paths[0][1] + 1
            test = [(_LOAD, 0, 0, _ARGUMENTS + 8 * flags), (_ANY_BIT, 1, 0, _WRITING), allow]
        elif call.name == "mmap":
            size = _ARGUMENTS + 8
            test = [
                (_LOAD, 0, 0, size + 4), (_AT_LEAST, 3, 0, 1), (_LOAD, 0, 0, size), (_AT_LEAST, 1, 0, _LARGE), allow,
            ]  # fmt: skip
        program += [(_EQUAL, 0, len(test) + 1, number), *test, notify]
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in [*program, allow])
