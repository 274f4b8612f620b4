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
from typing import Any

import numpy as np
import numpy.typing as npt

import driftword as dw
from driftword.benchmarking.measures import frequency_change, precision_of, thinned_above
from driftword.benchmarking.planting import BANDS, KINDS, TEMPORARY, Planted, plant, share_moved
from frequency import frequency_in_movement
from machine import describe
from options import parse_arguments

Array = npt.NDArray[Any]
METRICS = ("absolute", "cosine", "thirds", "relative", "farthest", "step", "path")
SEES_TEMPORARY = ("farthest", "step", "path")


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
    return {"how frequent": counts.sum(axis=0), "frequency changed": frequency_change(counts)}


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
            if model in dw.baselines.__all__:
                begin = time.perf_counter()
                fitted = getattr(dw.baselines, model)(corpus, seed=seed)
                print_report(model, fitted, planted, time.perf_counter() - begin, abrupt)
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
