"""The senses of one word: which occurrences are of which sense, their shares, and the passages that show them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics.errors import OptionError
from driftword.corpus import Corpus
from driftword.models.model import Model
from driftword.models.usage import Usage
from driftword.uses.collocates import sense_company
from driftword.uses.driving_passages import passage_lines, plainest
from driftword.uses.sense_clusters import find_senses
from driftword.uses.sense_shares import SenseCounts, shares_by_slice
from driftword.uses.sense_space import sense_space
from driftword.uses.word_uses import Array, WordUses, find_uses

LEAST_OCCURRENCES: Final = 20
LEAST_DOCUMENTS: Final = 8
_ROOM: Final = 16  # letters of two collocates that a figure has room for
_OF_SLICES: Final[dict[str, Any]] = {
    "word": pl.String, "sense": pl.Int64, "name": pl.String, "slice": pl.String, "share": pl.Float64,
    "low": pl.Float64, "high": pl.Float64, "occurrences": pl.Int64, "all": pl.Int64,
}  # fmt: skip


@dataclass(frozen=True)
class WordSenses:
    """The senses of a word in a text."""

    uses: WordUses
    places: Array  # (n, dimensions) of occurrences; see `SenseSpace`
    sense: Array  # (n,) numbered from 0
    likely: Array  # (n, senses) how likely each is, when the date is not looked at
    alike: Array  # (senses, senses)
    names: tuple[str | None, ...]

    @property
    def number(self) -> int:
        """How many senses there are."""
        return len(self.names)

    @cached_property
    def counts(self) -> SenseCounts:
        """How often each document has each sense, for tests: dates have no part in it."""
        return SenseCounts.of(self.uses, np.eye(self.number)[self.sense])

    @cached_property
    def estimated(self) -> SenseCounts:
        """How often each document has each sense, as it is shown: by probabilities, given also when it is."""
        return SenseCounts.estimate(self.uses, self.likely)

    @cached_property
    def labels(self) -> list[str]:
        """What each sense is called in a figure: its number, and its name or two of its collocates."""
        company = [sense_company(self.uses, self.sense == j, 2) for j in range(self.number)]
        told = [", ".join(words) if sum(map(len, words)) < _ROOM else words[0] for words in company]
        return [f"{j + 1} {self.names[j] or told[j]}".strip() for j in range(self.number)]

    def nearest(self, j: int) -> float | None:
        """Return how alike a sense and the one most like it are; None for an only one."""
        others = np.delete(self.alike[j], j)
        return float(others.max()) if len(others) else None

    def plainness(self, j: int) -> Array:
        """Return for every occurrence how much more it is like one sense than like any other."""
        rows = self.places / np.maximum(np.linalg.norm(self.places, axis=1, keepdims=True), 1e-12)
        means = np.array([rows[self.sense == k].mean(axis=0) for k in range(self.number)])
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
        cosine = rows @ means.T
        others = np.delete(cosine, j, axis=1)
        return np.asarray(cosine[:, j] - (others.max(axis=1) if others.shape[1] else 0))


def find_word_senses(
    model: Model | Usage, corpus: Corpus, word: str, *, n: int | None = None, seed: int = 0, named: bool = True
) -> WordSenses:
    """Find the senses of a word, as a user has numbered, merged and named them, or else as the text shows them."""
    uses = find_uses(model, corpus, word)
    documents = len(np.unique(uses.document))
    if len(uses.positions) < LEAST_OCCURRENCES or documents < LEAST_DOCUMENTS:
        raise OptionError(
            f"'{uses.word}' occurs {len(uses.positions)} times in {documents} documents; senses need at least "
            f"{LEAST_OCCURRENCES} occurrences in {LEAST_DOCUMENTS} documents: name a more frequent word"
        )
    kept = model.sense_names.get(uses.word) if named and isinstance(model, Model) else None
    if kept is not None and n is not None and n != kept["n"]:
        kept = None  # another number is asked for than the one that was named
    if isinstance(model, Usage):
        places = model.places[model.rows_at(uses.positions)]
    else:
        places = sense_space(model, corpus).of(uses.around)
    if kept is None:
        found = find_senses(places, uses.document, uses.around, n=n, seed=seed)
        names: tuple[str | None, ...] = (None,) * len(found.alike)
    else:
        found = find_senses(places, uses.document, uses.around, n=kept["n"], merged=kept["merged"], seed=kept["seed"])
        names = tuple(kept["names"].get(str(j + 1)) for j in range(len(found.alike)))
    return WordSenses(uses, places, found.sense, found.likely, found.alike, names)


def by_slices(found: WordSenses, units: Array | None = None) -> pl.DataFrame:
    """Return a row for each sense and slice."""
    labels = found.uses.corpus.slices.labels
    shares = shares_by_slice(found.estimated, len(labels), units)
    number = np.zeros((len(labels), found.number), dtype=np.int64)
    np.add.at(number, (found.uses.slice_of, found.sense), 1)
    rows = [
        (
            found.uses.word, j + 1, found.names[j], label,
            *(known(float(values[t, j])) for values in (shares.share, shares.low, shares.high)),
            int(number[t, j]), int(number[t].sum()),
        )
        for j in range(found.number)
        for t, label in enumerate(labels)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=_OF_SLICES, orient="row")


def by_passages(found: WordSenses, *, n: int, width: int) -> pl.DataFrame:
    """Return the passages that show each sense most plainly."""
    parts = []
    for j in range(found.number):
        score = found.plainness(j)
        chosen = plainest(found.uses, np.flatnonzero(found.sense == j), score, n)
        parts.append(_lines(found, chosen, score[chosen], width=width))
    return pl.concat(parts)


def by_occurrences(found: WordSenses, *, width: int, chosen: Array | None = None) -> pl.DataFrame:
    """Return occurrences, all or some, with their senses, in the order of the text."""
    score = np.zeros(len(found.sense))
    for j in range(found.number):
        score[found.sense == j] = found.plainness(j)[found.sense == j]
    chosen = np.arange(len(score)) if chosen is None else chosen
    return _lines(found, chosen, score[chosen], width=width)


def _lines(found: WordSenses, chosen: Array, score: Array, *, width: int) -> pl.DataFrame:
    sense = found.sense[chosen]
    names = pl.Series([found.names[j] for j in sense.tolist()], dtype=pl.String)
    table = passage_lines(found.uses, chosen, {}, {"sense": sense + 1, "name": names, "score": score}, width=width)
    return table.select("word", "sense", "name", pl.exclude("word", "sense", "name"))


def known(value: float) -> float | None:
    """Return a number as a table has it: null where it is not known."""
    return None if np.isnan(value) else value
