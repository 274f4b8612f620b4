"""How much of a corpus does a threshold t leave? The table behind ``subsample="auto"``.

    python benchmarks/subsampling.py

For each corpus and t: how many tokens a pass sees, and how many occurrences remain of the
median word of three frequency bands, in an average slice.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import driftword as dw
from driftword.corpus.subsampling import choose_subsample, keep_probabilities
from machine import DATA, describe

BANDS = {"ranks 100-300": (100, 300), "1,000-3,000": (1_000, 3_000), "5,000-10,000": (5_000, 10_000)}


def main() -> None:
    print(describe(), end="\n\n")
    with tempfile.TemporaryDirectory() as folder:
        corpora = {"SOTU, 5 years": dw.prepare("sotu", slices="5y", out=Path(folder) / "sotu")}
        un = DATA / "un_general_debates.parquet"
        if un.exists():
            corpora["UN, 1 year"] = dw.prepare(un, text="text", time="year", out=Path(folder) / "un")
        print(f"{'corpus':16}{'t':>8}{'tokens a pass':>15}{'share':>8}" + "".join(f"{band:>16}" for band in BANDS))
        for name, corpus in corpora.items():
            auto = choose_subsample("auto", corpus.raw_counts)
            for t in (1e-5, 1e-4, 1e-3, None):
                remaining = corpus.raw_counts * keep_probabilities(corpus.raw_counts, t)
                per_slice = [np.median(remaining[low:high]) / len(corpus.slices) for low, high in BANDS.values()]
                label = ("none" if t is None else f"{t:g}") + ("*" if t == auto else "")
                print(
                    f"{name:16}{label:>8}{remaining.sum():>15,.0f}{remaining.sum() / corpus.n_tokens:>8.0%}"
                    + "".join(f"{count:>16.1f}" for count in per_slice)
                )
    print("\n* the choice of auto")


if __name__ == "__main__":
    main()
