from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import driftword as dw
from driftword.basics.errors import OptionError, UnknownWordError
from driftword.corpus.passages import count_passages, find_in_document, find_in_slices, find_lines
from driftword.corpus.phrases import join_strings
from driftword.corpus.spans import SplitText, find_in_windows, occurrences
from driftword.corpus.tokens import TokenRule


def test_every_line_is_in_its_document(small: dw.Corpus) -> None:
    texts = small.documents.collect()["text"]
    lines = small.passages("harbour", n=40)
    assert len(lines) == 40
    for row in lines.iter_rows(named=True):
        assert row["keyword"].lower() == "harbour"
        assert row["left"] + row["keyword"] + row["right"] in texts[row["document"]]
        assert len(row["left"]) <= 61
        assert len(row["right"]) <= 61
        assert small.slices.index(row["slice"]) == small.slices.index(row["date"])


def test_all_occurrences_are_found_where_few_exist(small: dw.Corpus) -> None:
    word = small.word_id("anchor")
    total = int(small.counts[3, word])
    lines = small.passages("anchor", at=1853, n=10_000)
    assert len(lines) == total > 0
    assert lines.select("document", "left", "right").is_unique().all()
    assert small.passages("anchor", n=10**6).height == int(small.counts[:, word].sum())


def test_lines_come_from_many_documents_and_slices(small: dw.Corpus) -> None:
    lines = small.passages("the", n=10)
    assert lines["slice"].n_unique() == 10
    within = small.passages("the", at=1850, n=6)
    assert within["document"].n_unique() == 6


def test_a_phrase_is_not_its_parts(sotu: dw.Corpus) -> None:
    for row in sotu.passages("security", at=1965, n=30).iter_rows(named=True):
        assert not row["left"].lower().rstrip().endswith("social")
    phrases = sotu.passages("social security", n=20)
    assert set(phrases["keyword"].str.to_lowercase()) == {"social security"}
    assert {"president", "party", "date"} <= set(phrases.columns)


@pytest.mark.slow
def test_words_of_every_kind_are_found(sotu: dw.Corpus) -> None:
    """The k-th token of a word is the k-th place in the text, for frequent, rare, hyphenated and dotted words."""
    for word in (*sotu.words[:5], *sotu.words[-5:], "u.s.", "secretary of the treasury", "world war ii"):
        number = sotu.word_id(word)
        lines = sotu.passages(word, n=5)
        assert len(lines) == min(5, int(sotu.counts[:, number].sum()))
        for found in lines["keyword"]:
            assert " ".join(found.lower().replace("’", "'").split()) == word


def test_a_word_that_is_absent_gives_an_empty_table(small: dw.Corpus, tmp_path: Path) -> None:
    corpus = dw.prepare([("ship", 1900), ("sail", 1901)], out=tmp_path / "c", min_count=1, phrases=False)
    empty = corpus.passages("ship", at=1901)
    assert empty.is_empty()
    assert empty.columns == corpus.passages("ship").columns


def test_asking_wrongly(small: dw.Corpus) -> None:
    with pytest.raises(OptionError, match="`n` is 0; it must be at least 1"):
        small.passages("the", n=0)
    with pytest.raises(OptionError, match="`width` is -1"):
        small.passages("the", width=-1)
    with pytest.raises(UnknownWordError):
        small.passages("unicorn")
    bare = small.passages("harbour", n=2, width=0)
    assert bare.select(pl.col("left", "right").str.strip_chars()).unique().rows() == [("", "")]


@pytest.mark.slow
def test_joining_only_where_needed_finds_what_joining_all_finds(sotu: dw.Corpus) -> None:
    rule = TokenRule()
    connectors = sotu.options.connectors
    for text in sotu.documents.select("text").collect()["text"].gather([3, 120, 230]):
        words = [rule.spell(token) for token in rule.split(pl.Series([text]))[0][:2000]]
        split = SplitText(text, [], words)
        whole = join_strings(words, sotu.phrases.rounds, connectors)
        for target in {name for name, _, _ in whole if name}:
            expected = [(first, last) for name, first, last in whole if name == target]
            assert occurrences(sotu, split, target, 10**9) == expected, target
            assert occurrences(sotu, split, target, 0)[0] == expected[0]


def test_passages_of_documents_with_a_value(sotu: dw.Corpus) -> None:
    lines = sotu.passages("war", n=40, where={"party": "Whig"})
    assert len(lines) == 40
    assert set(lines["party"]) == {"Whig"}
    one = sotu.passages("war", at=1865, n=10**4, where={"president": "Johnson"})
    every = sotu.passages("war", at=1865, n=10**4)
    assert one.height == every.filter(pl.col("president") == "Johnson").height > 0
    for party in ("Pirate", "None"):
        with pytest.raises(OptionError, match=f"No document has '{party}' in the column 'party', which has '"):
            sotu.passages("war", where={"party": party})
    with pytest.raises(OptionError, match="no column 'partei'; did you mean 'party'"):
        sotu.passages("war", where={"partei": "Whig"})


@pytest.mark.slow
def test_many_words_at_once_are_those_of_each(sotu: dw.Corpus) -> None:
    words = ["war", "social security", "u.s.", "energy"]
    numbers = {label: 1 + t % 3 for t, label in enumerate(sotu.slices.labels)}
    found = find_in_slices(sotu, dict.fromkeys(words, numbers), width=40)
    for word in words:
        apart = [sotu.passages(word, at=label, n=n, width=40) for label, n in numbers.items()]
        assert_frame_equal(found[word], pl.concat(apart))


def test_a_corpus_of_ids_has_no_values_to_choose_by() -> None:
    corpus = dw.Corpus.from_ids(["a", "b"], [0, 1] * 10, [0, 20], chunk_slice=[0], chunk_split=["train"], slices=[1900])
    assert find_in_slices(corpus, {"b": {"1900": 3}}, width=20)["b"].height == 3
    with pytest.raises(OptionError, match="made of ids"):
        corpus.passages("a", where={"party": "Whig"})


@pytest.mark.slow
def test_what_is_around_a_word_tells_what_the_whole_text_tells(sotu: dw.Corpus) -> None:
    texts = sotu.documents.select("text").collect()["text"].gather([3, 120, 230]).to_list()
    rule = TokenRule()
    connectors = sotu.options.connectors
    sure = asked = 0
    for i, text in enumerate(texts):
        raw = rule.split(pl.Series([text]))[0].to_list()
        begins, end = [], 0
        for token in raw:
            begins.append(text.index(token, end))
            end = begins[-1] + len(token)
        expected: dict[tuple[int, str], list[tuple[int, int]]] = {}
        for name, first, last in join_strings([rule.spell(token) for token in raw], sotu.phrases.rounds, connectors):
            if name in sotu.word_index:
                expected.setdefault((i, name), []).append((begins[first], begins[last] + len(raw[last])))
        found = find_in_windows(sotu, texts, {key: len(spans) for key, spans in expected.items()})
        assert found == {key: expected[key] for key in found}
        sure, asked = sure + len(found), asked + len(expected)
    assert sure > 0.8 * asked


def test_a_word_written_otherwise_is_found_too(tmp_path: Path) -> None:
    """What looks like the word may be another, and the word may not look like itself: then the whole text tells."""
    text = "A quiet har-\nbour " + "lay below " * 120 + "many harbours and " + "lay above " * 120 + "one harbour ."
    corpus = dw.prepare([(text, 1900), ("harbour harbour", 1901)], out=tmp_path / "c", min_count=1, phrases=False)
    lines = corpus.passages("harbour", at=1900)
    assert lines["keyword"].to_list() == ["har- bour", "harbour"]
    assert lines["right"][0].startswith(" lay below")
    assert lines["left"][1].endswith("one ")


@pytest.mark.parametrize(
    ("column", "values", "asked"),
    [
        ("when", [datetime(2020, 1, 1, 3), None], ["2020-01-01 03:00:00", "2020-01-01 03:00:00.000000"]),
        ("score", [2.0, 3.5], ["2", "2.0"]),
        ("good", [True, False], ["True", "true"]),
        ("long", [timedelta(hours=1), timedelta(days=2)], ["1h"]),
        ("day", [date(2020, 1, 1), date(2021, 1, 1)], ["2020-01-01"]),
    ],
)
def test_documents_are_chosen_by_values_as_people_write_them(
    tmp_path: Path, column: str, values: list[object], asked: list[str]
) -> None:
    rows = {"text": ["one ship", "two ships and one ship"], "year": [1900, 1901], column: values}
    corpus = dw.prepare(pl.DataFrame(rows), out=tmp_path / "c", min_count=1, phrases=False)
    for value in asked:
        found = corpus.passages("ship", where={column: value})
        assert found["left"].to_list() == ["one "]
        assert count_passages(corpus, "ship", at=None, where={column: value}) == 1
    with pytest.raises(OptionError, match=f"No document has '7' in the column '{column}', which has '"):
        corpus.passages("ship", where={column: "7"})
    assert corpus.passages("ship").write_csv().count("ship") == 3


@pytest.mark.slow
def test_a_word_is_found_in_a_whole_document(sotu: dw.Corpus) -> None:
    lines, ranks = find_lines(sotu, "union", at=1865, n=30, width=40)
    for line, rank in zip(lines.iter_rows(named=True), ranks, strict=True):
        row, spans = find_in_document(sotu, line["document"], "union")
        begin, end = spans[rank]
        assert " ".join(row["text"][begin:end].split()) == line["keyword"]
        assert " ".join(row["text"][:begin].split()).endswith(line["left"].strip())
    with pytest.raises(OptionError, match="There is no document 999999"):
        find_in_document(sotu, 999999, "union")
