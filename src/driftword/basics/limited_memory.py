"""Programs whose memory is limited, by ``ulimit -v`` or a scheduler: they end with a sentence, whatever fails.

Python says when there is no memory left. Libraries in other languages do not: they abort the process, or wait for
memory for ever and with them all of Python, signals included. So a program under such a limit runs in a process of its
own, and another one, which needs next to no memory, waits for its end and says what happened.
"""

from __future__ import annotations

import errno
import functools
import os
import select
import signal
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any, Final, NoReturn

from driftword.basics.errors import DriftwordError
from driftword.basics.process import available_memory
from driftword.basics.system_calls import resource

#: With what Windows does not have; there nothing of this is used.
_posix: Final[Any] = os
_posix_signal: Final[Any] = signal
#: Seconds without a sign of life after which a program hangs; compiling may hold up all of Python for a while.
_PATIENCE: Final = 120.0
_IDLE: Final = 30.0  # the same for a program that computes nothing and has little memory left
#: The same once it was asked to end, or a library has complained; and how long it may then take in any case.
_GRACE: Final = 10.0
_AT_MOST: Final = 60.0
#: What libraries write, in small letters, where there is no memory, or none for another thread.
_COMPLAINTS: Final = (b"memory", b"bad_alloc", b"thread", b"openblas")
_ENOUGH: Final = 1e9  # bytes; with fewer left, whatever goes wrong goes wrong for want of memory
_SENTENCES: Final = ("Cannot allocate memory", "failed to map segment", "os error 12)")
_PANIC: Final = "PanicException"  # of libraries in Rust, such as Polars; what is raised from one may be a sentence
_NO_THREAD: Final = "can't start new thread"


def run_watched() -> None:
    """Return in the process that is to go on; the first process waits for it, and ends as it ends.

    Without a limit, or where processes do not fork, there is no other process.
    """
    limit = memory_limit()
    if sys.platform == "win32" or limit is None:
        return
    import tempfile  # every program loads this module

    # In memory, where there is such a file, as the disk may be full; it ends with both processes.
    noise = open(os.memfd_create("noise"), "w+b") if hasattr(os, "memfd_create") else tempfile.TemporaryFile()  # noqa: SIM115
    sign, alive = os.pipe()
    if child := os.fork():
        os.close(alive)
        _wait_for(child, sign, noise, limit)
    os.close(sign)
    if limit < _ENOUGH:
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # where it gets no thread, it sends SIGINT to its own process
    os.setpgid(0, 0)  # Ctrl-C reaches the first process, which passes it on
    _keep_apart(noise)
    threading.Thread(target=_show_life, args=(alive,), daemon=True).start()


def memory_limit() -> int | None:
    """Return how many bytes of addresses this process may use in all, if the system was told to limit them."""
    if resource is None:
        return None
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)


def check_memory(needed: float) -> None:
    """Raise MemoryError where a limit does not leave addresses for so many bytes: some libraries wait for ever then."""
    limited = resource is not None and resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    if limited and available_memory() < needed:
        raise MemoryError


def explain(error: BaseException | None) -> str | None:
    """Say what helps if an error, or one that it came from, says that there was no memory or no further thread."""
    limit = memory_limit()
    short = limit is not None and available_memory() < _ENOUGH
    if short and not isinstance(error, DriftwordError):
        return sentence(limit)
    while error is not None:
        if short and type(error).__name__ == _PANIC:
            return sentence(limit)
        if _NO_THREAD in str(error):
            return "No further thread can be started here; allow more processes (ulimit -u), or more memory (ulimit -v)"
        number = getattr(error, "errno", None)
        if isinstance(error, MemoryError) or number == errno.ENOMEM or any(part in str(error) for part in _SENTENCES):
            return sentence(limit)
        error = error.__cause__ or error.__context__
    return None


def sentence(limit: int | None) -> str:
    """Say that there was not enough memory, and what helps."""
    if limit is not None:
        return f"There is not enough memory: this command may use {limit / 1e9:.1f} GB; allow it more (ulimit -v)"
    return "There is not enough memory; use a smaller --dim or --vocabulary, or longer slices"


def _keep_apart(noise: IO[bytes]) -> None:
    """Let Python write to standard error as before, and keep what libraries write there: no user understands it."""
    import traceback

    terminal = os.dup(2)
    os.dup2(noise.fileno(), 2)
    lost = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    sys.excepthook = functools.partial(traceback.print_exception, file=lost)
    threading.excepthook = lambda error: traceback.print_exception(error.exc_value, file=lost)
    sys.stderr = sys.__stderr__ = os.fdopen(  # type: ignore[misc]
        terminal, "w", buffering=1, encoding=sys.stderr.encoding, errors=sys.stderr.errors
    )


def _show_life(alive: int) -> NoReturn:
    """Tell the first process every second that Python is running; end with it."""
    while True:
        try:
            os.write(alive, b".")
        except OSError:
            os._exit(128 + _posix_signal.SIGKILL)
        time.sleep(1)


def _wait_for(child: int, sign: int, noise: IO[bytes], limit: int) -> NoReturn:
    """Wait until a process ends, passing on signals; end as it ended, or in a sentence where memory was the reason."""
    asked: list[tuple[int, float]] = []

    def pass_on(number: int, _: Any) -> None:
        asked.append((number, time.monotonic()))
        os.kill(child, number)

    for number in (signal.SIGINT, signal.SIGTERM, _posix_signal.SIGHUP):
        signal.signal(number, pass_on)
    last, idle = time.monotonic(), _Idle(child, limit)
    while True:
        ready, _, _ = select.select([sign], [], [], 1)
        if ready and not os.read(sign, 100):  # it has ended
            break
        now = time.monotonic()
        last = now if ready else last
        silent = now - last > (_GRACE if asked or _complaint(noise) else _PATIENCE)
        if silent or idle.too_long(now) or (asked and now - asked[0][1] > _AT_MOST):
            os.kill(child, _posix_signal.SIGKILL)
            break
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if asked:
        os._exit(128 + asked[0][0] if code < 0 else code)
    if code < 0 or (code not in (0, 2) and (idle.full or _complaint(noise))):
        print(f"driftword: {sentence(limit)}", file=sys.stderr, flush=True)
        os._exit(2)
    if code not in (0, 2):
        os.write(2, _posix.pread(noise.fileno(), 1 << 16, 0))
    os._exit(code)


class _Idle:
    """How long a process has computed nothing with hardly any memory left: its threads wait for one that has died."""

    def __init__(self, process: int, limit: int) -> None:
        self._facts, self._limit = Path(f"/proc/{process}"), limit
        self._seconds, self._since = 0.0, time.monotonic()
        self.full = limit < _ENOUGH  # as far as one knows

    def too_long(self, now: float) -> bool:
        """Tell whether it has been idle for too long; the explorer may be idle as long as it likes."""
        try:
            fields = (self._facts / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended, or the system does not say
            return False
        seconds = (int(fields[11]) + int(fields[12])) / _posix.sysconf("SC_CLK_TCK")
        self.full = self._limit - int(fields[20]) < _ENOUGH
        if seconds > self._seconds + 0.05 or not self.full or sys.argv[1:2] == ["explore"]:
            self._seconds, self._since = seconds, now
        return now - self._since > _IDLE


def _complaint(noise: IO[bytes]) -> bool:
    """Tell whether a library has said that there is no memory."""
    text = _posix.pread(noise.fileno(), 1 << 16, 0).lower()
    return any(part in text for part in _COMPLAINTS)
