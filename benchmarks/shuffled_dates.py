"""How far do words move when nothing can have changed? The same documents with their dates and with shuffled ones.

Prints the mean of `pace` for both. Run with ``python benchmarks/shuffled_dates.py``; it takes a minute.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import driftword as dw
from driftword.corpus.sources import open_source
from machine import describe

SEEDS = (0, 1, 2)


def mean_movement(documents: pl.DataFrame, folder: Path) -> float:
    """Return how far words moved on average from slice to slice."""
    corpus = dw.prepare(documents, time="date", slices="5y", out=folder, overwrite=True)
    model = dw.fit(corpus, dw.Spec(dim=50), passes=5)
    return float(np.nanmean(dw.pace(model)["movement"].cast(pl.Float64).fill_null(float("nan")).to_numpy()))


def main() -> None:
    print(describe(), end="\n\n")
    documents = pl.concat(list(open_source("sotu").frames))
    with tempfile.TemporaryDirectory() as folder:
        print(f"State of the Union, as dated      {mean_movement(documents, Path(folder) / 'c'):.4f}")
        for seed in SEEDS:
            order = np.random.default_rng(seed).permutation(documents.height)
            shuffled = documents.with_columns(date=documents["date"].gather(order))
            print(f"dates shuffled, seed {seed}            {mean_movement(shuffled, Path(folder) / 'c'):.4f}")


if __name__ == "__main__":
    main()
