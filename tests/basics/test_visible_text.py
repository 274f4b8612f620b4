from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftword.basics.visible_text import escape_json, visible, visible_lines

HOSTILE = "\x1b[31m\x1b]0;title\x07\x9b2J\x7f\u202etxt\u2066\r\n\tend"


def is_safe(text: str) -> bool:
    return all(unicodedata.category(letter) not in ("Cc", "Zl", "Zp", "Cs") for letter in text) and not any(
        letter in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" for letter in text
    )


def test_controls_are_shown_as_symbols() -> None:
    assert visible(HOSTILE) == "␛[31m␛]0;title␇\ufffd2J␡txt␍␊␉end"
    assert visible_lines(HOSTILE) == "␛[31m␛]0;title␇\ufffd2J␡txt␍\n\tend"
    for plain in ("don't", "größer", "हिन्दी", "می\u200cخواهم", "שלום\u200f", "👩\u200d🚀"):
        assert visible(plain) == visible_lines(plain) == plain


@given(st.text(st.characters(exclude_categories=[])))
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    assert is_safe(visible(text))
    assert is_safe(visible_lines(text).replace("\n", "").replace("\t", ""))
    assert visible(visible(text)) == visible(text)


@pytest.mark.slow
@given(
    st.recursive(
        st.text(st.characters(exclude_categories=[])), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_stays_exact(value: object) -> None:
    written = escape_json(json.dumps(value, ensure_ascii=False))
    assert is_safe(written)
    assert json.loads(written) == value
