"""Do groups help, and does `contrast` find the words that two groups use differently, and only those?

    python benchmarks/groups.py exchange un.corpus join=5 seed=0,1,2
    python benchmarks/groups.py regions un.corpus join=5

exchange    Every document is put into one of two groups at random, and pairs of equally
            frequent words exchange their places in the second group (see planted.py):
            average precision of these words in the whole vocabulary, by q and by the
            difference between the two groups' vectors alone; power and realised false
            discovery rate where 10% was asked for.
regions     The documents of a corpus with a column "country" are grouped by the five regions
            of the world: how much better each region's own embeddings predict its test text
            than those of all text, beside the same with regions permuted among documents.

`join` joins consecutive slices. `seed`, `passes`, `engine` and `permutations` can be given too;
all other names are options of `Spec`.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt

import driftword as dw
from driftword.benchmarking.measures import average_precision
from driftword.benchmarking.planting import choose_words, crowded
from machine import describe
from options import parse_arguments
from regions import REGION_OF, REGIONS

Array = npt.NDArray[Any]
ASKED = 0.10


def grouped(corpus: dw.Corpus, tokens: Array, groups: list[str], group_of: Array, *, join: int, seed: int) -> dw.Corpus:
    """Return the corpus with groups of documents, given by their numbers in order of documents."""
    _, document = np.unique(corpus.chunk_document, return_inverse=True)
    n_slices = -(-len(corpus.slices) // join)
    return dw.Corpus.from_ids(
        corpus.words, tokens, corpus.offsets, chunk_slice=np.asarray(corpus.chunk_slice) // join,
        chunk_split=corpus.chunk_split, chunk_document=corpus.chunk_document,
        slices=[corpus.slices.labels[t * join][:4] for t in range(n_slices)], groups=groups,
        chunk_group=group_of[document], subsample=corpus.subsample or "auto", seed=seed,
    )  # fmt: skip


def exchange(corpus: dw.Corpus, join: int, seed: int) -> tuple[dw.Corpus, dict[str, Array], Array]:
    """Return a corpus of two random groups, the second of which exchanges words, these words, and those beside them."""
    rng = np.random.default_rng(seed)
    tokens = np.array(corpus.tokens, dtype=np.int64)
    chosen = choose_words(np.bincount(tokens, minlength=len(corpus.words)), rng)
    beside = crowded(tokens, np.asarray(corpus.offsets), len(corpus.words), chosen["changed"])
    _, document = np.unique(corpus.chunk_document, return_inverse=True)
    group_of = rng.permutation(document.max() + 1) % 2
    partner = np.arange(len(corpus.words))
    partner[chosen["changed"]] = chosen["changed"].reshape(-1, 2)[:, ::-1].ravel()
    second = np.repeat(group_of[document], np.diff(corpus.offsets)) == 1
    tokens[second] = partner[tokens[second]]
    return grouped(corpus, tokens, ["first", "second"], group_of, join=join, seed=seed), chosen, beside


def report_exchange(
    model: dw.Model, corpus: dw.Corpus, chosen: dict[str, Array], beside: Array, **options: Any
) -> None:
    """Print how well exchanged words are found."""
    table = dw.contrast(model, corpus=corpus, n=len(model.words), min_count=1, **options)
    order = [model.word_index[word] for word in table["word"]]
    found = {name: np.full(len(model.words), np.nan) for name in ("q", "p", "difference")}
    for name, values in found.items():
        values[order] = table[name].fill_null(float("nan")).to_numpy()
    wanted = np.zeros(len(model.words), dtype=bool)
    wanted[chosen["changed"]] = True
    counted = wanted | ~beside
    evidence = -np.where(np.isfinite(found["q"]), found["q"] + 1e-9 * found["p"], 2)
    called = np.nan_to_num(found["q"], nan=1) <= ASKED
    rules = {"contrast": evidence, "difference": np.nan_to_num(found["difference"], nan=-1)}
    precision = ", ".join(
        f"{name} {average_precision(score[counted], wanted[counted]):.3f}" for name, score in rules.items()
    )
    unchanged = counted & ~wanted & np.isfinite(found["p"])
    print(
        f"    AP {precision}; asked {ASKED:.2f}: {(called & counted).sum()} called, realised "
        f"{np.mean(~wanted[called & counted]):.3f}, power {called[wanted].mean():.3f}; p <= .05 of unchanged "
        f"{100 * np.mean(found['p'][unchanged] <= 0.05):.1f}%",
        flush=True,
    )


def report_gain(model: dw.Model, corpus: dw.Corpus) -> None:
    """Print how much groups gain on test text."""
    table = dw.evaluate(model, corpus=corpus, by="group")
    weights = table["positions"].to_numpy()
    gains = ", ".join(
        f"{row['group']} {row['over_all_text']:+.4f} ± {row['over_all_text_se']:.4f}" for row in table.to_dicts()
    )
    print(f"    gain in L {table['over_all_text'].to_numpy() @ weights / weights.sum():+.4f}: {gains}", flush=True)


def main() -> None:
    if len(sys.argv) < 3 or sys.argv[1] not in ("exchange", "regions"):
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    mode, path = sys.argv[1:3]
    given = parse_arguments(sys.argv[3:])
    join, permutations = int(given.pop("join", [1])[0]), int(given.pop("permutations", [1000])[0])
    passes, engine, seeds = (given.pop(n, d) for n, d in (("passes", [8]), ("engine", ["auto"]), ("seed", [0])))
    spec = dw.Spec(**{name: values[0] for name, values in given.items()})
    for seed in seeds:
        source = dw.Corpus.open(path)
        fit: Any = {"spec": spec, "passes": passes[0], "seed": seed, "engine": engine[0]}
        begin = time.perf_counter()
        if mode == "exchange":
            corpus, chosen, beside = exchange(source, join, seed)
            model = dw.fit(corpus, **fit)
            print(f"{mode}, {path}, seed {seed}: {time.perf_counter() - begin:.0f} s to fit", flush=True)
            report_exchange(model, corpus, chosen, beside, permutations=permutations, seed=seed)
            report_gain(model, corpus)
            continue
        names = list(REGIONS)
        countries = source.documents.select("country").collect()["country"].to_list()
        numbers = np.array([names.index(REGION_OF.get(code, "Europe")) for code in countries])
        numbers = numbers[np.unique(source.chunk_document)]
        for title, group_of in (
            ("regions", numbers),
            ("regions permuted", np.random.default_rng(seed).permutation(numbers)),
        ):
            corpus = grouped(source, np.asarray(source.tokens), names, group_of, join=join, seed=seed)
            print(f"{title}, {path}, seed {seed}", flush=True)
            report_gain(dw.fit(corpus, **fit), corpus)


if __name__ == "__main__":
    main()
