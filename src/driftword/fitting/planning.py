"""Estimates of what a corpus takes: time, memory, disk and traffic of every stage, from a few measured costs.

The costs are those of one machine; every stage is a short formula. docs/scale.md says how far off they are where it
was measured, and what is only computed: most are within a quarter, so what matters less is left out.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.basics.process import available_cores
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.corpus.splits import HELD_OUT
from driftword.corpus.subsampling import choose_subsample, keep_probabilities
from driftword.fitting.held_out import MOST_VALIDATION
from driftword.fitting.keeping import CHECKPOINT_EVERY
from driftword.fitting.schedule import START_PASSES
from driftword.models.spec import Spec, as_spec
from driftword.preparing.document_parts import SHARES


@dataclass(frozen=True)
class Costs:
    """Seconds that a fit takes for each piece of work, on one core or one GPU, at 100 dimensions."""

    word: float  # of text that a pass predicts
    prior: float  # for a number of rho, in each round
    score: float  # for a held-out word
    start: float
    fixed_share: float  # of the cost of a word that does not depend on the dimension
    exchange: float  # between processes, whatever it sends
    number: float  # that an exchange sends


#: A core of an Intel Xeon (x86-64, 16 cores), Numba; processes talk by gloo over the loopback.
CORE: Final = Costs(1.15e-6, 6e-10, 3.3e-6, start=5.0, fixed_share=0.27, exchange=2e-2, number=1e-8)
#: An NVIDIA H200, Triton. What exchanges take between GPUs, by NCCL, is a guess: it has not been measured.
GPU: Final = Costs(6.5e-9, 7e-12, 1e-8, start=0.5, fixed_share=0.45, exchange=5e-4, number=1e-10)
CORE_SCALING: Final = 0.67  # n cores take n ** -0.67 of the time: they wait for memory, and for each other
SHARED_PRIOR: Final = 5.0  # how much longer the prior takes that several processes solve together
EXCHANGES: Final = 96  # while the blocks that are done grow by a factor of e, as in `engines.distributed`
SENT: Final = 0.35  # of the numbers in an exchange, on average: at first few words have moved

PREPARE_WORD: Final = 4.0e-7  # core-seconds
PREPARE_ALONE: Final = 1.43e-7  # seconds that one core works for a word while the others wait
PREPARE_START: Final = 1.9  # seconds, whatever the text
PREPARE_DASK: Final = 2.1  # how much more work it is in parts
#: On a cluster: seconds of one core for the document and the checksums of a word, and for what one process does alone.
PREPARE_STORED, PREPARE_LAST = 5.1e-8, 2.3e-8
STORED_TEXT: Final = 2.0  # bytes that a word takes where the documents are stored
WRITTEN: Final = 5e8  # bytes of a model that are stored in a second
SIGNIFICANCE_WORD: Final = 1.7e-3  # core-seconds for a word of the vocabulary, with its permutations
SIGNIFICANCE_DOCUMENT: Final = 9e-6  # core-seconds for a document of a word
DOCUMENT: Final = 500  # words of a document, where nothing else is known
SIGNIFICANCE_READ: Final = 5e-8  # seconds in which one core finds where a word of text occurs
#: Seconds until processes are there, and what each of them adds on one machine.
SIGNIFICANCE_START, SIGNIFICANCE_PROCESS = 2.0, 0.14
SEEN_BYTES: Final = 12  # of a word that a pass sees, with its position
BACKGROUND: Final = 2e8  # bytes of the contexts that a test expects
TEXT_BYTES: Final = 64  # in memory, of a word that a pass sees
PIECE: Final = 4e9  # bytes of text in memory; where there is more, it is read in pieces
DISK: Final = 2e9  # bytes that a machine reads from its disk in a second; assumed, not measured
CACHED: Final = 6.4e10  # bytes of a corpus that stay in a machine's memory after a pass; assumed
GPUS_OF_MACHINE: Final = 8  # assumed
GIGA: Final = 1e9
_TRAINED: Final = 1 - 2 * HELD_OUT  # share of the text

Row = tuple[str, float, float, float, float, str]  # stage, seconds, gigabytes of memory, disk and traffic, limit


@dataclass(frozen=True)
class Size:
    """The size of a corpus."""

    tokens: float  # words of text
    stored: float  # of them in the vocabulary
    seen: float  # of the stored ones that a pass predicts
    words: int
    slices: int
    documents: float  # of a word, as far as a pass sees it, summed over all words

    @classmethod
    def of(cls, corpus: Corpus) -> Size:
        """Measure a corpus."""
        stored, train = (float(counts.sum(dtype=np.float64)) for counts in (corpus.counts, corpus.train_counts))
        seen = corpus.expected_tokens() * train / max(stored, 1.0)
        read, documents = float(corpus.report.tokens_read or stored), int(corpus.chunk_document.max(initial=0)) + 1
        pairs = _documents_of_words(corpus.counts.sum(axis=0) * corpus.keep_probability, documents)
        return cls(read, stored, seen, len(corpus.words), len(corpus.slices), pairs)

    @classmethod
    def guess(cls, tokens: float, words: int, slices: int) -> Size:
        """Guess what a corpus of so many tokens is like: words are as frequent as Zipf's law has it."""
        share = 1 / np.arange(1, words + 1)
        counts = np.maximum(share / share.sum() * tokens, 1).astype(np.int64)
        seen = counts * keep_probabilities(counts, choose_subsample("auto", counts))
        pairs = _documents_of_words(seen, tokens / DOCUMENT)
        return cls(tokens, tokens, _TRAINED * float(seen.sum()), words, slices, pairs)

    @property
    def id_bytes(self) -> int:
        """The number of bytes that a word takes in the tokens of a corpus."""
        return 2 if self.words < 1 << 16 else 4


def _documents_of_words(seen: npt.NDArray[np.float64], documents: float) -> float:
    """Return in how many documents words are, summed over all words, if they are strewn at random."""
    return float((-np.expm1(-seen / max(documents, 1.0)) * documents).sum())


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
    vocabulary = checks.whole("vocabulary", vocabulary, least=1, most=10**7)
    slices = checks.whole("slices", slices, least=1, most=10**6)
    if corpus is not None and tokens is None:
        size = Size.of(as_corpus(corpus))
    elif corpus is None and tokens is not None:
        size = Size.guess(checks.real("tokens", tokens, low=1, high=1e15), vocabulary, slices)
    else:
        raise OptionError("Give either a corpus, or the size of one as `tokens`")
    given = checks.optional(checks.whole, "processes", processes, least=1)
    if gpus and given is not None and given != gpus:
        raise OptionError("Every GPU has one process; leave out `processes`")
    n_processes = gpus or given or 1
    if n_processes > size.slices:
        raise OptionError(
            f"{n_processes} processes cannot share {size.slices} slices; plan at most as many as there are slices"
        )
    rows = [
        *_prepare(size, cores, dask_cores, core_speed),
        *_fit(size, spec, passes, cores=cores, gpus=gpus, processes=n_processes, core_speed=core_speed),
        _significance(size, spec, cores, dask_cores, core_speed),
    ]
    schema = {"stage": pl.String, **dict.fromkeys(("seconds", "memory_gb", "disk_gb", "traffic_gb"), pl.Float64)}
    return pl.DataFrame(rows, schema={**schema, "limit": pl.String}, orient="row")


def _prepare(size: Size, cores: int, dask_cores: int, core_speed: float) -> list[Row]:
    work, alone = size.tokens * PREPARE_WORD / core_speed, size.tokens * PREPARE_ALONE / core_speed
    text = size.tokens * STORED_TEXT / GIGA
    disk = text + size.stored * size.id_bytes / GIGA
    if not dask_cores:
        limit = "cores" if alone < work / cores else "one core reads and numbers words"
        seconds = PREPARE_START / core_speed + alone + work / cores
        return [("prepare", seconds, 0.6 + 0.025 * cores, disk, 0.0, limit)]
    files = min(dask_cores, SHARES)  # of documents, at most, of which a core writes one
    stored, last = (size.tokens * cost / core_speed for cost in (PREPARE_STORED, PREPARE_LAST))
    limit = "cores of the cluster"
    return [
        ("prepare: words", work * PREPARE_DASK / dask_cores, 1.0, 0.0, 0.0, limit),
        ("prepare: documents", stored / files, 1.0, disk, text / files, limit),
        ("prepare: last stages", last, 1.0, 0.0, 0.0, "one process"),
    ]


def _fit(size: Size, spec: Spec, passes: int, *, cores: int, gpus: int, processes: int, core_speed: float) -> list[Row]:
    if gpus:
        costs, power, turns, limit = GPU, float(gpus), 1.0, "GPUs"
    else:
        costs, limit = CORE, "cores and their memory"
        power = processes * (cores / processes) ** CORE_SCALING * core_speed
        turns = max(1.0, processes / cores)  # that processes take where they are more than cores
    slices = 1 if spec.model == "static" else size.slices
    again = spec.starts - 1 if passes > START_PASSES else 0
    readings = passes + START_PASSES * again
    moving = passes - 1 + again if slices > 1 else 0  # passes after the static one
    rho, alpha = slices * size.words * (spec.dim + spec.intercept), size.words * spec.dim  # numbers
    model = 4 * (rho + alpha) / GIGA
    text = readings * size.seen * costs.word * (costs.fixed_share + (1 - costs.fixed_share) * spec.dim / 100) / power
    read = _TRAINED * size.stored * size.id_bytes / max(1, math.ceil(gpus / GPUS_OF_MACHINE))  # by a machine, in bytes
    from_disk = readings * read / DISK if read > CACHED else 0.0
    prior = moving * spec.rounds * rho * costs.prior / power * (SHARED_PRIOR if processes > 1 else 1)
    scored = min(size.seen * HELD_OUT / _TRAINED, MOST_VALIDATION)
    memory = (4 * (2 * rho / processes + 6 * alpha) + min(size.seen / processes * TEXT_BYTES, PIECE)) / GIGA
    rows: list[Row] = [
        ("fit: text", max(text, from_disk), memory, 0.0, 0.0, limit if text > from_disk else "disk"),
        ("fit: prior", prior, 0.0, 0.0, 0.0, limit),
    ]
    if processes > 1:
        seconds = traffic = 0.0
        for number, tables in ((1, 2 if moving else 1), (moving, 1)):  # in the static pass, embeddings as well
            blocks = max(number * size.seen / spec.block_size / (EXCHANGES * processes), 1.0)
            exchanges = EXCHANGES * (1 + math.log(blocks)) + number * spec.rounds if number else 0.0
            seconds += exchanges * (costs.exchange + SENT * tables * alpha * costs.number)
            traffic += 8 * exchanges * SENT * tables * alpha / GIGA
        rows.append(
            ("fit: exchanges", seconds * turns, 0.0, 0.0, traffic, "does not become faster with more processes")
        )
    scores = passes * scored * costs.score / power
    checkpoints = min(moving, (text + prior + scores) // CHECKPOINT_EVERY)
    last = (costs.start + (1 + checkpoints) * model * GIGA / WRITTEN) / (1 if gpus else core_speed)
    return [
        *rows,
        ("fit: scores", scores, 0.0, 0.0, 0.0, limit),
        ("fit: start and model", last, model if processes > 1 else 0.0, model, 0.0, "one process"),
    ]


def _significance(size: Size, spec: Spec, cores: int, dask_cores: int, core_speed: float) -> Row:
    seen, used = size.seen / _TRAINED, dask_cores or cores
    work = (size.words * SIGNIFICANCE_WORD + size.documents * SIGNIFICANCE_DOCUMENT) / used
    alone = seen * SIGNIFICANCE_READ + SIGNIFICANCE_START + SIGNIFICANCE_PROCESS * min(used, cores)
    fixed, text = (size.words * spec.dim * 8 + BACKGROUND) / GIGA, seen * SEEN_BYTES / GIGA
    limit = "one process reads" if alone > work else "cores of the cluster" if dask_cores else "cores"
    # Longer text lies in files that all processes map.
    return ("significance", (alone + work) / core_speed, fixed + min(text, PIECE / GIGA), fixed + text, 0.0, limit)
