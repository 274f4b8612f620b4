"""The side of the processes under attack: started once, with the slow imports done, then forked for every command.

A forked child is a process like any other, and starts a command in a tenth of the time. Polars is not loaded before
the fork, because its threads would not survive it. With `serve` the process runs commands itself, one after another.
Requests and answers are lines of JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

PR_SET_NO_NEW_PRIVS: Final = 38


def run_command(argv: list[str]) -> int:
    """Run the command line in this process; return its exit status."""
    from driftword.cli import main

    sys.argv = ["driftword", *argv]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    return 0


def fork_server() -> None:
    """Fork a child for every request; report its number, and its status when it ends."""
    import typer  # noqa: F401 - loaded here, so that the children need not

    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    running: dict[int, int] = {}
    requests = os.fdopen(0, "rb", buffering=0)
    _answer({"ready": len(list(Path("/proc/self/task").iterdir()))})
    while True:
        ready, _, _ = select.select([requests, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            while running:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    break
                code = os.waitstatus_to_exitcode(status)
                _answer({"id": running.pop(pid), "status": code, "peak": usage.ru_maxrss, "ended": time.monotonic()})
        if requests in ready:
            line = requests.readline()
            if not line:
                return
            request = json.loads(line)
            pid = os.fork()
            if pid == 0:
                _become(request)
            running[pid] = request["id"]
            _answer({"id": request["id"], "pid": pid, "began": time.monotonic()})


def _become(request: dict[str, Any]) -> None:
    """Turn a forked child into the command that was asked for; never returns."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        os.chdir(request["cwd"])
        _redirect(request["stdout"], 1)
        _redirect(request["stderr"], 2)
        _redirect(os.devnull, 0, os.O_RDONLY)
        for name, limit in request["limits"].items():
            resource.setrlimit(getattr(resource, name), (limit, limit))
        if request["unprivileged"]:
            _drop_capabilities()
        if request["script"]:
            os.execv(sys.executable, [sys.executable, "-c", request["script"], *request["argv"]])
        status = run_command(request["argv"])
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _drop_capabilities() -> None:
    """Give up the powers of root, such as writing where no permission is; its files stay its own."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3 of the interface, this process
    nothing = (ctypes.c_uint32 * 6)()
    if os.getuid() == 0 and ctypes.CDLL(None, use_errno=True).capset(header, nothing) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _hand_over_calls(address: str) -> None:
    """Let a supervisor decide about the calls of the system that its filter selects; see `failing_calls`."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"\0{address}")
        with connection.makefile("rb") as incoming:
            number, instructions = int.from_bytes(incoming.read(4), sys.byteorder), incoming.read()
        code = ctypes.create_string_buffer(instructions, len(instructions))
        # The length, padding, and the address of the instructions, as the kernel expects them.
        program = (ctypes.c_uint64 * 2)(len(instructions) // 8, ctypes.addressof(code))
        library = ctypes.CDLL(None, use_errno=True)
        library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        listener = library.syscall(number, 1, 8, ctypes.byref(program))  # a filter, with somebody who listens
        if listener < 0:
            raise OSError(ctypes.get_errno(), "seccomp")
        socket.send_fds(connection, [b"."], [listener])
        os.close(listener)


def _redirect(path: str, descriptor: int, flags: int = os.O_WRONLY | os.O_CREAT | os.O_TRUNC) -> None:
    opened = os.open(path, flags, 0o644)
    os.dup2(opened, descriptor)
    os.close(opened)


def serve(supervisor: str | None = None) -> None:
    """Run commands in this process, and answer with their status, output, errors and peak memory."""
    answers = os.fdopen(os.dup(1), "w")
    if supervisor is not None:
        _hand_over_calls(supervisor)
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            request = json.loads(line)
            os.chdir(request["cwd"])
            with contextlib.suppress(OSError):
                Path("/proc/self/clear_refs").write_text("5")  # forget the peak of earlier commands
            results = []
            for argv in request["commands"]:
                begin = time.monotonic()
                files = [Path(folder) / name for name in ("stdout", "stderr")]
                _redirect(str(files[0]), 1)
                _redirect(str(files[1]), 2)
                status = run_command(argv)
                sys.stdout.flush()
                sys.stderr.flush()
                texts = [file.read_text(errors="replace") for file in files]
                results.append([status, *texts, time.monotonic() - begin])
                gc.collect()
            answers.write(json.dumps({"results": results, "peak": peak_memory()}) + "\n")
            answers.flush()


def peak_memory(pid: int | str = "self") -> int:
    """Return the largest memory that a process has had, in kB."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return 0


def _answer(answer: dict[str, Any]) -> None:
    os.write(1, (json.dumps(answer) + "\n").encode())


if __name__ == "__main__":
    serve(*sys.argv[2:]) if "serve" in sys.argv[1:] else fork_server()
