"""Frequent collocations that count as one word, such as "health care", and how they are joined in a text.

`preparing.phrases` finds them in a corpus; what is here is kept with it, so that a passage is split as the text was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Final

import polars as pl

from driftword.corpus.options import CONNECTORS, PHRASE_THRESHOLD

ROUNDS: Final = 2
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
    """When two words are joined into a phrase."""

    threshold: float = (
        PHRASE_THRESHOLD  # smallest normalised PMI of a phrase, from 0 (together by chance) to 1 (never apart)
    )
    min_count: int | None = None  # how often it must occur; None for 10 times, or once in a million words if more
    connectors: tuple[str, ...] = CONNECTORS  # words that may occur inside a phrase but not at its ends
    never_in_phrases: frozenset[str] = frozenset()  # besides those of `NEVER_IN_PHRASES`

    def floor(self, n_tokens: int) -> int:
        """Return how often a phrase must occur in a text of this length."""
        return self.min_count if self.min_count is not None else max(10, round(n_tokens * 1e-6))


#: A phrase, its parts, the round that found it, its count and its score.
PhraseRow = tuple[str, list[str], int, int, float]


@dataclass
class PhraseTable:
    """Phrases in the order they were joined."""

    SCHEMA: ClassVar[Mapping[str, Any]] = {
        "phrase": pl.String, "parts": pl.List(pl.String), "round": pl.Int64, "count": pl.Int64, "npmi": pl.Float64,
    }  # fmt: skip

    rows: list[PhraseRow] = field(default_factory=list)

    @cached_property
    def rounds(self) -> list[dict[str, dict[tuple[str, ...], float]]]:
        """For each round, the scores of phrases by first part and by the parts after it."""
        rounds: list[dict[str, dict[tuple[str, ...], float]]] = [{} for _ in range(ROUNDS)]
        for _, parts, number, _, score in self.rows:
            rounds[number - 1].setdefault(parts[0], {})[tuple(parts[1:])] = score
        return rounds

    def table(self) -> pl.DataFrame:
        """Return one row per phrase."""
        return pl.DataFrame(self.rows, schema=self.SCHEMA, orient="row")

    @classmethod
    def from_table(cls, table: pl.DataFrame) -> PhraseTable:
        """Read back what `table` returned; raise ValueError where there are no such phrases."""
        rows = table.rows()
        if not all(len(parts) > 1 and None not in parts and 1 <= number <= ROUNDS for _, parts, number, _, _ in rows):
            raise ValueError("a phrase has fewer than two parts, or an unknown round")
        return cls(rows)


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
