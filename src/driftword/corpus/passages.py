"""From a word back to the texts: keyword in context.

The tokens say which documents hold the word and as which of its occurrences;
those few documents are read and split again, the very same way, to find the
characters. Text that a user's own tokenizer split is searched for the word as
it is written, and corpora made of ids show their words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword import store
from driftword.corpus.phrases import LONERS, join_strings
from driftword.corpus.tokens import TokenRule, mend
from driftword.errors import OptionError

if TYPE_CHECKING:
    from driftword.corpus.corpus import Corpus
    from driftword.corpus.slices import At


def find_passages(corpus: Corpus, word: str, *, at: At | None, n: int, width: int) -> pl.DataFrame:
    """See `Corpus.passages`."""
    if n < 1:
        raise OptionError(f"n is {n}; ask for at least one passage")
    if width < 0:
        raise OptionError(f"width is {width}; it counts characters, so it cannot be negative")
    number = corpus.word_id(word)
    places = [
        place
        for t, quota in _quotas(corpus, number, at, n)
        for place in _spread(corpus, _positions(corpus, number, t), quota)
    ]
    if not corpus.has_documents:
        return _table(corpus, [_from_ids(corpus, place, width) for place in places], places, None)
    rows = _read_rows(corpus, sorted({place.document for place in places}))
    spelled: dict[str, str] = {}
    needed = {place.document: place.rank for place in sorted(places, key=lambda place: place.rank)}  # the last one
    target = corpus.words[number]
    found = {d: _locate(corpus, row["text"], spelled, target, needed[d]) for d, row in rows.items()}
    lines = []
    for place in places:
        text = rows[place.document]["text"]
        hits = found[place.document]
        if place.rank < len(hits):
            lines.append(_cut(text, *hits[place.rank], width))
        else:
            lines.append(_search(text, target, place.rank, width) or _from_ids(corpus, place, width))
    return _table(corpus, lines, places, rows)


class _Place(NamedTuple):
    """One occurrence: where its token stands, in which chunk and document, and which of the document's it is."""

    position: int
    chunk: int
    document: int
    rank: int


def _quotas(corpus: Corpus, number: int, at: At | None, n: int) -> list[tuple[int, int]]:
    """Return how many lines to take from which slices: evenly from those that have the word."""
    slices = np.array([corpus.slices.index(at)]) if at is not None else np.flatnonzero(corpus.counts[:, number])
    if len(slices) > n:
        slices = slices[np.floor((np.arange(n) + 0.5) * len(slices) / n).astype(np.int64)]
    left = corpus.counts[slices, number].astype(np.int64)
    quota = np.zeros(len(slices), dtype=np.int64)
    while (need := n - quota.sum()) > 0 and left.any():
        take = np.minimum(left, max(need // np.count_nonzero(left), 1)) * (np.cumsum(left > 0) <= need)
        quota += take
        left -= take
    return [(int(t), int(q)) for t, q in zip(slices, quota, strict=True) if q]


def _positions(corpus: Corpus, number: int, t: int) -> npt.NDArray[np.int64]:
    """Return where the word stands in one slice."""
    chunks = np.flatnonzero(corpus.chunk_slice == t)
    found = [np.zeros(0, dtype=np.int64)]
    # Chunks of a slice mostly follow each other: take each unbroken run at once.
    for run in np.split(chunks, np.flatnonzero(np.diff(chunks) > 1) + 1):
        if len(run):
            begin, end = int(corpus.offsets[run[0]]), int(corpus.offsets[run[-1] + 1])
            found.append(np.flatnonzero(corpus.tokens[begin:end] == number) + begin)
    return np.concatenate(found)


def _spread(corpus: Corpus, positions: npt.NDArray[np.int64], n: int) -> list[_Place]:
    """Choose n occurrences, from as many documents as possible, evenly over all of them."""
    before = np.searchsorted(positions, corpus.offsets)  # occurrences before each chunk
    chunks = np.flatnonzero(np.diff(before))
    if not len(chunks):
        return []
    document = corpus.chunk_document[chunks]
    new = np.flatnonzero(np.r_[True, np.diff(document) != 0])
    first = before[chunks[new]]  # of each document, in `positions`
    available = np.diff(np.r_[first, len(positions)])
    chosen: list[tuple[int, int]] = []
    rank = 0
    while len(chosen) < min(n, len(positions)):  # first occurrences, then second ones, ...
        level = np.flatnonzero(available > rank)
        need = min(n - len(chosen), len(level))
        evenly = np.floor((np.arange(need) + 0.5) * len(level) / need).astype(np.int64)
        chosen += [(int(d), rank) for d in level[evenly]]
        rank += 1
    places = []
    for d, r in sorted(chosen):
        position = int(positions[first[d] + r])
        chunk = int(np.searchsorted(corpus.offsets, position, side="right")) - 1
        begin = _document_start(corpus, chunk)
        # A slice may begin inside a document only in corpora made of ids; count from the document's start.
        earlier = int((corpus.tokens[begin:position] == corpus.tokens[position]).sum())
        places.append(_Place(position, chunk, int(corpus.chunk_document[chunk]), earlier))
    return places


def _document_start(corpus: Corpus, chunk: int) -> int:
    document = corpus.chunk_document[chunk]
    while chunk > 0 and corpus.chunk_document[chunk - 1] == document:
        chunk -= 1
    return int(corpus.offsets[chunk])


def _read_rows(corpus: Corpus, documents: list[int]) -> dict[int, dict[str, Any]]:
    try:
        frames = pl.collect_all([corpus.documents.slice(document, 1) for document in documents])
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        assert corpus.path is not None
        raise store.damaged(corpus.path, "documents.parquet cannot be read") from error
    return {document: frame.row(0, named=True) for document, frame in zip(documents, frames, strict=True)}


def _locate(corpus: Corpus, text: str, spelled: dict[str, str], target: str, rank: int) -> list[tuple[int, int]]:
    """Split a text as it was split when the corpus was made; return the characters of a word's first occurrences."""
    options = corpus.meta["options"]
    if options["tokens"] == "custom":
        return []
    rule = TokenRule(options["tokens"], options["numbers"])
    raw = rule.split(pl.Series([text]))[0].to_list()
    counts = _Counts(corpus)
    for token in set(raw) - spelled.keys():
        spelled[token] = mend(rule.spell(token), counts)
    hits = _occurrences(corpus, [spelled[token] for token in raw], target, rank)
    where, end = [], 0
    for token in raw[: hits[-1][1] + 1] if hits else []:
        begin = text.index(token, end)  # a token begins at the first letter after the one before it
        end = begin + len(token)
        where.append((begin, end))
    return [(where[first][0], where[last][1]) for first, last in hits]


def _occurrences(corpus: Corpus, words: list[str], target: str, rank: int) -> list[tuple[int, int]]:
    """Return the first and last token of a word's occurrences, up to the one numbered `rank`.

    No phrase reaches over a word that joins none, so only the stretches between such words that hold the
    target, or its first part, need to be joined.
    """
    connectors = frozenset(corpus.meta["options"]["connectors"])
    barriers = (LONERS | frozenset(corpus.meta["options"]["keep"]) | {""}) - connectors
    part = target.partition(" ")[0]
    hits: list[tuple[int, int]] = []
    begin = 0
    for i, word in enumerate([*words, ""]):
        if word not in barriers:
            continue
        stretch = words[begin:i]
        if part in stretch or target in stretch:
            joined = join_strings(stretch, corpus.phrases.rounds, connectors)
            hits += [(begin + first, begin + last) for name, first, last in joined if name == target]
        if word == target:
            hits.append((i, i))
        if len(hits) > rank:
            break
        begin = i + 1
    return hits


class _Counts:
    """Total counts by word, as `mend` asks for them."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def get(self, word: str, default: int = 0) -> int:
        number = self._corpus.word_index.get(word)
        return default if number is None else int(self._corpus.raw_counts[number])


def _cut(text: str, begin: int, end: int, width: int) -> tuple[str, str, str]:
    # A little more than the width, so that folding white space leaves enough; then whole words only.
    left = " ".join(text[max(0, begin - 2 * width) : begin].split())
    right = " ".join(text[end : end + 2 * width].split())
    if text[:begin][-1:].isspace():
        left += " "
    if text[end : end + 1].isspace():
        right = " " + right
    if len(left) > width:
        left = left[len(left) - width :]
        left = left[left.find(" ") + 1 :] if " " in left.rstrip() else left
    if len(right) > width:
        right = right[:width]
        right = right[: right.rfind(" ")] if " " in right.lstrip() else right
    return left, " ".join(text[begin:end].split()), right


def _search(text: str, word: str, rank: int, width: int) -> tuple[str, str, str] | None:
    """Find a word as it is written, for texts split by a user's own function."""
    pattern = r"\s+".join(re.escape(part) for part in word.split())
    hits = list(re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE))
    hits = hits or list(re.finditer(pattern, text, re.IGNORECASE))
    if not hits:
        return None
    hit = hits[min(rank, len(hits) - 1)]
    return _cut(text, hit.start(), hit.end(), width)


def _from_ids(corpus: Corpus, place: _Place, width: int) -> tuple[str, str, str]:
    position, chunk = place.position, place.chunk
    reach = max(width // 4, 1)
    begin, end = int(corpus.offsets[chunk]), int(corpus.offsets[chunk + 1])
    before = corpus.tokens[max(begin, position - reach) : position]
    after = corpus.tokens[position + 1 : min(end, position + 1 + reach)]
    left = " ".join(corpus.words[i] for i in before)
    right = " ".join(corpus.words[i] for i in after)
    return (
        left[-width:] + " " if width else "",
        corpus.words[int(corpus.tokens[position])],
        " " + right[:width] if width else "",
    )


def _table(
    corpus: Corpus, lines: list[tuple[str, str, str]], places: list[_Place], rows: dict[int, dict[str, Any]] | None
) -> pl.DataFrame:
    labels = [corpus.slices.labels[corpus.chunk_slice[place.chunk]] for place in places]
    base = pl.DataFrame(
        [(*line, label, place.document) for line, label, place in zip(lines, labels, places, strict=True)],
        schema={"left": pl.String, "keyword": pl.String, "right": pl.String, "slice": pl.String, "document": pl.Int64},
        orient="row",
    )
    if rows is None:
        return base
    schema = corpus.documents.collect_schema()
    extra = {name: kind for name, kind in schema.items() if name not in ("text", "slice")}
    return base.with_columns(
        pl.Series(name, [rows[place.document][name] for place in places], dtype=kind) for name, kind in extra.items()
    )
