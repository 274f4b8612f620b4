"""The language of documents, told by py3langid: offline, from the first characters of each text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from driftword.errors import OptionError
from driftword.suggestions import did_you_mean

_CHARACTERS: Final = 2_000  # of a text that are looked at
_LEAST_SURE: Final = 0.2  # below this probability the language of a text cannot be told
_SAMPLE: Final = 400  # documents that are looked at to notice a mixed corpus
_SURE: Final = 0.5  # what a noticed language must reach, so that word lists and tables do not count
_SHORTEST: Final = 40
_UNTOLD: Final = ("und", "zxx")  # codes of "undetermined" and "not a language"


class LanguageDetector:
    """Tells the language of texts.

    Parameters
    ----------
    least_sure
        Probability below which a language counts as undetermined.
    """

    def __init__(self, least_sure: float = _LEAST_SURE) -> None:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        self._identifier: Any = LanguageIdentifier.from_model_file(
            MODEL_FILE, norm_probs=True, min_confidence=least_sure
        )
        self.languages = sorted(set(map(str, self._identifier.labels)) - set(_UNTOLD))

    def detect(self, texts: Sequence[str]) -> list[str | None]:
        """Return the language code of each text; None where it cannot be told."""
        codes = (str(self._identifier.classify(text[:_CHARACTERS])[0]) for text in texts)
        return [None if code in _UNTOLD else code for code in codes]


class LanguageFilter:
    """Keeps the documents of one language, or those whose language cannot be told, and counts the others.

    Parameters
    ----------
    language
        Code of the language to keep, such as ``"en"``.
    """

    def __init__(self, language: str) -> None:
        try:
            self._detector = LanguageDetector()
        except ImportError:
            raise OptionError(
                "To choose documents by `language`, install the language detector: pip install 'driftword[language]'"
            ) from None
        if language not in self._detector.languages:
            known = did_you_mean(str(language), self._detector.languages)
            raise OptionError(f"'{language}' is not a known language code; give one such as 'en', 'de' or 'fr'{known}")
        self.language = language
        self.others: Counter[str] = Counter()

    def select(self, texts: pl.Series) -> pl.Series:
        """Return which documents to keep."""
        detected = self._detector.detect(texts.to_list())
        self.others.update(code for code in detected if code not in (None, self.language))
        return pl.Series([code in (None, self.language) for code in detected], dtype=pl.Boolean)


class LanguageSample:
    """A sample of documents, evenly over all of them, to notice a corpus in several languages."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._seen = 0
        self._step = 1

    def add(self, texts: pl.Series) -> None:
        """Look at more documents."""
        first = -self._seen % self._step
        self._texts += texts.gather_every(self._step, first).str.slice(0, _CHARACTERS).to_list()
        self._seen += len(texts)
        while len(self._texts) > 2 * _SAMPLE:  # keep every other one, and take half as many from now on
            self._texts = self._texts[::2]
            self._step *= 2

    def languages(self) -> dict[str, int]:
        """Return how many documents of the sample are in which language, most frequent first; empty if none is told."""
        try:
            detector = LanguageDetector(least_sure=_SURE)
        except ImportError:
            return {}
        detected = detector.detect([text for text in self._texts if len(text) >= _SHORTEST])
        return dict(Counter(code for code in detected if code is not None).most_common())
