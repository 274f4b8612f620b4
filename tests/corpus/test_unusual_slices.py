"""Slices whose text is unlike that of the others are noted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import driftword as dw


def prepared(out: Path, *, misread: float = 0.0, longer: int = 1, footer: str = "") -> str:
    """Return the notes on a corpus of ten years, in the first of which letters are misread, or texts are longer."""
    random, rows = np.random.default_rng(0), []
    words = [f"{a}{b}n{c}" for a in "abcdefg" for b in "eiou" for c in "aeo"]
    for year in range(1900, 1910):
        for _ in range(12):
            text = random.choice(words, 60 * (longer if year == 1900 else 1)).tolist()
            if year == 1900:
                spoilt = random.random(len(text)) < misread
                text = [
                    f"{word}{random.integers(10**6)}x" if bad else word for word, bad in zip(text, spoilt, strict=True)
                ]
            rows.append({"text": " ".join(text) + (f" {footer}" if year >= 1908 else ""), "year": year})
    corpus = dw.prepare(pl.DataFrame(rows), out=out, phrases=False, min_count=5)
    assert len(corpus.report.outside_vocabulary) == 10
    return corpus.summary().get("note", "")


def test_text_that_is_alike_needs_no_note(tmp_path: Path) -> None:
    assert prepared(tmp_path / "c") == ""


def test_misread_text_is_noted(tmp_path: Path) -> None:
    note = prepared(tmp_path / "c", misread=0.2)
    assert "in 1900 up to" in note
    assert "outside the vocabulary, elsewhere about 0%" in note


def test_longer_documents_are_noted(tmp_path: Path) -> None:
    assert "in 1900 documents are 4 times longer or shorter than usual (about 60 words)" in prepared(
        tmp_path / "c", longer=6
    )


def test_a_footer_of_many_documents_is_noted(tmp_path: Path) -> None:
    footer = " ".join(f"printed{c} by{c} order{c}" for c in "abcdefghij")
    note = prepared(tmp_path / "c", footer=footer)
    assert "in 1908, 1909 up to" in note
    assert "of the text is passages that five or more documents share, elsewhere about 0.0%" in note
