"""Words of languages that are written without spaces between them: Chinese and Japanese, by programs made for that.

Each needs an extra of its own. Neither is asked about text in another language.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from functools import cache
from typing import Final

from driftword.basics.errors import OptionError

Segmenter = Callable[[str], list[str]]


@cache
def segmenter(language: str) -> Segmenter:
    """Return what divides a text of this language, one of `SEGMENTED`, into words."""
    try:
        return _MAKE[language]()
    except ImportError as error:
        raise OptionError(
            f"Words of {language.capitalize()} text are told apart by an extra: pip install 'driftword[{language}]'"
        ) from error


def _chinese() -> Segmenter:
    import jieba

    jieba.setLogLevel(logging.WARNING)
    made = jieba.Tokenizer()
    # It would keep its dictionary in a file that anyone on this machine could have put there.
    with tempfile.TemporaryDirectory() as folder:
        made.tmp_dir = folder
        made.initialize()
    return lambda text: list(made.cut(text))


def _japanese() -> Segmenter:
    import fugashi

    tagger = fugashi.Tagger()
    return lambda text: [word.surface for word in tagger(text)]


_MAKE: Final[dict[str, Callable[[], Segmenter]]] = {"chinese": _chinese, "japanese": _japanese}
