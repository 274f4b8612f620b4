"""Addresses of storage that fsspec reads, such as ``s3://bucket/folder``."""

from __future__ import annotations

import re
from typing import Any, Final

from driftword.basics.errors import OptionError

_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_address(path: str) -> bool:
    """Tell whether a path is the address of something that fsspec reads."""
    return _ADDRESS.match(path) is not None


def open_system(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise OptionError(
            f"To read '{address}', install what reads such addresses: pip install 'driftword[dask]'"
        ) from None
    try:
        system, path = url_to_fs(address)
    except (ImportError, ValueError) as error:  # the protocol needs a package of its own, or is unknown
        raise OptionError(f"'{address}' cannot be opened: {' '.join(str(error).split())}") from error
    return system, str(path)
