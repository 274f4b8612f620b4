"""Addresses of storage that fsspec reads, such as ``s3://bucket/folder``.

fsspec knows many more protocols, and some of them run templates, unpack archives or pass a request on to another
address. An address may come from a stranger, in a script or a listing, so only plain storage is opened.
"""

from __future__ import annotations

import pathlib
import re
from typing import Any, Final

from driftword.basics.errors import OptionError

_ADDRESS: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
#: What may stand before ``://``.
PROTOCOLS: Final = ("file", "s3", "gs", "abfs", "http", "https", "memory")
#: What stands before ``://`` where stores are also written: where a file appears when it is complete.
WRITABLE: Final = ("s3", "gs", "abfs", "memory")
_ONE_SLASH: Final = re.compile(rf"({'|'.join(PROTOCOLS)}):[/\\](?![/\\])")  # what `pathlib` makes of an address
_CHAIN: Final = "::"  # by which fsspec passes one address to another


def is_address(path: str) -> bool:
    """Tell whether a path is the address of something that fsspec reads."""
    return _ADDRESS.match(path) is not None


def was_address(path: str) -> bool:
    """Tell whether a path was an address before `pathlib` took one of its slashes."""
    return _ONE_SLASH.match(path) is not None


def is_on_this_machine(path: str) -> bool:
    """Tell whether a path is a full one on this machine: neither an address nor the name of another computer."""
    return pathlib.Path(path).is_absolute() and not is_address(path) and not path.startswith(("//", "\\\\"))


def check_address(address: str) -> None:
    """Refuse an address that is not of plain storage."""
    found = _ADDRESS.match(address)
    if found is None or found[1] not in PROTOCOLS:
        raise OptionError(
            f"'{address}' cannot be opened: addresses begin with {', '.join(f'{one}://' for one in PROTOCOLS[:-1])} or "
            f"{PROTOCOLS[-1]}://; give one of those, or copy the files to this machine"
        )
    if _CHAIN in address:
        raise OptionError(f"'{address}' cannot be opened: it has '{_CHAIN}' in it; give the address of the files alone")


def open_system(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    check_address(address)
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise OptionError(
            f"To read '{address}', install what reads such addresses: pip install 'driftword[dask]'"
        ) from None
    try:
        system, path = url_to_fs(address)
    except (ImportError, ValueError) as error:  # the protocol needs a package of its own
        raise OptionError(f"'{address}' cannot be opened: {' '.join(str(error).split())}") from error
    return system, str(path)
