"""The result of a significance test of every word, as it is kept with a model and used for its answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks
from driftword.corpus.word_kinds import WORD

#: False discovery rate up to which a word is called significant.
LEVEL: Final = 0.05
#: What intervals hold, and how many standard errors that is on either side of an estimate.
CONFIDENCE: Final = 0.9
HALF_WIDTH: Final = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
#: Columns of the table of results, one row a word.
SCHEMA: Final = {
    "word": pl.String, "effect": pl.Float64, "low": pl.Float64, "high": pl.Float64, "p": pl.Float64, "q": pl.Float64,
    "change": pl.Date, "change_low": pl.Date, "change_high": pl.Date, "last_before": pl.Date, "gradual": pl.Float64,
    "change_begin": pl.Date, "change_end": pl.Date, "documents": pl.Int64, "slices": pl.Int64,
    "documents_before": pl.Int64, "documents_since": pl.Int64, "lasting": pl.Float64, "kind": pl.String,
    "strength": pl.Float64,
}  # fmt: skip
DATES: Final = ("change", "change_low", "change_high", "last_before", "change_begin", "change_end")
_YEARS, _MONTHS = 3 * 366, 3 * 31  # days that an interval is longer than, if years or months are as much as is known
SIGNIFICANT: Final = "significant at a false discovery rate of 5%"
ALONE: Final = "unlikely to be chance if the word was chosen beforehand (p up to 0.05)"
BY_CHANCE: Final = "not distinguishable from chance"
TOO_FEW: Final = "too few documents to tell"
CHANGE_DATE: Final = (
    "change: when the documents of the new use begin, and its 90% interval where that is longer; of a gradual change, "
    "its middle"
)
BORDER: Final = "change: the first document since the border that divides the time of the word best"


@dataclass(frozen=True)
class SignificanceTable:
    """The result of a test of the whole vocabulary, and the options of `significance` that it was tested with."""

    table: pl.DataFrame  # one row for every word, in the order of the vocabulary
    permutations: int
    seed: int
    within: str | None = None
    clusters: str | None = None

    def options(self) -> dict[str, Any]:
        """Return the options of the test, ready for JSON."""
        return {"permutations": self.permutations, "seed": self.seed, "within": self.within, "clusters": self.clusters}

    @cached_property
    def strength(self) -> npt.NDArray[np.float64]:
        """How strongly each word changed, as lists are ordered; NaN where it is not ranked (see `change_strength`)."""
        return self.table["strength"].fill_null(float("nan")).to_numpy()

    @cached_property
    def order(self) -> npt.NDArray[np.int64]:
        """The ids of all words in the order of `ranked`."""
        return ranked(self.table.with_row_index("id"))["id"].to_numpy().astype(np.int64)

    @cached_property
    def listed(self) -> list[str]:
        """The words that lists show, those that changed most first."""
        return self.table["word"].gather(self.order[np.isfinite(self.strength[self.order])]).to_list()

    @cached_property
    def q(self) -> npt.NDArray[np.float64]:
        """The false discovery rate of each word; NaN where there are too few documents."""
        return self.table["q"].fill_null(float("nan")).to_numpy()

    @cached_property
    def significant(self) -> npt.NDArray[np.bool_]:
        """Which words are significant."""
        return np.asarray(self.q <= LEVEL)

    @cached_property
    def written(self) -> pl.DataFrame:
        """The table with dates as text: as years or months where no more is known."""
        return with_written_dates(self.table)

    def verdict(self, v: int) -> str:
        """Say in words whether a word, given by its id, changed its use."""
        return verdict(self.table["q"][v])

    def describe(self) -> str:
        """Say in a sentence how many words changed."""
        tested = int(np.isfinite(self.q).sum())
        within = f", dates exchanged within the values of {checks.quoted(self.within)}" if self.within else ""
        found = int(self.significant.sum())
        if not found:
            return f"Of {tested:,} words that were tested, none changed its use by more than chance{within}."
        return f"Of {tested:,} words that were tested, {found:,} changed their use, {SIGNIFICANT}{within}."


def verdict(q: float | None, p: float | None = None) -> str:
    """Say in words what a false discovery rate means, or a p-value where there is none; without both, too few."""
    if q is None:
        return TOO_FEW if p is None else ALONE if p <= LEVEL else BY_CHANCE
    return SIGNIFICANT if q <= LEVEL else BY_CHANCE


def with_written_dates(table: pl.DataFrame) -> pl.DataFrame:
    """Write dates as people would: as years where documents are dated by years, or the interval is years long.

    The same holds of months.
    """
    days = pl.concat([table[name] for name in DATES]).drop_nulls()
    monthly = bool((days.dt.day() == 1).all())
    yearly = monthly and bool((days.dt.month() == 1).all())
    width = (pl.col("change_high") - pl.col("change_low")).dt.total_days()

    def written(name: str) -> pl.Expr:
        by_year, by_month, by_day = (pl.col(name).dt.strftime(form) for form in ("%Y", "%Y-%m", "%Y-%m-%d"))
        return (
            pl.when(pl.lit(yearly) | (width > _YEARS)).then(by_year)
            .when(pl.lit(monthly) | (width > _MONTHS)).then(by_month)
            .otherwise(by_day).alias(name)
        )  # fmt: skip

    return table.with_columns(written(name) for name in DATES)


def ranked(table: pl.DataFrame) -> pl.DataFrame:
    """Put the words that changed most first, then other significant ones, then the rest.

    Those that are ranked come by strength, the others by low, as effects in few documents are noisy; words come before
    names, numbers and the like.
    """
    significant, word = (fact.fill_null(value=False) for fact in (pl.col("q") <= LEVEL, pl.col("kind") == WORD))
    order = [significant, pl.col("strength"), significant & word, pl.col("low")]
    return table.sort(order, descending=True, nulls_last=True, maintain_order=True)
