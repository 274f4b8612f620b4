"""Answers are kept, as a model never changes while it is open: an address is worked out once, however many ask."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES: Final = 64_000_000

Answer = list[Message]
Address = tuple[str, bytes]


class KeptAnswers:
    """Middleware that keeps answers up to a size, the latest longest; those who ask at once wait for one answer."""

    def __init__(self, app: ASGIApp, most_bytes: int = MOST_BYTES) -> None:
        self.app = app
        self.most_bytes = most_bytes
        self.answers: OrderedDict[Address, Answer] = OrderedDict()
        self.waiting: dict[Address, asyncio.Task[Answer]] = {}
        self.bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer from memory, or ask the pages."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        address = (scope["path"], scope["query_string"])
        if address in self.answers:
            self.answers.move_to_end(address)
            answer = self.answers[address]
        else:
            if address not in self.waiting:
                self.waiting[address] = asyncio.create_task(self._work_out(scope, address))
            answer = await asyncio.shield(self.waiting[address])  # a reader who leaves does not take it from the others
        for message in answer:
            bare = scope["method"] == "HEAD" and message["type"] == "http.response.body"
            await send({**message, "body": b""} if bare else dict(message))

    async def _work_out(self, scope: Scope, address: Address) -> Answer:
        answer: Answer = []

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def hold(message: Message) -> None:
            answer.append(message)

        try:
            await self.app({**scope, "method": "GET", "headers": list(scope["headers"])}, nothing, hold)
            if answer and answer[0]["status"] == 200:
                self._keep(address, answer)
        finally:
            del self.waiting[address]
        return answer

    def _keep(self, address: Address, answer: Answer) -> None:
        self.answers[address] = answer
        self.bytes += size_of(answer)
        while self.bytes > self.most_bytes:
            _, oldest = self.answers.popitem(last=False)
            self.bytes -= size_of(oldest)


def size_of(answer: Any) -> int:
    """Return about how many bytes an answer takes, with its headers and its address."""
    return 2000 + sum(len(message.get("body", b"")) for message in answer)
