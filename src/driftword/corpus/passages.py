"""From a word back to the texts: keyword in context.

The tokens tell which documents hold the word, and how often. Those few documents
are read and split again as before, to find the characters. Text that was split by
a user's own tokenizer is searched for the word as it is written, and a corpus made
of ids shows its words.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import accumulate, groupby, pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.basics.progress import Progress
from driftword.basics.suggestions import did_you_mean
from driftword.corpus.groups import documents_by_value
from driftword.corpus.slices import At
from driftword.corpus.spans import OccurrenceQuery, Span, locate
from driftword.corpus.tokenized_text import TokenizedText, chunks_of
from driftword.sources.annotated_text import ANNOTATION

_BATCH: Final = 256  # documents that are read and split at a time
_MAX_WIDTH: Final = 100_000  # characters on either side
_MAX_NAMED: Final = 6  # columns or values that an error names
_MAX_NAME: Final = 100  # letters of a name for which a similar one is looked for

_Line = tuple[str, str, str]  # what is to the left of a word, the word as it is written, and what is to the right


class _Occurrence(NamedTuple):
    """One occurrence of a word."""

    word: int
    position: int  # of its token
    chunk: int
    document: int
    rank: int  # how many the document has before it
    total: int  # how many the document has


def find_lines(
    corpus: TokenizedText, word: str, *, at: At | None, n: int, width: int, where: Mapping[str, Any] | None = None
) -> tuple[pl.DataFrame, list[int]]:
    """See `Corpus.passages`; return the lines, and for each how many occurrences its document has before it."""
    n, width = checks.whole("n", n, least=1), checks.whole("width", width, most=_MAX_WIDTH)
    counts, positions = _candidates(corpus, word, at, where)
    chosen = [one for t, quota in _quotas(counts, n) for one in _spread(corpus, positions(t), quota)]
    return _table(corpus, chosen, width, Progress()), [one.rank for one in chosen]


def count_passages(corpus: TokenizedText, word: str, *, at: At | None, where: Mapping[str, Any] | None = None) -> int:
    """Return how many lines `find_lines` chooses from."""
    return int(_candidates(corpus, word, at, where)[0].sum())


def find_in_slices(
    corpus: TokenizedText, wanted: Mapping[str, Mapping[str, int]], *, width: int, bar: Progress | None = None
) -> dict[str, pl.DataFrame]:
    """Return lines of several words; for each word, `wanted` says how many to take from which slice."""
    chosen = {
        word: [
            one
            for label, n in numbers.items()
            for one in _spread(corpus, _positions(corpus, corpus.word_id(word), corpus.slices.index(label)), n)
        ]
        for word, numbers in wanted.items()
    }
    table = _table(corpus, [one for occurrences in chosen.values() for one in occurrences], width, bar or Progress())
    ends = accumulate(map(len, chosen.values()), initial=0)
    return {word: table[begin:end] for word, (begin, end) in zip(chosen, pairwise(ends), strict=True)}


def find_at(corpus: TokenizedText, positions: npt.NDArray[np.int64], *, width: int) -> tuple[pl.DataFrame, list[int]]:
    """Return the lines of occurrences, given by their positions, and for each how many its document has before it."""
    places = zip(positions.tolist(), chunks_of(corpus, positions).tolist(), strict=True)
    chosen = [_occurrence(corpus, *place) for place in places]
    return _table(corpus, chosen, width, Progress()), [one.rank for one in chosen]


def find_in_document(corpus: TokenizedText, document: int, word: str) -> tuple[dict[str, Any], list[Span]]:
    """Return a document with all its columns, and where in its text a word occurs."""
    total = len(corpus._stored_documents())
    if not 0 <= document < total:
        raise OptionError(f"There is no document {document}; they are numbered from 0 to {total - 1}")
    row = next(_read(corpus, [document]))[1].row(0, named=True)
    chunks = np.flatnonzero(corpus.chunk_document == document)
    if not len(chunks):
        return row, []
    tokens = corpus.tokens[int(corpus.offsets[chunks[0]]) : int(corpus.offsets[chunks[-1] + 1])]
    count = int((tokens == corpus.word_id(word)).sum())
    queries = [OccurrenceQuery(0, word, rank, count) for rank in range(count)]
    spans = locate(corpus, [row["text"]], queries, _annotations(corpus, [document]))
    located = [span for span in spans if span is not None]
    return row, located if len(located) == count else _search(row["text"], word)


def count_by_value(
    corpus: TokenizedText, word: str, table: pl.DataFrame, *, at: At | None, where: Mapping[str, str]
) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Return how often a word occurs in each slice, and in documents with each value of each column.

    `table` has a row for each document, with text in its columns. Of each choice (the slice, and each column of
    `where`), the counts are those that another choice in its place would have. What never occurs is left out.
    """
    positions = corpus.positions_of(word)
    chunks = chunks_of(corpus, positions)
    slices, documents = corpus.chunk_slice[chunks], corpus.chunk_document[chunks]
    has = {name: (table[name] == value).fill_null(value=False).to_numpy() for name, value in where.items()}
    in_slice = np.ones(len(positions), dtype=bool) if at is None else slices == corpus.slices.index(at)
    every = np.ones(max(table.height, int(documents.max(initial=-1)) + 1), dtype=bool)  # it may have no columns
    allowed = np.logical_and.reduce([every, *has.values()])[documents]
    labels = corpus.slices.labels
    by_slice = {labels[t]: int(n) for t, n in enumerate(np.bincount(slices[allowed], minlength=len(labels))) if n}
    by_column = {}
    for name in table.columns:
        others = np.logical_and.reduce([every, *(one for column, one in has.items() if column != name)])
        counted = np.bincount(documents[in_slice & others[documents]], minlength=len(every))
        found = table.select(name, n=pl.Series(counted)).filter(pl.col("n") > 0).drop_nulls()
        by_column[name] = dict(found.group_by(name).agg(pl.col("n").sum()).sort(name).iter_rows())
    return by_slice, by_column


# -- which occurrences are shown ---------------------------------------------------------


def _candidates(
    corpus: TokenizedText, word: str, at: At | None, where: Mapping[str, Any] | None
) -> tuple[npt.NDArray[np.int64], Callable[[int], npt.NDArray[np.int64]]]:
    """Return how often a word occurs in each slice where it may be shown, and a function from a slice to positions."""
    number = corpus.word_id(word)
    asked = list(range(len(corpus.slices))) if at is None else [corpus.slices.index(at)]
    counts = np.zeros(len(corpus.slices), dtype=np.int64)
    if (values := check_where(where)) is None:
        counts[asked] = corpus.counts[asked, number]
        return counts, lambda t: _positions(corpus, number, t)
    allowed = _allowed(corpus, values)
    found: dict[int, npt.NDArray[np.int64]] = {}
    for t in asked:
        positions = _positions(corpus, number, t)
        found[t] = positions[allowed[corpus.chunk_document[chunks_of(corpus, positions)]]]
        counts[t] = len(found[t])
    return counts, found.__getitem__


def _quotas(counts: npt.NDArray[np.int64], n: int) -> list[tuple[int, int]]:
    """Return how many lines to take from which slices: evenly from those in which the word occurs."""
    slices = np.flatnonzero(counts)
    if len(slices) > n:
        slices = slices[np.floor((np.arange(n) + 0.5) * len(slices) / n).astype(np.int64)]
    left = counts[slices]
    quota = np.zeros(len(slices), dtype=np.int64)
    while (need := n - quota.sum()) > 0 and left.any():
        take = np.minimum(left, max(need // np.count_nonzero(left), 1)) * (np.cumsum(left > 0) <= need)
        quota += take
        left -= take
    return [(int(t), int(q)) for t, q in zip(slices, quota, strict=True) if q]


def _positions(corpus: TokenizedText, number: int, t: int) -> npt.NDArray[np.int64]:
    """Return the positions of the word in one slice."""
    chunks = np.flatnonzero(corpus.chunk_slice == t)
    kept = corpus._kept_positions(number)
    positions = [np.zeros(0, dtype=np.int64)]
    # Chunks of a slice mostly follow each other: search each unbroken run at once.
    for run in np.split(chunks, np.flatnonzero(np.diff(chunks) > 1) + 1):
        if len(run):
            begin, end = int(corpus.offsets[run[0]]), int(corpus.offsets[run[-1] + 1])
            if kept is None:
                positions.append(np.flatnonzero(corpus.tokens[begin:end] == number) + begin)
            else:
                positions.append(kept[slice(*np.searchsorted(kept, (begin, end)))])
    return np.concatenate(positions)


def _spread(corpus: TokenizedText, positions: npt.NDArray[np.int64], n: int) -> list[_Occurrence]:
    """Choose n occurrences of a word, from as many documents as possible, evenly over all of them."""
    document = corpus.chunk_document[chunks_of(corpus, positions)]
    first = np.flatnonzero(np.diff(document, prepend=-1))  # of each document, in `positions`
    available = np.diff(first, append=len(positions))
    chosen: list[int] = []
    rank = 0
    while len(chosen) < min(n, len(positions)):  # first occurrences, then second ones, ...
        level = np.flatnonzero(available > rank)
        need = min(n - len(chosen), len(level))
        evenly = np.floor((np.arange(need) + 0.5) * len(level) / need).astype(np.int64)
        chosen += (first[level[evenly]] + rank).tolist()
        rank += 1
    spread = positions[sorted(chosen)]
    return [
        _occurrence(corpus, *place) for place in zip(spread.tolist(), chunks_of(corpus, spread).tolist(), strict=True)
    ]


def _occurrence(corpus: TokenizedText, position: int, chunk: int) -> _Occurrence:
    document, first, last = int(corpus.chunk_document[chunk]), chunk, chunk + 1
    while first > 0 and corpus.chunk_document[first - 1] == document:
        first -= 1
    while last < len(corpus.chunk_document) and corpus.chunk_document[last] == document:
        last += 1
    # Count from the start of the document: in a corpus made of ids, a slice may begin inside one.
    begin, end = int(corpus.offsets[first]), int(corpus.offsets[last])
    word = int(corpus.tokens[position])
    same = corpus.tokens[begin:end] == word
    return _Occurrence(word, position, chunk, document, int(same[: position - begin].sum()), int(same.sum()))


# -- their lines -------------------------------------------------------------------------


def _table(corpus: TokenizedText, occurrences: list[_Occurrence], width: int, bar: Progress) -> pl.DataFrame:
    """Return a line for each occurrence, with the other columns of its document."""
    documents = pl.DataFrame(schema={"document": pl.Int64})
    if corpus.has_documents:
        lines, documents = _read_lines(corpus, occurrences, width, bar)
    else:
        lines = {one: _words_around(corpus, one, width) for one in occurrences}
    table = pl.DataFrame(
        [(*lines[one], corpus.slices.labels[corpus.chunk_slice[one.chunk]], one.document) for one in occurrences],
        schema={"left": pl.String, "keyword": pl.String, "right": pl.String, "slice": pl.String, "document": pl.Int64},
        orient="row",
    )
    return table.join(documents, on="document", how="left", maintain_order="left")


def _read_lines(
    corpus: TokenizedText, occurrences: list[_Occurrence], width: int, bar: Progress
) -> tuple[dict[_Occurrence, _Line], pl.DataFrame]:
    """Cut the lines out of the documents; return them, and the other columns of the documents."""
    wanted: dict[int, list[_Occurrence]] = {}
    for one in occurrences:
        wanted.setdefault(one.document, []).append(one)
    lines: dict[_Occurrence, _Line] = {}
    documents = []
    bar.stage("reading the texts", total=len(wanted))
    for numbers, frame in _read(corpus, sorted(wanted)):
        texts = frame["text"].to_list()
        here = [(i, one) for i, document in enumerate(numbers) for one in wanted[document]]
        queries = [OccurrenceQuery(i, corpus.words[one.word], one.rank, one.total) for i, one in here]
        for (i, one), span in zip(here, locate(corpus, texts, queries, _annotations(corpus, numbers)), strict=True):
            lines[one] = _line(corpus, one, texts[i], span, width=width)
        documents.append(frame.drop("text", "slice").with_columns(pl.Series("document", numbers, dtype=pl.Int64)))
        bar.update(more=len(numbers))
    return lines, pl.concat(documents)


def _read(corpus: TokenizedText, documents: list[int]) -> Iterator[tuple[list[int], pl.DataFrame]]:
    """Yield documents with their numbers, a batch at a time: many of them block by block, few of them one by one."""
    stored = corpus._stored_documents()
    with corpus._reading_documents():
        if len(documents) <= _BATCH:
            yield documents, stored.each(documents)
            return
        for block, numbers in groupby(documents, lambda document: document // _BATCH):
            inside = [document - block * _BATCH for document in numbers]
            frame = stored.rows(block * _BATCH, _BATCH).collect()
            yield [block * _BATCH + i for i in inside], frame[inside]


def _annotations(corpus: TokenizedText, documents: Sequence[int]) -> list[str] | None:
    """Return what the source said of the words of documents; None where it said nothing."""
    if not corpus.annotated:
        return None
    return [said or "" for said in corpus._stored_documents(annotations=True).each(documents)[ANNOTATION]]


def _line(corpus: TokenizedText, one: _Occurrence, text: str, span: Span | None, *, width: int) -> _Line:
    """Cut the line of one occurrence out of its text."""
    if span is None:
        spans = _search(text, corpus.words[one.word])
        if not spans:
            return _words_around(corpus, one, width)
        span = spans[min(one.rank, len(spans) - 1)]
    begin, end = span
    # Take more than the width, so that enough is left after collapsing white space; then cut at whole words.
    left = " ".join(text[max(0, begin - 2 * width) : begin].split())
    right = " ".join(text[end : end + 2 * width].split())
    if text[begin - 1 : begin].isspace():
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


def _search(text: str, word: str) -> list[Span]:
    """Find a word as it is written, in texts that were split by a user's own function."""
    pattern = r"\s+".join(re.escape(part) for part in word.split())
    matches = list(re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE))
    return [match.span() for match in matches or re.finditer(pattern, text, re.IGNORECASE)]


def _words_around(corpus: TokenizedText, one: _Occurrence, width: int) -> _Line:
    """Show the words around an occurrence, where there is no text."""
    reach = max(width // 4, 1)
    begin, end = int(corpus.offsets[one.chunk]), int(corpus.offsets[one.chunk + 1])
    before = corpus.tokens[max(begin, one.position - reach) : one.position]
    after = corpus.tokens[one.position + 1 : min(end, one.position + 1 + reach)]
    left, right = (" ".join(corpus.words[i] for i in ids) for ids in (before, after))
    return left[-width:] + " " if width else "", corpus.words[one.word], " " + right[:width] if width else ""


# -- the other columns of documents ------------------------------------------------------


def _allowed(corpus: TokenizedText, where: Mapping[str, str]) -> npt.NDArray[np.bool_]:
    """Return which documents have these values in their other columns."""
    check_columns(corpus, list(where), option="where")
    table = corpus.documents.select(list(where)).collect()
    allowed = np.ones(table.height, dtype=bool)
    for name, value in where.items():
        has_value = _equals(table[name], value)
        if not has_value.any():
            raise OptionError(
                f"No document has {checks.quoted(value)} in the column '{name}', which {_common_values(table[name])}"
            )
        allowed &= has_value
    if not allowed.any():
        raise OptionError("No document has all these values at once; leave one of them out of `where`")
    return allowed


def check_columns(corpus: TokenizedText, names: list[str], *, option: str) -> None:
    """Refuse columns that the documents do not have; an error names the option that asked for them."""
    if not corpus.has_documents:
        raise OptionError(
            f"This corpus was made of ids, so its documents have no columns to choose by; leave `{option}` out"
        )
    columns = [name for name in corpus.documents.collect_schema() if name not in ("text", "slice")]
    for name in names:
        if name not in columns:
            listed = ", ".join(columns[:_MAX_NAMED]) + (", ..." if len(columns) > _MAX_NAMED else "")
            hint = did_you_mean(name, columns) if len(name) <= _MAX_NAME else ""
            raise OptionError(f"The documents have no column {checks.quoted(name)}{hint or f'; they have {listed}'}")


def document_values(corpus: TokenizedText, name: str, *, option: str) -> npt.NDArray[np.int64]:
    """Return a number for the value that each document has in a column; documents without one share a number."""
    check_columns(corpus, [name], option=option)
    texts = as_texts(corpus.documents.select(name).collect()[name])
    return texts.rank("dense").fill_null(0).to_numpy().astype(np.int64)


def check_where(where: Mapping[str, Any] | None) -> dict[str, str] | None:
    """Check which columns of the documents must have which values; numbers and dates are compared as text."""
    if where is None:
        return None
    example = "give columns and values, such as {'country': 'FRA'}, or leave it out"
    if not isinstance(where, Mapping):
        raise OptionError(f"`where` is {checks.shown(where)}; {example}")
    texts: dict[str, str] = {}
    for name, value in where.items():
        plain = checks.plain(value)
        if not isinstance(name, str) or not isinstance(plain, str | int | float | date | timedelta):
            raise OptionError(f"`where` holds {checks.shown(name)} and {checks.shown(value)}; {example}")
        if isinstance(plain, int) and abs(plain) > checks.LARGEST:
            raise OptionError(f"`where` holds {checks.shown(value)}, more than a table can hold; {example}")
        texts[checks.text("where", name, lines=True)] = checks.text("where", str(plain), lines=True)
    return texts or None


def _common_values(column: pl.Series) -> str:
    """Return the most frequent values of a column, as part of a sentence."""
    names = [checks.quoted(value) for value in documents_by_value(as_texts(column))]
    return f"has {', '.join(names[:_MAX_NAMED])}{', ...' if len(names) > _MAX_NAMED else ''}" if names else "is empty"


def as_texts(column: pl.Series) -> pl.Series:
    """Return the values of a column as text."""
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        values = [None if value is None else str(value) for value in column.to_list()]
        return pl.Series(column.name, values, dtype=pl.String)
    return column.cast(pl.String, strict=False)


def _equals(column: pl.Series, value: str) -> npt.NDArray[np.bool_]:
    """Return where a column has a value, as Polars or Python would write it, or as a number."""
    same = as_texts(column).eq_missing(value)
    if not same.any() and not column.dtype.is_nested():
        distinct = column.drop_nulls().unique().to_list()
        matching = [one for one in distinct if str(one) == value]
        if column.dtype.is_numeric():
            with contextlib.suppress(ValueError):
                matching += [one for one in distinct if float(one) == float(value)]
        same = column.is_in(matching).fill_null(value=False) if matching else same
    return same.to_numpy()
