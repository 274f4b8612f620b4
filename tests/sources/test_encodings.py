from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftword.basics.errors import OptionError
from driftword.sources.encodings import UTF_8, WINDOWS_1252, check_encoding, detect_encoding


def detect(content: bytes) -> str:
    return detect_encoding(io.BytesIO(content))


@given(st.text())
def test_valid_utf8_is_utf8(text: str) -> None:
    content = text.encode("utf-8", errors="ignore")
    assert detect(content) == UTF_8


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz ", min_size=40), st.sampled_from("éàüößñç–“”"))
def test_accented_letters_of_one_byte_are_windows_1252(text: str, letter: str) -> None:
    for content in (text + letter, letter + text, text + letter + text):
        assert detect(content.encode("cp1252")) == WINDOWS_1252


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"", UTF_8),
        ("Größe".encode("utf-16"), "utf-16"),
        ("\ufeffGröße".encode(), UTF_8),
        ("Größe, Straße ".encode() * 9 + b"na\xefve", UTF_8),  # a few broken bytes
        ("Größe".encode()[:-3], UTF_8),  # cut off
        (b"text \x81\x8d", UTF_8),  # bytes that mean nothing in Windows-1252
        (("свобода и мир " * 9).encode("cp1251"), UTF_8),  # another alphabet: not to be guessed
        (b"a" * 300_000 + "ß".encode("cp1252"), WINDOWS_1252),  # a whole block of ASCII first
        (b"a" * ((1 << 18) - 1) + "ß".encode(), UTF_8),  # a letter across two blocks
    ],
)
def test_other_files(content: bytes, encoding: str) -> None:
    assert detect(content) == encoding


ENGLISH = "The ship left the harbour early in the morning, and nobody on board knew where it would go. "


@pytest.mark.parametrize(
    "text",
    [
        "Tous les êtres humains naissent libres et égaux. L’été, la société créée à Orléans lit «\xa0l’œuvre\xa0»…",
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren. „Größe“ – süße Grüße aus Österreich, 5 €.",
        "Todos los seres humanos nacen libres, dotados como están de razón. ¿Qué mañana será, señor? ¡Así no más!",
        "A população das nações e a situação da educação são questões de atenção; não estão à mão.",
        "Hänellä on täällä äiti; he syntyvät vapaina ja kääntävät päätään työpöydän ääressä.",
        "Alle mennesker er født frie og lige i værdighed og rettigheder, og de bør handle i en broderskabets ånd.",
        "Tutti gli esseri umani nascono liberi ed eguali in dignità. Perché così è più libertà, però lì c’è.",
    ],
)
def test_western_european_languages_are_windows_1252(text: str) -> None:
    for content in (text, text.upper(), text * 50, ENGLISH * 50 + text):
        assert detect(content.encode("cp1252", errors="ignore")) == WINDOWS_1252


@pytest.mark.parametrize(
    ("text", "encodings"),
    [
        (
            "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności. Są obdarzeni rozumem.",
            "iso8859-2 cp1250",
        ),
        ("Toate fiinţele umane se nasc libere şi egale în demnitate şi în drepturi.", "iso8859-2 cp1250"),
        ("Sva ljudska bića rađaju se slobodna. Što može učiniti čovjek koji živi.", "iso8859-2 cp1250"),
        ("Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar.", "cp1254"),
        ("Visi žmonės gimsta laisvi ir lygūs savo orumu ir teisėmis. Jiems suteikta sąžinė.", "cp1257"),
        ("Все люди рождаются свободными и равными.", "cp1251 koi8-r iso8859-5 cp866"),
        ("Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι.", "cp1253"),
        ("人人生而自由，在尊严和权利上一律平等。", "gb18030"),
        ("自由 港口", "gb18030"),
        ("人人生而自由，在尊嚴和權利上一律平等。", "big5"),
        ("すべての人間は、生まれながらにして自由であり、カタカナ", "shift_jis euc_jp"),
        ("自由民権運動 東京 港", "shift_jis euc_jp"),
        ("모든 인간은 태어날 때부터 자유로우며", "euc_kr"),
    ],
)
def test_other_languages_are_not_taken_for_western(text: str, encodings: str) -> None:
    for encoding in encodings.split():
        for content in (text, text * 50, ENGLISH + text, ENGLISH * 50 + text, (ENGLISH + text) * 50):
            assert detect(content.encode(encoding)) == UTF_8, encoding


def test_a_long_file_of_ascii_is_not_read_twice() -> None:
    stream = io.BytesIO(b"a" * (20 << 20) + "ß".encode("cp1252"))
    assert detect_encoding(stream) == UTF_8
    assert stream.tell() <= 9 << 20


def test_names_of_encodings() -> None:
    assert check_encoding("utf8") == check_encoding("UTF-8") == UTF_8
    assert check_encoding("cp1252") == "cp1252"
    for bad in ("klingon", "base64", ""):
        with pytest.raises(OptionError, match=f"`encoding` is '{bad}'; give a text encoding that Python knows"):
            check_encoding(bad)
