"""The passages that show how a word changed: those in which its new use is plainest, and its old one.

Occurrences before a change and since have mean vectors (`usage_vectors`). Those that lie farthest along the way from
one to the other, as far as the text as a whole has not gone the same way, are the plainest. Not all occurrences since a
change are of the new use; so the way is found again from those that lie farthest. What an occurrence contributes to it
is left out of its own score: ways are found from nine tenths of the documents, for the last tenth.

The passages shown are of different documents and, as far as possible, of different times.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks, randomness
from driftword.corpus import Corpus
from driftword.corpus.passages import find_at
from driftword.models.model import Model
from driftword.models.usage import Usage, as_source, corpus_of_source
from driftword.uses.sides import Sides, find_sides
from driftword.uses.usage_vectors import FAR
from driftword.uses.word_uses import WordUses

Array = npt.NDArray[Any]
#: Share of the occurrences of a side that show its use most plainly, from which the way is found again.
PLAINEST: Final = 0.2
_STEPS: Final = 3
_FOLDS: Final = 10
#: Two passages with this share of the same words at the same places, within so many words, are one.
_ALIKE: Final = 0.5
_ALIKE_WITHIN: Final = 10
_ROOM: Final = 4  # passages are apart by the time of their side, divided by this and their number
_BY: Final = ("passages", "documents")


def evidence(
    model: Model | Usage | str | os.PathLike[str],
    word: str,
    *,
    n: int = 3,
    by: str = "passages",
    between: Sequence[Any] | None = None,
    groups: Sequence[str] | None = None,
    width: int = 120,
    corpus: Corpus | str | os.PathLike[str] | None = None,
) -> pl.DataFrame:
    """Return the passages that show most plainly how a word changed, before its change and since.

    Parameters
    ----------
    model
        A model of any kind, or its path; or vectors of occurrences (see `usage`).
    word
        The word. Where no test found a change (see `significance`), the passages are those that differ most; they
        prove nothing.
    n
        Number of passages, or documents, on either side. Each passage is of another document and, as far as there are
        enough, of another time.
    by
        ``"passages"``; or ``"documents"`` for those that carry most of the change, each with its plainest passage.
    between
        Compare two slices or periods instead, as in `significance`.
    groups
        Compare two groups of documents instead (see `prepare`): the sides have their names.
    width
        Characters of text on either side of the word.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.

    Returns
    -------
    One row per passage, the plainest of each side first: word; side, before or after, or a group; date (or slice);
    score, how far it lies towards the use of its side, in standard deviations of all occurrences; with documents, the
    number of occurrences, and the score is the sum over these; text, and its parts left, keyword and right; slice,
    document, the number of the occurrence in it, and the documents' other columns.
    """
    model = as_source(model)
    n, by = checks.whole("n", n, least=1), checks.one_of("by", by, _BY)
    width = checks.whole("width", width, least=1)
    text = corpus_of_source(model, corpus)
    sides = find_sides(model, text, checks.text("word", word), between, groups=groups)
    return passages_of(sides, n=n, by=by, width=width)


def passages_of(sides: Sides, *, n: int, by: str = "passages", width: int = 120) -> pl.DataFrame:
    """Return the passages that show both sides; see `evidence`."""
    parts = []
    for side in sides.names:
        score, here = plainness(sides, side), np.flatnonzero(sides.of_side(side))
        chosen, facts = (plainest(sides, here, score, n), {}) if by == "passages" else _heaviest(sides, here, score, n)
        parts.append((chosen, {"score": score[chosen], **facts}))
    of_side = np.repeat(sides.names, [len(chosen) for chosen, _ in parts])
    # The texts of both sides are read at once.
    chosen = np.concatenate([chosen for chosen, _ in parts])
    columns = {name: np.concatenate([facts[name] for _, facts in parts]) for name in parts[0][1]}
    return passage_lines(sides, chosen, {"side": of_side.tolist()}, columns, width=width)


def passage_lines(
    uses: WordUses, chosen: Array, told: dict[str, Any], columns: dict[str, Any], *, width: int
) -> pl.DataFrame:
    """Return the text of occurrences, with a value for each in the columns that come before its date, and after it."""
    lines, ranks = find_at(uses.corpus, uses.positions[chosen], width=width)
    dated = pl.col("date") if "date" in lines.columns else pl.col("slice").alias("date")
    parts = ("left", "keyword", "right")
    ours = ("word", *told, "date", *columns, "text", *parts, "slice", "document", "occurrence")
    return lines.select(
        pl.lit(uses.word).alias("word"), *(pl.Series(name, values) for name, values in told.items()), dated,
        *(pl.Series(name, values) for name, values in columns.items()),
        pl.concat_str(*parts).alias("text"), *parts, "slice", "document",
        pl.Series("occurrence", [rank + 1 for rank in ranks], dtype=pl.Int64), pl.exclude(ours),
    )  # fmt: skip


def plainness(sides: Sides, side: str) -> Array:
    """Return how far each occurrence lies towards the use of a side, in standard deviations of all of them."""
    fold = (randomness.bits(randomness.key(0, "folds"), sides.document) % np.uint64(_FOLDS)).astype(np.int64)
    by_fold = np.argsort(fold, kind="stable")
    vectors, here = sides.vectors[by_fold], sides.of_side(side)[by_fold]
    borders = np.searchsorted(fold[by_fold], np.arange(_FOLDS + 1))
    sign = 1 if side == sides.names[1] else -1
    common = sign * (vectors @ sides.background_shift)
    along, core = _along(vectors, here, ~here, borders) - common, here
    for _ in range(_STEPS):
        core = here & (along >= np.quantile(along[here], 1 - PLAINEST))
        along = _along(vectors, core, ~here, borders)
    score = np.empty(len(along))
    score[by_fold] = along - common
    return np.asarray((score - score.mean()) / max(float(score.std()), 1e-12))


def _along(vectors: Array, here: Array, there: Array, borders: Array) -> Array:
    """Return how far occurrences lie along the way from the mean of some to that of others, their own fold left out.

    Those of one fold follow those of another; `borders` are where each begins, and where the last ends.
    """
    folds = [slice(begin, end) for begin, end in pairwise(borders.tolist())]
    belongs = np.array([here, there], dtype=vectors.dtype)
    totals = np.array([belongs[:, fold] @ vectors[fold] for fold in folds])  # (folds, 2, K)
    sizes = np.array([belongs[:, fold].sum(axis=1) for fold in folds])[..., None]
    rest = sizes.sum(axis=0) - sizes
    # All of a side in one fold: its own part cannot be left out.
    left_out = np.where(rest > 0, totals, 0)
    means = (totals.sum(axis=0) - left_out) / np.where(rest > 0, rest, np.maximum(sizes.sum(axis=0), 1))
    ways = means[:, 0] - means[:, 1]
    return np.concatenate([vectors[fold] @ way for fold, way in zip(folds, ways, strict=True)])


def plainest(uses: WordUses, candidates: Array, score: Array, n: int) -> Array:
    """Choose the n candidates with the highest scores, each of another document, no two passages alike.

    They come from different times, as far as there are enough: one document after the other may be of one event.
    """
    candidates = candidates[np.argsort(-score[candidates], kind="stable")]
    near = uses.around[:, FAR - _ALIKE_WITHIN : FAR + _ALIKE_WITHIN + 1]
    room = float(np.ptp(uses.day[candidates])) / (_ROOM * n) if len(candidates) else 0.0
    chosen: list[int] = []
    for apart in (room, -1.0):
        for i in candidates.tolist():
            if len(chosen) == n:
                break
            same = (near[chosen] == near[i]) & (near[i] >= 0)
            alike = same.sum(axis=1) > _ALIKE * max(int((near[i] >= 0).sum()), 1)
            close = np.abs(uses.day[chosen] - uses.day[i]) <= apart
            if not (uses.document[i] in uses.document[chosen] or alike.any() or close.any()):
                chosen.append(i)
    return np.array(sorted(chosen, key=lambda i: -score[i]), dtype=np.int64)


def _heaviest(sides: Sides, here: Array, score: Array, n: int) -> tuple[Array, dict[str, Array]]:
    """Choose the n documents of a side with the largest sums of scores, each by its plainest passage."""
    which = np.unique(sides.document[here], return_inverse=True)[1]
    total = np.bincount(which, score[here])
    best = np.argsort(-total, kind="stable")[:n]
    chosen = [here[which == d][np.argmax(score[here][which == d])] for d in best]
    facts = {"occurrences": np.bincount(which)[best].astype(np.int64), "score": total[best]}
    return np.array(chosen, dtype=np.int64), facts
