"""Where in a text a word occurs.

A word is found by splitting the text as it was split when the corpus was made. The whole text is seldom needed for
that: only what looks like the word is split, with the characters around it. If that gives as many occurrences as the
corpus has counted in the document, they are all of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from driftword.corpus.options import CUSTOM
from driftword.corpus.phrases import NEVER_IN_PHRASES, join_strings
from driftword.corpus.tokenized_text import TokenizedText
from driftword.corpus.tokens import make_rule, mend

_AROUND: Final = 120  # characters on either side of what looks like a word
_MOST_SPELLED: Final = 500_000  # spellings that are cached

Span = tuple[int, int]


class OccurrenceQuery(NamedTuple):
    """Which occurrence of a word in a text is wanted, and how many the text has."""

    text: int
    word: str
    rank: int
    total: int


def locate(corpus: TokenizedText, texts: Sequence[str], queries: Sequence[OccurrenceQuery]) -> list[Span | None]:
    """Return where occurrences begin and end; None where a user's own function split the texts."""
    if corpus.options.tokens == CUSTOM:
        return [None] * len(queries)
    spans = find_in_windows(corpus, texts, {(query.text, query.word): query.total for query in queries})
    most: dict[tuple[int, str], int] = {}
    for query in queries:
        key = (query.text, query.word)
        if key not in spans:
            most[key] = max(query.rank, most.get(key, 0))
    unsure = sorted({text for text, _ in most})
    words = dict(zip(unsure, _split(corpus, [texts[i] for i in unsure]), strict=True))
    spans |= {(i, word): find_in_text(corpus, words[i], word, rank) for (i, word), rank in most.items()}
    return [next(iter(spans[query.text, query.word][query.rank : query.rank + 1]), None) for query in queries]


class SplitText:
    """The words of a text, as written and as spelled in the vocabulary."""

    def __init__(self, text: str, raw: list[str], spelled: list[str]) -> None:
        self.text, self.raw, self.spelled = text, raw, spelled
        self._begins: list[int] = []  # of the words asked for so far, and all before them

    def begins(self, end: int | None = None) -> list[int]:
        """Return where at least the words before `end` begin: at the first such letters after the one before each."""
        begins, index = self._begins, self.text.index
        at = begins[-1] + len(self.raw[len(begins) - 1]) if begins else 0
        for token in self.raw[len(begins) : end]:
            at = index(token, at)
            begins.append(at)
            at += len(token)
        return begins

    def places(self, word: str) -> list[int]:
        """Return which words of the text are spelled so."""
        places: list[int] = []
        try:
            while True:
                places.append(self.spelled.index(word, places[-1] + 1 if places else 0))
        except ValueError:
            return places


def _split(corpus: TokenizedText, texts: Sequence[str]) -> list[SplitText]:
    """Split texts as they were split when the corpus was made."""
    rule = make_rule(corpus.options.tokens, numbers=corpus.options.numbers)
    tokens, lengths = rule.split(pl.Series(texts, dtype=pl.String))
    raw = tokens.to_list()
    spelled = corpus.spellings
    if len(spelled) > _MOST_SPELLED:  # start again; other threads keep the dictionary they have
        spelled = corpus.spellings = {}
    counts = _Counts(corpus)
    for token in {token for token in raw if token not in spelled}:
        spelled[token] = mend(rule.spell(token), counts)
    ends = np.cumsum(lengths).tolist()
    parts = [raw[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    return [SplitText(text, part, [spelled[token] for token in part]) for text, part in zip(texts, parts, strict=True)]


def find_in_text(corpus: TokenizedText, words: SplitText, word: str, rank: int) -> list[Span]:
    """Find the occurrences of a word up to the one numbered `rank`, in the whole text."""
    hits = occurrences(corpus, words, word, rank)
    begins = words.begins(hits[-1][1] + 1) if hits else []
    return [(begins[first], begins[last] + len(words.raw[last])) for first, last in hits]


def find_in_windows(
    corpus: TokenizedText, texts: Sequence[str], totals: Mapping[tuple[int, str], int]
) -> dict[tuple[int, str], list[Span]]:
    """Find all occurrences of words in texts from the characters around each; uncertain words are left out."""
    spans: dict[tuple[int, str], list[Span]] = {}
    windows: list[tuple[tuple[int, str], int, int, int]] = []  # whose, its ends, and what looks like the word
    lowered = {i: texts[i].lower() for i in {i for i, _ in totals}}
    patterns = {word: _pattern(word) for word in {word for _, word in totals}}
    for key, total in totals.items():
        text = texts[key[0]]
        if len(text) != len(lowered[key[0]]):  # some letter has a longer small form, so positions differ
            continue
        alike = [match.start() for match in patterns[key[1]].finditer(lowered[key[0]])]
        if len(alike) >= total and 4 * _AROUND * len(alike) < len(text):  # or the whole text is no more work
            spans[key] = []
            windows += [(key, *_around(text, position), position) for position in alike]
    parts = _split(corpus, [texts[key[0]][begin:end] for key, begin, end, _ in windows])
    connectors, barriers = _connectors(corpus), _barriers(corpus)
    for (key, begin, end, position), words in zip(windows, parts, strict=True):
        text = texts[key[0]]
        begins = [begin + at for at in words.begins()]
        if key not in spans or position not in begins:  # it is the middle of another word
            continue
        first = last = begins.index(position)
        if words.spelled[first] not in barriers:
            low, high = _stretch(words.spelled, first, barriers)
            if (low == 0 and begin > 0) or (high == len(words.raw) and end < len(text)):
                del spans[key]  # a phrase may reach farther
                continue
            joined = join_strings(words.spelled[low:high], corpus.phrases.rounds, connectors)
            last = next((low + b for name, a, b in joined if low + a == first and name == key[1]), -1)
        elif words.spelled[first] != key[1]:
            continue
        if last >= 0:
            spans[key].append((begins[first], begins[last] + len(words.raw[last])))
    return {key: located for key, located in spans.items() if len(located) == totals[key]}


def occurrences(corpus: TokenizedText, words: SplitText, target: str, rank: int) -> list[tuple[int, int]]:
    """Return the first and last token of a word's occurrences, up to the one numbered `rank`.

    No phrase reaches over a word that joins none, so only the stretches between such words that hold the
    target, or its first part, need to be joined.
    """
    connectors, barriers = _connectors(corpus), _barriers(corpus)
    hits: list[tuple[int, int]] = []
    done = 0  # words before this one have been looked at
    for position in sorted(i for form in {target, target.partition(" ")[0]} for i in words.places(form)):
        if len(hits) > rank:
            break
        if position < done:
            continue
        if words.spelled[position] in barriers:
            hits += [(position, position)] if words.spelled[position] == target else []
            continue
        begin, done = _stretch(words.spelled, position, barriers)
        joined = join_strings(words.spelled[begin:done], corpus.phrases.rounds, connectors)
        hits += [(begin + first, begin + last) for name, first, last in joined if name == target]
    return hits


def _stretch(words: Sequence[str], position: int, barriers: frozenset[str]) -> tuple[int, int]:
    """Return the ends of the words around a position that a phrase may be part of."""
    begin = end = position
    while begin > 0 and words[begin - 1] not in barriers:
        begin -= 1
    while end < len(words) and words[end] not in barriers:
        end += 1
    return begin, end


def _connectors(corpus: TokenizedText) -> frozenset[str]:
    return frozenset(corpus.options.connectors)


def _barriers(corpus: TokenizedText) -> frozenset[str]:
    """Return the words that join no phrase."""
    return (NEVER_IN_PHRASES | frozenset(corpus.options.keep) | {""}) - _connectors(corpus)


def _around(text: str, position: int) -> Span:
    """Return the ends of the characters around a position, at spaces if possible."""
    begin, end = max(position - _AROUND, 0), min(position + _AROUND, len(text))
    if begin > 0:
        begin = text.find(" ", begin, position) + 1 or begin
    if end < len(text):
        last = text.rfind(" ", position, end)
        end = last if last > position else end
    return begin, end


def _pattern(word: str) -> re.Pattern[str]:
    """Return what the first part of a word may look like in a text in small letters."""
    forms = {"'": "['\u2019\u02bc]", "-": "[-\u2010\u2011]"}
    return re.compile("".join(forms.get(c, re.escape(c)) for c in word.partition(" ")[0].lower()))


class _Counts:
    """Total counts by word, as `mend` asks for them."""

    def __init__(self, corpus: TokenizedText) -> None:
        self._corpus = corpus

    def get(self, word: str, default: int = 0) -> int:
        number = self._corpus.word_index.get(word)
        return default if number is None else int(self._corpus.raw_counts[number])
