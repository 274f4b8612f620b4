"""The language of documents, told by py3langid: offline, from the first characters of each text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import polars as pl

from driftword.basics.errors import OptionError

SAMPLED_CHARACTERS: Final = 2_000  # of a text that are looked at
_LEAST_SURE: Final = 0.2  # below this probability the language of a text cannot be told
_SAMPLE: Final = 200  # documents that are looked at to notice a mixed corpus
_SURE: Final = 0.5  # what a noticed language must reach, so that word lists and tables do not count
_SHORTEST: Final = 40
_NO_LANGUAGE: Final = "zxx"  # what py3langid calls numbers, markup and the like


class LanguageDetector:
    """Tells the language of texts; raises ImportError where py3langid is not installed.

    A language whose probability is below `least_sure` counts as undetermined.
    """

    def __init__(self, least_sure: float = _LEAST_SURE) -> None:
        import py3langid

        self._rank: Callable[[str], list[tuple[str, float]]] = py3langid.rank  # loads its model once per process
        self._least_sure = least_sure

    @property
    def languages(self) -> set[str]:
        """Codes of the languages that can be told."""
        return {code for code, _ in self._rank("")} - {_NO_LANGUAGE}

    def detect(self, texts: Sequence[str]) -> list[str | None]:
        """Return the language code of each text; None where it cannot be told."""
        return [self._detect(text[:SAMPLED_CHARACTERS]) for text in texts]

    def _detect(self, text: str) -> str | None:
        ranked = self._rank(text)
        # As py3langid does: scaling the log likelihoods keeps probabilities calibrated across lengths.
        scores = np.array([score for _, score in ranked]) / math.sqrt(max(len(text.encode(errors="replace")), 1))
        probability = 1 / float(np.exp(scores - scores[0]).sum())
        language = ranked[0][0]
        return None if probability < self._least_sure or language == _NO_LANGUAGE else language


class LanguageFilter:
    """Keeps the documents of one language, or those whose language cannot be told, and counts the others."""

    def __init__(self, language: str) -> None:
        self.language = language.lower()
        try:
            self._detector = LanguageDetector()
        except ImportError:
            raise OptionError(
                "To choose documents by `language`, install the language detector: pip install 'driftword[language]'"
            ) from None
        if self.language not in self._detector.languages:
            raise OptionError(
                f"'{self.language}' is not a known language; give `language` as a code such as 'en' or 'de'"
            )
        self.others: Counter[str] = Counter()

    def select(self, texts: pl.Series) -> pl.Series:
        """Return which documents to keep."""
        detected = self._detector.detect(texts.to_list())
        kept = [code in (None, self.language) for code in detected]
        self.others.update(code for code, keep in zip(detected, kept, strict=True) if code is not None and not keep)
        return pl.Series(kept, dtype=pl.Boolean)


class LanguageSample:
    """The beginnings of some texts, evenly over all of them, to notice a corpus in several languages."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._seen = 0
        self._step = 1

    def add(self, texts: pl.Series) -> None:
        """Look at more documents."""
        first = -self._seen % self._step
        self.texts += texts.gather_every(self._step, first).str.slice(0, SAMPLED_CHARACTERS).to_list()
        self._seen += len(texts)
        step = sampling_step(self._seen)
        self.texts = self.texts[:: step // self._step]
        self._step = step


def sampling_step(n_documents: int) -> int:
    """Return which documents of so many are sampled: those whose number is a multiple of it."""
    step = 1
    while -(-n_documents // step) > 2 * _SAMPLE:
        step *= 2
    return step


def detected_languages(sample: Sequence[str]) -> dict[str, int]:
    """Return how many texts of a sample are in which language; empty where the detector is not installed."""
    texts = [text for text in sample if len(text) >= _SHORTEST]
    try:
        detected = LanguageDetector(least_sure=_SURE).detect(texts) if texts else []
    except ImportError:
        return {}
    return dict(Counter(code for code in detected if code is not None).most_common())
