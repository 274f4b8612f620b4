"""Files and directories that appear complete or not at all: they are written beside their place, and then renamed.

Every writer holds the lock of its place, so whatever else lies beside it under one of our names was left by a process
that was killed: it is removed, or put back if it is the former result.

Windows neither renames nor removes what is open. There a result that somebody has open is not replaced: the writer says
so, and the old one stays. And names are not forced to the disk, so that the last result may be missing after a power
failure; it is never half-written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from driftword.basics.errors import DriftwordError, ExistsError, StoreError
from driftword.basics.system_calls import MOVES_OPEN_FILES, exchange, flush
from driftword.storage.locks import WriterLock, writer_lock


@contextlib.contextmanager
def writing(target: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of the operating system about `target` into sentences."""
    try:
        yield
    except DriftwordError:
        raise
    except OSError as error:
        if error.errno == errno.ENOMEM:  # no other place helps
            raise MemoryError from error
        raise StoreError(_explain(error, Path(target))) from error
    except Exception as error:  # Polars wraps the system's errors in its own
        if number := re.search(r"os error (\d+)", str(error)):
            reason = OSError(int(number[1]), os.strerror(int(number[1])))
            raise StoreError(_explain(reason, Path(target))) from error
        raise


@contextlib.contextmanager
def reserved(path: str | os.PathLike[str]) -> Iterator[WriterLock]:
    """Keep other writers away from a place, and clear up what killed ones left there."""
    given = Path(path)
    target = Path(os.path.realpath(given))  # a link stays; what it points to is replaced
    with contextlib.ExitStack() as stack:
        with writing(given):
            stack.enter_context(_folders_above(target))
            lock, new = stack.enter_context(writer_lock(target, shown=given))
            if new and lock.exclusive:
                restore(target)
                sweep(target)
        yield lock


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a path to write to, which then replaces the file `target`; after an error nothing has changed."""
    check_file(target)
    with writing(target), reserved(target) as lock, partial_path(lock.target) as partial:
        yield partial
        put_in_place(partial, lock.target)


@contextlib.contextmanager
def scratch_folder(place: Path | None = None) -> Iterator[Path]:
    """Yield an empty folder in `place`, or where temporary files are; it is removed, whatever happened to it."""
    folder = Path(tempfile.mkdtemp(dir=place, prefix="spool-" if place else "driftword-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # Python's own such folder recurses for ever where it may not write


@contextlib.contextmanager
def partial_path(target: Path) -> Iterator[Path]:
    """Yield a path beside `target` for a file or folder to be written; what is still there at the end is removed."""
    partial = _beside(target, "partial")
    try:
        yield partial
    finally:
        _remove(partial)


def put_in_place(partial: Path, target: Path) -> None:
    """Let a finished file or directory take the place of `target`; if that fails, the old one stays."""
    flush(partial)
    if not target.is_dir() or target.is_symlink():
        partial.replace(target)
    elif exchange(partial, target):
        _remove(partial)  # the old one
    else:
        _replace_in_steps(partial, target)
    flush(target.absolute().parent)


def _replace_in_steps(partial: Path, target: Path) -> None:
    """Replace a directory where the system cannot do it at once."""
    replaced = _beside(target, "replaced")
    try:
        target.rename(replaced)
        partial.rename(target)
    except OSError as error:
        if not target.exists() and replaced.exists():
            try:
                replaced.rename(target)
            except OSError:
                raise StoreError(
                    f"{_explain(error, target)}. What was there is now '{replaced}'; move it back"
                ) from error
        raise
    with contextlib.suppress(OSError):  # it stays until the next one is written here
        leftover = _beside(target, "partial")
        replaced.rename(leftover)  # half removed, it must never be put back
        _remove(leftover)


def restore(target: Path) -> None:
    """Put a directory back that a killed process had moved aside to replace it."""
    if is_being_replaced(target):
        _leftovers(target, "replaced")[0].rename(target)


def sweep(target: Path) -> None:
    """Remove what killed processes left beside `target`; the caller holds its lock."""
    for left in [*_leftovers(target, "partial"), *_leftovers(target, "replaced")]:
        _remove(left)


def discard(path: Path, target: Path) -> None:
    """Remove what belongs to `target`, under another name, so that it is never found half removed."""
    leftover = _beside(target, "partial")
    with contextlib.suppress(OSError):
        path.rename(leftover)
        _remove(leftover)


def is_being_replaced(target: Path) -> bool:
    """Tell whether the old directory has been moved aside and the new one is not there yet."""
    return not os.path.lexists(target) and bool(_leftovers(target, "replaced"))


@contextlib.contextmanager
def _folders_above(target: Path) -> Iterator[None]:
    """Create the missing folders above `target`; remove them again if nothing is written there."""
    missing = [parent for parent in target.absolute().parents if not parent.exists()]
    try:
        for parent in reversed(missing):
            parent.mkdir(exist_ok=True)
        yield
    finally:
        for parent in missing:
            with contextlib.suppress(OSError):
                parent.rmdir()


def check_file(target: Path) -> None:
    """Refuse to replace a device or a pipe by a file, which root could do."""
    if target.exists() and not target.is_file() and not target.is_dir():
        raise StoreError(f"'{target}' is not a file that could be replaced; give another `out`")


def check_space(target: Path, needed: int) -> None:
    """Refuse, before the work, a result that would not fit on the disk."""
    parent = next(folder for folder in target.absolute().parents if folder.exists())
    free = shutil.disk_usage(parent).free
    if needed > free:
        raise StoreError(
            f"'{target}' needs {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are free there; "
            "free some space or give another `out`"
        )


def already_exists(path: str | os.PathLike[str]) -> ExistsError:
    """Return the error for a result that may not replace what is at its place."""
    return ExistsError(f"'{path}' already exists; pass `overwrite=True` to replace it, or give another `out`")


def _beside(target: Path, role: str) -> Path:
    absolute = target.absolute()
    return absolute.parent / f".{absolute.name}.{role}-{secrets.token_hex(4)}"


def _leftovers(target: Path, role: str) -> list[Path]:
    """Return what killed processes left beside `target`."""
    absolute = target.absolute()
    ours = re.compile(rf"\.{re.escape(absolute.name)}\.{role}-[0-9a-f]+")
    try:
        return [path for path in sorted(absolute.parent.iterdir()) if ours.fullmatch(path.name)]
    except OSError:
        return []


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _explain(error: OSError, target: Path) -> str:
    number, reason = error.errno or 0, str(error.strerror or error)
    denied = "permission was denied; choose an `out` that you may write to"
    if not MOVES_OPEN_FILES:
        denied = "permission was denied, or a program has it open; close that, or give another `out`"
    remedies = {
        errno.ENOSPC: "the disk is full; free some space or give another `out`",
        errno.EDQUOT: "your disk quota is used up; free some space or give another `out`",
        errno.EFBIG: "the file would exceed the size allowed here; give another `out`",
        errno.EACCES: denied,
        errno.EPERM: denied,
        errno.EROFS: "the file system is read-only; give another `out`",
        errno.ENOTDIR: "a part of the path is a file; give another `out`",
        errno.EEXIST: "a part of the path is a file; give another `out`",
        errno.ELOOP: "a file beside it is a link, which is not followed; remove it, or give another `out`",
        errno.ENAMETOOLONG: "the name is too long; give a shorter `out`",
    }
    if "requested and" in reason:  # what NumPy says where a file could not be written to its end
        reason = "the disk is full, or the file would exceed the size allowed here"
    remedy = remedies.get(number, f"{reason}; give another `out`")
    return f"Cannot write '{target}': {remedy}"
