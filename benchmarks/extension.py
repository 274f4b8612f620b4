"""Is a model that was extended as good as one that was fitted again, and how much sooner is it there?

    python benchmarks/extension.py un_general_debates.parquet 2016 passes=5

Documents before the given year are prepared and fitted, and those from then on are added with
`extend`. Then the longer corpus is fitted anew, with as many passes. Reports the time of both, and
L on the test text of the new slices, with the standard error of the difference over documents,
beside that of the last old slice, carried forward; and the mean length of the step from the last
old slice to the first new one, in both.
`slices`, `seed`, `engine` and `passes` can be given; all other names are options of `Spec`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import driftword as dw
from driftword.fitting.evaluation import score
from driftword.fitting.held_out import mean_and_error
from machine import describe
from options import parse_arguments


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    table, year = pl.read_parquet(sys.argv[1]), int(sys.argv[2])
    given = parse_arguments(sys.argv[3:])
    passes, seed = (int(given.pop(name, [default])[0]) for name, default in (("passes", 5), ("seed", 0)))
    engine, slices = (str(given.pop(name, [d])[0]) for name, d in (("engine", "auto"), ("slices", "1y")))
    spec = dw.Spec(**{name: values[0] for name, values in given.items()})
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        old = table.filter(pl.col("year") < year)
        corpus = dw.prepare(old, out=place / "old.corpus", slices=slices)
        model = dw.fit(corpus, spec, passes=passes, seed=seed, engine=engine, out=place / "old.model")
        begin = time.perf_counter()
        longer = dw.extend(model, table.filter(pl.col("year") >= year), out=place / "new.model", engine=engine)
        extended = time.perf_counter() - begin
        begin = time.perf_counter()
        text = dw.Corpus.open(place / "new.corpus")
        again = dw.fit(text, spec, passes=passes, seed=seed, engine=engine)
        refitted = time.perf_counter() - begin
        first = len(model.slices)
        same = np.array_equal(longer.rho[:first, : len(model.words)], model.rho)
        rho, intercepts = np.array(longer.rho), np.array(longer.intercepts)
        rho[first:], intercepts[first:] = rho[first - 1], intercepts[first - 1]
        facts: Any = {"vocabulary": longer.vocabulary, "spec": longer.spec, "provenance": longer.provenance}
        still = dw.Model(rho, longer.alpha_at(0), intercepts, **facts)
        scores = [score(one, text, split="test", engine=engine) for one in (longer, again, still)]
        here = scores[0].slice_of >= first
        parts = [s.summary(here)["L"] for s in scores]
        difference = [s.positive + s.negative for s in scores]
        gain, error = mean_and_error((difference[0] - difference[1])[here], scores[0].document[here])
        border = [
            np.linalg.norm(one.rho[first] - one.rho[first - 1], axis=1)[: len(model.words)].mean()
            for one in (longer, again)
        ]
        print(
            f"{len(longer.slices) - first} new slices, {len(longer.words) - len(model.words)} new words; old slices "
            f"as they were: {same}\nextended in {extended:.0f} s with its preparation, fitted again in {refitted:.0f} "
            f"s ({100 * extended / refitted:.0f}%)\nL of the new slices {parts[0]:.4f}, fitted again {parts[1]:.4f} "
            f"(difference {gain:+.4f} ± {error:.4f}), the last old slice carried forward {parts[2]:.4f}\n"
            f"mean step into the first new slice {border[0]:.4f}, fitted again {border[1]:.4f}\n"
            f"new words: {', '.join(longer.words[len(model.words) :][:12])}"
        )


if __name__ == "__main__":
    main()
