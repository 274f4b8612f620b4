from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftword.corpus.encodings import UTF_8, WINDOWS_1252, check_encoding, detect_encoding
from driftword.errors import OptionError


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


def test_names_of_encodings() -> None:
    assert check_encoding("utf8") == check_encoding("UTF-8") == UTF_8
    assert check_encoding("cp1252") == "cp1252"
    for bad in ("klingon", "base64", ""):
        with pytest.raises(OptionError, match=f"`encoding` is '{bad}'; give a text encoding that Python knows"):
            check_encoding(bad)
