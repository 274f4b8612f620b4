"""Stores that are written to an address: made on this machine first, and then copied there.

A store at an address is complete where there is a ``meta.json``, which is copied last, and removed first where a store
is replaced: who reads in between finds none. Until then a mark, `MARK`, lists what is being copied, so that what a
killed process left can be told from the files of somebody else. There are no locks at an address.
"""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from driftword.basics.addresses import WRITABLE, check_address
from driftword.basics.errors import DriftwordWarning, ExistsError, OptionError, StoreError
from driftword.basics.polars_faults import reason
from driftword.basics.traffic import Storage
from driftword.storage.atomic_writes import already_exists, scratch_folder, writing
from driftword.storage.checksums import LARGEST_META, META, sealed_json, unseal_json

MARK: Final = ".upload.json"


@contextlib.contextmanager
def uploading(address: str, *, kind: str, overwrite: bool) -> Iterator[Path]:
    """Yield an empty folder of this machine; what it holds in the end appears at the address, or nothing does.

    If the storage fails, the folder is kept, and the error says where.
    """
    with scratch_folder() as scratch:
        folder = scratch / (address.rstrip("/").rpartition("/")[2] or "store")
        with writing(folder):
            folder.mkdir()
            yield folder
        try:
            _Place(address).upload(folder, kind=kind, overwrite=overwrite)
        except StoreError as error:
            kept = Path(tempfile.mkdtemp(prefix="driftword-kept-")) / folder.name
            folder.rename(kept)
            raise type(error)(f"{error}. What was to be written is complete in '{kept}'; copy it from there") from error


def check_place(address: str, *, kind: str, overwrite: bool) -> None:
    """Refuse before the work what could not be written, or not replaced, after it."""
    place = _Place(address)
    old = place.find(kind=kind, overwrite=overwrite)
    place.write_mark(old, kind)  # whether that is allowed is not known before
    if MARK not in old:
        place.remove(MARK)


class _Place:
    """An address that is written to."""

    def __init__(self, address: str) -> None:
        check_address(address)
        self.address = address.rstrip("/")
        protocol, _, rest = self.address.partition("://")
        if protocol == "file":
            raise OptionError(f"'{address}' is on this machine; give the path alone as `out`")
        if protocol not in WRITABLE:
            known = ", ".join(f"{one}://" for one in WRITABLE)
            raise OptionError(f"'{address}' can be read and not written; begin `out` with one of {known}")
        if "/" not in rest.strip("/"):
            raise OptionError(f"'{address}' is a whole bucket; name a folder in it as `out`, such as {address}/texts")
        self._storage = Storage(self.address)

    def find(self, *, kind: str, overwrite: bool) -> set[str]:
        """Return the names of what is to be replaced; raise `ExistsError` where that may not be."""
        with self._sentences():
            try:
                found = self._storage.list("ls", self._storage.path)
            except FileNotFoundError:  # or there is no bucket, as the first file that is written will show
                found = {}
        names = {path.rstrip("/").rpartition("/")[2] for path, info in found.items() if not self._is_itself(path, info)}
        if not names:
            return names
        facts = [self._read(name) for name in (META, MARK) if name in names]
        if not facts or any(one.get("kind") != kind or not isinstance(one.get("files"), dict) for one in facts):
            raise ExistsError(
                f"'{self.address}' holds something else than a driftword {kind}, so it is left alone; give another "
                "`out`"
            )
        if not overwrite and META in names:
            raise already_exists(self.address)
        if not overwrite:
            raise ExistsError(
                f"'{self.address}' is being written, or a process that wrote it was killed; wait, or pass "
                "`overwrite=True` to write it again"
            )
        if others := names - {META, MARK}.union(*(one["files"] for one in facts)):
            raise ExistsError(
                f"'{self.address}' holds files that driftword did not write, such as '{min(others)}', so it is left "
                "alone; move them elsewhere first"
            )
        return names

    def upload(self, folder: Path, *, kind: str, overwrite: bool) -> None:
        """Copy a complete store; after an error or an interrupt, remove what was copied."""
        old = self.find(kind=kind, overwrite=overwrite)
        new = sorted((path.name for path in folder.iterdir()), key=lambda name: (name == META, name))
        begun = {MARK}
        try:
            self.write_mark({*old, *new}, kind)
            for name in sorted(old - {MARK}, key=lambda name: (name != META, name)):
                begun |= old
                self.remove(name)
            for name in new:
                begun.add(name)
                self._ask(self._storage.copy_there, folder / name, self._at(name))
        except BaseException as error:
            left = self._clear(begun, kind)
            if META in old & begun:
                left.append(f"What was there before {'may be' if left else 'is'} gone")
            if isinstance(error, StoreError):
                raise StoreError(". ".join([str(error), *left])) from error
            if left:
                warnings.warn(f"'{self.address}' was being written. {'. '.join(left)}", DriftwordWarning, stacklevel=2)
            raise
        with contextlib.suppress(StoreError):  # the store is complete
            self.remove(MARK)

    def write_mark(self, names: set[str], kind: str) -> None:
        """Say what is being copied."""
        content = {"kind": kind, "files": dict.fromkeys(sorted(names - {MARK}))}  # names, as in meta.json
        self._ask(self._storage.write, self._at(MARK), sealed_json(content))

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        self._ask(self._storage.remove, self._at(name))

    def _clear(self, names: set[str], kind: str) -> list[str]:
        """Remove what is incomplete, and return what a user should know if that fails."""
        try:
            for name in sorted(names, key=lambda name: (name != META, name == MARK)):
                self.remove(name)
        except StoreError:
            if names == {MARK}:
                return []
            return [f"Files without a {META} may be left there; they are no {kind}, and `overwrite=True` replaces them"]
        return []

    def _at(self, name: str) -> str:
        return f"{self._storage.path}/{name}"

    def _is_itself(self, path: str, info: dict[str, Any]) -> bool:
        """Tell whether what is listed stands for the folder, as the consoles of buckets make one."""
        return path.strip("/") == self._storage.path.strip("/") and not info.get("size")

    def _read(self, name: str) -> dict[str, Any]:
        with self._sentences():
            data = self._storage.read(self._at(name), 0, LARGEST_META)
        try:
            return unseal_json(data, required=False)
        except ValueError:
            return {}

    def _ask(self, request: Callable[..., None], *arguments: Any) -> None:
        """Make a request; an interrupt waits for it, as it would go on, and undo what is done then."""
        with self._sentences(), ThreadPoolExecutor(1) as thread:
            thread.submit(request, *arguments).result()

    @contextlib.contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # every storage has its own
            raise StoreError(
                f"'{self.address}' cannot be written: {reason(error).rstrip('.')}; check the address and your access"
            ) from error
