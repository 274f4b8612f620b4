r"""Text into words.

One regular expression finds the words in the original text, so a word can be
traced back to the characters it came from. Everything else (lower case, Unicode
NFKC, curly apostrophes, soft hyphens) is done once per distinct spelling rather
than once per occurrence, which is what makes it fast.

A word broken at the end of a line is one match, spelled with `BREAK` between its
halves until the whole corpus has been counted: then "co-\noperation" becomes
"cooperation" or "co-operation", whichever the corpus writes more often.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import SourceError
from driftword.corpus.options import CUSTOM, TOKENS, Tokenizer

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


@dataclass(frozen=True)
class TokenRule:
    """How text becomes words."""

    kind: str = "words"  # one of `KINDS`, or "custom"
    numbers: bool = False  # keep tokens without any letter, such as 1945
    custom: Tokenizer | None = None

    def split(self, texts: pl.Series) -> tuple[pl.Series, npt.NDArray[np.int64]]:
        """Return all raw tokens of the texts in one column, and how many each text has.

        Texts are strings, or lists of words for the kind ``"list"``; such lists are stored with spaces between the
        words, so that kind splits strings at white space.
        """
        if texts.dtype == pl.List:
            lists = texts.list.eval(pl.element().filter(pl.element().str.contains(r"\S")))
        elif self.custom is not None:
            try:
                words = [_checked(self.custom(text)) for text in texts]
            except SourceError:
                raise
            except Exception as error:  # an OSError would be reported as one of the disk we write to
                raise SourceError(f"The tokenizer failed: {checks.quoted(str(error))[1:-1]}") from error
            lists = pl.Series("text", words, dtype=pl.List(pl.String))
        else:
            pattern = WORDS if self.kind == "words" else WHITESPACE
            frame = texts.alias("text").to_frame().lazy()
            lists = frame.select(pl.col("text").str.extract_all(pattern)).collect(engine="streaming")["text"]
        lengths = lists.list.len().to_numpy().astype(np.int64)
        return lists.explode(empty_as_null=False), lengths

    def spell(self, raw: str) -> str:
        """Return the spelling a raw token is counted under; empty for one that is dropped."""
        if self.kind != "words":
            return " ".join(raw.split())
        if raw.isascii() and raw.isalpha():  # as most are, and then the rest does nothing else
            return raw.lower()
        word = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", raw).lower())
        if "\n" in word:
            halves = [part.strip(" \t\r\n").rstrip("-\u2010\u00ad") for part in word.split("\n")]
            word = BREAK.join(half for half in halves if half)
        word = word.translate(_PLAIN).replace(" ", "")  # some ligatures are several words
        if self.numbers or any(character.isalpha() for character in word):
            return word
        return ""


def mend(word: str, count: Callable[[str], int]) -> str:
    """Join a word broken at the end of a line as the corpus writes it elsewhere, given a function that counts words."""
    if BREAK not in word:
        return word
    joined, hyphened = word.replace(BREAK, ""), word.replace(BREAK, "-")
    if re.search(rf"\d{BREAK}\d", word):  # 1914-1918
        return hyphened
    return hyphened if count(hyphened) > count(joined) else joined


def make_rule(tokens: str | Tokenizer, *, numbers: bool) -> TokenRule:
    """Check a user's choice of tokens."""
    if callable(tokens):
        return TokenRule(CUSTOM, numbers, tokens)
    return TokenRule(checks.one_of("tokens", tokens, TOKENS), numbers)


def _checked(words: object) -> list[str]:
    tokens = list(words) if isinstance(words, Iterable) and not isinstance(words, str) else [None]
    if not all(isinstance(token, str) for token in tokens):
        raise SourceError("The tokenizer must return a list of strings for each text")
    return [token for token in tokens if token]
