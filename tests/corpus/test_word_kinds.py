"""What kind of word each one is, in English, in German, and in text of two languages."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import driftword as dw
from driftword.corpus.function_words import function_words, is_number_word
from driftword.corpus.word_kinds import KINDS, capital_shares, word_kinds


def corpus_of(texts: list[str], **options: object) -> dw.Corpus:
    rows = pl.DataFrame({"text": texts, "date": [1900 + i % 4 for i in range(len(texts))]})
    return dw.prepare(rows, min_count=1, phrases=False, slices="1y", **options)  # type: ignore[arg-type]


ENGLISH = (
    "The ships of the harbour and the island are in the storm, and we have seen Lisbon by the sea. "
    "However, the twenty-seventh of the ships was not in it, as we were in Lisbon for 3d of all that is m to be. "
    "Storm of the sea: this is it, and by the law with which Alvares sailed on to Covid-19, xvi."
)


def kinds(corpus: dw.Corpus) -> dict[str, str]:
    return dict(zip(corpus.words, word_kinds(corpus), strict=True))


def test_names_numbers_and_fragments_are_told_from_words(tmp_path: object) -> None:
    corpus = corpus_of([ENGLISH] * 12, numbers=True, out=f"{tmp_path}/english.corpus")
    found = kinds(corpus)
    expected = {
        "lisbon": "name", "alvares": "name", "storm": "word", "harbour": "word", "the": "function",
        "however": "function", "twenty-seventh": "number", "xvi": "number", "3d": "fragment", "m": "fragment",
        "covid-19": "name",
    }  # fmt: skip
    assert {word: found[word] for word in expected} == expected
    assert set(found.values()) <= set(KINDS)


def test_capital_letters_at_the_beginning_of_sentences_do_not_count(tmp_path: object) -> None:
    text = "Ships sail. Ships rest! “Ships sink,” we said of ships. Ships: Ships"
    corpus = corpus_of([text] * 5, out=f"{tmp_path}/ships.corpus")
    assert capital_shares(corpus)[corpus.word_index["ships"]] == 0


def test_where_all_nouns_have_capital_letters_no_word_is_a_name(tmp_path: object) -> None:
    text = (
        "Der Richter und die Stadt in den Bergen von dem Hafen zu der Insel: das ist mit sich des Meeres, auf für im "
        "nicht ein eine als auch es an werden aus er hat, kalt, dass ein Schiff, ein Anker und ein Mast tief sind."
    )
    found = kinds(corpus_of([text] * 8, out=f"{tmp_path}/german.corpus"))
    assert "name" not in found.values()
    assert found["und"] == "function"
    assert found["hafen"] == found["kalt"] == "word"


def test_without_texts_names_are_not_known() -> None:
    corpus = dw.Corpus.from_ids(
        ["ship", "the", "lisbon"], [0, 1, 2, 0], [0, 2, 4], chunk_slice=[0, 1], chunk_split=["train", "train"],
        slices=[1900, 1901],
    )  # fmt: skip
    assert np.isnan(capital_shares(corpus)).all()
    assert kinds(corpus)["lisbon"] == "word"


def test_words_of_documents_in_another_language_are_foreign(tmp_path: object) -> None:
    random = np.random.default_rng(0)
    english = [f"noun{chr(97 + i)}{chr(97 + j)}" for i in range(8) for j in range(8)]
    other = [f"mot{chr(97 + i)}{chr(97 + j)}" for i in range(12) for j in range(12)]
    common = [f"the{chr(97 + i)}{chr(97 + j)}" for i in range(10) for j in range(10)]
    texts = []
    for d in range(80):
        content = other if d % 10 == 0 else english
        words = [*random.choice(content, 30), *random.choice(content if d % 10 == 0 else common, 30)]
        random.shuffle(words)
        texts.append(" ".join(words))
    found = kinds(corpus_of(texts, out=f"{tmp_path}/two.corpus"))
    assert {kind for word, kind in found.items() if word.startswith("mot")} == {"foreign"}
    assert {kind for word, kind in found.items() if not word.startswith("mot")} == {"word"}


@pytest.mark.parametrize(
    ("word", "expected"), [("seventy-fifth", True), ("second", False), ("millions", True), ("one-armed", False)]
)
def test_numbers_in_letters(word: str, expected: bool) -> None:
    assert is_number_word(word) is expected


def test_a_language_is_known_by_its_commonest_words() -> None:
    text = "de la le et les des en un du une que est pour qui dans par plus pas au sur ne se ce il"
    french = tuple(text.split(" "))
    assert "toujours" in function_words(french)
    assert "always" not in function_words(french)
    assert not function_words(("ship", "harbour"))
