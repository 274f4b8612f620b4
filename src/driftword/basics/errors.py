"""Every error that a user can put right.

A message is one sentence or two: what was wrong, the value, the remedy. It begins with a capital letter or with
the quoted value. Code stands in backticks as one would write it in Python, such as ``pass `overwrite=True```; the
command line spells it as its own option (``--overwrite``), and the explorer as plain words. The command line prints
the message and exits with status 2; anything that is not a `DriftwordError` is a fault of ours.
"""

from __future__ import annotations

from collections.abc import Sequence


class DriftwordError(Exception):
    """Base class of every error that a user can put right."""


class DriftwordWarning(UserWarning):
    """Something that a user should know, and that stops nothing."""


class OptionError(DriftwordError, ValueError):
    """An option has a value that it cannot have."""


class SourceError(DriftwordError):
    """The text that a user brought cannot be read as dated documents."""


class StoreError(DriftwordError):
    """A corpus or model directory is missing, damaged, too new, or cannot be written."""


class ExistsError(StoreError, FileExistsError):
    """Something already exists where a result should be written, and it was not to be replaced."""

    __str__ = Exception.__str__


class BusyError(StoreError):
    """Another process is writing at the place where a result should be written."""


class FitError(DriftwordError):
    """A fit went wrong in a way that its options explain."""


class UnknownWordError(DriftwordError, KeyError):
    """A word is not in the vocabulary.

    Attributes
    ----------
    asked
        The word as it was written.
    suggestions
        Words that may have been meant.
    """

    __str__ = Exception.__str__  # KeyError would show the message in quotation marks

    def __init__(self, message: str, suggestions: Sequence[str] = (), asked: str = "") -> None:
        super().__init__(message)
        self.suggestions = list(suggestions)
        self.asked = asked


class UnknownSliceError(DriftwordError, KeyError):
    """A label, year or date names no slice."""

    __str__ = Exception.__str__
