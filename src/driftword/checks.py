"""Reading and checking what a user gave, each written once. Every function returns the value it has accepted."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any, Final

from driftword.errors import OptionError

LARGEST_SEED: Final = (1 << 63) - 1


def one_of(name: str, value: Any, known: Iterable[str]) -> str:
    """Check that an option names one of several choices."""
    choices = list(known)
    if value not in choices:
        raise OptionError(f"`{name}` is '{value}'; choose one of {', '.join(choices)}")
    return str(value)


def whole(name: str, value: Any, *, least: int = 0, most: int | None = None) -> int:
    """Check a whole number; NumPy's are welcome, and floats such as 2.0 are not."""
    bounds = f"at least {least}" if most is None else f"from {least} to {most:,}"
    try:
        number = operator.index(value)
    except TypeError:
        raise OptionError(f"`{name}` is {value!r}; it must be a whole number, {bounds}") from None
    if number < least or (most is not None and number > most):
        raise OptionError(f"`{name}` is {number}; it must be {bounds}")
    return number


def real(name: str, value: Any, *, low: float = -math.inf, high: float = math.inf, positive: bool = False) -> float:
    """Check a finite number within closed bounds, or one above zero."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise OptionError(f"`{name}` is {value!r}; it must be a number") from None
    if positive and not 0 < number < math.inf:
        raise OptionError(f"`{name}` is {value}; it must be a positive number")
    if not math.isfinite(number) or not low <= number <= high:
        bounds = f"from {low:g} to {high:g}" if high < math.inf else f"at least {low:g}"
        raise OptionError(f"`{name}` is {value}; it must be a number {bounds if low > -math.inf else 'that is finite'}")
    return number


def seed(value: Any) -> int:
    """Check the seed of random numbers."""
    return whole("seed", value, most=LARGEST_SEED)


def words(name: str, value: Any) -> list[str]:
    """Check a word or several; return them as a list."""
    several = [value] if isinstance(value, str) else value
    if not isinstance(several, Iterable):
        raise OptionError(f"`{name}` is {value!r}; give a word or a list of words")
    listed = list(several)
    if not listed:
        raise OptionError(f"`{name}` is empty; name at least one word")
    return listed


def comma_separated(values: str | Iterable[str] | None) -> list[str]:
    """Read a list of words, slices or numbers that are separated by commas or semicolons, in one text or in several."""
    given = [values] if isinstance(values, str) else values or []
    return [part.strip() for value in given for part in value.replace(";", ",").split(",") if part.strip()]
