from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

import driftword as dw
from driftword.basics.errors import SourceError
from driftword.sources import compression, limits
from driftword.sources.opening import open_source

LONGEST = 10_000
TOO_LONG = "more than 10,000 bytes of text, the most that a document may have; divide it into several documents"


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LONGEST_DOCUMENT", LONGEST)
    monkeypatch.setattr(limits, "MOST_COLUMNS", 20)


def read(path: Path) -> pl.DataFrame:
    return pl.concat(open_source(path).batches(), how="diagonal_relaxed")


def contents(text: str) -> dict[str, bytes]:
    """Return files that hold one document."""
    return {
        "a.csv": f"year,text\n1900,{text}\n".encode(),
        "quoted.csv": f'year,text\n1900,"{text}"\n'.encode(),
        "open.csv": f'year,text\n1900,"{text}\n'.encode(),
        "header.csv": f"year,text,{text}\n1900,ship,sea\n".encode(),
        "a.jsonl": json.dumps({"year": 1900, "text": text}).encode() + b"\n",
        "a.json": json.dumps([{"year": 1900, "text": text}]).encode(),
        "1900.txt": text.encode(),
    }


@pytest.mark.parametrize("name", list(contents("")))
def test_a_document_that_is_too_long_is_refused(tmp_path: Path, name: str) -> None:
    for text in (
        "word " * LONGEST,
        "word\n" * LONGEST if name in ("quoted.csv", "open.csv", "1900.txt") else "é" * LONGEST * 5,
    ):
        (tmp_path / name).write_bytes(contents(text)[name])
        with pytest.raises(SourceError, match=TOO_LONG):
            read(tmp_path / name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quoted.csv", "a.jsonl", "a.json", "1900.txt"])
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstandard.compress])
def test_no_more_is_decompressed_than_a_document_may_hold(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    suffix = {gzip.compress: ".gz", bz2.compress: ".bz2", lzma.compress: ".xz"}.get(pack, ".zst")  # type: ignore[call-overload]
    path = tmp_path / (name + suffix)
    path.write_bytes(pack(contents("word " * 500_000)[name]))  # 2.5 MB in a few hundred bytes
    pieces = []
    original = compression.io.BufferedReader

    class Counted(original):  # type: ignore[misc, valid-type]
        def read1(self, size: int = -1) -> bytes:
            pieces.append(len(part := super().read1(size)))
            return bytes(part)

    monkeypatch.setattr(compression.io, "BufferedReader", Counted)
    with pytest.raises(SourceError, match=TOO_LONG):
        read(path)
    assert 0 < sum(pieces) < 2_000_000
    assert max(pieces) <= 1 << 18


def test_zstd_is_decompressed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "_ZSTD_PIECE", 64)
    packed = zstandard.compress(bytes(30_000_000))
    assert len(packed) > 500
    reader = compression._ZstdReader(io.BytesIO(packed))
    assert reader.readinto(bytearray(10)) == 10
    assert len(reader._unpacked) < 64 / 4 * (128 << 10)  # a block of 128 KiB takes up four bytes at least


def test_long_documents_and_many_of_them_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BATCH_BYTES", 30_000)
    texts = [f"word{i} " + "x" * (LONGEST - 100) for i in range(30)]
    frame = pl.DataFrame({"year": ["1900"] * 30, "text": texts})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_ndjson(tmp_path / "a.jsonl")
    for indent in (None, 3):
        (tmp_path / f"a{indent}.json").write_text(json.dumps(frame.to_dicts(), indent=indent))
    for file in sorted(tmp_path.iterdir()):
        batches = list(open_source(file).batches())
        assert len(batches) > 5, file.name
        assert pl.concat(batches).equals(frame), file.name


def test_many_long_text_files_are_read_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BATCH_BYTES", 30_000)
    for i in range(20):
        (tmp_path / f"{1900 + i}.txt").write_text("x" * 9_000)
    assert max(frame.height for frame in open_source(tmp_path).frames) == 4


def test_an_array_of_objects_is_read_as_json_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for text in ("[]", " [ ] \n", '[{"text": "a]", "year": 1}]', '[ {"text": "{,"} ,\n {"text": "b"} ]\n'):
        path.write_text(text)
        rows = json.loads(text)
        assert read(path).height == len(rows) if rows else not list(open_source(path).batches())
    for text, reason in [
        ('[{"text": "a"},]', "items are not objects"),
        ('[{"text": "a"} {"text": "b"}]', "a comma or a closing bracket is missing"),
        ('[{"text": "a"}', "a comma or a closing bracket is missing"),
        ('[{"text": "a"}] x', "text follows the list"),
        ('[{"text": }]', "is not valid JSON"),
        ('[{"text": ' + "[" * 9_000, "is not valid JSON"),
        ("[", "the list does not end"),
    ]:
        path.write_text(text)
        with pytest.raises(SourceError, match=reason):
            read(path)


def write_long_value(folder: Path, compression: Any) -> tuple[Path, Path]:
    """Write a value of 100,000 bytes among short ones to a Parquet file and to an Arrow file."""
    frame = pl.DataFrame({"year": [1900] * 9, "text": ["ship"] * 8 + ["word " * 20_000]})
    frame.write_parquet(folder / "a.parquet", compression=compression)
    frame.write_ipc(folder / "a.arrow", compression=compression)
    return folder / "a.parquet", folder / "a.arrow"


@pytest.mark.parametrize("compression", ["uncompressed", "zstd", "lz4"])
def test_parquet_and_arrow_are_refused_before_they_are_read(
    tmp_path: Path, compression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet, arrow = write_long_value(tmp_path, compression)
    monkeypatch.setattr(pl.LazyFrame, "collect_batches", lambda *_, **__: pytest.fail("it was read"))
    for file in (parquet, arrow) if compression != "uncompressed" else (parquet,):
        with pytest.raises(SourceError, match="holds 100,... bytes of text in a few values, and a document may have"):
            read(file)


@pytest.mark.parametrize(("compression", "refused"), [("uncompressed", ".arrow"), ("zstd", ".parquet")])
def test_what_cannot_be_looked_up_is_refused_by_the_length_of_documents(
    tmp_path: Path, compression: str, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An Arrow file that is not compressed is as large as what it holds; Parquet is looked up by pyarrow alone."""
    file = next(file for file in write_long_value(tmp_path, compression) if file.suffix == refused)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert read(file).height == 9
    with pytest.raises(SourceError, match=r"Row 9 \(column 'text'\) has " + TOO_LONG):
        dw.prepare(file, out=tmp_path / "out")


def test_large_blocks_of_many_texts_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LONGEST_DOCUMENT", 2 * LONGEST)
    frame = pl.DataFrame({"year": [1900] * 50_000, "text": [f"word {i}" for i in range(50_000)]})
    frame.write_parquet(tmp_path / "a.parquet", data_page_size=1 << 30, row_group_size=50_000)
    frame.write_ipc(tmp_path / "a.arrow", compression="zstd")
    for name in ("a.parquet", "a.arrow"):
        assert read(tmp_path / name).equals(frame)


def test_data_in_memory_is_bounded_too(tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": ["ship"] * 3, "date": ["1900"] * 3, "note": ["", "", "x" * 20_000]})
    with pytest.raises(SourceError, match=r"Row 3 \(column 'note'\) has " + TOO_LONG):
        dw.prepare(frame, out=tmp_path / "out")
    words = [(["ship"], 1900), (["sea"] * 5_000, 1900)]
    with pytest.raises(SourceError, match=r"Row 2 \(column 'text'\) has " + TOO_LONG):
        dw.prepare(words, out=tmp_path / "out")


def test_tables_with_too_many_columns_are_refused(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(30)]
    (tmp_path / "a.csv").write_text(",".join(names))
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({name: 1}) for name in names))
    pl.DataFrame({name: [1] for name in names}).write_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        with pytest.raises(SourceError, match=r"has \d+ columns, and at most 20 are read; leave out those"):
            read(tmp_path / name)


def test_an_arrow_file_that_ends_too_early_is_refused(tmp_path: Path) -> None:
    """Polars panics on it, reads nothing, or raises an error."""
    pl.DataFrame({"year": [1900] * 9, "text": ["ship"] * 9}).write_ipc(tmp_path / "a.arrow")
    data = (tmp_path / "a.arrow").read_bytes()
    batch = data.index(b"\xff\xff\xff\xff")  # the first message
    place = data.rindex(struct.pack("<q", batch))  # in the footer, before the lengths of its header and body
    for at, number, reason in (
        (place, 1 << 40, "it is cut off or damaged; save it again"),
        (place, -8, "IPC block range overflows usize"),
        (place + 16, 1 << 40, "it is cut off or damaged; save it again"),
    ):
        (tmp_path / "b.arrow").write_bytes(data[:at] + struct.pack("<q", number) + data[at + 8 :])
        with pytest.raises(SourceError, match=f"b.arrow' cannot be read: {reason}"):
            read(tmp_path / "b.arrow")
