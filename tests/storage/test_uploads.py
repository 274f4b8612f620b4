"""Stores that are written to an address; storage in memory stands for a bucket."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import fsspec
import numpy as np
import polars as pl
import pytest

import driftword as dw
from conftest import run_here
from driftword.basics.errors import ExistsError, OptionError, StoreError
from driftword.storage import store, uploads
from driftword.storage.checksums import META

MEMORY: Any = fsspec.filesystem("memory")
SYSTEM = type(MEMORY)
PLACE = "memory://bucket/x"


@pytest.fixture(autouse=True)
def _empty_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield
    MEMORY.store.clear()


def names(place: str = "/bucket/x") -> set[str]:
    return {path.rpartition("/")[2] for path in MEMORY.find(place)}


def make(value: int = 0, *, overwrite: bool = False, kind: str = "corpus") -> None:
    """Write a store with three files beside its meta.json."""
    with store.create(PLACE, kind=kind, overwrite=overwrite) as writer:
        for name in ("a", "b", "c"):
            writer.array(name, np.full(10, value))
        writer.meta["value"] = value


def value() -> int:
    opened = store.open_store(PLACE, kind="corpus")
    assert {int(opened.array(name)[0]) for name in ("a", "b", "c")} == {opened.meta["value"]}
    return int(opened.meta["value"])


@pytest.fixture
def requests() -> Iterator[list[tuple[str, str, bool]]]:
    """What is written and removed in the bucket: how, the name, and whether there is a store afterwards."""
    seen: list[tuple[str, str, bool]] = []

    def noted(method: str) -> Any:
        original: Callable[..., Any] = getattr(SYSTEM, method)

        def call(self: Any, *arguments: Any, **options: Any) -> Any:
            result = original(self, *arguments, **options)
            path = arguments[1] if method == "put_file" else arguments[0]
            seen.append((method, path.rpartition("/")[2], f"/bucket/x/{META}" in MEMORY.store))
            return result

        return mock.patch.object(SYSTEM, method, call)

    with noted("put_file"), noted("rm_file"):
        yield seen


def failing(method: str, at: str, error: BaseException) -> Any:
    """Let a method of the storage fail for a file, and work for all others."""
    original: Callable[..., Any] = getattr(SYSTEM, method)

    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        if any(str(argument).endswith(at) for argument in arguments[-1:]):
            raise error
        return original(self, *arguments, **options)

    return mock.patch.object(SYSTEM, method, call)


def test_a_store_appears_when_it_is_complete(requests: list[tuple[str, str, bool]], tmp_path: Path) -> None:
    make(1)
    written = [(name, there) for method, name, there in requests if method == "put_file"]
    assert [name for name, there in written if there] == [META]
    assert written[-1][0] == META
    assert names() == {"a.npy", "b.npy", "c.npy", META}
    assert value() == 1
    assert not list(tmp_path.iterdir())


def test_what_is_replaced_disappears_first(requests: list[tuple[str, str, bool]]) -> None:
    make(1)
    with pytest.raises(ExistsError, match=r"^'memory://bucket/x' already exists; pass `overwrite=True` to replace it"):
        make(2)
    opened = store.open_store(PLACE, kind="corpus")
    requests.clear()
    make(2, overwrite=True)
    probed, first, *between, last, mark = requests
    assert probed == ("rm_file", uploads.MARK, True)
    assert first == ("rm_file", META, False)
    assert last == ("put_file", META, True)
    assert mark == ("rm_file", uploads.MARK, True)
    assert not any(there for *_, there in between)
    assert value() == 2
    with pytest.raises(StoreError, match="has been replaced or removed since it was opened"):
        opened.check_current()


@pytest.mark.parametrize("at", ["a.npy", "c.npy", META])
def test_after_a_failure_nothing_is_there_and_nothing_is_lost(at: str) -> None:
    with (
        failing("put_file", at, OSError("Broken")),
        pytest.raises(StoreError, match=r"^'memory://bucket/x' cannot be written: Broken; .* is complete in '") as told,
    ):
        make(3)
    assert not names()
    kept = Path(str(told.value).split("complete in '")[1].split("'")[0])
    assert store.open_store(kept, kind="corpus").meta["value"] == 3


def test_a_failure_while_replacing_says_what_is_gone() -> None:
    make(1)
    with (
        failing("put_file", "a.npy", OSError("Broken")),
        pytest.raises(StoreError, match="What was there before is gone"),
    ):
        make(2, overwrite=True)
    assert not names()
    make(1)
    with (
        failing("pipe_file", "", PermissionError("Denied")),
        pytest.raises(StoreError, match="written: Denied") as told,
    ):
        make(2, overwrite=True)
    assert "gone" not in str(told.value)
    assert value() == 1


@pytest.mark.parametrize("at", ["b.npy", META])
def test_an_interrupt_leaves_nothing(at: str, tmp_path: Path) -> None:
    with failing("put_file", at, KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
        make()
    assert not names()
    assert not list(tmp_path.iterdir())
    make(1)
    with (
        failing("put_file", at, KeyboardInterrupt()), pytest.raises(KeyboardInterrupt),
        pytest.warns(dw.DriftwordWarning, match="was being written. What was there before is gone"),
    ):  # fmt: skip
        make(2, overwrite=True)
    assert not names()


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C does not interrupt a wait on Windows")
def test_an_interrupt_waits_for_the_file_that_is_being_sent() -> None:
    """Otherwise it would come after what is removed, and a meta.json alone would be there."""
    original = SYSTEM.put_file

    def slow(self: Any, source: str, path: str, **options: Any) -> None:
        if path.endswith(META):
            threading.Timer(0.02, signal.raise_signal, [signal.SIGINT]).start()
            time.sleep(0.1)
        original(self, source, path, **options)

    with mock.patch.object(SYSTEM, "put_file", slow), pytest.raises(KeyboardInterrupt):
        make()
    assert not names()


def test_what_a_killed_process_left_is_no_store() -> None:
    gone = OSError("No connection")
    with (
        failing("put_file", "b.npy", gone), failing("rm_file", ".npy", gone),
        pytest.raises(StoreError, match=r"Files without a meta.json may be left there; they are no corpus, and"),
    ):  # fmt: skip
        make()
    assert names() == {"a.npy", uploads.MARK}
    assert store.read_meta(PLACE) is None
    with pytest.raises(StoreError, match=r"^There is no corpus at"):
        value()
    with pytest.raises(ExistsError, match=r"is being written, or a process that wrote it was killed; wait, or pass"):
        make()
    with pytest.raises(ExistsError, match="holds something else than a driftword model"):
        make(kind="model", overwrite=True)
    make(4, overwrite=True)
    assert value() == 4
    assert names() == {"a.npy", "b.npy", "c.npy", META}


def test_what_others_put_there_is_left_alone() -> None:
    MEMORY.pipe("/bucket/x/notes.txt", b"mine")
    for overwrite in (False, True):
        with pytest.raises(ExistsError, match="holds something else than a driftword corpus, so it is left alone"):
            make(overwrite=overwrite)
    MEMORY.rm("/bucket/x/notes.txt")
    make(1)
    with pytest.raises(ExistsError, match="holds something else than a driftword model"):
        make(kind="model", overwrite=True)
    MEMORY.pipe("/bucket/x/notes.txt", b"mine")
    with pytest.raises(ExistsError, match=r"files that driftword did not write, such as 'notes.txt'"):
        make(2, overwrite=True)
    assert value() == 1
    MEMORY.pipe("/bucket/y", b"a file")
    with pytest.raises(ExistsError, match="holds something else"):
        store.check_free("memory://bucket/y", kind="corpus", overwrite=True)


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("https://example.org/x", r"can be read and not written; begin `out` with one of s3://, gs://"),
        ("file:///tmp/x", "is on this machine; give the path alone as `out`"),
        ("memory://bucket", r"is a whole bucket; name a folder in it as `out`, such as memory://bucket/texts"),
        ("memory://bucket/", "is a whole bucket"),
        ("what://bucket/x", "cannot be opened: addresses begin with"),
        (Path("s3://bucket/x"), "which is not on this machine; give a path, or an address as text"),
    ],
)
def test_where_nothing_is_written(address: Any, sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        dw.prepare(pl.DataFrame({"text": ["a"], "date": [1900]}), out=address)


def test_what_cannot_be_written_is_said_before_the_work(small: dw.Corpus) -> None:
    def texts() -> Iterator[tuple[str, int]]:
        raise AssertionError("it was read")
        yield "", 0

    denied = failing("pipe_file", "", PermissionError("Access Denied"))
    sentence = r"cannot be written: Access Denied; check the address and your access$"
    with denied, pytest.raises(StoreError, match=sentence):
        dw.prepare(texts(), out=PLACE)
    with (
        denied,
        pytest.raises(StoreError, match=sentence),
        mock.patch("driftword.fitting.fitting.Training") as training,
    ):
        dw.fit(small, dw.Spec(dim=2), passes=1, out=PLACE)
    assert not training.called
    with pytest.raises(
        OptionError, match="Nothing can be resumed at 'memory://bucket/x', where no checkpoints are kept; leave"
    ):
        dw.fit(small, dw.Spec(dim=2), passes=1, out=PLACE, resume=True)
    with pytest.raises(OptionError, match="What a cluster reads is kept beside the corpus, and `out` is 'memory:"):
        dw.prepare("letters.csv", out=PLACE, dask="local")


@pytest.mark.slow
def test_a_result_is_the_same_at_an_address(small: dw.Corpus, small_model: dw.Model, tmp_path: Path) -> None:
    local = small_model.save(tmp_path / "m")
    there = small_model.save(PLACE)
    assert there.path == PLACE
    assert (there.rho == local.rho).all()
    files = {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()}
    assert files == {path.rpartition("/")[2]: MEMORY.cat(path) for path in MEMORY.find("/bucket/x")}
    with pytest.warns(dw.DriftwordWarning, match="at an address, where driftword makes stores and changes none; copy"):
        dw.significance(there, corpus=small, permutations=19)


@pytest.mark.slow
def test_commands_write_to_addresses_and_say_what_was_sent(tmp_path: Path) -> None:
    texts = pl.DataFrame({"text": ["a ship at sea", "a ship on land"] * 50, "date": [1900, 1950] * 50})
    MEMORY.pipe("/texts/a.csv", texts.write_csv().encode())
    options = ("--slices", "50y", "--min-count", "1")
    done = run_here("prepare", "memory://texts/*.csv", *options, "--out", PLACE)
    assert done.returncode == 0, done.stderr
    assert "Next: driftword fit memory://bucket/x --out memory://bucket/x.model" in done.stdout
    counted = done.stderr.splitlines()
    assert counted[0].startswith("driftword: memory://texts: read 0.0 MB in 2 requests")
    assert counted[1].startswith("driftword: memory://bucket: read 0.0 MB in ")
    assert ", wrote 0.0 MB in 1" in counted[1]
    fit = ("fit", PLACE, "--dim", "2", "--passes", "2", "--out", "memory://bucket/m")
    done = run_here(*fit, "--significance", "--json")
    assert done.returncode == 0, done.stderr
    assert dw.Model.open("memory://bucket/m").significance is not None  # tested before it was sent
    done = run_here(*fit)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "already exists; pass --overwrite to replace it, or give another --out" in done.stderr
    done = run_here("report", "memory://bucket/m", "--out", "s3://bucket/report.html")
    assert done.returncode == 2
    assert "--out is 's3:/bucket/report.html', which is not on this machine" in done.stderr
