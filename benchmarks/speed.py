"""How fast is a pass of the dynamic model, beside gensim's static CBOW in the same run?

Both see the same UN text after the same subsampling, K = 100, n = 20, a context of
four words on either side, two threads. driftword's figure includes the prior. A
second table shows how the cost of a pass grows with words, slices, vocabulary and
dimension. Run with ``make bench-speed``; it needs gensim.
"""

from __future__ import annotations

import pathlib
import sys
import time
from dataclasses import replace

import numpy as np

import driftword as dw
from driftword.engines import make_engine
from driftword.engines.reference import start_parameters
from driftword.engines.rounds import Parameters, Sampler, Step, plan, read_text
from machine import DATA, describe

THREADS = 2


def gensim_rate(corpus: dw.Corpus, tokens: int) -> float:
    """Return words per second of CBOW with the same options."""
    from gensim.models import Word2Vec

    sentences, count = [], 0
    for ids in corpus.chunks("train"):
        words = [str(i) for i in ids]
        sentences += [words[i : i + 1000] for i in range(0, len(words), 1000)]
        count += len(words)
        if count >= tokens:
            break
    model = Word2Vec(
        vector_size=100, window=4, sg=0, negative=20, min_count=1, workers=THREADS, sample=0,
        cbow_mean=0, shrink_windows=False, ns_exponent=0.75,
    )  # fmt: skip
    model.build_vocab(sentences)
    begin = time.perf_counter()
    model.train(sentences, total_examples=len(sentences), epochs=1)
    return count / (time.perf_counter() - begin)


def driftword_rate(corpus: dw.Corpus, spec: dw.Spec, rounds: int) -> tuple[float, float]:
    """Return words per second of whole rounds, and the share of their time that goes to the prior."""
    text = read_text(corpus, "train", pass_number=1, sliced=True)
    parts = plan(text, block=spec.block, run=spec.run, rounds=spec.rounds, seed=0, pass_number=1)
    sampler = Sampler.make(corpus.raw_counts, spec.exponent)
    start = start_parameters(len(corpus.words), spec.dim, seed=0, squares=spec.squares, dtype=np.float32)
    rho = np.repeat(start.rho, len(corpus.slices), axis=0)
    held = Parameters(rho, start.alpha, np.full_like(rho, spec.squares), start.alpha_squares)
    engine = make_engine("cpu", held, sampler, threads=THREADS)
    step = Step(
        spec.learning_rate, spec.context // 2, spec.negatives, spec.pool,
        spec.drift_precision / spec.rounds, spec.prior / spec.rounds, spec.prior / spec.rounds, chained=True,
    )  # fmt: skip
    engine.round(parts[0], step)  # compiles and warms
    rates, priors = [], []
    for part in parts[1 : rounds + 1]:
        begin = time.perf_counter()
        engine.round(part, step)
        seconds = time.perf_counter() - begin
        begin = time.perf_counter()
        engine._apply_prior(step)  # type: ignore[attr-defined]
        rates.append(part.positions / seconds)
        priors.append((time.perf_counter() - begin) / seconds)
    return float(np.median(rates)), float(np.median(priors))


def main() -> None:
    source = DATA / "un_general_debates.parquet"
    print(describe("gensim"), end="\n\n")
    if not source.exists():
        print(f"skipped: {source} is not there; set DRIFTWORD_DATA to the folder that holds it")
        return
    folder = sys.argv[1] if len(sys.argv) > 1 else "un.corpus"
    corpus = dw.Corpus.open(folder) if pathlib.Path(folder).exists() else dw.prepare(source, time="year", out=folder)
    spec = dw.Spec()
    rate, prior = driftword_rate(corpus, spec, rounds=spec.rounds - 1)
    peer = gensim_rate(corpus, tokens=2_000_000)
    print(f"gensim CBOW, static        {peer / 1e3:8.0f}k words/s")
    print(
        f"driftword, dynamic, prior  {rate / 1e3:8.0f}k words/s   {rate / peer:.1f}x   (prior: {prior:.0%} of the time)"
    )
    print("\nhow a round grows                      k words/s   prior")
    for name, changed in {
        "as above": spec,
        "dim 50": replace(spec, dim=50),
        "dim 200": replace(spec, dim=200),
        "twice the rounds": replace(spec, rounds=2 * spec.rounds),
        "context 2": replace(spec, context=2),
        "pool 128": replace(spec, pool=128),
    }.items():
        rate, prior = driftword_rate(corpus, changed, rounds=3)
        print(f"  {name:36}{rate / 1e3:10.0f}{prior:8.0%}")


if __name__ == "__main__":
    main()
