"""Do the further claims of `significance`, `contrast` and `neighbors` hold? Measured where the answer is known.

    python benchmarks/claims.py best sotu.corpus seed=0,1
    python benchmarks/claims.py power sotu.corpus seed=0,1
    python benchmarks/claims.py parting sotu.corpus join=4 seed=0,1
    python benchmarks/claims.py neighbors sotu.corpus join=8 seed=0,1
    python benchmarks/claims.py companions sotu.corpus seed=0,1
    python benchmarks/claims.py seeds sotu.corpus seed=0,1
    python benchmarks/claims.py frequency sotu.corpus seed=0,1

best        The dates of documents are permuted: how often words have p <= .05 with
            `between="best"`, beside the smallest p of nine borders that are tried by hand.
            Then words exchange their places abruptly: how many are found, and in which slice.
power       Words exchange a share of their places abruptly after half of the time: what
            `power` says before, without the exchange, and how many have p <= .05 after it.
parting     Documents are put into two groups at random, the second with a fifth of the first
            documents and four fifths of the last. Words exchange their places in the second
            group all of the time, in both groups after half of it, or in the second group after
            half of it, which alone `contrast` should find with `over_time=True`.
neighbors   Documents are divided into two halves, and each half is fitted: how similar the three
            and the ten nearest neighbours of 100 words are in the first half, as it is said of
            other documents (`similarity_elsewhere`), and as they are in the second half.
companions  Words exchange their places; how often words that are often near exchanged ones have p <= .05,
            and words that are not, with all contexts and `without` the exchanged words.
seeds       The same corpus is fitted with two seeds (the second is 100 more), as is the fit without dates
            that tests compare with: how many of the words that one calls the other calls, too, how their
            effects are correlated, and how many of the first 50 words are the same.
frequency   Dates of documents are permuted: how often the frequency of 300 words seems to change, and how
            often words seem to be keywords of the second half of the time, beside the usual log-likelihood.
            Then 40 words lose half of their occurrences in the second half of the time.

Options are those of calibration.py; `few` is a number of words that `best` draws instead of
all where nothing changes.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import polars as pl

import driftword as dw
from calibration import COMPARED, columns, report_null, split
from driftword.basics.process import available_cores
from driftword.benchmarking.planting import BANDS, KINDS, Planted, choose_words, crowded, plant
from driftword.explore.nearest_neighbors import similarities
from driftword.fitting.static_fit import static_vectors
from driftword.uses.word_frequency import frequency_p
from machine import describe
from options import parse_arguments

BY_HAND = 9  # borders
CHI_SQUARE = 3.84  # which log-likelihoods exceed in 5% of cases, if every occurrence is evidence of its own
SHARES = (0.1, 0.2, 1 / 3, 0.5, 1.0)


def some_words(model: dw.Model, planted: Planted, seed: int) -> list[str]:
    """Return words that were left alone and are not beside exchanged ones."""
    counts = np.asarray(model.counts).sum(axis=0)
    free = ~planted.crowded & (counts >= BANDS[0][0]) & (counts < BANDS[-1][1])
    free[np.r_[planted.changed, planted.thinned]] = False
    return [model.words[v] for v in np.random.default_rng(seed).permutation(np.flatnonzero(free))[:COMPARED]]


def report_best(
    source: dw.Corpus, spec: dw.Spec, *, join: int, seed: int, passes: int, few: int | None = None, **options: Any
) -> None:
    """Print how often the best of all borders seems to show a change, where none does and where there is one."""
    corpus, planted = plant(source, join=join, subsample=source.subsample or "auto", seed=seed, changes=False)
    model = dw.fit(corpus, spec, passes=passes, seed=seed)
    drawn = None if few is None else np.random.default_rng(seed).permutation(len(model.words))[:few]
    names = None if drawn is None else [model.words[v] for v in drawn]
    table = dw.significance(model, names, corpus=corpus, between="best", **options)
    report_null(model, table)
    print(f"    interval of the effect above 0: {100 * (table['low'] > 0).mean():.1f}%")
    words, labels = some_words(model, planted, seed), model.slices.labels
    smallest = np.ones(len(words))
    for border in np.linspace(0, len(labels), BY_HAND + 2)[1:-1].astype(int):
        between = ((labels[0], labels[border - 1]), (labels[border], labels[-1]))
        p = dw.significance(model, words, corpus=corpus, between=between, **options)["p"]
        smallest = np.minimum(smallest, p.fill_null(1).to_numpy())
    here = dw.significance(model, words, corpus=corpus, between="best", **options)["p"]
    print(f"    {len(words)} words: p <= .05 {100 * (here <= 0.05).mean():.1f}%; the smallest of {BY_HAND} by hand "
          f"{100 * np.mean(smallest <= 0.05):.1f}%", flush=True)  # fmt: skip
    corpus, planted = plant(source, join=join, subsample=source.subsample or "auto", seed=seed)
    model = dw.fit(corpus, spec, passes=passes, seed=seed)
    for between in ("best", None):
        p, q, _ = columns(dw.significance(model, corpus=corpus, between=between, **options), model)  # type: ignore[arg-type]
        found = [f"{KINDS[k]} {np.mean(q[planted.changed[planted.kind == k]] <= 0.05):.2f}" for k in range(len(KINDS))]
        print(f"    between={between}: q <= .05 of exchanged words: {', '.join(found)}", flush=True)


def report_power(source: dw.Corpus, spec: dw.Spec, *, join: int, seed: int, passes: int, **options: Any) -> None:
    """Print how many changes were expected to be found, and how many are."""
    made: Any = {"join": join, "subsample": source.subsample or "auto", "seed": seed}
    corpus, planted = plant(source, changes=False, **made)
    model = dw.fit(corpus, spec, passes=passes, seed=seed)
    abrupt = planted.changed[planted.kind == KINDS.index("abrupt")]
    words, labels = [model.words[v] for v in abrupt], model.slices.labels
    since = labels[(len(labels) - 1) // 2 + 1]
    asked: Any = {"share": SHARES, "since": since, "simulations": 50, "corpus": corpus, "seed": seed}
    asked |= {name: options[name] for name in ("threads",) if name in options}
    said = dw.power(model, words, **asked)["power"].fill_null(0).to_numpy().reshape(len(words), len(SHARES))
    found = []
    for share in SHARES:
        exchanged, _ = plant(source, share=share, **made)
        fitted = dw.fit(exchanged, spec, passes=passes, seed=seed)
        p = dw.significance(fitted, words, corpus=exchanged, permutations=199, **options)["p"]
        found.append(p.fill_null(1).to_numpy() <= 0.05)
    realised, bands = np.stack(found, axis=1), planted.band[planted.kind == KINDS.index("abrupt")]
    for i, share in enumerate(SHARES):
        by_band = ", ".join(
            f"{said[bands == b, i].mean():.2f} {realised[bands == b, i].mean():.2f}" for b in set(bands)
        )
        print(f"    share {share:.2f}, {len(words)} words: said {said[:, i].mean():.2f}, found "
              f"{realised[:, i].mean():.2f}; by frequency {by_band}", flush=True)  # fmt: skip
    edges = np.linspace(0, 1, 6)
    for low, high in itertools.pairwise(edges):
        here = (said >= low) & (said < high + (high == 1))
        if here.any():
            print(f"    said {low:.1f} to {high:.1f}: {here.sum()} changes, mean {said[here].mean():.2f}, found "
                  f"{realised[here].mean():.2f}", flush=True)  # fmt: skip


def report_parting(source: dw.Corpus, spec: dw.Spec, *, join: int, seed: int, passes: int, **options: Any) -> None:
    """Print how often groups seem to part: where they differ, where both change, and where they do part."""
    rng, offsets = np.random.default_rng(seed), np.asarray(source.offsets)
    documents, first, number = np.unique(source.chunk_document, return_index=True, return_inverse=True)
    slice_of = rng.permutation(np.asarray(source.chunk_slice)[first] // join)
    n_slices = int(slice_of.max()) + 1
    group_of = (rng.random(len(documents)) < 0.2 + 0.6 * slice_of / (n_slices - 1)).astype(np.int64)
    tokens = np.array(source.tokens, dtype=np.int64)
    chosen = choose_words(np.bincount(tokens, minlength=len(source.words)), rng)
    beside = crowded(tokens, offsets, len(source.words), chosen["changed"])
    partner, kind = np.arange(len(source.words)), np.full(len(source.words), -1)
    partner[chosen["changed"]] = chosen["changed"].reshape(-1, 2)[:, ::-1].ravel()
    kind[chosen["changed"]] = chosen["kind"]
    second, late = (np.repeat(of[number], np.diff(offsets)) for of in (group_of == 1, slice_of > (n_slices - 1) / 2))
    moved = np.stack([second, late, second & late])  # by kind
    here = np.flatnonzero(kind[tokens] >= 0)
    here = here[moved[kind[tokens[here]], here]]
    tokens[here] = partner[tokens[here]]
    corpus = dw.Corpus.from_ids(
        source.words, tokens, offsets, chunk_slice=slice_of[number], chunk_split=source.chunk_split,
        chunk_document=source.chunk_document, slices=range(2000, 2000 + n_slices), groups=["first", "second"],
        chunk_group=group_of[number], subsample=source.subsample or "auto", seed=seed,
    )  # fmt: skip
    model = dw.fit(corpus, spec, passes=passes, seed=seed)
    free = np.flatnonzero(~beside & (kind < 0) & (np.bincount(tokens, minlength=len(kind)) >= BANDS[0][0]))
    sets = {
        "differ always": np.flatnonzero(kind == 0), "change alike": np.flatnonzero(kind == 1),
        "part": np.flatnonzero(kind == 2), "unchanged": rng.permutation(free)[: 4 * COMPARED],
    }  # fmt: skip
    for name, words in sets.items():
        asked: Any = {"corpus": corpus, "n": len(words), "min_count": 1, **options}
        names = [model.words[v] for v in words]
        parts = dw.contrast(model, names, over_time=True, **asked)["p"].drop_nulls()
        differ = dw.contrast(model, names, **asked)["p"].drop_nulls()
        print(f"    {name:14} {len(parts)} words, p <= .05: over time {100 * (parts <= 0.05).mean():.1f}%, "
              f"the groups as such {100 * (differ <= 0.05).mean():.1f}%", flush=True)  # fmt: skip


def report_neighbors(source: dw.Corpus, spec: dw.Spec, *, join: int, seed: int, passes: int, **options: Any) -> None:
    """Print how similar the nearest neighbours in one half of the documents are in the other."""
    corpora = split(source, join, seed)
    models = [dw.fit(corpus, spec, passes=passes, seed=seed, **options) for corpus in corpora]
    t = len(models[0].slices) // 2
    counts = np.minimum(*(np.asarray(model.vocabulary.train_counts)[t] for model in models))
    words = np.random.default_rng(seed).permutation(np.flatnonzero(counts >= 20))[:100]
    for n in (3, 10):
        rows = []
        for v in words.tolist():
            table = dw.neighbors(
                models[0], models[0].words[v], at=models[0].slices.labels[t], n=n, intervals=True, corpus=corpora[0]
            )
            near = [models[1].word_index[word] for word in table["word"]]
            rows.append(table.with_columns(other=similarities(models[1], t, [v])[near, 0]).filter(counts[near] >= 5))
        every = pl.concat(rows)
        said, elsewhere, other = (every[name].mean() for name in ("similarity", "similarity_elsewhere", "other"))
        print(f"    {len(words)} words, {n} nearest: similarity {said:.3f}, said of other documents {elsewhere:.3f}, "
              f"in the other half {other:.3f}", flush=True)  # fmt: skip


def report_companions(source: dw.Corpus, spec: dw.Spec, *, join: int, seed: int, passes: int, **options: Any) -> None:
    """Print how often words near exchanged ones are called, with these and without."""
    corpus, planted = plant(source, join=join, subsample=source.subsample or "auto", seed=seed)
    model = dw.fit(corpus, spec, passes=passes, seed=seed)
    counts = np.asarray(model.counts).sum(axis=0)
    left = counts >= BANDS[0][0]
    left[np.r_[planted.changed, planted.thinned]] = False
    sets = {"beside exchanged words": left & planted.crowded, "others": left & ~planted.crowded}
    exchanged = [model.words[v] for v in planted.changed]
    for name, members in sets.items():
        ids = np.random.default_rng(seed).permutation(np.flatnonzero(members))[: 10 * COMPARED]
        words = [model.words[v] for v in ids]
        for without in (None, exchanged):
            p = dw.significance(model, words, corpus=corpus, without=without, **options)["p"].drop_nulls()
            what = "all contexts" if without is None else "without exchanged words"
            print(f"    {name}, {what}: {len(p)} words, p <= .05 {100 * (p <= 0.05).mean():.1f}%, "
                  f"p <= .001 {100 * (p <= 0.001).mean():.1f}%", flush=True)  # fmt: skip


def report_seeds(source: dw.Corpus, spec: dw.Spec, *, seed: int, passes: int, **options: Any) -> None:
    """Print how far the tests of two fits agree."""
    tables = []
    for own in (seed, seed + 100):
        model = dw.fit(source, spec, passes=passes, seed=own)
        static_vectors(model, source, threads=available_cores(), seed=own)  # otherwise both tests would be the same
        tables.append(dw.significance(model, corpus=source, **options).drop_nulls("q"))
    both = tables[0].join(tables[1], on="word", suffix="_other")
    called, other = (both[name].to_numpy() <= 0.05 for name in ("q", "q_other"))
    first = [set(table["word"][:50]) for table in tables]
    print(f"    called {called.sum()} and {other.sum()}, by both {(called & other).sum()}; correlation of effects "
          f"{np.corrcoef(both['effect'], both['effect_other'])[0, 1]:.3f}; of the first 50 words "
          f"{len(first[0] & first[1])} are the same", flush=True)  # fmt: skip


def report_frequency(source: dw.Corpus, *, seed: int) -> None:
    """Print how often the frequency of words seems to change, where it does not and where it halves."""
    corpus = source.shuffle_dates(seed)
    counts = np.asarray(corpus.counts).sum(axis=0)
    known = np.random.default_rng(seed).permutation(np.flatnonzero(counts >= BANDS[0][0]))
    p = np.array([frequency_p(corpus, v) for v in known[:300].tolist()], dtype=float)
    halved, rng = known[:40], np.random.default_rng(seed)
    tokens = np.array(corpus.tokens, dtype=np.int64)
    late = np.repeat(np.asarray(corpus.chunk_slice) >= len(corpus.slices) // 2, np.diff(corpus.offsets))
    lost = np.isin(tokens, halved) & late & (rng.random(len(tokens)) < 0.5)
    tokens[lost] = known[-1]
    fewer = dw.Corpus.from_ids(
        corpus.words, tokens, corpus.offsets, chunk_slice=corpus.chunk_slice, chunk_split=corpus.chunk_split,
        chunk_document=corpus.chunk_document, slices=[label[:4] for label in corpus.slices.labels],
    )  # fmt: skip
    found = np.array([frequency_p(fewer, v) for v in halved.tolist()], dtype=float)
    print(f"    nothing changes: p <= .05 {100 * np.mean(p <= 0.05):.1f}% of {len(p)} words; halved: "
          f"{100 * np.mean(found <= 0.05):.1f}% of {len(found)}", flush=True)  # fmt: skip

    middle, last = len(corpus.slices) // 2, len(corpus.slices) - 1
    labels = [label[:4] for label in corpus.slices.labels]
    between = ((labels[0], labels[middle - 1]), (labels[middle], labels[last]))
    keys = dw.keywords(corpus, between=between, function=True, seed=seed).drop_nulls("p")
    usual = (keys["log_likelihood"] > CHI_SQUARE).mean()
    print(
        f"    keywords where nothing changes: p <= .05 {100 * (keys['p'] <= 0.05).mean():.1f}% of {len(keys)} words, "
        f"q <= .05 {(keys['q'] <= 0.05).sum()}; log-likelihood above {CHI_SQUARE}: {100 * usual:.1f}%", flush=True,
    )  # fmt: skip


REPORTS = {
    "companions": report_companions,
    "neighbors": report_neighbors,
    "best": report_best,
    "power": report_power,
    "parting": report_parting,
}


def main() -> None:
    if len(sys.argv) < 3 or sys.argv[1] not in (*REPORTS, "seeds", "frequency"):
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    mode, path = sys.argv[1:3]
    given = parse_arguments(sys.argv[3:])
    join, passes = (int(given.pop(name, [d])[0]) for name, d in (("join", 1), ("passes", 8)))
    options = {name: given.pop(name)[0] for name in ("permutations", "threads", "engine", "few") if name in given}
    seeds = given.pop("seed", [0])
    spec = dw.Spec(**{name: values[0] for name, values in given.items()})
    for seed in seeds:
        print(f"{mode}, {path}, seed {seed}", flush=True)
        corpus = dw.Corpus.open(path)
        if mode == "frequency":
            report_frequency(corpus, seed=seed)
        elif mode == "seeds":
            report_seeds(corpus, spec, seed=seed, passes=passes, **options)
        else:
            REPORTS[mode](corpus, spec, join=join, seed=seed, passes=passes, **options)


if __name__ == "__main__":
    main()
