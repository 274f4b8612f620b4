"""How fast is a pass of the dynamic model, beside gensim's static CBOW in the same run?

Both see the same UN text after the same subsampling, K = 100, n = 20, a context of
four words on either side, two threads. driftword's figure includes the prior. Then come
more threads, as many as there are cores; and one or two threads beside another program that takes
a core. The last table shows how the cost of a round grows: that of the likelihood with the number
of words, that of the prior with the numbers in rho (T.V.K). Run with ``make bench-speed``;
it needs gensim. On a machine with many cores, ``taskset -c 0,1`` gives it two.
"""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

import driftword as dw
from driftword.basics.process import available_cores
from driftword.engines import make_engine
from driftword.engines.parameters import broadcast, initial_parameters
from driftword.engines.rounds import Sampler, make_rounds, read_text
from driftword.fitting.held_out import frequency_log_odds, measure_contexts
from driftword.fitting.schedule import Schedule
from machine import DATA, describe

THREADS = 2


@contextlib.contextmanager
def neighbor(*, busy: bool) -> Iterator[None]:
    """Let another program take a core, if it is to be busy."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if busy else None
    try:
        yield
    finally:
        if other is not None:
            other.kill()
            other.wait()


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


@dataclass(frozen=True)
class Cost:
    """What a round costs: seconds for the likelihood steps, and seconds for the prior's."""

    words: int
    numbers: int  # T * V * K
    likelihood: float
    prior: float

    @property
    def rate(self) -> float:
        """Words per second of whole rounds."""
        return self.words / (self.likelihood + self.prior)


def round_cost(corpus: dw.Corpus, spec: dw.Spec, *, rounds: int = 3, join: int = 1, threads: int = THREADS) -> Cost:
    """Measure some rounds of the dynamic model, every `join` slices joined into one; the first round warms up."""
    text = read_text(corpus, "train", pass_number=1, sliced=True)
    text = text._replace(slice_of=text.slice_of // join)
    n_slices = -(-len(corpus.slices) // join)
    centering = measure_contexts(corpus, spec.context // 2) if spec.intercept else None
    schedule = Schedule(spec, 10, np.ones(n_slices - 1), 0, centering)
    parts = make_rounds(text, schedule.plan(3))  # past the warm-up
    sampler = Sampler.make(corpus.raw_counts, spec.exponent)
    static = initial_parameters(
        len(corpus.words), spec.dim, seed=0, initial_scale=spec.initial_scale,
        initial_accumulator=spec.initial_accumulator,
        intercepts=frequency_log_odds(corpus, spec.exponent, spec.negatives) if spec.intercept else None,
    ).astype(np.float32)  # fmt: skip
    parameters = broadcast(static, n_slices, spec.initial_accumulator)
    engine = make_engine("cpu", parameters, sampler, threads=threads)
    step = schedule.step(3, 0)
    engine.round(parts[0], step)
    whole, priors = [], []
    for part in parts[1 : rounds + 1]:
        begin = time.perf_counter()
        engine.round(part, step)
        whole.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        engine.prior_step(step)  # type: ignore[attr-defined]
        priors.append(time.perf_counter() - begin)
    prior = float(np.median(priors))
    return Cost(parts[1].positions, parameters.rho.size, float(np.median(whole)) - prior, prior)


def main() -> None:
    source = DATA / "un_general_debates.parquet"
    print(describe("gensim"), end="\n\n")
    if not source.exists():
        print(f"skipped: {source} does not exist; set DRIFTWORD_DATA to the folder that holds it")
        return
    folder = sys.argv[1] if len(sys.argv) > 1 else "un.corpus"
    corpus = dw.Corpus.open(folder) if pathlib.Path(folder).exists() else dw.prepare(source, time="year", out=folder)
    spec = dw.Spec()
    ours, theirs = [], []
    for _ in range(3):  # in turns, so that a busy moment of the machine affects both
        ours.append(round_cost(corpus, spec))
        theirs.append(gensim_rate(corpus, tokens=1_500_000))
    cost, peer = sorted(ours, key=lambda c: c.rate)[1], sorted(theirs)[1]
    share = cost.prior / (cost.likelihood + cost.prior)
    print(f"gensim CBOW, static        {peer / 1e3:8.0f}k words/s")
    print(
        f"driftword, dynamic, prior  {cost.rate / 1e3:8.0f}k words/s   {cost.rate / peer:.1f}x"
        f"   (prior: {share:.0%} of the time)"
    )
    print("\nthreads   k words/s   efficiency")
    alone = round_cost(corpus, spec, threads=1).rate
    for threads in (n for n in (1, 2, 4, 8, 16, 32) if n <= available_cores()):
        rate = alone if threads == 1 else round_cost(corpus, spec, threads=threads).rate
        print(f"{threads:7}{rate / 1e3:12.0f}{rate / alone / threads:13.2f}")
    print(f"\nanother program takes one of {available_cores()} cores")
    for threads in (1, 2):
        rates = []
        for busy in (False, True):
            with neighbor(busy=busy):
                rates.append(round_cost(corpus, spec, threads=threads).rate)
        print(f"{threads:7} threads{rates[1] / 1e3:12.0f}k words/s   ({rates[0] / 1e3:.0f}k without it)")
    print("\na round                     words    T.V.K   k words/s   likelihood, ns a word   prior, ns a number")
    for name, changed, join in (
        ("as above", spec, 1),
        ("half the words", replace(spec, rounds=2 * spec.rounds), 1),
        ("a seventh of the slices", spec, 7),
        ("dim 50", replace(spec, dim=50), 1),
        ("dim 200", replace(spec, dim=200), 1),
        ("context 2", replace(spec, context=2), 1),
        ("pool 128", replace(spec, pool_size=128), 1),
    ):
        cost = round_cost(corpus, changed, join=join)
        print(
            f"{name:24}{cost.words / 1e6:8.2f}M{cost.numbers / 1e6:8.0f}M{cost.rate / 1e3:12.0f}"
            f"{1e9 * cost.likelihood / cost.words:24.0f}{1e9 * cost.prior / cost.numbers:21.2f}"
        )


if __name__ == "__main__":
    main()
