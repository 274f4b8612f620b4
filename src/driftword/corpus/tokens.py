r"""Text into words.

One regular expression finds the words in the original text, so a word can be
traced back to the characters it came from. Everything else (lower case, Unicode
NFKC, curly apostrophes, soft hyphens) is done once per distinct spelling rather
than once per occurrence, which is what makes it fast.

Where a source says what each word is (`sources.annotated`), tokens are the lines of its annotation, and a word is
counted as it is written, as its lemma, or as its lemma with its part of speech. For other text, lemmas may be made of
the spellings (`lemmas`).

A word broken at the end of a line is one match, spelled with `BREAK` between its
halves until the whole corpus has been counted: then "co-\noperation" becomes
"cooperation" or "co-operation", whichever the corpus writes more often.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import SourceError
from driftword.corpus.lemmas import is_known, lemma_of
from driftword.corpus.options import ANNOTATED, CUSTOM, FORM, LEMMA, SEGMENTED, PrepareOptions, Tokenizer
from driftword.corpus.segmenters import segmenter
from driftword.corpus.spellings import with_new_letters
from driftword.sources.annotated_text import FIELDS

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
LINES: Final = r"[^\n]+"
_PLAIN = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-", "\u00ad": None})


@dataclass(frozen=True)
class TokenRule:
    """How text becomes words."""

    kind: str = "words"  # one of `TOKENS`, "annotated", or "custom"
    numbers: bool = False  # keep tokens without any letter, such as 1945
    custom: Tokenizer | None = None
    words: str = FORM  # as what a word is counted
    lemma_language: str | None = None  # of lemmas that are made here
    variants: Mapping[str, str] | None = None  # other spellings, and as what they are counted
    old_letters: bool = False

    @property
    def is_text(self) -> bool:
        """Whether tokens are spelled as words of running text are."""
        return self.kind in ("words", ANNOTATED, *SEGMENTED)

    def split(self, texts: pl.Series) -> tuple[pl.Series, npt.NDArray[np.int64]]:
        """Return all raw tokens of the texts in one column, and how many each text has.

        Texts are strings, or lists of words for the kind ``"list"``; such lists are stored with spaces between the
        words, so that kind splits strings at white space.
        """
        if texts.dtype == pl.List:
            lists = texts.list.eval(pl.element().filter(pl.element().str.contains(r"\S")))
        elif self.kind in SEGMENTED:
            divide = segmenter(self.kind)
            words = [[word for word in divide(text) if not word.isspace()] for text in texts]
            lists = pl.Series("text", words, dtype=pl.List(pl.String))
        elif self.custom is not None:
            try:
                words = [_checked(self.custom(text)) for text in texts]
            except SourceError:
                raise
            except Exception as error:  # an OSError would be reported as one of the disk we write to
                raise SourceError(f"The tokenizer failed: {checks.quoted(str(error))[1:-1]}") from error
            lists = pl.Series("text", words, dtype=pl.List(pl.String))
        else:
            pattern = {"words": WORDS, ANNOTATED: LINES}.get(self.kind, WHITESPACE)
            frame = texts.alias("text").to_frame().lazy()
            lists = frame.select(pl.col("text").str.extract_all(pattern)).collect(engine="streaming")["text"]
        lengths = lists.list.len().to_numpy().astype(np.int64)
        return lists.explode(empty_as_null=False), lengths

    def spell(self, raw: str) -> str:
        """Return the spelling a raw token is counted under; empty for one that is dropped."""
        if not self.is_text:
            return self._lemma(" ".join(raw.split()))
        if self.kind == ANNOTATED:
            form, lemma, tag = (*raw.split(FIELDS), "", "")[:3]
            if self.words == FORM or not lemma:
                spelled = self._respelled(self._spell(form))
                spelled = spelled if self.words == FORM else self._lemma(spelled, form)
            else:
                spelled = self._spell(lemma)
            return f"{spelled}_{tag.lower()}" if spelled and tag and self.words not in (FORM, LEMMA) else spelled
        spelled = self._spell(raw)
        known = self._respelled(spelled)
        return self._lemma(known, raw if known == spelled else None)

    def _respelled(self, spelled: str) -> str:
        """Return the spelling of a word for one that is old, or another."""
        if self.old_letters:
            spelled = with_new_letters(spelled)
        return spelled if self.variants is None else self.variants.get(spelled, spelled)

    def _lemma(self, spelled: str, raw: str | None = None) -> str:
        """Return what a word is counted as, if lemmas are made here; capital letters tell German nouns."""
        if self.lemma_language is None or not spelled:
            return spelled
        if BREAK in spelled:
            joined = spelled.replace(BREAK, "")
            # The corpus counts lemmas, so it cannot tell how such a word is written elsewhere.
            spelled = joined if is_known(joined, self.lemma_language) else spelled.replace(BREAK, "-")
        written = spelled if raw is None or not raw.isalpha() else raw
        return lemma_of(written, self.lemma_language).lower()

    def _spell(self, raw: str) -> str:
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


def make_rule(options: PrepareOptions) -> TokenRule:
    """Return how text becomes words."""
    kind, custom = (CUSTOM, options.tokens) if callable(options.tokens) else (options.tokens, None)
    return TokenRule(
        kind, options.numbers, custom, options.words, options.lemma_language, options.variants, options.old_letters
    )


def _checked(words: object) -> list[str]:
    tokens = list(words) if isinstance(words, Iterable) and not isinstance(words, str) else [None]
    if not all(isinstance(token, str) for token in tokens):
        raise SourceError("The tokenizer must return a list of strings for each text")
    return [token for token in tokens if token]
