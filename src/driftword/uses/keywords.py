"""Words that are more frequent in one part of a text than in another: keyness, with documents as the evidence.

The usual log-likelihood takes every occurrence for a piece of evidence, but words come in bursts: one report about a
flood makes *flood* a keyword of its year. Here documents exchange their parts. How much the frequency of a word differs
between the real parts is compared with how much it differs between exchanged ones.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks, randomness
from driftword.basics.errors import OptionError
from driftword.basics.progress import progress
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.corpus.function_words import function_words, is_number_word
from driftword.inference.designs import two_periods
from driftword.inference.false_discovery import false_discovery_rates
from driftword.inference.permutation_test import TestResult
from driftword.models.model import two_of
from driftword.models.significance_table import LEVEL
from driftword.uses.document_counts import DocumentSizes, WordCounts, sides_of_documents
from driftword.uses.word_uses import Array

LEAST_DOCUMENTS: Final = 8  # of a word that is tested, as elsewhere
_AT_ONCE: Final = 1 << 22  # products that are added up at a time
FIRST, SECOND = "first", "second"
_SCHEMA: Final = {
    "word": pl.String, "part": pl.String, "count": pl.Int64, "count_other": pl.Int64, "per_million": pl.Float64,
    "per_million_other": pl.Float64, "documents": pl.Int64, "documents_other": pl.Int64, "log_ratio": pl.Float64,
    "log_likelihood": pl.Float64, "dispersion": pl.Float64, "p": pl.Float64, "q": pl.Float64,
}  # fmt: skip


def keywords(
    corpus: Corpus | str | os.PathLike[str],
    *,
    between: Sequence[Any] | None = None,
    groups: Sequence[str] | None = None,
    n: int | None = None,
    function: bool = False,
    permutations: int = 200,
    seed: int = 0,
    show_progress: bool | None = None,
) -> pl.DataFrame:
    """Return the words that are more frequent in one part of a text than in another.

    Parameters
    ----------
    corpus
        A corpus, or its path.
    between
        Two slices or periods, such as ``((1946, 1960), (2000, 2015))``.
    groups
        Two groups instead, over all of the time.
    n
        Number of keywords of each part; None for all words.
    function
        Also list function words and numbers.
    permutations, seed
        Number of times that documents exchange their parts, and the seed of the exchanges.
    show_progress
        Show a progress bar; by default in a terminal only.

    Returns
    -------
    One row per word, under the part where it is more frequent, the surest first: word; part, first or second; count and
    occurrences per_million words of its part and of the other (count_other, per_million_other), and the documents with
    them; log_ratio, the logarithm to base 2 of how many times as frequent it is, drawn towards 0 where it is rare;
    log_likelihood, the usual G2; dispersion, Gries's DP over the documents of its part, 0 where every document has its
    share and 1 where one has all; p, with documents as the unit of evidence (null in fewer than 8), and q, the false
    discovery rate over all words that were tested.
    """
    text = as_corpus(corpus)
    n, function = checks.optional(checks.whole, "n", n, least=1), checks.flag("function", function)
    permutations, seed = checks.whole("permutations", permutations, least=19, most=10_000), checks.seed(seed)
    if (between is None) == (groups is None):
        raise OptionError(
            "Keywords are those of one part beside another; give two periods as `between`, such as (1950, 2000), or "
            "two groups as `groups`"
        )
    documents = DocumentSizes.of(text)
    side = _sides(text, documents, between, groups)
    here = side >= 0
    if not (side == 0).any() or not (side == 1).any():
        raise OptionError("One of the two parts has no documents; give others")
    with progress(show=checks.show_progress(show_progress)) as bar:
        bar.stage("counting words")
        counts = WordCounts.of(text, documents)
        keep = here[counts.document]
        counts = WordCounts(*(values[keep] for values in counts))
        bar.stage("exchanging parts")
        table = _table(text, documents, counts, side, permutations=permutations, seed=seed)
    if not function:
        hidden = function_words(text.words)
        shown = [word not in hidden and not is_number_word(word) and len(word) > 1 for word in table["word"]]
        table = table.filter(pl.Series(shown, dtype=pl.Boolean))
    sure = (pl.col("q") <= LEVEL).fill_null(value=False)
    table = table.sort(pl.col("part") == SECOND, ~sure, pl.col("log_ratio").neg(), maintain_order=True)
    if n is None:
        return table
    return pl.concat([table.filter(pl.col("part") == part).head(n) for part in (FIRST, SECOND)])


def _sides(corpus: Corpus, documents: DocumentSizes, between: Any, groups: Any) -> Array:
    """Return whether each document is of the first part (0), of the second (1), or of neither (-1)."""
    if between is not None:
        return np.asarray(two_periods(corpus, between)[documents.slice_of])
    if not corpus.groups:
        raise OptionError("The corpus has no groups; prepare it with `group`, or compare two periods with `between`")
    names = two_of(corpus.groups, groups)
    return np.asarray(sides_of_documents(corpus, names)[documents.number])


def _table(
    corpus: Corpus, documents: DocumentSizes, counts: WordCounts, side: Array, *, permutations: int, seed: int
) -> pl.DataFrame:
    n_words, own = len(corpus.words), side[counts.document]
    total = np.array([np.bincount(counts.word[own == k], counts.times[own == k], minlength=n_words) for k in (0, 1)])
    spread = np.array([np.bincount(counts.word[own == k], minlength=n_words) for k in (0, 1)])
    size = np.array([documents.size[side == k].sum() for k in (0, 1)], dtype=np.float64)
    known = np.flatnonzero(total.sum(axis=0))
    rate = total[:, known] / size[:, None]
    more = (rate[1] > rate[0]).astype(np.int64)
    # As if one more occurrence were spread over both parts in proportion to their text.
    share = (total[:, known] + (size / size.sum())[:, None]) / size[:, None]
    log_ratio = np.log2(share[more, np.arange(len(known))] / share[1 - more, np.arange(len(known))])
    tested = known[spread.sum(axis=0)[known] >= LEAST_DOCUMENTS]
    p, q = np.full((2, n_words), np.nan)
    p[tested], q[tested] = _tested(
        documents, counts, side, tested, spread.sum(axis=0)[tested], permutations=permutations, seed=seed
    )
    pick = np.arange(len(known))
    return pl.DataFrame(
        {
            "word": [corpus.words[v] for v in known],
            "part": [(FIRST, SECOND)[k] for k in more],
            "count": total[more, known].astype(np.int64), "count_other": total[1 - more, known].astype(np.int64),
            "per_million": 1e6 * rate[more, pick], "per_million_other": 1e6 * rate[1 - more, pick],
            "documents": spread[more, known], "documents_other": spread[1 - more, known],
            "log_ratio": log_ratio, "log_likelihood": log_likelihood(total[:, known], size),
            "dispersion": _dispersion(documents, counts, side)[more, known], "p": p[known], "q": q[known],
        },
        schema=_SCHEMA, strict=False,
    ).with_columns(pl.col("p", "q").fill_nan(None))  # fmt: skip


def log_likelihood(count: Array, size: Array) -> Array:
    """Return Dunning's G2 of counts in two parts of so many words, ``(words,)``."""
    expected = size[:, None] * count.sum(axis=0) / size.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.where(count > 0, count * np.log(count / expected), 0)
        others = size[:, None] - count
        rest = np.where(others > 0, others * np.log(others / (size[:, None] - expected)), 0)
    return np.asarray(2 * (own + rest).sum(axis=0))


def _dispersion(documents: DocumentSizes, counts: WordCounts, side: Array) -> Array:
    """Return DP of every word over the documents of each part, ``(2, V)``; NaN where it does not occur there."""
    n_words, found = int(counts.word.max(initial=0)) + 1, []
    for k in (0, 1):
        of = side[counts.document] == k
        word, document, count = (values[of] for values in counts)
        total = np.bincount(word, count, minlength=n_words)
        share = documents.size / max(documents.size[side == k].sum(), 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.abs(count / total[word] - share[document])
            present = np.bincount(word, share[document], minlength=n_words)
            dp = (np.bincount(word, apart, minlength=n_words) + (1 - present)) / 2
        found.append(np.where(total > 0, np.clip(dp, 0, 1), np.nan))
    return np.array(found)


def _tested(
    documents: DocumentSizes, counts: WordCounts, side: Array, words: Array, spread: Array, *, permutations: int,
    seed: int,
) -> tuple[Array, Array]:  # fmt: skip
    """Return p and q of words, given in how many documents each is."""
    here = np.flatnonzero(side >= 0)
    _, unit = np.unique(documents.unit[here], return_inverse=True)
    n_units = int(unit.max()) + 1
    # A unit, such as a debate, is of the part of most of its documents.
    late = np.bincount(unit, side[here], minlength=n_units) > 0.5 * np.bincount(unit, minlength=n_units)
    bits = randomness.bits(randomness.key(seed, "keywords"), np.arange(permutations * n_units))
    order = np.argsort(bits.reshape(permutations, n_units), axis=1, kind="stable")
    chosen = np.vstack([late, late[order]]).astype(np.float32).T  # (units, 1 + permutations)
    size = np.bincount(unit, documents.size[here], minlength=n_units).astype(np.float64)
    place = np.zeros(len(side), dtype=np.int64)
    place[here] = unit
    total = np.bincount(counts.word, counts.times, minlength=int(words.max(initial=0)) + 1)
    expected = (total[words] / size.sum())[:, None] * (size @ chosen)[None]  # (words, 1 + permutations)
    apart = _sums(counts, place, chosen, len(total))[words] - expected
    z = np.abs(apart - apart[:, 1:].mean(axis=1, keepdims=True))
    z /= np.maximum(apart[:, 1:].std(axis=1, keepdims=True), 1e-9)
    p = (1 + (z[:, 1:] >= z[:, :1] * (1 - 1e-6)).sum(axis=1)) / (permutations + 1)
    results = [TestResult(0.0, 0.0, *one) for one in zip(p.tolist(), z[:, 0].tolist(), z[:, 1:], strict=True)]
    return p, false_discovery_rates(results, spread)


def _sums(counts: WordCounts, place: Array, chosen: Array, n_words: int) -> Array:
    """Return how often each word is in each choice of units, ``(words, choices)``."""
    found = np.zeros((n_words, chosen.shape[1]))
    rows = max(_AT_ONCE // chosen.shape[1], 1)
    for first in range(0, len(counts.word), rows):
        some = slice(first, first + rows)
        word = counts.word[some]
        begin = np.flatnonzero(np.diff(word, prepend=-1))
        products = chosen[place[counts.document[some]]] * counts.times[some, None]
        found[word[begin]] += np.add.reduceat(products, begin, axis=0)
    return found
