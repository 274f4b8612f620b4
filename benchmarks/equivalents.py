"""Does `equivalents` know what became of countries, institutions and offices?

    python benchmarks/equivalents.py un.model

Facts that anyone can look up: a name in one year, and the name of the same country,
institution or office in another. Each is asked in both directions, with four ways to
compare vectors of different slices. Prints the mean reciprocal rank of the right
answer, and in how many cases it was first or among the first ten, where both names
occur at least five times in their years.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import driftword as dw
from driftword.explore import vectors as space
from machine import describe

FACTS = (
    ("burma", 1980, "myanmar", 2000),
    ("ceylon", 1965, "sri lanka", 1980),
    ("zaire", 1985, "democratic republic of the congo", 2005),
    ("upper volta", 1975, "burkina faso", 1995),
    ("dahomey", 1970, "benin", 1990),
    ("swaziland", 2005, "eswatini", 2020),
    ("cape verde", 2000, "cabo verde", 2018),
    ("kampuchea", 1982, "cambodia", 2000),
    ("czechoslovakia", 1980, "czech republic", 2005),
    ("soviet union", 1980, "russian federation", 2005),
    ("southern rhodesia", 1970, "zimbabwe", 1990),
    ("south west africa", 1965, "namibia", 1985),
    ("european community", 1988, "european union", 2005),
    ("organization of african unity", 1985, "african union", 2010),
    ("hammarskjold", 1960, "u thant", 1966),
    ("u thant", 1968, "kurt waldheim", 1976),
    ("kurt waldheim", 1978, "boutros boutros-ghali", 1993),
    ("boutros boutros-ghali", 1994, "kofi annan", 2000),
    ("kofi annan", 2002, "ban ki-moon", 2010),
    ("ban ki-moon", 2012, "antonio guterres", 2019),
    ("reagan", 1985, "clinton", 1996),
    ("bush", 1990, "obama", 2012),
    ("gorbachev", 1988, "putin", 2015),
)


def ranks(model: dw.Model, *, centre: bool, sign: bool) -> list[int]:
    """Return the rank of every right answer."""
    found = []
    for one, at, other, to in (*FACTS, *((d, c, b, a) for b, a, d, c in FACTS)):
        if one not in model or other not in model:
            continue
        v, w, s, t = model.word_id(one), model.word_id(other), model.slices.index(at), model.slices.index(to)
        if model.counts[s][v] < space.MIN_COUNT or model.counts[t][w] < space.MIN_COUNT:
            continue
        here, there = (space.vectors(model, x) for x in (s, t))
        known = space.occurring(model, t, space.MIN_COUNT)
        if centre:
            here, there = space.centred(here, space.occurring(model, s, space.MIN_COUNT)), space.centred(there, known)
        query: Any = np.sign(here[v]) if sign else here[v]
        scores = np.where(known, space.unit(there) @ query, -np.inf)
        scores[v] = -np.inf  # the word itself is not what is asked for
        found.append(1 + int((scores > scores[w]).sum()))
    return found


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    model = dw.Model.open(sys.argv[1])
    print("comparison                    asked   mean reciprocal rank   first   first ten")
    for name, centre, sign in (
        ("cosine", False, False),
        ("cosine, means removed", True, False),
        ("the paper's signs", False, True),
        ("signs, means removed", True, True),
    ):
        found = np.array(ranks(model, centre=centre, sign=sign))
        first, ten = (int((found <= n).sum()) for n in (1, 10))
        print(f"{name:28}{len(found):7}{(1 / found).mean():23.3f}{first:8}{ten:12}")


if __name__ == "__main__":
    main()
