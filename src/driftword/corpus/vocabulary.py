"""The vocabulary: its words, the slices of time, and how often each word occurs in each slice."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics import checks
from driftword.basics.errors import OptionError, UnknownWordError
from driftword.basics.suggestions import closest, did_you_mean
from driftword.corpus.slices import Slices
from driftword.corpus.tokens import TokenRule
from driftword.storage.stored_arrays import StoredArray, whole

#: The count of a word that occurs an unknown number of times, as in embeddings made elsewhere.
UNKNOWN: Final = -1
#: Letters that are words in some language, and the last Latin one: elsewhere single characters often are words.
_LETTER_WORDS: Final = frozenset("a\u00e0\u00e2e\u00e9\u00e8\u00eai\u00edo\u00f3\u00f2u\u00fay")
_LAST_LETTER: Final = "\u024f"
#: Han characters and hiragana in a row; katakana is left out, since borrowed words may be as long.
_UNSPACED_RUN: Final = re.compile("[\u3040-\u309f\u3400-\u9fff]{6,}")


class Vocabulary:
    """What a corpus and the models fitted to it have in common: words, most frequent first, slices and counts.

    The id of a word is its position.
    """

    def __init__(
        self,
        words: tuple[str, ...],
        slices: Slices,
        counts: npt.NDArray[Any] | StoredArray,
        train_counts: npt.NDArray[Any] | StoredArray,
    ) -> None:
        self.words = words
        self.slices = slices
        self._counts = counts
        self._train_counts = train_counts

    @property
    def counts(self) -> npt.NDArray[Any]:
        """Occurrences of each word in each slice, ``(T, V)``; `UNKNOWN` where a word occurs but was not counted."""
        return whole(self._counts)

    @property
    def train_counts(self) -> npt.NDArray[Any]:
        """The same in the training text alone: what a model can have learnt from."""
        return whole(self._train_counts)

    @cached_property
    def index(self) -> dict[str, int]:
        """The id of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def word_id(self, word: str) -> int:
        """Return the id of a word as a user may write it; the error for an unknown one suggests others."""
        if not isinstance(word, str):
            raise OptionError(f"`word` is {checks.shown(word)}, which is not a word; give one word as text")
        if not word.strip():
            raise UnknownWordError("No word was named; name one", asked=word)
        rule = TokenRule(numbers=True)
        spelling = " ".join(rule.spell(part) for part in word.split())
        for known in (word, spelling):
            if known in self.index:
                return self.index[known]
        forms = {f" {form} " for form in (word.strip(), spelling) if form}
        phrases = [known for known in self.words if any(form in f" {known} " for form in forms)][:3]
        if phrases:
            names = ", ".join(f"'{known}'" for known in phrases)
            raise UnknownWordError(
                f"{checks.quoted(word)} is in the vocabulary only as part of phrases, such as {names}", phrases, word
            )
        close = closest(spelling, self.words, n=2)
        hint = did_you_mean(spelling, close, n=2) or "; it may be too rare to have been kept"
        raise UnknownWordError(f"{checks.quoted(word)} is not in the vocabulary{hint}", close, word)

    def __contains__(self, word: object) -> bool:
        try:
            return isinstance(word, str) and self.word_id(word) >= 0
        except UnknownWordError:
            return False

    @cached_property
    def counted(self) -> bool:
        """Whether it is known how often words occur."""
        return not bool((self.counts == UNKNOWN).any())

    @cached_property
    def observed(self) -> npt.NDArray[np.bool_]:
        """Which words occur in the training text of which slices, ``(T, V)``; elsewhere a vector is interpolated."""
        return np.asarray(self.train_counts != 0)

    @cached_property
    def totals(self) -> npt.NDArray[np.int64]:
        """Occurrences of each word in all slices, ``(V,)``; where they are not known, the number of slices."""
        if self.counted:
            return np.asarray(self.counts.sum(axis=0, dtype=np.int64))
        return np.asarray(self.observed.sum(axis=0, dtype=np.int64))

    def attested(self, t: int, min_count: int) -> npt.NDArray[np.bool_]:
        """Return which words occur at least `min_count` times in the training text of slice t, ``(V,)``.

        A word that occurs an unknown number of times counts as one of them.
        """
        return _at_least(self.train_counts[t], min_count)

    def attesting_slices(self, v: int, min_count: int) -> npt.NDArray[np.int64]:
        """Return the slices in whose training text word v occurs at least `min_count` times."""
        return np.flatnonzero(_at_least(self.train_counts[:, v], min_count))

    def count(self, t: Any, v: Any) -> Any:
        """Return occurrences of word v in slice t (or of several) as a table shows them: None where unknown."""
        counts = np.asarray(self.counts)[t, v]
        if counts.ndim == 0:
            return None if counts == UNKNOWN else int(counts)
        return [None if count == UNKNOWN else int(count) for count in counts]


def _at_least(counts: npt.NDArray[Any], min_count: int) -> npt.NDArray[np.bool_]:
    return np.asarray((counts >= min_count) | (counts == UNKNOWN))


def choose_words(
    words: Sequence[str],
    counts: npt.NDArray[np.int64],
    *,
    size: int,
    min_count: int,
    stopwords: Collection[str] = (),
    keep: Collection[str] = (),
) -> npt.NDArray[np.int64]:
    """Return the ids of the words to keep, most frequent first, ties in alphabetical order."""
    stopwords, keep = set(stopwords), set(keep)
    required = [i for i, word in enumerate(words) if word in keep and counts[i] > 0 and word]
    frequent = np.flatnonzero(counts >= max(min_count, 1)).tolist()
    frequent = [i for i in frequent if words[i] and words[i] not in stopwords]
    frequent.sort(key=lambda i: (-counts[i], words[i]))
    taken = set(required)
    chosen = required + [i for i in frequent if i not in taken][: max(size - len(required), 0)]
    chosen.sort(key=lambda i: (-counts[i], words[i]))
    return np.array(chosen, dtype=np.int64)


def count_suspicious(words: Sequence[str], counts: npt.NDArray[np.int64]) -> dict[str, int]:
    """Return how many words of a text may be misread: letters that stand alone, and words of letters and digits."""
    found = {
        "single letters": [
            len(word) == 1 and word.isalpha() and word <= _LAST_LETTER and word not in _LETTER_WORDS for word in words
        ],
        "letters and digits in one word": [
            any(map(str.isdigit, word)) and sum(map(str.isalpha, word)) > 1 and "-" not in word for word in words
        ],
    }
    return {what: int(counts[chosen].sum()) for what, chosen in found.items() if any(chosen)}


def looks_unspaced(words: Sequence[str]) -> bool:
    """Tell whether many words are long runs of Chinese or Japanese letters: whole clauses that were not split."""
    return sum(_UNSPACED_RUN.fullmatch(word) is not None for word in words) > 0.2 * max(len(words), 1)
