"""Frequent collocations become one word: "health care", "secretary of state".

Two words are a phrase if they occur together often enough and their normalised
pointwise mutual information (Bouma 2009) reaches a threshold. Connectors such
as "of" and "the" may occur inside a phrase, never at its ends. Two rounds let
phrases grow: "security council" first, then "un security council".

Which pairs of words are phrases is decided here; `pairs` counts and joins them.
`join_strings` of `corpus.phrases` does with words what the kernels do with ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from driftword.corpus.phrases import NEVER_IN_PHRASES, ROUNDS, PhraseRow, PhraseRule, PhraseTable
from driftword.preparing.pairs import Joins, PairShape
from driftword.preparing.text_stages import WordIds

Ids = TypeVar("Ids", bound=WordIds)


def find_and_join(ids: Ids, words: list[str], rule: PhraseRule) -> tuple[Ids, PhraseTable]:
    """Find phrases in a text, append them to `words`, and return the ids with them joined."""
    phrases = PhraseTable()
    for number in range(1, ROUNDS + 1):
        ids, rows = _find_and_join_once(ids, words, rule, number)
        phrases.rows += sorted(rows, key=lambda row: (-row[3], row[0], row[1]))
    return ids, phrases


def _find_and_join_once(ids: Ids, words: list[str], rule: PhraseRule, number: int) -> tuple[Ids, list[PhraseRow]]:
    """Do one round; return the ids, and the rows of the phrases that were found in it."""
    known = {word: number for number, word in enumerate(words)}
    counts = ids.counts(len(words))
    counts[0] = 0  # id 0 is a dropped token: no phrase reaches across it
    n_tokens = int(counts.sum())
    floor = rule.floor(n_tokens)
    eligible = counts >= floor
    eligible[[number for number, word in enumerate(words) if not word]] = False
    eligible[[known[word] for word in NEVER_IN_PHRASES | rule.never_in_phrases if word in known]] = False
    codes = _Codes(words, [known[word] for word in rule.connectors if word in known])
    shape = PairShape.of(eligible, codes.connectors)

    pair, count = ids.count_pairs(shape, floor)

    first, second, gap = codes.divide(pair)
    p_pair = count / n_tokens
    with np.errstate(divide="ignore"):
        mutual = np.log(p_pair * n_tokens / counts[first] * n_tokens / counts[second])
        npmi = mutual / -np.log(p_pair)
    chosen = np.flatnonzero((count >= floor) & (npmi >= rule.threshold))
    chosen = chosen[np.argsort(pair[chosen])]

    rows = []
    for c in chosen:
        parts = [words[first[c]], *codes.between(int(gap[c])), words[second[c]]]
        rows.append((" ".join(parts), parts, number, int(count[c]), float(npmi[c])))
    joins = Joins(pair[chosen], _give_ids([row[0] for row in rows], words, known), npmi[chosen])
    return ids.join(shape, joins), rows


def join_known(ids: Ids, words: list[str], phrases: PhraseTable, connectors: Sequence[str]) -> Ids:
    """Join phrases that were found in other text; append those that occur to `words`, and return the joined ids."""
    known = {word: number for number, word in enumerate(words)}
    for number in range(1, ROUNDS + 1):
        codes = _Codes(words, [known[word] for word in connectors if word in known])
        pairs: dict[int, tuple[str, float]] = {}
        for phrase, parts, found_in, _, score in phrases.rows:
            if found_in == number and all(part in known for part in parts):
                code = codes.code(known[parts[0]], parts[1:-1], known[parts[-1]])
                if code is not None:
                    pairs[code] = (phrase, score)
        eligible = np.ones(len(words), dtype=bool)
        eligible[0] = False
        in_order = sorted(pairs)
        joins = Joins(
            np.array(in_order, dtype=np.int64),
            _give_ids([pairs[code][0] for code in in_order], words, known),
            np.array([pairs[code][1] for code in in_order], dtype=np.float64),
        )
        ids = ids.join(PairShape.of(eligible, codes.connectors), joins)
    return ids


def _give_ids(phrases: Sequence[str], words: list[str], known: dict[str, int]) -> npt.NDArray[np.uint32]:
    """Append the phrases that are new to the words; return the ids of all of them."""
    for phrase in phrases:
        if phrase not in known:
            known[phrase] = len(words)
            words.append(phrase)
    return np.array([known[phrase] for phrase in phrases], dtype=np.uint32)


class _Codes:
    """The codes of pairs: ``(first * n_words + second) * n_gaps + gap``, where the gap tells what is between them."""

    def __init__(self, words: Sequence[str], connectors: Sequence[int]) -> None:
        self.connectors = connectors
        self._names = [words[number] for number in connectors]
        self._n_words, n = len(words), len(connectors)
        self._n_gaps = 1 + n + n**2

    def divide(self, pair: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], ...]:
        """Return the first word, the second word and the gap of each pair."""
        return pair // self._n_gaps // self._n_words, pair // self._n_gaps % self._n_words, pair % self._n_gaps

    def between(self, gap: int) -> list[str]:
        """Return the connectors that a gap stands for."""
        n = len(self._names)
        if gap == 0:
            return []
        numbers = [gap - 1] if gap <= n else [(gap - 1) // n - 1, (gap - 1) % n]
        return [self._names[number] for number in numbers]

    def code(self, first: int, between: Sequence[str], second: int) -> int | None:
        """Return the code of a pair; None where what is between them is not one or two connectors, or nothing."""
        number = {name: i for i, name in enumerate(self._names)}
        if len(between) > 2 or not set(between) <= set(number):
            return None
        gap = 0
        for name in between:
            gap = 1 + number[name] + gap * len(self._names)
        return (first * self._n_words + second) * self._n_gaps + gap
