"""Does drift find the words that changed, when we know which ones did?

    python benchmarks/planted.py un.corpus 5 t=1e-3,1e-4 drift_precision=30,100,300 models=binned,dynamic,procrustes

Takes a real corpus, permutes the dates among its documents so that nothing changes
over time, and then plants changes: pairs of equally frequent words, of which one (the
receptor) takes over the places of the other (the donor) gradually, abruptly, or only
for a while. Twice as many equally frequent words are left alone as controls.

Reported for each model: the average precision with which drift ranks receptors above
controls (chance is a third), and above the whole vocabulary; by kind of change and by
frequency; and the median rank of the donor's old vector among the old vectors nearest
to the receptor's new one. A second report, of the same text with nothing planted,
shows what noise looks like: the words that seem to change most and how far they move.
`changes` is judged too: how often it dates abrupt changes right, and whether what it calls
unusual are receptors.

The second argument joins that many consecutive slices into one. `noise=1` plants nothing
and gives the second report. `abrupt` is the share of time after which abrupt changes come,
0.5 unless given. `seed` and `passes` can be given too; anything else goes to
the Spec. "Lasting" changes are the gradual and the abrupt ones; metrics that compare two
slices cannot see the others.
"""

from __future__ import annotations

import itertools
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import driftword as dw
from driftword import explore
from driftword.explore import changepoints as cuts
from machine import describe
from options import value

Array = npt.NDArray[Any]
KINDS = ("gradual", "abrupt", "temporary")
BANDS = ((100, 300), (300, 1_000), (1_000, 3_000), (3_000, 10_000))  # occurrences in the whole corpus
PAIRS = 10  # of each kind in each band


@dataclass(frozen=True)
class Planted:
    """Words by what was done to them."""

    receptor: Array
    donor: Array
    kind: Array
    band: Array
    control: Array
    control_band: Array


def choose(counts: Array, random: np.random.Generator) -> Planted:
    """Choose pairs and controls in every band of frequency, as many as the vocabulary has room for."""
    chosen: dict[str, list[int]] = {name: [] for name in Planted.__dataclass_fields__}
    for b, (low, high) in enumerate(BANDS):
        inside = np.flatnonzero((counts >= low) & (counts < high))
        groups = len(inside) // 4
        take = min(groups, PAIRS * len(KINDS)) // len(KINDS) * len(KINDS)
        # Groups of four neighbours in frequency: receptor, donor, two controls.
        ranked = inside[np.argsort(counts[inside], kind="stable")][: groups * 4].reshape(groups, 4)
        ranked = random.permuted(ranked, axis=1)[random.permutation(groups)[:take]]
        chosen["receptor"] += ranked[:, 0].tolist()
        chosen["donor"] += ranked[:, 1].tolist()
        chosen["control"] += ranked[:, 2:].ravel().tolist()
        chosen["kind"] += [i % len(KINDS) for i in range(take)]
        chosen["band"] += [b] * take
        chosen["control_band"] += [b] * (2 * take)
    return Planted(**{name: np.array(values, dtype=np.int64) for name, values in chosen.items()})


def share_taken(kind: int, n_slices: int, abrupt: float) -> Array:
    """Return the share of the donor's places that the receptor has in each slice."""
    time = np.arange(n_slices) / max(n_slices - 1, 1)
    if KINDS[kind] == "gradual":
        return time
    if KINDS[kind] == "abrupt":
        return (time > abrupt).astype(float)
    return ((time > 1 / 3) & (time < 2 / 3)).astype(float)


def plant(
    corpus: dw.Corpus, *, join: int, subsample: float | str, seed: int, changes: bool, abrupt: float
) -> tuple[dw.Corpus, Planted]:
    """Return the corpus with permuted dates, and with changes where they are wanted."""
    random = np.random.default_rng(seed)
    n_slices = -(-len(corpus.slices) // join)
    documents, first = np.unique(corpus.chunk_document, return_index=True)
    dates = random.permutation(corpus.chunk_slice[first] // join)
    chunk_slice = dates[np.searchsorted(documents, corpus.chunk_document)]
    tokens = np.array(corpus.tokens, dtype=np.int64)
    planted = choose(np.bincount(tokens, minlength=len(corpus.words)), random)
    if changes:
        token_slice = np.repeat(chunk_slice, np.diff(corpus.offsets))
        pair_of = np.full(len(corpus.words), -1)
        pair_of[planted.donor] = np.arange(len(planted.donor))
        places = np.flatnonzero(pair_of[tokens] >= 0)
        pair = pair_of[tokens[places]]
        shares = np.stack([share_taken(kind, n_slices, abrupt) for kind in range(len(KINDS))])
        taken = random.random(len(places)) < shares[planted.kind[pair], token_slice[places]]
        tokens[places[taken]] = planted.receptor[pair[taken]]
    labels = [corpus.slices.labels[t * join][:4] for t in range(n_slices)]
    made = dw.Corpus.from_ids(
        corpus.words, tokens, corpus.offsets, chunk_slice=chunk_slice, chunk_split=corpus.chunk_split, slices=labels,
        chunk_document=corpus.chunk_document, subsample=subsample, seed=seed,
    )  # fmt: skip
    return made, planted


def procrustes(corpus: dw.Corpus, *, seed: int) -> dw.Model:
    """Fit gensim's skip-gram to every slice and turn each onto the one before."""
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
        here = np.array([int(word) for word in model.wv.index_to_key])
        vectors = np.zeros((len(corpus.words), 100), dtype=np.float32)
        vectors[here] = model.wv.get_normed_vectors()
        if t:
            both = here[np.abs(aligned[t - 1, here]).sum(axis=1) > 0]
            u, _, v = np.linalg.svd(vectors[both].T @ aligned[t - 1, both])
            vectors = vectors @ (u @ v)
            absent = np.abs(vectors).sum(axis=1) == 0
            vectors[absent] = aligned[t - 1, absent]
        aligned[t] = vectors
    held = {"words": corpus.words, "slices": corpus.slices, "counts": np.asarray(corpus.counts)}
    return dw.Model(aligned, aligned[0], corpus=held, meta={"spec": asdict(dw.Spec()), "history": []})


METRICS = ("absolute", "cosine", "thirds", "relative", "farthest", "step", "path")


def measures(model: dw.Model) -> dict[str, Array]:
    """Return how far each word moved by every metric: (V,) each, in the order of the vocabulary."""
    found = {}
    for metric in METRICS:
        table = explore.drift(model, n=None, metric=metric)
        found[metric] = np.zeros(len(model.words))
        found[metric][[model.word_index[word] for word in table["word"]]] = table["drift"].to_numpy()
    return found


def average_precision(score: Array, wanted: Array) -> float:
    order = np.argsort(-score, kind="stable")
    hits = wanted[order]
    if not hits.any():
        return float("nan")
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(precision[hits].mean())


def against_controls(score: Array, planted: Planted, *, kind: int | None = None, band: int | None = None) -> float:
    """Average precision of receptors among them and their controls, twice as many: chance is a third."""
    here = np.ones(len(planted.receptor), dtype=bool)
    others = np.ones(len(planted.control), dtype=bool)
    if kind is not None:
        here &= planted.kind == kind
        others &= np.repeat(planted.kind, 2) == kind
    if band is not None:
        here &= planted.band == band
        others &= planted.control_band == band
    words = np.r_[planted.receptor[here], planted.control[others]]
    return average_precision(score[words], np.r_[np.ones(here.sum(), bool), np.zeros(others.sum(), bool)])


def donor_rank(rho: Array, planted: Planted) -> float:
    """Return the median rank of the donor's first vector among those near to the receptor's changed one."""
    centred = rho - rho.mean(axis=1, keepdims=True)
    old = centred[0] / np.maximum(np.linalg.norm(centred[0], axis=1, keepdims=True), 1e-12)
    ranks = []
    for receptor, donor, kind in zip(planted.receptor, planted.donor, planted.kind, strict=True):
        t = len(rho) // 2 if KINDS[kind] == "temporary" else len(rho) - 1
        near = old @ centred[t, receptor]
        near[receptor] = -np.inf
        ranks.append(1 + int((near > near[donor]).sum()))
    return float(np.median(ranks))


def dates(model: dw.Model, planted: Planted, abrupt: float) -> None:
    """Print how well `changes` finds when receptors changed, and that controls did not; with other rules beside it."""
    true = int(share_taken(KINDS.index("abrupt"), len(model.slices), abrupt).argmax())
    sudden = planted.kind == KINDS.index("abrupt")
    rule = cuts._NEARLY
    for nearly in sorted({1.0, 0.8, rule, 0.6}, reverse=True):
        cuts._NEARLY = nearly  # type: ignore[misc]
        table = explore.changes(model, n=len(model.words), min_count=1)
        found = {row["word"]: row for row in table.iter_rows(named=True)}
        off, band = np.array(
            [
                (abs(model.slices.index(found[model.words[v]]["slice"]) - true), b)
                for v, b in zip(planted.receptor[sudden], planted.band[sudden], strict=True)
                if model.words[v] in found
            ]
        ).T
        bands = " ".join(f"{(off[band == b] == 0).sum()}/{(band == b).sum()}" for b in range(len(BANDS)))
        unusual = [
            np.mean([found[model.words[v]]["unusual"] >= 0.9 for v in words if model.words[v] in found])
            for words in (planted.receptor, planted.control)
        ]
        print(
            f"    changes at {nearly:.1f}   abrupt ones dated exactly {np.mean(off == 0):.2f}, within one slice "
            f"{np.mean(off <= 1):.2f}, bands exactly {bands}   unusual: receptors {unusual[0]:.2f}, controls "
            f"{unusual[1]:.2f}{'   <- the rule' if nearly == rule else ''}",
            flush=True,
        )
    cuts._NEARLY = rule  # type: ignore[misc]


def report(name: str, model: dw.Model, planted: Planted, seconds: float, abrupt: float) -> None:
    found, rho = measures(model), np.asarray(model.rho)
    ends = planted.kind != KINDS.index("temporary")
    rest = np.ones(len(rho[0]), dtype=bool)
    rest[planted.donor] = False
    print(f"{name}   donor rank {donor_rank(rho, planted):.0f}   {seconds:.0f} s")
    dates(model, planted, abrupt)
    for measure, score in found.items():
        kinds = " ".join(f"{against_controls(score, planted, kind=k):.2f}" for k in range(len(KINDS)))
        bands = " ".join(f"{against_controls(score, planted, band=b):.2f}" for b in range(len(BANDS)))
        wanted = np.zeros(len(score), dtype=bool)
        wanted[planted.receptor if measure in ("farthest", "step", "path") else planted.receptor[ends]] = True
        whole = average_precision(score[rest], wanted[rest])
        lasting = Planted(
            planted.receptor[ends], planted.donor[ends], planted.kind[ends], planted.band[ends],
            planted.control.reshape(-1, 2)[ends].ravel(), planted.control_band.reshape(-1, 2)[ends].ravel(),
        )  # fmt: skip
        print(
            f"    {measure:16} lasting {against_controls(score, lasting):.3f}"
            f"   all {against_controls(score, planted):.3f}"
            f"   whole vocabulary {whole:.3f}   kinds {kinds}   bands {bands}",
            flush=True,
        )


def noise(model: dw.Model) -> None:
    """Print what seems to change where nothing does."""
    for measure, score in measures(model).items():
        top = np.argsort(-score)[:12]
        spread = np.percentile(score, [50, 95, 99.9])
        print(f"    {measure:16} median {spread[0]:.3f}, 95% {spread[1]:.3f}, 99.9% {spread[2]:.3f}: ", end="")
        print(", ".join(model.words[v] for v in top), flush=True)


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    source, join = dw.Corpus.open(sys.argv[1]), int(sys.argv[2])
    given = {a.partition("=")[0]: [value(v) for v in a.partition("=")[2].split(",")] for a in sys.argv[3:]}
    seeds, passes = given.pop("seed", [0]), given.pop("passes", [10])[0]
    models, rates = given.pop("models", ["binned", "dynamic"]), given.pop("t", ["auto"])
    show_noise, abrupt = given.pop("noise", [0])[0], given.pop("abrupt", [0.5])[0]
    for seed, t in itertools.product(seeds, rates):
        corpus, planted = plant(source, join=join, subsample=t, seed=seed, changes=not show_noise, abrupt=abrupt)
        print(
            f"t {corpus.meta['subsample']:g}, {len(corpus.slices)} slices, "
            f"{len(planted.receptor)} receptors, seed {seed}"
        )
        for model in models:
            if model == "procrustes":
                begin = time.perf_counter()
                fitted = procrustes(corpus, seed=seed)
                report("gensim skip-gram + Procrustes", fitted, planted, time.perf_counter() - begin, abrupt)
                continue
            options_of = {k: v if model == "dynamic" or k != "drift_precision" else v[:1] for k, v in given.items()}
            for chosen in itertools.product(*options_of.values()):
                options = dict(zip(given, chosen, strict=True))
                begin = time.perf_counter()
                fitted = dw.fit(corpus, dw.Spec(model=model, **options), passes=passes, seed=seed)
                shown = " ".join(f"{name}={v}" for name, v in options.items())
                best = fitted.history[fitted.meta["best_pass"] - 1]
                name = f"{model} {shown}  L {best['L']:.4f} pass {best['pass']}/{len(fitted.history)}"
                if show_noise:
                    print(name)
                    noise(fitted)
                else:
                    report(name, fitted, planted, time.perf_counter() - begin, abrupt)


if __name__ == "__main__":
    main()
