"""Vectors that others made become a model, and the other way round."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec

import driftword as dw
from conftest import toy_model


def test_gensim_and_back(small_model: dw.Model) -> None:
    labels = small_model.slices.labels[:3]
    there = {label: small_model.at(label).to_gensim() for label in labels}
    assert isinstance(there[labels[0]], KeyedVectors)
    word, label = small_model.words[3], labels[1]
    assert there[label][word] == pytest.approx(small_model[word, label])
    assert there[label].get_vecattr(word, "count") == small_model.at(label).counts[3]
    back = dw.from_vectors(there)
    assert back.slices.labels == labels
    assert back.words == small_model.words
    assert back[word, label] == pytest.approx(small_model[word, label])
    nearest = [name for name, _ in there[label].most_similar(word, topn=3)]
    found = [name for name, _ in small_model.at(label, metric="uncentered").most_similar(word, topn=3, min_count=0)]
    assert nearest == found


def test_models_and_dictionaries_are_vectors_too() -> None:
    text = [["the", "ship", "sails"], ["the", "court_house", "sits"]] * 20
    fitted = Word2Vec(text, vector_size=8, min_count=1, workers=1, seed=1)
    model = dw.from_vectors({1990: fitted, 1991: {"ship": np.ones(8), "moon": np.zeros(8)}})
    assert "court house" in model
    assert model["ship", 1991].tolist() == [1] * 8
    assert dw.frequency(model, "moon")["count"].to_list() == [0, None]


def test_slices_that_were_fitted_on_their_own_are_rotated_onto_one_another() -> None:
    random = np.random.default_rng(0)
    base = random.normal(size=(50, 6)).astype(np.float32)
    turn, _ = np.linalg.qr(random.normal(size=(6, 6)))
    moved = base.copy()
    moved[0] = random.normal(size=6)
    words = [f"w{v}" for v in range(50)]
    given = {1990: dict(zip(words, base, strict=True)), 1991: dict(zip(words, moved @ turn, strict=True))}
    before = dw.drift(dw.from_vectors(given), n=None, metric="cosine", skip=0)
    after = dw.drift(dw.from_vectors(given, align=True), n=None, metric="cosine", skip=0)
    assert after["word"][0] == "w0"
    assert after["drift"][1:].max() < 0.1 < before["drift"].min() + 0.5
    assert before["drift"].median() > 0.5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "`vectors` is {}; give the vectors of each slice"),
        ({1990: 3}, "`vectors` of '1990' is 3; give gensim's KeyedVectors, or a dictionary"),
        ({1990: {}}, "holds no vectors"),
        ({1990: {"ship": [1, 2], "court": [1]}}, "vectors of one length"),
        ({1990: {"ship": [1, 2]}, 1991: {"ship": [1]}}, "vectors of different lengths"),
        ({1990: {"a_b": [1], "a b": [2]}}, "holds a word twice"),
        ({1990: {"ship": [np.nan]}}, "not finite, in the vector of 'ship'"),
        ({"spring": {"ship": [1]}}, "'spring' is not a year"),
    ],
)
def test_what_are_no_vectors_is_refused(given: dict[object, object], message: str) -> None:
    with pytest.raises(dw.DriftwordError, match=message):
        dw.from_vectors(given)  # type: ignore[arg-type]


def test_unknown_counts_stay_unknown() -> None:
    made = toy_model(np.ones((2, 3, 4)), np.full((2, 3), -1), ["a", "b", "c"], dim=4, intercept=False).at(1900)
    with pytest.raises(KeyError):
        made.to_gensim().get_vecattr("a", "count")


def hostile(data: bytes, random: np.random.Generator) -> bytes:
    """Return a file with some bytes changed, moved, removed, or put in."""
    changed = bytearray(data)
    for _ in range(int(random.integers(1, 4))):
        at = int(random.integers(0, len(changed) + 1))
        junk = [b"\0", b"\xff", b" ", b"\n", b"9" * 30, b"-1", b"nan", b"1e999", "\u202e".encode(), b" " * 999]
        new = junk[int(random.integers(0, len(junk)))]
        changed[at : at + int(random.integers(0, 20))] = new
    return bytes(changed)


@pytest.mark.parametrize("name", ["a.vec", "a.bin", "gold.tsv"])
def test_hostile_files_are_read_or_refused(name: str, tmp_path: Path, small_model: dw.Model) -> None:
    path, random = tmp_path / name, np.random.default_rng(0)
    if name == "gold.tsv":
        path.write_text("word\tchange_graded\tchange_binary\n" + "".join(f"w{i}\t0.{i}\t{i % 2}\n" for i in range(9)))
    else:
        form = {"a.vec": "word2vec", "a.bin": "word2vec-binary"}[name]
        written = dw.export(small_model, out=tmp_path / "vectors", format=form, at=["1850"])
        file = written if written.is_file() else next(written.iterdir())
        path.write_bytes(file.read_bytes())
    whole = path.read_bytes()
    read: Any = dw.read_gold if name == "gold.tsv" else lambda path: dw.read_word2vec({1850: path})
    read(path)
    refused = 0
    for _ in range(300):
        path.write_bytes(hostile(whole, random))
        try:
            read(path)
        except dw.DriftwordError as error:
            refused += 1
            assert str(error)
    assert refused > 20


@pytest.mark.parametrize("name", ["a.vec", "a.bin"])
def test_vectors_that_never_end_or_never_come_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"3 2\n" + b"x" * 100_000_000)  # which is one word
    with pytest.raises(dw.SourceError, match="is not in word2vec's format"):
        dw.read_word2vec({1990: path})
    path.write_bytes(b"9 9\n")
    os.truncate(path, 1 << 40)
    with pytest.raises(dw.SourceError, match="is not in word2vec's format"):
        dw.read_word2vec({1990: path})
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(dw.SourceError, match="it is not a file"):
        dw.read_word2vec({1990: path})
