"""The index of a long text: the same positions as a look at all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import driftword as dw
from driftword.basics.errors import StoreError
from driftword.corpus import word_index
from driftword.storage import shards


@pytest.fixture
def short_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_index, "SEGMENT", 100)
    monkeypatch.setattr(shards, "SHARD_VALUES", 256)  # so that segments and files do not end together


def made(out: Path, n: int = 1_000, seed: int = 0, **options: Any) -> dw.Corpus:
    random = np.random.default_rng(seed)
    ids = random.zipf(1.5, n) % 40
    offsets = np.r_[0, np.sort(random.choice(np.arange(1, n), 19, replace=False)), n]
    slices = np.sort(random.integers(0, 3, 20))
    return dw.Corpus.from_ids(
        [f"w{i:02}" for i in range(40)], ids, offsets, chunk_slice=slices, chunk_split=np.zeros(20, dtype=np.int64),
        slices=[1900, 1901, 1902], out=out, **options,
    )  # fmt: skip


def check_all(corpus: dw.Corpus) -> None:
    tokens = np.asarray(corpus.tokens)
    for number, word in enumerate(corpus.words):
        np.testing.assert_array_equal(corpus.positions_of(word), np.flatnonzero(tokens == number))


@pytest.mark.usefixtures("short_segments")
@pytest.mark.parametrize("n", [101, 200, 256, 1_000])
def test_positions_are_those_of_the_text(tmp_path: Path, n: int) -> None:
    corpus = made(tmp_path / "long.corpus", n)
    assert corpus._arrays[word_index.ENDS].shape == (-(-n // 100), 40)
    check_all(corpus)
    check_all(corpus.without_groups())


def test_a_short_text_has_no_index(tmp_path: Path) -> None:
    corpus = made(tmp_path / "short.corpus")
    assert word_index.ENDS not in corpus._arrays
    check_all(corpus)


@pytest.mark.slow
@pytest.mark.usefixtures("short_segments")
def test_prepared_and_extended_text_has_one(tmp_path: Path) -> None:
    texts = pl.DataFrame(
        {"text": ["the ship sails to the port again"] * 40, "date": [1900 + i // 10 for i in range(40)]}
    )
    corpus = dw.prepare(texts, text="text", time="date", min_count=1, out=tmp_path / "a.corpus")
    assert word_index.ENDS in corpus._arrays
    check_all(corpus)
    later = texts.with_columns(date=pl.lit(1904), text=pl.lit("the port of the ship is closed again"))
    dw.fit(corpus, dw.Spec(dim=4), passes=2, out=tmp_path / "a.model")
    longer = dw.extend(tmp_path / "a.model", later, out=tmp_path / "b.model", corpus_out=tmp_path / "b.corpus")
    assert longer is not None
    check_all(dw.Corpus.open(tmp_path / "b.corpus"))


@pytest.mark.usefixtures("short_segments")
def test_an_index_that_is_not_that_of_a_text_is_refused(tmp_path: Path) -> None:
    corpus = made(tmp_path / "long.corpus")
    ends = np.array(corpus._arrays[word_index.ENDS])
    for wrong in (ends[:, ::-1].copy(), ends[:-1], ends.astype(np.int64) - 2_000):
        corpus._arrays[word_index.ENDS] = wrong
        corpus._unchecked.add(word_index.ENDS)
        with pytest.raises(StoreError, match="has other numbers than it should have"):
            corpus.positions_of("w01")
    corpus._arrays[word_index.ENDS], corpus._positions = ends, {}
    corpus._arrays[word_index.POSITIONS] = np.full(1_000, 4_000_000_000, dtype=np.uint32)
    with pytest.raises(StoreError, match="index of words is not as it was written"):
        corpus.positions_of("w01")
