"""Corpora and models at addresses that fsspec reads; storage in memory stands for a bucket."""

from __future__ import annotations

import dataclasses
import errno
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import fsspec
import numpy as np
import pytest

import driftword as dw
from conftest import run_here
from driftword.basics.errors import OptionError, SourceError, StoreError
from driftword.corpus.vocabulary import Vocabulary
from driftword.storage import remote_stores, store
from driftword.storage.checksums import BLOCK

MEMORY: Any = fsspec.filesystem("memory")


@pytest.fixture(autouse=True)
def _empty_bucket() -> Iterator[None]:
    yield
    MEMORY.store.clear()


def upload(folder: Path | str | None, name: str) -> str:
    assert folder is not None
    for path in Path(folder).iterdir():
        MEMORY.pipe(f"/bucket/{name}/{path.name}", path.read_bytes())
    return f"memory://bucket/{name}"


@pytest.fixture
def fetched() -> Iterator[list[tuple[str, int, int]]]:
    """What is fetched from the bucket: name, first byte and the byte after the last."""
    seen: list[tuple[str, int, int]] = []
    read = type(MEMORY).cat_file

    def cat_file(self: Any, path: str, start: int | None = None, end: int | None = None) -> bytes:
        data: bytes = read(self, path, start=start, end=end)
        seen.append((path.rpartition("/")[2], start or 0, (start or 0) + len(data)))
        return data

    with mock.patch.object(type(MEMORY), "cat_file", cat_file):
        yield seen


def million(out: Path) -> dw.Corpus:
    """Three slices of a million words, one third of each held out; 6 MB of ids."""
    random, chunks = np.random.default_rng(0), 300
    return dw.Corpus.from_ids(
        [f"w{i}" for i in range(500)], random.integers(0, 500, 3_000_000).astype(np.uint16),
        np.arange(chunks + 1) * 10_000, chunk_slice=np.arange(chunks) // 100,
        chunk_split=np.where(np.arange(chunks) % 3 == 0, 1, 0), slices=["1900", "1901", "1902"], out=out,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [0, store._SMALL])
def test_a_model_is_the_same_from_a_bucket(
    small_corpus_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(store, "_SMALL", at_once)  # 0: every file is fetched in parts
    address = upload(small_corpus_path, "letters")
    spec, options = dw.Spec(dim=5), {"passes": 1, "threads": 1, "seed": 3}
    here, there = (dw.fit(path, spec, **options) for path in (small_corpus_path, address))  # type: ignore[arg-type]
    assert (here.rho == there.rho).all()
    assert here.provenance.corpus == there.provenance.corpus
    assert there.provenance.corpus_path == address
    assert there.open_corpus() is None  # an address is opened only where it is given
    corpus = there.open_corpus(address)
    assert corpus is not None
    assert str(corpus.path) == address
    assert corpus.documents.collect().equals(dw.Corpus.open(small_corpus_path).documents.collect())
    opened = dw.Model.open(upload(there.save(tmp_path / "m").path, "model"))
    assert dw.neighbors(opened, "ship").equals(dw.neighbors(here, "ship"))


@pytest.fixture(scope="module")
def small_corpus_path(small: dw.Corpus) -> Path:
    return Path(str(small.path))


def test_only_what_is_read_is_fetched_and_only_once(tmp_path: Path, fetched: list[tuple[str, int, int]]) -> None:
    local = million(tmp_path / "c")
    with mock.patch("driftword.storage.remote_stores._AHEAD", 1):
        corpus = dw.Corpus.open(upload(local.path, "c"))
        assert corpus.train_counts.sum() == 2_000_000
        assert corpus.fingerprint == local.fingerprint
        before = [name for name, *_ in fetched]
        assert before.count("tokens.npy") == 1  # where its values begin
        for _ in range(2):
            ids, _, chunks, positions = corpus.sample("train", at="1902")
            assert (chunks >= 200).all()
            assert (np.asarray(ids) == local.tokens[positions]).all()
    blocks = [begin // BLOCK for name, begin, _ in fetched if name == "tokens.npy"]
    assert len(blocks) == len(set(blocks))
    assert set(blocks) == {0, *range(2_000_000 * 2 // BLOCK, 6_000_128 // BLOCK + 1)}
    assert "documents.parquet" not in before


def test_reading_from_end_to_end_takes_few_requests(tmp_path: Path, fetched: list[tuple[str, int, int]]) -> None:
    local = million(tmp_path / "c")
    corpus = dw.Corpus.open(upload(local.path, "c"))
    fetched.clear()
    got = np.concatenate(list(corpus.chunks("train")))
    assert (got == np.concatenate(list(local.chunks("train")))).all()
    assert len(fetched) <= 2
    assert (np.asarray(corpus.tokens) == local.tokens).all()
    assert (corpus.tokens[-3:] == local.tokens[-3:]).all()
    assert corpus.tokens[5] == local.tokens[5]
    assert not len(corpus.tokens[:0])


@pytest.mark.slow
def test_what_is_recorded_is_what_would_be_counted(tmp_path: Path) -> None:
    """The numbers that are stored are those of a corpus in memory, which counts them."""
    opened = million(tmp_path / "c")
    counted = dw.Corpus(
        {name: opened._arrays[name] for name in opened._arrays if name != "train_counts"}, opened.words, opened.slices,
        metadata=opened._metadata,
    )  # fmt: skip
    assert "train_counts" in opened._arrays
    assert (counted.train_counts == opened.train_counts).all()
    assert counted.fingerprint == opened.fingerprint == opened._recorded
    shuffled = opened.shuffle_dates(1)
    assert shuffled.fingerprint != opened.fingerprint
    assert isinstance(shuffled.vocabulary, Vocabulary)
    expected = np.zeros_like(opened.train_counts)
    train = np.repeat(np.asarray(opened.chunk_split) == 0, 10_000)
    slice_of = np.repeat(shuffled.chunk_slice, 10_000)
    np.add.at(expected, (slice_of[train], np.asarray(opened.tokens)[train]), 1)
    assert (shuffled.train_counts == expected).all()


def test_a_changed_byte_elsewhere_is_noticed_where_it_is_used(tmp_path: Path) -> None:
    address = upload(million(tmp_path / "c").path, "c")
    data = bytearray(MEMORY.cat_file("/bucket/c/tokens.npy"))
    data[-10] ^= 1
    MEMORY.pipe("/bucket/c/tokens.npy", bytes(data))
    with mock.patch("driftword.storage.remote_stores._AHEAD", 1):
        corpus = dw.Corpus.open(address)
        corpus.sample("train", at="1900")
        for _ in range(2):
            with pytest.raises(StoreError, match=r"is damaged: the content of tokens.npy has changed since it was"):
                corpus.sample("train", at="1902")
    MEMORY.pipe("/bucket/c/tokens.npy", bytes(data)[:-4])
    with pytest.raises(StoreError, match=r"tokens.npy has fewer than"):
        dw.Corpus.open(address).sample("train", at="1902")
    MEMORY.rm("/bucket/c/tokens.npy")
    with pytest.raises(StoreError, match=r"is damaged: tokens.npy is missing"):
        dw.Corpus.open(address).sample("train", at="1902")


def test_a_full_disk_is_not_taken_for_damage(tmp_path: Path) -> None:
    corpus = dw.Corpus.open(upload(million(tmp_path / "c").path, "c"))
    full = OSError(errno.ENOSPC, "No space left on device")
    with mock.patch("os.pwrite", side_effect=full), pytest.raises(StoreError, match="No space left.*; set TMPDIR to"):
        corpus.sample("train", at="1902")
    assert len(corpus.sample("train", at="1902")[0])  # once there is space


def test_a_successor_at_the_address_is_noticed(small_corpus_path: Path, tmp_path: Path) -> None:
    address = upload(million(tmp_path / "c").path, "c")
    corpus = dw.Corpus.open(address)
    corpus.check_current()
    upload(small_corpus_path, "c")
    with pytest.raises(StoreError, match="has been replaced or removed since it was opened; open it again"):
        corpus.check_current()
    MEMORY.rm("/bucket/c", recursive=True)
    with pytest.raises(StoreError, match="has been replaced or removed"):
        corpus.check_current()


def test_storage_that_fails_is_a_sentence(small_corpus_path: Path, tmp_path: Path, small_model: dw.Model) -> None:
    address = upload(small_corpus_path, "letters")
    with pytest.raises(StoreError, match=r"^There is no corpus at 'memory://bucket/none'; check the address"):
        dw.Corpus.open("memory://bucket/none")
    with pytest.raises(StoreError, match=r"is a corpus, but a model is needed here"):
        dw.Model.open(address)
    with pytest.raises(OptionError, match=r"'what://x' cannot be opened: addresses begin with file://, s3://"):
        dw.Corpus.open("what://x")
    with (
        mock.patch.object(type(MEMORY), "cat_file", side_effect=PermissionError("Forbidden")),
        pytest.raises(StoreError, match=r"meta.json' cannot be read: Forbidden; check the address and your access"),
    ):
        dw.Corpus.open(address)
    with (
        mock.patch.object(remote_stores, "LARGEST_META", 100),
        pytest.raises(StoreError, match="json' is too large to be"),
    ):
        dw.Corpus.open(address)
    gone = FileNotFoundError("The specified bucket does not exist")
    with (
        mock.patch.object(type(MEMORY), "cat_file", side_effect=gone),
        pytest.raises(StoreError, match=f"read: {gone};"),
    ):
        dw.Corpus.open(address)
    model = dw.Model.open(upload(small_model.save(tmp_path / "m").path, "model"))
    with pytest.raises(StoreError, match="makes stores and changes none; copy it to this machine"):
        store.amend(model._store, kind="model").__enter__()  # type: ignore[arg-type]


@pytest.mark.slow
def test_commands_take_addresses(small_corpus_path: Path, tmp_path: Path) -> None:
    address = upload(small_corpus_path, "letters")
    done = run_here("info", address, "--verify", "--json")
    assert (done.returncode, f'"path": "{address}"' in done.stdout) == (0, True), done.stderr
    out = tmp_path / "m"
    done = run_here("fit", address, "--dim", 4, "--passes", 1, "--no-significance", "--out", out)
    assert done.returncode == 0, done.stderr
    assert run_here("neighbors", out, "ship").returncode == 0
    done = run_here("info", "memory://bucket/none")
    assert done.returncode == 2
    assert "There is no corpus at 'memory://bucket/none'" in done.stderr.replace("\n", " ")


def renamed_corpus(model: dw.Model, path: str, folder: Path) -> dw.Model:
    """Return a stored copy of a model that names another corpus."""
    changed = dataclasses.replace(model.provenance, corpus_path=path)
    with mock.patch.object(model, "provenance", changed):
        return model.save(folder / "named.model", overwrite=True)


@pytest.mark.parametrize(
    "path",
    [
        "memory://bucket/letters", "reference://x::data:application/json;base64,e30=", "http://127.0.0.1:{port}/letters",
        "webhdfs://127.0.0.1:{port}/letters", "ftp://127.0.0.1:{port}/letters", "github://a:b@/c", "jupyter://x/y",
        "dir://{folder}", "zip://{folder}", "tar://{folder}", "file://{folder}", "simplecache::file://{folder}",
        "local://{folder}", "//127.0.0.1/letters", "\\\\127.0.0.1\\letters", "letters", "{folder}\0", "",
    ],
)  # fmt: skip
def test_no_address_is_followed_that_a_file_names(
    path: str, small: dw.Corpus, small_model: dw.Model, tmp_path: Path
) -> None:
    upload(small.path, "letters")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        named = path.format(port=listener.getsockname()[1], folder=small.path)
        with mock.patch("fsspec.core.url_to_fs", side_effect=AssertionError("an address was opened")):
            model = renamed_corpus(small_model, named, tmp_path)
            assert model.open_corpus() is None
            with pytest.raises(OptionError, match=r"^The model's corpus is .*; name it with `corpus`$"):
                dw.evaluate(model)
            with pytest.raises(OptionError):
                dw.significance(model, ["ship"])
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert dw.Model.open(str(model.path)).open_corpus("memory://bucket/letters") is not None


def test_a_folder_is_followed_if_it_holds_the_corpus(small: dw.Corpus, small_model: dw.Model, tmp_path: Path) -> None:
    same, other = tmp_path / "same", tmp_path / "other"
    shutil.copytree(str(small.path), same)
    million(other)
    assert renamed_corpus(small_model, str(same), tmp_path).open_corpus() is not None
    assert renamed_corpus(small_model, str(other), tmp_path).open_corpus() is None


@pytest.mark.parametrize("address", ["reference://x", "simplecache::s3://a", "s3://a::http://b", "S3://a", "local://a"])
def test_only_plain_storage_is_opened(address: str, tmp_path: Path) -> None:
    with mock.patch("fsspec.core.url_to_fs", side_effect=AssertionError("it was opened")):
        for call in (dw.Corpus.open, dw.Model.open, lambda source: dw.prepare(source, out=tmp_path / "out")):
            with pytest.raises((OptionError, StoreError, SourceError), match=address.partition(":")[0]):
                call(address)
