"""Two sides of a word beside each other: the company it has in two periods or groups, in two colours, and passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics.errors import OptionError
from driftword.corpus import Corpus
from driftword.exchange.model_card import citation
from driftword.models.model import Model
from driftword.models.significance_table import LEVEL
from driftword.pages.content import Content
from driftword.pages.finding_content import PASSAGES, WIDTH, passages_by_side
from driftword.uses.collocates import company
from driftword.uses.sides import Sides, find_sides

_EACH: Final = 20  # words that are more usual on a side
_SHARED: Final = 10  # words that are about as usual on both
_ABOUT: Final = 0.5  # most log_ratio of such words
_SHADES: Final = 4  # of either colour, by log_ratio

Period = tuple[str, str]


def company_page(
    model: Model,
    corpus: Corpus | None,
    word: str,
    *,
    between: tuple[Period, Period] | None = None,
    groups: Sequence[str] | None = None,
) -> Content:
    """Return the company of a word before and since its change, in two periods, or in two groups."""
    page: Content = {
        "title": f"The company of {word}", "word": word, "slices": list(model.slices.labels), "groups": model.groups,
        "figures": {}, "table": [], "cite": citation(model), "between": between, "asked_groups": list(groups or ()),
    }  # fmt: skip
    if corpus is None:
        return page
    sides = find_sides(model, corpus, word, between, groups=groups)
    passages = passages_by_side(sides, n=PASSAGES, width=WIDTH)
    sizes = np.bincount(sides.since, minlength=2).tolist()
    heads = _heads(model, sides, between)
    return page | {
        "table": company_rows(sides),
        "sides": [
            {"name": heads[i], "occurrences": sizes[i], "passages": passages[side]}
            for i, side in enumerate(sides.names)
        ],
        "proven": sides.significant,
    }


def company_rows(sides: Sides) -> list[dict[str, Any]]:
    """Return the words most surely more usual on a side, and some that both have, from one side to the other."""
    found, sizes = company(sides), np.maximum(np.bincount(sides.since, minlength=2), 1).tolist()
    apart, shared = found.filter(pl.col("log_ratio") > _ABOUT), found.filter(pl.col("log_ratio") <= _ABOUT)
    chosen = [apart.filter(pl.col("side") == side).head(_EACH) for side in sides.names]
    chosen.append(shared.sort("association", descending=True, maintain_order=True).head(_SHARED))
    rows = []
    for row in pl.concat(chosen).iter_rows(named=True):
        second = row["side"] == sides.names[1]
        counts = (row["count_other"], row["count"]) if second else (row["count"], row["count_other"])
        rows.append({
            "word": row["word"], "log_ratio": round(row["log_ratio"] if second else -row["log_ratio"], 3),
            "q": row["q"], "certain": row["q"] <= LEVEL, "shade": min(int(row["log_ratio"] + _ABOUT), _SHADES),
            "count_first": counts[0], "count_second": counts[1],
            "share_first": counts[0] / sizes[0], "share_second": counts[1] / sizes[1],
        })  # fmt: skip
    return sorted(rows, key=lambda row: (row["log_ratio"], row["word"]))


def _heads(model: Model, sides: Sides, between: tuple[Period, Period] | None) -> list[str]:
    """Return what the sides are called."""
    if between is not None:
        return [" to ".join(dict.fromkeys(period)) for period in between]
    if sides.change is None:
        return list(sides.names)
    when = str(sides.change)
    if sides.significant and model.significance is not None:  # as exactly as it is known
        when = f"about {model.significance.written['change'][model.word_id(sides.word)]}"
    return [f"before {when}", f"since {when}"]


def two_sides(periods: Sequence[str], groups: Sequence[str]) -> tuple[tuple[Period, Period] | None, list[str] | None]:
    """Read which periods or groups an address names: none of both, two groups, or the ends of two periods."""
    named = [label for label in periods if label]
    if groups and named:
        raise OptionError("Groups are compared over all of the time; leave out the periods, or the groups")
    if groups:
        return None, list(groups)
    if not named:
        return None, None
    first, first_end, second, second_end = periods
    if not first or not second:
        raise OptionError("Name where both periods begin")
    return ((first, first_end or first), (second, second_end or second)), None
