"""Responses are cached, because a model never changes while it is open: each address is computed once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BYTES: Final = 64_000_000
_OVERHEAD: Final = 2000  # bytes of a response besides its body: headers, address, objects

CachedResponse = list[Message]
Address = tuple[str, bytes]


class ResponseCache:
    """Middleware that caches successful responses up to a size; the least recently used go first.

    Readers who ask for the same address at the same time wait for one computation.
    """

    def __init__(self, app: ASGIApp, max_bytes: int = MAX_BYTES) -> None:
        self.app = app
        self.max_bytes = max_bytes
        self.responses: OrderedDict[Address, CachedResponse] = OrderedDict()
        self.pending: dict[Address, asyncio.Task[CachedResponse]] = {}
        self.bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond from the cache, or from the application."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        address = (scope["path"], scope["query_string"])
        if address in self.responses:
            self.responses.move_to_end(address)
            response = self.responses[address]
        else:
            if address not in self.pending:
                self.pending[address] = asyncio.create_task(self._compute(scope, address))
            # A reader who leaves must not cancel what others wait for.
            response = await asyncio.shield(self.pending[address])
        for message in response:
            without_body = scope["method"] == "HEAD" and message["type"] == "http.response.body"
            await send({**message, "body": b""} if without_body else dict(message))

    async def _compute(self, scope: Scope, address: Address) -> CachedResponse:
        response: CachedResponse = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            response.append(message)

        try:
            await self.app({**scope, "method": "GET", "headers": list(scope["headers"])}, receive, send)
            if response and response[0]["status"] == 200:
                self._store(address, response)
        finally:
            del self.pending[address]
        return response

    def _store(self, address: Address, response: CachedResponse) -> None:
        self.responses[address] = response
        self.bytes += size_of(response)
        while self.bytes > self.max_bytes:
            _, oldest = self.responses.popitem(last=False)
            self.bytes -= size_of(oldest)


def size_of(response: CachedResponse) -> int:
    """Return roughly how many bytes a cached response takes."""
    return _OVERHEAD + sum(len(message.get("body", b"")) for message in response)
