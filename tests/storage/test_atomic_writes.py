from __future__ import annotations

import os
from pathlib import Path

import pytest

from driftword.basics.errors import BusyError, StoreError
from driftword.storage import atomic_writes


def leftovers(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_folders_that_were_made_for_nothing_go_again(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), atomic_writes.replacing(tmp_path / "a" / "b" / "c.html") as partial:
        partial.write_text("x")
        raise KeyboardInterrupt
    assert leftovers(tmp_path) == []
    (tmp_path / "mine").mkdir()
    with pytest.raises(KeyboardInterrupt), atomic_writes.replacing(tmp_path / "mine" / "d" / "c.html"):
        raise KeyboardInterrupt
    assert leftovers(tmp_path) == ["mine"]
    with atomic_writes.replacing(tmp_path / "a" / "b" / "c.html") as partial:
        partial.write_text("x")
    assert (tmp_path / "a" / "b" / "c.html").read_text() == "x"
    assert leftovers(tmp_path / "a" / "b") == ["c.html"]


@pytest.mark.parametrize("name", ["c", "c[1]*", "model.v2"])
def test_what_killed_processes_left_is_swept_whatever_the_name(tmp_path: Path, name: str) -> None:
    (tmp_path / f".{name}.partial-1").mkdir()  # a process id that lives in every container
    (tmp_path / f".{name}.partial-1" / "rho.npy").write_text("x")
    (tmp_path / f".{name}.partial-00c0ffee").write_text("x")
    (tmp_path / f".{name}.replaced-00c0ffee").mkdir()
    (tmp_path / f".{name}.lock").write_text("")
    mine = [f".{name}.partial-notes", f".{name}2.partial-1", ".hidden", f"{name}.partial-1"]
    for file in mine:
        (tmp_path / file).write_text("mine")
    (tmp_path / name).write_text("old")
    with atomic_writes.replacing(tmp_path / name) as partial:
        partial.write_text("new")
    assert leftovers(tmp_path) == sorted([*mine, name])
    assert (tmp_path / name).read_text() == "new"


def test_a_directory_that_was_moved_aside_comes_back_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / ".c.replaced-12ab").mkdir()
    (tmp_path / ".c.replaced-12ab" / "file").write_text("old")
    with atomic_writes.reserved(tmp_path / "c"):
        assert (tmp_path / "c" / "file").read_text() == "old"
    assert leftovers(tmp_path) == ["c"]


def test_a_second_writer_is_told_at_once_and_touches_nothing(tmp_path: Path) -> None:
    with atomic_writes.replacing(tmp_path / "c") as partial:
        partial.write_text("first")
        before = leftovers(tmp_path)
        (tmp_path / "link").symlink_to("c")
        for path in (tmp_path / "c", tmp_path / "link"):
            with pytest.raises(BusyError, match=rf"{path}' is being written by process {os.getpid()} on"):
                in_thread(path)
        (tmp_path / "link").unlink()
        assert leftovers(tmp_path) == before
    assert (tmp_path / "c").read_text() == "first"


def in_thread(path: Path) -> None:
    """Write from another thread, which shares no locks with this one."""
    from concurrent.futures import ThreadPoolExecutor

    def write() -> None:
        with atomic_writes.replacing(path):
            raise AssertionError("nothing may be written")

    with ThreadPoolExecutor(1) as pool:
        pool.submit(write).result()


def test_what_a_writer_calls_shares_its_lock(tmp_path: Path) -> None:
    with atomic_writes.reserved(tmp_path / "c"):
        with atomic_writes.replacing(tmp_path / "c") as partial:
            partial.write_text("x")
        assert leftovers(tmp_path) == [".c.lock", "c"]
    assert leftovers(tmp_path) == ["c"]


def test_what_polars_says_of_a_full_disk_is_understood() -> None:
    with pytest.raises(StoreError, match="Cannot write 'x': the disk is full"), atomic_writes.writing("x"):
        raise RuntimeError("ComputeError: No space left on device (os error 28)")


def test_what_numpy_says_of_a_full_disk_is_understood() -> None:
    with pytest.raises(StoreError, match="Cannot write 'x': the disk is full, or"), atomic_writes.writing("x"):
        raise OSError("2160 requested and 480 written")


def test_a_pipe_or_device_is_never_replaced_by_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(StoreError, match="is not a file that could be replaced"), atomic_writes.replacing(pipe):
        raise AssertionError("nothing may be written")
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_what_does_not_fit_on_the_disk_is_refused_before_the_work(tmp_path: Path) -> None:
    atomic_writes.check_space(tmp_path / "a" / "b", 1000)
    with pytest.raises(StoreError, match="needs 1000000000.0 GB and"):
        atomic_writes.check_space(tmp_path / "a" / "b", 10**18)
