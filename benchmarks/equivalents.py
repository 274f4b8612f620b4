"""Does `equivalents` know what became of countries, institutions and offices?

    python benchmarks/equivalents.py un.model

Uses facts that anyone can look up: the name of a country, institution or office in one
year, and its name in another. Each is asked in both directions, with four ways to
compare vectors of different slices. Prints the mean reciprocal rank of the right
answer, and how often it came first or among the first ten. Only names that occur at
least five times in the training text of their years are asked about.
"""

from __future__ import annotations

import sys

import numpy as np

import driftword as dw
from driftword.explore import vectors
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


def answer_ranks(model: dw.Model, *, center: bool, sign: bool) -> list[int]:
    """Return the rank of every right answer."""
    ranks = []
    vocabulary = model.vocabulary
    slice_vectors = vectors.centered if center else vectors.slice_vectors
    for word, at, answer, to in (*FACTS, *((d, c, b, a) for b, a, d, c in FACTS)):
        if word not in model or answer not in model:
            continue
        v, w, s, t = model.word_id(word), model.word_id(answer), model.slices.index(at), model.slices.index(to)
        attested = vocabulary.attested(t, vectors.MIN_COUNT)
        if not (vocabulary.attested(s, vectors.MIN_COUNT)[v] and attested[w]):
            continue
        query = slice_vectors(model, s)[v]
        similarity = vectors.unit(slice_vectors(model, t)) @ (np.sign(query) if sign else query)
        similarity[~attested] = -np.inf
        similarity[v] = -np.inf  # the word itself is not an answer
        ranks.append(1 + int((similarity > similarity[w]).sum()))
    return ranks


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    model = dw.Model.open(sys.argv[1])
    print("comparison                    asked   mean reciprocal rank   first   first ten")
    for name, center, sign in (
        ("cosine", False, False),
        ("cosine, means removed", True, False),
        ("the paper's signs", False, True),
        ("signs, means removed", True, True),
    ):
        ranks = np.array(answer_ranks(model, center=center, sign=sign))
        if not len(ranks):
            sys.exit("None of the names occurs often enough in this model")
        first, ten = (int((ranks <= n).sum()) for n in (1, 10))
        print(f"{name:28}{len(ranks):7}{(1 / ranks).mean():23.3f}{first:8}{ten:12}")


if __name__ == "__main__":
    main()
