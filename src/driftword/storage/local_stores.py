"""Stores in a directory of this machine: files that stay readable, and a look at one that is just being replaced."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path

from driftword.basics import system_calls
from driftword.basics.errors import BusyError, StoreError
from driftword.storage.atomic_writes import is_being_replaced, restore
from driftword.storage.checksums import LARGEST_META, META, CheckedFile, Entry, Problem
from driftword.storage.locks import writer_lock


class LocalFolder:
    """A directory on this machine."""

    def __init__(self, path: Path) -> None:
        self._given, self._path = path, path.absolute()

    def read_meta(self) -> bytes:
        """Return the content of `meta.json`."""
        with open(self._path / META, "rb", opener=system_calls.open_at_once) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_META:
                raise OSError(errno.EFBIG, "it is not a file, or too large")
            return file.read(LARGEST_META)

    def find_meta(self, kind: str, deadline: float) -> bytes:
        """Return the content of `meta.json`, waiting for a writer that is just replacing the store."""
        given, target = self._given, Path(os.path.realpath(self._given))
        while True:
            try:
                before = given.stat()
                try:
                    return self.read_meta()
                except OSError as error:
                    if not (stat.S_ISDIR(before.st_mode) and os.access(given, os.R_OK | os.X_OK)):
                        raise
                    after = given.stat()
                    if os.path.samestat(before, after) and before.st_mtime_ns == after.st_mtime_ns:
                        raise StoreError(
                            f"'{given}' is not a driftword {kind} (it has no readable {META}); "
                            "name the directory that was given as `out`"
                        ) from error
            except FileNotFoundError:
                # While we look, its successor may have come, and even be on its way out.
                aside = is_being_replaced(target)
                found = aside or os.path.lexists(target) or is_being_replaced(target)
                if not found or time.monotonic() > deadline:
                    raise StoreError(f"There is no {kind} at '{given}'; check the path, or make one first") from None
                if aside:
                    _give_back(target)
            except NotADirectoryError:
                raise StoreError(f"'{given}' is not a driftword {kind}; name the directory given as `out`") from None
            except OSError as error:
                raise StoreError(f"'{given}' cannot be opened: {error.strerror}; check the path") from error

    def open(self, name: str, entry: Entry, problem: Problem) -> CheckedFile:
        """Open a file that `meta.json` lists."""
        path = self._path / name
        try:
            opened = open(path, "rb", buffering=0, opener=system_calls.open_at_once)  # noqa: SIM115 - it stays open
        except FileNotFoundError as error:
            raise problem(f"{name} is missing") from error
        except (OSError, ValueError) as error:
            reason = "is not a file" if path.is_dir() else f"cannot be opened ({getattr(error, 'strerror', error)})"
            raise problem(f"{name} {reason}") from error
        file = CheckedFile(opened, name, entry, problem)
        if not stat.S_ISREG(os.fstat(file.handle).st_mode):
            raise problem(f"{name} is not a file")
        return file


def _give_back(target: Path) -> None:
    """Put a store back if the writer that had moved it aside was killed; wait a little if it is alive."""
    try:
        with writer_lock(target):
            restore(target)
    except BusyError:
        time.sleep(0.01)
    except OSError as error:
        raise StoreError(
            f"'{target}' was moved aside by a process that was killed, and cannot be put back: {error.strerror}; "
            "check that you may write to the folder it is in"
        ) from error
