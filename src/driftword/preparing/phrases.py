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
from typing import Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from driftword.corpus.phrases import NEVER_IN_PHRASES, ROUNDS, PhraseRule, PhraseTable
from driftword.preparing.pairs import Joins, PairCounts, PairShape


class PhraseIds(Protocol):
    """The word ids of all documents, wherever they are: what finding and joining phrases asks of them."""

    def counts(self, n_ids: int) -> npt.NDArray[np.int64]:
        """Count how often each id occurs."""
        ...

    def count_pairs(self, shape: PairShape, floor: int) -> PairCounts:
        """Count the pairs that may occur at least `floor` times."""
        ...

    def join(self, shape: PairShape, joins: Joins) -> Self:
        """Return the ids with pairs joined into phrases; these are closed."""
        ...


Ids = TypeVar("Ids", bound=PhraseIds)


def find_and_join(ids: Ids, words: list[str], rule: PhraseRule) -> tuple[Ids, PhraseTable]:
    """Find phrases in a text, append them to `words`, and return the ids with them joined."""
    phrases = PhraseTable()
    for _ in range(ROUNDS):
        ids = _round(ids, words, rule, phrases)
    return ids, phrases


def _round(ids: Ids, words: list[str], rule: PhraseRule, phrases: PhraseTable) -> Ids:
    known = {word: number for number, word in enumerate(words)}
    counts = ids.counts(len(words))
    counts[0] = 0  # id 0 is a dropped token: no phrase reaches across it
    n_tokens = int(counts.sum())
    floor = rule.floor(n_tokens)
    eligible = counts >= floor
    eligible[[number for number, word in enumerate(words) if not word]] = False
    eligible[[known[word] for word in NEVER_IN_PHRASES | rule.never_in_phrases if word in known]] = False
    connectors = [known[word] for word in rule.connectors if word in known]
    shape = PairShape.of(eligible, connectors)

    pair, count = ids.count_pairs(shape, floor)

    n_gaps = 1 + len(connectors) + len(connectors) ** 2
    first, second, gap = pair // n_gaps // len(words), pair // n_gaps % len(words), pair % n_gaps
    p_pair = count / n_tokens
    with np.errstate(divide="ignore"):
        mutual = np.log(p_pair * n_tokens / counts[first] * n_tokens / counts[second])
        npmi = mutual / -np.log(p_pair)
    chosen = np.flatnonzero((count >= floor) & (npmi >= rule.threshold))
    chosen = chosen[np.argsort(pair[chosen])]

    phrases.rounds.append({})
    phrase_id = np.empty(len(chosen), dtype=np.uint32)
    rows = []
    for k, c in enumerate(chosen):
        between = [words[connectors[g]] for g in _gap_words(int(gap[c]), len(connectors))]
        parts = [words[first[c]], *between, words[second[c]]]
        phrase = " ".join(parts)
        if phrase not in known:
            known[phrase] = len(words)
            words.append(phrase)
        phrase_id[k] = known[phrase]
        phrases.rounds[-1].setdefault(parts[0], {})[tuple(parts[1:])] = float(npmi[c])
        rows.append((phrase, parts, len(phrases.rounds), int(count[c]), float(npmi[c])))
    phrases.rows += sorted(rows, key=lambda row: (-row[3], row[0], row[1]))

    return ids.join(shape, Joins(pair[chosen], phrase_id, npmi[chosen]))


def join_known(ids: Ids, words: list[str], phrases: PhraseTable, connectors: Sequence[str]) -> Ids:
    """Join phrases that were found in other text; append those that occur to `words`, and return the joined ids."""
    known = {word: number for number, word in enumerate(words)}
    for number in range(1, ROUNDS + 1):
        inner = [known[word] for word in connectors if word in known]
        n_words = len(words)
        gap_of = {words[i]: g for g, i in enumerate(inner)}
        n_gaps = 1 + len(inner) + len(inner) ** 2
        pairs: dict[int, tuple[str, float]] = {}
        for phrase, parts, found_in, _, score in phrases.rows:
            if found_in == number and all(part in known for part in parts):
                gap = _gap([gap_of.get(part, -1) for part in parts[1:-1]], len(inner))
                if gap is not None:
                    code = (known[parts[0]] * n_words + known[parts[-1]]) * n_gaps + gap
                    pairs[code] = (phrase, score)
        codes = sorted(pairs)
        for code in codes:
            phrase = pairs[code][0]
            if phrase not in known:
                known[phrase] = len(words)
                words.append(phrase)
        eligible = np.ones(n_words, dtype=bool)
        eligible[0] = False
        joins = Joins(
            np.array(codes, dtype=np.int64),
            np.array([known[pairs[code][0]] for code in codes], dtype=np.uint32),
            np.array([pairs[code][1] for code in codes], dtype=np.float64),
        )
        ids = ids.join(PairShape.of(eligible, inner), joins)
    return ids


def _gap(between: list[int], n_connectors: int) -> int | None:
    """Return the code of the connectors inside a phrase, given by their numbers; None if there is none for them."""
    if min(between, default=0) < 0 or len(between) > 2:
        return None
    if not between:
        return 0
    if len(between) == 1:
        return 1 + between[0]
    return 1 + (between[0] + 1) * n_connectors + between[1]


def _gap_words(gap: int, n_connectors: int) -> list[int]:
    """Return the connectors that a gap code means."""
    if gap == 0:
        return []
    if gap <= n_connectors:
        return [gap - 1]
    return [(gap - 1) // n_connectors - 1, (gap - 1) % n_connectors]
