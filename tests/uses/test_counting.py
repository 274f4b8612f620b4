"""What linguists count: concordances, keywords, frequencies with a test, and the usual measures of collocation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import driftword as dw
from driftword.uses.concordance import sort_key
from driftword.uses.document_counts import DocumentSizes, WordCounts
from driftword.uses.keywords import log_likelihood
from driftword.uses.trends import dispersion

FILLER = [f"word{letter}" for letter in "abcdefghijklmnopqrst"]


def texts(seed: int = 0, *, planted: bool = True) -> pl.DataFrame:
    """Documents of 24 years: *rise* comes with time, *burst* is in one document only, *steady* is everywhere."""
    random = np.random.default_rng(seed)
    rows = []
    for year in range(1900, 1924):
        for part in range(6):
            words = ["rise"] * int(random.poisson(4 if planted and year >= 1912 else 0.6)) + ["steady"] * 3
            words += random.choice(FILLER, 83 - len(words)).tolist()
            words += ["burst"] * (40 if (year, part) == (1918, 2) else int(random.random() < 0.2))
            rows.append({"text": " ".join(random.permutation(words)), "date": str(year), "side": "AB"[part % 2]})
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dw.Corpus:
    out = tmp_path_factory.mktemp("counting") / "c"
    return dw.prepare(texts(), slices="2y", phrases=False, numbers=True, group="side", out=out)


def test_words_of_documents_are_counted(corpus: dw.Corpus) -> None:
    documents = DocumentSizes.of(corpus)
    found = WordCounts.of(corpus, documents)
    table = np.zeros((len(corpus.words), len(documents.number)))
    table[found.word, found.document] = found.times
    expected = np.zeros_like(table)
    for i, chunk in enumerate(corpus.chunk_document):
        np.add.at(expected[:, chunk], corpus.tokens[corpus.offsets[i] : corpus.offsets[i + 1]], 1)
    np.testing.assert_array_equal(table, expected)
    v = corpus.word_index["rise"]
    np.testing.assert_array_equal(documents.counts(corpus, v), expected[v])
    np.testing.assert_array_equal(documents.size, expected.sum(axis=0))
    assert (np.diff(found.word) >= 0).all()


def test_keywords_are_those_of_many_documents(corpus: dw.Corpus) -> None:
    found = dw.keywords(corpus, between=((1900, 1911), (1912, 1923)))
    rise = found.row(by_predicate=pl.col("word") == "rise", named=True)
    assert (rise["part"], rise["q"] <= 0.05) == ("second", True)
    assert found.filter(pl.col("part") == "second")["word"][0] == "rise"
    assert rise["count"] / rise["count_other"] == pytest.approx(2 ** rise["log_ratio"], rel=0.15)
    burst = found.row(by_predicate=pl.col("word") == "burst", named=True)
    assert burst["log_likelihood"] > 10  # which would call it a keyword
    assert burst["q"] > 0.05
    assert (
        burst["dispersion"] > 0.7 > 0.1 > found.row(by_predicate=pl.col("word") == "steady", named=True)["dispersion"]
    )
    assert "steady" not in set(found.filter(pl.col("q") <= 0.05)["word"])
    few = dw.keywords(corpus, between=((1900, 1911), (1912, 1923)), n=1)
    assert few["word"].to_list()[1] == "rise"
    assert few.height == 2
    between_groups = dw.keywords(corpus, groups=["A", "B"])
    assert (between_groups["q"] > 0.05).all()


def test_p_of_keywords_is_right_where_parts_do_not_differ(tmp_path: Path) -> None:
    p = []
    for seed in range(12):
        corpus = dw.prepare(
            texts(seed, planted=False), slices="2y", phrases=False, out=tmp_path / str(seed), subsample=None
        )
        p += dw.keywords(corpus, between=((1900, 1911), (1912, 1923)), seed=seed)["p"].to_list()
    assert len(p) > 250
    assert 0.02 < np.mean(np.array(p) <= 0.05) < 0.085


def test_log_likelihood_and_dispersion_are_those_of_the_books() -> None:
    # 12 of 10,000 words and 30 of 15,000: expected 16.8 and 25.2.
    count, size = np.array([[12.0], [30.0]]), np.array([1e4, 1.5e4])
    words = 12 * math.log(12 / 16.8) + 30 * math.log(30 / 25.2)
    others = 9988 * math.log(9988 / (1e4 - 16.8)) + 14970 * math.log(14970 / (1.5e4 - 25.2))
    assert log_likelihood(count, size)[0] == pytest.approx(2 * (words + others))
    assert log_likelihood(np.array([[0.0], [0.0]]), size)[0] == 0
    # Five parts of equal size with 1, 2, 3, 4 and 5 of 15 occurrences (Gries 2008).
    assert dispersion(np.arange(1.0, 6), np.full(5, 100.0)) == pytest.approx(0.2)
    assert dispersion(np.array([0, 0, 3.0]), np.array([1.0, 1, 2])) == pytest.approx(0.5)


def test_dispersion_of_keywords_is_that_of_the_part(corpus: dw.Corpus) -> None:
    found = dw.keywords(corpus, between=((1900, 1911), (1912, 1923)), function=True)
    documents = DocumentSizes.of(corpus)
    for name in ("rise", "burst", "steady"):
        row = found.row(by_predicate=pl.col("word") == name, named=True)
        late = documents.slice_of >= 6
        here = late if row["part"] == "second" else ~late
        own = documents.counts(corpus, corpus.word_index[name])
        assert row["dispersion"] == pytest.approx(dispersion(own[here], documents.size[here]))
        assert row["documents"] == (own[here] > 0).sum()
        assert row["count"] == own[here].sum()


def test_trends_find_and_date_what_became_more_frequent(corpus: dw.Corpus) -> None:
    found = dw.trends(corpus, ["rise", "steady", "burst"], permutations=199)
    rise, steady, burst = found.rows(named=True)
    assert rise["p"] <= 0.01
    assert rise["change_low"].year <= 1912 <= rise["change_high"].year
    assert rise["ratio_low"] < 4 / 0.6 < rise["ratio_high"]
    assert min(steady["p"], burst["p"]) > 0.05
    assert steady["change"] is None
    every = dw.trends(corpus, permutations=199)
    assert every["word"][0] == "rise"
    assert set(every.filter(pl.col("q") <= 0.05)["word"]) == {"rise"}
    assert dw.trends(corpus, "rise", within="side", permutations=199)["p"][0] <= 0.01


def test_frequency_of_a_corpus_has_intervals(corpus: dw.Corpus) -> None:
    found = dw.frequency(corpus, "rise")
    v = corpus.word_index["rise"]
    counts = np.asarray(corpus.counts)
    np.testing.assert_array_equal(found["count"], counts[:, v])
    np.testing.assert_allclose(found["per_million"], 1e6 * counts[:, v] / counts.sum(axis=1))
    assert (found["low"] <= found["per_million"]).all()
    assert (found["per_million"] <= found["high"]).all()
    assert (found["documents"] <= 12).all()
    assert dw.frequency(str(corpus.path), "rise").equals(found)


def test_lines_of_a_concordance_are_sorted(corpus: dw.Corpus, tmp_path: Path) -> None:
    lines = dw.concordance(corpus, "steady", n=None)
    assert lines.height == 24 * 6 * 3
    assert lines["date"].is_sorted()
    right = dw.concordance(corpus, "steady", n=50, sort="right")
    following = [text.split()[0] if text.split() else "" for text in right["right"]]
    assert following == sorted(following)
    left = dw.concordance(corpus, "steady", sort="left", where={"side": "A"}, at=1900)
    assert set(left["side"]) == {"A"}
    before = [text.split()[-1] if text.split() else "" for text in left["left"]]
    assert before == sorted(before)
    assert sort_key("the Big, old ", "Ship", " sank: it", sort="left") == (["old", "big", "the"], ["sank", "it"])
    many = dw.prepare([("a Ship, a ship, the SHIP", 1900 + i) for i in range(9)], phrases=False, out=tmp_path / "s")
    assert dw.concordance(many, "ship", sort="keyword", n=3)["keyword"].is_sorted()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda c: dw.keywords(c), "give two periods as `between`"),
        (lambda c: dw.keywords(c, between=(1900, 1910), groups=["A", "B"]), "give two periods as `between`"),
        (lambda c: dw.keywords(c, groups=["A", "Z"]), "There is no group 'Z'"),
        (lambda c: dw.keywords(c, between=((1900, 1904), (1905, 1910))), "are in the slice 1904-1905"),
        (lambda c: dw.concordance(c, "steady", sort="up"), "`sort` is 'up'"),
        (lambda c: dw.concordance(c, "stead"), "did you mean 'steady'"),
        (lambda c: dw.trends(c, "stead"), "did you mean 'steady'"),
        (lambda c: dw.frequency(c, "rise", group="A"), "A corpus has no embeddings of groups"),
    ],
)
def test_what_cannot_be_counted_is_said(corpus: dw.Corpus, ask: Any, message: str) -> None:
    with pytest.raises(dw.DriftwordError, match=message):
        ask(corpus)


def test_the_usual_measures_of_collocation(corpus: dw.Corpus) -> None:
    model = dw.fit(corpus, dw.Spec(dim=4, context=4), passes=1)
    found = dw.collocates(model, "steady", between=((1900, 1911), (1912, 1923)), window=2, function=True)
    row = found.filter(pl.col("word") == "rise", pl.col("side") == "after").row(0, named=True)
    late = np.asarray(corpus.counts)[6:].sum(axis=0)
    node, other, all_words = (float(late[corpus.word_index[w]]) for w in ("steady", "rise", "rise"))
    all_words, near = float(late.sum()), 4 * node
    expected = near * other / all_words
    assert row["pmi"] == pytest.approx(math.log2(row["count"] / expected))
    assert row["log_dice"] == pytest.approx(14 + math.log2(2 * row["count"] / (node + other)))
    o = [row["count"], near - row["count"], other - row["count"], all_words - near - other + row["count"]]
    e = [near * other, near * (all_words - other), (all_words - near) * other, (all_words - near) * (all_words - other)]
    g2 = 2 * sum(a * math.log(a / (b / all_words)) for a, b in zip(o, e, strict=True))
    assert row["log_likelihood"] == pytest.approx(g2)
