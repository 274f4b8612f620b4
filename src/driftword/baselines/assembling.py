"""Shared by all baselines: their options, the text they read, and how embeddings become a model."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.basics.process import available_cores
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
_SENTENCE: Final = 1_000  # words; gensim takes none of more than 10,000


class Task:
    """The options of a baseline, checked before any work."""

    def __init__(
        self,
        method: str,
        corpus: Corpus | str | os.PathLike[str],
        *,
        dim: int,
        context: int,
        negatives: int = 5,
        passes: int = 1,
        seed: int,
        threads: int | None,
        out: str | os.PathLike[str] | None,
        overwrite: bool,
        show_progress: bool | None,
    ) -> None:
        self.method, self.corpus, self.begun = method, as_corpus(corpus), time.perf_counter()
        self.spec = Spec(model="binned", dim=dim, context=context, negatives=negatives)
        self.half_window = self.spec.context // 2
        self.passes = checks.whole("passes", passes, least=1, most=_MAX_PASSES)
        self.seed, self.threads = checks.seed(seed), checks.threads(threads) or available_cores()
        self.out, self.overwrite = checks.optional(checks.path, "out", out), checks.flag("overwrite", overwrite)
        self.show_progress = checks.show_progress(show_progress)
        if self.out is not None:
            store.check_free(self.out, kind=KIND, overwrite=self.overwrite)
        self.counts = np.asarray(self.corpus.train_counts)  # (T, V)
        self.present = self.counts > 0  # (T, V)

    def ids(self, t: int, pass_number: int) -> tuple[Array, Array]:
        """Return the training text of a slice, subsampled for a pass, and where its chunks begin and end."""
        chunks = self.corpus.chunks_of("train", at=self.corpus.slices.labels[t])
        ids, offsets, _, _ = self.corpus.sample_chunks(chunks, pass_number=pass_number, threads=1)
        return ids, offsets

    def each_slice(self, work: Callable[[int], Array], stage: str) -> Array:
        """Do some work for every slice, several at once, and return what it gives, ``(T, V, K)``.

        A slice is always the work of one thread, so that the result does not depend on their number.
        """
        labels = self.corpus.slices.labels
        found = np.zeros((*self.counts.shape, self.spec.dim), dtype=np.float32)
        with progress(show=self.show_progress) as bar, ThreadPoolExecutor(self.threads) as pool:
            bar.stage(stage, total=len(labels))
            for t, rows in enumerate(pool.map(work, range(len(labels)))):
                found[t] = rows
                bar.update(more=1, facts=labels[t])
        return found

    def finish(self, rho: Array, *packages: str) -> Model:
        """Make a model from embeddings in one space, ``(T, V, K)``, and store it if `out` was given.

        Embeddings are scaled to length one. Where a word does not occur, it has the vector of the last slice before
        that has it, or else of the first one. The versions of `packages` are noted with the model.
        """
        present, rho = self.present, unit(rho)
        for t in range(1, len(rho)):
            absent = ~present[t] & present[:t].any(axis=0)
            rho[t, absent] = rho[t - 1, absent]
        for t in range(len(rho) - 2, -1, -1):
            not_yet = ~present[: t + 1].any(axis=0)
            rho[t, not_yet] = rho[t + 1, not_yet]
        # Tests compare contexts: what stands for a word there is its mean vector.
        sums = np.einsum("tv,tvk->vk", present.astype(np.float32), rho)
        contexts = sums / np.maximum(present.sum(axis=0), 1)[:, None]
        provenance = Provenance.of(
            self.corpus,
            engine="cpu",
            method=self.method,
            seed=self.seed,
            passes=self.passes,
            threads=self.threads,
            packages={name: version(name) for name in packages},
        )
        words, seconds = int(self.counts.sum(dtype=np.int64)), time.perf_counter() - self.begun
        history = [{"pass": 1, "words": words, "seconds": seconds}]
        vocabulary = self.corpus.vocabulary
        model = Model(rho, contexts, vocabulary=vocabulary, spec=self.spec, provenance=provenance, history=history)
        return model if self.out is None else model.save(self.out, overwrite=self.overwrite)


def word2vec(task: Task, counts: Array, **options: Any) -> Any:
    """Return gensim's model of the words that occur, untrained; words are called by their numbers."""
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        raise OptionError(f"To fit '{task.method}', install gensim: pip install 'driftword[baselines]'") from error
    model = Word2Vec(
        vector_size=task.spec.dim, window=task.half_window, negative=task.spec.negatives, ns_exponent=EXPONENT,
        min_count=1, sample=0, seed=task.seed + 1, workers=1, **options,
    )  # fmt: skip
    model.build_vocab_from_freq({str(v): int(counts[v]) for v in np.flatnonzero(counts)})
    return model


def train(model: Any, task: Task, slices: list[int], bar: Progress | None = None) -> None:
    """Train gensim's model with the text of some slices, one pass after the other."""
    for number, rates in enumerate(itertools.pairwise(np.linspace(*RATES, task.passes + 1))):
        sentences = []
        for t in slices:
            ids, offsets = task.ids(t, number + 1)
            names = list(map(str, ids.tolist()))
            for begin, end in itertools.pairwise(offsets.tolist()):
                sentences += [names[at : min(at + _SENTENCE, end)] for at in range(begin, end, _SENTENCE)]
        if sentences:
            alphas = {"start_alpha": rates[0], "end_alpha": rates[1]}
            model.train(sentences, total_examples=len(sentences), epochs=1, **alphas)
        if bar is not None:
            bar.update(more=1)


def by_word(model: Any, rows: Array, task: Task) -> Array:
    """Return rows of gensim's model in the order of the vocabulary, ``(V, K)``; zeros where a word is absent."""
    vectors = np.zeros((len(task.corpus.words), task.spec.dim), dtype=np.float32)
    vectors[[int(word) for word in model.wv.index_to_key]] = rows
    return vectors
