from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from driftword.basics.errors import SourceError
from driftword.sources import limits
from driftword.sources.text_streams import RowLines

TEXTS = st.text(st.sampled_from("ab\r\n\x0b\x1c\u2028é😀"), max_size=60)


@example("\r\r\n", 0)
@given(TEXTS, st.integers(0, 10))
def test_lines_are_those_of_python(text: str, head: int) -> None:
    def opened() -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", newline="")

    assert list(RowLines(Path("a"), opened())) == list(opened())
    stream = opened()
    first = stream.readline(head)
    assert "".join(RowLines(Path("a"), stream, first)) == text


def test_a_row_that_is_too_long_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LONGEST_DOCUMENT", 1_000)
    for text in ("word" * 100_000, "word\n" * 100_000):
        stream = io.StringIO("first\nsecond\n" + text)
        lines = RowLines(Path("a.csv"), stream)
        with pytest.raises(SourceError, match=r"The row in line 2 of 'a\.csv' has more than 1,000 bytes of text"):
            for number, _ in enumerate(lines, start=1):
                if number == 1:
                    lines.begin_row(2)
        assert stream.tell() <= 3_000


def test_rows_that_are_not_too_long_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LONGEST_DOCUMENT", 1_000)
    lines = RowLines(Path("a.csv"), io.StringIO(("x" * 999 + "\n") * 50))
    for number, line in enumerate(lines, start=1):
        lines.begin_row(number + 1)
        assert len(line) == 1_000
    assert number == 50
