"""Files as batches of rows.

CSV and JSON lines are read with Python's own readers, which know the number of the line and survive bytes that cannot
be decoded; Parquet and Arrow with Polars.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

import polars as pl

from driftword.basics.errors import DriftwordError, SourceError
from driftword.basics.polars_faults import POLARS_ERRORS, reason
from driftword.sources import compression, limits
from driftword.sources.column_files import read_conllu, read_vrt
from driftword.sources.csv_files import read_csv
from driftword.sources.json_files import read_json
from driftword.sources.name_dates import NameDates
from driftword.sources.polars_files import DAMAGED, read_arrow, read_parquet
from driftword.sources.remote_files import SourceFile, local_copy, size_of
from driftword.sources.tei_files import read_tei
from driftword.sources.text_streams import ReadingState, batches, open_text, readable_name

FORMATS: Final = (
    "CSV, TSV, JSON lines, TEI (.xml), CoNLL-U, VRT (also .gz, .bz2, .xz and .zst), Parquet, Arrow, or a folder of "
    ".txt files"
)

KINDS: Final = {
    **dict.fromkeys((".csv", ".tsv", ".tab"), "csv"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".ipc", ".feather"), "arrow"),
    **dict.fromkeys((".xml", ".tei"), "tei"),
    **dict.fromkeys((".conllu", ".conll"), "conllu"),
    **dict.fromkeys((".vrt", ".vert"), "vrt"),
    ".txt": "text",
}
#: Kinds of files that may say what each word is.
ANNOTATED: Final = ("tei", "conllu", "vrt")
_Read = TypeVar("_Read")
_UNREADABLE: Final = (*compression.DAMAGED, *POLARS_ERRORS, UnicodeError, OverflowError)


def suffix_of(file: SourceFile) -> str:
    """Return the suffix that tells the kind of a file, without that of its compression."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in compression.SUFFIXES:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def kind_of(file: SourceFile) -> str:
    """Return what a file holds: one of the values of `KINDS`."""
    suffix = suffix_of(file)
    if suffix not in KINDS:
        name = readable_name(str(file))
        raise SourceError(f"'{name}' is not a kind of file that driftword reads; it reads {FORMATS}")
    if KINDS[suffix] in ("parquet", "arrow") and not str(file).lower().endswith(suffix):
        name = readable_name(str(file))
        raise SourceError(f"'{name}' is compressed as a whole, and its kind is compressed inside; unpack it first")
    return KINDS[suffix]


def read_tables(files: Sequence[SourceFile], state: ReadingState, *, several: bool) -> Iterator[pl.DataFrame]:
    """Yield the rows of tables of one kind, file by file; of several, a column names the file of each row."""
    before = 0
    for file in files:
        for frame in _read_file(file, state, _TABLE_READERS[kind_of(file)]):
            if several:
                name = "file_" if "file" in frame.columns else "file"
                frame = frame.with_columns(pl.lit(readable_name(file.name)).alias(name))
            yield frame
            del frame
        before += size_of(file)
        state.bytes_read = before


def _read_file(
    file: SourceFile, state: ReadingState, reader: Callable[[Path, ReadingState], Iterator[_Read]]
) -> Iterator[_Read]:
    """Yield the rows of one file; none if it cannot be read to its end and such files are to be left out."""
    skip = state.skip_bad_files
    try:
        with _copied(file, state) as path:
            if skip:
                tried = replace(state, bad_rows=0, detected_encodings={}, keys=dict(state.keys), nested=set())
                deque(reader(path, tried), maxlen=0)  # all of it first: what comes before the damage is not used
                skip = False
            yield from reader(path, state)
    except SourceError:
        if not skip:
            raise
        state.bad_files.append(readable_name(file.name))
        state.unread.add(str(file))


@contextlib.contextmanager
def _copied(file: SourceFile, state: ReadingState) -> Iterator[Path]:
    """Yield a file on this machine with the content of `file`; turn failures to read it into sentences."""
    try:
        with local_copy(file, state.digests) as path:
            yield path
    except DriftwordError:
        raise
    except _UNREADABLE as error:
        raise SourceError(f"'{readable_name(str(file))}' cannot be read: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    if "InvalidFooter" in str(error):
        return "it seems to be an Arrow stream; save it as an Arrow file or as Parquet"
    if isinstance(error, pl.exceptions.PanicException):
        return DAMAGED
    return reason(error)


def _csv(file: Path, state: ReadingState) -> Iterator[pl.DataFrame]:
    return read_csv(file, state, "\t" if suffix_of(file) in (".tsv", ".tab") else None)


_TABLE_READERS: Final[dict[str, Callable[[Path, ReadingState], Iterator[pl.DataFrame]]]] = {
    "csv": _csv,
    "json": read_json,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "tei": read_tei,
    "conllu": read_conllu,
    "vrt": read_vrt,
}


def read_texts(files: Sequence[SourceFile], root: str, dates: NameDates, state: ReadingState) -> Iterator[pl.DataFrame]:
    """Yield one row per .txt file: its text, the date in its path, and the path below `root`."""
    schema = {"text": pl.String, "date": pl.String, "file": pl.String}
    names = ((file, readable_name(os.path.relpath(str(file), root))) for file in files)
    rows = (
        ((text, dates.find(name), name), len(text)) for file, name in names for text in _read_file(file, state, _text)
    )
    return batches(rows, lambda batch: pl.DataFrame(batch, schema=schema, orient="row"), 200)


def _text(file: Path, state: ReadingState) -> Iterator[str]:
    """Yield the text of a file."""
    with open_text(file, state) as stream:
        text = stream.read(limits.LONGEST_DOCUMENT + 1)
    if len(text) > limits.LONGEST_DOCUMENT:
        raise limits.too_long(f"'{readable_name(str(file))}'")
    yield text
