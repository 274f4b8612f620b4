"""Two tests of the same words as one: that of a model, and that of vectors of an encoder.

A model sees all occurrences and few words around each; an encoder sees fewer occurrences, and whole sentences. Their
p-values depend on each other, in ways that nobody knows. The Cauchy combination of Liu and Xie (2020) holds all the
same: the mean of tan((1/2 - p) pi) has nearly the same tail whatever the dependence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.benjamini_hochberg import benjamini_hochberg
from driftword.basics.errors import OptionError

_NEEDED: Final = {"word": pl.String, "p": pl.Float64}
_MOST: Final = 0.99  # a p-value of 1 would outweigh any other


def combine(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Combine tests of the same words into one, for instance of a model and of vectors of an encoder.

    Parameters
    ----------
    tables
        What `significance` returned, two tables or more. Words that all of them tested are combined.

    Returns
    -------
    One row per word, those with the most evidence first: word; p, the combined one (Cauchy combination, which holds
    however the tests depend on each other); q, its false discovery rate over these words; and p_1, p_2 and so on, in
    the order of the tables.
    """
    given = checks.several("tables", tables, remedy="give at least two tables, each from `significance`")
    if len(given) < 2:
        raise OptionError(f"`tables` holds {len(given)}; give at least two, each from `significance`")
    for table in given:
        if (
            not isinstance(table, pl.DataFrame)
            or not {"word": pl.String, "p": pl.Float64}.items() <= table.schema.items()
        ):
            raise OptionError(f"One of `tables` is {checks.shown(table)}; give what `significance` returned")
    both: pl.DataFrame = given[0].select("word", p_1="p")
    for number, table in enumerate(given[1:], start=2):
        both = both.join(table.select("word", pl.col("p").alias(f"p_{number}")), on="word")
    both = both.drop_nulls()
    if not both.height:
        raise OptionError("No word was tested in all tables; test the same words in each")
    single = np.minimum(both.select(pl.exclude("word")).to_numpy(), _MOST)
    p = 0.5 - np.arctan(np.tan((0.5 - single) * np.pi).mean(axis=1)) / np.pi
    found = both.with_columns(p=pl.Series(p), q=pl.Series(benjamini_hochberg(p)))
    return found.select("word", "p", "q", pl.exclude("word", "p", "q")).sort("p", "word")
