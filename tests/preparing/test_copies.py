"""Documents that are copies of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import driftword as dw
from driftword.preparing.copies import LEAST_WORDS, find_copies

Row = dict[str, Any]


def texts(n: int, *, length: int = 80, seed: int = 0) -> list[list[int]]:
    """Return documents of random words."""
    return np.random.default_rng(seed).integers(0, 300, (n, length)).tolist()


def changed(text: list[int], share: float, *, seed: int = 1) -> list[int]:
    """Return a text with this share of its words replaced."""
    random = np.random.default_rng(seed)
    other = random.integers(0, 300, len(text))
    return np.where(random.random(len(text)) < share, other, text).tolist()


def found(documents: list[list[int]]) -> set[tuple[int, int]]:
    """Return which documents are copies of which."""
    offsets = np.r_[0, np.cumsum([len(document) for document in documents])]
    tokens = np.concatenate([np.array(document, dtype=np.uint16) for document in documents])
    return {(copy, first) for copy, first in find_copies(tokens, offsets, np.arange(len(documents))).tolist()}


def jaccard(one: list[int], other: list[int]) -> float:
    """Return the share of runs of five words that two texts have in common: the slow twin."""
    runs = [{tuple(text[i : i + 5]) for i in range(len(text) - 4)} for text in (one, other)]
    return len(runs[0] & runs[1]) / len(runs[0] | runs[1])


def test_copies_are_found_wherever_they_are() -> None:
    documents = texts(200)
    documents += [documents[5], documents[17], documents[5]]
    assert found(documents) == {(200, 5), (201, 17), (202, 5)}
    assert found(texts(500, seed=3)) == set()
    assert found(texts(1)) == set()


def test_a_document_of_several_chunks_is_compared_as_a_whole() -> None:
    documents = [text[:40] for text in texts(6)]
    documents += [documents[1], documents[4]]
    offsets = np.arange(0, 40 * len(documents) + 1, 20)
    of_chunk = np.repeat(np.arange(len(documents)), 2)
    assert find_copies(np.concatenate(documents), offsets, of_chunk).tolist() == [[6, 1], [7, 4]]


@pytest.mark.parametrize("share", [0.01, 0.03, 0.2, 0.5])
def test_near_copies_are_those_of_which_half_is_the_same(share: float) -> None:
    originals = texts(60, length=400)
    others = [changed(text, share, seed=i) for i, text in enumerate(originals)]
    pairs = found([*originals, *others])
    assert all(copy == first + 60 for copy, first in pairs)
    for i in range(60):
        alike = jaccard(originals[i], others[i])
        if abs(alike - 0.5) > 0.15:  # which is an estimate
            assert ((i + 60, i) in pairs) == (alike > 0.5)


def test_short_texts_are_no_copies() -> None:
    short = [list(range(LEAST_WORDS - 1))] * 5
    assert found(short) == set()
    assert len(found([list(range(LEAST_WORDS))] * 5)) == 4


def rows() -> list[Row]:
    """Return texts, each with a copy two years later, and one that has none."""
    words = [f"w{i}" for i in range(60)]
    random = np.random.default_rng(0)
    made = [" ".join(random.choice(words, 90)) for _ in range(30)]
    return [
        {"text": text, "year": 1900 + i % 5 + year, "volume": i // 10} for year in (0, 2) for i, text in enumerate(made)
    ] + [{"text": " ".join(random.choice(words, 90)), "year": 1903, "volume": None}]


def prepared(out: Path, **options: Any) -> dw.Corpus:
    return dw.prepare(pl.DataFrame(rows()), out=out, slices="1y", numbers=True, phrases=False, min_count=1, **options)


def test_prepare_notes_copies_drops_or_keeps_them(tmp_path: Path) -> None:
    one, drop, keep = (prepared(tmp_path / name, copies=name) for name in ("one", "drop", "keep"))
    assert len(one.copies) == one.report.copies == drop.report.copies == 30
    assert keep.report.copies == len(keep.copies) == len(drop.copies) == 0
    assert one.n_tokens == keep.n_tokens == 61 * 90
    assert drop.n_tokens == 31 * 90
    np.testing.assert_array_equal(drop.counts.sum(axis=1), np.bincount(drop.chunk_slice, np.diff(drop.offsets), 7))
    assert (drop.chunk_slice < 5).all()  # the earlier one of two is the original
    assert "30 documents copied from earlier ones" in one.summary()["note"]
    assert "30 documents that are copies" in drop.summary()["left out"]
    assert "copies" not in str(keep.summary())
    dw.fit(drop, dw.Spec(dim=3, context=2), passes=1)


@pytest.mark.slow
def test_copies_are_no_evidence(tmp_path: Path) -> None:
    one, keep = (prepared(tmp_path / name, copies=name) for name in ("one", "keep"))
    counted = []
    for corpus in (one, keep):
        model = dw.fit(corpus, dw.Spec(dim=3, context=2), passes=1)
        counted.append(dw.significance(model, corpus=corpus, permutations=19).sort("word")["documents"].to_numpy())
    assert (counted[0] <= counted[1]).all()
    assert counted[0].sum() < 0.6 * counted[1].sum()


def test_a_unit_of_evidence(tmp_path: Path) -> None:
    corpus = prepared(tmp_path / "c", copies="keep", unit="volume")
    model = dw.fit(corpus, dw.Spec(dim=3, context=2), passes=1)
    table = dw.significance(model, corpus=corpus, permutations=19)
    assert table["documents"].max() == 4  # three volumes, and what is in none
    with pytest.raises(dw.DriftwordError, match="volum"):
        prepared(tmp_path / "d", unit="volum")
    with pytest.raises(dw.OptionError, match="copies"):
        prepared(tmp_path / "e", copies="some")
