from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import zstandard

from driftword.basics.errors import DriftwordError, OptionError, SourceError
from driftword.sources.opening import ReadingOptions, choose_column, open_source

ROWS = [
    {"id": 1, "year": 1921, "text": 'He said "sail", and left.'},
    {"id": 2, "year": 1922, "text": "Two\nlines; one text"},
    {"id": 3, "year": 1923, "text": "Größe"},
]
FRAME = pl.DataFrame(ROWS)


def rows(source: object, **options: object) -> pl.DataFrame:
    opened = open_source(source, ReadingOptions(**options))  # type: ignore[arg-type]
    return pl.concat(opened.batches(), how="diagonal_relaxed")


def packed(path: Path, pack: Callable[[bytes], bytes]) -> Path:
    target = path.with_name(
        path.name + {gzip.compress: ".gz", bz2.compress: ".bz2", lzma.compress: ".xz"}.get(pack, ".zst")
    )  # type: ignore[call-overload]
    target.write_bytes(pack(path.read_bytes()))
    return target


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    FRAME.write_csv(tmp_path / "a.csv")
    FRAME.write_csv(tmp_path / "a.tsv", separator="\t")
    FRAME.write_csv(tmp_path / "semicolon.csv", separator=";")
    FRAME.write_ndjson(tmp_path / "a.jsonl")
    (tmp_path / "a.json").write_text(json.dumps(ROWS, indent=2))
    FRAME.write_parquet(tmp_path / "a.parquet")
    FRAME.write_ipc(tmp_path / "a.arrow")
    (tmp_path / "utf16.csv").write_text(FRAME.write_csv(), encoding="utf-16")
    (tmp_path / "bom.csv").write_text(FRAME.write_csv(), encoding="utf-8-sig")
    found = {file.name: file for file in tmp_path.iterdir()}
    for name in ("a.csv", "a.jsonl"):
        for pack in (gzip.compress, bz2.compress, lzma.compress, zstandard.compress):
            target = packed(tmp_path / name, pack)
            found[target.name] = target
    return found


def test_every_kind_of_file_gives_the_same_rows(files: dict[str, Path]) -> None:
    assert len(files) == 17
    for name, file in files.items():
        read = rows(file).select(pl.col("id", "year").cast(pl.Int64), "text")
        assert read.equals(FRAME), name


def test_data_in_memory_gives_the_same_rows() -> None:
    frames = [FRAME, FRAME.lazy(), pd.DataFrame(ROWS), pa.Table.from_pylist(ROWS)]
    for source in frames:
        assert rows(source).equals(FRAME), type(source)
    pairs = [("a", 1921), ("b", date(1921, 5, 1)), ("c", datetime(1921, 5, 1, 12)), ("d", "May 1921"), ("e", None)]
    for source in (pairs, iter(pairs), tuple(pairs)):
        read = rows(source)
        assert read["text"].to_list() == list("abcde")
        assert read["date"].to_list() == ["1921", "1921-05-01", "1921-05-01 12:00:00", "May 1921", None]


def test_a_folder_and_a_glob_read_several_files(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / "deep").mkdir(exist_ok=True)
        pl.DataFrame({"text": [name], "year": [1900]}).write_csv(tmp_path / "deep" / f"{name}.csv")
    for source in (tmp_path, str(tmp_path / "deep" / "*.csv"), str(tmp_path / "**" / "*.csv")):
        read = rows(source)
        assert read["text"].to_list() == ["a", "b"]
        assert read["file"].to_list() == ["a.csv", "b.csv"]
    FRAME.write_parquet(tmp_path / "c.parquet")
    with pytest.raises(SourceError, match=r"mixes kinds of files \(csv, parquet\)"):
        open_source(tmp_path)


def test_text_files_take_their_date_from_their_name(tmp_path: Path) -> None:
    whole = ("box 1234, 1864-01-02.txt", "letter_1865_07_03.txt", "1866_14_45.txt")
    more = ("20180115_X.txt", "scan20190231.txt", "Brief vom 15.06.2022.txt", "2022.07.01 minutes.txt")
    for name in ("1861-05-12_home.txt", "1862/letter_7.txt", "box 2020/1863/c.txt", "notes.txt", *whole, *more):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"text of {name}")
    found = dict(rows(tmp_path).select("file", "date").rows())
    assert found == {
        "1861-05-12_home.txt": "1861-05-12",
        "1862/letter_7.txt": "1862",
        "box 2020/1863/c.txt": "1863",
        "notes.txt": "notes.txt",
        "box 1234, 1864-01-02.txt": "1864-01-02",
        "letter_1865_07_03.txt": "1865-07-03",
        "1866_14_45.txt": "1866",  # volume and page
        "20180115_X.txt": "20180115",
        "scan20190231.txt": "scan20190231.txt",  # eight digits that are no date
        "Brief vom 15.06.2022.txt": "15.06.2022",
        "2022.07.01 minutes.txt": "2022.07.01",
    }
    named = rows(tmp_path, time_from_name=r"box (\d+)")
    assert "2020" in named["date"].to_list()
    with pytest.raises(DriftwordError, match="is not a regular expression"):
        rows(tmp_path, time_from_name="(")


def test_windows_1252_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("year,text\n1900,café – “noir”".encode("cp1252"))
    (tmp_path / "a.jsonl").write_bytes('{"year": 1900, "text": "café – “noir”"}\n'.encode("cp1252"))
    (tmp_path / "1900.txt").write_bytes("café – “noir”".encode("cp1252"))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    for name in ("a.csv", "a.jsonl", "1900.txt", "a.csv.gz"):
        source = open_source(tmp_path / name)
        assert pl.concat(source.batches())["text"].to_list() == ["café – “noir”"]
        assert source.state.detected_encodings == {"windows-1252": 1}


@pytest.mark.slow
def test_a_letter_far_down_a_long_file_decides(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"year,text\n" + b"1900,plain\n" * 60_000 + "1901,Größe".encode("cp1252"))
    assert rows(tmp_path / "a.csv")["text"][-1] == "Größe"


def test_a_few_broken_bytes_do_not_make_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "1900.txt").write_bytes("Größe, Straße, café, ".encode() + b"na\xefve")
    source = open_source(tmp_path / "1900.txt")
    assert pl.concat(source.batches())["text"].to_list() == ["Größe, Straße, café, na\ufffdve"]
    assert source.state.detected_encodings == {}


def test_other_encodings_are_named_by_the_user(tmp_path: Path) -> None:
    (tmp_path / "1900.txt").write_bytes(("свобода и мир " * 5).encode("cp1251"))
    assert "\ufffd" in rows(tmp_path / "1900.txt")["text"][0]  # not a word salad of accented letters
    assert rows(tmp_path / "1900.txt", encoding="cp1251")["text"][0].startswith("свобода и мир")
    (tmp_path / "1900.txt").write_text("\ufeffcafé", encoding="utf-8")
    assert rows(tmp_path / "1900.txt", encoding="UTF8")["text"][0] == "café"
    for bad in ("klingon", "base64", ""):
        with pytest.raises(OptionError, match=f"`encoding` is '{bad}'; give a text encoding"):
            open_source(tmp_path / "1900.txt", ReadingOptions(encoding=bad))
    for source in ([("a", 1900)], FRAME, "sotu"):
        with pytest.raises(OptionError, match="`encoding` is for text, CSV and JSON files"):
            open_source(source, ReadingOptions(encoding="utf-8"))


def test_ragged_rows_are_named_by_line_or_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('year,text\n1900,"two\nlines"\n1901,a,b\n1902,c\n1903\n')
    with pytest.raises(SourceError, match="line 4 has 3 fields and the header has 2; .*`skip_bad_rows=True`"):
        rows(path)
    source = open_source(path, ReadingOptions(skip_bad_rows=True))
    assert pl.concat(source.batches())["year"].to_list() == ["1900", "1902"]
    assert source.state.bad_rows == 2


def test_broken_json_is_named_by_line_or_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"text": "a", "year": 1900}\n\n{"text": \n[1]\n{"text": "b", "more": {"x": [1]}, "year": 1901.0}\n'
    )
    with pytest.raises(SourceError, match="line 3 is not a JSON object .*`skip_bad_rows=True`"):
        rows(path)
    source = open_source(path, ReadingOptions(skip_bad_rows=True))
    read = pl.concat(source.batches())
    assert read["text"].to_list() == ["a", "b"]
    assert read["more"].to_list() == [None, '{"x": [1]}']
    assert source.state.bad_rows == 2


def test_large_fields_and_many_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftword.sources.limits.BATCH_BYTES", 10_000)
    frame = pl.DataFrame(
        {"year": [str(1900 + i) for i in range(50)], "text": [f"word{i} " * 100 * i for i in range(50)]}
    )
    frame = frame.vstack(pl.DataFrame({"year": ["1999"], "text": ["x" * 300_000]}))
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        batches = list(open_source(tmp_path / name).batches())
        assert len(batches) > 10
        assert pl.concat(batches).equals(frame)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty; it needs a header line"),
        ("a.csv", b"\n\n", "begins with a blank line"),
        ("a.csv", b'year,text\n1900,a\n1901,"b\n1902,c\n', "quotation mark in line 3 that is never closed"),
        ("a.csv", b'year,text\n1900,"b" c\n', "line 2 is not valid CSV"),
        ("a.csv.zst", zstandard.compress(b"year,text\n1900,abc\n" * 9999)[:-9], "cannot be read: it is truncated"),
        ("a.jsonl", b'{"text": ' + b"[" * 99999, "line 1 is not a JSON object"),
        ("a.csv", b"text,year,text\n", "two columns named 'text'"),
        ("a.csv", b"text,,year,\n", "several columns without a name; give each a name, or remove them"),
        ("a.csv", b'"text" x,year\n1,2\n', r"The header of '.*' is not valid CSV .*; close every quotation mark"),
        ("a.csv", b'"text,year\n1,2\n', r"The header of '.*' is not valid CSV .*; close every quotation mark"),
        ("a.csv", "text,year\nship,1900\n".encode("utf-16-le"), 'UTF-16 without its mark; pass `encoding="utf-16-le"`'),
        ("a.csv", "text,year\nship,1900\n".encode("utf-16-be"), 'UTF-16 without its mark; pass `encoding="utf-16-be"`'),
        ("a.parquet", b"no parquet", "cannot be read"),
        ("a.csv.gz", b"no gzip", "cannot be read"),
        ("a.csv.gz", gzip.compress(b"year,text\n1900,abc\n" * 1000, mtime=0)[:-30], "cannot be read"),
        ("a.csv.zst", b"no zstd", "cannot be read"),
        ("a.docx", b"", "is not a kind of file that driftword reads; it reads CSV"),
        ("a.json", b'[{"a": 1}, 5]', "items are not objects"),
        ("a.json", b'[{"a": 1}, ', "is not valid JSON"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=message):
        rows(tmp_path / name)


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "speeches.csv").write_text("year,text\n")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=r"There is no file '.*speechs.csv'; did you mean 'speeches.csv'\?"):
        open_source(tmp_path / "speechs.csv")
    with pytest.raises(SourceError, match="holds no file that can be read"):
        open_source(tmp_path / "empty")
    with pytest.raises(SourceError, match="No file matches"):
        open_source(str(tmp_path / "*.jsonl"))
    with pytest.raises(SourceError, match="A value of type int is not a source of text"):
        open_source(5)
    for bad in (["text"], [("a", 1, 2)], [(5, 1900)]):
        with pytest.raises(SourceError, match="Item 1"):
            rows(bad)


def test_columns_are_found_or_asked_for() -> None:
    usual = ("text", "body")
    assert choose_column(None, ["id", "Body"], role="text", usual=usual) == "Body"
    assert choose_column("x", ["x", "text"], role="text", usual=usual) == "x"
    with pytest.raises(
        SourceError, match="There is no column 'txt'; the source has: id, year, text; did you mean 'text'"
    ):
        choose_column("txt", ["id", "year", "text"], role="text", usual=usual)
    with pytest.raises(
        SourceError, match=r"Which column holds the text\? The source has: id, year; name it with `text`"
    ):
        choose_column(None, ["id", "year"], role="text", usual=usual)


def test_brackets_in_a_name_are_no_pattern(tmp_path: Path) -> None:
    for name in ("d[1]", "d1"):
        pl.DataFrame({"text": [name], "year": [1900]}).write_parquet(tmp_path / f"{name}.parquet")
    assert rows(tmp_path / "d[1].parquet")["text"].to_list() == ["d[1]"]


def test_missing_values_of_pandas() -> None:
    frame = pd.DataFrame(
        {
            "text": ["a", None, "c"],
            "when": pd.to_datetime(["1921-05-12", None, "1922-01-01"]),
            "n": pd.array([1, None, 3], dtype="Int64"),
            "period": pd.PeriodIndex(["2020Q1", "2020Q2", "2020Q3"], freq="Q"),
            "odd": [object(), {1, 2}, None],
        }
    )
    read = rows(frame)
    assert read["text"].to_list() == ["a", None, "c"]
    assert read["when"].to_list() == [datetime(1921, 5, 12), None, datetime(1922, 1, 1)]
    assert read["n"].to_list() == [1, None, 3]
    with pytest.raises(SourceError, match="two columns named 'a'"):
        open_source(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_hidden_files_and_stores_are_passed_over(tmp_path: Path) -> None:
    for folder in (".git", ".ipynb_checkpoints", "sub"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.csv").write_text("year,text\n1900,word\n")
    (tmp_path / "old.corpus").mkdir()
    (tmp_path / "old.corpus" / "meta.json").write_text('{"kind": "corpus", "version": 1, "files": {}}')
    (tmp_path / "old.corpus" / "documents.parquet").write_text("")
    assert [str(file.relative_to(tmp_path)) for file in open_source(tmp_path).files] == ["sub/a.csv"]


def test_packed_and_utf16_text_files(tmp_path: Path) -> None:
    (tmp_path / "1861.txt.gz").write_bytes(gzip.compress("größer".encode()))
    (tmp_path / "1862.txt").write_text("größer", encoding="utf-16")
    assert rows(tmp_path).select("text", "date").rows() == [("größer", "1861"), ("größer", "1862")]


def test_half_a_surrogate_pair_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "wave \\ud83d", "year": 1900}')
    assert rows(tmp_path / "a.jsonl")["text"].to_list() == ["wave ?"]
    assert rows([("wave \ud83d", 1900)])["text"].to_list() == ["wave ?"]


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9-1900.txt")
    (tmp_path / name).write_text("words")
    assert rows(tmp_path)["file"].to_list() == ["caf\ufffd-1900.txt"]
    with pytest.raises(SourceError, match="There is no file"):
        open_source("x" * 300 + ".csv")


def test_tables_that_polars_cannot_hold_are_refused() -> None:
    texts, years = pa.array(["a"]), pa.array([1900])
    for name, column in {
        "date": years,  # twice
        "zone": pa.array([0], pa.timestamp("us", tz="Mars/Olympus")),
        "decimal": pa.array([1]).cast(pa.decimal256(60, 2)),  # at which Polars panics
        "runs": pa.RunEndEncodedArray.from_arrays([1], [1]),
    }.items():
        table = pa.Table.from_arrays([texts, years, column], names=["text", "date", name])
        with pytest.raises(SourceError, match=r"The Table cannot be read \(.*\); leave out or convert the column"):
            open_source(table)


def test_a_lazy_frame_that_fails_is_the_source_s_fault() -> None:
    lazy = pl.LazyFrame({"text": ["a"], "date": ["1900"]})
    for broken in (lazy.with_columns(pl.col("text").cast(pl.Int64)), pl.scan_csv("/nowhere.csv")):
        with pytest.raises(SourceError, match="The LazyFrame cannot be read"):
            rows(broken)


def test_values_that_tables_cannot_hold_become_text() -> None:
    frame = pd.DataFrame({"text": ["a"] * 3, "date": ["1900", date(1901, 2, 3), 1902]})
    assert rows(frame)["date"].to_list() == ["1900", "1901-02-03", "1902"]
    assert rows([(["a\ud800"], 1900)])["text"].to_list() == [["a?"]]
    assert rows([("a", 10**5_000)])["date"].to_list() == ["<int>"]


@pytest.mark.parametrize("name", ["a.parquet.gz", "a.arrow.zst"])
def test_files_that_are_compressed_inside_are_not_compressed_again(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"whatever")
    with pytest.raises(SourceError, match="compressed as a whole, and its kind is compressed inside; unpack it first"):
        open_source(tmp_path / name)
