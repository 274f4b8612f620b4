"""Occurrences of words with their texts: what an encoder needs to make vectors of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks, randomness
from driftword.basics.errors import OptionError
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.corpus.passages import find_at
from driftword.corpus.tokenized_text import chunks_of
from driftword.models.usage import SCHEMA

WIDTH: Final = 200  # characters on either side
_OF_CONTROL: Final = 100  # occurrences of a control word, at most
_LEAST_OF_CONTROL: Final = 50


def occurrences(
    corpus: Corpus | str | os.PathLike[str],
    words: str | Sequence[str],
    *,
    n: int | None = None,
    seed: int = 0,
    width: int = WIDTH,
    controls: int = 0,
) -> pl.DataFrame:
    """Return occurrences of words with the text around them, for an encoder; see `usage`.

    Parameters
    ----------
    corpus
        A corpus, or its path.
    words
        A word of its vocabulary, or several.
    n
        Number of occurrences of each word, drawn at random; by default all of them. Copies of documents are left out.
    seed
        Seed of the choice.
    width
        Characters of text on either side of the word, cut between words.
    controls
        Number of control words, drawn at random from words of some frequency, with at most 100 occurrences each: they
        show what all words do at a time, which is no change of one.

    Returns
    -------
    One row per occurrence, word by word, in the order of the text: word; text, in which it stands from character
    `begin` to `end`; date; slice; document; occurrence, its number in the document; position of its token in the
    corpus; control, whether it is of a control word; and the documents' other columns.
    """
    text = as_corpus(corpus)
    names = list(dict.fromkeys(text.words[text.word_id(word)] for word in checks.words("words", words)))
    n, seed = checks.optional(checks.whole, "n", n, least=1), checks.seed(seed)
    width = checks.whole("width", width, least=1, most=100_000)
    drawn = draw_controls(text, names, checks.whole("controls", controls), seed=seed)
    positions = [draw_positions(text, name, n=n, seed=seed) for name in names]
    positions += [draw_positions(text, name, n=_OF_CONTROL, seed=seed) for name in drawn]
    return lines_of(text, np.concatenate(positions), width=width).with_columns(control=pl.col("word").is_in(drawn))


def draw_controls(corpus: Corpus, words: Sequence[str], n: int, *, seed: int) -> list[str]:
    """Return n other words, drawn at random from those that occur often enough; fewer if there are not as many."""
    counts = corpus.counts.sum(axis=0, dtype=np.int64)
    plain = np.array([word.isalpha() and len(word) > 1 for word in corpus.words])
    known = np.flatnonzero(plain & (counts >= _LEAST_OF_CONTROL) & ~np.isin(corpus.words, words))
    order = np.argsort(randomness.bits(randomness.key(seed, "words"), known), kind="stable")
    return [corpus.words[v] for v in known[order[:n]].tolist()]


def draw_positions(corpus: Corpus, word: str, *, n: int | None, seed: int) -> Any:
    """Return the positions of a word, all of them or n drawn at random, without copies of documents."""
    positions = corpus.positions_of(word)
    if len(corpus.copies):
        positions = positions[~np.isin(corpus.chunk_document[chunks_of(corpus, positions)], corpus.copies[:, 0])]
    if not len(positions):
        raise OptionError(f"'{word}' does not occur in the corpus; name another word")
    if n is not None and len(positions) > n:
        drawn = randomness.bits(randomness.key(seed, "occurrences"), positions)
        positions = np.sort(positions[np.argsort(drawn, kind="stable")[:n]])
    return positions


def lines_of(corpus: Corpus, positions: Any, *, width: int) -> pl.DataFrame:
    """Return the text around occurrences, given by their positions; see `occurrences`."""
    lines, ranks = find_at(corpus, positions, width=width)
    days = corpus.chunk_day[chunks_of(corpus, positions)].tolist()
    begin = lines["left"].str.len_chars().cast(pl.Int64)
    ours = {
        "word": pl.Series([corpus.words[v] for v in corpus.tokens[positions].tolist()], dtype=pl.String),
        "text": lines.select(pl.concat_str("left", "keyword", "right"))["left"],
        "begin": begin,
        "end": begin + lines["keyword"].str.len_chars().cast(pl.Int64),
        "date": pl.Series([date(1970, 1, 1) + timedelta(days=day) for day in days], dtype=pl.Date),
        "slice": lines["slice"],
        "document": lines["document"],
        "occurrence": pl.Series([rank + 1 for rank in ranks], dtype=pl.Int64),
        "position": pl.Series(positions, dtype=pl.Int64),
    }
    others = lines.select(pl.exclude(*SCHEMA, "left", "keyword", "right"))
    return pl.DataFrame(ours).hstack(others)
