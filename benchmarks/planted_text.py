"""Changes planted into the text itself, at any date, before driftword sees it.

Documents first exchange their dates, so that nothing else changes, unless they are to keep them. Then pairs of words of
similar frequency exchange their places in documents from a date on: at once, or more and more often over a span of
time. The date is drawn uniformly, whatever the slices will be.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from datetime import date

import numpy as np
import polars as pl

import driftword as dw

LIST = pl.List(pl.Int64)
WORD = re.compile(r"[^\W\d_]+")
BANDS = ((100, 300), (300, 1_000), (1_000, 3_000), (3_000, 10_000))
GRAMMAR = 150  # most frequent words, which are left alone
INSIDE = (0.15, 0.85)  # part of all time in which changes come


def read(corpus: str, *, limit: int | None = None, seed: int = 0) -> pl.DataFrame:
    """Return the text and the day of the documents of a corpus; some of them with a limit."""
    table = dw.Corpus.open(corpus).documents.select("text", day="date").collect()
    if limit is not None and limit < table.height:
        table = table[np.sort(np.random.default_rng(seed).permutation(table.height)[:limit])]
    return table


def pieces(table: pl.DataFrame, words: int) -> pl.DataFrame:
    """Return pieces of so many words as documents, with the other columns of the documents they come from."""
    rows = []
    for row in table.iter_rows(named=True):
        found = [match.start() for match in WORD.finditer(row["text"])][::words]
        rows += [row | {"text": row["text"][a:b]} for a, b in itertools.pairwise([*found, len(row["text"])])]
    return pl.DataFrame(rows, schema=table.schema)


def cut(table: pl.DataFrame, words: int, *, limit: int, days: tuple[date, date], seed: int) -> pl.DataFrame:
    """Return some pieces of documents as documents of their own, with days drawn uniformly."""
    rng, made = np.random.default_rng(seed), pieces(table, words)
    made = made[rng.permutation(len(made))[:limit]]
    first, last = (day.toordinal() for day in days)
    drawn = [date.fromordinal(int(day)) for day in rng.integers(first, last + 1, len(made))]
    return made.with_columns(pl.Series("day", drawn))


def plant(
    table: pl.DataFrame,
    *,
    pairs: int = 10,
    share: float | tuple[float, ...] = 1.0,
    span: float = 0.0,
    seed: int = 0,
    shuffled: bool = True,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Let pairs of words of every band of frequency exchange this share of their places from a day on.

    Of several shares, each pair has one. With a span, given as a share of all time, the exchange begins on that day and
    is complete a span later. Return the documents, with the places of the exchanged words in their texts, and what was
    planted: word, partner, first (the first day of the new use), last (the day on which it is complete), count and
    share.
    """
    rng = np.random.default_rng(seed)
    days = np.array([day.toordinal() for day in table["day"]])
    days = rng.permutation(days) if shuffled else days
    shares = share if isinstance(share, tuple) else (share,)
    counts, documents = Counter[str](), Counter[str]()
    for text in table["text"]:
        words = WORD.findall(text.lower())
        counts.update(words)
        documents.update(set(words))
    known = [w for w, _ in counts.most_common()[GRAMMAR:] if len(w) > 2 and documents[w] >= 20]
    low, high = int(days.min()), int(days.max())
    length, rows = high - low, []
    for least, most in BANDS:
        ranked = [w for w in known if least <= counts[w] < most]
        for i in rng.permutation(len(ranked) // 2)[:pairs].tolist():
            first = low + length * rng.uniform(INSIDE[0], INSIDE[1] - span)
            ends = (round(first), round(first + span * length))
            one, other = ranked[2 * i : 2 * i + 2]
            part = float(rng.choice(shares))
            rows += [(one, other, *ends, counts[one], part), (other, one, *ends, counts[other], part)]
    moves = {word: (partner, first, last, part) for word, partner, first, last, _, part in rows}

    def exchanged(text: str, day: int) -> tuple[str, list[int]]:
        places: list[int] = []
        longer = 0

        def other(match: re.Match[str]) -> str:
            nonlocal longer
            found = moves.get(match[0].lower())
            if found is None or day < found[1]:
                return match[0]
            part = 1.0 if day >= found[2] else (day - found[1] + 1) / (found[2] - found[1] + 1)
            if rng.random() >= found[3] * part:
                return match[0]
            places.append(match.start() + longer)
            longer += len(found[0]) - len(match[0])
            return found[0].capitalize() if match[0][0].isupper() else found[0]

        return WORD.sub(other, text), places

    texts, places = zip(
        *(exchanged(text, int(day)) for text, day in zip(table["text"], days, strict=True)), strict=True
    )
    dates = [date.fromordinal(int(day)) for day in days]
    made = pl.DataFrame({"text": texts, "day": dates, "exchanged": places}, schema_overrides={"exchanged": LIST})
    planted = pl.DataFrame(rows, schema=["word", "partner", "first", "last", "count", "share"], orient="row")
    ordinals = [pl.Series(n, [date.fromordinal(d) for d in planted[n]]) for n in ("first", "last")]
    return made, planted.with_columns(ordinals)
