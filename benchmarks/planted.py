"""Does drift find the words whose meaning changed, and only those?

    python benchmarks/planted.py un.corpus 5 seed=0,1,2 drift_precision=100,200 models=binned,dynamic

Takes a real corpus and permutes the dates of its documents, so that nothing changes over
time. Then words of four bands of frequency are *exchanged* in pairs: two equally frequent
words take each other's places, gradually, abruptly or temporarily. Both change their
meaning, and neither its frequency. As many words are *thinned*: by the same schedules they
lose most of their occurrences. Their frequency changes, and their meaning does not.

For every model and metric it reports

    AP        average precision of the exchanged words, in the whole vocabulary: of those
              whose change lasts, of all, by kind and by band of frequency
    thinned   share of the thinned words above the 99th percentile of unchanged words of
              their band: 0.01 is what a metric gets that does not see frequency

beside the same for two rules that know nothing of meaning: how often a word occurs, and
how much its frequency changed. Then: the median rank of the partner's first vector among
those nearest to the changed word's last one; how often `changes` dates the abrupt changes
exactly and within one slice; and R2, the share of the log frequency ratio (last quarter
of the slices to the first) that is predicted from the movement of rho, in five folds.

A word that occurs beside many exchanged words, or often beside one of them, sees its contexts
change. It is neither wanted nor a false call, and is left out.

The second argument joins that many consecutive slices into one. `plant=0` plants nothing:
then it reports which words seem to change most, and by how much. `abrupt` is the share of
time after which abrupt changes come, 0.5 unless given. `models`, `t` (of the subsampling),
`seed`, `passes` and `engine` can be given too; all other names are options of `Spec`.
Drift is that of the whole vocabulary between the first and the last slice, whatever the
defaults of `drift` leave out.
"""

from __future__ import annotations

import itertools
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import driftword as dw
from frequency import frequency_in_movement, log_frequency_ratio
from machine import describe
from options import parse_arguments

Array = npt.NDArray[Any]
KINDS = ("gradual", "abrupt", "temporary")
TEMPORARY = KINDS.index("temporary")
BANDS = ((100, 300), (300, 1_000), (1_000, 3_000), (3_000, 10_000))  # occurrences in the whole corpus
GROUPS = 30  # in each band: two exchanged words and a thinned one
THINNING = 0.7  # largest share of its occurrences that a thinned word loses
CROWDED = 3  # times the mean share of exchanged words in contexts, from which on a word is left out
BESIDE = 0.1  # of its occurrences beside the same exchanged word, from which on a word is left out
OFTEN = 5  # such occurrences are needed for that, at least
WINDOW = 4  # words on either side that count as context for that
METRICS = ("absolute", "cosine", "thirds", "relative", "farthest", "step", "path")
SEES_TEMPORARY = ("farthest", "step", "path")


@dataclass(frozen=True)
class Planted:
    """Words by what was done to them."""

    changed: Array  # exchanged words; partners stand side by side
    kind: Array  # of each
    band: Array  # of each
    thinned: Array
    thinned_band: Array
    crowded: Array  # (V,) whether a word stands beside many exchanged ones

    @property
    def partner(self) -> Array:
        """The other word of each pair."""
        return self.changed.reshape(-1, 2)[:, ::-1].ravel()


def share_moved(kind: int, n_slices: int, abrupt: float) -> Array:
    """Return the share of occurrences that are exchanged, or at risk of being thinned, in each slice."""
    time = np.arange(n_slices) / max(n_slices - 1, 1)
    if KINDS[kind] == "gradual":
        return time
    if KINDS[kind] == "abrupt":
        return (time > abrupt).astype(float)
    return ((time > 1 / 3) & (time < 2 / 3)).astype(float)


def choose_words(counts: Array, rng: np.random.Generator) -> dict[str, Array]:
    """Choose words in every band of frequency, as many as the vocabulary has room for."""
    columns: dict[str, list[int]] = {name: [] for name in ("changed", "kind", "band", "thinned", "thinned_band")}
    for b, (low, high) in enumerate(BANDS):
        in_band = np.flatnonzero((counts >= low) & (counts < high))
        groups = len(in_band) // 4
        # Groups of four neighbours in frequency: a pair, one to thin, one to leave alone.
        ranked = in_band[np.argsort(counts[in_band], kind="stable")][: groups * 4].reshape(groups, 4)
        ranked = rng.permuted(ranked, axis=1)[rng.permutation(groups)[:GROUPS]]
        kind = np.arange(len(ranked)) % len(KINDS)
        columns["changed"] += ranked[:, :2].ravel().tolist()
        columns["kind"] += np.repeat(kind, 2).tolist()
        columns["band"] += [b] * (2 * len(ranked))
        columns["thinned"] += ranked[:, 2].tolist()
        columns["thinned_band"] += [b] * len(ranked)
    return {name: np.array(values, dtype=np.int64) for name, values in columns.items()}


def plant(
    corpus: dw.Corpus, *, join: int, subsample: float | str, seed: int, changes: bool, abrupt: float, share: float = 1
) -> tuple[dw.Corpus, Planted]:
    """Return the corpus with permuted dates and, if wanted, planted changes of a share of the occurrences."""
    rng = np.random.default_rng(seed)
    n_slices = -(-len(corpus.slices) // join)
    documents, first = np.unique(corpus.chunk_document, return_index=True)
    document_slice = rng.permutation(np.asarray(corpus.chunk_slice)[first] // join)
    chunk_slice = document_slice[np.searchsorted(documents, corpus.chunk_document)]
    tokens, offsets = np.array(corpus.tokens, dtype=np.int64), np.asarray(corpus.offsets)
    chosen = choose_words(np.bincount(tokens, minlength=len(corpus.words)), rng)
    planted = Planted(**chosen, crowded=crowded(tokens, offsets, len(corpus.words), chosen["changed"]))
    if changes:
        shares = np.stack([share_moved(kind, n_slices, abrupt) for kind in range(len(KINDS))])
        token_slice = np.repeat(chunk_slice, np.diff(offsets))

        def drawn(words: Array, kinds: Array, factor: float) -> Array:
            """Return the occurrences of words that are chosen by their schedules."""
            kind_of = np.full(len(corpus.words), -1)
            kind_of[words] = kinds
            positions = np.flatnonzero(kind_of[tokens] >= 0)
            share = factor * shares[kind_of[tokens[positions]], token_slice[positions]]
            return positions[rng.random(len(positions)) < share]

        partner = np.arange(len(corpus.words))
        partner[planted.changed] = planted.partner
        exchanged = drawn(planted.changed, planted.kind, share)
        tokens[exchanged] = partner[tokens[exchanged]]
        lost = drawn(planted.thinned, planted.kind[::2], THINNING)
        kept = np.ones(len(tokens), dtype=bool)
        kept[lost] = False
        tokens, offsets = tokens[kept], np.r_[0, np.cumsum(kept)][offsets]
    labels = [corpus.slices.labels[t * join][:4] for t in range(n_slices)]
    planted_corpus = dw.Corpus.from_ids(
        corpus.words, tokens, offsets, chunk_slice=chunk_slice, chunk_split=corpus.chunk_split, slices=labels,
        chunk_document=corpus.chunk_document, subsample=subsample, seed=seed,
    )  # fmt: skip
    return planted_corpus, planted


def crowded(tokens: Array, offsets: Array, n_words: int, changed: Array) -> Array:
    """Tell which words have many of the `changed` ones in their contexts, or often one of them: these change, too."""
    number = np.full(n_words, -1)
    number[changed] = np.arange(len(changed))
    chunk = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    here = np.flatnonzero(number[tokens] >= 0)  # where exchanged words occur
    beside = np.zeros((n_words, len(changed)), dtype=np.int64)
    for distance in (d for k in range(1, WINDOW + 1) for d in (-k, k)):
        near = here + distance
        inside = (near >= 0) & (near < len(tokens))
        near, at = near[inside], here[inside]
        same = chunk[near] == chunk[at]
        pairs = tokens[near[same]] * len(changed) + number[tokens[at[same]]]
        beside += np.bincount(pairs, minlength=beside.size).reshape(beside.shape)
    occurrences = np.maximum(np.bincount(tokens, minlength=n_words), 1)
    share = beside.sum(axis=1) / occurrences
    many = share > CROWDED * (share * occurrences).sum() / len(tokens)
    return many | (beside.max(axis=1, initial=0) > np.maximum(BESIDE * occurrences, OFTEN))


def procrustes(corpus: dw.Corpus, *, seed: int) -> dw.Model:
    """Fit gensim's skip-gram to every slice and rotate each onto the one before."""
    from gensim.models import Word2Vec

    from driftword.provenance import Provenance

    aligned = np.zeros((len(corpus.slices), len(corpus.words), 100), dtype=np.float32)
    for t, label in enumerate(corpus.slices.labels):
        sentences = [
            part
            for ids in corpus.chunks("train", at=label, pass_number=1)
            for part in np.array_split(ids.astype(str), len(ids) // 1000 + 1)
        ]
        model = Word2Vec(
            [part.tolist() for part in sentences], vector_size=100, window=4, sg=1, negative=5, min_count=1, sample=0,
            workers=2, epochs=5, seed=seed,
        )  # fmt: skip
        present = np.array([int(word) for word in model.wv.index_to_key])
        vectors = np.zeros((len(corpus.words), 100), dtype=np.float32)
        vectors[present] = model.wv.get_normed_vectors()
        if t:
            both = present[np.abs(aligned[t - 1, present]).sum(axis=1) > 0]
            u, _, v = np.linalg.svd(vectors[both].T @ aligned[t - 1, both])
            vectors = vectors @ (u @ v)
            absent = np.abs(vectors).sum(axis=1) == 0
            vectors[absent] = aligned[t - 1, absent]
        aligned[t] = vectors
    provenance = Provenance("imported")
    return dw.Model(aligned, aligned[0], vocabulary=corpus.vocabulary, spec=dw.Spec(), provenance=provenance)


def measures(model: dw.Model) -> dict[str, Array]:
    """Return how far each word moved by every metric: (V,) each, in the order of the vocabulary."""
    between = (model.slices.labels[0], model.slices.labels[-1])
    scores = {}
    for metric in METRICS:
        # No word is left out, whatever the defaults are.
        table = dw.drift(model, n=None, metric=metric, between=between, min_count=0, skip=0, interpolated=True)
        scores[metric] = np.zeros(len(model.words))
        scores[metric][[model.word_index[word] for word in table["word"]]] = table["drift"].to_numpy()
    return scores


def rules_without_meaning(corpus: dw.Corpus) -> dict[str, Array]:
    """Return scores of words that know nothing of their contexts."""
    counts = np.asarray(corpus.counts, dtype=np.float64)
    return {"how frequent": counts.sum(axis=0), "frequency changed": np.abs(log_frequency_ratio(counts))}


def average_precision(score: Array, wanted: Array) -> float:
    """Return the mean precision at the rank of every wanted word."""
    order = np.argsort(-score, kind="stable")
    hits = wanted[order]
    if not hits.any():
        return float("nan")
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(precision[hits].mean())


def precision_of(score: Array, planted: Planted, wanted: Array) -> float:
    """Return the average precision of some exchanged words; the others and crowded words are left out."""
    mask, candidates = np.zeros(len(score), dtype=bool), ~planted.crowded
    candidates[planted.changed] = False
    mask[planted.changed[wanted]] = candidates[planted.changed[wanted]] = True
    return average_precision(score[candidates], mask[candidates])


def thinned_above(score: Array, counts: Array, planted: Planted) -> float:
    """Return the share of thinned words above the 99th percentile of unchanged words of their band."""
    unchanged = ~planted.crowded
    unchanged[np.r_[planted.changed, planted.thinned]] = False
    above = []
    for b, (low, high) in enumerate(BANDS):
        peers = score[unchanged & (counts >= low) & (counts < high)]
        words = planted.thinned[planted.thinned_band == b]
        above += (score[words] > np.percentile(peers, 99)).tolist() if len(peers) else []
    return float(np.mean(above)) if above else float("nan")


def partner_rank(rho: Array, planted: Planted) -> float:
    """Return the median rank of the partner's first vector among those nearest to the changed word's last one."""
    centered = rho - rho.mean(axis=1, keepdims=True)
    old = centered[0] / np.maximum(np.linalg.norm(centered[0], axis=1, keepdims=True), 1e-12)
    ranks = []
    for word, partner, kind in zip(planted.changed, planted.partner, planted.kind, strict=True):
        similarity = old @ centered[len(rho) // 2 if kind == TEMPORARY else len(rho) - 1, word]
        similarity[word] = -np.inf
        ranks.append(1 + int((similarity > similarity[partner]).sum()))
    return float(np.median(ranks))


def dates(model: dw.Model, planted: Planted, abrupt: float) -> str:
    """Say how often `changes` dates the abrupt changes right."""
    true_slice = int(share_moved(KINDS.index("abrupt"), len(model.slices), abrupt).argmax())
    words = [model.words[v] for v in planted.changed[planted.kind == KINDS.index("abrupt")]]
    table = dw.changes(model, n=len(model.words), min_count=1)
    slice_of = dict(zip(table["word"], table["slice"], strict=True))
    off = np.array([abs(model.slices.index(slice_of[word]) - true_slice) for word in words if word in slice_of])
    return f"dated exactly {np.mean(off == 0):.2f}, within one slice {np.mean(off <= 1):.2f}"


def line(name: str, score: Array, counts: Array, planted: Planted) -> str:
    """Return the row of a metric."""
    lasts = planted.kind != TEMPORARY
    kinds = " ".join(f"{precision_of(score, planted, planted.kind == k):.2f}" for k in range(len(KINDS)))
    seen = np.ones_like(lasts) if name in SEES_TEMPORARY else lasts
    bands = " ".join(f"{precision_of(score, planted, seen & (planted.band == b)):.2f}" for b in range(len(BANDS)))
    return (
        f"    {name:18} AP lasting {precision_of(score, planted, lasts):.3f}"
        f"   all {precision_of(score, planted, np.ones_like(lasts)):.3f}"
        f"   thinned {thinned_above(score, counts, planted):.3f}   kinds {kinds}   bands {bands}"
    )


def print_report(name: str, model: dw.Model, planted: Planted, seconds: float, abrupt: float) -> None:
    """Print how well drift and `changes` find what was planted."""
    rho, counts = np.asarray(model.rho), np.asarray(model.counts).sum(axis=0)
    print(
        f"{name}   partner rank {partner_rank(rho, planted):.0f}   {dates(model, planted, abrupt)}"
        f"   R2 {frequency_in_movement(model):.3f}   {seconds:.0f} s"
    )
    for metric, score in measures(model).items():
        print(line(metric, score, counts, planted), flush=True)


def print_noise(model: dw.Model) -> None:
    """Print what seems to change where nothing does."""
    for metric, score in measures(model).items():
        top = np.argsort(-score)[:12]
        spread = np.percentile(score, [50, 95, 99.9])
        print(f"    {metric:18} median {spread[0]:.3f}, 95% {spread[1]:.3f}, 99.9% {spread[2]:.3f}: ", end="")
        print(", ".join(model.words[v] for v in top), flush=True)


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    source, join = dw.Corpus.open(sys.argv[1]), int(sys.argv[2])
    given = parse_arguments(sys.argv[3:])
    seeds, passes, engine = given.pop("seed", [0]), given.pop("passes", [10])[0], given.pop("engine", ["auto"])[0]
    models, thresholds = given.pop("models", ["binned", "dynamic"]), given.pop("t", ["auto"])
    changes, abrupt = bool(given.pop("plant", [1])[0]), given.pop("abrupt", [0.5])[0]
    for seed, t in itertools.product(seeds, thresholds):
        corpus, planted = plant(source, join=join, subsample=t, seed=seed, changes=changes, abrupt=abrupt)
        subsample = "no subsampling" if corpus.subsample is None else f"t {corpus.subsample:g}"
        print(
            f"{subsample}, {len(corpus.slices)} slices, seed {seed}: {len(planted.changed)} words exchanged, "
            f"{len(planted.thinned)} thinned, {int(planted.crowded.sum())} of {len(corpus.words)} left out"
        )
        if changes:
            counts = np.asarray(corpus.counts).sum(axis=0)
            for rule, score in rules_without_meaning(corpus).items():
                print(line(rule, score, counts, planted), flush=True)
        for model in models:
            if model == "procrustes":
                begin = time.perf_counter()
                fitted = procrustes(corpus, seed=seed)
                print_report("gensim skip-gram + Procrustes", fitted, planted, time.perf_counter() - begin, abrupt)
                continue
            options_for_model = {
                k: v if model == "dynamic" or k != "drift_precision" else v[:1] for k, v in given.items()
            }
            for combination in itertools.product(*options_for_model.values()):
                options = dict(zip(given, combination, strict=True))
                begin = time.perf_counter()
                fitted = dw.fit(corpus, dw.Spec(model=model, **options), passes=passes, seed=seed, engine=engine)
                shown = " ".join(f"{name}={v}" for name, v in options.items())
                best = next(entry for entry in fitted.history if entry["pass"] == fitted.best_pass)
                name = f"{model} {shown}  L {best['L']:.4f} pass {best['pass']}/{len(fitted.history)}"
                if changes:
                    print_report(name, fitted, planted, time.perf_counter() - begin, abrupt)
                else:
                    print(name)
                    print_noise(fitted)


if __name__ == "__main__":
    main()
