"""Processes that compute for this one, started as programs, so that a user's script is not run again in each of them.

Messages and replies go through their standard input and output, pickled. They end with this process, however it ends.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, Final

from driftword.basics.errors import DriftwordError
from driftword.basics.process import python_program

#: One thread for each process, as there is one process for each core.
_ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
_DONE: Final = object()


class EndedError(Exception):
    """A process ended before it replied."""


class Child:
    """A process that answers one message at a time, and ends with this object."""

    def __init__(self, module: str, **environment: str) -> None:
        command, own = python_program(module)
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=own | environment,
            start_new_session=True,  # Ctrl-C ends this process, and with it the other one
        )  # fmt: skip
        self.stop: Callable[[], object] = weakref.finalize(self, _stop, self.process)

    def exchange(self, message: object) -> Any:
        """Send a message and return the reply; what went wrong there is raised here."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            send(self.process.stdin, message)
            reply = pickle.load(self.process.stdout)  # written by our own process
        except (
            OSError,
            EOFError,
            ValueError,
            pickle.UnpicklingError,
        ) as error:  # it was killed, perhaps by this process
            self.stop()
            raise EndedError from error
        if isinstance(reply, Exception):
            raise reply
        return reply


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def send(stream: IO[bytes], message: object) -> None:
    """Send a message to the other process."""
    pickle.dump(message, stream)
    stream.flush()


def streams() -> tuple[IO[bytes], IO[bytes]]:
    """Return where messages come from and where replies go; what prints something does not print it between these."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return sys.stdin.buffer, replies


def in_processes(task: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], number: int) -> Iterator[Any]:
    """Yield the results of a task, a function of a module, for all jobs, in the order in which they are done."""
    waiting: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    results: queue.SimpleQueue[Any] = queue.SimpleQueue()
    children = [Child(__name__, **_ONE_THREAD) for _ in range(min(number, len(jobs)))]
    threads = [threading.Thread(target=_serve, args=(child, task, waiting, results), daemon=True) for child in children]
    try:
        for thread in threads:
            thread.start()
        for _ in jobs:
            result = results.get()
            if isinstance(result, BaseException):
                raise result
            yield result
    finally:
        for child in children:
            child.stop()


def _serve(child: Child, task: Callable[..., Any], waiting: Any, results: Any) -> None:
    """Give jobs to one process until there are no more."""
    while True:
        try:
            job = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            results.put(child.exchange((task, job)))
        except EndedError:
            code = child.process.returncode
            results.put(
                DriftwordError(
                    f"A process that computed was ended (exit status {code}), perhaps for want of memory; "
                    "give fewer `threads`"
                )
            )
            return
        except Exception as error:
            results.put(error)
            return


def main() -> None:
    """Do what messages say until there are no more."""
    messages, replies = streams()
    while True:
        try:
            task, job = pickle.load(messages)
        except EOFError:
            return
        try:
            reply = task(*job)
        except Exception as error:
            if not isinstance(error, DriftwordError):
                error.add_note(f"In another process:\n{traceback.format_exc()}")
            reply = error
        send(replies, reply)


if __name__ == "__main__":
    main()
