"""Limits on what a reader can ask for: long addresses refused unread, heavy questions beside the others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fastapi.testclient import TestClient

import driftword as dw
from driftword.basics.errors import OptionError
from driftword.web.app import make_app
from driftword.web.cache import CachedResponse
from driftword.web.limits import ComputationLimits, is_heavy

pytestmark = pytest.mark.slow

HERE = "http://127.0.0.1"


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/slice/" + "(" * 60_000, 414), ("/slice/" + "(" * 8000, 422), ("/slice/" + "%28" * 201, 422),
        ("/word/" + "x" * 9000, 414), ("/word/" + "x" * 1700, 422), ("/word/" + "x" * 1700 + ".json", 422),
        ("/search?q=" + "x" * 60_000, 414), ("/word/ship?" + "&".join(["at=1850"] * 101), 414),
        ("/word/ship?" + "&".join(["where=a=b"] * 30), 422), ("/?from=" + "(" * 300, 422),
        ("/index.json?" + "junk&" * 200, 414), ("/compare?words=" + "a," * 1000, 422),
    ],
)  # fmt: skip
def test_long_addresses_are_refused_before_anything_is_parsed(
    small_model: dw.Model, address: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(*_: object) -> None:
        raise AssertionError("this should not be reached")

    monkeypatch.setattr("driftword.corpus.slices.Slices.index", parse)
    monkeypatch.setattr("driftword.models.model.Model.word_id", parse)
    answer = TestClient(make_app(small_model), base_url=HERE).get(address)
    assert answer.status_code == status
    assert len(answer.text) < 10_000
    assert answer.text.count("xxxxxxxxxx") == answer.text.count("((((((((((") == 0


def test_names_in_an_address_are_bounded(small_model: dw.Model) -> None:
    reader = TestClient(make_app(small_model), base_url=HERE)
    for address in ("/word/ship/figure/{}.svg", "/word/ship/figure/trajectory.{}", "/print/drift.{}"):
        answer = reader.get(address.format("x" * 300))
        assert answer.status_code == 422
        assert "is longer than 200 characters" in answer.text


def test_what_is_heavy() -> None:
    for path, query in (
        ("/word/a/print/map.svg", b""), ("/print/drift.png", b""), ("/word/a/figure/trajectory.png", b""),
        ("/word/a", b"passages_n=200"), ("/word/a/passages.csv", b"n=51"), ("/", b"metric=neighbors"),
    ):  # fmt: skip
        assert is_heavy(path, query)
    for path, query in (("/", b""), ("/word/a", b"n=20"), ("/word/png", b"n=x"), ("/", b"metric=relative")):
        assert not is_heavy(path, query)


class Crowd:
    """An application whose answers wait until they are let go; it records how many are computed at once."""

    def __init__(self) -> None:
        self.running: list[str] = []
        self.most: dict[str, int] = {}
        self.go = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"].partition("-")[0]
        self.running.append(path)
        self.most[path] = max(self.most.get(path, 0), self.running.count(path))
        await self.go.wait()
        self.running.remove(path)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def ask(limits: ComputationLimits, path: str, answers: dict[str, list[int]]) -> asyncio.Task[None]:
    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answers.setdefault(path.partition("-")[0], []).append(message["status"])

    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": []}
    return asyncio.create_task(limits(scope, None, send))  # type: ignore[arg-type]


def test_heavy_questions_take_turns_and_do_not_hold_up_the_others() -> None:
    async def run() -> None:
        crowd, answers = Crowd(), dict[str, list[int]]()
        limits = ComputationLimits(crowd, pages_at_once=3, max_waiting=40)
        tasks = [ask(limits, f"/print/drift-{i}.png", answers) for i in range(20)]
        tasks += [ask(limits, f"/word/a-{i}", answers) for i in range(10)]
        tasks += [ask(limits, "/comparisons", answers) for i in range(5)]
        tasks += [ask(limits, "/suggest.json", answers) for i in range(20)]
        for _ in range(5):
            await asyncio.sleep(0)
        assert sorted(set(crowd.running)) == ["/comparisons", "/print/drift", "/suggest.json", "/word/a"]
        assert answers == {"/print/drift": [429] * 9, "/suggest.json": [429] * 14}  # ten and four wait
        crowd.go.set()
        await asyncio.gather(*tasks)
        assert crowd.most == {"/print/drift": 1, "/word/a": 3, "/comparisons": 5, "/suggest.json": 2}
        assert answers["/word/a"] == [200] * 10
        assert sorted(answers["/print/drift"]) == [200] * 11 + [429] * 9

    asyncio.run(run())


class Helper:
    """A process for pages; it records what it is asked for, and fails where it shall."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.asked: list[str] = []

    def respond(self, path: str, query: bytes) -> CachedResponse:
        assert query == b""
        self.asked.append(path)
        if self.fails:
            raise OptionError("It was killed")
        return CachedResponse(200, [], b"")


@pytest.mark.parametrize("fails", [False, True])
def test_pages_that_would_wait_are_computed_by_a_helper(fails: bool) -> None:
    async def run() -> None:
        crowd, answers, helper = Crowd(), dict[str, list[int]](), Helper(fails=fails)
        limits = ComputationLimits(crowd, helpers=[helper], pages_at_once=2, max_waiting=40)  # type: ignore[list-item]
        tasks = [ask(limits, f"/word/a-{i}", answers) for i in range(2)]
        await asyncio.sleep(0)
        assert not helper.asked  # nobody has waited
        tasks += [ask(limits, f"/word/b-{i}", answers) for i in range(4)]
        while limits.starting is None:
            await asyncio.sleep(0)
        await limits.starting
        assert len(helper.asked) == 1
        assert not answers  # the first page that it computes is for nobody
        crowd.go.set()
        await asyncio.gather(*tasks)
        crowd.go.clear()
        assert answers == {"/word/a": [200] * 2, "/word/b": [200] * 4}
        later = [ask(limits, f"/word/c-{i}", answers) for i in range(2)]
        if fails:
            for _ in range(5):
                await asyncio.sleep(0)
        else:
            await later[1]  # while the first one is computed here
            assert helper.asked[-1] == "/word/c-1"
        crowd.go.set()
        await asyncio.gather(*later)
        assert answers["/word/c"] == [200] * 2
        assert crowd.most["/word/c"] == 1 + fails

    asyncio.run(run())
