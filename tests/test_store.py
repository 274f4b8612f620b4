from __future__ import annotations

import itertools
import json
import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from driftword import store
from driftword.errors import StoreError


def write(path: Path, value: int = 1, *, overwrite: bool = False) -> None:
    with store.create(path, kind="corpus", overwrite=overwrite) as writer:
        writer.array("numbers", np.full(1000, value))
        writer.meta["value"] = value


def leftovers(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b.corpus", 7)
    held = store.open_store(tmp_path / "a" / "b.corpus", kind="corpus")
    assert held.meta["value"] == 7
    assert (held.array("numbers") == 7).all()
    with pytest.raises(ValueError, match="read-only"):
        held.array("numbers")[0] = 1
    held.verify()


def test_nothing_is_left_when_the_work_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), store.create(tmp_path / "c", kind="corpus") as writer:
        writer.array("numbers", np.ones(3))
        raise KeyboardInterrupt
    assert leftovers(tmp_path) == []


def test_folders_that_were_made_for_nothing_go_again(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), store.replacing(tmp_path / "a" / "b" / "c.html") as partial:
        partial.write_text("x")
        raise KeyboardInterrupt
    assert leftovers(tmp_path) == []
    (tmp_path / "mine").mkdir()
    with pytest.raises(KeyboardInterrupt), store.create(tmp_path / "mine" / "d" / "c", kind="corpus"):
        raise KeyboardInterrupt
    assert leftovers(tmp_path) == ["mine"]
    with store.replacing(tmp_path / "a" / "b" / "c.html") as partial:
        partial.write_text("x")
    assert (tmp_path / "a" / "b" / "c.html").read_text() == "x"


def test_two_writers_of_one_store_do_not_clear_each_other(tmp_path: Path) -> None:
    with store.create(tmp_path / "c", kind="corpus") as writer:
        writer.meta["value"] = 1
        with pytest.raises(StoreError, match="Cannot write"):
            write(tmp_path / "c", 2)
    assert store.open_store(tmp_path / "c", kind="corpus").meta["value"] == 1


def test_an_old_store_survives_a_failed_successor(tmp_path: Path) -> None:
    write(tmp_path / "c", 1)
    with pytest.raises(RuntimeError), store.create(tmp_path / "c", kind="corpus", overwrite=True):
        raise RuntimeError
    assert store.open_store(tmp_path / "c", kind="corpus").meta["value"] == 1
    assert leftovers(tmp_path) == ["c"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file may be left open
def test_an_interrupt_at_any_line_leaves_the_old_store_or_the_new_one(tmp_path: Path) -> None:
    lines = 0

    def interrupt(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != store.__file__:
            return None
        lines += event == "line"
        if lines == stop:
            lines += 1  # once
            raise KeyboardInterrupt
        return interrupt

    tracer, values = sys.gettrace(), []
    for stop in itertools.count(1):
        folder = tmp_path / str(stop)
        write(folder / "c", 1)
        lines = 0
        sys.settrace(interrupt)
        try:
            write(folder / "c", 2, overwrite=True)
        except KeyboardInterrupt:
            pass
        else:
            break
        finally:
            sys.settrace(tracer)
        values.append(store.open_store(folder / "c", kind="corpus").meta["value"])
        if values[-1] == 1:
            assert leftovers(folder) == ["c"]
    assert set(values) == {1, 2}
    assert len(values) > 50
    assert leftovers(folder) == ["c"]


def test_overwriting_is_asked_for_and_only_replaces_stores(tmp_path: Path) -> None:
    write(tmp_path / "c", 1)
    with pytest.raises(StoreError, match="overwrite=True"):
        write(tmp_path / "c", 2)
    write(tmp_path / "c", 2, overwrite=True)
    assert store.open_store(tmp_path / "c", kind="corpus").meta["value"] == 2
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(StoreError, match="left alone"):
        write(tmp_path / "mine", 3, overwrite=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="left alone"):
        write(tmp_path / "file", 3, overwrite=True)
    assert leftovers(tmp_path) == ["c", "file", "mine"]


def test_what_a_killed_process_left_is_cleared_or_given_back(tmp_path: Path) -> None:
    dead = 2**22 + 1  # above the largest process id of Linux
    write(tmp_path / "c", 1)
    (tmp_path / f".c.partial-{dead}").mkdir()
    (tmp_path / "c").rename(tmp_path / f".c.replaced-{dead}")
    with pytest.raises(StoreError, match="overwrite=True"):  # killed between two renames: the old one is back
        write(tmp_path / "c", 2)
    assert leftovers(tmp_path) == ["c"]
    assert store.open_store(tmp_path / "c", kind="corpus").meta["value"] == 1


def test_a_running_process_keeps_its_partial_store(tmp_path: Path) -> None:
    other = tmp_path / f".c.partial-{os.getppid()}"
    other.mkdir()
    write(tmp_path / "c")
    assert other.exists()


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda p: (p / "numbers.npy").unlink(), "numbers.npy is missing"),
        (lambda p: os.truncate(p / "numbers.npy", 500), "500 bytes instead of"),
        (lambda p: (p / "numbers.npy").write_bytes(b"x" * (p / "numbers.npy").stat().st_size), "has changed"),
        (lambda p: (p / "meta.json").write_text("{"), "not a driftword corpus"),
        (lambda p: (p / "meta.json").unlink(), "not a driftword corpus"),
        (lambda p: edit(p, version=99), "format 99"),
        (lambda p: edit(p, kind="model"), "is a model"),
    ],
)
def test_a_damaged_store_is_refused(tmp_path: Path, harm, message: str) -> None:  # type: ignore[no-untyped-def]
    write(tmp_path / "c")
    harm(tmp_path / "c")
    with pytest.raises(StoreError, match=message):
        store.open_store(tmp_path / "c", kind="corpus")


def edit(path: Path, **changes: object) -> None:
    meta = json.loads((path / "meta.json").read_text())
    (path / "meta.json").write_text(json.dumps({**meta, **changes}))


def test_verify_sees_a_changed_byte_in_a_large_file(tmp_path: Path) -> None:
    with store.create(tmp_path / "c", kind="corpus") as writer:
        writer.array("large", np.zeros(300_000))
    with (tmp_path / "c" / "large.npy").open("r+b") as file:
        file.seek(1_000_000)
        file.write(b"\1")
    held = store.open_store(tmp_path / "c", kind="corpus")
    with pytest.raises(StoreError, match="large.npy has changed"):
        held.verify()


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"Cannot write .*a part of the path is a file"):
        write(tmp_path / "file" / "c")
    with pytest.raises(StoreError, match="There is no corpus at"):
        store.open_store(tmp_path / "none", kind="corpus")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real", 1)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "link", 2, overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert store.open_store(tmp_path / "real", kind="corpus").meta["value"] == 2
    assert leftovers(tmp_path) == ["link", "real"]


def test_files_of_the_users_are_never_replaced(tmp_path: Path) -> None:
    write(tmp_path / "c", 1)
    (tmp_path / "c" / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="that driftword did not write, such as 'notes.txt'"):
        write(tmp_path / "c", 2, overwrite=True)


@pytest.mark.parametrize("files", [[], {"a": 1}, {"a": {"bytes": 1}}])
def test_meta_of_another_shape_is_no_store(tmp_path: Path, files: object) -> None:
    write(tmp_path / "c")
    edit(tmp_path / "c", files=files)
    with pytest.raises(StoreError, match="not a driftword corpus"):
        store.open_store(tmp_path / "c", kind="corpus")


def test_what_polars_says_of_a_full_disk_is_understood(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="Cannot write 'x': the disk is full"), store.writing("x"):
        raise RuntimeError("ComputeError: No space left on device (os error 28)")


def test_a_pipe_or_device_is_never_replaced_by_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(StoreError, match="is not a file that could be replaced"), store.replacing(pipe):
        raise AssertionError("nothing may be written")
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
