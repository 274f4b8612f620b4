"""Groups of documents beside time: who speaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError, SourceError
from driftword.basics.suggestions import did_you_mean

#: The name of the group of all documents that are in none of those asked for, or have no value.
OTHERS: Final = "others"
MOST: Final = 100  # groups; each has embeddings of its own
_USUAL: Final = 20  # different values of a column that are all taken as groups if none are named
_LEAST: Final = 2  # documents of a group
_NAMED: Final = 5  # values that an error names


def check_groups(group: str | None, groups: Any) -> tuple[str, ...] | int | None:
    """Check which groups of a column are asked for: names, how many of the largest, or None for all."""
    if groups is None:
        return None
    if group is None:
        raise OptionError("`groups` names values of a column; name the column with `group`")
    plain = checks.plain(groups)
    if isinstance(plain, int) and not isinstance(plain, bool):
        return checks.whole("groups", plain, least=1, most=MOST)
    names = tuple(checks.words("groups", groups))
    if len(names) > MOST:
        raise OptionError(f"`groups` names {len(names)} groups; at most {MOST} are possible")
    return names


def check_column(group: str, columns: Sequence[str]) -> None:
    """Refuse a column that the documents do not have."""
    if group not in columns:
        hint = did_you_mean(group, columns) or f"; it has {', '.join(columns[:10])}"
        raise SourceError(f"The source has no column {checks.quoted(group)} besides text and time{hint}")


def documents_by_value(values: pl.Series) -> dict[str, int]:
    """Return how many documents have each value, the most frequent first."""
    counts = values.alias("value").drop_nulls().value_counts(name="documents")
    return dict(counts.sort(pl.col("documents"), pl.col("value"), descending=[True, False]).iter_rows())


def choose_groups(
    values: pl.Series, column: str, wanted: tuple[str, ...] | int | None
) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    """Return the names of the groups, the largest first, and the group of each document.

    The values of the documents in the column are texts, or null; what is wanted is what `check_groups` returned.
    """
    counts = documents_by_value(values)
    if isinstance(wanted, tuple):
        for name in wanted:
            if name not in counts:
                known = ", ".join(checks.quoted(value) for value in list(counts)[:_NAMED])
                raise SourceError(
                    f"No document has {checks.quoted(name)} in the column '{column}'; "
                    + (f"the most frequent values are {known}" if known else "the column is empty")
                )
            if counts[name] < _LEAST:
                raise SourceError(
                    f"Only one document has {checks.quoted(name)} in the column '{column}', too few for a group; "
                    "leave it out of `groups`"
                )
        names = wanted
    else:
        if wanted is None and len(counts) > _USUAL:
            raise SourceError(
                f"The column '{column}' has {len(counts):,} different values; name some of them with `groups`, "
                "or say how many of the largest are wanted"
            )
        names = tuple(name for name, n in counts.items() if n >= _LEAST)[:wanted]
    number = {name: i for i, name in enumerate(names)}
    group_of = np.array([number.get(value, len(names)) for value in values.to_list()], dtype=np.int32)
    if (group_of == len(names)).any():
        if OTHERS in number:
            raise SourceError(
                f"A group is called {checks.quoted(OTHERS)}, as documents without a group are called; rename it"
            )
        names = (*names, OTHERS)
    if len(names) < _LEAST:
        raise SourceError(
            f"The column '{column}' has a single value that several documents share, so there is nothing to compare; "
            "name another column with `group`"
        )
    return names, group_of


def group_number(groups: Sequence[str], group: Any) -> int:
    """Return the number of a group that a user names."""
    if isinstance(group, str) and group in groups:
        return list(groups).index(group)
    if not groups:
        raise OptionError("There are no groups; prepare the corpus with `group`, the column that divides its documents")
    known = ", ".join(checks.quoted(one) for one in groups[:_NAMED]) + (", ..." if len(groups) > _NAMED else "")
    raise OptionError(f"There is no group {checks.shown(group)}; the groups are {known}")
