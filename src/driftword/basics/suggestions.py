"""Suggestions for what a user may have meant by an unknown name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(value: str, known: Iterable[str], *, n: int = 1) -> str:
    """Return ``"; did you mean 'x'?"`` for the closest known names, or an empty string."""
    close = closest(value, known, n=n)
    return "; did you mean " + " or ".join(f"'{name}'" for name in close) + "?" if close else ""


def closest(value: str, known: Iterable[str], *, n: int = 1) -> list[str]:
    """Return the known names that look most like `value`.

    Names that differ only in case or surrounding space come first, then the first name that starts with `value`,
    then names one typing error away (a letter missing, added, changed or swapped), in the order of `known`, and then
    others with the same first letter.
    """
    options = list(dict.fromkeys(known))
    folded = value.strip().casefold()
    close = [name for name in options if name.strip().casefold() == folded]
    if len(folded) > 3 and not close:
        close = [name for name in options if name.casefold().startswith(folded)][:1]
    by_length = [name for name in options if abs(len(name) - len(folded)) <= max(2, len(folded) // 2)]
    close += [name for name in by_length if name not in close and _one_typing_error(folded, name.casefold())]
    near = [name for name in by_length if name[:1].casefold() == folded[:1]]  # all of them would take too long
    if near:  # else a long value would be taken apart for nothing
        close += [name for name in get_close_matches(value, near, n=n, cutoff=0.6) if name not in close]
    return close[:n]


def matches(name: str, pattern: str) -> bool:
    """Tell whether a name matches a pattern in which ``*`` stands for any letters.

    This takes linear time; a regular expression with many stars would not.
    """
    name = name.casefold()
    first, *rest = pattern.strip().casefold().split("*")
    if not rest:
        return name == first
    *inner, last = rest
    if not name.startswith(first) or not name.endswith(last) or len(name) < len(first) + len(last):
        return False
    at, end = len(first), len(name) - len(last)
    for part in inner:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _one_typing_error(one: str, other: str) -> bool:
    """Tell whether two words differ by one letter missing, added, changed or swapped with the next."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    begin = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rest, left = one[begin:], other[begin:]
    swapped = rest[:2] == left[1::-1] and rest[2:] == left[2:]
    return rest[1:] == left[1:] or rest[1:] == left or rest == left[1:] or (len(rest) > 1 and swapped)
