"""Do `significance` and intervals mean what they say? Measured where the answer is known.

    python benchmarks/calibration.py null un.corpus seed=0,1,2
    python benchmarks/calibration.py exchange un.corpus join=5 seed=0,1,2
    python benchmarks/calibration.py periods un.corpus join=5
    python benchmarks/calibration.py halves un.corpus join=5
    python benchmarks/calibration.py bands sotu.corpus
    python benchmarks/calibration.py dates sotu.corpus slices=10y share=0.5 span=0,0.3 seed=0,1,2
    python benchmarks/calibration.py copies sotu.corpus slices=5y
    python benchmarks/calibration.py clusters un.corpus limit=1500

null        The dates of documents are permuted, so nothing changes: the share of words with
            p <= .05 and p <= .001, by frequency, and how many words are called at a false
            discovery rate of 5%.
exchange    Words exchange their places, and others are thinned (see planted.py): average
            precision of the exchanged words in the whole vocabulary, beside those of drift
            and of rules that know nothing of meaning; power and realised false discovery
            rate where 10% was asked for; thinned words that are called.
periods     The same, abruptly after half of the time, and two periods are compared: our test
            beside a plain permutation of mean context vectors of documents.
halves      Documents are divided into two halves, and each half is fitted: the difference of
            relative drift and of similarity, divided by its standard error. It should have a
            standard deviation of 1.
bands       Dates are permuted: how often 90% intervals of drift begin above 0, and bands of the
            first and the last slice are apart.

The others plant in the text of the documents, which is then prepared and fitted (planted_text.py):

dates       Words exchange their places from any day on, at once or over a span of time: how
            often the 90% interval of the date that `significance` finds holds it, how wide it
            is, and whether gradual changes are told from abrupt ones.
copies      Dates are permuted, and every text occurs three times, or a tenth of them five
            times: as in null.
clusters    Speeches are cut into pieces of 120 words, and dates of speeches are permuted: as in
            null, with each piece a piece of evidence, and with each speech.

`join` joins consecutive slices. `short` cuts documents into pieces of that many words, at
most 62,000, each a document. `uneven=1` puts most documents into the last of 16 slices, and
at most 4% into each of the others. `share` exchanges only that share of the occurrences.
`pieces` cuts documents into pieces with days of their own for dates, `limit` takes so many
documents. `seed`, `passes`, `engine` and
`permutations` can be given too; all other names are options of `Spec`.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

import driftword as dw
import planted_text
from driftword.benchmarking.measures import average_precision
from driftword.benchmarking.planting import BANDS, KINDS, TEMPORARY, Planted, plant
from driftword.models.significance_table import HALF_WIDTH
from machine import describe
from options import parse_arguments
from planted import measures, rules_without_meaning

Array = npt.NDArray[Any]
ASKED = 0.10  # false discovery rate of the exchange
PIECES = 62_000
COMPARED = 200  # words
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
    for asked in (0.01, 0.05):
        usual = np.nan_to_num(q, nan=1) <= asked
        print(
            f"    asked {asked:.2f}: realised {np.mean(~wanted[usual & counted]):.3f} (with crowded words "
            f"{np.mean(~wanted[usual]):.3f}), power {usual[planted.changed].mean():.3f}"
        )
    print(f"    p <= .05 of unchanged words by occurrences {by_band(p <= 0.05, counts, unchanged)}", flush=True)


def report_periods(model: dw.Model, corpus: dw.Corpus, planted: Planted, permutations: int) -> None:
    """Print how two tests of two periods fare, on words that were exchanged abruptly and on others."""
    counts, rng = np.asarray(model.counts).sum(axis=0), np.random.default_rng(0)
    exchanged = planted.changed[planted.kind == KINDS.index("abrupt")]
    free = ~planted.crowded & (counts >= BANDS[0][0]) & (counts < BANDS[-1][1])
    free[np.r_[planted.changed, planted.thinned]] = False
    others = rng.permutation(np.flatnonzero(free))[:COMPARED]
    labels, middle = model.slices.labels, len(model.slices) // 2
    between = ((labels[0], labels[middle - 1]), (labels[middle], labels[-1]))
    for name, words in (("exchanged", exchanged), ("unchanged", others), ("thinned", planted.thinned)):
        names = [model.words[v] for v in words]
        ours = dw.significance(model, names, corpus=corpus, between=between, permutations=permutations)["p"].to_numpy()
        plain = plain_permutation(model, corpus, words, middle, permutations)
        print(
            f"    {name:10} {len(words):4} words, p <= .05: our test {100 * np.mean(ours <= 0.05):.1f}%, "
            f"plain permutation {100 * np.mean(plain <= 0.05):.1f}%",
            flush=True,
        )


def plain_permutation(model: dw.Model, corpus: dw.Corpus, words: Array, middle: int, permutations: int) -> Array:
    """Return p-values of the distance between the mean context vectors of two periods, documents being permuted."""
    alpha, rng = np.asarray(model.alpha, dtype=np.float64), np.random.default_rng(0)
    half, found = model.spec.context // 2, []
    parts = [corpus.sample(split, pass_number=1) for split in ("train", "valid", "test")]
    ids = np.concatenate([part[0] for part in parts])
    chunk = np.repeat(np.concatenate([part[2] for part in parts]), np.concatenate([np.diff(part[1]) for part in parts]))
    document, slice_of = np.asarray(corpus.chunk_document)[chunk], np.asarray(corpus.chunk_slice)[chunk]
    for v in words:
        at = np.flatnonzero(ids == v)
        contexts = np.zeros((len(at), alpha.shape[1]))
        for distance in (d for k in range(1, half + 1) for d in (-k, k)):
            near = np.clip(at + distance, 0, len(ids) - 1)
            contexts += alpha[ids[near]] * (chunk[near] == chunk[at])[:, None]
        documents, number = np.unique(document[at], return_inverse=True)
        means = np.zeros((len(documents), alpha.shape[1]))
        np.add.at(means, number, contexts)
        means /= np.bincount(number)[:, None]
        late = np.zeros(len(documents), dtype=bool)
        late[number] = slice_of[at] >= middle

        def distance_between(late: Array, means: Array = means) -> float:
            return float(np.linalg.norm(means[late].mean(axis=0) - means[~late].mean(axis=0)))

        observed = distance_between(late)
        null = np.array([distance_between(rng.permutation(late)) for _ in range(permutations)])
        found.append((1 + (null >= observed).sum()) / (1 + permutations))
    return np.array(found)


def split(corpus: dw.Corpus, join: int, seed: int) -> list[dw.Corpus]:
    """Divide the documents into two corpora."""
    rng, lengths = np.random.default_rng(seed), np.diff(corpus.offsets)
    _, document = np.unique(corpus.chunk_document, return_inverse=True)
    half = (rng.permutation(document.max() + 1) % 2)[document]
    parts = []
    for h in (0, 1):
        chunks = np.flatnonzero(half == h)
        ends = np.r_[0, np.cumsum(lengths[chunks])]
        positions = np.arange(ends[-1]) + np.repeat(np.asarray(corpus.offsets)[chunks] - ends[:-1], lengths[chunks])
        parts.append(dw.Corpus.from_ids(
            corpus.words, np.asarray(corpus.tokens)[positions], ends,
            chunk_slice=np.asarray(corpus.chunk_slice)[chunks] // join,
            chunk_split=np.asarray(corpus.chunk_split)[chunks],
            chunk_document=np.asarray(corpus.chunk_document)[chunks],
            slices=[corpus.slices.labels[t][:4] for t in range(0, len(corpus.slices), join)],
            subsample=corpus.subsample, seed=seed,
        ))  # fmt: skip
    return parts


def report_halves(models: list[dw.Model], corpora: list[dw.Corpus], seed: int) -> None:
    """Print the spread of standardised differences between two halves."""
    rng = np.random.default_rng(seed)
    counts = np.minimum(*(np.asarray(model.counts).sum(axis=0) for model in models))
    eligible = rng.permutation(np.flatnonzero((counts >= 200) & (counts < 20_000)))
    pairs = eligible[: 2 * COMPARED].reshape(-1, 2)
    labels = models[0].slices.labels
    names = [tuple(models[0].words[v] for v in pair) for pair in pairs]
    found: dict[str, list[float]] = {}
    for one, other in names:
        values: dict[str, list[tuple[float, float]]] = {}
        for model, corpus in zip(models, corpora, strict=True):
            options: Any = {"intervals": True, "corpus": corpus}
            tables = {"relative": dw.drift(model, one, metric="relative", between=(labels[0], labels[-1]), **options)}
            tables["similarity"] = dw.similarity(model, one, other, interpolated=True, **options)[len(labels) // 2]
            for name, table in tables.items():
                column = "similarity" if name == "similarity" else "drift"
                row = table.row(0, named=True)
                error = (row[f"{column}_high"] - row[f"{column}_low"]) / 2 / HALF_WIDTH
                values.setdefault(name, []).append((row[column], error))
        for name, ((a, a_error), (b, b_error)) in values.items():
            found.setdefault(name, []).append((a - b) / np.hypot(a_error, b_error))
    for name, z in found.items():
        print(f"    {name}: {len(z)} words, standard deviation {np.std(z):.2f}, mean {np.mean(z):+.2f}", flush=True)


def report_bands(model: dw.Model, corpus: dw.Corpus, seed: int) -> None:
    """Print how often intervals show a change where there is none."""
    counts = np.asarray(model.counts).sum(axis=0)
    eligible = np.random.default_rng(seed).permutation(np.flatnonzero((counts >= 200) & (counts < 20_000)))
    words = [model.words[v] for v in eligible[:COMPARED]]
    parts = []
    for metric in ("absolute", "cosine"):
        table = dw.drift(model, words, n=None, metric=metric, intervals=True, corpus=corpus)
        parts.append(f"{metric} drift above 0 {(table['drift_low'] > 0).mean():.3f}")
    apart = []
    for word in words:
        ends = dw.trajectory(model, word, intervals=True, corpus=corpus).filter("observed")[[0, -1]]
        low, high = ends["position_low"].to_list(), ends["position_high"].to_list()
        apart.append(high[0] < low[1] or high[1] < low[0])
    print(f"    {len(words)} words: {', '.join(parts)}, bands of both ends apart {np.mean(apart):.3f}", flush=True)


def report_dates(model: dw.Model, corpus: dw.Corpus, planted: pl.DataFrame) -> None:
    """Print how often intervals of dates hold the day at which words were exchanged, or the middle of the exchange."""
    planted = planted.filter(pl.col("word").is_in(model.words))
    table = dw.significance(model, planted["word"].to_list(), corpus=corpus)
    both = table.with_columns(planted["first", "last"]).filter(pl.col("change").is_not_null())
    years = corpus.documents.select((pl.col("date").dt.ordinal_day() == 1).all()).collect().item()
    middle = both["first"] + (both["last"] - both["first"]) / 2
    if years:  # the first document of a change within a year is of the next one
        middle = pl.Series([day if (day.month, day.day) == (1, 1) else date(day.year + 1, 1, 1) for day in middle])
    held = (both["change_low"] <= middle) & (middle <= both["change_high"])
    width = (both["change_high"] - both["change_low"]).dt.total_days() / 365.25
    same = [model.slices.index(a) == model.slices.index(b) for a, b in zip(both["change"], middle, strict=True)]
    print(
        f"    {len(both)} of {len(planted)} words with p <= .05: interval holds the date {held.mean():.2f}, "
        f"{width.median():.1f} years wide (median; mean {width.mean():.1f}), slice right {np.mean(same):.2f}, "
        f"called gradual {(both['gradual'] > 0.5).mean():.2f}",
        flush=True,
    )


def planted_in_text(mode: str, path: str, given: dict[str, list[Any]], seed: int, folder: Path) -> None:
    """Plant in text, prepare and fit it, and report."""
    options = {name: values[0] for name, values in given.items()}
    slices, passes = options.get("slices", "5y"), options.get("passes", 5)
    table = planted_text.read(path, limit=options.get("limit"), seed=seed)
    if options.get("pieces"):
        days = date(1996, 1, 1), date(2019, 12, 31)
        table = planted_text.cut(table, options["pieces"], limit=25_000, days=days, seed=seed)

    def prepared(table: pl.DataFrame, name: str, **options: Any) -> tuple[dw.Model, dw.Corpus]:
        corpus = dw.prepare(table, text="text", time="day", slices=slices, out=folder / name, **options)
        return dw.fit(corpus, passes=passes, seed=seed), corpus

    if mode == "dates":
        for span in given.get("span", [0]):
            share = options.get("share", 1)
            made, planted = planted_text.plant(table, share=share, span=span, pairs=14, seed=seed)
            print(f"dates, {path}, seed {seed}, share {share}, span {span}", flush=True)
            report_dates(*prepared(made.drop("exchanged"), f"dates-{seed}-{span}"), planted)
        return
    table = planted_text.plant(table, pairs=0, seed=seed)[0].drop("exchanged")
    rng = np.random.default_rng(seed)
    if mode == "copies":
        few = np.repeat(np.arange(len(table)), np.where(rng.random(len(table)) < 0.1, 5, 1))
        for name, rows in (
            ("every text three times", np.repeat(np.arange(len(table)), 3)),
            ("a tenth five times", few),
        ):
            for copies in ("keep", "one"):
                print(f"copies, {path}, seed {seed}, {name}, copies={copies}", flush=True)
                model, corpus = prepared(table[rows], f"{name}-{copies}-{seed}", copies=copies)
                report_null(model, dw.significance(model, corpus=corpus))
    else:
        speeches = table.with_row_index("speech").with_columns(speech=pl.col("speech").cast(pl.String))
        model, corpus = prepared(planted_text.pieces(speeches, 120), f"clusters-{seed}")
        for clusters in (None, "speech"):
            print(f"clusters, {path}, seed {seed}, clusters={clusters}", flush=True)
            report_null(model, dw.significance(model, corpus=corpus, clusters=clusters))


def main() -> None:
    modes = ("null", "exchange", "periods", "halves", "bands", "dates", "copies", "clusters")
    if len(sys.argv) < 3 or sys.argv[1] not in modes:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    mode, path = sys.argv[1:3]
    given = parse_arguments(sys.argv[3:])
    if mode in ("dates", "copies", "clusters"):
        for seed in given.pop("seed", [0]):
            with tempfile.TemporaryDirectory() as folder:
                planted_in_text(mode, path, given, seed, Path(folder))
        return
    join, short, uneven = (int(given.pop(name, [d])[0]) for name, d in (("join", 1), ("short", 0), ("uneven", 0)))
    passes, engine = (given.pop(n, [d])[0] for n, d in (("passes", 8), ("engine", "auto")))
    share = float(given.pop("share", [1])[0])
    permutations, seeds = given.pop("permutations", [1000])[0], given.pop("seed", [0])
    spec = dw.Spec(**{name: values[0] for name, values in given.items()})
    for seed in seeds:
        source = dw.Corpus.open(path)
        source = cut(source, short, seed) if short else source
        source = make_uneven(source, seed) if uneven else source
        begin = time.perf_counter()
        if mode == "halves":
            corpora = split(source, join, seed)
            models = [dw.fit(corpus, spec, passes=passes, seed=seed, engine=engine) for corpus in corpora]
            print(f"{mode}, {path}, seed {seed}: {time.perf_counter() - begin:.0f} s")
            report_halves(models, corpora, seed)
            continue
        corpus, planted = plant(
            source, join=join, subsample=source.subsample or "auto", seed=seed, changes=mode not in ("null", "bands"),
            share=share,
        )  # fmt: skip
        sizes = np.bincount(corpus.chunk_slice[np.unique(corpus.chunk_document, return_index=True)[1]])
        fitted = dw.fit(corpus, spec, passes=passes, seed=seed, engine=engine)
        begin = time.perf_counter()
        table = None
        if mode in ("null", "exchange"):
            table = dw.significance(fitted, corpus=corpus, permutations=permutations, seed=seed)
        print(
            f"{mode}, {path}, seed {seed}: {sizes.sum():,} documents in {len(sizes)} slices of {sizes.min():,} to "
            f"{sizes.max():,}; {time.perf_counter() - begin:.0f} s",
            flush=True,
        )
        if mode == "null":
            report_null(fitted, table)
        elif mode == "exchange":
            report_exchange(fitted, table, planted)
        elif mode == "periods":
            report_periods(fitted, corpus, planted, permutations)
        else:
            report_bands(fitted, corpus, seed)


if __name__ == "__main__":
    main()
