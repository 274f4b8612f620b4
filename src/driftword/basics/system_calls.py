"""What Linux and macOS can do and Windows cannot, each with what stands in for it there.

Windows has no `flock`, does not read or write at a given position, sets no limits to a process, opens no folders, and
neither renames nor removes what is open: neither a file, nor a folder with an open file in it.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import signal
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, Final

if TYPE_CHECKING:
    import subprocess


def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


_fcntl, _msvcrt = _module("fcntl"), _module("msvcrt")
#: Limits of this process, and what it has used; None on Windows.
resource: Final = _module("resource")
#: Whether what is open can be renamed, replaced and removed.
MOVES_OPEN_FILES: Final = _fcntl is not None  # not on Windows
#: Whether reading at a position leaves alone where other readers of the same open file are.
READS_AT_POSITION: Final = hasattr(os, "preadv")
_LOCKED_BYTE: Final = 1 << 30  # beyond all content: Windows keeps others from reading what is locked
_positions: Final = threading.Lock()


def lock(file: BinaryIO) -> None:
    """Lock a file until it is closed, or its process ends; raise BlockingIOError if another one holds the lock."""
    if _fcntl is not None:
        _fcntl.flock(file, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
    elif _msvcrt is not None:
        file.seek(_LOCKED_BYTE)
        try:
            _msvcrt.locking(file.fileno(), _msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(error.errno, error.strerror) from error
        finally:
            file.seek(0)
    else:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def open_missing_streams() -> None:
    """Open standard streams that a program was started without: a file of ours would take their place, and output."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the system gives it the lowest number that is free
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the program
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def open_at_once(path: str, flags: int) -> int:
    """Open a file for `open`, without waiting for anybody, as a pipe in its place would make it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_at(handle: int, buffer: memoryview, position: int) -> int:
    """Read into a buffer from a position of a file; return how many bytes were read."""
    if hasattr(os, "preadv"):
        return int(os.preadv(handle, [buffer], position))
    with _positions:
        os.lseek(handle, position, os.SEEK_SET)
        data = os.read(handle, len(buffer))
    buffer[: len(data)] = data
    return len(data)


def write_at(handle: int, data: memoryview, position: int) -> int:
    """Write at a position of a file; return how many bytes were written."""
    if hasattr(os, "pwrite"):
        return int(os.pwrite(handle, data, position))
    with _positions:
        os.lseek(handle, position, os.SEEK_SET)
        return os.write(handle, data)


def flush(path: Path) -> None:
    """Force a file, or the names in a folder, to the disk.

    Windows opens no folders. Its file system keeps a journal, so names are in order after a crash, but the last ones
    may be missing.
    """
    if path.is_dir() and not MOVES_OPEN_FILES:
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:  # not every file system can do it for directories
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


def exchange(one: Path, other: Path) -> bool:
    """Let two files or folders change places, at once and both or neither; return False where the system cannot."""
    import ctypes  # every program loads this module

    library = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" and MOVES_OPEN_FILES else None
    rename = getattr(library, "renameat2", None)
    if rename is None:
        return False
    here, both = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if rename(here, os.fsencode(one), here, os.fsencode(other), both) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):  # of the kernel, or of this file system
        return False
    raise OSError(number, os.strerror(number), os.fspath(other))


def end_group(process: subprocess.Popen[Any], *, kill: bool = False) -> None:
    """Ask a process, and those that it has started, to end, or make them; on Windows that process alone."""
    if sys.platform == "win32":
        process.terminate()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL if kill else signal.SIGTERM)
