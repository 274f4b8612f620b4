"""The language of documents, as py3langid detects it: offline, from the first characters of each text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from driftword.basics.errors import OptionError

SAMPLED_CHARACTERS: Final = 2_000  # of a text that are looked at
_LEAST_SURE: Final = 0.2  # below this probability the language of a text is unclear
_SAMPLE: Final = 200  # documents that are looked at to notice a mixed corpus
_SURE: Final = 0.5  # what a noticed language must reach, so that word lists and tables do not count
_SHORTEST: Final = 40
_NO_LANGUAGE: Final = "zxx"  # what py3langid calls numbers, markup and the like


def detect_languages(texts: Sequence[str], least_sure: float = _LEAST_SURE) -> list[str | None]:
    """Return the language code of each text; None where the most probable one is less probable than `least_sure`.

    Raise ImportError where py3langid is not installed.
    """
    from py3langid import rank  # loads its model once per process

    found: list[str | None] = []
    for text in (text[:SAMPLED_CHARACTERS] for text in texts):
        ranked = rank(text)
        # As py3langid does: scaling the log likelihoods keeps probabilities calibrated across lengths.
        scores = np.array([score for _, score in ranked]) / math.sqrt(max(len(text.encode(errors="replace")), 1))
        probability = 1 / float(np.exp(scores - scores[0]).sum())
        language = ranked[0][0]
        found.append(None if probability < least_sure or language == _NO_LANGUAGE else language)
    return found


class LanguageFilter:
    """Keeps documents in one language and those whose language is unclear, and counts the others."""

    def __init__(self, language: str) -> None:
        self.language = language.lower()
        try:
            from py3langid import rank
        except ImportError:
            raise OptionError(
                "To choose documents by `language`, install the language detector: pip install 'driftword[language]'"
            ) from None
        if self.language not in {code for code, _ in rank("")} - {_NO_LANGUAGE}:
            raise OptionError(
                f"'{self.language}' is not a known language; give `language` as a code such as 'en' or 'de'"
            )
        self.others: Counter[str] = Counter()

    def select(self, texts: pl.Series) -> pl.Series:
        """Return which documents to keep."""
        detected = detect_languages(texts.to_list())
        self.others.update(code for code in detected if code is not None and code != self.language)
        return pl.Series([code in (None, self.language) for code in detected], dtype=pl.Boolean)


class LanguageSample:
    """The beginnings of some texts, evenly over all of them, to notice a corpus in several languages."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._seen = 0
        self._step = 1

    def add(self, texts: pl.Series) -> None:
        """Take in more documents."""
        first = -self._seen % self._step
        self.texts += texts.gather_every(self._step, first).str.slice(0, SAMPLED_CHARACTERS).to_list()
        self._seen += len(texts)
        step = sampling_step(self._seen)
        self.texts = self.texts[:: step // self._step]
        self._step = step


def sampling_step(n_documents: int) -> int:
    """Return the step between sampled documents: those whose number is a multiple of it are in the sample."""
    step = 1
    while -(-n_documents // step) > 2 * _SAMPLE:
        step *= 2
    return step


def count_languages(sample: Sequence[str]) -> dict[str, int]:
    """Return how many texts of a sample are in each language; empty where the detector is not installed."""
    texts = [text for text in sample if len(text) >= _SHORTEST]
    try:
        detected = detect_languages(texts, least_sure=_SURE) if texts else []
    except ImportError:
        return {}
    return dict(Counter(code for code in detected if code is not None).most_common())
