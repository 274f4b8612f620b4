"""Lemmas made here, for text that comes without any: the words of the text as a dictionary lists them.

`simplemma` knows some fifty languages by lists of forms and by rules for endings. It looks at a word alone, so *saw* is
one word whether it cuts or has seen; annotated sources know better. Each spelling is looked up once, however often it
occurs, which is what makes it fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from driftword.basics.errors import OptionError
from driftword.basics.suggestions import did_you_mean
from driftword.corpus.function_words import language_of

_LEAST: Final = 200  # words without which the language of a text is not told by its function words


@cache
def _lemmatizer() -> Any:
    try:
        import simplemma
    except ImportError as error:
        raise OptionError(
            "Lemmas are made by simplemma: install the extra with pip install 'driftword[lemmas]'"
        ) from error
    return simplemma


def check_languages(given: str) -> str:
    """Check the languages of lemmas, codes with commas between them."""
    _lemmatizer()
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    known = sorted(SUPPORTED_LANGUAGES)
    codes = [code.strip().lower() for code in given.split(",") if code.strip()]
    for code in codes:
        if code not in known:
            raise OptionError(
                f"There are no lemmas for the language '{code}'{did_you_mean(code, known)}; "
                f"known are {', '.join(known)}"
            )
    return ",".join(codes)


def lemma_of(word: str, languages: str) -> str:
    """Return the lemma of a word as it is written; the word itself where none is known."""
    found: str = _lemmatizer().lemmatize(word, lang=tuple(languages.split(",")))
    return found


def is_known(word: str, languages: str) -> bool:
    """Tell whether a word is in a dictionary."""
    return bool(_lemmatizer().is_known(word, lang=tuple(languages.split(","))))


def language_for_lemmas(texts: Sequence[str]) -> str:
    """Return the language of some texts, as their most frequent words tell it."""
    counts: dict[str, int] = {}
    for text in texts:
        for word in text.lower().split():
            counts[word] = counts.get(word, 0) + 1
    code = language_of(sorted(counts, key=lambda word: -counts[word])) if sum(counts.values()) >= _LEAST else None
    if code is None:
        raise OptionError(
            "The language of the text cannot be told, which lemmas need; name it with `lemma_language`, such as 'fr'"
        )
    return code
