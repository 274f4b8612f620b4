"""One writer at a time: a lock beside the place that is written, which the system releases when its process ends.

The lock holds between processes, threads and containers that share a file system, whatever their process ids; a killed
process cannot leave it behind. It is advisory: only other writers of driftword look at it. The file ``.NAME.lock`` says
who holds it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import stat
import time
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final
from weakref import WeakValueDictionary

from driftword.basics import system_calls
from driftword.basics.errors import BusyError, DriftwordWarning, StoreError

#: What file systems without locks answer.
_UNSUPPORTED: Final = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}


@dataclass(frozen=True)
class WriterLock:
    """The right to write at a place."""

    target: Path
    file: BinaryIO | None  # which is locked; None where the file system has no locks

    @property
    def exclusive(self) -> bool:
        """Whether nobody else can hold it."""
        return self.file is not None and not self.file.closed


#: The locks that this thread holds: what it calls may write at the same place. An interrupt may leave some of them
#: here that have been released, or that only this refers to.
_held: ContextVar[WeakValueDictionary[Path, WriterLock]] = ContextVar("locks held by this thread")


@contextlib.contextmanager
def writer_lock(target: Path, *, shown: Path | None = None) -> Iterator[tuple[WriterLock, bool]]:
    """Keep other writers away from `target`, which messages call `shown`; raise `BusyError` if there is one already.

    Yields the lock, and whether it is new: what a writer calls shares its lock.
    """
    target = target.absolute()
    held = _held.get(WeakValueDictionary())
    if (outer := held.get(target)) is not None and outer.exclusive:
        yield outer, False
        return
    path = lock_path(target)
    with _acquire(path, shown or target) or contextlib.nullcontext() as file:
        lock = WriterLock(target, file)
        token = _held.set(WeakValueDictionary({**held, target: lock}))
        try:
            yield lock, True
        finally:
            _held.reset(token)
            if file is not None:
                _remove(path, file)


def lock_path(target: Path) -> Path:
    """Return the file by which writers of `target` keep each other away."""
    absolute = target.absolute()
    return absolute.parent / f".{absolute.name}.lock"


def _acquire(path: Path, shown: Path) -> BinaryIO | None:
    """Return the open file that holds the lock, or None where the file system has no locks."""
    while True:
        with contextlib.ExitStack() as unless_locked:
            file = unless_locked.enter_context(open(path, "r+b", opener=_create, buffering=0))
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise StoreError(f"'{path}' is not the file of a lock; remove it")
            try:
                system_calls.lock(file)
            except BlockingIOError:
                raise BusyError(
                    f"'{shown}' is being written by {_holder(file)}; wait until it has finished, or give another `out`"
                ) from None
            except OSError as error:
                if error.errno not in _UNSUPPORTED:
                    raise
                file.close()
                path.unlink(missing_ok=True)
                warnings.warn(
                    f"The file system of '{shown}' has no locks; make sure that nothing else writes there",
                    DriftwordWarning,
                    stacklevel=2,
                )
                return None
            if _is_at(path, file):  # or the holder before us removed it after we had opened it
                unless_locked.callback(_remove, path, file)  # where nobody can write into it, as on a full disk
                _describe_holder(file)
                unless_locked.pop_all()
                return file


def _remove(path: Path, file: BinaryIO) -> None:
    """Remove the file of a lock while it is held, so that nobody's new file is removed.

    Windows removes no open file: it is closed before, and stays if somebody else has opened it by then.
    """
    if not system_calls.MOVES_OPEN_FILES:
        file.close()
    with contextlib.suppress(PermissionError):
        path.unlink(missing_ok=True)


def _create(path: str, flags: int) -> int:
    # Whoever may write to the folder could otherwise make us empty another file, or wait.
    return os.open(path, flags | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)


def _is_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _describe_holder(file: BinaryIO) -> None:
    facts = {"process": os.getpid(), "machine": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
    file.truncate(0)
    file.write(json.dumps(facts).encode())


def _holder(file: BinaryIO) -> str:
    """Return who holds the lock, as far as that is known."""
    try:
        facts = json.loads(file.read(1000))
        return f"process {facts['process']} on {facts['machine']} since {facts['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
