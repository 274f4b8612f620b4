"""Numba, imported in such a way that nothing in the current directory decides what it does.

Numba takes settings from a file there, ``.numba_config.yaml``. They may name the folder of its compiled functions,
which are pickles: whoever puts such a file into a folder of texts could run code in driftword. So kernels import what
they need of Numba from here.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from driftword.basics.limited_memory import check_memory
from driftword.basics.process import available_cores
from driftword.basics.progress import Progress

_CACHE: Final = "NUMBA_CACHE_DIR"


def _import_numba() -> None:
    """Import Numba as if its file of settings could not be read, unless a program has imported it before us."""
    if "numba" in sys.modules:
        return
    if not os.environ.get(_CACHE) and not os.access(Path(__file__).parent, os.W_OK):  # else Numba writes beside modules
        os.environ[_CACHE] = str(_cache_folder())
    check_memory(min(4e8 + 4e7 * available_cores(), 1e9))  # OpenBLAS, which comes with it, would try again and again
    known = sys.modules.get("yaml")
    sys.modules["yaml"] = None  # type: ignore[assignment]  # with which Numba would read the file
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it cannot be read
            config: Any = importlib.import_module("numba.core.config")
    finally:
        del sys.modules["yaml"]
        if known is not None:
            sys.modules["yaml"] = known
    config._config_fname = os.devnull  # it looks again whenever it compiles


def _cache_folder() -> Path:
    """Return a folder for compiled functions that nobody else can write to: one that stays, or one for this process."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "driftword")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
        if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o022):
            raise PermissionError
        tempfile.TemporaryFile(dir=folder).close()
    except (OSError, RuntimeError):  # there may be no home
        folder = Path(tempfile.mkdtemp(prefix="driftword-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


_import_numba()

from numba import float32, float64, int32, njit, types, uint32, uint64  # noqa: E402 - only now
from numba.core import cgutils, event  # noqa: E402
from numba.extending import intrinsic, register_jitable  # noqa: E402

__all__ = [
    "cgutils", "compiling_shown", "float32", "float64", "int32", "intrinsic", "njit", "register_jitable", "types",
    "uint32", "uint64",
]  # fmt: skip


class _Compiling(event.Listener):
    def __init__(self, bar: Progress) -> None:
        self._bar = bar

    def on_start(self, _: Any) -> None:
        """Say why nothing seems to happen."""
        self._bar.update(facts="compiling, only once")

    def on_end(self, _: Any) -> None:
        """Say nothing: what comes next writes the line anew, and functions are compiled within others."""


@contextlib.contextmanager
def compiling_shown(bar: Progress) -> Iterator[None]:
    """Say in a bar when functions are compiled, as at their first use on a machine; later ones take them from disk."""
    with event.install_listener("numba:compile", _Compiling(bar)):
        yield
