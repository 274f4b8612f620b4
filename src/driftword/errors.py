"""What driftword says when something a user gave it cannot be used.

Every message is one sentence or a few: what was wrong, the value, the remedy.
The command line prints it and ends with status 2; anything that is not a
`DriftwordError` is a fault of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class DriftwordError(Exception):
    """Base of every error that a user can mend."""


class OptionError(DriftwordError):
    """An option has a value it cannot have."""


class SourceError(DriftwordError):
    """The text a user brought cannot be read as dated documents."""


class StoreError(DriftwordError):
    """A corpus or model directory is missing, damaged, too new, or in the way."""


class UnknownWordError(DriftwordError, KeyError):
    """A word is not in the vocabulary; `instead` of what was `asked`, some may have been meant."""

    __str__ = Exception.__str__  # KeyError would show the message in quotes

    def __init__(self, message: str, instead: Sequence[str] = (), asked: str = "") -> None:
        super().__init__(message)
        self.instead = list(instead)
        self.asked = asked


class UnknownSliceError(DriftwordError, KeyError):
    """A label, year or date names no slice."""

    __str__ = Exception.__str__


def did_you_mean(value: str, known: Iterable[str], *, n: int = 1) -> str:
    """Return ``"; did you mean 'x'?"`` for the closest known names, or nothing."""
    close = closest(value, known, n=n)
    return "; did you mean " + " or ".join(f"'{name}'" for name in close) + "?" if close else ""


def closest(value: str, known: Iterable[str], *, n: int = 1) -> list[str]:
    """Return the known names that look most like one that is not known.

    Names that differ only in case or surrounding space come first, then the first that it begins, then those that one
    letter more, less, changed or swapped would make of it, in the order in which they are known.
    """
    options = list(dict.fromkeys(known))
    folded = value.strip().casefold()
    close = [name for name in options if name.strip().casefold() == folded]
    if len(folded) > 3 and not close:
        close = [name for name in options if name.casefold().startswith(folded)][:1]
    close += [name for name in options if name not in close and _one_slip(folded, name.casefold())]
    near = [name for name in options if abs(len(name) - len(value)) <= max(2, len(value) // 2)]
    close += [name for name in get_close_matches(value, near, n=n, cutoff=0.6) if name not in close]
    return close[:n]


def _one_slip(one: str, other: str) -> bool:
    """Tell whether one letter more, less, changed or swapped with the next makes one word of the other."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    begin = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rest, left = one[begin:], other[begin:]
    swapped = rest[:2] == left[1::-1] and rest[2:] == left[2:]
    return rest[1:] == left[1:] or rest[1:] == left or rest == left[1:] or (len(rest) > 1 and swapped)
