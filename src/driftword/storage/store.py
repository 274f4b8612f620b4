"""A directory of ``.npy`` and ``.parquet`` files beside a ``meta.json``.

Corpora and models are stored the same way. A store is written into a hidden directory next to its final place and
renamed when it is complete, so a crash, Ctrl-C or full disk leaves nothing behind that looks like a store, and a former
one stays until its successor is complete. ``meta.json`` is written last; it lists every file with its size and
checksums, and ends with its own. Nothing is pickled.

An opened store holds its files open. Whoever replaces or removes it cannot mix what a reader sees, and what is read has
been compared with its checksums.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks, system_calls
from driftword.basics.errors import ExistsError, StoreError
from driftword.basics.polars_faults import POLARS_ERRORS, check_forked
from driftword.storage.atomic_writes import (
    already_exists,
    partial_path,
    put_in_place,
    reserved,
    writing,
)
from driftword.storage.checksums import META as META
from driftword.storage.checksums import CheckedFile, Entry, file_checksums, sealed_json, unseal_json
from driftword.storage.local_stores import LocalFolder
from driftword.storage.remote_stores import RemoteFolder
from driftword.storage.shards import ShardedArray, ShardWriter, shard_files, shards_among
from driftword.storage.stored_arrays import StoredArray, read_array, whole
from driftword.storage.typed_facts import typed
from driftword.storage.uploads import check_place, uploading

#: The one format that is written and read. What was stored in another is to be made again.
VERSION: Final = 5
_OWN_FACTS: Final = ("kind", "version", "files", "checksum")  # of meta.json, which this module writes
_SMALL: Final = 1 << 20  # files up to this size are read at opening; larger ones are mapped when they are used
_BUFFER: Final = 1 << 16  # numbers of an array that does not lie in one piece that are copied and written at a time
_PATIENCE: Final = 2.0  # seconds to wait for a store that is being replaced at this moment
_Facts = TypeVar("_Facts")
_FileName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]+(\.[a-z]+)?$")]


class _Files(msgspec.Struct):
    """The files of a store, as meta.json lists them."""

    files: dict[_FileName, Entry]


class Writer:
    """A store being written: put files into `folder`, facts into `meta`.

    What others have written and flushed there need not be read again: `sealed` has what `seal_file` told them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.meta: dict[str, Any] = {}
        self.sealed: dict[str, dict[str, Any]] = {}

    def array(self, name: str, values: npt.NDArray[Any]) -> None:
        """Save one array as ``name.npy``."""
        values = np.asarray(values)
        parts: Iterable[Any] = ()
        if values.size and (values.flags.c_contiguous or values.flags.f_contiguous):
            parts = (np.ravel(values, order="K"),)
        elif values.size:  # a copy of all may take gigabytes
            parts = np.nditer(values, ["external_loop", "buffered"], order="C", buffersize=_BUFFER)
        with (self.folder / f"{name}.npy").open("wb") as file:
            np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(values))
            # Not `np.save`, which loses the end of a file without a word where the disk is full.
            for part in parts:
                file.write(np.ascontiguousarray(part).view(np.uint8).data)

    def long_array(self, name: str, values: npt.NDArray[Any]) -> None:
        """Save an array of one dimension in as many files as its length takes; see `shards`."""
        with ShardWriter(self.folder, name, values.dtype, len(values)) as writer:
            writer.write(0, values)

    def remove_long_array(self, name: str) -> None:
        """Remove the files of an array of one dimension."""
        for path in shard_files(self.folder, name):
            path.unlink()
            self.sealed.pop(path.name, None)


class Store:
    """A complete store, opened for reading; all of it belongs together, whatever happens to the directory."""

    def __init__(self, folder: Path | str, files: LocalFolder | RemoteFolder, meta_text: bytes, *, kind: str) -> None:
        self.folder = folder  # a path, or an address
        self.location = folder if isinstance(folder, str) else str(folder.absolute())
        self.meta = _read_facts(folder, meta_text, kind)
        self._files, self._meta_text = files, meta_text
        self._small: dict[str, bytes] = {}
        self._large: dict[str, CheckedFile] = {}
        for name, entry in typed(self.meta, _Files).files.items():
            file = files.open(name, entry, functools.partial(damaged, folder))
            if file.size <= _SMALL:
                self._small[name] = file.read()
                file.close()
            else:
                file.check_again()
                self._large[name] = file

    def __contains__(self, name: str) -> bool:
        return name in self._small or name in self._large

    def facts(self, schema: type[_Facts]) -> _Facts:
        """Return the facts that a class names in its fields, with the types that they have there."""
        with self.reading(META):
            return typed(self.meta, schema)

    @contextlib.contextmanager
    def reading(self, name: str) -> Iterator[None]:
        """Turn the ValueError of whoever cannot use what is in a file into a sentence."""
        try:
            yield
        except ValueError as error:
            raise damaged(self.folder, f"{name} is not as it was written ({error})") from error

    def table(self, name: str, schema: Mapping[str, Any], *, empty_cells: bool = False) -> pl.DataFrame:
        """Return these columns of a ``.parquet`` file, checked."""
        try:
            found = pl.read_parquet(self.open_file(name)).select(*schema)
        except (OSError, *POLARS_ERRORS) as error:
            raise damaged(self.folder, f"{name} cannot be read") from error
        if found.schema != pl.Schema(schema) or (any(found.null_count().row(0)) and not empty_cells):
            raise damaged(self.folder, f"{name} does not have the columns that it should have")
        return found

    def array(self, name: str) -> npt.NDArray[Any]:
        """Return ``name.npy``, read-only and checked."""
        return whole(self.lazy_array(name))

    def lazy_array(self, name: str) -> npt.NDArray[Any] | StoredArray:
        """Return ``name.npy``, read-only: in memory where it is small, else mapped, and checked where it is used."""
        file = f"{name}.npy"
        try:
            return read_array(self._small[file]) if file in self._small else StoredArray(self._file(file))
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) == errno.ENOMEM:  # it may be whole
                raise MemoryError from error
            raise damaged(self.folder, f"{file} cannot be read ({error})") from error

    def long_array(self, name: str) -> npt.NDArray[Any] | StoredArray | ShardedArray:
        """Return what `Writer.long_array` saved, read-only, and checked where it is used."""
        shards = self.shards(name)
        if len(shards) > 1:
            return ShardedArray([self.lazy_array(shard.removesuffix(".npy")) for shard in shards])
        alone = self.lazy_array(name)
        # Elsewhere, so that no more of it is fetched than is read.
        return ShardedArray([alone]) if isinstance(self._files, RemoteFolder) else alone

    def shards(self, name: str, ending: str = ".npy") -> list[str]:
        """Return the names of the files that hold an array or a table, in order; none where there is none."""
        return shards_among(self.meta["files"], name, ending)

    def open_file(self, name: str) -> BinaryIO:
        """Return a file, open and checked; it stays readable when the store is replaced."""
        if name in self._small:
            return io.BytesIO(self._small[name])
        file = self._file(name)
        if not system_calls.READS_AT_POSITION:  # reading it would move the position of other readers
            return io.BytesIO(file.read())
        file.check()
        return open(file.handle, "rb", closefd=False)  # whoever keeps it longer, as Polars does, duplicates the handle

    def verify(self) -> None:
        """Compare every file with its checksums; raise `StoreError` at the first that differs."""
        for file in self._large.values():
            file.check()

    def check_current(self) -> None:
        """Raise `StoreError` if the store has been replaced, removed or changed since it was opened."""
        for file in self._large.values():
            file.check_again()
        if not _holds(self._files, self._meta_text):
            raise StoreError(f"'{self.folder}' has been replaced or removed since it was opened; open it again")

    def _file(self, name: str) -> CheckedFile:
        if name not in self._large:
            raise damaged(self.folder, f"{name} is missing")
        return self._large[name]

    def __reduce__(self) -> Any:
        return type(None), ()  # a copy in another process has its arrays, and no files


@contextlib.contextmanager
def create(path: str | os.PathLike[str], *, kind: str, overwrite: bool = False) -> Iterator[Writer]:
    """Write a store of this `kind` atomically: it appears at `path` when the block ends without an exception.

    The block fills the `Writer`. At an address it appears when all of it has been copied there.
    """
    given = check_location(path)
    check_free(given, kind=kind, overwrite=overwrite)
    if isinstance(given, str):
        with uploading(given, kind=kind, overwrite=overwrite) as folder:
            writer = Writer(folder)
            yield writer
            _seal(writer, kind)
        return
    with writing(given), reserved(given) as lock, partial_path(lock.target) as partial:
        _check_target(given, lock.target, kind=kind, overwrite=overwrite)
        partial.mkdir()
        writer = Writer(partial)
        yield writer
        _seal(writer, kind)
        _check_target(given, lock.target, kind=kind, overwrite=overwrite)
        put_in_place(partial, lock.target)


@contextlib.contextmanager
def amend(stored: Store, *, kind: str) -> Iterator[Writer]:
    """Add files or facts to a store atomically: the block finds the facts in the `Writer`, and may write new files.

    A new directory takes the place of the old one when the block ends without an exception. Files that stay are
    shared by both, with the checksums they had. A store that has been replaced since it was opened is left alone.
    """
    given = stored.folder
    if isinstance(given, str):
        raise StoreError(
            f"'{given}' is at an address, where driftword makes stores and changes none; copy it to this machine"
        )
    with writing(given), reserved(given) as lock, partial_path(lock.target) as partial:
        stored.check_current()
        partial.mkdir()
        writer = Writer(partial)
        writer.meta = {name: fact for name, fact in stored.meta.items() if name not in _OWN_FACTS}
        yield writer
        kept = {name: entry for name, entry in stored.meta["files"].items() if not (partial / name).exists()}
        if system_calls.MOVES_OPEN_FILES:
            for name in kept:
                _share(lock.target / name, partial / name)
            _seal(writer, kind, kept)
            put_in_place(partial, lock.target)
        else:
            # The directory cannot be replaced, as `stored` has files in it open. A process that is killed between two
            # of these files leaves a damaged store.
            _seal(writer, kind, kept)
            for path in sorted(partial.iterdir(), key=lambda path: path.name == META):
                path.replace(lock.target / path.name)


def _share(source: Path, target: Path) -> None:
    """Give a file a second name, or copy it where the file system cannot do that."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def check_location(path: Any) -> Path | str:
    """Refuse what cannot be the path of a store, nor an address."""
    given = checks.location("path", path)
    return given if isinstance(given, str) else check_path(given)


def check_path(path: Any) -> Path:
    """Refuse what cannot be the path of a store; tables and messages could not hold one that is not text."""
    given = checks.path("path", path)
    if not checks.is_unicode(str(given)):
        raise StoreError(f"'{os.fsencode(given).decode(errors='replace')}' is not valid UTF-8; rename it")
    return given


def check_free(path: str | os.PathLike[str], *, kind: str, overwrite: bool) -> None:
    """Refuse before the work what `create` would refuse after it."""
    given = check_location(path)
    if isinstance(given, str):
        return check_place(given, kind=kind, overwrite=overwrite)
    with writing(given):
        _check_target(given, Path(os.path.realpath(given)), kind=kind, overwrite=overwrite)


def open_store(path: str | os.PathLike[str], *, kind: str) -> Store:
    """Open the store at `path`, refusing whatever is not a complete store of this `kind`."""
    check_forked()
    location = check_location(path)
    deadline = time.monotonic() + _PATIENCE
    while True:
        folder = _folder_at(location)
        text = folder.find_meta(kind, deadline)
        try:
            stored = Store(location, folder, text, kind=kind)
            stored.check_current()
        except StoreError:
            # What is missing or different because the store was replaced at this moment is in its successor.
            if time.monotonic() > deadline or _holds(folder, text):
                raise
        else:
            return stored


def read_meta(location: Path | str) -> dict[str, Any] | None:
    """Return the metadata of a store, at a path or an address; None where there is none that can be read."""
    try:
        return _parse_meta(_folder_at(location).read_meta())
    except (OSError, ValueError):
        return None


def damaged(folder: Path | str, what: str) -> StoreError:
    """Return the error for a store that is not as it was written."""
    return StoreError(f"'{folder}' is damaged: {what}; make it again, or restore it from a copy")


def _folder_at(location: Path | str) -> LocalFolder | RemoteFolder:
    return RemoteFolder(location) if isinstance(location, str) else LocalFolder(location)


def _holds(folder: LocalFolder | RemoteFolder, meta_text: bytes) -> bool:
    """Tell whether a folder has this very `meta.json`; then its files are those that were stored with it."""
    try:
        return folder.read_meta() == meta_text
    except OSError:
        return False


def _read_facts(folder: Path | str, text: bytes, kind: str) -> dict[str, Any]:
    """Return the facts in meta.json, refusing those of something else."""
    try:
        meta = _parse_meta(text)
    except ValueError as error:
        raise damaged(folder, f"{META} {error}") from error
    if meta["kind"] != kind:
        raise StoreError(f"'{folder}' is a {meta['kind']}, but a {kind} is needed here")
    if meta["version"] != VERSION:
        raise StoreError(
            f"'{folder}' is in format {meta['version']}, and this driftword reads format {VERSION} alone; "
            "prepare or fit it again with this version"
        )
    return meta


def _parse_meta(text: bytes) -> dict[str, Any]:
    """Read meta.json, checking it unless it is in another format; raise ValueError where it is not one."""
    meta = unseal_json(text, required=False)
    version, kind, files = meta.get("version"), meta.get("kind"), meta.get("files")
    if isinstance(version, int) and isinstance(kind, str) and isinstance(files, dict):
        if version == VERSION and "checksum" not in meta:
            raise ValueError("has lost its checksum")
        with contextlib.suppress(ValueError):
            if version == VERSION:
                typed(meta, _Files)
            return meta
    raise ValueError("is not that of a corpus or model")


def seal_file(path: Path) -> dict[str, Any]:
    """Force a file to the disk; return its size and checksums."""
    with path.open("r+b") as file:  # as Windows flushes no file that is open for reading alone
        entry = {"bytes": path.stat().st_size, "xxh3": file_checksums(file)}
        os.fsync(file.fileno())
    return entry


def _seal(writer: Writer, kind: str, known: dict[str, Any] | None = None) -> None:
    """Record every file in meta.json, those `known` with the checksums they had, and force all to the disk."""
    files = {**(known or {}), **writer.sealed}
    for path in writer.folder.iterdir():
        if path.name not in files:
            files[path.name] = seal_file(path)
    meta = {"kind": kind, "version": VERSION, **writer.meta, "files": dict(sorted(files.items()))}
    with (writer.folder / META).open("wb") as file:
        file.write(sealed_json(meta))
        file.flush()
        os.fsync(file.fileno())


def _check_target(given: Path, target: Path, *, kind: str, overwrite: bool) -> None:
    if not os.path.lexists(target) or (target.is_dir() and not any(target.iterdir())):
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
