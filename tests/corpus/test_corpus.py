from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftword as dw
from driftword.basics import randomness
from driftword.basics.errors import OptionError, StoreError, UnknownSliceError, UnknownWordError
from driftword.corpus import sampling


def tiny(**changes: Any) -> dw.Corpus:
    options: dict[str, Any] = {
        "chunk_slice": [0, 0, 1],
        "chunk_split": ["train", "valid", "test"],
        "slices": [1900, 1901],
        **changes,
    }
    words, ids, offsets = (options.pop(name, default) for name, default in [
        ("words", ["a", "b", "c"]), ("ids", [0, 1, 2, 0, 0, 1]), ("offsets", [0, 3, 4, 6])
    ])  # fmt: skip
    return dw.Corpus.from_ids(words, ids, offsets, **options)


def test_ids_go_in_and_come_out(tmp_path: Path) -> None:
    for corpus in (tiny(), tiny(out=tmp_path / "c"), dw.Corpus.open(tmp_path / "c")):
        assert [chunk.tolist() for chunk in corpus.chunks("train")] == [[0, 1, 2]]
        assert [chunk.tolist() for chunk in corpus.chunks("test")] == [[0, 1]]
        assert [chunk.tolist() for chunk in corpus.chunks("valid", at=1900)] == [[0]]
        assert corpus.counts.tolist() == [[2, 1, 1], [1, 1, 0]]
        assert corpus.passages("b")["keyword"].to_list() == ["b", "b"]
        assert repr(corpus) == "Corpus(6 tokens, 3 words, 2 slices 1900 to 1901)"
        with pytest.raises(StoreError, match="has no documents"):
            _ = corpus.documents
    assert tiny().fingerprint == dw.Corpus.open(tmp_path / "c").fingerprint
    assert tiny().fingerprint != tiny(chunk_slice=[0, 1, 1]).fingerprint


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ids": [0, 1, 2, 0, 0, 3]}, "`ids` holds 3; the largest number allowed is 2"),
        ({"ids": [0.5] * 6}, "`ids` must be a one-dimensional array of whole numbers"),
        ({"ids": [0, 1, 2, 0, 0, -1]}, "`ids` holds -1; it must not hold negative numbers"),
        ({"offsets": [0, 3, 2, 6]}, "`offsets` must rise from 0 to the number of ids, 6"),
        ({"offsets": [0, 3, 4, 5]}, "`offsets` must rise"),
        ({"chunk_slice": [0, 0]}, "`chunk_slice` has 2 entries; it must have 3"),
        ({"chunk_slice": [0, 0, 2]}, "`chunk_slice` holds 2"),
        ({"chunk_split": ["train", "dev", "test"]}, "`chunk_split` holds 'dev'"),
        ({"words": ["a", "b", "b"]}, "`words` holds a word twice"),
        ({"slices": ["now", "then"]}, "'now' is not a year, range of years, month or day"),
        ({"slices": [1901, 1900]}, "follow each other in time"),
        ({"raw_counts": [1, 2]}, "`raw_counts` has 2 entries"),
    ],
)
def test_ids_that_contradict_each_other(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        tiny(**changes)


def test_a_pass_sees_its_own_subsample(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    ids = np.concatenate([np.zeros(50_000, dtype=int), random.integers(1, 200, 50_000)])
    random.shuffle(ids)
    words = [f"w{i}" for i in range(200)]
    corpus = dw.Corpus.from_ids(
        words, ids, np.arange(0, 100_001, 1000), chunk_slice=np.zeros(100, int), chunk_split=np.zeros(100, int),
        slices=[1900], subsample=0.01, seed=5,
    )  # fmt: skip
    first, again, second = (np.concatenate(list(corpus.chunks("train", pass_number=p))) for p in (0, 0, 1))
    assert (first == again).all()
    assert first.tolist() != second.tolist()
    # The most frequent word has f = 0.5, so sqrt(0.01 / 0.5) = 14.1% of it stay; the others are all kept.
    share = (first == 0).sum() / 50_000
    assert share == pytest.approx(0.02**0.5, abs=0.01)
    assert (first > 0).sum() == 50_000
    assert corpus.expected_tokens() == pytest.approx(len(first), rel=0.01)
    key = randomness.key(5, "subsample", 0)
    expected = [i for p, i in enumerate(ids) if (randomness.mix(key ^ p) >> 11) * 2.0**-53 < corpus.keep_probability[i]]
    assert first.tolist() == expected


def test_a_sample_has_the_tokens_of_its_chunks(sotu: dw.Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick way to read a split, in parts of any size, gives what reading it chunk by chunk does."""
    for size in (1 << 20, 5_000):
        monkeypatch.setattr(sampling, "_BLOCK", size)
        for split in ("train", "valid"):
            ids, offsets, chunk, position = sotu.sample(split, pass_number=3)
            chunks = list(sotu.chunks(split, pass_number=3))
            assert chunk.tolist() == sotu.chunks_of(split).tolist()
            assert len(offsets) == len(chunks) + 1
            assert np.diff(offsets).tolist() == [len(words) for words in chunks]
            np.testing.assert_array_equal(ids, np.concatenate(chunks))
            np.testing.assert_array_equal(sotu.tokens[position], ids)
            assert (np.diff(position) > 0).all()
    backwards = sotu.chunks_of("valid")[::-1]
    ids, offsets, _, _ = sotu.sample_chunks(backwards, pass_number=3)
    np.testing.assert_array_equal(ids[: offsets[1]], chunks[-1])


def test_unknown_words_slices_and_splits(small: dw.Corpus) -> None:
    assert small.words[small.word_id("Harbour")] == "harbour"
    accents = tiny(words=["don't", "café", "health care"])
    assert [accents.word_id(word) for word in ("Don’t", "cafe\u0301", "Health  Care")] == [0, 1, 2]
    with pytest.raises(UnknownWordError, match="^'harbor' is not in the vocabulary; did you mean 'harbour'"):
        small.word_id("harbor")
    phrases = tiny(words=["a", "health care", "c"])
    with pytest.raises(UnknownWordError, match="'Care' is in the vocabulary only as part of phrases, such as 'health"):
        phrases.word_id("Care")
    with pytest.raises(UnknownSliceError, match="lies outside the slices"):
        list(small.chunks("train", at=1700))
    with pytest.raises(OptionError, match="`split` is 'dev'; choose one of train, valid, test"):
        list(small.chunks("dev"))


def test_a_corpus_is_mapped_and_read_only(sotu: dw.Corpus) -> None:
    opened = dw.Corpus.open(sotu.path)  # type: ignore[arg-type]
    base: Any = opened.tokens
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    assert isinstance(base, mmap.mmap)
    with pytest.raises(ValueError, match="read-only"):
        opened.tokens[0] = 1
    assert opened.fingerprint == sotu.fingerprint
    assert set(opened.info()) >= {"tokens", "words", "slices", "splits", "tokens_a_pass"}
