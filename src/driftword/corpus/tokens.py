r"""Text into words.

One regular expression finds the words in the original text, so a word can be
traced back to the characters it came from. Everything else (lower case, Unicode
NFKC, curly apostrophes, soft hyphens) is done once per distinct spelling rather
than once per occurrence, which is what makes it fast.

A word broken over a line end is one match, spelled with `BREAK` between its
halves until the whole corpus has been counted: then "co-\noperation" becomes
"cooperation" or "co-operation", whichever the corpus writes more often.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.errors import OptionError, SourceError

BREAK: Final = "\n"
#: Letters with their marks, digits, and the joiners that Persian and Indic scripts use inside words.
_PIECE = r"[\p{L}\p{N}][\p{L}\p{M}\p{N}\u{200c}\u{200d}]*"
_LINE_END = r"[-\u{2010}\u{ad}][ \t]*\r?\n[ \t]*"
WORDS: Final = (
    r"\p{Nd}+(?:[.,]\p{Nd}+)+"  # 1,000.50
    r"|(?:\p{Lu}\.){2,}"  # U.S.
    rf"|{_PIECE}(?:(?:['\u{{2019}}\u{{2bc}}\u{{2010}}\u{{2011}}-]|\u{{ad}}+|{_LINE_END}){_PIECE})*"
)
WHITESPACE: Final = r"\S+"
_PLAIN = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-", "\u00ad": None})

Tokenizer = Callable[[str], list[str]]


@dataclass(frozen=True)
class TokenRule:
    """How text becomes words.

    Parameters
    ----------
    kind
        ``"words"``, ``"whitespace"`` or ``"custom"``.
    numbers
        Keep tokens without any letter, such as 1945.
    custom
        A function from text to its words, for ``"custom"``.
    """

    kind: str = "words"
    numbers: bool = False
    custom: Tokenizer | None = None

    def split(self, texts: pl.Series) -> tuple[pl.Series, npt.NDArray[np.int64]]:
        """Return all raw tokens of the texts in one column, and how many each text has."""
        if self.custom is not None:
            try:
                found = [_checked(self.custom(text)) for text in texts]
            except OSError as error:  # or it would be taken for a fault of the disk we write to
                raise SourceError(f"the tokenizer failed: {error}") from error
            lists = pl.Series("text", found, dtype=pl.List(pl.String))
        else:
            pattern = WHITESPACE if self.kind == "whitespace" else WORDS
            frame = texts.alias("text").to_frame().lazy()
            lists = frame.select(pl.col("text").str.extract_all(pattern)).collect(engine="streaming")["text"]
        lengths = lists.list.len().to_numpy().astype(np.int64)
        return lists.explode(empty_as_null=False), lengths

    def spell(self, raw: str) -> str:
        """Return the spelling a raw token is counted under; empty for one that is dropped."""
        if self.kind != "words":
            return " ".join(raw.split())
        word = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", raw).lower())
        if "\n" in word:
            halves = [part.strip(" \t\r\n").rstrip("-\u2010\u00ad") for part in word.split("\n")]
            word = BREAK.join(half for half in halves if half)
        word = word.translate(_PLAIN).replace(" ", "")  # some ligatures stand for several words
        if self.numbers or any(character.isalpha() for character in word):
            return word
        return ""


class Counts(Protocol):
    """How often a word occurs, as a dictionary tells it."""

    def get(self, word: str, default: int, /) -> int:
        """Return the count of a word."""
        ...


def mend(word: str, counts: Counts) -> str:
    """Join a word that was broken over a line end the way the corpus writes it elsewhere."""
    if BREAK not in word:
        return word
    joined, hyphened = word.replace(BREAK, ""), word.replace(BREAK, "-")
    if re.search(rf"\d{BREAK}\d", word):  # 1914-1918
        return hyphened
    return hyphened if counts.get(hyphened, 0) > counts.get(joined, 0) else joined


def make_rule(tokens: str | Tokenizer, *, numbers: bool) -> TokenRule:
    """Check a user's choice of tokens."""
    if callable(tokens):
        return TokenRule("custom", numbers, tokens)
    if tokens not in ("words", "whitespace"):
        raise OptionError(
            f"tokens '{tokens}' is not known; use 'words', 'whitespace', or a function from text to a list of words"
        )
    return TokenRule(tokens, numbers)


def _checked(words: object) -> list[str]:
    plain = not isinstance(words, str) and isinstance(words, Iterable)
    found = list(words) if plain else [None]  # type: ignore[call-overload]
    if not all(isinstance(word, str) for word in found):
        raise SourceError("the tokenizer must return a list of strings for each text")
    return [word for word in found if word]
