"""Does `significance` mean what it says? Measured where the answer is known.

    python benchmarks/calibration.py null un.corpus seed=0,1,2
    python benchmarks/calibration.py exchange un.corpus join=5 seed=0,1,2
    python benchmarks/calibration.py topics un.corpus

null        The dates of documents are permuted, so nothing changes: the share of words with
            p <= .05 and p <= .001, by frequency, and how many words are called at a false
            discovery rate of 5%.
exchange    Words exchange their places, and others are thinned (see planted.py): average
            precision of the exchanged words in the whole vocabulary, beside those of drift
            and of rules that know nothing of meaning; power and realised false discovery
            rate where 10% was asked for; thinned words that are called.
topics      Documents are dated by their topic, and some words are put where a model that
            does not change expects them. So everything else changes around them, and they
            do not: how many of them are called, and how many are if nothing is done about
            it (`plain`).

`join` joins consecutive slices. `short` cuts documents into pieces of that many words, at
most 62,000, each a document. `uneven=1` puts most documents into the last of 16 slices, and
2% or less into each of the first ones. `seed`, `passes`, `engine` and `permutations` can be
given too; all other names are options of `Spec`.
"""

from __future__ import annotations

import itertools
import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt

import driftword as dw
from machine import describe
from options import parse_arguments
from planted import BANDS, TEMPORARY, Planted, average_precision, measures, plant, rules_without_meaning

Array = npt.NDArray[Any]
ASKED = 0.10  # false discovery rate of the exchange
PIECES = 62_000
TOPIC_SLICES = 16
FIXED = 40  # words of each band that are put where a fixed model expects them
ALL_BANDS = ((0, BANDS[0][0]), *BANDS, (BANDS[-1][1], 10**9))


def cut(corpus: dw.Corpus, size: int, seed: int) -> dw.Corpus:
    """Return pieces of the documents as documents of their own."""
    offsets, rng = np.asarray(corpus.offsets), np.random.default_rng(seed)
    begin = np.concatenate([np.arange(a, b - size // 2, size) for a, b in itertools.pairwise(offsets)])
    chosen = np.sort(rng.permutation(len(begin))[:PIECES])
    begin = begin[chosen]
    chunk = np.searchsorted(offsets, begin, side="right") - 1
    length = np.minimum(begin + size, offsets[chunk + 1]) - begin
    ends = np.r_[0, np.cumsum(length)]
    tokens = np.asarray(corpus.tokens)[np.arange(ends[-1]) + np.repeat(begin - ends[:-1], length)]
    return dw.Corpus.from_ids(
        corpus.words, tokens, ends, chunk_slice=np.asarray(corpus.chunk_slice)[chunk],
        chunk_split=rng.choice(3, len(chunk), p=[0.8, 0.1, 0.1]), slices=[s[:4] for s in corpus.slices.labels],
        subsample="auto", seed=seed,
    )  # fmt: skip


def make_uneven(corpus: dw.Corpus, seed: int) -> dw.Corpus:
    """Return the corpus with most documents in the last of 16 slices."""
    shares = np.r_[np.geomspace(0.002, 0.04, 15), 0]
    shares[-1] = 1 - shares.sum()
    _, document = np.unique(corpus.chunk_document, return_inverse=True)
    dates = np.random.default_rng(seed).choice(16, document.max() + 1, p=shares)
    return dw.Corpus.from_ids(
        corpus.words, corpus.tokens, corpus.offsets, chunk_slice=dates[document], chunk_split=corpus.chunk_split,
        slices=range(2000, 2016), chunk_document=corpus.chunk_document, subsample=corpus.subsample, seed=seed,
    )  # fmt: skip


def columns(table: Any, model: dw.Model) -> tuple[Array, Array, Array]:
    """Return p, q and effect of every word in the order of the vocabulary; NaN where it was not tested."""
    order = [model.word_index[word] for word in table["word"]]
    found = np.full((3, len(model.words)), np.nan)
    for row, name in zip(found, ("p", "q", "effect"), strict=True):
        row[order] = table[name].fill_null(float("nan")).to_numpy()
    return found[0], found[1], found[2]


def by_band(values: Array, counts: Array, chosen: Array) -> str:
    """Return the share of true values in every band of frequency, in percent."""
    parts = []
    for low, high in ALL_BANDS:
        here = chosen & (counts >= low) & (counts < high)
        if here.any():
            parts.append(f"{low}-: {100 * values[here].mean():.1f}% of {here.sum()}")
    return ", ".join(parts)


def report_null(model: dw.Model, table: Any) -> None:
    """Print how often words seem to change where none does."""
    p, q, _ = columns(table, model)
    counts, tested = np.asarray(model.counts).sum(axis=0), np.isfinite(p)
    print(
        f"    p <= .05  {100 * np.mean(p[tested] <= 0.05):.2f}%   by occurrences {by_band(p <= 0.05, counts, tested)}"
    )
    print(
        f"    p <= .001 {100 * np.mean(p[tested] <= 0.001):.2f}%   q <= .05: {int((q <= 0.05).sum())} words", flush=True
    )


def report_exchange(model: dw.Model, table: Any, planted: Planted) -> None:
    """Print how well exchanged words are found."""
    p, q, effect = columns(table, model)
    counts = np.asarray(model.counts).sum(axis=0)
    wanted = np.zeros(len(p), dtype=bool)
    wanted[planted.changed] = True
    counted = wanted | ~planted.crowded
    unchanged = counted & ~wanted & np.isfinite(p)
    unchanged[planted.thinned] = False
    evidence = -np.where(np.isfinite(q), q + 1e-9 * p - 1e-12 * np.nan_to_num(effect), 2)
    called = np.nan_to_num(q, nan=1) <= ASKED
    calls = called & counted
    lasting = np.zeros(len(p), dtype=bool)
    lasting[planted.changed[planted.kind != TEMPORARY]] = True
    rules: dict[str, Array] = {"test": evidence, **measures(model), **rules_without_meaning(model)}  # type: ignore[arg-type]
    only = counted & (lasting | ~wanted)
    precision = {
        name: (average_precision(score[counted], wanted[counted]), average_precision(score[only], lasting[only]))
        for name, score in rules.items()
    }
    print("    AP, all (lasting)  " + ", ".join(f"{n} {a:.3f} ({b:.3f})" for n, (a, b) in precision.items()))
    bands = " ".join(f"{called[planted.changed[planted.band == b]].mean():.2f}" for b in np.unique(planted.band))
    print(
        f"    asked {ASKED:.2f}: {calls.sum()} called, realised {np.mean(~wanted[calls]):.3f} "
        f"(with crowded words {np.mean(~wanted[called]):.3f}), power {called[planted.changed].mean():.3f} "
        f"(by frequency {bands}), thinned called {called[planted.thinned].mean():.3f}, unchanged called "
        f"{called[unchanged].mean():.4f}; p <= .05 of unchanged {100 * np.mean(p[unchanged] <= 0.05):.1f}%, "
        f"of thinned {100 * np.mean(p[planted.thinned] <= 0.05):.1f}%; {int(planted.crowded.sum())} crowded",
        flush=True,
    )
    print(f"    p <= .05 of unchanged words by occurrences {by_band(p <= 0.05, counts, unchanged)}", flush=True)


def main() -> None:
    if len(sys.argv) < 3 or sys.argv[1] not in ("null", "exchange"):
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    mode, path = sys.argv[1:3]
    given = parse_arguments(sys.argv[3:])
    join, short, uneven = (int(given.pop(name, [d])[0]) for name, d in (("join", 1), ("short", 0), ("uneven", 0)))
    passes, engine = given.pop("passes", [8])[0], given.pop("engine", ["auto"])[0]
    permutations, seeds = given.pop("permutations", [1000])[0], given.pop("seed", [0])
    options = {name: values[0] for name, values in given.items()}
    for seed in seeds:
        source = dw.Corpus.open(path)
        source = cut(source, short, seed) if short else source
        source = make_uneven(source, seed) if uneven else source
        corpus, planted = plant(
            source, join=join, subsample=source.subsample or "auto", seed=seed, changes=mode == "exchange", abrupt=0.5
        )
        sizes = np.bincount(corpus.chunk_slice[np.unique(corpus.chunk_document, return_index=True)[1]])
        fitted = dw.fit(corpus, dw.Spec(**options), passes=passes, seed=seed, engine=engine)
        begin = time.perf_counter()
        table = dw.significance(fitted, corpus, permutations=permutations, seed=seed)
        print(
            f"{mode}, {path}, seed {seed}: {sizes.sum():,} documents in {len(sizes)} slices of {sizes.min():,} to "
            f"{sizes.max():,}; {time.perf_counter() - begin:.0f} s",
            flush=True,
        )
        if mode == "null":
            report_null(fitted, table)
        else:
            report_exchange(fitted, table, planted)


if __name__ == "__main__":
    main()
