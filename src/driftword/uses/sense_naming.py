"""Names that a user gives to the senses of a word."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus import Corpus
from driftword.models.model import Model, as_model, corpus_of
from driftword.models.storing import LONGEST_NAME, MOST_SENSES, SenseNames
from driftword.uses.word_senses import find_word_senses

_MERGE: Final = "give the numbers of senses that are one, such as [(1, 3)]"


def name_senses(
    model: Model | str | os.PathLike[str],
    word: str,
    names: Mapping[int, str] | None = None,
    *,
    merge: Sequence[Sequence[int]] = (),
    n: int | None = None,
    corpus: Corpus | str | os.PathLike[str] | None = None,
) -> dict[int, str]:
    """Name the senses of a word, or make one of several; tables, pages and figures use it from now on.

    It is kept with the model. Without names and `merge`, what was kept for the word is forgotten.

    Parameters
    ----------
    model
        A model of any kind, or its path.
    word
        The word.
    names
        Names by the numbers of senses that `senses` shows with these `n` and `merge`.
    merge
        Numbers of senses that are one, as `senses` shows them without `merge`, such as ``[(1, 3)]``.
    n
        Number of senses before merging; None for as many as the text shows.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.

    Returns
    -------
    The names that are kept, by number.
    """
    model = as_model(model)
    n = checks.optional(checks.whole, "n", n, least=1, most=MOST_SENSES)
    word = model.words[model.word_id(checks.text("word", word))]
    if names is not None and not isinstance(names, Mapping):
        raise OptionError(f"`names` is {checks.shown(names)}; give names by number, such as {{1: 'money', 2: 'city'}}")
    given = {checks.whole("names", key, least=1): _name(name) for key, name in (names or {}).items()}
    together = [
        sorted({checks.whole("merge", number, least=1) for number in checks.several("merge", part, remedy=_MERGE)})
        for part in checks.several("merge", merge, remedy=_MERGE)
    ]
    if len(set(given.values())) < len(given):
        raise OptionError("Two senses have the same name; give each its own, or make one of them with `merge`")
    kept = None
    if given or together:
        number = find_word_senses(model, corpus_of(model, corpus), word, n=n, named=False).number
        _check_numbers(word, number, given, together)
        kept = SenseNames(n=n, seed=0, merged=together, names={str(key): name for key, name in given.items()})
    model.keep_sense_names(word, kept)
    return dict(sorted(given.items()))


def _name(given: Any) -> str:
    name = checks.text("names", given).strip()
    if not 0 < len(name) <= LONGEST_NAME:
        raise OptionError(f"A name is {checks.shown(given)}; give one of 1 to {LONGEST_NAME} letters")
    return name


def _check_numbers(word: str, number: int, names: dict[int, str], merge: list[list[int]]) -> None:
    """Raise an error if there are not so many senses."""
    every = [one for part in merge for one in part]
    if len(set(every)) < len(every) or any(len(part) < 2 for part in merge):
        raise OptionError(f"`merge` is {checks.shown(merge)}; {_MERGE}, each number once")
    left = number - sum(len(part) - 1 for part in merge)
    if max(every, default=0) > number or max(names, default=0) > left:
        there = "is one sense" if number == 1 else f"are {number} senses"
        merged = f", {left} after merging" if merge else ""
        raise OptionError(f"There {there} of '{word}'{merged}; give other numbers, as `driftword senses` shows them")
