from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftword.basics.errors import OptionError, UnknownWordError
from driftword.corpus.slices import Slices
from driftword.corpus.subsampling import AUTO_TOKENS, choose_subsample, keep_probabilities
from driftword.corpus.vocabulary import Vocabulary, choose_words

WORDS = ["", "the", "ship", "boat", "anchor", "zeal"]
COUNTS = np.array([99, 50, 7, 7, 3, 1])


def chosen(**options: object) -> list[str]:
    settings = {"size": 10, "min_count": 1, **options}
    return [WORDS[i] for i in choose_words(WORDS, COUNTS, **settings)]  # type: ignore[arg-type]


def test_most_frequent_first_ties_by_alphabet() -> None:
    assert chosen() == ["the", "boat", "ship", "anchor", "zeal"]
    assert chosen(size=2) == ["the", "boat"]
    assert chosen(min_count=4) == ["the", "boat", "ship"]


def test_stopwords_and_keep() -> None:
    assert chosen(stopwords={"the", "ship"}) == ["boat", "anchor", "zeal"]
    assert chosen(size=2, keep={"zeal", "unicorn"}) == ["the", "zeal"]
    assert chosen(min_count=5, keep={"zeal"}) == ["the", "boat", "ship", "zeal"]


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=50), st.floats(1e-6, 1))
def test_keep_probability_is_the_papers(counts: list[int], t: float) -> None:
    total = sum(counts)
    expected = [min(1.0, (t / (count / total)) ** 0.5) for count in counts]
    np.testing.assert_allclose(keep_probabilities(np.array(counts), t), expected)
    assert (keep_probabilities(np.array(counts), None) == 1).all()


def zipf(total: int) -> np.ndarray:
    share = 1 / np.arange(1, 25_001)
    return (share / share.sum() * total).astype(np.int64) + 1


def test_auto_keeps_what_a_laptop_can_pass_over() -> None:
    assert choose_subsample("auto", zipf(1_000_000)) == 1e-3
    assert choose_subsample("auto", zipf(10**11)) == 1e-5
    counts = zipf(50_000_000)
    t = choose_subsample("auto", counts)
    assert t is not None
    assert 1e-5 < t < 1e-3
    assert (counts * keep_probabilities(counts, t)).sum() == pytest.approx(AUTO_TOKENS, rel=0.05)


def test_rules_for_t() -> None:
    assert choose_subsample(None, COUNTS) is None
    assert choose_subsample("none", COUNTS) is None
    assert choose_subsample("1e-4", COUNTS) == choose_subsample(1e-4, COUNTS) == 1e-4
    for bad in ("abc", 0, -1, 2, "nan"):
        with pytest.raises(OptionError, match=f"`subsample` is {bad!r}; use 'auto'"):
            choose_subsample(bad, COUNTS)


def test_a_part_of_a_phrase_is_recognised_in_its_own_case() -> None:
    words = ("Hafen Schiff", "Sturm")
    counts = np.ones((1, 2), dtype=np.int32)
    vocabulary = Vocabulary(words, Slices.from_labels([1900]), counts, counts)
    with pytest.raises(UnknownWordError, match="'Hafen' is in the vocabulary only as part of phrases"):
        vocabulary.word_id("Hafen")
    assert "Sturm" in vocabulary
    assert "" not in vocabulary
