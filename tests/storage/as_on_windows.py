"""Makes this process as poor as one on Windows; import it before anything of driftword.

What Windows does not have is missing. What is open, or mapped into memory, can be neither renamed nor removed; neither
can a folder that holds it. Folders cannot be opened, and what is open for reading alone cannot be flushed.
"""

from __future__ import annotations

import errno
import fcntl
import importlib.abc
import os
import shutil
import subprocess  # noqa: F401 - it would take the module below for the real one
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

MODULES = ("fcntl", "resource", "termios", "pwd", "grp")
FUNCTIONS = ("pread", "preadv", "pwrite", "pwritev", "sched_getaffinity", "fork", "killpg", "mkfifo", "fchmod")
FLAGS = ("O_DIRECTORY", "O_NONBLOCK", "O_CLOEXEC", "O_NOFOLLOW", "O_TMPFILE")


def open_files() -> set[str]:
    """Return the paths of all that this process has open or mapped."""
    found = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            found.add(str(link.readlink()))
        except OSError:
            continue  # that of the listing itself
    lines = Path("/proc/self/maps").read_text().splitlines()
    return found | {line.split(maxsplit=5)[5] for line in lines if len(line.split(maxsplit=5)) == 6}


def denied(path: object) -> PermissionError:
    return PermissionError(errno.EACCES, "The process cannot access the file because it is being used", str(path))


def check_closed(path: Any) -> None:
    place = os.path.realpath(os.fspath(path))
    if any(file == place or file.startswith(f"{place}/") for file in open_files()):
        raise denied(path)


def on_closed(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call that renames or removes, for what is closed."""

    def checked(path: Any, *others: Any, **options: Any) -> Any:
        if any(value is not None for value in options.values()):
            raise NotImplementedError("dir_fd unavailable on this platform")
        for one in (path, *others):
            check_closed(one)
        return call(path, *others)

    return checked


def without_folders(call: Callable[..., int]) -> Callable[..., int]:
    def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None:
            raise NotImplementedError("dir_fd unavailable on this platform")
        if Path(path).is_dir():
            raise denied(path)
        return call(path, flags, mode)

    return opened


def flushing(call: Callable[[int], None]) -> Callable[[int], None]:
    def flushed(handle: Any) -> None:
        number = handle if isinstance(handle, int) else handle.fileno()
        if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        call(number)

    return flushed


def make_msvcrt() -> types.ModuleType:
    module: Any = types.ModuleType("msvcrt")
    module.LK_NBLCK = 2

    def locking(handle: int, mode: int, length: int) -> None:
        assert (mode, length) == (module.LK_NBLCK, 1)
        assert os.lseek(handle, 0, os.SEEK_CUR) > 1000  # what is locked cannot be read
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None

    module.locking = locking
    return module


class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, *_: Any) -> None:
        if name in MODULES:
            raise ModuleNotFoundError(name)


def temporary_file(*arguments: Any, **options: Any) -> Any:
    """Return a file that has a name until it is closed."""
    return tempfile.NamedTemporaryFile(*arguments, **options)


for wanted in ("rename", "replace", "unlink", "remove", "rmdir"):
    setattr(os, wanted, on_closed(getattr(os, wanted)))
os.open, os.fsync = without_folders(os.open), flushing(os.fsync)
shutil._use_fd_functions = False  # type: ignore[attr-defined]
tempfile.TemporaryFile = temporary_file  # type: ignore[assignment]
sys.modules["msvcrt"] = make_msvcrt()
for gone in MODULES:
    sys.modules.pop(gone, None)
sys.meta_path.insert(0, Missing())
for gone in (*FUNCTIONS, *FLAGS):
    if hasattr(os, gone):
        delattr(os, gone)
