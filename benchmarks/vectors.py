"""Is the test right for vectors of an encoder, and where does it see more than the model's own?

    python benchmarks/vectors.py un.corpus encoder=PATH seed=0,1,2

Documents exchange their dates, and pairs of words of four bands of frequency exchange half of their places, or all,
from some day on (planted_text.py). The text is prepared and fitted, and all its words are tested. Then those words, as
many others of the same bands, and control words are encoded, and tested by their vectors, with the control words and
without; and both tests together. For each: the share of the other words with p <= .05, and of the exchanged ones by the
share that was exchanged and by the occurrences that were encoded; the realised false discovery rate and the power at a
rate of 5% among these words; and how often the 90% interval of the date holds the day.

`limit` documents are drawn, of which `n` occurrences of each word are encoded. `pairs` and `passes` can be given, too.
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
import planted_text
from driftword.inference.combined import combine
from machine import describe
from options import parse_arguments

LEVEL = 0.05


def others(corpus: dw.Corpus, planted: pl.DataFrame, seed: int) -> list[str]:
    """Return as many words of every band of frequency as were exchanged, which were left alone."""
    counts, rng, chosen = np.asarray(corpus.counts).sum(axis=0), np.random.default_rng(seed), []
    exchanged = set(planted["word"])
    for low, high in planted_text.BANDS:
        wanted = planted.filter((pl.col("count") >= low) & (pl.col("count") < high)).height
        here = np.flatnonzero((counts >= low) & (counts < high)).tolist()
        known = [v for v in here if v >= planted_text.GRAMMAR and corpus.words[v] not in exchanged]
        chosen += [corpus.words[v] for v in rng.permutation([v for v in known if corpus.words[v].isalpha()])[:wanted]]
    return chosen


def report(name: str, found: pl.DataFrame, planted: pl.DataFrame, words: list[str]) -> dict[str, float]:
    """Print how a test did, and return the numbers."""
    table = pl.DataFrame({"word": words}).join(found, on="word", how="left").drop_nulls("p")
    table = table.join(planted.select("word", "share", "first"), on="word", how="left")
    share, p = table["share"].fill_null(0.0).to_numpy(), table["p"].to_numpy()
    order = np.argsort(p, kind="stable")
    rates = np.minimum.accumulate((p[order] * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1]
    called = np.zeros(len(p), dtype=bool)
    called[order] = rates <= LEVEL
    numbers = {
        "null": (p[share == 0] <= LEVEL).mean(), "half": (p[share == 0.5] <= LEVEL).mean(),
        "all": (p[share == 1] <= LEVEL).mean(), "false": (share[called] == 0).mean() if called.any() else 0.0,
        "power": called[share > 0].mean(),
    }  # fmt: skip
    if "change_low" in table.columns:
        dated = table.filter(pl.col("share").is_not_null() & pl.col("change_low").is_not_null())
        # Documents are dated by years: the first one of a change within a year is of the next.
        since = dated["first"].dt.offset_by("1y").dt.truncate("1y")
        numbers["dates"] = ((dated["change_low"] <= since) & (since <= dated["change_high"])).mean()
    print(f"    {name:24}" + "  ".join(f"{key} {value:.3f}" for key, value in numbers.items()), flush=True)
    return numbers


def run(path: str, given: dict[str, Any], seed: int, folder: Path) -> dict[str, dict[str, float]]:
    """Plant, fit, encode and test; return what `report` does, by test."""
    source = planted_text.read(path, limit=int(given.get("limit", 3_000)), seed=seed)
    table, planted = planted_text.plant(source, pairs=int(given.get("pairs", 8)), share=(0.5, 1.0), seed=seed)
    corpus = dw.prepare(
        table.select("text", date="day"), slices="5y", phrases=False, out=folder / f"{seed}.corpus", overwrite=True
    )
    planted = planted.filter(pl.col("word").is_in(corpus.words))
    model = dw.fit(corpus, passes=int(given.get("passes", 3)), seed=seed)
    words = [*planted["word"], *others(corpus, planted, seed)]
    began = time.perf_counter()
    own = dw.significance(model, corpus=corpus)
    print(f"seed {seed}: {len(corpus.words)} words tested in {time.perf_counter() - began:.0f} s", flush=True)
    began = time.perf_counter()
    usage = dw.encode(corpus, words, encoder=given["encoder"], n=int(given.get("n", 200)), width=120, seed=seed)
    print(f"    {len(usage):,} occurrences encoded in {time.perf_counter() - began:.0f} s")
    asked = ~usage.occurrences["control"]
    alone = dw.usage(usage.occurrences.filter(asked), usage.vectors[asked.to_numpy()], corpus=corpus)
    by_vectors, plain = dw.significance(usage), dw.significance(alone)
    return {
        name: report(name, found, planted, words)
        for name, found in {
            "the model's": own, "vectors": by_vectors, "vectors, no controls": plain,
            "both": combine([own, by_vectors]),
        }.items()
    }  # fmt: skip


def main() -> None:
    """Run all seeds, and print the means."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    print(describe("torch", "transformers"))
    options = parse_arguments(sys.argv[2:])
    given = {name: values[0] for name, values in options.items()}
    with tempfile.TemporaryDirectory() as folder:
        found = [run(sys.argv[1], given, seed, Path(folder)) for seed in options.get("seed", [0])]
    print("mean")
    for name in found[0]:
        keys = found[0][name]
        print(f"    {name:24}" + "  ".join(f"{key} {np.mean([one[name][key] for one in found]):.3f}" for key in keys))


if __name__ == "__main__":
    main()
