"""What goes away is announced first, in one way: by a warning that says what to use instead, and until when.

A name or a parameter stays for at least two minor versions after the one that announced it. A test fails once the
version is reached in which it was to go.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

from driftword.errors import OptionError

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: What was announced: what goes, and in which version.
ANNOUNCED: Final[dict[str, str]] = {}


def deprecated(instead: str, *, until: str) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Announce that a function goes away in a version; `instead` names what to call."""

    def announce(function: Callable[_P, _T]) -> Callable[_P, _T]:
        name = function.__qualname__
        ANNOUNCED[name] = until

        @functools.wraps(function)
        def call(*arguments: _P.args, **options: _P.kwargs) -> _T:
            _warn(f"`{name}` goes away in driftword {until}; use `{instead}`")
            return function(*arguments, **options)

        return call

    return announce


def renamed(*, until: str, **names: str) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Announce that parameters have new names; the old ones, given as ``old="new"``, work until a version."""

    def announce(function: Callable[_P, _T]) -> Callable[_P, _T]:
        name = function.__qualname__
        ANNOUNCED.update({f"{name}({old})": until for old in names})

        @functools.wraps(function)
        def call(*arguments: _P.args, **options: _P.kwargs) -> _T:
            given: dict[str, Any] = dict(options)
            for old, new in names.items():
                if old in given:
                    if new in given:
                        raise OptionError(f"`{old}` is the former name of `{new}`; give `{new}` alone")
                    _warn(f"`{old}` of `{name}` is now `{new}`; the old name goes away in driftword {until}")
                    given[new] = given.pop(old)
            return function(*arguments, **given)

        return call

    return announce


def _warn(message: str) -> None:
    warnings.warn(message, DeprecationWarning, stacklevel=3)
