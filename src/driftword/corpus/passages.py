"""From a word back to the texts: keyword in context.

The tokens say which documents hold the word and as which of its occurrences;
those few documents are read and split again, the very same way, to find the
characters. Text that a user's own tokenizer split is searched for the word as
it is written, and corpora made of ids show their words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.corpus.phrases import join_strings
from driftword.corpus.tokens import TokenRule, mend
from driftword.errors import OptionError

if TYPE_CHECKING:
    from driftword.corpus.corpus import At, Corpus


def find_passages(corpus: Corpus, word: str, *, at: At | None, n: int, width: int) -> pl.DataFrame:
    """See `Corpus.passages`."""
    if n < 1:
        raise OptionError(f"n is {n}; ask for at least one passage")
    if width < 0:
        raise OptionError(f"width is {width}; it counts characters, so it cannot be negative")
    number = corpus.word_id(word)
    positions = _positions(corpus, number, at)
    chunk = np.searchsorted(corpus.offsets, positions, side="right") - 1
    picked = _spread(corpus.chunk_document[chunk], n)
    positions, chunk = positions[picked], chunk[picked]
    places = [(int(corpus.chunk_document[c]), int(corpus.chunk_slice[c])) for c in chunk]
    if not corpus.has_documents:
        lines = [_from_ids(corpus, int(p), int(c), width) for p, c in zip(positions, chunk, strict=True)]
        return _table(corpus, lines, places, None)
    rows = _read_rows(corpus, sorted({document for document, _ in places}))
    lines = []
    spans: dict[int, list[tuple[str, int, int]]] = {}
    for position, c, (document, _) in zip(positions, chunk, places, strict=True):
        text = rows[document]["text"]
        if document not in spans:
            spans[document] = _locate(corpus, text)
        hits = [span for span in spans[document] if span[0] == corpus.words[number]]
        begin = _document_start(corpus, int(c))
        rank = int((corpus.tokens[begin:position] == number).sum())
        if rank < len(hits):
            lines.append(_cut(text, hits[rank][1], hits[rank][2], width))
        else:
            lines.append(_search(text, corpus.words[number], rank, width) or _from_ids(corpus, int(position), int(c), width))
    return _table(corpus, lines, places, rows)


def _positions(corpus: Corpus, number: int, at: At | None) -> npt.NDArray[np.int64]:
    if at is None:
        return np.flatnonzero(corpus.tokens == number)
    chunks = np.flatnonzero(corpus.chunk_slice == corpus.slices.index(at))
    found = []
    # Chunks of a slice mostly follow each other: take each unbroken run at once.
    for run in np.split(chunks, np.flatnonzero(np.diff(chunks) > 1) + 1):
        if len(run):
            begin, end = int(corpus.offsets[run[0]]), int(corpus.offsets[run[-1] + 1])
            found.append(np.flatnonzero(corpus.tokens[begin:end] == number) + begin)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def _spread(document: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.int64]:
    """Choose n occurrences, from as many documents as possible, evenly over all of them."""
    if len(document) <= n:
        return np.arange(len(document))
    starts = np.flatnonzero(np.r_[True, np.diff(document) != 0])
    rank = np.arange(len(document)) - np.repeat(starts, np.diff(np.r_[starts, len(document)]))
    order = np.lexsort((np.arange(len(document)), rank))  # first occurrences, then second ones, ...
    last = int(rank[order[n - 1]])
    certain = order[rank[order] < last]
    level = np.flatnonzero(rank == last)
    need = n - len(certain)
    evenly = np.floor((np.arange(need) + 0.5) * len(level) / need).astype(np.int64)
    return np.sort(np.concatenate([certain, level[evenly]]))


def _document_start(corpus: Corpus, chunk: int) -> int:
    document = corpus.chunk_document[chunk]
    while chunk > 0 and corpus.chunk_document[chunk - 1] == document:
        chunk -= 1
    return int(corpus.offsets[chunk])


def _read_rows(corpus: Corpus, documents: list[int]) -> dict[int, dict[str, Any]]:
    frames = pl.collect_all([corpus.documents.slice(document, 1) for document in documents])
    return {document: frame.row(0, named=True) for document, frame in zip(documents, frames, strict=True)}


def _locate(corpus: Corpus, text: str) -> list[tuple[str, int, int]]:
    """Split a text as it was split when the corpus was made; return words with their characters."""
    options = corpus.meta["options"]
    if options["tokens"] == "custom":
        return []
    rule = TokenRule(options["tokens"], options["numbers"])
    raw = rule.split(pl.Series([text]))[0].to_list()
    counts = _Counts(corpus)
    where, end = [], 0
    for token in raw:
        begin = text.index(token, end)  # a token begins at the first letter after the one before it
        end = begin + len(token)
        where.append((begin, end))
    words = [mend(rule.spell(token), counts) for token in raw]  # type: ignore[arg-type]
    joined = join_strings(words, corpus.phrases.rounds, options["connectors"])
    return [(word, where[first][0], where[last][1]) for word, first, last in joined]


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


def _from_ids(corpus: Corpus, position: int, chunk: int, width: int) -> tuple[str, str, str]:
    reach = max(width // 4, 1)
    begin, end = int(corpus.offsets[chunk]), int(corpus.offsets[chunk + 1])
    before = corpus.tokens[max(begin, position - reach) : position]
    after = corpus.tokens[position + 1 : min(end, position + 1 + reach)]
    left = " ".join(corpus.words[i] for i in before)
    right = " ".join(corpus.words[i] for i in after)
    return left[-width:] + " " if width else "", corpus.words[int(corpus.tokens[position])], " " + right[:width] if width else ""


def _table(
    corpus: Corpus,
    lines: list[tuple[str, str, str]],
    places: list[tuple[int, int]],
    rows: dict[int, dict[str, Any]] | None,
) -> pl.DataFrame:
    base = pl.DataFrame(
        [
            (*line, corpus.slices.labels[t], document)
            for line, (document, t) in zip(lines, places, strict=True)
        ],
        schema={"left": pl.String, "keyword": pl.String, "right": pl.String, "slice": pl.String, "document": pl.Int64},
        orient="row",
    )
    if rows is None:
        return base
    schema = corpus.documents.collect_schema()
    extra = {name: kind for name, kind in schema.items() if name not in ("text", "slice")}
    columns = [pl.Series(name, [rows[d][name] for d, _ in places], dtype=kind) for name, kind in extra.items()]
    return base.with_columns(columns)
