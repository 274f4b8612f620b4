"""The response cache: each address computed once, within a bound, and errors never."""

from __future__ import annotations

import asyncio
from typing import Any

from driftword.web.cache import ResponseCache, size_of


class Pages:
    """An application that records which paths are requested."""

    def __init__(self, status: int = 200) -> None:
        self.asked: list[str] = []
        self.status = status

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append(scope["path"])
        await asyncio.sleep(0)  # others may ask meanwhile
        await send({"type": "http.response.start", "status": self.status, "headers": []})
        await send({"type": "http.response.body", "body": scope["path"].encode() * 100})


def ask(cache: ResponseCache, *paths: str, method: str = "GET") -> list[bytes]:
    async def one(path: str) -> bytes:
        answer: list[Any] = []

        async def send(message: Any) -> None:
            answer.append(message)

        scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": []}
        await cache(scope, None, send)  # type: ignore[arg-type]
        return bytes(answer[1]["body"])

    async def every() -> list[bytes]:
        return await asyncio.gather(*(one(path) for path in paths))

    return asyncio.run(every())


def test_simultaneous_requests_are_computed_once() -> None:
    pages = Pages()
    cache = ResponseCache(pages)
    assert ask(cache, *["/a"] * 20, "/b") == [b"/a" * 100] * 20 + [b"/b" * 100]
    assert sorted(pages.asked) == ["/a", "/b"]
    ask(cache, "/a", "/b")
    assert len(pages.asked) == 2
    assert cache.pending == {}


def test_the_least_recently_used_responses_are_dropped_first() -> None:
    pages = Pages()
    cache = ResponseCache(pages, max_bytes=3 * (2000 + 200))
    ask(cache, "/a")
    ask(cache, "/b")
    ask(cache, "/c")
    ask(cache, "/a")
    ask(cache, "/d")
    assert [path for path, _ in cache.responses] == ["/c", "/a", "/d"]
    assert cache.bytes == sum(size_of(response) for response in cache.responses.values()) <= cache.max_bytes


def test_errors_and_other_methods_are_not_cached() -> None:
    missing = Pages(status=404)
    cache = ResponseCache(missing)
    ask(cache, "/a")
    ask(cache, "/a")
    assert missing.asked == ["/a", "/a"]
    assert not cache.responses
    pages = Pages()
    ask(ResponseCache(pages), "/a", "/a", method="POST")
    assert pages.asked == ["/a", "/a"]


def test_head_requests_have_no_body() -> None:
    pages = Pages()
    cache = ResponseCache(pages)
    assert ask(cache, "/a", method="HEAD") == [b""]
    assert ask(cache, "/a") == [b"/a" * 100]
    assert pages.asked == ["/a"]
