"""Processes under attack, seen from the harness: start them, kill them, and see how they end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

ZYGOTE: Final = Path(__file__).with_name("zygote.py")
#: One thread each, so that the same command gives the same bytes; no colours and a wide terminal.
ENVIRONMENT: Final = {
    "POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1",
    "NO_COLOR": "1", "COLUMNS": "200", "PYTHONUNBUFFERED": "1",
}  # fmt: skip
PATIENCE: Final = 60.0  # seconds after which a command is taken to hang


@dataclass(frozen=True)
class Outcome:
    """How a command ended; a negative status is a signal, None a hang."""

    status: int | None
    stdout: str
    stderr: str
    seconds: float = 0.0
    peak: int = 0  # kB

    @property
    def sentence(self) -> str:
        """The last line on standard error."""
        return (self.stderr.strip().splitlines() or [""])[-1]

    @property
    def refused(self) -> bool:
        """Whether it ended in a sentence and exit status 2, as it should where it cannot go on."""
        return self.status == 2 and bool(re.match(r"driftword: \S", self.sentence)) and not self.traceback

    @property
    def traceback(self) -> bool:
        """Whether a traceback or a panic was printed."""
        return "Traceback (most recent" in self.stderr or "panicked at" in self.stderr

    def fault(self) -> str | None:
        """Say what no command may do, if this one did it."""
        if self.status is None:
            return f"hung for {PATIENCE:.0f} s"
        if self.status < 0:
            return f"died of {signal.Signals(-self.status).name}"
        if self.traceback:
            return f"traceback: {self._last_exception()}"
        if self.status == 0 or self.refused:
            return None
        return f"exit status {self.status}: {self.sentence or 'no word'}"

    def _last_exception(self) -> str:
        lines = [line for line in self.stderr.splitlines() if re.match(r"[\w.]+(Error|Exception|Panic)\b", line)]
        return (lines or self.stderr.strip().splitlines())[-1][:200]


class Running:
    """A command under way."""

    def __init__(self, folder: Path, number: int) -> None:
        self.stdout, self.stderr = (folder / f"{number}.{name}" for name in ("stdout", "stderr"))
        self.started, self.ended = threading.Event(), threading.Event()
        self.pid = self.peak = 0
        self.began = self.end = 0.0
        self.status: int | None = None

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to the process and whatever it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)
        with contextlib.suppress(ProcessLookupError):  # it may not lead a group yet
            os.kill(self.pid, number)

    def wait(self, timeout: float = PATIENCE) -> Outcome:
        """Wait for the end; after `timeout` seconds it counts as hung and is killed."""
        hung = not self.ended.wait(timeout)
        if hung:
            self.kill()
            self.ended.wait(10)
        texts = [file.read_text(errors="replace") if file.exists() else "" for file in (self.stdout, self.stderr)]
        for file in (self.stdout, self.stderr):
            file.unlink(missing_ok=True)
        return Outcome(None if hung else self.status, texts[0], texts[1], self.end - self.began, self.peak)


class Launcher:
    """Starts commands in processes of their own, forked from one that has the slow imports done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = count()
        self._running: dict[int, Running] = {}
        self._zygote = subprocess.Popen(
            [sys.executable, "-P", str(ZYGOTE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(),
            start_new_session=True,
        )  # fmt: skip
        assert self._zygote.stdin is not None
        assert self._zygote.stdout is not None
        self._requests = self._zygote.stdin
        first = json.loads(self._zygote.stdout.readline())
        assert first["ready"] == 1, "the process to fork from must have a single thread"
        threading.Thread(target=self._listen, daemon=True).start()

    def start(
        self,
        argv: Sequence[str | Path],
        cwd: Path,
        *,
        limits: Mapping[str, int] | None = None,
        unprivileged: bool = False,
        script: str = "",
    ) -> Running:
        """Start a command, if wanted without the powers of root; with `script`, a Python program instead."""
        number = next(self._numbers)
        running = self._running[number] = Running(self.folder, number)
        request = {
            "id": number, "argv": [str(part) for part in argv], "cwd": str(cwd), "stdout": str(running.stdout),
            "stderr": str(running.stderr), "limits": dict(limits or {}), "unprivileged": unprivileged, "script": script,
        }  # fmt: skip
        self._requests.write((json.dumps(request) + "\n").encode())
        self._requests.flush()
        assert running.started.wait(30)
        return running

    def run(self, argv: Sequence[str | Path], cwd: Path, **options: Any) -> Outcome:
        """Run a command to its end."""
        return self.start(argv, cwd, **options).wait()

    def close(self) -> None:
        """End all processes."""
        for running in list(self._running.values()):
            running.kill()
            running.ended.wait(5)
        self._zygote.kill()
        self._zygote.wait()

    def _listen(self) -> None:
        assert self._zygote.stdout is not None
        for line in self._zygote.stdout:
            event = json.loads(line)
            running = self._running[event["id"]]
            if "pid" in event:
                running.pid, running.began = event["pid"], event["began"]
                running.started.set()
            else:
                running.status, running.peak, running.end = event["status"], event["peak"], event["ended"]
                del self._running[event["id"]]
                running.ended.set()


class Worker:
    """One warm process that runs commands one after another; started again when it dies."""

    def __init__(self, *, memory_limit: int | None = None, supervisor: str | None = None) -> None:
        self._limit, self._supervisor = memory_limit, supervisor
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, commands: Sequence[Sequence[str | Path]], cwd: Path, timeout: float = PATIENCE) -> list[Outcome]:
        """Run commands in a row; the list ends early with the one that the process died or hung in."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        request = {"commands": [[str(part) for part in argv] for argv in commands], "cwd": str(cwd)}
        process.stdin.write((json.dumps(request) + "\n").encode())
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], timeout * len(commands))
        line = process.stdout.readline() if ready else b""
        if line:
            answer = json.loads(line)
            return [Outcome(status, out, err, secs, answer["peak"]) for status, out, err, secs in answer["results"]]
        self.close()
        return [Outcome(process.returncode if ready else None, "", "")]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            if self._process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", str(ZYGOTE), "serve"]
        if self._supervisor is not None:
            command.append(self._supervisor)
        if self._limit is not None:
            command = ["sh", "-c", f'ulimit -v {self._limit // 1024}; exec "$@"', "sh", *command]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(),
            start_new_session=True,
        )  # fmt: skip


def environment() -> dict[str, str]:
    """Return the environment of all processes."""
    return {**os.environ, **ENVIRONMENT}


def wait_until(condition: Any, timeout: float) -> bool:
    """Wait until `condition()` is true."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.002)
    return False
