"""The company of a word: words near it that it gained or lost.

An occurrence has a collocate if that word is within a few words of it. A collocate that is as likely near any
occurrence, before a change and since, is expected in each document in proportion to the word's occurrences there; so
of the documents that have it, the number since the change follows a binomial distribution. Its tail gives p: documents
are the unit of evidence, and one that repeats a phrase counts once. False discovery rates are over all collocates.

The ratio of the shares of occurrences that have the collocate is drawn towards 1 as if one more occurrence had it, in
proportion to the occurrences of each side.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks
from driftword.basics.benjamini_hochberg import benjamini_hochberg
from driftword.corpus import Corpus
from driftword.corpus.function_words import function_words, is_number_word
from driftword.corpus.tokenized_text import concatenated_ranges
from driftword.models.model import Model
from driftword.models.significance_table import LEVEL
from driftword.models.usage import Usage, as_source, corpus_of_source
from driftword.uses.sides import Sides, find_sides
from driftword.uses.usage_vectors import FAR
from driftword.uses.word_uses import WordUses

Array = npt.NDArray[Any]
WINDOW: Final = 5  # words on either side
LEAST_COUNT: Final = 5  # occurrences with the collocate on its side, and documents with them
LEAST_DOCUMENTS: Final = 3
NAMED: Final = 3  # of each side
_TYPICAL: Final = 1.0  # least log_ratio and association of a word that is named
_MOST_RATIO, _MOST_ASSOCIATION = 4.0, 6.0  # beyond which more does not make a collocate more typical
_SCHEMA: Final = {
    "word": pl.String, "side": pl.String, "count": pl.Int64, "count_other": pl.Int64, "documents": pl.Int64,
    "documents_other": pl.Int64, "log_ratio": pl.Float64, "association": pl.Float64, "p": pl.Float64, "q": pl.Float64,
    "pmi": pl.Float64, "log_dice": pl.Float64, "log_likelihood": pl.Float64, "slices": pl.Int64, "first": pl.Date,
    "last": pl.Date,
}  # fmt: skip
#: Endings by which forms of one word differ, longest first.
_ENDINGS: Final = re.compile(r"(?<=\w{3})(ations?|ing|ers?|ed|es|ies|ic|al|ly|y|e|s|'s|s')$")


def collocates(
    model: Model | Usage | str | os.PathLike[str],
    word: str,
    *,
    n: int | None = None,
    between: Sequence[Any] | None = None,
    groups: Sequence[str] | None = None,
    window: int = WINDOW,
    function: bool = False,
    corpus: Corpus | str | os.PathLike[str] | None = None,
) -> pl.DataFrame:
    """Return the company that a word gained and lost: words near it before its change, and since.

    Parameters
    ----------
    model
        A model of any kind, or its path; or vectors of occurrences (see `usage`).
    word
        The word. Where no test found a change (see `significance`), the sides are those before and since the day at
        which its occurrences differ most.
    n
        Number of collocates on either side; None for all.
    between
        Compare two slices or periods instead, as in `significance`.
    groups
        Compare two groups of documents instead (see `prepare`): the sides have their names.
    window
        Words on either side of an occurrence, at most 20.
    function
        Also list function words and numbers.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.

    Returns
    -------
    One row per collocate, on the side where it is more usual, those with the most evidence first: word, the collocate;
    side, before or after, or a group; count, occurrences of the word on this side that have it (at least 5), and
    count_other on the other; documents with such occurrences (at least 3), and documents_other; log_ratio, the
    logarithm to base 2 of how many times as usual it is on this side, drawn towards 0 where counts are small;
    association, the logarithm to base 2 of how many times as often it is near the word on this side as anywhere; p and
    q, its false discovery rate over all collocates, with documents as the unit of evidence; pmi, log_dice and
    log_likelihood, the usual measures of how the word and the collocate go together on this side, for comparison with
    other programs; slices in which it occurs on this side; first and last, the dates of its first and last occurrence
    there.
    """
    model = as_source(model)
    n = checks.optional(checks.whole, "n", n, least=1)
    window, function = checks.whole("window", window, least=1, most=FAR), checks.flag("function", function)
    text = corpus_of_source(model, corpus)
    sides = find_sides(model, text, checks.text("word", word), between, groups=groups)
    found = company(sides, window=window, function=function)
    if n is None:
        return found
    return pl.concat([found.filter(pl.col("side") == side).head(n) for side in sides.names])


def company(sides: Sides, *, window: int = WINDOW, function: bool = False) -> pl.DataFrame:
    """Return the collocates of both sides; see `collocates`."""
    corpus = sides.corpus
    n_words = len(corpus.words)
    occurrence, collocate = _near(sides, window)
    document = np.unique(sides.document, return_inverse=True)[1]
    since = sides.since[occurrence]
    count = np.array([np.bincount(collocate[since == side], minlength=n_words) for side in (False, True)])
    with_it = _distinct(document[occurrence] * np.int64(n_words) + collocate)
    # A document is on one side, but for those that are in both of two periods: the side of most of its occurrences.
    later = np.bincount(document, sides.since) > np.bincount(document) / 2
    later_of = later[with_it // n_words]
    in_documents = np.array([
        np.bincount((with_it % n_words)[later_of == side], minlength=n_words) for side in (False, True)
    ])  # fmt: skip
    side = _more_usual(count, sides.since)
    wanted = (count.sum(axis=0) >= LEAST_COUNT) & (in_documents.sum(axis=0) >= LEAST_DOCUMENTS)
    hidden = _hidden(corpus, sides.word, function=function)
    ids = [v for v in np.flatnonzero(wanted).tolist() if not hidden(corpus.words[v])]
    sizes = np.bincount(document).astype(np.float64)
    totals, which = np.unique(count[:, ids].sum(axis=0), return_inverse=True)
    shares = np.array([_share_since(total, sizes, later) for total in totals.tolist()])[which]
    p = _tails(in_documents[:, ids], shares, side[ids])
    first, last = _dates(sides, occurrence, collocate, side)
    n_side = np.bincount(sides.since, minlength=2)
    table = pl.DataFrame(
        {
            "word": [corpus.words[v] for v in ids],
            "side": [sides.names[side[v]] for v in ids],
            "count": count[side[ids], ids],
            "count_other": count[1 - side[ids], ids],
            "documents": in_documents[side[ids], ids],
            "documents_other": in_documents[1 - side[ids], ids],
            "log_ratio": _log_ratios(count[:, ids], n_side, side[ids]),
            "association": np.log2((count[side[ids], ids] + 0.5) / (_expected(sides, window)[side[ids], ids] + 0.5)),
            "p": p,
            "q": benjamini_hochberg(p),
            **_usual_measures(sides, count, side, ids, window),
            "slices": _slices(sides, occurrence, collocate, side)[ids],
            "first": first[ids],
            "last": last[ids],
        },
        schema=_SCHEMA,
    )
    # Rates are over all that could have been listed; only then those that are rare on their side are left out.
    often = (pl.col("count") >= LEAST_COUNT) & (pl.col("documents") >= LEAST_DOCUMENTS)
    return table.filter(often).sort(
        pl.col("side") == sides.names[1], "p", pl.col("log_ratio").neg(), maintain_order=True
    )


def typical(collocates: pl.DataFrame, n: int = NAMED) -> pl.DataFrame:
    """Choose the collocates of a side that tell most about it, no two of them forms of one word."""
    score = (
        pl.min_horizontal("log_ratio", _MOST_RATIO)
        * pl.min_horizontal("association", _MOST_ASSOCIATION)
        * (1 + pl.col("slices")).log()
    )
    likely = collocates.filter((pl.col("log_ratio") >= _TYPICAL) & (pl.col("association") >= _TYPICAL))
    likely = likely.sort(pl.col("q") <= LEVEL, score, descending=True, maintain_order=True)
    chosen: list[int] = []
    seen: set[str] = set()
    for i, word in enumerate(likely["word"]):
        parts = {fold(part) for part in word.split()}
        if not parts & seen:
            seen |= parts
            chosen.append(i)
        if len(chosen) == n:
            break
    return likely[chosen]


def sense_company(uses: WordUses, inside: Array, n: int = NAMED, *, window: int = WINDOW) -> list[str]:
    """Return the collocates that tell most about some occurrences of a word: beside the others, and beside all text."""
    corpus, n_words = uses.corpus, len(uses.corpus.words)
    occurrence, collocate = _near(uses, window)
    own = inside[occurrence]
    count = np.array([np.bincount(collocate[own == side], minlength=n_words) for side in (False, True)])
    spread = _distinct(uses.document[occurrence[own]] * np.int64(n_words) + collocate[own]) % n_words
    documents = np.bincount(spread, minlength=n_words)
    size = np.bincount(inside, minlength=2)
    hidden = _hidden(corpus, uses.word, function=False)
    ids = [v for v in np.flatnonzero(documents >= LEAST_DOCUMENTS).tolist() if not hidden(corpus.words[v])]
    text = corpus.counts.sum(axis=0, dtype=np.float64)
    expected = (text + 1) / (text.sum() + 1) * 2 * window * size[1]
    alone = size[0] == 0  # then nothing but all text can be compared with
    table = pl.DataFrame(
        {
            "word": [corpus.words[v] for v in ids],
            "log_ratio": np.full(len(ids), _TYPICAL) if alone else _log_ratios(count[:, ids], size, np.ones_like(ids)),
            "association": np.log2((count[1, ids] + 0.5) / (expected[ids] + 0.5)),
            "slices": documents[ids],  # how widely it is spread
            "q": np.ones(len(ids)),
        },
        schema={name: _SCHEMA[name] for name in ("word", "log_ratio", "association", "slices", "q")},
    )
    return list(typical(table, n)["word"])


def fold(word: str) -> str:
    """Return what forms of a word, such as change and changes, have in common."""
    return _ENDINGS.sub("", word)


def _near(uses: WordUses, window: int) -> tuple[Array, Array]:
    """Return each collocate once for each occurrence that has it: the number of the occurrence, and of the word."""
    near = np.sort(uses.around[:, FAR - window : FAR + window + 1], axis=1)
    occurrence, column = np.nonzero(np.diff(near, axis=1, prepend=-1) > 0)  # -1 is no word
    return occurrence, near[occurrence, column].astype(np.int64)


def _distinct(values: Array) -> Array:
    """Return each of some numbers once, in order, as `np.unique` does, which takes ten times as long."""
    ordered = np.sort(values)
    return np.asarray(ordered[np.diff(ordered, prepend=-1) > 0])


def _hidden(corpus: Corpus, asked: str, *, function: bool) -> Any:
    """Return which collocates are not listed: forms of the word, phrases that contain it, and function words."""
    functions = frozenset() if function else function_words(corpus.words)
    parts = {fold(part) for part in asked.split()}

    def hidden(word: str) -> bool:
        if any(fold(part) in parts for part in re.split(r"[\s-]", word)):
            return True
        if function:
            return False
        return word in functions or is_number_word(word) or len(word) < 2 or any(c.isdigit() for c in word)

    return hidden


def _more_usual(count: Array, since: Array) -> Array:
    """Return the side on which each collocate is more usual: 0 before, 1 since."""
    size = np.maximum(np.bincount(since, minlength=2), 1)
    return np.asarray(count[1] * size[0] > count[0] * size[1]).astype(np.int64)


def _log_ratios(count: Array, size: Array, side: Array) -> Array:
    """Return how many times as usual collocates are on their sides, as logarithms to base 2, drawn towards 0."""
    share = (count + (size / size.sum())[:, None]) / np.maximum(size, 1)[:, None]
    ratio = np.log2(share[1] / share[0])
    return np.asarray(np.where(side == 1, ratio, -ratio))


def _expected(sides: Sides, window: int) -> Array:
    """Return how many occurrences of the word would have each collocate by chance, before and since, ``(2, V)``."""
    counts = sides.text_counts.astype(np.float64)
    share = (counts + 1) / (counts.sum(axis=1, keepdims=True) + 1)
    return np.asarray(share * 2 * window * np.bincount(sides.since, minlength=2)[:, None])


def _usual_measures(sides: Sides, count: Array, side: Array, ids: list[int], window: int) -> dict[str, Array]:
    """Return pointwise mutual information, logDice and the log-likelihood ratio on the side of each collocate."""
    own, text = count[side[ids], ids].astype(np.float64), sides.text_counts.astype(np.float64)
    near = 2.0 * window * np.bincount(sides.since, minlength=2)[side[ids]]  # places near the word
    every, all_words = text[side[ids], ids], text.sum(axis=1)[side[ids]]
    word = np.bincount(sides.since, minlength=2)[side[ids]]
    expected = near * every / np.maximum(all_words, 1)
    observed = np.array([[own, near - own], [every - own, all_words - near - every + own]]).clip(min=0)
    row, column = observed.sum(axis=1, keepdims=True), observed.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = observed * np.log(observed * observed.sum(axis=(0, 1)) / (row * column))
        pmi = np.log2(own / expected)
    return {
        "pmi": pmi,
        "log_dice": 14 + np.log2(2 * own / np.maximum(word + every, 1)),
        "log_likelihood": 2 * np.nan_to_num(terms).sum(axis=(0, 1)),
    }


def _share_since(total: int, sizes: Array, later: Array) -> float:
    """Return which share of the documents with a collocate would be on the second side, if it were as usual on both.

    Of as many occurrences, documents have them with these chances, given how often they have the word.
    """
    chance = -np.expm1(-total / sizes.sum() * sizes)
    return float(chance[later].sum() / chance.sum())


def _tails(in_documents: Array, share_since: Array, side: Array) -> Array:
    """Return the probability that as many of the documents with a collocate are on its side, or more; twice."""
    own = in_documents[side, np.arange(len(side))]
    share = np.where(side == 1, share_since, 1 - share_since)
    return np.asarray(np.minimum(2 * binomial_tails(own, in_documents.sum(axis=0), share), 1.0))


def binomial_tails(k: Array, n: Array, share: Array) -> Array:
    """Return the probability of k or more successes in n trials, of all triples."""
    tails = np.where((k <= 0) | (share >= 1), 1.0, 0.0)
    rest = np.flatnonzero((k > 0) & (share < 1) & (share > 0))
    if not len(rest):
        return tails
    k, n, share = k[rest], n[rest], share[rest]
    number = concatenated_ranges(k, n + 1)
    begins = np.r_[0, np.cumsum(n + 1 - k)[:-1]]
    trials, yes, no = (np.repeat(values, n + 1 - k) for values in (n, np.log(share), np.log1p(-share)))
    factorials = _log_factorials(1 << int(n.max()).bit_length())
    ways = factorials[trials] - factorials[number] - factorials[trials - number]
    tails[rest] = np.minimum(np.add.reduceat(np.exp(ways + number * yes + (trials - number) * no), begins), 1.0)
    return tails


@cache
def _log_factorials(n: int) -> Array:
    return np.asarray(np.r_[0.0, np.cumsum(np.log(np.arange(1, n + 1)))])


def _slices(sides: Sides, occurrence: Array, collocate: Array, side: Array) -> Array:
    """Return in how many slices each collocate occurs on its side."""
    own = sides.since[occurrence] == (side[collocate] == 1)
    slices = np.asarray(sides.corpus.chunk_slice[sides.chunk], dtype=np.int64)
    pairs = _distinct(slices[occurrence[own]] * len(side) + collocate[own])
    return np.asarray(np.bincount(pairs % len(side), minlength=len(side)))


def _dates(sides: Sides, occurrence: Array, collocate: Array, side: Array) -> tuple[Array, Array]:
    """Return when each collocate occurs first and last on its side."""
    own = sides.since[occurrence] == (side[collocate] == 1)
    day, which = sides.day[occurrence[own]], collocate[own]
    first, last = np.zeros((2, len(side)), dtype=np.int64)
    in_order = np.argsort(day, kind="stable")
    for found, order in ((first, in_order[::-1]), (last, in_order)):
        found[which[order]] = day[order]  # what comes last stays
    return first.astype("datetime64[D]"), last.astype("datetime64[D]")
