from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import driftword as dw
from driftword.basics.errors import OptionError, SourceError
from driftword.preparing.languages import LanguageSample, detect_languages

ENGLISH = "The committee discussed the report on the harbour and the ships that had come in during the night. "
FRENCH = "Le comité a examiné le rapport sur le port et sur les navires qui étaient arrivés pendant la nuit. "
GERMAN = "Der Ausschuss beriet den Bericht über den Hafen und die Schiffe, die in der Nacht angekommen waren. "
MIXED = [(text, 1900 + i % 3) for i, text in enumerate([ENGLISH] * 20 + [FRENCH] * 6 + [GERMAN] * 4 + ["12 34 ship"])]


def test_languages_are_told() -> None:
    assert detect_languages([ENGLISH, FRENCH, GERMAN, "", "12 34", "自由と平和"]) == [
        "en",
        "fr",
        "de",
        None,
        None,
        "ja",
    ]


def test_documents_of_one_language_are_kept(tmp_path: Path) -> None:
    corpus = dw.prepare(MIXED, out=tmp_path / "c", language="en", min_count=1, phrases=False)
    assert corpus.report.other_languages == {"fr": 6, "de": 4}
    assert corpus.report.documents == 21  # with the one whose language cannot be told
    assert not {"le", "der"} & set(corpus.words)
    assert "10 documents in other languages (6 fr, 4 de)" in corpus.summary()["left out"]
    assert corpus.options.language == "en"
    assert "note" not in corpus.summary() or "languages" not in corpus.summary()["note"]


def test_a_mixed_corpus_is_noticed(tmp_path: Path) -> None:
    corpus = dw.prepare(MIXED, out=tmp_path / "c", min_count=1)
    note = 'the documents seem to be in several languages (en 67%, fr 20%, de 13%); to keep one, pass `language="en"`'
    assert note in corpus.summary()["note"]
    plain = dw.prepare([(ENGLISH, 1900)] * 40 + [(FRENCH, 1900)], out=tmp_path / "d")
    assert "languages" not in plain.summary().get("note", "")  # one stray document is not worth a word


def test_a_sample_covers_all_documents_evenly() -> None:
    sample = LanguageSample()
    for begin in range(0, 10_000, 37):
        sample.add(pl.Series([str(i) for i in range(begin, min(begin + 37, 10_000))]))
    chosen = [int(text) for text in sample.texts]
    assert 200 <= len(chosen) <= 400
    assert {b - a for a, b in pairwise(chosen)} == {32}
    assert chosen[0] == 0
    assert chosen[-1] > 9_900


def test_languages_that_cannot_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="'english' is not a known language; give `language` as a code such as 'en'"):
        dw.prepare(MIXED, out=tmp_path / "c", language="english")
    with pytest.raises(SourceError, match="No document is in the language 'fi' .20 in 'en', 6 in 'fr', 4 in 'de'."):
        dw.prepare(MIXED[:-1], out=tmp_path / "c", language="fi")
    assert list(tmp_path.iterdir()) == []


def test_without_the_detector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid", None)
    with pytest.raises(OptionError, match=r"pip install 'driftword\[language\]'"):
        dw.prepare(MIXED, out=tmp_path / "c", language="en")
    assert dw.prepare(MIXED, out=tmp_path / "c").report.language_sample == {}
