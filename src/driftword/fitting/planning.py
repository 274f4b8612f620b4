"""What a corpus of some size takes: time, memory, disk and traffic of every stage, from a few measured costs.

The costs are those of one machine (`PROCESSOR`, `GPU`, `LOOPBACK`); every stage is a short formula. docs/scale.md
says how far off they are where it was measured, and what is only computed.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.basics.process import available_cores
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.corpus.splits import HELD_OUT
from driftword.corpus.subsampling import choose_subsample, keep_probabilities
from driftword.models.spec import Spec, as_spec

EXCHANGES: Final = 96  # while the blocks that are done grow by a factor of e, as in `engines.distributed`
WORDS_MOVED: Final = 64  # by a block
GIGA: Final = 1e9


@dataclass(frozen=True)
class Costs:
    """Seconds that a fit takes for each piece of work, on one core or one GPU, at 100 dimensions."""

    word: float  # of text that a pass predicts
    prior: float  # for a number of rho, in each round
    read: float  # for a token of the training text, in each pass
    score: float  # for a held-out word
    start: float
    fixed_share: float  # of the cost of a word that does not depend on the dimension
    #: Twice as many cores take 2 ** -scaling of the time: they wait for memory, and for each other.
    word_scaling: float = 1.0
    prior_scaling: float = 1.0
    eliminate: float = 1.0  # what the prior of several processes takes beside that of one


@dataclass(frozen=True)
class Network:
    """Seconds that processes take to exchange movements."""

    exchange: float  # of an exchange, whatever it sends
    number: float  # of a number that is sent


#: A core of an Intel Xeon (x86-64, 16 cores), Numba.
PROCESSOR: Final = Costs(
    word=2.2e-6, prior=2.5e-9, read=3e-8, score=4e-6, start=5.0, fixed_share=0.27, word_scaling=0.63,
    prior_scaling=0.79, eliminate=4.0,
)  # fmt: skip
#: An NVIDIA H200, Triton.
GPU: Final = Costs(word=5.6e-9, prior=1e-11, read=5e-10, score=1e-8, start=0.5, fixed_share=0.45, eliminate=4.0)
#: Processes of one machine, by gloo over its loopback.
LOOPBACK: Final = Network(exchange=2e-2, number=1e-8)
#: Between GPUs, by NCCL. This is a guess: it has not been measured.
NVLINK: Final = Network(exchange=5e-4, number=1e-10)

PREPARE_WORD: Final = 4.0e-7  # core-seconds
PREPARE_ALONE: Final = 7.4e-8  # seconds that one core works for a word while the others wait
PREPARE_DASK: Final = 2.1  # how much more work it is in parts
STORED_TEXT: Final = 2.0  # bytes that a word takes in documents.parquet
WRITTEN: Final = 6.5e8  # bytes of a model that are stored in a second
SIGNIFICANCE_WORD: Final = 2.9e-3  # core-seconds for a word of the vocabulary, with its permutations
SIGNIFICANCE_TOKEN: Final = 5.9e-6  # core-seconds for a word of text that a pass sees
SIGNIFICANCE_THREADS: Final = 4  # at most, as in `evidence.significance`
TEXT_BYTES: Final = 64  # in memory, of a word that a pass sees
SCORED: Final = 1 << 22  # held-out words at most, as in `held_out`
DISK: Final = 2e9  # bytes that a machine reads from its disk in a second; assumed, not measured
CACHED: Final = 6.4e10  # bytes of a corpus that stay in a machine's memory after a pass; assumed
GPUS_OF_MACHINE: Final = 8  # assumed
PIECE: Final = 4.0  # gigabytes of text in memory; where there is more, it is read in pieces


@dataclass(frozen=True)
class Size:
    """How large a corpus is."""

    tokens: float  # words of text
    stored: float  # of them in the vocabulary
    train: float  # of them in the training text
    seen: float  # of them that a pass predicts
    held_out: float  # words that are scored after a pass
    words: int
    slices: int

    @classmethod
    def of(cls, corpus: Corpus) -> Size:
        """Measure a corpus."""
        keep = corpus.keep_probability
        stored, train = corpus.counts.sum(axis=0, dtype=np.float64), corpus.train_counts.sum(axis=0, dtype=np.float64)
        tokens = float(stored.sum())
        if corpus.report is not None:
            tokens = float(corpus.report.tokens_read or tokens)
        held_out = float((stored - train) @ keep) / 2
        return cls(
            tokens, float(stored.sum()), float(train.sum()), float(train @ keep), held_out,
            len(corpus.words), len(corpus.slices),
        )  # fmt: skip

    @classmethod
    def guess(cls, tokens: float, words: int, slices: int) -> Size:
        """Guess what a corpus of so many tokens is like: words are as frequent as Zipf's law has it."""
        share = 1 / np.arange(1, words + 1)
        counts = np.maximum(share / share.sum() * tokens, 1).astype(np.int64)
        seen = float(counts @ keep_probabilities(counts, choose_subsample("auto", counts)))
        train = 1 - 2 * HELD_OUT
        return cls(tokens, tokens, train * tokens, train * seen, HELD_OUT * seen, words, slices)


def plan(
    corpus: Corpus | str | os.PathLike[str] | None = None,
    spec: Spec | None = None,
    *,
    tokens: float | None = None,
    vocabulary: int = 25_000,
    slices: int = 50,
    passes: int = 10,
    cores: int | None = None,
    gpus: int = 0,
    processes: int | None = None,
    dask_cores: int = 0,
    core_speed: float = 1.0,
) -> pl.DataFrame:
    """Estimate what a corpus takes: time, memory, disk and traffic, stage by stage.

    Parameters
    ----------
    corpus
        What `driftword.prepare` made, or its path; None for one of `tokens` words.
    spec
        The options of the model.
    tokens
        Words of text, for a corpus that does not exist yet.
    vocabulary, slices
        Its words and slices.
    passes
        As in `fit`.
    cores
        Cores of each machine; by default those of this one.
    gpus
        GPUs that fit together, each in a process of its own; 0 fits on cores.
    processes
        Processes that fit together without GPUs, each with its share of the cores; 1 by default.
    dask_cores
        Cores of a Dask cluster that prepares the text and tests words; 0 leaves both to this machine.
    core_speed
        How fast a core is beside those that the costs were measured on.

    Returns
    -------
    A row for each stage: seconds, gigabytes of memory that a process needs, of disk, and of traffic that a process
    sends, and what keeps it from being faster.
    """
    spec = as_spec(spec)
    passes, gpus = checks.whole("passes", passes, least=1), checks.whole("gpus", gpus)
    cores = checks.optional(checks.whole, "cores", cores, least=1) or available_cores()
    dask_cores = checks.whole("dask_cores", dask_cores)
    core_speed = checks.real("core_speed", core_speed, positive=True)
    if (corpus is None) == (tokens is None):
        raise OptionError("Give either a corpus, or the size of one as `tokens`")
    vocabulary = checks.whole("vocabulary", vocabulary, least=1, most=10**7)
    slices = checks.whole("slices", slices, least=1, most=10**6)
    if tokens is not None:
        size = Size.guess(checks.real("tokens", tokens, low=1, high=1e15), vocabulary, slices)
    else:
        assert corpus is not None
        size = Size.of(as_corpus(corpus))
    given = checks.optional(checks.whole, "processes", processes, least=1)
    if gpus and given is not None and given != gpus:
        raise OptionError("Every GPU has one process; leave out `processes`")
    n_processes = gpus or given or 1
    if n_processes > size.slices:
        raise OptionError(
            f"{n_processes} processes cannot share {size.slices} slices; plan at most as many as there are slices"
        )
    return _Plan(size, spec, passes, cores, gpus, n_processes, dask_cores, core_speed).table()


@dataclass(frozen=True)
class _Plan:
    size: Size
    spec: Spec
    passes: int
    cores: int  # of each machine
    gpus: int
    processes: int
    dask_cores: int
    core_speed: float

    def table(self) -> pl.DataFrame:
        """Return a row for each stage."""
        rows = [*self._prepare(), *self._fit(), self._significance()]
        schema = {"stage": pl.String, **dict.fromkeys(("seconds", "memory_gb", "disk_gb", "traffic_gb"), pl.Float64)}
        return pl.DataFrame(rows, schema={**schema, "limit": pl.String}, orient="row")

    # -- sizes -------------------------------------------------------------------------

    @property
    def _numbers(self) -> float:
        """Numbers in rho."""
        return float(self._slices * self.size.words * (self.spec.dim + self.spec.intercept))

    @property
    def _slices(self) -> int:
        return 1 if self.spec.model == "static" else self.size.slices

    @property
    def _contexts(self) -> float:
        """Numbers in alpha."""
        return float(self.size.words * self.spec.dim)

    @property
    def _bytes_of_id(self) -> int:
        return 2 if self.size.words < 1 << 16 else 4

    @property
    def _own_cores(self) -> float:
        """Cores of each process; less than one where processes take turns."""
        return self.cores / (1 if self.gpus else self.processes)

    # -- stages ------------------------------------------------------------------------

    def _prepare(self) -> list[tuple[str, float, float, float, float, str]]:
        tokens = self.size.tokens
        disk = (tokens * STORED_TEXT + self.size.stored * self._bytes_of_id) / GIGA
        alone = tokens * PREPARE_ALONE / self.core_speed
        if not self.dask_cores:
            seconds = alone + tokens * PREPARE_WORD / self.core_speed / self.cores
            limit = "cores" if alone < seconds / 2 else "one core reads and numbers words"
            return [("prepare", seconds, 0.6 + 0.025 * self.cores, disk, 0.0, limit)]
        seconds = tokens * PREPARE_WORD * PREPARE_DASK / self.core_speed / self.dask_cores
        sent = tokens * STORED_TEXT / GIGA
        return [
            ("prepare: words", seconds, 1.0, 0.0, 0.0, "cores of the cluster"),
            ("prepare: documents and checksums", alone, 1.0, disk, sent, "one process"),
        ]

    def _fit(self) -> list[tuple[str, float, float, float, float, str]]:
        costs, own = (GPU, 1.0) if self.gpus else (PROCESSOR, self._own_cores)
        speed = 1.0 if self.gpus else self.core_speed
        dynamic = self.passes - 1 if self._slices > 1 else 0
        dims = costs.fixed_share + (1 - costs.fixed_share) * self.spec.dim / 100
        share = 1 / self.processes
        text = self.passes * self.size.seen * share * costs.word * dims / own**costs.word_scaling / speed
        reading = self.passes * self.size.train * share * costs.read / speed
        scoring = self.passes * min(self.size.held_out, SCORED) * share * costs.score / own**0.9 / speed
        prior = dynamic * self.spec.rounds * self._numbers * share * costs.prior / own**costs.prior_scaling / speed
        if self.processes > 1:
            prior *= 1 + costs.eliminate
        of_text = min(self.size.seen * share * TEXT_BYTES / GIGA, PIECE)
        memory = (3 * self._numbers * share + 6 * self._contexts) * 4 / GIGA
        model = (self._numbers + self._contexts) * 4 / GIGA
        limit = "GPUs" if self.gpus else "cores and their memory"
        machines = math.ceil(self.gpus / GPUS_OF_MACHINE) or 1
        stored = self.size.train * self._bytes_of_id / machines
        from_disk = stored / DISK * (self.passes if stored > CACHED else 1)
        of_passes, of_passes_limit = max((text + reading, limit), (from_disk, "disk"))
        rows = [
            ("fit: text", of_passes, memory + of_text, 0.0, 0.0, of_passes_limit),
            ("fit: prior", prior, 0.0, 0.0, self._border_traffic(dynamic), limit),
        ]
        if self.processes > 1:
            seconds, traffic = self._exchanges(dynamic)
            rows.append(("fit: exchanges", seconds, 0.0, 0.0, traffic, "does not become faster with more processes"))
        last = costs.start + model * GIGA / WRITTEN
        rows.append(("fit: scores", scoring, 0.0, 0.0, 0.0, limit))
        rows.append(("fit: start and model", last, model if self.processes > 1 else 0.0, model, 0.0, "one process"))
        return rows

    def _border_traffic(self, dynamic: int) -> float:
        if self.processes == 1:
            return 0.0
        return dynamic * self.spec.rounds * 12 * self._numbers / self._slices / GIGA

    def _exchanges(self, dynamic: int) -> tuple[float, float]:
        """Return seconds and gigabytes of the exchanges of movements, in the static pass and after it."""
        network = NVLINK if self.gpus else LOOPBACK
        blocks = self.size.seen / self.spec.block_size
        seconds = traffic = 0.0
        for passes, tables in ((1, 2 if self._slices > 1 else 1), (dynamic, 1)):
            if not passes:
                continue
            numbers, done = tables * self._contexts, max(passes * blocks, 1.0)
            first, dense_from = EXCHANGES * self.processes, EXCHANGES * self.size.words / WORDS_MOVED
            few = EXCHANGES * (1 + max(math.log(max(min(done, dense_from), first) / first), 0.0))
            dense = EXCHANGES * max(math.log(done / dense_from), 0.0) + passes * self.spec.rounds
            moved = numbers / max(math.log(max(dense_from / first, math.e)), 1.0)
            seconds += few * (network.exchange + moved * network.number)
            seconds += dense * (network.exchange + numbers * network.number)
            traffic += 8 * (few * moved + dense * numbers) / GIGA
        crowded = 1.0 if self.gpus else max(1.0, self.processes / self.cores)  # they take turns
        return seconds * crowded, traffic

    def _significance(self) -> tuple[str, float, float, float, float, str]:
        seen = self.size.seen / (1 - 2 * HELD_OUT)
        cores = self.dask_cores or min(self.cores, SIGNIFICANCE_THREADS)
        seconds = (self.size.words * SIGNIFICANCE_WORD + seen * SIGNIFICANCE_TOKEN) / cores / self.core_speed
        memory = (seen * 16 + self._contexts * 4) / GIGA
        few = "cores" if cores == self.cores else f"{cores} threads; a cluster has more"
        limit = "cores; every worker reads all text" if self.dask_cores else few
        return ("significance", seconds, memory, 0.0, 0.0, limit)
