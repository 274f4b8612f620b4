from __future__ import annotations

import gc
import itertools
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from driftword.basics.errors import OptionError, StoreError
from driftword.storage import atomic_writes, checksums, local_stores, locks, store
from driftword.storage.stored_arrays import StoredArray


def write(path: Path, value: int = 1, *, overwrite: bool = False) -> None:
    with store.create(path, kind="corpus", overwrite=overwrite) as writer:
        writer.array("numbers", np.full(1000, value))
        writer.meta["value"] = value


def leftovers(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b.corpus", 7)
    stored = store.open_store(tmp_path / "a" / "b.corpus", kind="corpus")
    assert stored.meta["value"] == 7
    assert (stored.array("numbers") == 7).all()
    with pytest.raises(ValueError, match="read-only"):
        stored.array("numbers")[0] = 1
    stored.verify()


LIMITED = """
import resource, signal, sys
import numpy as np
from driftword.storage import store
from driftword.basics.errors import StoreError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    with store.create(sys.argv[1], kind="corpus") as writer:
        writer.array("numbers", np.arange(300.0))
except StoreError as error:
    print(error)
"""


@pytest.mark.slow
def test_an_array_that_is_written_in_part_is_noticed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "c")], capture_output=True, text=True, check=True
    )
    assert (
        done.stdout
        == f"Cannot write '{tmp_path / 'c'}': the file would exceed the size allowed here; give another `out`\n"
    )
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(
    "values",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(12)[::2],
        np.zeros((0, 3)),
        np.arange(180_000.0).reshape(3, 300, 200)[..., 3:150],
        np.zeros((3, 0, 5))[..., 1:],
    ],
)
def test_arrays_are_stored_as_numpy_reads_them(tmp_path: Path, values: np.ndarray) -> None:
    with store.create(tmp_path / "c", kind="corpus") as writer:
        writer.array("values", values)
    read = np.load(tmp_path / "c" / "values.npy")
    assert read.dtype == values.dtype
    np.testing.assert_array_equal(read, values)
    np.testing.assert_array_equal(store.open_store(tmp_path / "c", kind="corpus").array("values"), values)


def test_a_successor_that_comes_while_one_looks_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "later", 2)

    def arrive(_: Path) -> bool:
        if (tmp_path / "later").exists():
            (tmp_path / "later").rename(tmp_path / "c")
        return False  # nothing is aside any more

    monkeypatch.setattr(local_stores, "is_being_replaced", arrive)
    assert store.open_store(tmp_path / "c", kind="corpus").meta["value"] == 2


def test_nothing_is_left_when_the_work_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), store.create(tmp_path / "c", kind="corpus") as writer:
        writer.array("numbers", np.ones(3))
        raise KeyboardInterrupt
    assert leftovers(tmp_path) == []


def test_an_old_store_survives_a_failed_successor(tmp_path: Path) -> None:
    write(tmp_path / "c", 1)
    with pytest.raises(RuntimeError), store.create(tmp_path / "c", kind="corpus", overwrite=True):
        raise RuntimeError
    assert store.open_store(tmp_path / "c", kind="corpus").meta["value"] == 1
    assert leftovers(tmp_path) == ["c"]


@pytest.fixture
def quick_collector() -> Iterator[None]:
    """Let the garbage collector look only at what a test makes, not at all that was imported before."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.slow
@pytest.mark.usefixtures("quick_collector")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file may be left open
def test_an_interrupt_at_any_line_leaves_the_old_store_or_the_new_one(tmp_path: Path) -> None:
    lines, watched = 0, {store.__file__, atomic_writes.__file__, checksums.__file__, locks.__file__}

    def interrupt(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code.co_filename not in watched:
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
        if (folder / ".c.lock").exists():
            gc.collect()  # an interrupt in the very line that takes or gives back the lock leaves that to the collector
        values.append(store.open_store(folder / "c", kind="corpus").meta["value"])
        if leftovers(folder) != ["c"]:
            write(folder / "c", 3, overwrite=True)
            assert leftovers(folder) == ["c"]  # whatever an interrupt left is swept
    assert set(values) == {1, 2}
    assert len(values) > 50
    assert leftovers(folder) == ["c"]
    gc.collect()


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


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda p: (p / "numbers.npy").unlink(), "numbers.npy is missing"),
        (lambda p: os.truncate(p / "numbers.npy", 500), "500 bytes instead of"),
        (lambda p: (p / "numbers.npy").write_bytes(b"x" * (p / "numbers.npy").stat().st_size), "has changed"),
        (lambda p: (p / "numbers.npy").rename(p / "n") and (p / "numbers.npy").mkdir(), "numbers.npy is not a file"),
        (lambda p: (p / "numbers.npy").unlink() or os.mkfifo(p / "numbers.npy"), "numbers.npy is not a file"),
        (lambda p: (p / "meta.json").write_text("{"), "meta.json cannot be read"),
        (lambda p: (p / "meta.json").write_text("[" * 100_000), "meta.json cannot be read"),
        (lambda p: (p / "meta.json").unlink(), "not a driftword corpus"),
        (lambda p: (p / "meta.json").unlink() or (p / "meta.json").mkdir(), "it has no readable meta.json"),
        (lambda p: (p / "meta.json").unlink() or os.mkfifo(p / "meta.json"), "it has no readable meta.json"),
        (lambda p: (p / "meta.json").unlink() or (p / "meta.json").symlink_to("/dev/zero"), "no readable meta.json"),
        (lambda p: os.truncate(p / "meta.json", 1 << 40), "it has no readable meta.json"),
        (lambda p: shutil.rmtree(p) or p.write_text(""), "is not a driftword corpus; name the directory"),
        (lambda p: edit(p, checksum="0" * 16), "meta.json has changed"),
        (lambda p: edit(p, version=99), "is in format 99, and this driftword reads format 5 alone; prepare or fit"),
        (lambda p: (p / "meta.json").write_text(FIRST_FORMAT), "is in format 1, .* prepare or fit it again with this"),
        (lambda p: edit(p, kind="model"), "is a model"),
    ],
)
def test_a_damaged_store_is_refused(tmp_path: Path, harm, message: str) -> None:  # type: ignore[no-untyped-def]
    write(tmp_path / "c")
    harm(tmp_path / "c")
    with pytest.raises(StoreError, match=message):
        store.open_store(tmp_path / "c", kind="corpus")


#: A store as the first versions wrote it: with a SHA-256 of each file, and none of this one.
FIRST_FORMAT = '{"kind": "corpus", "version": 1, "files": {"numbers.npy": {"bytes": 8128, "sha256": "0"}}}'


def edit(path: Path, **changes: object) -> None:
    meta = json.loads((path / "meta.json").read_text())
    changed = {**meta, **changes}
    if "checksum" not in changes:
        del changed["checksum"]
        (path / "meta.json").write_bytes(checksums.sealed_json(changed))
    else:
        (path / "meta.json").write_text(json.dumps(changed, indent=1) + "\n")


@pytest.mark.parametrize("offset", [0, 9, 200, 2_000_000, -1])
def test_a_changed_byte_in_a_large_file_is_noticed_where_it_is_used(tmp_path: Path, offset: int) -> None:
    with store.create(tmp_path / "c", kind="corpus") as writer:
        writer.array("large", np.arange(600_000).reshape(6, 100_000))
        writer.array("other", np.arange(600_000))
    damage(tmp_path / "c" / "large.npy", offset)
    stored = store.open_store(tmp_path / "c", kind="corpus")  # large files are not read at opening
    assert (stored.array("other") == np.arange(600_000)).all()
    with pytest.raises(StoreError, match="large.npy"):
        stored.array("large")
    with pytest.raises(StoreError, match="large.npy has changed"):
        stored.verify()


def damage(path: Path, offset: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset, os.SEEK_SET if offset >= 0 else os.SEEK_END)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


def test_reading_a_part_checks_that_part_only(tmp_path: Path) -> None:
    values = np.arange(6 * 200_000).reshape(6, 100_000, 2)
    with store.create(tmp_path / "c", kind="corpus") as writer:
        writer.array("large", values)
    damage(tmp_path / "c" / "large.npy", -1)  # in the last row, and the last column
    stored = store.open_store(tmp_path / "c", kind="corpus").lazy_array("large")
    assert isinstance(stored, StoredArray)
    for row in range(5):
        np.testing.assert_array_equal(stored.row(row), values[row])
    np.testing.assert_array_equal(stored.columns(7), values[:, 7])
    np.testing.assert_array_equal(stored.columns([9, 3, 9]), values[:, [9, 3, 9]])
    for read in (lambda: stored.row(5), lambda: stored.columns(99_999), stored.whole):
        with pytest.raises(StoreError, match="large.npy has changed"):
            read()


def test_a_file_that_changes_while_it_is_open_is_checked_again(tmp_path: Path) -> None:
    with store.create(tmp_path / "c", kind="corpus") as writer:
        writer.array("large", np.zeros(300_000))
    path = tmp_path / "c" / "large.npy"
    stored = store.open_store(tmp_path / "c", kind="corpus")
    values = stored.lazy_array("large")
    assert isinstance(values, StoredArray)
    assert values.whole().sum() == 0
    path.write_bytes(path.read_bytes())  # the same again: nothing has changed
    assert values.whole().sum() == 0
    stored.check_current()
    damage(path, 1_000_000)
    for read in (values.whole, stored.check_current, stored.verify):
        with pytest.raises(StoreError, match="large.npy has changed"):
            read()
    os.truncate(path, 2_000_000)
    for read in (values.whole, stored.check_current):
        with pytest.raises(StoreError, match="2,000,000 bytes instead of"):
            read()


@pytest.mark.parametrize("away", ["replaced", "removed", "moved"])
def test_an_open_store_stays_whole_and_says_that_it_is_no_longer_current(tmp_path: Path, away: str) -> None:
    path = tmp_path / "c"
    for value in (1, 2):
        with store.create(path, kind="corpus", overwrite=True) as writer:
            writer.array("small", np.full(10, value))
            writer.array("large", np.full(300_000, value))
            (writer.folder / "table").write_text(str(value))
        if value == 1:
            stored = store.open_store(path, kind="corpus")
            stored.check_current()
            if away == "removed":
                shutil.rmtree(path)
            elif away == "moved":
                path.rename(tmp_path / "d")
            if away != "replaced":
                break
    assert (stored.array("small") == 1).all()
    assert (stored.array("large") == 1).all()
    assert stored.open_file("table").read() == b"1"
    with pytest.raises(StoreError, match="has been replaced or removed"):
        stored.check_current()


@pytest.mark.slow
def test_readers_never_see_two_generations_at_once(tmp_path: Path) -> None:
    path = tmp_path / "c"

    def generation(value: int) -> None:
        with store.create(path, kind="corpus", overwrite=True) as writer:
            writer.meta["value"] = value
            for name in "abc":
                writer.array(name, np.full(200_000, value))

    generation(0)
    done = threading.Event()

    def replace() -> None:
        for value in range(1, 40):
            generation(value)
        done.set()

    writer = threading.Thread(target=replace)
    writer.start()
    seen = set()
    while not done.is_set():
        stored = store.open_store(path, kind="corpus")  # never missing, never damaged
        values = {stored.meta["value"], *(int(stored.array(name)[i]) for name in "abc" for i in (0, -1))}
        assert len(values) == 1
        seen |= values
    writer.join()
    assert len(seen) > 1


def test_a_store_that_a_killed_writer_had_moved_aside_comes_back_when_it_is_opened(tmp_path: Path) -> None:
    write(tmp_path / "c", 1)
    (tmp_path / "c").rename(tmp_path / ".c.replaced-0badcafe")
    assert store.open_store(tmp_path / "c", kind="corpus").meta["value"] == 1
    assert leftovers(tmp_path) == ["c"]


def test_a_stored_array_is_an_ordinary_one_in_another_process(tmp_path: Path) -> None:
    with store.create(tmp_path / "c", kind="corpus") as writer:
        writer.array("large", np.asfortranarray(np.arange(300_000).reshape(3, 100_000)))
    stored = store.open_store(tmp_path / "c", kind="corpus").lazy_array("large")
    assert isinstance(stored, StoredArray)
    np.testing.assert_array_equal(stored.row(1), np.arange(100_000, 200_000))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(stored)), np.arange(300_000).reshape(3, 100_000))


@pytest.mark.parametrize("path", [None, 3, b"c", "", ["c"]])
def test_what_is_not_a_path_is_refused(path: Any) -> None:
    with pytest.raises(OptionError, match="is not a path"):
        store.open_store(path, kind="corpus")
    with pytest.raises(OptionError, match="is not a path"), store.create(path, kind="corpus"):
        raise AssertionError("nothing may be written")


def test_a_zero_byte_in_a_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="zero byte"):
        store.open_store(f"{tmp_path}/a\0b", kind="corpus")


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


@pytest.mark.parametrize("files", [[], {"a": 1}, {"a": {"bytes": 1}}, {"../a": {"bytes": 1, "xxh3": ""}}])
def test_meta_of_another_shape_is_no_store(tmp_path: Path, files: object) -> None:
    write(tmp_path / "c")
    edit(tmp_path / "c", files=files)
    with pytest.raises(StoreError, match="meta.json is not that of a corpus or model"):
        store.open_store(tmp_path / "c", kind="corpus")


def test_a_store_in_another_format_is_replaced_when_it_is_made_again(tmp_path: Path) -> None:
    write(tmp_path / "c", 1)
    (tmp_path / "c" / "meta.json").write_text(FIRST_FORMAT)
    write(tmp_path / "c", 2, overwrite=True)
    assert store.open_store(tmp_path / "c", kind="corpus").meta["value"] == 2
