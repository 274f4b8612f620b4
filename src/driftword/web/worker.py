"""A second process that answers heavy questions, so that one of them does not hold up the rest.

Python runs one thread at a time, and the library that draws figures can keep the others waiting for seconds. Where
there are many readers, such processes compute pages, too. A worker opens the same model and corpus, whose files all
processes share in memory. Requests and responses go through its standard input and output, pickled. `worker_process`
is its program.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from driftword.basics.child_processes import Child, EndedError
from driftword.basics.errors import OptionError
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
        self._child: Child | None = None
        self._requests = 0

    def respond(self, path: str, query: bytes) -> CachedResponse:
        """Return the response to a GET request."""
        with self._lock:
            child = self._child
            if child is None or child.process.poll() is not None or self._requests >= self._max_requests:
                child = self._start()
            self._requests += 1
            response: CachedResponse = self._exchange(child, (path, query))
            return response

    def _start(self) -> Child:
        if self._child is not None:
            self._child.stop()
        self._requests = 0
        self._child = Child("driftword.web.worker_process")
        self._exchange(self._child, self._task)
        return self._child

    def _exchange(self, child: Child, message: object) -> Any:
        """Send a message and return the reply, if it comes in time; what went wrong there is raised here."""
        timer = threading.Timer(_MAX_SECONDS, child.process.kill)
        timer.start()
        try:
            reply, counted = child.exchange(message)
        except EndedError:  # by the timer, or for want of memory
            raise OptionError("This takes too long to compute; ask for fewer words, slices or passages") from None
        finally:
            timer.cancel()
        for place, counts in counted.items():
            self._traffic.add(place, counts)
        if isinstance(reply, Exception):
            raise reply
        return reply
