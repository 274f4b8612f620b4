"""The response cache: each address computed once, within a bound, and errors never."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import pytest
from starlette.middleware.gzip import GZipMiddleware

from driftword.basics.errors import StoreError
from driftword.web.cache import ResponseCache, size_of


class Pages:
    """An application that records which paths are requested."""

    def __init__(self, status: int = 200, headers: Any = ()) -> None:
        self.asked: list[str] = []
        self.scopes: list[Any] = []
        self.status = status
        self.headers = list(headers)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append(scope["path"])
        self.scopes.append(scope)
        await asyncio.sleep(0)  # others may ask meanwhile
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": scope["path"].encode() * 100})


def ask(cache: ResponseCache, *addresses: str, method: str = "GET", host: bytes = b"127.0.0.1") -> list[bytes]:
    async def one(address: str) -> bytes:
        answer: list[Any] = []

        async def send(message: Any) -> None:
            answer.append(message)

        path, _, query = address.partition("?")
        headers = [(b"host", host)]
        scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": headers}
        await cache(scope, None, send)  # type: ignore[arg-type]
        return bytes(answer[1]["body"])

    async def every() -> list[bytes]:
        return await asyncio.gather(*(one(address) for address in addresses))

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
    cache = ResponseCache(pages)
    ask(cache, "/0")
    each = cache.stored_bytes
    cache = ResponseCache(pages, max_bytes=10 * each)
    ask(cache, *(f"/{number}" for number in range(10)))
    ask(cache, "/0")
    ask(cache, "/d")
    assert [key.path for key in cache.responses] == [*(f"/{number}" for number in range(2, 10)), "/0", "/d"]
    assert cache.stored_bytes == sum(size_of(*item) for item in cache.responses.items()) <= cache.max_bytes


def test_parameters_that_no_page_knows_do_not_grow_it() -> None:
    pages = Pages()
    cache = ResponseCache(pages, parameters=["n", "at"])
    for number in range(300):
        ask(cache, f"/a?junk{number}={'x' * 500}&at=2&n=1&at=1&{number}")
    assert pages.asked == ["/a"]
    assert list(cache.responses) == [("/a", "at=2&n=1&at=1", False)]
    assert pages.scopes[0]["query_string"] == b"at=2&n=1&at=1"
    ask(cache, "/a?at=1&at=2&n=1")  # the order of slices is that in which they were pinned
    assert len(pages.asked) == 2


def test_keys_and_headers_count_and_long_keys_are_not_stored() -> None:
    pages = Pages(headers=[(b"x", b"y" * 3000)])
    cache = ResponseCache(pages, max_bytes=100_000)
    for number in range(100):
        ask(cache, f"/a?n={number}{'x' * 900}")
    assert len(cache.responses) <= 100_000 // 4900
    assert cache.stored_bytes == sum(size_of(*item) for item in cache.responses.items()) <= cache.max_bytes
    before = len(cache.responses)
    ask(cache, f"/a?n={'x' * 3000}", f"/{'y' * 3000}")
    assert len(cache.responses) == before
    small = ResponseCache(pages, max_bytes=8000)  # one response would take more than its share
    ask(small, "/large")
    assert not small.responses


def test_a_response_depends_on_nothing_but_its_key() -> None:
    pages = Pages()
    ask(ResponseCache(pages), "/a?n=1", host=b"evil.example")
    assert pages.scopes[0]["headers"] == []
    cookie = Pages(headers=[(b"set-cookie", b"a=b")])
    cache = ResponseCache(cookie)
    ask(cache, "/a")
    assert not cache.responses


def test_the_stores_are_checked_before_a_cached_response_and_after_a_computation() -> None:
    replaced: list[StoreError] = []

    def check() -> None:
        if replaced:
            raise replaced[0]

    pages = Pages()
    cache = ResponseCache(pages, check=check)
    ask(cache, "/a")
    replaced.append(StoreError("replaced"))
    with pytest.raises(StoreError):
        ask(cache, "/a")
    replaced.clear()

    async def replace(*_: Any) -> None:
        replaced.append(StoreError("replaced"))
        await Pages()(*_)

    cache = ResponseCache(replace, check=check)
    with pytest.raises(StoreError):
        ask(cache, "/b")
    assert not cache.responses
    assert not cache.pending


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


def response(cache: ResponseCache, path: str, headers: dict[str, str], method: str = "GET") -> tuple[int, Any, bytes]:
    answer: list[Any] = []

    async def send(message: Any) -> None:
        answer.append(message)

    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": sent}
    asyncio.run(cache(scope, None, send))  # type: ignore[arg-type]
    return answer[0]["status"], dict(answer[0]["headers"]), answer[1]["body"]


@pytest.mark.parametrize(
    ("accepted", "compressed"),
    [("gzip", True), ("br, gzip;q=0.5", True), ("*", True), ("", False), ("identity", False), ("gzip; q=0.0", False)],
)
def test_texts_are_compressed_for_those_who_understand_it(accepted: str, compressed: bool) -> None:
    pages = Pages(headers=[(b"content-type", b"text/html"), (b"content-length", b"2000")])
    cache = ResponseCache(GZipMiddleware(pages))
    path = "/" + 19 * "a"
    for method in ("GET", "HEAD", "GET"):
        status, headers, body = response(cache, path, {"accept-encoding": accepted}, method)
        assert status == 200
        assert (b"content-encoding" in headers) == compressed
        if method == "GET":
            assert len(body) == int(headers[b"content-length"])
            assert (gzip.decompress(body) if compressed else body) == path.encode() * 100
        else:
            assert body == b""
        assert headers[b"vary"] == b"Accept-Encoding"
    assert len(pages.asked) == 1
    assert pages.scopes[0]["headers"] == ([(b"accept-encoding", b"gzip")] if compressed else [])
    assert (cache.stored_bytes < 2000) == compressed  # it is kept as it is sent


def test_pictures_and_short_texts_are_left_as_they_are() -> None:
    for kind, path in ((b"image/png", "/" + 19 * "a" + ".png"), (b"text/html", "/a")):
        cache = ResponseCache(GZipMiddleware(Pages(headers=[(b"content-type", kind)])))
        _, headers, body = response(cache, path, {"accept-encoding": "gzip"})
        assert b"content-encoding" not in headers
        assert body == path.encode() * 100


def test_a_browser_is_not_sent_what_it_has() -> None:
    cache = ResponseCache(Pages())
    _, headers, _ = response(cache, "/a", {})
    tag = headers[b"etag"].decode()
    assert response(cache, "/a", {"if-none-match": f'"other", {tag}'})[::2] == (304, b"")
    assert response(cache, "/a", {"if-none-match": '"other"'})[0] == 200
    assert response(cache, "/b", {"if-none-match": tag})[0] == 200
    failing = ResponseCache(Pages(status=404))
    assert response(failing, "/a", {"if-none-match": tag})[0] == 404  # the same body, but an error is no page
