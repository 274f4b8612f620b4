"""The server of `driftword explore`: uvicorn, with bounds on connections that it lacks.

A reader sends a request at once. Connections that do not, or that do not take their response, are closed after a few
seconds; when there are too many, those that have been silent longest are closed first. So whoever opens a thousand
connections keeps nobody out.
"""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from driftword.basics.system_calls import resource

MAX_CONNECTIONS: Final = 500
MAX_HEAD_BYTES: Final = 32_768  # of the request line and headers: cookies of all local servers come along
_BACKLOG: Final = 100  # connections accepted before any of them is looked at
_OTHER_FILES: Final = 150  # files that the process needs besides its connections


class BoundedProtocol(H11Protocol):
    """A connection that is closed if it is silent for too long, or if it is the most silent of too many."""

    max_connections = MAX_CONNECTIONS
    max_silence = 10.0  # seconds until a request is complete, counted from the connection or the last response

    @property
    def waiting(self) -> bool:
        """Whether the client has to act next: to send a request, or to take the response."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection; of too many, close the one that has been silent longest."""
        super().connection_made(transport)
        self._expect_request()
        if len(self.connections) > self.max_connections:
            others = (one for one in self.connections if isinstance(one, BoundedProtocol) and one.waiting)
            min(others, key=lambda one: one.silent_since, default=self).drop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._timer.cancel()
        self._expect_request()
        super().on_response_complete()

    def drop(self) -> None:
        """Close the connection at once, even if the client takes nothing."""
        self.connections.discard(self)
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Refuse what is not HTTP, or has too long a head, in a sentence."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # in the middle of a response
            self.drop()
            return
        status, reason, message = 400, b"Bad Request", "This is not a request that a browser would send."
        if self.conn.their_state is h11.ERROR and len(self.conn.trailing_data[0]) > MAX_HEAD_BYTES:
            status, reason = 431, b"Request Header Fields Too Large"
            message = f"The address and the headers are longer than {MAX_HEAD_BYTES:,} bytes; ask for less at once."
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        for event in (
            h11.Response(status_code=status, headers=headers, reason=reason),
            h11.Data(data=message.encode()),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _expect_request(self) -> None:
        self.silent_since = time.monotonic()
        self._unsent = self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(self.max_silence, self._drop_if_silent)

    def _drop_if_silent(self) -> None:
        if not self.waiting:
            return  # on_response_complete sets the next timer
        unsent = self.transport.get_write_buffer_size()
        if unsent and unsent < self._unsent:  # a slow reader, who still takes something
            self._unsent = unsent
            self._timer = self.loop.call_later(self.max_silence, self._drop_if_silent)
        else:
            self.drop()


def make_server(app: ASGIApp, protocol: type[BoundedProtocol] = BoundedProtocol) -> uvicorn.Server:
    """Return a server for an application; its connections stay within the open files that the system allows."""
    most = max(min(protocol.max_connections, _open_files() - _BACKLOG - _OTHER_FILES), 20)
    config = uvicorn.Config(
        app, http=type("Protocol", (protocol,), {"max_connections": most}), ws="none", access_log=False,
        log_level="error",  # warnings would let strangers fill the terminal
        backlog=_BACKLOG, h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        server_header=False, timeout_graceful_shutdown=10,
    )  # fmt: skip
    return uvicorn.Server(config)


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Answer requests until Ctrl-C."""
    make_server(app).run(sockets=[listener])


def _open_files() -> int:
    """Return how many files this process may open, raised to what the explorer needs where that is allowed."""
    needed = MAX_CONNECTIONS + _BACKLOG + _OTHER_FILES
    if resource is None:  # Windows has no such limit on sockets
        return needed
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return needed
    if soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return int(soft)
