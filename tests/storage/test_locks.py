from __future__ import annotations

import errno
import fcntl
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from driftword.basics.errors import BusyError, DriftwordWarning
from driftword.storage import locks
from driftword.storage.locks import lock_path, writer_lock

HOLD = """
import sys, time
from pathlib import Path
from driftword.storage.locks import writer_lock
with writer_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def holder(target: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(target)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_lock_keeps_other_processes_away_and_ends_with_its_own(tmp_path: Path) -> None:
    target = tmp_path / "c"
    with holder(target) as process:
        with pytest.raises(BusyError, match=rf"process {process.pid} on .* since 20\d\d-"), writer_lock(target):
            raise AssertionError("two writers")
        with writer_lock(tmp_path / "d"):  # another place is free
            pass
        process.send_signal(signal.SIGKILL)
    assert lock_path(target).exists()  # a killed process leaves its file, which no longer locks
    with writer_lock(target) as (lock, new):
        assert lock.exclusive
        assert new
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_the_last_holder_removes_meanwhile_is_not_taken_for_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, calls, flock = tmp_path / "c", 0, fcntl.flock

    def removed_meanwhile(handle: int, how: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            lock_path(target).unlink()
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", removed_meanwhile)
    with writer_lock(target):
        assert lock_path(target).exists()
    assert calls == 2


def test_a_file_system_without_locks_is_said_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.warns(DriftwordWarning, match="has no locks"), writer_lock(tmp_path / "c") as (lock, _):
        assert not lock.exclusive
    assert list(tmp_path.iterdir()) == []


def test_a_lock_file_that_cannot_be_written_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(locks, "_describe_holder", full)
    with pytest.raises(OSError, match="No space"), writer_lock(tmp_path / "c"):
        raise AssertionError("locked by a file without a word in it")
    assert list(tmp_path.iterdir()) == []
