"""Frequent collocations become one word: "health care", "secretary of state".

Two words are a phrase if they occur together often enough and their normalised
pointwise mutual information (Bouma 2009) reaches a threshold. Connectors such
as "of" and "the" may occur inside a phrase, never at its ends. Two rounds let
phrases grow: "security council" first, then "un security council".

Pairs are counted on word ids in two passes over the stream: first an upper bound
by hash, in fixed memory, then exact counts of the pairs that can be frequent. Every
thread counts for itself, and what they counted is added in the end.
`join_strings` does with words what the kernels do with ids; passages use it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.corpus.id_stream import Batch, IdStream
from driftword.corpus.workers import Workers

ROUNDS: Final = 2
SKETCH_BITS: Final = 21
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


def find_and_join(
    stream: IdStream,
    words: list[str],
    rule: PhraseRule,
    *,
    workers: Workers,
    progress: Callable[[int], None],
) -> tuple[IdStream, PhraseTable]:
    """Find phrases in the stream, append them to `words`, and return the stream with them joined."""
    phrases = PhraseTable()
    for _ in range(ROUNDS):
        stream = _round(stream, words, rule, phrases, workers=workers, progress=progress)
    return stream, phrases


def _round(
    stream: IdStream, words: list[str], rule: PhraseRule, phrases: PhraseTable, *, workers: Workers,
    progress: Callable[[int], None],
) -> IdStream:  # fmt: skip
    known = {word: number for number, word in enumerate(words)}
    counts = stream.counts(len(words))
    counts[0] = 0  # id 0 is a dropped token: no phrase reaches across it
    n_tokens = int(counts.sum())
    floor = rule.floor(n_tokens)
    eligible = counts >= floor
    eligible[[known[word] for word in NEVER_IN_PHRASES | rule.never_in_phrases if word in known]] = False
    connectors = [known[word] for word in rule.connectors if word in known]
    shape = _roles(eligible, connectors)

    pair, count = _count_pairs(stream, shape, floor, workers=workers, progress=progress)

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

    return _join(stream, shape, pair[chosen], phrase_id, npmi[chosen], workers=workers, progress=progress)


def join_known(
    stream: IdStream, words: list[str], phrases: PhraseTable, connectors: Sequence[str], *, workers: Workers
) -> IdStream:
    """Join phrases that were found in other text; append those that occur to `words`, and return the joined stream."""
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
        stream = _join(
            stream,
            _roles(eligible, inner),
            np.array(codes, dtype=np.int64),
            np.array([known[pairs[code][0]] for code in codes], dtype=np.uint32),
            np.array([pairs[code][1] for code in codes], dtype=np.float64),
            workers=workers,
            progress=lambda _: None,
        )
    return stream


def _roles(eligible: npt.NDArray[np.bool_], connectors: list[int]) -> tuple[npt.NDArray[np.int16], int]:
    """Return the role of each word, as the kernels know it, and the number of connectors."""
    from driftword.corpus import phrase_kernels as kernels  # Numba loads only where it is used

    role = np.where(eligible, kernels.CONTENT, kernels.NEITHER).astype(np.int16)
    role[connectors] = np.arange(len(connectors))
    return role, len(connectors)


def _join(
    stream: IdStream,
    shape: tuple[npt.NDArray[np.int16], int],
    pair: npt.NDArray[np.int64],
    phrase_id: npt.NDArray[np.uint32],
    score: npt.NDArray[np.float64],
    *,
    workers: Workers,
    progress: Callable[[int], None],
) -> IdStream:
    """Return the stream with pairs, given by their codes, joined into phrases; this one is closed."""
    from driftword.corpus import phrase_kernels as kernels

    keys = np.full(1 << max(4, (2 * len(pair)).bit_length()), kernels.EMPTY, dtype=np.int64)
    which = np.zeros(len(keys), dtype=np.int64)
    kernels.insert(pair, np.arange(len(pair)), keys, which)

    def join(batch: Batch) -> tuple[int, npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """Return how many ids a batch has, those that are left of them, and how many of these each document has."""
        ids, ends = np.empty_like(batch.ids), np.empty_like(batch.ends)
        written = kernels.join_pairs(batch.ids, batch.ends, *shape, keys, which, phrase_id, score, ids, ends)
        return len(batch.ids), ids[:written], np.diff(ends, prepend=0)

    joined = IdStream(stream.folder)
    for read, ids, lengths in workers.map(join, stream.batches()):
        joined.append(ids, lengths)
        progress(read)
    stream.close()
    return joined


def _gap(between: list[int], n_connectors: int) -> int | None:
    """Return the code of the connectors inside a phrase, given by their numbers; None if there is none for them."""
    if min(between, default=0) < 0 or len(between) > 2:
        return None
    if not between:
        return 0
    if len(between) == 1:
        return 1 + between[0]
    return 1 + (between[0] + 1) * n_connectors + between[1]


def _count_pairs(
    stream: IdStream,
    shape: tuple[npt.NDArray[np.int16], int],
    floor: int,
    *,
    workers: Workers,
    progress: Callable[[int], None],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the pairs whose upper bound reaches `floor`, and how often each occurs."""
    from driftword.corpus import phrase_kernels as kernels

    sketches: SimpleQueue[npt.NDArray[np.uint32]] = SimpleQueue()  # one for each thread
    tables: SimpleQueue[_PairTable] = SimpleQueue()
    for _ in range(workers.threads):
        sketches.put(np.zeros(1 << SKETCH_BITS, dtype=np.uint32))
        tables.put(_PairTable())

    def bound(batch: Batch) -> int:
        own = sketches.get()
        try:
            kernels.sketch_pairs(batch.ids, batch.ends, *shape, own)
        finally:
            sketches.put(own)
        return len(batch.ids)

    for read in workers.map(bound, stream.batches()):
        progress(read)
    sketch = sketches.get()
    for _ in range(workers.threads - 1):
        sketch += sketches.get()

    def count(batch: Batch) -> int:
        own = tables.get()
        try:
            own.add(batch, shape, sketch, floor)
        finally:
            tables.put(own)
        return len(batch.ids)

    for read in workers.map(count, stream.batches()):
        progress(read)
    found = [tables.get().used() for _ in range(workers.threads)]
    pair, where = np.unique(np.concatenate([pairs for pairs, _ in found]), return_inverse=True)
    counts = np.zeros(len(pair), dtype=np.int64)
    np.add.at(counts, where, np.concatenate([counted for _, counted in found]))
    return pair, counts


class _PairTable:
    """A hash table of pairs that grows before it is more than half full."""

    def __init__(self) -> None:
        self._make(1 << 12)

    def _make(self, size: int) -> None:
        from driftword.corpus.phrase_kernels import EMPTY

        self.keys, self.counts = np.full(size, EMPTY, dtype=np.int64), np.zeros(size, dtype=np.int64)
        self.filled = np.zeros(1, dtype=np.int64)

    def add(
        self, batch: Batch, shape: tuple[npt.NDArray[np.int16], int], sketch: npt.NDArray[np.uint32], floor: int
    ) -> None:
        """Count the pairs of a batch whose upper bound reaches `floor`."""
        from driftword.corpus import phrase_kernels as kernels

        document = 0
        while True:
            document = kernels.count_pairs(
                batch.ids, batch.ends, document, *shape, sketch, floor, self.keys, self.counts, self.filled
            )  # fmt: skip
            if document == len(batch.ends):
                return
            old = self.used()
            self._make(2 * len(self.keys))
            self.filled[0] = len(old[0])
            kernels.insert(*old, self.keys, self.counts)

    def used(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the pairs and their counts."""
        used = self.counts > 0
        return self.keys[used], self.counts[used]


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
