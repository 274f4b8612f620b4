"""Where in a text a word occurs.

A word is found by splitting the text as it was split when the corpus was made. The whole text is seldom needed for
that: only what looks like the word is split, with the characters around it. If that gives as many occurrences as the
corpus has counted in the document, none is missing.
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
from driftword.sources.annotated_text import FIELDS

_AROUND: Final = 120  # characters on either side of what looks like a word
_MOST_SPELLED: Final = 500_000  # spellings that are cached

Span = tuple[int, int]


class OccurrenceQuery(NamedTuple):
    """Which occurrence of a word in a text is wanted, and how many the text has."""

    text: int
    word: str
    rank: int
    total: int


def locate(
    corpus: TokenizedText,
    texts: Sequence[str],
    queries: Sequence[OccurrenceQuery],
    annotations: Sequence[str] | None = None,
) -> list[Span | None]:
    """Return where occurrences begin and end; None where a user's own function split the texts.

    Of text whose source says what words are, the annotations say where they are as well.
    """
    if corpus.options.tokens == CUSTOM:
        return [None] * len(queries)
    totals = {(query.text, query.word): query.total for query in queries}
    spans = {} if annotations is not None else find_in_windows(corpus, texts, totals)
    last_rank: dict[tuple[int, str], int] = {}
    for query in queries:
        key = (query.text, query.word)
        if key not in spans:
            last_rank[key] = max(query.rank, last_rank.get(key, 0))
    unsure = sorted({text for text, _ in last_rank})
    said = None if annotations is None else [annotations[i] for i in unsure]
    words = dict(zip(unsure, _split(corpus, [texts[i] for i in unsure], said), strict=True))
    for (i, word), rank in last_rank.items():
        spans[i, word] = [words[i].span(*ends) for ends in occurrences(corpus, words[i], word, rank)]
    return [next(iter(spans[query.text, query.word][query.rank : query.rank + 1]), None) for query in queries]


class SplitText:
    """The words of a text, as written and as spelled in the vocabulary."""

    def __init__(self, text: str, raw: list[str], spelled: list[str]) -> None:
        self.text, self.raw, self.spelled = text, raw, spelled
        self._begins: list[int] = []  # of the words asked for so far, and all before them
        self._end = 0  # of the last of those words

    def begins(self, n: int | None = None) -> list[int]:
        """Return where at least the first n words begin: each at the first such letters after the one before."""
        for token in self.raw[len(self._begins) : n]:
            self._begins.append(self.text.index(token, self._end))
            self._end = self._begins[-1] + len(token)
        return self._begins

    def span(self, first: int, last: int) -> Span:
        """Return the characters from one word to another."""
        begins = self.begins(last + 1)
        return begins[first], begins[last] + len(self.raw[last])


def _split(corpus: TokenizedText, texts: Sequence[str], annotations: Sequence[str] | None = None) -> list[SplitText]:
    """Split texts as they were split when the corpus was made."""
    rule = make_rule(corpus.options)
    tokens, lengths = rule.split(pl.Series(texts if annotations is None else annotations, dtype=pl.String))
    raw = tokens.to_list()
    spelled = corpus.spellings
    if len(spelled) > _MOST_SPELLED:  # start again; other threads keep the dictionary they have
        spelled = corpus.spellings = {}

    def count(word: str) -> int:
        number = corpus.word_index.get(word)
        return 0 if number is None else int(corpus.raw_counts[number])

    for token in {token for token in raw if token not in spelled}:
        spelled[token] = mend(rule.spell(token), count)
    ends = np.cumsum(lengths).tolist()
    parts = [raw[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    words = [[spelled[token] for token in part] for part in parts]
    if annotations is not None:  # of which the first field is what is written
        parts = [[token.partition(FIELDS)[0] for token in part] for part in parts]
    return [SplitText(*one) for one in zip(texts, parts, words, strict=True)]


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
        if len(alike) >= total and 4 * _AROUND * len(alike) < len(
            text
        ):  # else splitting the whole text is no more work
            spans[key] = []
            windows += [(key, *_around(text, position), position) for position in alike]
    parts = _split(corpus, [texts[key[0]][begin:end] for key, begin, end, _ in windows])
    barriers = _barriers(corpus)
    for (key, begin, end, position), words in zip(windows, parts, strict=True):
        if key not in spans or position - begin not in words.begins():  # it is the middle of another word
            continue
        first = words.begins().index(position - begin)
        low, high, joined = _join_around(corpus, words.spelled, first, barriers)
        cut = (low == 0 and begin > 0) or (high == len(words.raw) and end < len(texts[key[0]]))
        if cut and words.spelled[first] not in barriers:
            del spans[key]  # a phrase may reach farther
            continue
        for name, a, b in joined:
            if (name, a) == (key[1], first):
                at, last = words.span(a, b)
                spans[key].append((begin + at, begin + last))
    return {key: located for key, located in spans.items() if len(located) == totals[key]}


def occurrences(corpus: TokenizedText, words: SplitText, target: str, rank: int) -> list[tuple[int, int]]:
    """Return the first and last token of a word's occurrences, up to the one numbered `rank`.

    Only the stretches that hold the target, or its first part, need to be joined.
    """
    barriers = _barriers(corpus)
    forms = {target, target.partition(" ")[0]}
    hits: list[tuple[int, int]] = []
    done = 0  # words before this one have been looked at
    for position in [i for i, word in enumerate(words.spelled) if word in forms]:
        if len(hits) > rank:
            break
        if position >= done:
            _, done, joined = _join_around(corpus, words.spelled, position, barriers)
            hits += [(first, last) for name, first, last in joined if name == target]
    return hits


def _barriers(corpus: TokenizedText) -> frozenset[str]:
    """Return the words that join no phrase, so that none reaches over them."""
    return (NEVER_IN_PHRASES | {*corpus.options.keep, ""}) - {*corpus.options.connectors}


def _join_around(
    corpus: TokenizedText, words: Sequence[str], position: int, barriers: frozenset[str]
) -> tuple[int, int, list[tuple[str, int, int]]]:
    """Join the words around a position between two barriers, or a barrier alone.

    Return the ends of this stretch, and its words and phrases, each with its first and last token.
    """
    begin, end = position, position + 1
    if words[position] not in barriers:
        while begin > 0 and words[begin - 1] not in barriers:
            begin -= 1
        while end < len(words) and words[end] not in barriers:
            end += 1
    joined = join_strings(words[begin:end], corpus.phrases.rounds, corpus.options.connectors)
    return begin, end, [(name, begin + first, begin + last) for name, first, last in joined]


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
