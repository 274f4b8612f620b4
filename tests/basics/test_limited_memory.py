"""Under a limit of memory every command ends, and with a sentence, whatever a library does."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import driftword as dw
import every_command
from driftword.basics import limited_memory

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="limits as Linux has them")]

PLENTY = 1 << 40
SENTENCE = "driftword: There is not enough memory: this command may use {:.1f} GB; allow it more (ulimit -v)\n"
BEGIN = """
import ctypes, os, signal, sys, time
from driftword.basics import limited_memory
limited_memory._PATIENCE = limited_memory._IDLE = limited_memory._GRACE = 2.0
limited_memory._AT_MOST = 4.0
limited_memory.run_watched()
hold_python = ctypes.PyDLL(None)  # whose functions keep Python from doing anything else
"""


def start(*command: object, limit: int, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)), **options,
    )  # type: ignore[call-overload,no-any-return]  # fmt: skip


def script(text: str, *, limit: int = PLENTY) -> subprocess.Popen[str]:
    return start(sys.executable, "-c", BEGIN + text, limit=limit)


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("print('done'); sys.exit(0)", 0, ""),
        ("sys.exit('one sentence')", 1, "one sentence\n"),
        ("os.write(2, b'a library warns'); sys.exit(3)", 3, "a library warns"),
        ("os.write(2, b'a library warns'); print('a sentence', file=sys.stderr); sys.exit(2)", 2, "a sentence\n"),
        ("raise ValueError('a fault')", 1, "ValueError: a fault\n"),
        ("os.write(2, b'memory allocation of 8 bytes failed'); os.abort()", 2, SENTENCE.format(PLENTY / 1e9)),
        ("raise MemoryError", 2, SENTENCE.format(PLENTY / 1e9)),
        ("hold_python.sleep(100)", 2, SENTENCE.format(PLENTY / 1e9)),
        ("os.write(2, b'openblas'); os.kill(os.getpid(), signal.SIGKILL)", 2, SENTENCE.format(PLENTY / 1e9)),
    ],
)
def test_it_ends_as_the_program_ends_or_in_a_sentence(text: str, status: int, said: str) -> None:
    process = script(text)
    _, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert err.endswith(said)
    assert ("Traceback" in err) == ("a fault" in said)


def test_a_program_that_waits_for_ever_with_no_memory_left_is_ended() -> None:
    process = script("time.sleep(100)", limit=600_000_000)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (2, SENTENCE.format(0.6))


@pytest.mark.parametrize(
    "waiting", ["hold_python.sleep(100)", "signal.signal(15, lambda *_: time.sleep(100)); time.sleep(9)"]
)
def test_it_can_always_be_ended(waiting: str) -> None:
    process = script(f"os.write(1, b'ready\\n'); {waiting}")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    process.communicate()


def test_the_program_ends_with_the_process_that_watches_it() -> None:
    process = script("os.write(1, b'%d\\n' % os.getpid()); time.sleep(100)")
    assert process.stdout is not None
    program = int(process.stdout.readline())
    process.kill()
    process.communicate()
    for _ in range(600):
        if not Path(f"/proc/{program}").exists() or "zombie" in Path(f"/proc/{program}/status").read_text():
            return
        time.sleep(0.1)
    os.kill(program, signal.SIGKILL)
    pytest.fail("the program went on alone")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("limited")
    every_command.write_letters(made)
    return made


@pytest.mark.parametrize("megabytes", [60, 300, 800, 1200, 3500])
@pytest.mark.parametrize("command", ["prepare", "fit", "drift"])
def test_commands_end_with_a_sentence(
    command: str, megabytes: int, folder: Path, small: dw.Corpus, small_model: dw.Model
) -> None:
    out = folder / f"{command}-{megabytes}"
    asked = {
        "prepare": [folder / "letters.jsonl", "--out", out],
        "fit": [small.path, "--dim", 4, "--passes", 2, "--no-significance", "--out", out],
        "drift": [small_model.path],
    }[command]
    process = start(sys.executable, "-m", "driftword", command, *asked, limit=megabytes << 20)
    _, err = process.communicate(timeout=100)
    if process.returncode:
        assert (process.returncode, err) == (2, SENTENCE.format((megabytes << 20) / 1e9))
        if command == "prepare":  # what an aborted one left is removed by the next
            dw.prepare(folder / "letters.jsonl", out=out, subsample=None)
        assert [path for path in folder.iterdir() if path.name.startswith(f".{out.name}")] == []
    else:
        assert megabytes > 500
        assert command == "drift" or out.exists()
    assert process.returncode == 0 or megabytes < 3500


def test_errors_of_libraries_that_mean_no_memory() -> None:
    wrapped = dw.StoreError("Cannot write")
    wrapped.__cause__ = OSError(12, "Cannot allocate memory")
    assert limited_memory.explain(wrapped) == limited_memory.sentence(None)
    assert "No further thread" in (limited_memory.explain(RuntimeError("can't start new thread")) or "")
    assert limited_memory.explain(dw.StoreError("'x' is damaged")) is None


def test_a_panic_of_polars_with_little_memory_left_means_no_memory() -> None:
    """It is told as what it became, a sentence about the user's file, only where there is memory."""
    asked = (
        "import driftword as dw, polars as pl\n"
        "from driftword.basics import limited_memory, polars_faults\n"
        "try:\n"
        "    with polars_faults.as_source_errors():\n"
        "        raise pl.exceptions.PanicException('LazyLock instance has previously been poisoned')\n"
        "except dw.SourceError as error:\n"
        "    print(limited_memory.explain(error))\n"
    )
    for limit, said in ((1_000_000_000, limited_memory.sentence(1_000_000_000)), (PLENTY, "None")):
        out, err = start(sys.executable, "-c", asked, limit=limit).communicate(timeout=60)
        assert (out, err) == (f"{said}\n", "")
