"""Old and other spellings, read as those under which words are to be counted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from driftword.basics import checks
from driftword.basics.errors import OptionError

#: What a column of a VRT file may be called here.
COLUMNS: Final = ("word", "lemma", "pos")
#: In old print, v stands for u at the beginning of a word, u for v within it, and i for j.
_OLD: Final = (
    (re.compile(r"^vv"), "w"),  # vvhen
    (re.compile(r"^v(?=[^aeiouy'])"), "u"),  # vpon
    (re.compile(r"(?<=[aeiou])u(?=[aeio])"), "v"),  # haue
    (re.compile(r"^i(?=[aou])"), "j"),  # iudge
)


def with_new_letters(word: str) -> str:
    """Return a word of old print, in small letters, with the letters that are written today."""
    for old, new in _OLD:
        word = old.sub(new, word)
    return word


def check_variants(given: Any) -> dict[str, str] | None:
    """Check a table of spellings, and of what they are counted as."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise OptionError(f"`variants` is {checks.shown(given)}; give spellings and words, such as {{'shew': 'show'}}")
    found = {}
    for form, word in given.items():
        spelled, meant = (checks.text("variants", one).strip().lower() for one in (form, word))
        if not spelled or not meant or len(spelled.split()) > 1 or len(meant.split()) > 1:
            raise OptionError(
                f"`variants` has {checks.shown(form)} for {checks.shown(word)}; each must be a single word"
            )
        found[spelled] = meant
    return found


def check_columns(given: Any) -> str:
    """Check the names of the columns of VRT files."""
    names = [name.strip().lower() for name in checks.text("columns", given).split(",")]
    if "word" not in names or len(set(names)) < len(names):
        raise OptionError(
            f"`columns` is {checks.shown(given)}; name every column once, one of them 'word', such as 'word,pos,lemma'"
        )
    return ",".join(names)
