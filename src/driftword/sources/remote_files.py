"""Files on storage that fsspec reads, such as ``s3://bucket/year.parquet``.

Readers open files twice and map them into memory, so each file is copied to this machine while it is read.
"""

from __future__ import annotations

import contextlib
import glob
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from driftword.basics.errors import SourceError
from driftword.basics.polars_faults import reason
from driftword.basics.traffic import Storage
from driftword.storage.atomic_writes import scratch_folder
from driftword.storage.checksums import sha256


@dataclass(frozen=True)
class RemoteFile:
    """A file that is read through fsspec."""

    address: str  # with the protocol
    size: int  # in bytes
    stamp: str  # which changes when the file does

    @property
    def name(self) -> str:
        """The name of the file, without its folder."""
        return PurePosixPath(self.address).name

    @property
    def suffixes(self) -> list[str]:
        """The suffixes of its name."""
        return PurePosixPath(self.address).suffixes

    def __str__(self) -> str:
        return self.address


#: A file of a source: on this machine, or elsewhere.
SourceFile = Path | RemoteFile


def size_of(file: SourceFile) -> int:
    """Return the size of a file in bytes."""
    return file.size if isinstance(file, RemoteFile) else file.stat().st_size


def stamp_of(file: SourceFile) -> str:
    """Return a stamp that changes when a file does."""
    return file.stamp if isinstance(file, RemoteFile) else str(file.stat().st_mtime_ns)


def find_remote(address: str, wanted: Callable[[RemoteFile], bool]) -> tuple[list[RemoteFile], str]:
    """Return the files at an address, which may be a folder or a glob, and the folder their names are relative to.

    Of a folder, only files that are `wanted` are returned.
    """
    storage = Storage(address)
    system, path = storage.system, storage.path
    try:
        folder = not glob.has_magic(path) and storage.is_folder(path)
        if glob.has_magic(path):
            found, fixed = storage.list("glob", path), re.split(r"[*?[]", path)[0]
            root = fixed.rpartition("/")[0]
        elif folder:
            found, root = storage.list("find", path), path.rstrip("/")
        else:
            found, root = {path: storage.info(path)}, path.rpartition("/")[0]
        files = [
            RemoteFile(system.unstrip_protocol(name), int(info["size"] or 0), str(system.ukey(name)))
            for name, info in sorted(found.items(), key=lambda item: item[0].split("/"))  # as paths are sorted
            if info["type"] == "file" and not any(part.startswith(".") for part in name[len(root) :].split("/"))
        ]
    except Exception as error:  # every storage has its own
        why = reason(error).rstrip(".")
        raise SourceError(f"'{address}' cannot be read: {why}; check the address and your access") from error
    if not files:
        raise SourceError(f"No file matches '{address}'; check the address and the pattern")
    return [file for file in files if wanted(file) or not folder], system.unstrip_protocol(root)


@contextlib.contextmanager
def local_copy(file: SourceFile, digests: dict[str, str]) -> Iterator[Path]:
    """Yield a file on this machine with the content of `file`; `digests` gets the SHA-256 of one that is copied."""
    if isinstance(file, Path):
        yield file
        return
    with scratch_folder() as folder:
        copy = folder / file.name
        try:
            Storage(file.address).copy_here(copy, file.size)
        except Exception as error:
            raise SourceError(f"'{file}' cannot be read: {reason(error)}") from error
        digests[file.address] = sha256(copy)
        try:
            yield copy
        except SourceError as error:  # which names the copy, and that will be gone
            raise SourceError(str(error).replace(str(copy), file.address)) from error
