"""Are senses found, and their shares right? Measured where the answer is known.

    python benchmarks/senses.py pairs un.corpus seed=0,1,2
    python benchmarks/senses.py pairs un.corpus similar=1 seed=0,1,2
    python benchmarks/senses.py pairs arxiv_ml.npz seed=0,1,2
    python benchmarks/senses.py shares un.corpus seed=0,1,2
    python benchmarks/senses.py shares un.corpus course=gradual seed=0,1,2
    python benchmarks/senses.py shares un.corpus course=abrupt seed=0,1,2

pairs       Two words become one (a pseudo-word), and the model is fitted to that text. Adjusted Rand
            index (ARI) of two senses with the two words: of `senses`, of the same search without the
            space that is learnt (usage_vectors.py), and of spherical k-means in both; beside the
            ceiling, a ridge regression on the same features that knows the words (five folds, by
            documents). Then the number of senses: how many pseudo-words have two or more, and how
            many words that were left alone have one. Some of these have several uses, too, so this
            is not quite the truth. Pairs are of similar frequency (`factor` at most), drawn at random,
            or (similar=1) each word with one of its ten nearest neighbours.
shares      Documents exchange their dates. Occurrences of two words become a pseudo-word so that the
            share of the second one is constant, or moves from .2 to .8, over half of the time or at
            once; the others become another word. Root mean square error of the shares in slices
            with 20 occurrences or more, how often their 90% interval holds the true share, and the
            share of words with p <= .05; where shares change, how often the interval of the date
            holds it. All of this is of two senses. Then the error where driftword says how many
            there are: of the words that it divides, those senses added up that are mostly the
            second word.

`words`, the number of pairs, `passes`, `engine` and `threads` can be given, too.
"""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import driftword as dw
from driftword.corpus.tokenized_text import chunks_of
from driftword.uses import share_test
from driftword.uses.judgements import rand_index
from driftword.uses.sense_clusters import Senses, find_senses
from driftword.uses.sense_shares import SenseCounts, shares_by_slice
from driftword.uses.sense_space import SenseSpace
from driftword.uses.usage_vectors import UsageVectors
from driftword.uses.word_uses import WordUses

Array = npt.NDArray[Any]
COUNTS = (200, 3_000)  # occurrences of each word of a pair
SHARES = (0.2, 0.8)


def opened(path: str) -> dw.Corpus:
    """Return a corpus, or the abstracts of the paper's authors as one."""
    if not path.endswith(".npz"):
        return dw.Corpus.open(path)
    data = np.load(path, allow_pickle=False)
    splits = ("train", "valid", "test")
    sizes = [np.diff(data[f"{split}_offsets"]) for split in splits]
    year = np.concatenate([data[f"{split}_year"] for split in splits])
    years = data["years"].tolist()
    return dw.Corpus.from_ids(
        data["words"].tolist(), np.concatenate([data[split] for split in splits]),
        np.r_[0, np.cumsum(np.concatenate(sizes))], chunk_slice=np.searchsorted(years, year),
        chunk_split=np.repeat(np.arange(3), [len(size) for size in sizes]), slices=years,
    )  # fmt: skip


def with_tokens(corpus: dw.Corpus, tokens: Array) -> dw.Corpus:
    """Return the corpus with other words in the same places."""
    return dw.Corpus.from_ids(
        corpus.words, tokens, corpus.offsets, chunk_slice=corpus.chunk_slice, chunk_split=corpus.chunk_split,
        slices=[label[:4] for label in corpus.slices.labels], chunk_document=corpus.chunk_document,
        subsample=corpus.subsample,
    )  # fmt: skip


def draw_pairs(corpus: dw.Corpus, given: dict[str, Any], rng: np.random.Generator) -> tuple[Array, Array]:
    """Return pairs of words, and as many words as there are pairs that are left alone."""
    counts = np.asarray(corpus.counts).sum(axis=0)
    plain = np.array([word.isalpha() and len(word) > 2 for word in corpus.words])
    known = np.flatnonzero(plain & (counts >= COUNTS[0]) & (counts <= COUNTS[1]))
    wanted, factor = int(given.get("words", 60)), float(given.get("factor", 2.0))
    pairs: list[tuple[int, int]] = []
    used: set[int] = set()
    model = dw.fit(corpus, passes=2, engine=str(given.get("engine", "auto"))) if "similar" in given else None
    for one in rng.permutation(known).tolist():
        if one in used or len(pairs) == wanted:
            continue
        ratio = counts[known] / counts[one]
        near = known[(ratio <= factor) & (ratio >= 1 / factor)]
        if model is not None:
            rho = np.asarray(model.rho[:]).mean(axis=0)
            rho /= np.maximum(np.linalg.norm(rho, axis=1, keepdims=True), 1e-9)
            near = near[np.argsort(-(rho[near] @ rho[one]))[1:11]]
        near = np.array([v for v in near.tolist() if v != one and v not in used])
        if len(near):
            other = int(rng.choice(near))
            pairs.append((one, other))
            used |= {one, other}
    alone = np.flatnonzero(plain & (counts >= 2 * COUNTS[0]) & (counts <= 2 * COUNTS[1]))
    alone = np.array([v for v in rng.permutation(alone).tolist() if v not in used][:wanted])
    return np.array(pairs), alone


def agreement(one: Array, other: Array) -> float:
    """Return the adjusted Rand index of two divisions."""
    one, other = (np.unique(labels, return_inverse=True)[1] for labels in (one, other))
    table = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(table, (one, other), 1)
    return rand_index(table)


def ceiling(rows: Array, label: Array, document: Array, penalty: float = 1.0) -> Array:
    """Return labels that a ridge regression predicts, each fold of the documents from the others."""
    fold = np.random.default_rng(0).permutation(int(document.max()) + 1)[document] % 5
    rows = np.c_[rows - rows.mean(axis=0), np.ones(len(rows))].astype(np.float64)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    target, found = 2.0 * label - 1, np.zeros(len(rows))
    for k in range(5):
        rest = fold != k
        gram = rows[rest].T @ rows[rest] + penalty * np.eye(rows.shape[1])
        found[~rest] = rows[~rest] @ np.linalg.solve(gram, rows[rest].T @ target[rest])
    return found > 0


def two_means(rows: Array, *, centered: bool) -> Array:
    """Divide rows into two by spherical k-means, the best of ten runs."""
    rows = rows - rows.mean(axis=0) if centered else rows
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    rng, best = np.random.default_rng(0), (-np.inf, np.zeros(len(rows), dtype=np.int64))
    for _ in range(10):
        means = rows[rng.choice(len(rows), 2, replace=False)]
        for _ in range(30):
            label = (rows @ means.T).argmax(axis=1)
            means = np.array([rows[label == k].sum(axis=0) + 1e-9 for k in (0, 1)])
            means /= np.linalg.norm(means, axis=1, keepdims=True)
        best = max(best, (float((rows @ means.T).max(axis=1).mean()), label), key=lambda one: one[0])
    return best[1]


def uses_of(corpus: dw.Corpus, v: int) -> WordUses:
    """Return all occurrences of a word."""
    positions = np.flatnonzero(np.asarray(corpus.tokens) == v)
    return WordUses(corpus=corpus, word=corpus.words[v], positions=positions)


def fit(corpus: dw.Corpus, given: dict[str, Any]) -> dw.Model:
    """Fit a model to text with pseudo-words."""
    return dw.fit(
        corpus, passes=int(given.get("passes", 3)), engine=str(given.get("engine", "auto")),
        threads=int(given["threads"]) if "threads" in given else None,
    )  # fmt: skip


def pairs(path: str, seed: int, given: dict[str, Any]) -> None:
    """Find two words that have become one."""
    corpus, rng = opened(path), np.random.default_rng(seed)
    tokens = np.asarray(corpus.tokens)
    chosen, alone = draw_pairs(corpus, given, rng)
    merged = tokens.copy()
    for one, other in chosen:
        merged[tokens == other] = one
    made = with_tokens(corpus, merged)
    model = fit(made, given)
    space, plain = SenseSpace(made, model.mean_alpha), UsageVectors(made, model.mean_alpha)
    rows = []
    for one, other in chosen.tolist():
        uses = uses_of(made, one)
        label = (tokens[uses.positions] == other).astype(np.int64)
        places, vectors = space.of(uses.around), plain.of(uses.positions, uses.around)
        rows.append((
            agreement(find_senses(places, uses.document, uses.around, n=2).sense, label),
            agreement(two_means(places, centered=False), label),
            agreement(two_means(vectors, centered=True), label),
            agreement(ceiling(places, label, uses.document), label),
            agreement(ceiling(vectors, label, uses.document), label),
            len(find_senses(places, uses.document, uses.around).alike),
        ))  # fmt: skip
    found = np.array(rows)
    numbers = [
        len(find_senses(space.of(uses.around), uses.document, uses.around).alike)
        for uses in (uses_of(made, v) for v in alone)
    ]
    names = ("senses", "k-means, learnt space", "k-means, plain vectors", "ceiling", "ceiling, plain vectors")
    print(
        f"pairs {Path(path).name} seed={seed}", {k: v for k, v in given.items() if k != "seed"}, f"{len(found)} pairs"
    )
    for name, value in zip(names, found.mean(axis=0), strict=False):
        print(f"  ARI {name:24} {value:.3f}")
    print(f"  share of the ceiling {found[:, 0].mean() / found[:, 3].mean():.2f}")
    several, single = (found[:, 5] > 1).mean(), (np.array(numbers) == 1).mean()
    print(
        f"  several senses of pseudo-words {several:.2f}, one of others {single:.2f}, mean {(several + single) / 2:.3f}"
    )
    print(
        "  several senses:", ", ".join(made.words[v] for v, k in zip(alone, numbers, strict=True) if k > 1), flush=True
    )


def mostly_second(senses: Senses, second: Array) -> Array:
    """Tell which senses are mostly the second of two words."""
    number = np.bincount(senses.sense)
    return np.asarray(np.bincount(senses.sense, second, minlength=len(number)) > number / 2)


def shares(path: str, seed: int, given: dict[str, Any]) -> None:
    """Follow the shares of two words that have become one."""
    corpus, rng = opened(path).shuffle_dates(seed), np.random.default_rng(seed)
    tokens, n_slices = np.asarray(corpus.tokens), len(corpus.slices)
    chosen, _ = draw_pairs(corpus, given, rng)
    course, merged, days = str(given.get("course", "constant")), tokens.copy(), np.asarray(corpus.chunk_day)
    first, last = int(days.min()), int(days.max())
    truth, middles = {}, {}
    for one, other in chosen.tolist():
        border = int(rng.integers(round(0.3 * n_slices), round(0.7 * n_slices) + 1))
        middles[one] = (corpus.slices.first[border] - date(1970, 1, 1)).days
        middle, length = (middles[one] - first) / (last - first), 0.5 if course == "gradual" else 1e-6
        low, high = SHARES if course != "constant" else (0.5, 0.5)
        positions = np.flatnonzero((tokens == one) | (tokens == other))
        time = (days[chunks_of(corpus, positions)] - first) / max(last - first, 1)
        wanted = low + (high - low) * np.clip((time - middle) / length + 0.5, 0, 1)
        # Both words are taken so often that the share of the second one is as wanted.
        second = tokens[positions] == other
        keep = np.where(second, wanted * (~second).sum(), (1 - wanted) * second.sum())
        keep = rng.random(len(positions)) < keep / keep.max()
        merged[positions] = np.where(keep, one, other)
        truth[one] = second[keep], positions[keep]
    made = with_tokens(corpus, merged)
    model = fit(made, given)
    space, time = SenseSpace(made, model.mean_alpha), np.arange(n_slices)
    errors, raw, plain, moves, held, p, dated, left, divided = [], [], [], [], [], [], [], [], 0
    for v, (second, positions) in truth.items():
        uses = WordUses(corpus=made, word=made.words[v], positions=positions)
        senses = find_senses(space.of(uses.around), uses.document, uses.around, n=2)
        order = [0, 1] if (senses.sense == second).mean() >= 0.5 else [1, 0]
        found = SenseCounts.of(uses, np.eye(2)[senses.sense][:, order])
        table = shares_by_slice(SenseCounts.estimate(uses, senses.likely[:, order]), n_slices)
        true = np.bincount(uses.slice_of, second, minlength=n_slices) / np.maximum(
            np.bincount(uses.slice_of, minlength=n_slices), 1
        )
        counted = shares_by_slice(found, n_slices).share[:, 1]
        many = table.counts.sum(axis=1) >= 20
        plain += (counted[many] - true[many]).tolist()
        errors += (table.share[many, 1] - true[many]).tolist()
        if many.any():
            centre = table.share[many, 1] - table.share[many, 1].mean() - (true[many] - true[many].mean())
            raw += centre.tolist()
            moves += zip(
                *((v[many] - v[many].mean()).tolist() for v in (true, table.share[:, 1], counted)), strict=True
            )
        mostly = mostly_second(own := find_senses(space.of(uses.around), uses.document, uses.around), second)
        if 0 < mostly.sum() < len(mostly):
            shown = shares_by_slice(SenseCounts.estimate(uses, own.likely), n_slices).share[:, mostly].sum(axis=1)
            left += (shown[many] - true[many]).tolist()
            divided += 1
        held += ((table.low[many, 1] <= true[many]) & (true[many] <= table.high[many, 1])).tolist()
        result = share_test.run(found, time=time, strata=None, units=None, permutations=999, seed=seed, v=v)
        p.append(1.0 if result is None else result.p)
        change = share_test.when(made, found, None) if p[-1] <= 0.05 else None
        if change is not None and course != "constant":
            dated.append(change.low <= middles[v] <= change.high)
    print(f"shares {Path(path).name} seed={seed} {course}: {len(truth)} words, {len(errors)} slices")
    error, of_course, counted_only = (np.sqrt(np.mean(np.square(values))) for values in (errors, raw, plain))
    print(
        f"  error of shares {error:.3f} (of occurrences counted as the likelier sense {counted_only:.3f}), of their "
        f"course {of_course:.3f}; interval holds the share {np.mean(held):.2f}"
    )
    real, shown, simply = np.array(moves).T
    print(
        f"  of a move by 1, {shown @ real / (real @ real):.2f} is shown (counted: {simply @ real / (real @ real):.2f})"
    )
    print(f"  left to driftword: {divided} words are divided, error of shares {np.sqrt(np.mean(np.square(left))):.3f}")
    print(f"  p <= .05: {np.mean(np.array(p) <= 0.05):.3f}", end="")
    print(f"; interval holds the date {np.mean(dated):.2f} of {len(dated)}" if dated else "", flush=True)


def main(command: str, path: str, *options: str) -> None:
    """Run one benchmark for every seed."""
    given: dict[str, Any] = dict(option.split("=", 1) for option in options)
    for seed in str(given.get("seed", "0")).split(","):
        {"pairs": pairs, "shares": shares}[command](path, int(seed), given)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("pairs", "shares"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
