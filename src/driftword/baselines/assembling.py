"""What all baselines share: their options, the text they read, and how embeddings become a model."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.basics.process import available_cores, machine, versions
from driftword.basics.progress import Progress, progress
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.models.model import KIND, Model
from driftword.models.provenance import Provenance
from driftword.models.slice_vectors import unit
from driftword.models.spec import Spec
from driftword.storage import store

Array = npt.NDArray[Any]
RATES: Final = (0.025, 0.0001)  # at the beginning and the end of a training: those of word2vec
EXPONENT: Final = 0.75  # of word counts, by which negatives are drawn and contexts are weighed
_MAX_PASSES: Final = 10_000


@dataclass(frozen=True)
class Task:
    """What a baseline is asked to do, checked."""

    method: str
    corpus: Corpus
    spec: Spec
    seed: int
    threads: int
    passes: int
    out: Path | None
    overwrite: bool
    show_progress: bool | None
    begun: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(
        cls, method: str, corpus: Corpus | str | os.PathLike[str], *, dim: int, context: int, negatives: int = 5,
        passes: int = 1, seed: int, threads: int | None, out: str | os.PathLike[str] | None, overwrite: bool,
        show_progress: bool | None,
    ) -> Task:  # fmt: skip
        """Check the options of a baseline before any work."""
        task = cls(
            method, as_corpus(corpus), Spec(model="binned", dim=dim, context=context, negatives=negatives),
            checks.seed(seed), checks.threads(threads) or available_cores(),
            checks.whole("passes", passes, least=1, most=_MAX_PASSES), checks.optional(checks.path, "out", out),
            checks.flag("overwrite", overwrite), checks.show_progress(show_progress),
        )  # fmt: skip
        if task.out is not None:
            store.check_free(task.out, kind=KIND, overwrite=task.overwrite)
        return task

    @property
    def half_window(self) -> int:
        """Words on either side that are context."""
        return self.spec.context // 2

    @property
    def present(self) -> Array:
        """Which words occur in the training text of each slice, ``(T, V)``."""
        return np.asarray(self.corpus.train_counts) > 0

    def ids(self, t: int, pass_number: int) -> tuple[Array, Array]:
        """Return the training text of a slice, subsampled for a pass, and where its chunks begin and end."""
        ids, offsets, _, _ = self.corpus.sample_chunks(
            self.corpus.chunks_of("train", at=self.corpus.slices.labels[t]), pass_number=pass_number, threads=1
        )
        return ids, offsets

    def each_slice(self, work: Callable[[int], Array], stage: str, bar: Progress) -> Array:
        """Do some work for every slice, several at once, and return what it gives, ``(T, V, K)``.

        A slice is always the work of one thread, so that the result does not depend on their number.
        """
        n_slices = len(self.corpus.slices)
        bar.stage(stage, total=n_slices)
        found = np.zeros((n_slices, len(self.corpus.words), self.spec.dim), dtype=np.float32)
        with ThreadPoolExecutor(self.threads) as pool:
            for t, rows in enumerate(pool.map(work, range(n_slices))):
                found[t] = rows
                bar.update(more=1, facts=self.corpus.slices.labels[t])
        return found

    def bar(self) -> Any:
        """Return a progress bar, as a context."""
        return progress(show=self.show_progress)

    def finish(self, rho: Array, **packages: str) -> Model:
        """Make a model of embeddings in one space, ``(T, V, K)``; they are scaled to length one.

        Where a word does not occur, it has the vector of the last slice before that has it, or else of the first one.
        """
        present, rho = self.present, unit(rho)
        for t in range(1, len(rho)):
            absent = ~present[t] & present[:t].any(axis=0)
            rho[t, absent] = rho[t - 1, absent]
        for t in range(len(rho) - 2, -1, -1):
            not_yet = ~present[: t + 1].any(axis=0)
            rho[t, not_yet] = rho[t + 1, not_yet]
        corpus = self.corpus
        # Tests compare contexts: what stands for a word there is its mean vector.
        contexts = (
            np.einsum("tv,tvk->vk", present.astype(np.float32), rho) / np.maximum(present.sum(axis=0), 1)[:, None]
        )
        provenance = Provenance(
            engine="cpu", method=self.method, corpus=corpus.fingerprint, corpus_path=corpus.location,
            citation=corpus.citation, seed=self.seed, passes=self.passes, shuffled_dates=corpus.shuffled,
            threads=self.threads, machine=machine(), versions={**versions(), **packages},
        )  # fmt: skip
        words = int(np.asarray(corpus.train_counts).sum(dtype=np.int64))
        history = [{"pass": 1, "words": words, "seconds": time.perf_counter() - self.begun}]
        model = Model(
            rho, contexts, vocabulary=corpus.vocabulary, spec=self.spec, provenance=provenance, history=history
        )
        return model if self.out is None else model.save(self.out, overwrite=self.overwrite)


def word2vec(task: Task, counts: Array, **options: Any) -> Any:
    """Return gensim's model of the words that occur, untrained; words are called by their numbers."""
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        raise OptionError(f"To fit '{task.method}', install gensim: pip install 'driftword[baselines]'") from error
    spec = task.spec
    model = Word2Vec(
        vector_size=spec.dim, window=task.half_window, negative=spec.negatives, ns_exponent=EXPONENT, min_count=1,
        sample=0, seed=task.seed + 1, workers=1, **options,
    )  # fmt: skip
    model.build_vocab_from_freq({str(v): int(counts[v]) for v in np.flatnonzero(counts)})
    return model


def train(model: Any, task: Task, slices: list[int], bar: Progress | None = None) -> None:
    """Train gensim's model with the text of some slices, one pass after the other."""
    rates = np.linspace(*RATES, task.passes + 1)
    for number in range(task.passes):
        sentences = []
        for t in slices:
            ids, offsets = task.ids(t, number + 1)
            names = list(map(str, ids.tolist()))
            # gensim takes no sentence of more than 10,000 words.
            sentences += [
                names[at : min(at + 1000, end)]
                for begin, end in itertools.pairwise(offsets.tolist())
                for at in range(begin, end, 1000)
            ]
        if sentences:
            model.train(
                sentences, total_examples=len(sentences), epochs=1, start_alpha=rates[number],
                end_alpha=rates[number + 1],
            )  # fmt: skip
        if bar is not None:
            bar.update(more=1)


def vectors_of(model: Any, n_words: int) -> Array:
    """Return the vectors of gensim's model in the order of the vocabulary, ``(V, K)``; zeros where a word is absent."""
    vectors = np.zeros((n_words, model.vector_size), dtype=np.float32)
    vectors[[int(word) for word in model.wv.index_to_key]] = model.wv.vectors
    return vectors


def gensim_version() -> Mapping[str, str]:
    """Return the version of gensim, for the record."""
    return {"gensim": version("gensim")}
