from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftword.corpus.slices import Slices
from driftword.preparing import document_parts
from driftword.preparing.document_parts import DocumentParts, look_at

SLICES = Slices.from_labels([1900, 1901])


def read(folder: Path, table: pl.DataFrame, borders: list[int]) -> DocumentParts:
    """Return documents in files as reading leaves them."""
    folder.mkdir()
    paths = []
    for number, (begin, end) in enumerate(pairwise([0, *sorted(borders), table.height])):
        paths.append(folder / f"{number}.parquet")
        table[begin:end].write_parquet(paths[-1])
    return DocumentParts(paths, *look_at(paths), text_bytes=int(table["text"].str.len_bytes().sum()))


def documents(inside: list[bool]) -> pl.DataFrame:
    n = len(inside)
    return pl.DataFrame({
        "text": [f"The text of document {i}." for i in range(n)],
        "date": pl.Series([SLICES.first[0] if there else SLICES.first[0].replace(year=1800) for there in inside]),
        "place": ["York", None] * (n // 2) + [None] * (n % 2),
    })  # fmt: skip


@pytest.mark.slow
@given(st.lists(st.booleans(), min_size=1, max_size=25).filter(any), st.integers(1, 200), st.data())
def test_files_of_a_corpus_do_not_depend_on_those_that_were_read(
    tmp_path_factory: pytest.TempPathFactory, inside: list[bool], least: int, data: st.DataObject
) -> None:
    folder, table = tmp_path_factory.mktemp("parts"), documents(inside)
    borders = data.draw(st.lists(st.integers(0, len(inside)), max_size=4))
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document_parts, "LEAST_BYTES", least)
        for name, cuts in (("one", []), ("several", borders)):
            files = {}
            for part in read(folder / name, table, cuts).divide(SLICES, np.array(inside)):
                part.write(folder / f"{name}.parquet")
                files[part.name] = (folder / f"{name}.parquet").read_bytes()
            found.append(files)
    assert found[0] == found[1]
    tables = [pl.read_parquet(content) for content in found[0].values()]
    kept = table.filter(pl.Series(inside)).with_columns(slice=pl.lit(SLICES.labels[0]))
    assert pl.concat(tables).equals(kept.select("text", "date", "slice", "place"))
    heights = {part.height for part in tables}
    assert max(heights) - min(heights) <= 1
    names = list(found[0])
    assert names == (
        ["documents.parquet"] if len(names) == 1 else [f"documents-{i:05}.parquet" for i in range(len(names))]
    )


def test_columns_are_those_of_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    day = pl.Series([SLICES.first[0]])
    tables = [
        pl.DataFrame({"text": "a", "date": day, "age": 5, "none": None}),
        pl.DataFrame({"text": "b", "date": day, "age": "old", "where": "York", "none": None}),
        pl.DataFrame({"text": "c", "date": day, "where": None}),
    ]
    paths = [tmp_path / f"{number}.parquet" for number in range(3)]
    for table, path in zip(tables, paths, strict=True):
        table.write_parquet(path)
    rows, schemas = look_at([*paths, paths[0]])
    assert (rows, len(schemas)) == ([1, 1, 1, 1], 3)
    monkeypatch.setattr(document_parts, "LEAST_BYTES", 1)
    parts = DocumentParts(paths, [1, 1, 1], schemas, text_bytes=3)
    assert parts.columns == ["age", "none", "where"]
    found = []
    for table in parts.divide(SLICES, np.ones(3, dtype=bool)):
        table.write(tmp_path / table.name)
        found.append(pl.read_parquet(tmp_path / table.name))
    schema = {
        "text": pl.String,
        "date": pl.Date,
        "slice": pl.String,
        "age": pl.String,
        "none": pl.Null,
        "where": pl.String,
    }
    assert [table.schema for table in found] == [pl.Schema(schema)] * 3
    assert pl.concat(found).select("age", "where").rows() == [("5", None), ("old", "York"), (None, None)]


def test_a_small_corpus_has_one_file_and_a_large_one_a_limited_number(tmp_path: Path) -> None:
    path = tmp_path / "documents.parquet"
    documents([True] * 20).write_parquet(path)
    for size, expected in ((500, 1), (document_parts.LEAST_BYTES, 1), (1 << 30, 4), (1 << 40, 20)):
        parts = DocumentParts([path], *look_at([path]), text_bytes=size)
        assert len(parts.divide(SLICES, np.ones(20, dtype=bool))) == expected
    many = DocumentParts([path], [10**6], look_at([path])[1], text_bytes=1 << 40)
    assert document_parts.SHARES <= len(many.divide(SLICES, np.ones(10**6, dtype=bool))) <= document_parts.SHARES + 1
