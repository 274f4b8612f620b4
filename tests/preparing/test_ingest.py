from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from mutated_inputs import mutations, try_input

import driftword as dw
from driftword.basics.errors import SourceError

TEXTS = ["The ship left the harbour. " * 20] * 6


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["parquet", "arrow", ""])
@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(TEXTS[:1])])
def test_categories_are_texts(tmp_path: Path, kind: Any, suffix: str) -> None:
    years = pl.Series(["1900", "1901"] * 3, dtype=pl.Categorical)
    frame = pl.DataFrame({"text": pl.Series(TEXTS, dtype=kind), "date": years, "speaker": years})
    path = tmp_path / f"a.{suffix}"
    if suffix:
        (frame.write_parquet if suffix == "parquet" else frame.write_ipc)(path)
    corpus = dw.prepare(path if suffix else frame, phrases=False, out=tmp_path / "out")
    assert corpus.slices.labels == ("1900", "1901")
    assert "harbour" in corpus.words


def test_a_column_without_any_text_is_named(tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": pl.Series([None] * 3, dtype=pl.Null), "date": ["1900"] * 3})
    frame.write_parquet(tmp_path / "a.parquet")
    for source in (frame, tmp_path / "a.parquet"):
        with pytest.raises(SourceError, match="All 3 rows have an empty text; name another column with `text`"):
            dw.prepare(source, out=tmp_path / "out")


@pytest.mark.parametrize("kind", [pl.Int64, pl.Binary, pl.Boolean, pl.Struct({"a": pl.String}), pl.Date, pl.Object])
def test_other_types_are_no_text(tmp_path: Path, kind: Any) -> None:
    frame = pl.DataFrame({"text": pl.Series([None], dtype=kind), "date": ["1900"]})
    with pytest.raises(SourceError, match="Column 'text' holds .*, not text; name another with `text`"):
        dw.prepare(frame, out=tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["\0", "a\0b", "\0row", "\0day", "", "*", "^.*$", "^text$", "\x1b[31m", "values", "=1+1", "é" * 300]
)
def test_columns_may_have_any_name(tmp_path: Path, name: str) -> None:
    frame = pl.DataFrame({"text": TEXTS, "date": ["1900"] * 6, name: ["a"] * 6})
    corpus = dw.prepare(frame, phrases=False, out=tmp_path / "out")
    assert corpus.passages("ship", n=1)[name if name not in ("*", "^.*$", "^text$") else f"{name}_"].to_list() == ["a"]
    named = frame.with_columns(pl.Series(name, TEXTS)).drop("text")
    corpus = dw.prepare(named, text=name, phrases=False, out=tmp_path / "named")
    assert "ship" in corpus.words


def test_times_that_python_cannot_hold_do_not_matter(tmp_path: Path) -> None:
    far = pl.Series([2**62, -(2**62), 0] * 2, dtype=pl.Int64)
    zoned = far.cast(pl.Datetime("ms", "Asia/Tokyo"))
    lists = far.cast(pl.Datetime("us")).reshape((6, 1)).arr.to_list()
    frame = pl.DataFrame({"text": TEXTS, "date": ["1900"] * 6, "seen": zoned, "lists": lists})
    corpus = dw.prepare(frame, phrases=False, out=tmp_path / "out")
    assert corpus.documents.collect()["seen"].null_count() == 4
    with pytest.raises(SourceError, match="row 1: 'outside the years 1 to 9999'"):
        dw.prepare(frame, time="seen", out=tmp_path / "no")


def test_a_unit_that_is_another_is_named(tmp_path: Path) -> None:
    pairs = [(text, 1_600_000_000) for text in TEXTS]
    with pytest.raises(
        SourceError, match='look like seconds since 1970, not microseconds; pass `time_format="seconds"`'
    ):
        dw.prepare(pairs, time_format="microseconds", out=tmp_path / "out")
    with pytest.raises(SourceError, match="look like seconds since 1970, not milliseconds"):
        dw.prepare(pairs, time_format="milliseconds", skip_bad_dates=True, out=tmp_path / "out")
    assert dw.prepare(pairs, time_format="seconds", out=tmp_path / "out").slices.labels == ("2020",)


def test_a_long_date_is_not_stored(tmp_path: Path) -> None:
    pairs = [*((text, "1900") for text in TEXTS), (TEXTS[0], "[" * 60_000)]
    corpus = dw.prepare(pairs, skip_bad_dates=True, phrases=False, out=tmp_path / "out")
    assert corpus.report.bad_date_examples == ((7, "[" * 100),)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_mutated_inputs_end_in_a_corpus_or_a_sentence(tmp_path: Path, seed: int) -> None:
    """`python tests/preparing/mutated_inputs.py --count 5000` tries more."""
    results = set()
    for number, one in zip(range(60), mutations(seed), strict=False):
        folder = tmp_path / str(number)
        folder.mkdir()
        outcome = try_input(one, folder)
        results.add(outcome.result)
        assert outcome.result in ("prepared", "refused"), f"{one.name} {one.options}: {outcome.result}"
    assert results == {"prepared", "refused"}
