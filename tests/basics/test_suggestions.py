"""What was meant, when what was written is not known."""

from __future__ import annotations

import pytest

from driftword.basics.suggestions import closest

WORDS = ["wrath", "wreak", "war", "was", "iraq", "iran", "climate", "late"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [("wra", "war"), ("warr", "war"), ("wr", "war"), ("irak", "iraq"), ("clmiate", "climate"), ("WAR ", "war")],
)
def test_one_slip_of_the_keys_comes_first(written: str, meant: str) -> None:
    assert closest(written, WORDS, n=1) == [meant]


def test_slips_come_in_the_order_in_which_words_are_known() -> None:
    assert closest("wax", WORDS, n=2) == ["war", "was"]
    assert closest("zzzzzz", WORDS, n=2) == []
