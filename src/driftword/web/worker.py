"""A second process that answers heavy questions, so that one of them does not hold up the rest.

Python runs one thread at a time, and the library that draws figures can keep the others waiting for seconds. Where
there are many readers, such processes compute pages, too. A worker opens the same model and corpus, whose files all
processes share in memory. Requests and responses go through its standard input and output, pickled. `worker_process`
is its program.
"""

from __future__ import annotations

import pickle
import subprocess
import threading
import weakref
from collections.abc import Callable
from typing import IO, Any, Final

from driftword.basics.errors import OptionError
from driftword.basics.process import python_program
from driftword.basics.traffic import current
from driftword.web.cache import CachedResponse

_MAX_SECONDS: Final = 60
_MAX_REQUESTS: Final = 500  # answered by one process, whose memory grows with the figures that it draws


class Worker:
    """Answers one request at a time; its process starts with the first one, and ends with this object.

    `model` and `corpus` are where these are, `title` is the name of the texts, and `embed_key` that of `make_pages`.
    A worker `for_pages` has the same priority as the explorer; others, for heavy questions, come after it.
    """

    def __init__(
        self,
        model: str,
        corpus: str | None,
        title: str | None,
        embed_key: str | None = None,
        *,
        for_pages: bool = False,
    ) -> None:
        self._task = (model, corpus, title, embed_key, for_pages)
        self._max_requests = float("inf") if for_pages else _MAX_REQUESTS
        self._lock, self._traffic = threading.Lock(), current()
        self._process: subprocess.Popen[bytes] | None = None
        self._stop: Callable[[], object] = lambda: None
        self._requests = 0

    def respond(self, path: str, query: bytes) -> CachedResponse:
        """Return the response to a GET request."""
        with self._lock:
            if self._process is None or self._process.poll() is not None or self._requests >= self._max_requests:
                self._process = self._start()
            self._requests += 1
            response: CachedResponse = self._exchange(self._process, (path, query))
            return response

    def _start(self) -> subprocess.Popen[bytes]:
        self._stop()
        self._requests = 0
        command, environment = python_program("driftword.web.worker_process")
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C ends the explorer, and with it this process
        )
        self._stop = weakref.finalize(self, _stop, process)
        self._exchange(process, self._task)
        return process

    def _exchange(self, process: subprocess.Popen[bytes], message: object) -> Any:
        """Send a message and return the reply; what went wrong there is raised here."""
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(_MAX_SECONDS, process.kill)
        timer.start()
        try:
            send(process.stdin, message)
            reply, counted = pickle.load(process.stdout)  # written by our own process
        except (OSError, EOFError, pickle.UnpicklingError):  # it was killed, by the timer or for want of memory
            self._stop()
            raise OptionError("This takes too long to compute; ask for fewer words, slices or passages") from None
        finally:
            timer.cancel()
        for place, counts in counted.items():
            self._traffic.add(place, counts)
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
