"""Files on storage that fsspec reads, such as ``s3://bucket/year.parquet``: found, and copied one at a time.

The readers of files want one that they can open twice and map, so each is copied to this machine while it is read.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from driftword.basics.addresses import open_system
from driftword.basics.errors import SourceError
from driftword.basics.polars_faults import reason


@dataclass(frozen=True)
class RemoteFile:
    """A file that is read through fsspec.

    Parameters
    ----------
    address
        Where it is, with the protocol.
    size
        How many bytes it has.
    stamp
        What changes when the file does.
    """

    address: str
    size: int
    stamp: str

    @property
    def name(self) -> str:
        """Its name without the folder."""
        return PurePosixPath(self.address).name

    @property
    def suffixes(self) -> list[str]:
        """The endings of its name."""
        return PurePosixPath(self.address).suffixes

    def __str__(self) -> str:
        return self.address


#: A file of a source: on this machine, or elsewhere.
SourceFile = Path | RemoteFile


def size_of(file: SourceFile) -> int:
    """Return how many bytes a file has."""
    return file.size if isinstance(file, RemoteFile) else file.stat().st_size


def stamp_of(file: SourceFile) -> str:
    """Return what changes when a file does."""
    return file.stamp if isinstance(file, RemoteFile) else str(file.stat().st_mtime_ns)


def find_remote(address: str, wanted: Callable[[RemoteFile], bool]) -> tuple[list[RemoteFile], str]:
    """Return the files that an address, folder or glob names, in order, and the folder their names are relative to.

    Of a folder, only files that are `wanted`.
    """
    system, path = open_system(address)
    try:
        folder = not glob.has_magic(path) and system.isdir(path)
        if glob.has_magic(path):
            found, fixed = system.glob(path, detail=True), re.split(r"[*?[]", path)[0]
            root = fixed.rpartition("/")[0]
        elif folder:
            found, root = system.find(path, detail=True), path.rstrip("/")
        else:
            found, root = {path: system.info(path)}, path.rpartition("/")[0]
        files = [
            RemoteFile(system.unstrip_protocol(name), int(info["size"] or 0), str(system.ukey(name)))
            for name, info in sorted(found.items(), key=lambda item: item[0].split("/"))  # as paths are sorted
            if info["type"] == "file" and not any(part.startswith(".") for part in name[len(root) :].split("/"))
        ]
    except Exception as error:  # every storage has its own
        raise SourceError(f"'{address}' cannot be read: {reason(error)}; check the address and your access") from error
    if not files:
        raise SourceError(f"No file matches '{address}'; check the address and the pattern")
    return [file for file in files if wanted(file) or not folder], system.unstrip_protocol(root)


@contextlib.contextmanager
def local_copy(file: SourceFile, digests: dict[str, str]) -> Iterator[Path]:
    """Yield a file of this machine with the content of `file`; of one that is copied, `digests` gets the SHA-256."""
    if isinstance(file, Path):
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="driftword-") as folder:
        copy = Path(folder, file.name)
        system, path = open_system(file.address)
        try:
            with system.open(path, "rb") as source, copy.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 22)
        except Exception as error:
            raise SourceError(f"'{file}' cannot be read: {reason(error)}") from error
        with copy.open("rb") as stream:
            digests[file.address] = hashlib.file_digest(stream, "sha256").hexdigest()
        try:
            yield copy
        except SourceError as error:  # which names the copy, and that will be gone
            raise SourceError(str(error).replace(str(copy), file.address)) from error
