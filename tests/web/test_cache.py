"""Answers are kept: worked out once, bounded, and never a mistake."""

from __future__ import annotations

import asyncio
from typing import Any

from driftword.web.cache import KeptAnswers, size_of


class Pages:
    """Pages that count how often each is asked for."""

    def __init__(self, status: int = 200) -> None:
        self.asked: list[str] = []
        self.status = status

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append(scope["path"])
        await asyncio.sleep(0.01)
        await send({"type": "http.response.start", "status": self.status, "headers": []})
        await send({"type": "http.response.body", "body": scope["path"].encode() * 100})


def ask(kept: KeptAnswers, *paths: str, method: str = "GET") -> list[bytes]:
    async def one(path: str) -> bytes:
        answer: list[Any] = []

        async def send(message: Any) -> None:
            answer.append(message)

        scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": []}
        await kept(scope, None, send)  # type: ignore[arg-type]
        return bytes(answer[1]["body"])

    async def every() -> list[bytes]:
        return await asyncio.gather(*(one(path) for path in paths))

    return asyncio.run(every())


def test_those_who_ask_at_once_get_one_answer() -> None:
    pages = Pages()
    kept = KeptAnswers(pages)
    assert ask(kept, *["/a"] * 20, "/b") == [b"/a" * 100] * 20 + [b"/b" * 100]
    assert sorted(pages.asked) == ["/a", "/b"]
    ask(kept, "/a", "/b")
    assert len(pages.asked) == 2
    assert kept.waiting == {}


def test_only_so_much_is_kept_and_the_latest_longest() -> None:
    pages = Pages()
    kept = KeptAnswers(pages, most_bytes=3 * (2000 + 200))
    ask(kept, "/a")
    ask(kept, "/b")
    ask(kept, "/c")
    ask(kept, "/a")
    ask(kept, "/d")
    assert [path for path, _ in kept.answers] == ["/c", "/a", "/d"]
    assert kept.bytes == sum(size_of(answer) for answer in kept.answers.values()) <= kept.most_bytes


def test_mistakes_and_other_methods_are_not_kept() -> None:
    wrong = Pages(status=404)
    kept = KeptAnswers(wrong)
    ask(kept, "/a")
    ask(kept, "/a")
    assert wrong.asked == ["/a", "/a"]
    assert not kept.answers
    pages = Pages()
    ask(KeptAnswers(pages), "/a", "/a", method="POST")
    assert pages.asked == ["/a", "/a"]


def test_asking_for_the_head_alone_gives_no_body() -> None:
    pages = Pages()
    kept = KeptAnswers(pages)
    assert ask(kept, "/a", method="HEAD") == [b""]
    assert ask(kept, "/a") == [b"/a" * 100]
    assert pages.asked == ["/a"]
