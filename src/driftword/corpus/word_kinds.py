"""What kind of word each one of a vocabulary is: a fact that tells lists apart, not a filter.

Names change their company with every event, and numbers, ordinals and formulas with every session; words of another
language come and go with its documents. So lists of words that changed have such words in lists of their own.

Names are written with a capital letter more often than not; a sample of the texts shows how often. Where most words
are, as nouns are in German, this says nothing and no word counts as a name. Documents in another language have few of
the words that are most frequent in the corpus; a word that occurs mostly in those is foreign.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.corpus.corpus import Corpus
from driftword.corpus.function_words import FUNCTION_TAGS, function_words, is_number_word, tagged
from driftword.corpus.options import CUSTOM, LEMMA_POS
from driftword.corpus.tokens import make_rule, mend
from driftword.sources.annotated_text import ANNOTATION, FIELDS

WORD, NAME, PHRASE, FUNCTION, NUMBER, FRAGMENT, FOREIGN = KINDS = (
    "word", "name", "phrase", "function", "number", "fragment", "foreign",
)  # fmt: skip
_SAMPLE: Final = 1 << 25  # characters of text in which capital letters are counted
_LETTERS_PER_WORD: Final = 6  # with the space
_RUNS: Final = 64  # of documents, of which the sample consists
_BATCH: Final = 1 << 22  # tokens that are counted at a time
_LEAST_SEEN: Final = 3  # occurrences without which it is unknown how a word is written
_CAPITALIZED: Final = 0.6  # share of its occurrences from which on a word is a name
_MOST_NAMES: Final = 0.4  # of the words that are not function words; if more have capital letters, these say nothing
_COMMON: Final = 100  # most frequent words, by which documents in another language are told
_FEW_COMMON: Final = 0.5  # of the usual share of such words
_LEAST_WORDS: Final = 30  # of a document whose language can be told
_LETTERS: Final = re.compile(r"[^\W\d_]{4}")  # in a row, as in covid-19, which is more than a fragment
#: How the usual sets of tags call names and numbers.
NAME_TAGS: Final = frozenset({"propn", "nnp", "nnps", "np", "nps", "np0", "ne", "nam", "name"})
NUMBER_TAGS: Final = frozenset({"num", "cd", "card", "crd", "mc"})
#: The first letter of a sentence, which says nothing; a digit in its place makes the word an unknown one.
_SENTENCE_START: Final = r"(^|[.!?:\n]\s*[\"'\u{201c}\u{2018}(\[]*)\p{Lu}"
_ROMAN: Final = re.compile(r"(?=..)x{0,3}(ix|iv|v?i{0,3})")


def word_kinds(corpus: Corpus) -> list[str]:
    """Return the kind of each word of a corpus, one of `KINDS`."""
    functions = function_words(corpus.words)
    capital = capital_shares(corpus)
    named = capital >= _CAPITALIZED
    known = np.isfinite(capital) & np.array([word not in functions for word in corpus.words])
    if named[known].sum() > _MOST_NAMES * known.sum():
        named[:] = False
    foreign = _is_foreign(corpus)
    index, tags = corpus.word_index, corpus.options.words == LEMMA_POS

    def kind(v: int, word: str) -> str:
        word, tag = tagged(word) if tags else (word, "")
        if tag in NAME_TAGS | FUNCTION_TAGS | NUMBER_TAGS and " " not in word:
            return NAME if tag in NAME_TAGS else NUMBER if tag in NUMBER_TAGS else FUNCTION
        if " " in word:
            parts = [index.get(part) for part in word.split() if part not in functions]
            return NAME if parts and all(part is not None and named[part] for part in parts) else PHRASE
        if word in functions:
            return FUNCTION
        if is_number_word(word) or word.isnumeric() or _ROMAN.fullmatch(word):
            return NUMBER
        if len(word) < 2 or (any(letter.isdigit() for letter in word) and not _LETTERS.search(word)):
            return FRAGMENT
        return NAME if named[v] else FOREIGN if foreign[v] else WORD

    return [kind(v, word) for v, word in enumerate(corpus.words)]


def capital_shares(corpus: Corpus) -> npt.NDArray[np.float64]:
    """Return the share of its occurrences in which each word begins with a capital letter; NaN where unknown.

    Where the source says parts of speech, it is the share in which it is a name.

    It is unknown without the texts, where a user's own function has split them, and for words that are too rare in the
    sample of documents, which are taken evenly from all of them.
    """
    shares = np.full(len(corpus.words), np.nan)
    if not corpus.has_documents or corpus.options.tokens == CUSTOM:
        return shares
    seen, capital = (np.zeros(len(corpus.words), dtype=np.int64) for _ in range(2))
    rule = make_rule(corpus.options)

    def count(word: str) -> int:
        number = corpus.word_index.get(word)
        return 0 if number is None else int(corpus.raw_counts[number])

    for texts in _sample(corpus, ANNOTATION if corpus.annotated else "text"):
        split = texts if corpus.annotated else texts.str.replace_all(_SENTENCE_START, "${1}0")
        for raw, n in rule.split(split)[0].value_counts().iter_rows():
            v = corpus.word_index.get(mend(rule.spell(raw), count))
            if v is not None:
                seen[v] += n
                named = raw.lower().rpartition(FIELDS)[2] in NAME_TAGS if corpus.annotated else raw[0].isupper()
                capital[v] += n if named else 0
    known = seen >= _LEAST_SEEN
    shares[known] = capital[known] / seen[known]
    return shares


def _sample(corpus: Corpus, column: str) -> Iterator[pl.Series]:
    """Yield the texts of some documents: runs of them, taken evenly from all, so that the others are not read."""
    with corpus._reading_documents():
        documents = corpus._stored_documents(annotations=corpus.annotated)
        total = len(documents)
        share = min(1.0, _SAMPLE / max(_LETTERS_PER_WORD * corpus.n_tokens, 1))
        runs = min(_RUNS, total)
        length = math.ceil(share * total / max(runs, 1))
        for number in range(runs):
            begin, end = (edge * total // runs for edge in (number, number + 1))
            yield documents.rows(begin, min(length, end - begin)).select(column).collect()[column]


def _is_foreign(corpus: Corpus) -> npt.NDArray[np.bool_]:
    """Tell which words occur mostly in documents that have few of the most frequent words."""
    documents = int(corpus.chunk_document.max(initial=-1)) + 1
    common, total = np.zeros(documents), np.zeros(documents)
    for chunks, tokens in _blocks(corpus):
        lengths = np.diff(corpus.offsets[chunks[0] : chunks[-1] + 2])
        document = corpus.chunk_document[chunks]
        total += np.bincount(document, lengths, minlength=documents)
        filled = np.r_[0, np.cumsum(tokens < _COMMON)]
        ends = np.cumsum(lengths)
        common += np.bincount(document, filled[ends] - filled[ends - lengths], minlength=documents)
    usual = common.sum() / max(total.sum(), 1)
    other = (common < _FEW_COMMON * usual * total) & (total >= _LEAST_WORDS)
    there = np.zeros(len(corpus.words), dtype=np.int64)
    if other.any():
        for chunks, tokens in _blocks(corpus):
            lengths = np.diff(corpus.offsets[chunks[0] : chunks[-1] + 2])
            inside = np.repeat(other[corpus.chunk_document[chunks]], lengths)
            there += np.bincount(tokens[inside], minlength=len(there))
    return np.asarray(there > corpus.counts.sum(axis=0) / 2)


def _blocks(corpus: Corpus) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[Any]]]:
    """Yield the numbers of consecutive chunks with their tokens, some millions of tokens at a time."""
    offsets = np.asarray(corpus.offsets)
    first, n = 0, len(offsets) - 1
    while first < n:
        last = max(int(np.searchsorted(offsets, offsets[first] + _BATCH, side="right")) - 1, first + 1)
        yield np.arange(first, last), corpus.tokens[int(offsets[first]) : int(offsets[last])]
        first = last
