"""Vectors of occurrences that a user brings, checked once: from any encoder, in any language."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError, SourceError
from driftword.basics.polars_faults import POLARS_ERRORS
from driftword.corpus import Corpus, Slices
from driftword.corpus.corpus import as_corpus
from driftword.corpus.slices import SliceRule, check_rule, make_slices
from driftword.corpus.tokenized_text import chunks_of
from driftword.models.usage import SCHEMA, Encoding, Usage, check_corpus
from driftword.sources.dates import parse_date

_NEEDED: Final = ("word", "document", "date")
_SLICES: Final = 20  # at most, where nothing says how long they are


def usage(
    occurrences: pl.DataFrame | str | os.PathLike[str],
    vectors: Any,
    *,
    corpus: Corpus | str | os.PathLike[str] | None = None,
    slices: SliceRule | None = None,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> Usage:
    """Bring vectors of occurrences, from any encoder, for the questions that a model answers.

    `significance`, `drift`, `senses` and `evidence` take the result in the place of a model.

    Parameters
    ----------
    occurrences
        What `dw.occurrences` returned; or any table, or its path (Parquet or CSV), with a row for each occurrence and
        the columns word, document (anything that names it) and date (a date, a year, or either as text). Where control
        is true, words show what all words do (see `encode`).
    vectors
        Their vectors, ``(n, K)``, in the same order: an array, or the path of one (``.npy``, or ``.npz`` with a single
        array).
    corpus
        The corpus that `dw.occurrences` read, or its path. Senses and passages need it.
    slices
        Slices of time, as in `prepare`; by default those of the corpus, of the column slice, or 20 with equal text.
    out
        Where to store them; None keeps them in memory.
    overwrite
        Replace vectors at `out`.
    """
    table, rows = _read_table(occurrences), _read_vectors(vectors)
    if rows.ndim != 2 or not rows.shape[1]:
        raise OptionError(f"`vectors` has the shape {rows.shape}; give a row for each occurrence")
    if len(rows) != table.height:
        raise OptionError(
            f"There are {table.height:,} occurrences and {len(rows):,} vectors; give one for each, in the same order"
        )
    if not table.height:
        raise OptionError("There are no occurrences; give at least some of one word")
    if not (finite := np.isfinite(rows).all(axis=1)).all():
        raise OptionError(
            f"{int((~finite).sum()):,} vectors have numbers that are not finite, the first that of row "
            f"{int(np.argmin(finite)):,}; leave these occurrences out, or encode them again"
        )
    made = of_corpus(table, rows, as_corpus(corpus)) if corpus is not None else _of_table(table, rows, slices)
    return made if out is None else made.save(out, overwrite=overwrite)


def of_corpus(table: pl.DataFrame, vectors: Any, corpus: Corpus, encoding: Encoding | None = None) -> Usage:
    """Return vectors of occurrences in a corpus, which says when and in which document each is."""
    if "position" not in table.columns or not table["position"].dtype.is_integer():
        raise OptionError(
            "The occurrences have no column of positions; give what `occurrences` returned, or no `corpus`"
        )
    check_corpus(corpus, table)
    chunk = chunks_of(corpus, table["position"].to_numpy())
    labels = np.array(corpus.slices.labels, dtype=object)[corpus.chunk_slice[chunk]]
    known = table.with_columns(
        pl.Series("document", corpus.chunk_document[chunk], dtype=pl.Int64),
        pl.Series("date", corpus.chunk_day[chunk].astype("datetime64[D]")),
        pl.Series("slice", labels.tolist(), dtype=pl.String),
    )
    return Usage(_complete(known), vectors, corpus.slices, corpus=corpus, encoding=encoding)


def _of_table(table: pl.DataFrame, vectors: Any, rule: SliceRule | None) -> Usage:
    """Return vectors whose table says when and in which document each occurrence is."""
    if missing := [name for name in _NEEDED if name not in table.columns]:
        raise OptionError(
            f"The occurrences have no column {' and no column '.join(missing)}; they need word, document and date"
        )
    if any(table.select(_NEEDED).null_count().row(0)):
        raise OptionError("Some occurrences have no word, document or date; leave them out")
    words = table["word"].cast(pl.String)
    if (words.str.strip_chars() == "").any():
        raise OptionError("Some occurrences have an empty word; leave them out")
    days = _days(table["date"])
    named = table["document"] if table["document"].dtype.is_integer() else table["document"].cast(pl.String)
    known = table.with_columns(word=words, date=days, document=named.rank("dense").cast(pl.Int64) - 1)
    number = days.to_physical().to_numpy().astype(np.int32)
    if rule is None and "slice" in table.columns:
        labels = known.group_by("slice").agg(pl.col("date").min()).sort("date")["slice"].cast(pl.String).to_list()
        slices = Slices.from_labels(labels)
    else:
        distinct = len(np.unique(number))
        slices = make_slices(
            check_rule(rule or f"equal:{min(_SLICES, distinct)}"), number, np.ones(len(number), np.int64)
        )
    inside = slices.find(number)
    if (inside < 0).any():
        raise OptionError(f"{int((inside < 0).sum()):,} occurrences are in no slice; give others as `slices`, or none")
    labels = [slices.labels[t] for t in inside.tolist()]
    return Usage(_complete(known.with_columns(pl.Series("slice", labels, dtype=pl.String))), vectors, slices)


def _complete(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with all columns that vectors are stored with, first, and the others."""
    empty = {"text": "", "begin": 0, "end": 0, "occurrence": 0, "position": -1, "control": False}
    added = [pl.lit(value).alias(name) for name, value in empty.items() if name not in table.columns]
    full = table.with_columns(added).with_columns(pl.col(name).fill_null(value) for name, value in empty.items())
    return full.select(*(pl.col(name).cast(kind) for name, kind in SCHEMA.items()), pl.exclude(*SCHEMA))


def _days(dates: pl.Series) -> pl.Series:
    """Return dates, years, or texts of either, as days: the first one where more than one is meant."""
    if dates.dtype == pl.Date:
        return dates
    if dates.dtype == pl.Datetime:
        return dates.cast(pl.Date)
    texts = dates.cast(pl.String)
    read = {text: parse_date(text) for text in texts.unique()}
    if wrong := [text for text, found in read.items() if found is None]:
        raise OptionError(f"{checks.quoted(min(wrong))} is not a date or a year; write it as 1986 or 1986-09-30")
    return pl.Series("date", [read[text][0] for text in texts], dtype=pl.Date)  # type: ignore[index]


def _read_table(given: Any) -> pl.DataFrame:
    if isinstance(given, pl.DataFrame):
        return given
    path = checks.path("occurrences", given)
    try:
        return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema_length=10_000)
    except (OSError, UnicodeDecodeError, *POLARS_ERRORS) as error:
        raise SourceError(f"'{path}' cannot be read as a table; give a Parquet file, or a CSV file in UTF-8") from error


def _read_vectors(given: Any) -> Any:
    if isinstance(given, str | os.PathLike):
        given = _load(checks.path("vectors", given))
    try:
        rows = np.asarray(given)
    except ValueError as error:  # rows of different lengths
        raise OptionError("The vectors are not all of one length; give an array with a row for each") from error
    if rows.dtype.kind not in "fiu":
        raise OptionError(f"`vectors` holds {rows.dtype}, not numbers; give an array of numbers")
    return rows if rows.dtype == np.float16 else rows.astype(np.float32)


def _load(path: Path) -> Any:
    """Read an array; nothing in the file is run."""
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray):
            return found
        with found:
            names: Sequence[str] = found.files
            if len(names) != 1:
                raise OptionError(f"'{path}' holds {len(names)} arrays; give a file with one, or the array itself")
            return found[names[0]]
    except OptionError:
        raise
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise SourceError(f"'{path}' cannot be read as an array; give a .npy file, or a .npz with one array") from error
