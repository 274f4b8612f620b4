"""Does drift find the words that changed, when we know which ones did?

    python benchmarks/planted.py un.corpus 5 t=1e-3,1e-4 drift_precision=30,100,300 models=binned,dynamic,procrustes

Takes a real corpus and permutes the dates of its documents, so that nothing changes
over time. Then it plants changes: in pairs of equally frequent words, one (the receptor)
takes over the occurrences of the other (the donor) gradually, abruptly, or temporarily.
Twice as many equally frequent words are left alone as controls.

Reports for each model: the average precision with which drift ranks receptors above
controls (chance is a third), and above the whole vocabulary; by kind of change and by
frequency; and the median rank of the donor's old vector among the old vectors nearest
to the receptor's new one. It also reports how often `changes` dates abrupt changes
correctly, and how many receptors and controls it calls unusual.

The second argument joins that many consecutive slices into one. `noise=1` plants nothing
and reports the words that then seem to change most, and how far they move. `abrupt` is
the share of time after which abrupt changes come, 0.5 unless given. `models`, `t` (of
the subsampling), `seed` and `passes` can be given too; all other names are options of
`Spec`. "Lasting" changes are the gradual and the abrupt ones; metrics that compare two
slices cannot see temporary ones. Drift is that of the whole vocabulary between the first
and the last slice, whatever the defaults of `drift` leave out.
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
from driftword.explore import changepoints
from driftword.provenance import Provenance
from machine import describe
from options import parse_value

Array = npt.NDArray[Any]
KINDS = ("gradual", "abrupt", "temporary")
BANDS = ((100, 300), (300, 1_000), (1_000, 3_000), (3_000, 10_000))  # occurrences in the whole corpus
PAIRS = 10  # of each kind in each band
METRICS = ("absolute", "cosine", "thirds", "relative", "farthest", "step", "path")


@dataclass(frozen=True)
class Planted:
    """Words by what was done to them."""

    receptor: Array
    donor: Array
    kind: Array
    band: Array
    control: Array
    control_band: Array


def choose_words(counts: Array, rng: np.random.Generator) -> Planted:
    """Choose pairs and controls in every band of frequency, as many as the vocabulary has room for."""
    columns: dict[str, list[int]] = {name: [] for name in Planted.__dataclass_fields__}
    for b, (low, high) in enumerate(BANDS):
        in_band = np.flatnonzero((counts >= low) & (counts < high))
        groups = len(in_band) // 4
        size = min(groups, PAIRS * len(KINDS)) // len(KINDS) * len(KINDS)
        # Groups of four neighbours in frequency: receptor, donor, two controls.
        ranked = in_band[np.argsort(counts[in_band], kind="stable")][: groups * 4].reshape(groups, 4)
        ranked = rng.permuted(ranked, axis=1)[rng.permutation(groups)[:size]]
        columns["receptor"] += ranked[:, 0].tolist()
        columns["donor"] += ranked[:, 1].tolist()
        columns["control"] += ranked[:, 2:].ravel().tolist()
        columns["kind"] += [i % len(KINDS) for i in range(size)]
        columns["band"] += [b] * size
        columns["control_band"] += [b] * (2 * size)
    return Planted(**{name: np.array(values, dtype=np.int64) for name, values in columns.items()})


def share_taken(kind: int, n_slices: int, abrupt: float) -> Array:
    """Return the share of the donor's occurrences that the receptor takes over in each slice."""
    time = np.arange(n_slices) / max(n_slices - 1, 1)
    if KINDS[kind] == "gradual":
        return time
    if KINDS[kind] == "abrupt":
        return (time > abrupt).astype(float)
    return ((time > 1 / 3) & (time < 2 / 3)).astype(float)


def plant(
    corpus: dw.Corpus, *, join: int, subsample: float | str, seed: int, changes: bool, abrupt: float
) -> tuple[dw.Corpus, Planted]:
    """Return the corpus with permuted dates and, if wanted, planted changes."""
    rng = np.random.default_rng(seed)
    n_slices = -(-len(corpus.slices) // join)
    documents, first = np.unique(corpus.chunk_document, return_index=True)
    document_slice = rng.permutation(corpus.chunk_slice[first] // join)
    chunk_slice = document_slice[np.searchsorted(documents, corpus.chunk_document)]
    tokens = np.array(corpus.tokens, dtype=np.int64)
    planted = choose_words(np.bincount(tokens, minlength=len(corpus.words)), rng)
    if changes:
        token_slice = np.repeat(chunk_slice, np.diff(corpus.offsets))
        pair_of = np.full(len(corpus.words), -1)
        pair_of[planted.donor] = np.arange(len(planted.donor))
        positions = np.flatnonzero(pair_of[tokens] >= 0)
        pair = pair_of[tokens[positions]]
        shares = np.stack([share_taken(kind, n_slices, abrupt) for kind in range(len(KINDS))])
        taken = rng.random(len(positions)) < shares[planted.kind[pair], token_slice[positions]]
        tokens[positions[taken]] = planted.receptor[pair[taken]]
    labels = [corpus.slices.labels[t * join][:4] for t in range(n_slices)]
    planted_corpus = dw.Corpus.from_ids(
        corpus.words, tokens, corpus.offsets, chunk_slice=chunk_slice, chunk_split=corpus.chunk_split, slices=labels,
        chunk_document=corpus.chunk_document, subsample=subsample, seed=seed,
    )  # fmt: skip
    return planted_corpus, planted


def procrustes(corpus: dw.Corpus, *, seed: int) -> dw.Model:
    """Fit gensim's skip-gram to every slice and rotate each onto the one before."""
    from gensim.models import Word2Vec

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


def average_precision(score: Array, wanted: Array) -> float:
    """Return the mean precision at the rank of every wanted word."""
    order = np.argsort(-score, kind="stable")
    hits = wanted[order]
    if not hits.any():
        return float("nan")
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(precision[hits].mean())


def against_controls(score: Array, planted: Planted, *, kind: int | None = None, band: int | None = None) -> float:
    """Return the average precision of receptors among themselves and their controls; chance is a third."""
    receptors = np.ones(len(planted.receptor), dtype=bool)
    controls = np.ones(len(planted.control), dtype=bool)
    if kind is not None:
        receptors &= planted.kind == kind
        controls &= np.repeat(planted.kind, 2) == kind
    if band is not None:
        receptors &= planted.band == band
        controls &= planted.control_band == band
    words = np.r_[planted.receptor[receptors], planted.control[controls]]
    return average_precision(score[words], np.r_[np.ones(receptors.sum(), bool), np.zeros(controls.sum(), bool)])


def donor_rank(rho: Array, planted: Planted) -> float:
    """Return the median rank of the donor's first vector among those nearest to the receptor's changed one."""
    centered = rho - rho.mean(axis=1, keepdims=True)
    old = centered[0] / np.maximum(np.linalg.norm(centered[0], axis=1, keepdims=True), 1e-12)
    ranks = []
    for receptor, donor, kind in zip(planted.receptor, planted.donor, planted.kind, strict=True):
        t = len(rho) // 2 if KINDS[kind] == "temporary" else len(rho) - 1
        similarity = old @ centered[t, receptor]
        similarity[receptor] = -np.inf
        ranks.append(1 + int((similarity > similarity[donor]).sum()))
    return float(np.median(ranks))


def print_dates(model: dw.Model, planted: Planted, abrupt: float) -> None:
    """Print how well `changes` dates receptors, and how many words it calls unusual, for several thresholds."""
    true_slice = int(share_taken(KINDS.index("abrupt"), len(model.slices), abrupt).argmax())
    is_abrupt = planted.kind == KINDS.index("abrupt")
    default = changepoints._NEARLY
    for nearly in sorted({1.0, 0.8, default, 0.6}, reverse=True):
        changepoints._NEARLY = nearly  # type: ignore[misc]
        table = dw.changes(model, n=len(model.words), min_count=1)
        changes = {row["word"]: row for row in table.iter_rows(named=True)}
        off, band = np.array(
            [
                (abs(model.slices.index(changes[model.words[v]]["slice"]) - true_slice), b)
                for v, b in zip(planted.receptor[is_abrupt], planted.band[is_abrupt], strict=True)
                if model.words[v] in changes
            ]
        ).T
        bands = " ".join(f"{(off[band == b] == 0).sum()}/{(band == b).sum()}" for b in range(len(BANDS)))
        unusual = [
            np.mean([changes[model.words[v]]["unusual"] >= 0.9 for v in words if model.words[v] in changes])
            for words in (planted.receptor, planted.control)
        ]
        print(
            f"    changes at {nearly:.1f}   abrupt changes dated exactly {np.mean(off == 0):.2f}, within one slice "
            f"{np.mean(off <= 1):.2f}, bands exactly {bands}   unusual: receptors {unusual[0]:.2f}, controls "
            f"{unusual[1]:.2f}{'   <- the default' if nearly == default else ''}",
            flush=True,
        )
    changepoints._NEARLY = default  # type: ignore[misc]


def print_report(name: str, model: dw.Model, planted: Planted, seconds: float, abrupt: float) -> None:
    """Print how well drift and `changes` find what was planted."""
    rho = np.asarray(model.rho)
    lasts = planted.kind != KINDS.index("temporary")
    candidates = np.ones(len(rho[0]), dtype=bool)
    candidates[planted.donor] = False
    print(f"{name}   donor rank {donor_rank(rho, planted):.0f}   {seconds:.0f} s")
    print_dates(model, planted, abrupt)
    for metric, score in measures(model).items():
        kinds = " ".join(f"{against_controls(score, planted, kind=k):.2f}" for k in range(len(KINDS)))
        bands = " ".join(f"{against_controls(score, planted, band=b):.2f}" for b in range(len(BANDS)))
        wanted = np.zeros(len(score), dtype=bool)
        wanted[planted.receptor if metric in ("farthest", "step", "path") else planted.receptor[lasts]] = True
        whole = average_precision(score[candidates], wanted[candidates])
        lasting = Planted(
            planted.receptor[lasts], planted.donor[lasts], planted.kind[lasts], planted.band[lasts],
            planted.control.reshape(-1, 2)[lasts].ravel(), planted.control_band.reshape(-1, 2)[lasts].ravel(),
        )  # fmt: skip
        print(
            f"    {metric:16} lasting {against_controls(score, lasting):.3f}"
            f"   all {against_controls(score, planted):.3f}"
            f"   whole vocabulary {whole:.3f}   kinds {kinds}   bands {bands}",
            flush=True,
        )


def print_noise(model: dw.Model) -> None:
    """Print what seems to change where nothing does."""
    for metric, score in measures(model).items():
        top = np.argsort(-score)[:12]
        spread = np.percentile(score, [50, 95, 99.9])
        print(f"    {metric:16} median {spread[0]:.3f}, 95% {spread[1]:.3f}, 99.9% {spread[2]:.3f}: ", end="")
        print(", ".join(model.words[v] for v in top), flush=True)


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    source, join = dw.Corpus.open(sys.argv[1]), int(sys.argv[2])
    given = {a.partition("=")[0]: [parse_value(v) for v in a.partition("=")[2].split(",")] for a in sys.argv[3:]}
    seeds, passes = given.pop("seed", [0]), given.pop("passes", [10])[0]
    models, thresholds = given.pop("models", ["binned", "dynamic"]), given.pop("t", ["auto"])
    show_noise, abrupt = given.pop("noise", [0])[0], given.pop("abrupt", [0.5])[0]
    for seed, t in itertools.product(seeds, thresholds):
        corpus, planted = plant(source, join=join, subsample=t, seed=seed, changes=not show_noise, abrupt=abrupt)
        subsample = "no subsampling" if corpus.subsample is None else f"t {corpus.subsample:g}"
        print(f"{subsample}, {len(corpus.slices)} slices, {len(planted.receptor)} receptors, seed {seed}")
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
                fitted = dw.fit(corpus, dw.Spec(model=model, **options), passes=passes, seed=seed)
                shown = " ".join(f"{name}={v}" for name, v in options.items())
                best = next(entry for entry in fitted.history if entry["pass"] == fitted.best_pass)
                name = f"{model} {shown}  L {best['L']:.4f} pass {best['pass']}/{len(fitted.history)}"
                if show_noise:
                    print(name)
                    print_noise(fitted)
                else:
                    print_report(name, fitted, planted, time.perf_counter() - begin, abrupt)


if __name__ == "__main__":
    main()
