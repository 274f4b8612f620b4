from __future__ import annotations

import subprocess
import sys

import polars as pl
import pytest

from driftword.basics.errors import SourceError
from driftword.basics.polars_faults import as_source_errors, check_forked

FORKING = """
import os, sys
import polars as pl
import driftword as dw
from driftword.basics import polars_faults

polars_faults._PATIENCE = 2  # what hangs, hangs for ever
if sys.argv[1] == "used":
    pl.DataFrame({"n": [2, 1]}).select(pl.all().sort())
dw.prepare([("ship sea " * 50, 1900)] * 3, out=sys.argv[2] + ".before") if sys.argv[1] == "opened" else None
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
try:
    if sys.argv[1] == "opened":
        dw.Corpus.open(sys.argv[2] + ".before")
    else:
        dw.prepare([("ship sea " * 50, 1900)] * 3, out=sys.argv[2])
except dw.DriftwordError as error:
    print(error, flush=True)
    os._exit(2)
os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="processes are not forked here")
@pytest.mark.parametrize(("before", "status"), [("used", 2), ("opened", 2), ("imported", 0)])
def test_a_forked_process_works_or_says_why_not(
    tmp_path_factory: pytest.TempPathFactory, before: str, status: int
) -> None:
    out = tmp_path_factory.mktemp("forked") / "out.corpus"
    done = subprocess.run(
        [sys.executable, "-c", FORKING, before, str(out)], capture_output=True, text=True, timeout=180
    )
    assert done.returncode == status, done.stderr
    assert out.exists() == (status == 0)
    if status:
        assert done.stdout == (
            "Polars does not work in this process, as it was forked from one that had used Polars before; "
            'start it with multiprocessing.get_context("spawn") instead\n'
        )


def test_where_polars_works_nothing_is_said() -> None:
    check_forked()


def test_failures_and_panics_become_sentences() -> None:
    for error in (pl.exceptions.ComputeError("no\nstack"), pl.exceptions.PanicException("no\nstack")):
        with (
            pytest.raises(SourceError, match=r"The source cannot be processed \(no\); leave out the columns"),
            as_source_errors(),
        ):
            raise error


def test_an_interrupt_stays_one() -> None:
    with pytest.raises(pl.exceptions.ComputeError), as_source_errors():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise pl.exceptions.ComputeError("KeyboardInterrupt") from interrupt
