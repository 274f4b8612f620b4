"""A versioned directory of ``.npy`` and ``.parquet`` files beside a ``meta.json``.

Corpora and models are stored the same way. A store is written into a hidden
directory next to its final place and renamed when it is complete, so a crash,
Ctrl-C or full disk leaves nothing behind that looks like a store, and an older
one stays until its successor is complete. ``meta.json`` is written last and lists
every file with its size and SHA-256. Nothing is pickled.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.errors import DriftwordError, ExistsError, StoreError

VERSION: Final = 2  # format 1 had no training counts, and fingerprints of tokens and words alone
META: Final = "meta.json"
_SMALL: Final = 1 << 20  # files up to this size are hashed at every opening


class Writer:
    """A store being written: put files into `folder`, facts into `meta`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.meta: dict[str, Any] = {}

    def array(self, name: str, values: npt.NDArray[Any]) -> None:
        """Save one array as ``name.npy``."""
        np.save(self.folder / f"{name}.npy", values, allow_pickle=False)


class Store:
    """A complete store, opened for reading."""

    def __init__(self, folder: Path, meta: dict[str, Any]) -> None:
        self.folder = folder
        self.meta = meta

    def array(self, name: str) -> npt.NDArray[Any]:
        """Map ``name.npy`` into memory, read-only."""
        path = self.folder / f"{name}.npy"
        try:
            if path.stat().st_size <= _SMALL:  # a map costs more than reading it
                values: npt.NDArray[Any] = np.load(path, allow_pickle=False)
                values.setflags(write=False)
                return values
            mapped: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
            return mapped
        except (OSError, ValueError) as error:
            raise damaged(self.folder, f"{name}.npy cannot be read ({error})") from error

    def verify(self) -> None:
        """Compare every file with its recorded SHA-256; raise `StoreError` at the first that differs."""
        for name, entry in self.meta["files"].items():
            if entry["sha256"] is not None and sha256(self.folder / name) != entry["sha256"]:
                raise damaged(self.folder, f"the content of {name} has changed since it was written")


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal text."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def create(
    path: str | os.PathLike[str], *, kind: str, overwrite: bool = False, hashed: bool = True
) -> Iterator[Writer]:
    """Write a store of this `kind` atomically; short-lived ones can do without hashes of large files.

    The block fills the `Writer`; when it ends without an exception the store
    appears at `path`, otherwise nothing does.
    """
    given = Path(path)
    check_name(given)
    with writing(given):
        target = Path(os.path.realpath(given))  # a link stays; what it points to is replaced
        partial = _beside(target, "partial")
        _sweep(target)
        _check_target(given, target, kind=kind, overwrite=overwrite)
        with folders(target):
            free = not partial.exists()  # or another thread is writing there
            try:
                partial.mkdir()
                writer = Writer(partial)
                yield writer
                _seal(writer, kind, hashed=hashed)
                _check_target(given, target, kind=kind, overwrite=overwrite)
                swap(partial, target)
            finally:
                if free:
                    shutil.rmtree(partial, ignore_errors=True)


@contextlib.contextmanager
def folders(target: Path) -> Iterator[None]:
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


@contextlib.contextmanager
def writing(target: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of the operating system about `target` into sentences."""
    try:
        yield
    except DriftwordError:
        raise
    except OSError as error:
        raise StoreError(_explain(error.errno or 0, str(error.strerror or error), Path(target))) from error
    except Exception as error:  # Polars wraps the system's errors in its own
        if number := re.search(r"os error (\d+)", str(error)):
            raise StoreError(_explain(int(number[1]), os.strerror(int(number[1])), Path(target))) from error
        raise


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a path to write to, which then replaces `target`; after an error nothing has changed."""
    check_file(target)
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    with writing(target), folders(target):
        try:
            yield partial
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)


def check_file(target: Path) -> None:
    """Refuse to replace a device or a pipe by a file, which root could do."""
    if target.exists() and not target.is_file() and not target.is_dir():
        raise StoreError(f"'{target}' is not a file that could be replaced; give another `out`")


def check_name(path: Path) -> None:
    """Refuse a path whose bytes are not text: tables and messages could not hold it."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        shown = os.fsencode(path).decode(errors="replace")
        raise StoreError(f"'{shown}' is not valid UTF-8; rename it") from error


def check_free(path: str | os.PathLike[str], *, kind: str, overwrite: bool) -> None:
    """Refuse before the work what `create` would refuse after it."""
    given = Path(path)
    check_name(given)
    with writing(given):
        _check_target(given, Path(os.path.realpath(given)), kind=kind, overwrite=overwrite)


def open_store(path: str | os.PathLike[str], *, kind: str) -> Store:
    """Open the store at `path`, refusing whatever is not a complete store of this `kind`."""
    folder = Path(path)
    check_name(folder)
    if not os.path.exists(folder):  # noqa: PTH110 - Path.exists raises for names that are too long
        raise StoreError(f"There is no {kind} at '{folder}'; check the path, or make one first")
    meta = read_meta(folder)
    if meta is None:
        raise StoreError(
            f"'{folder}' is not a driftword {kind} (it has no readable {META}); "
            "name the directory that was given as `out`"
        )
    if meta["kind"] != kind:
        raise StoreError(f"'{folder}' is a {meta['kind']}, but a {kind} is needed here")
    if meta["version"] > VERSION:
        raise StoreError(
            f"'{folder}' is in format {meta['version']} and this driftword reads up to {VERSION}; "
            "upgrade driftword (pip install -U driftword)"
        )
    for name, entry in meta["files"].items():
        file = folder / name
        if not file.is_file():
            raise damaged(folder, f"{name} is missing")
        size = file.stat().st_size
        if size != entry["bytes"]:
            raise damaged(folder, f"{name} has {size:,} bytes instead of {entry['bytes']:,}")
        if size <= _SMALL and sha256(file) != entry["sha256"]:
            raise damaged(folder, f"the content of {name} has changed since it was written")
    return Store(folder, meta)


def read_meta(folder: Path) -> dict[str, Any] | None:
    """Return the metadata of a store, or None where there is none that can be read."""
    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(meta, dict):
        return None
    files = meta.get("files")
    listed = isinstance(files, dict) and all(
        isinstance(entry, dict) and {"bytes", "sha256"} <= entry.keys() for entry in files.values()
    )
    return meta if listed and isinstance(meta.get("version"), int) and isinstance(meta.get("kind"), str) else None


def _seal(writer: Writer, kind: str, *, hashed: bool) -> None:
    """Record every file in meta.json and force all of it to the disk."""
    files = {
        file.name: {
            "bytes": file.stat().st_size,
            "sha256": sha256(file) if hashed or file.stat().st_size <= _SMALL else None,
        }
        for file in sorted(writer.folder.iterdir())
    }
    meta = {"kind": kind, "version": VERSION, **writer.meta, "files": files}
    text = json.dumps(meta, indent=1, ensure_ascii=False)
    (writer.folder / META).write_text(text + "\n", encoding="utf-8")
    for name in [*files, META]:
        with (writer.folder / name).open("rb") as file:
            os.fsync(file.fileno())


def swap(partial: Path, target: Path) -> None:
    """Replace a directory, if there is one, by a finished one; if that fails, the old one stays."""
    replaced = _beside(target, "replaced")
    try:
        if target.exists():
            target.rename(replaced)
        partial.rename(target)
    finally:
        if not target.exists() and replaced.exists():
            replaced.rename(target)
        shutil.rmtree(replaced, ignore_errors=True)


def _check_target(given: Path, target: Path, *, kind: str, overwrite: bool) -> None:
    if not os.path.lexists(target):
        return
    if target.is_dir() and not any(target.iterdir()):
        return
    meta = read_meta(target) if target.is_dir() else None
    if meta is None or meta["kind"] != kind:
        raise ExistsError(
            f"'{given}' already exists and is not a driftword {kind}, so it is left alone; give another `out`"
        )
    if not overwrite:
        raise already_exists(given)
    if others := {file.name for file in target.iterdir()} - {META, *meta["files"]}:
        raise ExistsError(
            f"'{given}' holds files that driftword did not write, such as '{min(others)}', so it is left alone; "
            "move them elsewhere first"
        )


def _beside(target: Path, role: str) -> Path:
    absolute = target.absolute()
    return absolute.parent / f".{absolute.name}.{role}-{os.getpid()}"


def _sweep(target: Path) -> None:
    """Remove what killed processes left beside `target`; restore a store that they had moved aside."""
    absolute = target.absolute()
    for role in ("replaced", "partial"):
        for left in absolute.parent.glob(f".{absolute.name}.{role}-*"):
            if _alive(left.name.rpartition("-")[2]):
                continue
            if role == "replaced" and not target.exists():
                left.rename(target)
            else:
                shutil.rmtree(left, ignore_errors=True)


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except OSError:
        return True
    return True


def already_exists(path: str | os.PathLike[str]) -> ExistsError:
    """Return the error for a result that would replace something without being told to."""
    return ExistsError(f"'{path}' already exists; pass `overwrite=True` to replace it, or give another `out`")


def damaged(folder: Path, what: str) -> StoreError:
    """Return the error for a store that is not as it was written."""
    return StoreError(f"'{folder}' is damaged: {what}; make it again, or restore it from a copy")


def _explain(number: int, reason: str, target: Path) -> str:
    remedies = {
        errno.ENOSPC: "the disk is full; free some space or give another `out`",
        errno.EDQUOT: "your disk quota is used up; free some space or give another `out`",
        errno.EFBIG: "the file would exceed the size allowed here; give another `out`",
        errno.EACCES: "permission was denied; choose an `out` that you may write to",
        errno.EPERM: "permission was denied; choose an `out` that you may write to",
        errno.EROFS: "the file system is read-only; give another `out`",
        errno.ENOTDIR: "a part of the path is a file; give another `out`",
        errno.EEXIST: "a part of the path is a file; give another `out`",
        errno.ENAMETOOLONG: "the name is too long; give a shorter `out`",
    }
    remedy = remedies.get(number, f"{reason}; give another `out`")
    return f"Cannot write '{target}': {remedy}"
