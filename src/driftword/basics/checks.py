"""Checks of what a user gave.

Public functions call these first, and trust the values from there on. Every check returns what it has accepted as
plain Python: NumPy's scalars become `int`, `float`, `bool` or `str`, which JSON can hold.
"""

from __future__ import annotations

import math
import operator
import os
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any, Final, TypeVar

from driftword.basics.addresses import is_address, was_address
from driftword.basics.errors import OptionError

_T = TypeVar("_T")

LARGEST: Final = (1 << 63) - 1  # what arrays and tables can hold
LARGEST_SEED: Final = LARGEST
MAX_THREADS: Final = 4_096
_MAX_SHOWN: Final = 60  # characters of a value in an error
MAX_DIGITS: Final = 40  # of a number in an error
_MAX_TEXT: Final = 1_000
_MAX_PATH: Final = 4_096
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_JOINERS: Final = "\u200c\u200d"  # invisible, but part of words in Persian and Indic scripts

# -- values in errors --------------------------------------------------------------------

_short_repr: Final = reprlib.Repr()
_short_repr.maxlevel, _short_repr.maxlist, _short_repr.maxtuple, _short_repr.maxset = 2, 4, 4, 4
_short_repr.maxdict, _short_repr.maxstring, _short_repr.maxother, _short_repr.maxlong = 3, 40, 60, MAX_DIGITS


def shown(value: Any) -> str:
    """Return a value as an error shows it: on one line, shortened, and printable whatever it holds."""
    value = plain(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
        return f"a number of more than {MAX_DIGITS} digits"
    if value is None or isinstance(value, int | float | complex | Decimal | date | bytes | list | tuple | set | dict):
        try:
            return _printable(_shortened(" ".join(_short_repr.repr(value).split())))
        except ValueError:  # it holds a number of thousands of digits
            pass
    return f"a value of type {type(value).__name__}"


def quoted(text: str) -> str:
    """Return a text in quotation marks as an error shows it: shortened, and without control characters."""
    return f"'{_printable(_shortened(text))}'"


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."


def _printable(text: str) -> str:
    return "".join(
        letter if letter.isprintable() or letter in _JOINERS else letter.encode("unicode_escape").decode()
        for letter in text
    )


# -- numbers, choices and texts ----------------------------------------------------------


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python value; anything else as it is."""
    if getattr(value, "shape", None) == () and callable(getattr(value, "item", None)):
        return value.item()
    return value


def whole(name: str, value: Any, *, least: int = 0, most: int | None = None) -> int:
    """Check a whole number. NumPy's are accepted; floats such as 2.0 and truth values are not."""
    bounds = f"at least {least}" if most is None else f"from {least} to {most:,}"
    number = plain(value)
    try:
        number = operator.index(number if not isinstance(number, bool) else None)  # type: ignore[arg-type]
    except TypeError:
        raise OptionError(f"`{name}` is {shown(value)}; it must be a whole number, {bounds}") from None
    if number < least or (most is not None and number > most):
        raise OptionError(f"`{name}` is {shown(number)}; it must be {bounds}")
    if number > LARGEST:
        raise OptionError(f"`{name}` is {shown(number)}; it must be at most {LARGEST:,}")
    return number


def real(name: str, value: Any, *, low: float = -math.inf, high: float = math.inf, positive: bool = False) -> float:
    """Check a finite number within closed bounds, or one greater than zero."""
    number = plain(value)
    if isinstance(number, bool) or not isinstance(number, Real | Decimal):
        raise OptionError(f"`{name}` is {shown(value)}; it must be a number")
    try:
        number = float(number)
    except OverflowError:
        number = math.inf
    if positive and not 0 < number < math.inf:
        raise OptionError(f"`{name}` is {shown(value)}; it must be a positive number")
    if not math.isfinite(number) or not low <= number <= high:
        bounds = f"from {low:g} to {high:g}" if high < math.inf else f"at least {low:g}"
        bounds = bounds if low > -math.inf else "that is finite"
        raise OptionError(f"`{name}` is {shown(value)}; it must be a number {bounds}")
    return number


def flag(name: str, value: Any) -> bool:
    """Check an option that is on or off. Other values are refused: the text "no" would count as on."""
    switch = plain(value)
    if not isinstance(switch, bool):
        raise OptionError(f"`{name}` is {shown(value)}; it must be True or False")
    return switch


def one_of(name: str, value: Any, known: Iterable[str]) -> str:
    """Check that an option names one of several choices."""
    choices, choice = list(known), plain(value)
    if not isinstance(choice, str) or choice not in choices:
        raise OptionError(f"`{name}` is {shown(value)}; choose one of {', '.join(choices)}")
    return str(choice)


def text(name: str, value: Any, *, lines: bool = False) -> str:
    """Check a short text; with `lines`, one that may span several lines, as the name of a CSV column may."""
    given = plain(value)
    if not isinstance(given, str):
        raise OptionError(f"`{name}` is {shown(value)}; it must be text")
    if len(given) > _MAX_TEXT:
        raise OptionError(f"`{name}` is {shown(value)}, longer than {_MAX_TEXT:,} letters; give a shorter text")
    if not lines and _CONTROL.search(given):
        raise OptionError(f"`{name}` is {shown(value)}, which holds a control character; write it without")
    if not is_unicode(given):
        raise OptionError(f"`{name}` is {shown(value)}, which is not valid Unicode; write it anew")
    return str(given)


def optional(check: Callable[..., _T], name: str, value: Any, **bounds: Any) -> _T | None:
    """Check a value with one of these functions, unless it is None."""
    return None if value is None else check(name, value, **bounds)


def is_unicode(value: str) -> bool:
    """Tell whether a text can be stored: half a surrogate pair, as in text decoded wrongly, cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def seed(value: Any) -> int:
    """Check the seed of random numbers."""
    return whole("seed", value, most=LARGEST_SEED)


def threads(value: Any) -> int | None:
    """Check a number of threads; None leaves it open."""
    return optional(whole, "threads", value, least=1, most=MAX_THREADS)


def show_progress(value: Any) -> bool | None:
    """Check whether a progress bar is wanted; None leaves it open."""
    return optional(flag, "show_progress", value)


def path(name: str, value: Any) -> Path:
    """Check a path on this machine: text, or whatever Python accepts as one."""
    given = location(name, value)
    if isinstance(given, str):
        raise OptionError(f"`{name}` is {shown(given)}, which is not on this machine; give a path")
    return given


def location(name: str, value: Any) -> Path | str:
    """Check where something can be read from: a path on this machine, or an address, which stays text."""
    given = os.fspath(value) if isinstance(value, os.PathLike) else plain(value)
    if not isinstance(given, str):
        raise OptionError(f"`{name}` is {shown(value)}, which is not a path; give one as text")
    if not given:
        raise OptionError(f"`{name}` is empty, which is not a path; give one as text")
    if len(given) > _MAX_PATH:
        raise OptionError(f"`{name}` is {shown(given)}, longer than any path; give a shorter one")
    try:
        os.fsencode(given)
    except UnicodeEncodeError:
        raise OptionError(f"`{name}` is {shown(given)}, which cannot be a path; give another") from None
    if _CONTROL.search(given):
        raise OptionError(
            f"`{name}` is {shown(given)}, which holds a zero byte or another control character; give another"
        )
    if was_address(given):
        raise OptionError(
            f"`{name}` is {shown(given)}, which is not on this machine; give a path, or an address as text where one "
            "is possible"
        )
    return given if is_address(given) else Path(given)


# -- several of something ----------------------------------------------------------------


def several(name: str, value: Any, *, remedy: str) -> list[Any]:
    """Check that a value is a list, tuple, set, array or column, and return it as a list; sets are sorted."""
    is_table = hasattr(type(value), "columns")
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | Mapping) and not is_table:
        try:
            return sorted(value, key=str) if isinstance(value, set | frozenset) else list(value)
        except TypeError:  # a zero-dimensional array
            pass
    raise OptionError(f"`{name}` is {shown(value)}; {remedy}")


def seeds(value: Any) -> list[int]:
    """Check a seed or several; return them as a list, each once."""
    given = several_numbers("seeds", value)
    if not given:
        raise OptionError("`seeds` is empty; give at least one")
    return list(dict.fromkeys(whole("seeds", one, most=LARGEST_SEED) for one in given))


def several_numbers(name: str, value: Any) -> list[Any]:
    """Return a number, or several, as a list; they are yet to be checked."""
    alone = isinstance(plain(value), int | float)
    return [value] if alone else several(name, value, remedy="give a whole number, or a list of them")


def some_of(name: str, value: Any, known: Sequence[str]) -> list[str]:
    """Check that an option names one or several of some choices; return them in the order of the choices."""
    remedy = "give a name, or a list of names"
    given = [value] if isinstance(plain(value), str) else several(name, value, remedy=remedy)
    names = {one_of(name, one, known) for one in given}
    return [choice for choice in known if choice in names]


def words(name: str, value: Any) -> list[str]:
    """Check a word or several; return them as a list."""
    remedy = "give a word, or a list of words"
    given = [plain(value)] if isinstance(plain(value), str) else several(name, value, remedy=remedy)
    if not given:
        raise OptionError(f"`{name}` is empty; name at least one word")
    return _all_text(name, given)


def word_list(name: str, value: Any) -> list[str]:
    """Check a list of words, which may be empty."""
    if isinstance(plain(value), str):
        raise OptionError(f"`{name}` is one string; it must be a list of words")
    return _all_text(name, several(name, value, remedy="give a list of words"))


def _all_text(name: str, values: list[Any]) -> list[str]:
    for value in values:
        if not isinstance(value, str):
            raise OptionError(f"`{name}` holds {shown(value)}; it must be a list of words")
        if not is_unicode(value):
            raise OptionError(f"`{name}` holds {shown(value)}, which is not valid Unicode; leave it out")
    return [str(value) for value in values]


def comma_separated(values: str | Iterable[str] | None) -> list[str]:
    """Split one text, or several, at commas and semicolons, as words, slices or numbers are listed."""
    given = [values] if isinstance(values, str) else values or []
    return [part.strip() for value in given for part in value.replace(";", ",").split(",") if part.strip()]
