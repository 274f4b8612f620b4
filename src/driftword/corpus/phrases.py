"""Frequent collocations become one word: "health care", "secretary of state".

Two words are a phrase if they occur together often enough and their normalised
pointwise mutual information (Bouma 2009) reaches a threshold. Connectors such
as "of" and "the" may occur inside a phrase, never at its ends. Two rounds let
phrases grow: "security council" first, then "un security council".

Which pairs of words are phrases is decided here; `pairs` counts and joins them.
`join_strings` does with words what the kernels do with ids; passages use it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.corpus.pairs import Joins, PairCounts, PairShape

ROUNDS: Final = 2
CONNECTORS: Final = (
    *("a", "an", "the", "of", "and", "or", "for", "to", "in", "on", "at", "by", "with", "from", "as"),
    *("de", "la", "le", "les", "du", "des", "et", "en", "au", "aux", "el", "los", "las", "del", "y"),
    *("da", "do", "dos", "das", "e", "di", "della", "dei"),
    *("und", "der", "den", "dem", "von", "für", "zu", "van", "het"),
)
_NEVER_IN_PHRASES_TEXT = """
    i you he she it we they me him her us them my your his its our their mine yours ours theirs
    myself yourself himself herself itself ourselves themselves one ones
    this that these those there here who whom whose which what when where why how
    am is are was were be been being has have had having do does did done doing
    will would shall should can could may might must ought cannot
    not no nor so if but because while although though than then thus also too very just only even
    all any both each either neither every few many more most much less least other another such some same own
    again ever never always still yet already about into upon between among during before after since until
    through throughout against toward towards over under above below up down out off without within
    it's that's let's i'm we're don't
"""
#: Words that are never part of a phrase: they occur next to anything, so "it is" would be one.
NEVER_IN_PHRASES: Final = frozenset(_NEVER_IN_PHRASES_TEXT.split())


@dataclass(frozen=True)
class PhraseRule:
    """When two words are joined into a phrase.

    Parameters
    ----------
    threshold
        Smallest normalised PMI of a phrase, from 0 (together by chance) to 1 (never apart).
    min_count
        How often a phrase must occur; None for 10 times, or once in a million words if that is more.
    connectors
        Words that may occur inside a phrase but not at its ends.
    never_in_phrases
        Words that are never part of a phrase, besides those of `NEVER_IN_PHRASES`.
    """

    threshold: float = 0.45
    min_count: int | None = None
    connectors: tuple[str, ...] = CONNECTORS
    never_in_phrases: frozenset[str] = frozenset()

    def floor(self, n_tokens: int) -> int:
        """Return how often a phrase must occur in a text of this length."""
        return self.min_count if self.min_count is not None else max(10, round(n_tokens * 1e-6))


@dataclass
class PhraseTable:
    """Phrases in the order they were joined; for each round, scores by first part and by the parts after it."""

    rounds: list[dict[str, dict[tuple[str, ...], float]]] = field(default_factory=list)
    rows: list[tuple[str, list[str], int, int, float]] = field(default_factory=list)

    def table(self) -> pl.DataFrame:
        """Return phrase, its parts, the round that found it, its count and score."""
        schema: dict[str, pl.DataType | type[pl.DataType]] = {
            "phrase": pl.String,
            "parts": pl.List(pl.String),
            "round": pl.Int64,
            "count": pl.Int64,
            "npmi": pl.Float64,
        }
        return pl.DataFrame(self.rows, schema=schema, orient="row")

    @classmethod
    def from_table(cls, table: pl.DataFrame) -> PhraseTable:
        """Read back what `table` returned."""
        phrases = cls([{} for _ in range(ROUNDS)], table.rows())
        for _, parts, number, _, score in phrases.rows:
            phrases.rounds[number - 1].setdefault(parts[0], {})[tuple(parts[1:])] = score
        return phrases


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


def join_strings(
    tokens: Sequence[str],
    rounds: Sequence[Mapping[str, Mapping[tuple[str, ...], float]]],
    connectors: Collection[str],
) -> list[tuple[str, int, int]]:
    """Join phrases in one document; return each word with the positions of its first and last token."""
    inner = frozenset(connectors)
    spans = [(token, i, i) for i, token in enumerate(tokens)]
    for phrases in rounds:
        joined: list[tuple[str, int, int]] = []
        i = 0
        while i < len(spans):
            # Few words begin a phrase; the others cost one lookup each.
            here = _candidate(spans, i, phrases, inner) if spans[i][0] in phrases else None
            if here is not None:
                after = _candidate(spans, here[0], phrases, inner)
                if after is not None and after[1] > here[1]:
                    here = None
            if here is None:
                joined.append(spans[i])
                i += 1
            else:
                j = here[0]
                joined.append((" ".join(span[0] for span in spans[i : j + 1]), spans[i][1], spans[j][2]))
                i = j + 1
        spans = joined
    return spans


def _candidate(
    spans: Sequence[tuple[str, int, int]],
    i: int,
    phrases: Mapping[str, Mapping[tuple[str, ...], float]],
    inner: frozenset[str],
) -> tuple[int, float] | None:
    endings = phrases.get(spans[i][0])
    if endings is None:
        return None
    j = i + 1
    while j < len(spans) and j <= i + 2 and spans[j][0] in inner:
        j += 1
    score = endings.get(tuple([span[0] for span in spans[i + 1 : j + 1]])) if j < len(spans) else None
    return None if score is None else (j, score)
