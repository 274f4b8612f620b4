"""Polars' own failures as errors that a user can put right.

Polars raises exceptions, and panics where it did not expect what it found. In a process that was forked after Polars
had been used, it does neither: its threads are missing there, and every call waits for them for ever.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Final

import polars as pl

from driftword.basics.errors import DriftwordError, SourceError

POLARS_ERRORS: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
#: Seconds that Polars has to add two numbers; it takes a thousandth of that.
_PATIENCE: Final = 10.0
_working: Final[set[int]] = set()  # the process in which Polars was seen to work; a forked one has another id


def reason(error: BaseException) -> str:
    """Return the first line of what went wrong."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@contextlib.contextmanager
def as_source_errors() -> Iterator[None]:
    """Turn what Polars could not do with a user's data into a sentence."""
    try:
        yield
    except POLARS_ERRORS as error:
        if isinstance(error.__context__, KeyboardInterrupt | SystemExit):  # which came while Polars called Python
            raise
        raise SourceError(
            f"The source cannot be processed ({reason(error)}); leave out the columns you do not need, or save it as "
            "CSV or JSON lines"
        ) from error


def check_forked() -> None:
    """Raise `DriftwordError` where Polars would wait for ever; each process is tried only once."""
    if os.getpid() in _working:
        return
    # Which threads a process has lost cannot be looked up, so it is tried.
    answer = threading.Thread(target=lambda: pl.LazyFrame({"n": [1]}).select(pl.col("n") + 1).collect(), daemon=True)
    answer.start()
    answer.join(_PATIENCE)
    if answer.is_alive():
        raise DriftwordError(
            "Polars does not work in this process, as it was forked from one that had used Polars before; start it "
            'with multiprocessing.get_context("spawn") instead'
        )
    _working.add(os.getpid())
