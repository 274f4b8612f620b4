"""Subsampling of frequent words: how likely a pass is to see each token.

A training pass keeps each token with probability ``min(1, sqrt(t / f))``, where f is the word's share of all tokens.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from driftword.basics import checks
from driftword.basics.errors import OptionError

#: A laptop makes ten passes over about this many tokens in a few minutes.
AUTO_TOKENS: Final = 20_000_000
AUTO_STRONGEST: Final = 1e-5
AUTO_MILDEST: Final = 1e-3


def keep_probabilities(counts: npt.NDArray[np.int64], t: float | None) -> npt.NDArray[np.float64]:
    """Return the probability with which a pass keeps a token of each word; None keeps all."""
    if t is None:
        return np.ones(len(counts))
    share = counts / max(int(counts.sum()), 1)
    with np.errstate(divide="ignore"):
        return np.minimum(1.0, np.sqrt(t / share))


def check_subsample(rule: float | str | None) -> float | Literal["auto"] | None:
    """Check a user's rule: "auto", "none" or None, or a threshold, which may be written as text."""
    if rule is None or (isinstance(rule, str) and rule == "none"):
        return None
    if isinstance(rule, str) and rule == "auto":
        return "auto"
    try:
        t = float(rule) if isinstance(rule, str) else checks.real("subsample", rule)
    except (OptionError, ValueError):
        t = -1.0
    if not 0 < t <= 1:
        raise OptionError(
            f"`subsample` is {checks.shown(rule)}; use 'auto', 'none', or a threshold such as 1e-3 "
            "(greater than 0, at most 1)"
        )
    return t


def choose_subsample(rule: float | str | None, counts: npt.NDArray[np.int64]) -> float | None:
    """Return the threshold t that a user's rule stands for.

    ``"auto"`` takes the mildest threshold between the paper's 1e-5 and 1e-3 that keeps at most `AUTO_TOKENS` tokens.
    """
    rule = check_subsample(rule)
    if rule != "auto":
        return rule
    low, high = np.log(AUTO_STRONGEST), np.log(AUTO_MILDEST)
    for _ in range(40):
        middle = (low + high) / 2
        left = float((counts * keep_probabilities(counts, float(np.exp(middle)))).sum())
        low, high = (low, middle) if left > AUTO_TOKENS else (middle, high)
    return float(f"{np.exp(high):.1e}")
