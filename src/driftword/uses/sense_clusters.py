"""Groups of occurrences that are used alike: the senses that a text shows.

Occurrences (places in a `SenseSpace`) are first divided into a few more groups than a word has senses, by spherical
k-means. Then the two groups whose means point in the most similar directions, small groups first, become one, again and
again. Directions are seen from the mean of all words, so that two uses of one word that share most of what tells it
from other words are alike, however far apart they lie. With each number of groups, k-means goes on from there, and from
a few other beginnings.

Groups stay apart if the cosine of their means is below a limit: then they differ nearly as two different words do. A
group must have a least share of the occurrences, and be in a least number of documents. The largest number of groups
that fulfils all of this is the number of senses. In the end the words near an occurrence may move it to another sense
(`sense_words`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from driftword.basics import randomness
from driftword.models.storing import MOST_SENSES  # and the number of groups that occurrences are first divided into
from driftword.uses.sense_words import Classifiers
from driftword.uses.usage_vectors import Array

#: Cosine of the means of two uses above which they are one sense; chosen on pseudo-words of the UN (seeds 10 and 11).
ALIKE: Final = 0.15
#: Cosine of merged groups above which k-means does not find groups that are apart; of 216 such, 1 was above 0.3.
_HOPELESS: Final = 0.3
LEAST_SHARE: Final = 0.05  # of the occurrences, that a sense must have
LEAST_DOCUMENTS: Final = 5
_LEAST_SIGNAL: Final = 0.1  # of the squared length of a mean, however much of it may be noise
_BEGINNINGS: Final = 12  # of k-means
_FIRST: Final = 3  # of them, of which one must find senses that are apart
#: What the cosine of two groups counts beside what classifiers tell, in nats; chosen as `ALIKE` was.
_COSINE: Final = 1.2
_STEPS: Final = 20
_LEARNT_FROM: Final = 2_000  # occurrences; the others join the group whose mean is nearest


class Senses(NamedTuple):
    """The sense of every occurrence, how likely it has each, and how alike senses are."""

    sense: Array  # (n,) numbered from 0, the most frequent first
    likely: Array  # (n, senses)
    alike: Array  # (senses, senses) cosines of their means


class _Groups:
    """Groups of occurrences that become one, two at a time."""

    def __init__(self, places: Array, document: Array, group: Array) -> None:
        number = int(group.max(initial=0)) + 1
        self.group = group
        self.sums: Array = _sums(places, group, number)  # (groups, dimensions)
        lengths = np.einsum("nd,nd->n", places, places).astype(np.float64)
        self.squares: Array = np.bincount(group, lengths, minlength=number)
        self.size: Array = np.bincount(group, minlength=number).astype(np.float64)
        documents = np.unique(document, return_inverse=True)[1]
        self.within: Array = np.zeros(
            (number, int(documents.max(initial=0)) + 1), dtype=bool
        )  # which documents have it
        self.within[group, documents] = True

    def __len__(self) -> int:
        return len(self.size)

    def cosines(self) -> Array:
        """Return how alike the means of groups are, without what noise adds to the lengths of means of a few."""
        means = self.sums / self.size[:, None]
        lengths = np.einsum("gd,gd->g", means, means)
        noise = (self.squares / self.size - lengths) / self.size
        lengths = np.sqrt(np.maximum(lengths - noise, lengths * _LEAST_SIGNAL))
        cosine = np.clip(means @ means.T / np.maximum(np.outer(lengths, lengths), 1e-12), -1, 1)
        np.fill_diagonal(cosine, 1)
        return np.asarray(cosine)

    def order(self) -> Array:
        """Let the largest come first; return their numbers before."""
        order = np.argsort(-self.size, kind="stable")
        self.group = np.argsort(order, kind="stable")[self.group]
        self.sums, self.squares, self.size, self.within = (
            values[order] for values in (self.sums, self.squares, self.size, self.within)
        )
        return order

    def join(self, i: int, j: int) -> None:
        """Let two groups become one."""
        for values in (self.sums, self.squares, self.size):
            values[i] += values[j]
        self.within[i] |= self.within[j]
        self.group = np.where(self.group == j, i, self.group) - (self.group > j)
        self.sums, self.squares, self.size, self.within = (
            np.delete(values, j, axis=0) for values in (self.sums, self.squares, self.size, self.within)
        )


def find_senses(
    places: Array,
    document: Array,
    around: Array | None = None,
    *,
    n: int | None = None,
    merged: Sequence[Sequence[int]] = (),
    seed: int = 0,
) -> Senses:
    """Divide occurrences into senses: n of them, or as many as are not alike; then merge some, numbered from 1.

    `around` are the words around occurrences, as `windows` gives them.
    """
    rows = _unit(places)
    few = np.linspace(0, len(rows) - 1, min(len(rows), _LEARNT_FROM)).astype(np.int64)
    means = _means_of_senses(places[few], document[few], None if around is None else around[few], n, seed)
    group = np.unique(_nearest(rows, means), return_inverse=True)[1]
    likely = np.eye(int(group.max(initial=0)) + 1)[group]
    if around is not None and len(means) > 1:
        likely = Classifiers(rows, around, document).reassign(group)
    groups = _Groups(places, document, likely.argmax(axis=1))
    likely = likely[:, groups.order()]
    if merged:
        joined = np.arange(likely.shape[1])
        for together in merged:
            joined[np.array(together) - 1] = min(together) - 1
        joined = np.unique(joined, return_inverse=True)[1]
        likely = likely @ np.eye(joined.max() + 1)[joined]
        groups = _Groups(places, document, joined[groups.group])
        likely = likely[:, groups.order()]
    return Senses(groups.group, likely, groups.cosines())


def _means_of_senses(places: Array, document: Array, around: Array | None, n: int | None, seed: int) -> Array:
    """Return the directions of the means of senses, ``(senses, dimensions)``."""
    rows = _unit(places)
    most = min(max(MOST_SENSES, n or 0), len(rows))
    merged = _merge(_Groups(places, document, np.unique(_k_means(rows, most, seed)[0], return_inverse=True)[1]))
    for k in (n,) if n is not None else range(len(merged), 1, -1):
        found: dict[float, Array] = {}
        if n is None and _most_alike(_Groups(places, document, merged[k])) > _HOPELESS:
            continue
        for beginning in range(_BEGINNINGS):
            if beginning == _FIRST and not found:
                break
            start = _means(rows, merged[k], k) if beginning == 0 and k in merged else None
            group, fit = _k_means(rows, k, seed + beginning, start)
            if n is not None or _apart(_Groups(places, document, group)):
                found.setdefault(round(fit, 5), group)
        if found:
            return _means(rows, _best(found, places, document, around), k)
    return _means(rows, np.zeros(len(rows), dtype=np.int64), 1)


def _best(found: dict[float, Array], places: Array, document: Array, around: Array | None) -> Array:
    """Return the groups that classifiers tell best and that are least alike.

    Without words around them, these are the groups whose occurrences are nearest to their means.
    """
    if around is None or len(found) == 1:
        return found[max(found)]
    classifiers = Classifiers(_unit(places), around, document)

    def worth(group: Array) -> float:
        return classifiers.told(group) - _COSINE * _most_alike(_Groups(places, document, group))

    return max(found.values(), key=worth)


def _merge(groups: _Groups) -> dict[int, Array]:
    """Let groups become one, two at a time; return the groups of each number on the way."""
    found = {len(groups): groups.group}
    while len(groups) > 1:
        apart = (1 - groups.cosines()) * np.sqrt(
            groups.size[:, None] * groups.size / (groups.size[:, None] + groups.size)
        )
        np.fill_diagonal(apart, np.inf)
        i, j = sorted(divmod(int(np.argmin(apart)), len(groups)))
        groups.join(i, j)
        found[len(groups)] = groups.group
    return found


def _apart(groups: _Groups) -> bool:
    """Tell whether groups are senses: none too small, no two alike."""
    if (groups.size < LEAST_SHARE * groups.size.sum()).any() or (groups.within.sum(axis=1) < LEAST_DOCUMENTS).any():
        return False
    return _most_alike(groups) <= ALIKE


def _most_alike(groups: _Groups) -> float:
    """Return the cosine of the means of the two groups that are most alike."""
    return float(groups.cosines()[~np.eye(len(groups), dtype=bool)].max())


def _k_means(rows: Array, k: int, seed: int, means: Array | None = None) -> tuple[Array, float]:
    """Divide rows of length one into k groups by spherical k-means; return them, and how near rows are to means."""
    if means is None:
        first = np.argsort(randomness.bits(randomness.key(seed, "senses", k), np.arange(len(rows))), kind="stable")
        means = rows[first[:k]]
    group = np.full(len(rows), -1)
    for _ in range(_STEPS):
        nearest = _nearest(rows, means)
        if (nearest == group).all():
            break
        group = nearest
        means = _means(rows, group, k)
    return group, float(np.einsum("nd,nd->", rows, means[group])) / len(rows)


def _nearest(rows: Array, means: Array) -> Array:
    return np.asarray(np.argmax(rows @ means.T, axis=1))


def _means(rows: Array, group: Array, k: int) -> Array:
    """Return the directions of the means of groups."""
    return _unit(_sums(rows, group, k)).astype(rows.dtype)


def _sums(rows: Array, group: Array, k: int) -> Array:
    """Return the sum of the rows of every group."""
    member = np.zeros((k, len(rows)), dtype=rows.dtype)
    member[group, np.arange(len(rows))] = 1
    return np.asarray(member @ rows, dtype=np.float64)


def _unit(rows: Array) -> Array:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
