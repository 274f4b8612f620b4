"""A second process that answers heavy questions, so that one of them does not hold up the rest.

Python runs one thread at a time, and the library that draws figures keeps all others waiting for up to seconds. Where
many read at once, such processes compute pages, too. A worker opens the same model and corpus, whose files all
processes share in memory. Requests and responses go through its standard input and output, each as a length and that
many bytes of pickled data. `worker_process` is its program.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import IO, Any, Final

from driftword.basics.errors import OptionError, StoreError
from driftword.web.cache import CachedResponse

_MAX_SECONDS: Final = 60
_MAX_REQUESTS: Final = 500  # answered by one process, whose memory grows with the figures that it draws


class Worker:
    """Answers one request at a time; its process starts with the first one, and ends with this object.

    Parameters
    ----------
    model, corpus
        Where the model and its corpus are.
    title
        The name of the texts.
    for_pages
        Whether it computes pages, with the same priority as the explorer, instead of heavy questions.
    """

    def __init__(self, model: str, corpus: str | None, title: str | None, *, for_pages: bool = False) -> None:
        self._store_paths = (str(model), None if corpus is None else str(corpus))
        self._for_pages = for_pages
        self._title = title
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stop: Callable[[], object] = lambda: None
        self._requests = 0

    def respond(self, path: str, query: bytes) -> CachedResponse:
        """Return the response to a GET request."""
        with self._lock:
            if self._process is None or self._process.poll() is not None or self._is_spent:
                self._process = self._start()
                problem = self._exchange(self._process, (*self._store_paths, self._title, self._for_pages))
                if problem is not None:
                    self._stop()
                    raise StoreError(problem)
            self._requests += 1
            response = self._exchange(self._process, (path, query))
        if response is None:
            raise RuntimeError("The process for heavy questions failed; the lines above say why")
        return CachedResponse(*response)

    @property
    def _is_spent(self) -> bool:
        return not self._for_pages and self._requests >= _MAX_REQUESTS

    def _start(self) -> subprocess.Popen[bytes]:
        self._stop()
        self._requests = 0
        process = subprocess.Popen(
            [sys.executable, "-m", "driftword.web.worker_process"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C ends the explorer, and with it this process
        )  # fmt: skip
        self._stop = weakref.finalize(self, _stop, process)
        return process

    def _exchange(self, process: subprocess.Popen[bytes], message: object) -> Any:
        """Send a message and return the reply."""
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(_MAX_SECONDS, process.kill)
        timer.start()
        try:
            write(process.stdin, message)
            return read(process.stdout)
        except (OSError, EOFError):  # it was killed, by the timer or for want of memory
            self._stop()
            raise OptionError("This takes too long to compute; ask for fewer words, slices or passages") from None
        finally:
            timer.cancel()


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def write(stream: IO[bytes], message: object) -> None:
    """Send a message to the other process."""
    data = pickle.dumps(message)
    stream.write(len(data).to_bytes(8, "big") + data)
    stream.flush()


def read(stream: IO[bytes]) -> Any:
    """Wait for a message of the other process; EOFError if it ended."""
    size = stream.read(8)
    data = stream.read(int.from_bytes(size, "big"))
    if len(size) < 8 or len(data) < int.from_bytes(size, "big"):
        raise EOFError
    return pickle.loads(data)  # written by the other process, which is our own
