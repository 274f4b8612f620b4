from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftword as dw
from driftword.basics.errors import OptionError, SourceError
from driftword.corpus.options import PrepareOptions
from driftword.corpus.tokens import TokenRule, make_rule, mend


def words(text: str, rule: TokenRule | None = None) -> list[str]:
    rule = rule or TokenRule()
    return [
        word for token in rule.split(pl.Series([text]))[0] if (word := mend(rule.spell(token), Counter().__getitem__))
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Ship's captain.", ["the", "ship's", "captain"]),
        ("don’t 'quote' it", ["don't", "quote", "it"]),
        ("self-determination -- now", ["self-determination", "now"]),
        ("In the U.S. of A., U.N.", ["in", "the", "u.s.", "of", "a", "u.n."]),
        ("covid-19, G20, 1950s; 20-year-old", ["covid-19", "g20", "1950s", "20-year-old"]),
        ("in 1945 and 1,000.50 or 3/4", ["in", "and", "or"]),
        ("ﬁne Ｆｕｌｌ", ["fine", "full"]),
        ("re\u00adform", ["reform"]),
        ("co-\n  operation", ["cooperation"]),
        ("co-\r\noperation", ["cooperation"]),
        ("co\u00ad\noperate", ["cooperate"]),
        ("\ufdfa", ["\u0635\u0644\u0649\u0627\u0644\u0644\u0647\u0639\u0644\u064a\u0647\u0648\u0633\u0644\u0645"]),
        ("Größe CAFÉ cafe\u0301", ["größe", "café", "café"]),
        ("Свобода и мир", ["свобода", "и", "мир"]),
        ("Ἐλευθερία", ["ἐλευθερία"]),
        ("الحرية والسلام", ["الحرية", "والسلام"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("snake_case", ["snake", "case"]),
        ("👍 … — !", []),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_numbers_on_request() -> None:
    assert words("in 1945, 1,000.50", TokenRule(numbers=True)) == ["in", "1945", "1,000.50"]
    assert words("1914-\n1918 \U0001f469\u200d\U0001f33e", TokenRule(numbers=True)) == ["1914-1918"]


def test_text_that_is_split_already_is_left_alone() -> None:
    assert words("New_York 's 1945 !", TokenRule("whitespace")) == ["New_York", "'s", "1945", "!"]


def test_a_function_of_the_users() -> None:
    assert words("a,b,,c", make_rule(PrepareOptions(tokens=lambda text: text.split(",")))) == ["a", "b", "c"]
    for bad in (lambda text: text, lambda text: [1, 2], lambda text: None):
        with pytest.raises(SourceError, match="must return a list of strings"):
            make_rule(PrepareOptions(tokens=bad)).split(pl.Series(["a b"]))
    with pytest.raises(OptionError, match="`tokens` is 'spacy'"):
        PrepareOptions(tokens="spacy")


def test_a_broken_word_is_joined_as_the_corpus_writes_it() -> None:
    for hyphened, joined, expected in ((0, 0, "selfdefence"), (3, 2, "self-defence"), (2, 2, "selfdefence")):
        counts = Counter({"self-defence": hyphened, "selfdefence": joined})
        assert mend("self\ndefence", counts.__getitem__) == expected
    assert mend("whole", Counter().__getitem__) == "whole"


@given(st.text(max_size=200))
def test_tokens_stand_in_the_text_in_order(text: str) -> None:
    """What passages rely on: each token is found behind the one before it, with no word character between."""
    rule = TokenRule(numbers=True)
    tokens, lengths = rule.split(pl.Series([text]))
    assert lengths.tolist() == [len(tokens)]
    end = 0
    for token in tokens:
        begin = text.index(token, end)
        assert not any(rule.split(pl.Series([text[end:begin]]))[0])
        end = begin + len(token)


@given(st.text(max_size=50))
def test_spelling_a_word_again_changes_nothing(text: str) -> None:
    rule = TokenRule()
    for word in words(text):
        assert rule.spell(word) == word


@pytest.mark.parametrize(
    ("tokens", "package", "text", "expected"),
    [
        ("chinese", "jieba", "我们在海上看到一艘船，港口里有风暴。", ["我们", "海上", "港口", "风暴"]),
        ("japanese", "fugashi", "船は港を出て、海に向かった。", ["船", "港", "海"]),
    ],
)
def test_words_without_spaces(tmp_path: Path, tokens: str, package: str, text: str, expected: list[str]) -> None:
    pytest.importorskip(package, exc_type=ImportError)
    corpus = dw.prepare([(text * 4, 1900 + i) for i in range(8)], tokens=tokens, phrases=False, out=tmp_path / "c")
    assert set(expected) < set(corpus.words)
    assert not {"，", "。", "、"} & set(corpus.words)
    line = corpus.passages(expected[-1], n=1).row(0, named=True)
    assert line["keyword"] == expected[-1]
    assert f"{line['left']}{line['keyword']}{line['right']}".strip("…") in text * 4
