"""Which words the models know, and how often each token of them is seen.

Words are numbered by falling frequency. A training pass keeps each token with
probability ``min(1, sqrt(t / f))``, f being the word's share of all tokens.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from driftword.errors import OptionError

#: About as many tokens as a laptop passes over ten times in a coffee break.
AUTO_TOKENS: Final = 20_000_000
AUTO_STRONGEST: Final = 1e-5
AUTO_MILDEST: Final = 1e-3
#: Han letters and hiragana in a row; words from other languages, in katakana, may be as long.
_RUN: Final = re.compile("[\u3040-\u309f\u3400-\u9fff]{6,}")


def choose_words(
    words: Sequence[str],
    counts: npt.NDArray[np.int64],
    *,
    size: int,
    min_count: int,
    stop: Collection[str] = (),
    keep: Collection[str] = (),
) -> npt.NDArray[np.int64]:
    """Return the ids of the vocabulary, most frequent first, ties in alphabetical order."""
    stop, keep = set(stop), set(keep)
    must = [i for i, word in enumerate(words) if word in keep and counts[i] > 0 and word]
    enough = [i for i in np.flatnonzero(counts >= max(min_count, 1)).tolist() if words[i] and words[i] not in stop]
    enough.sort(key=lambda i: (-counts[i], words[i]))
    room = max(size - len(must), 0)
    taken = set(must)
    chosen = must + [i for i in enough if i not in taken][:room]
    chosen.sort(key=lambda i: (-counts[i], words[i]))
    return np.array(chosen, dtype=np.int64)


def unspaced(words: Sequence[str]) -> bool:
    """Tell whether many words are long ones in Chinese or Japanese letters: they are whole clauses."""
    return sum(_RUN.fullmatch(word) is not None for word in words) > 0.2 * max(len(words), 1)


def keep_probability(counts: npt.NDArray[np.int64], t: float | None) -> npt.NDArray[np.float64]:
    """Return the probability with which a pass keeps a token of each word; None keeps all."""
    if t is None:
        return np.ones(len(counts))
    share = counts / max(int(counts.sum()), 1)
    with np.errstate(divide="ignore"):
        return np.minimum(1.0, np.sqrt(t / share))


def choose_subsample(rule: float | str | None, counts: npt.NDArray[np.int64]) -> float | None:
    """Return the threshold t of a user's rule.

    ``"auto"`` keeps about `AUTO_TOKENS` tokens: the mildest t that leaves no
    more, between the paper's 1e-5 and 1e-3.
    """
    if rule is None or rule == "none":
        return None
    if rule != "auto":
        try:
            t = float(rule)
        except ValueError:
            t = -1.0
        if not 0 < t <= 1:
            raise OptionError(f"subsample '{rule}' is no threshold; use auto, none, or a number such as 1e-3 (up to 1)")
        return t
    low, high = np.log(AUTO_STRONGEST), np.log(AUTO_MILDEST)
    for _ in range(40):
        middle = (low + high) / 2
        left = float((counts * keep_probability(counts, float(np.exp(middle)))).sum())
        low, high = (low, middle) if left > AUTO_TOKENS else (middle, high)
    return float(f"{np.exp(high):.1e}")
