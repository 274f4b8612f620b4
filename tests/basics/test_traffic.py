"""Requests to storage: counted in every thread, and given up where nothing answers."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import fsspec
import pytest
from fsspec.asyn import AsyncFileSystem

from driftword.basics.traffic import Counts, Storage, Traffic, counting, current

MEMORY: Any = fsspec.filesystem("memory")


def test_requests_and_bytes_are_counted_by_place(tmp_path: Path) -> None:
    MEMORY.pipe({"/one/a": b"12345", "/one/b": b"6"})
    with counting() as traffic:
        one, two = Storage("memory://one/a"), Storage("memory://user:word@two/c")
        one.list("ls", "/one")
        one.copy_here(tmp_path / "a", 5)
        with pytest.raises(FileNotFoundError):
            one.read("/one/none", 0, 2)
        two.copy_there(tmp_path / "a", "/two/c")
        two.write("/two/d", b"78")
        two.remove("/two/d")
        two.remove("/two/d")
    with ThreadPoolExecutor(4) as threads:  # later, and elsewhere
        list(threads.map(lambda _: one.read("/one/a", 1, 3), range(100)))
    counted = traffic.take()
    assert counted == {"memory://one": Counts(103, 205, 0, 0), "memory://two": Counts(0, 0, 4, 7)}
    assert [str(counts) for counts in counted.values()] == ["read 0.0 MB in 103 requests", "wrote 0.0 MB in 4 requests"]
    assert not traffic.take()
    MEMORY.store.clear()


def test_a_large_file_takes_a_request_for_each_part(tmp_path: Path) -> None:
    with counting() as traffic:
        storage = Storage("memory://one/a")
    storage._call = lambda *_, **__: storage._count(reads=1)  # type: ignore[method-assign]
    storage.copy_here(tmp_path / "a", 120 << 20)
    assert traffic.take()["memory://one"] == Counts(4, 120 << 20)


def test_counters_do_not_share() -> None:
    assert current() is not current()
    with counting() as outer:
        assert current() is outer
        with counting() as inner:
            assert current() is inner
        assert current() is outer
    traffic = Traffic()
    traffic.add("a", Counts(1, 2, 3, 4))
    traffic.add("a", Counts(1, 0, 0, 1_500_000))
    assert str(traffic.take()["a"]) == "read 0.0 MB in 2 requests, wrote 1.5 MB in 3 requests"
    assert str(Counts(1)) == "read 0.0 MB in 1 request"


def test_storage_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(AsyncFileSystem):  # type: ignore[misc]
        async def _cat_file(self, *_: Any, **__: Any) -> bytes:
            await asyncio.sleep(60)
            return b""

    monkeypatch.setattr("driftword.basics.traffic._PATIENCE", 0.01)
    storage = Storage("memory://one/a")
    storage.system = Silent(skip_instance_cache=True)
    with pytest.raises(TimeoutError, match="^the storage did not answer within 0 seconds$"):
        storage.read("a", 0, 1)


def test_a_server_that_is_started_again_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class EndpointError(ConnectionError): ...

    monkeypatch.setattr("time.sleep", lambda _: None)
    storage, tries = Storage("memory://one/a"), []

    def cat_file(*_: Any, **__: Any) -> bytes:
        tries.append(1)
        if len(tries) < 3:
            raise EndpointError("No connection")
        return b"1"

    with mock.patch.object(type(MEMORY), "cat_file", cat_file):
        assert storage.read("a", 0, 1) == b"1"
        monkeypatch.setattr("driftword.basics.traffic._RESTART", -1.0)
        tries.clear()
        with pytest.raises(EndpointError):
            storage.read("a", 0, 1)
    assert len(tries) == 1
