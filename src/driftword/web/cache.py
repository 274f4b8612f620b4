"""Caches responses, because a model never changes while it is open: each address is computed once.

A response depends on the path, on the parameters that some page knows, and on whether it may be compressed: this is all
that the application below is given. Other parameters and all headers of the request end here.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BYTES: Final = 64_000_000
MAX_KEY_LENGTH: Final = 2000  # characters of an address; responses to longer ones are not cached
_MAX_SHARE: Final = 8  # a response larger than this part of the cache would push out too many others
_OVERHEAD: Final = 1000  # bytes of the objects that hold a response, besides what they contain
_KEPT_HEADERS: Final = (b"etag", b"vary", b"cache-control")  # of a response that a browser already has


class Key(NamedTuple):
    """All that a response depends on."""

    path: str
    query: str  # the known parameters
    gzip: bool


@dataclass(frozen=True)
class CachedResponse:
    """A complete response, which can be sent like any other of Starlette's."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the response; HEAD requests get no body."""
        await send({"type": "http.response.start", "status": self.status, "headers": list(self.headers)})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else self.body})


async def complete_response(app: ASGIApp, scope: Scope) -> CachedResponse:
    """Return all of the response to a request without a body."""
    messages: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in messages[1:])
    return CachedResponse(messages[0]["status"], list(messages[0]["headers"]), body)


@dataclass
class ResponseCache:
    """Middleware that caches successful responses up to a size; the least recently used go first.

    Readers who ask for the same address at the same time wait for one computation. Only the named `parameters` are
    passed on. `check` is called before a response is taken from the cache, and again after one was computed: what it
    raises ends the request, and what was computed is not used.
    """

    app: ASGIApp
    parameters: Collection[str] | None = None  # None: whatever is given
    check: Callable[[], None] = lambda: None
    max_bytes: int = MAX_BYTES
    responses: OrderedDict[Key, CachedResponse] = field(default_factory=OrderedDict, init=False)
    pending: dict[Key, asyncio.Task[CachedResponse]] = field(default_factory=dict, init=False)
    stored_bytes: int = field(default=0, init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond from the cache, or from the application."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        self.check()
        path, headers = scope["path"], Headers(scope=scope)
        gzip = not path.endswith(".png") and accepts_gzip(headers.get("accept-encoding", ""))
        key = Key(path, self.normalized(scope["query_string"]), gzip)
        response = self.responses.get(key)
        if response is not None:
            self.responses.move_to_end(key)
        else:
            if key not in self.pending:
                self.pending[key] = asyncio.create_task(self._compute(key, scope))
            # A reader who leaves must not cancel what others wait for.
            response = await asyncio.shield(self.pending[key])
        known = [tag.strip().encode("latin-1") for tag in headers.get("if-none-match", "").split(",")]
        if response.status == 200 and dict(response.headers)[b"etag"] in known:
            kept = [(name, value) for name, value in response.headers if name in _KEPT_HEADERS]
            response = CachedResponse(304, kept, b"")
        await response(scope, receive, send)

    def normalized(self, query: bytes) -> str:
        """Return the parameters that the application knows, in the order in which they were given."""
        given = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
        return urlencode([item for item in given if self.parameters is None or item[0] in self.parameters])

    async def _compute(self, key: Key, scope: Scope) -> CachedResponse:
        request: Scope = {
            **scope,
            "method": "GET",
            "path": key.path,
            "raw_path": quote(key.path).encode(),
            "query_string": key.query.encode("latin-1"),
            "headers": [(b"accept-encoding", b"gzip")] if key.gzip else [],
        }
        try:
            response = await complete_response(self.app, request)
            self.check()
            tag = hashlib.sha256(response.body).hexdigest()[:20]
            response.headers.append((b"etag", f'W/"{tag}"'.encode()))
            self._store(key, response)
        finally:
            del self.pending[key]
        return response

    def _store(self, key: Key, response: CachedResponse) -> None:
        size = size_of(key, response)
        too_large = size > self.max_bytes // _MAX_SHARE or len(key.path) + len(key.query) > MAX_KEY_LENGTH
        if response.status != 200 or too_large or any(name == b"set-cookie" for name, _ in response.headers):
            return
        self.responses[key] = response
        self.stored_bytes += size
        while self.stored_bytes > self.max_bytes:
            self.stored_bytes -= size_of(*self.responses.popitem(last=False))


def accepts_gzip(offered: str) -> bool:
    """Tell from the header Accept-Encoding whether compressed responses are understood."""
    for offer in offered.lower().replace(" ", "").split(","):
        name, _, weight = offer.partition(";")
        if name in ("gzip", "*") and weight not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            return True
    return False


def size_of(key: Key, response: CachedResponse) -> int:
    """Return how many bytes a cached response takes, with its address and headers."""
    texts = [key.path, key.query, response.body, *(text for header in response.headers for text in header)]
    return _OVERHEAD + sum(map(sys.getsizeof, texts))
