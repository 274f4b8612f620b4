"""The text of a corpus on many machines: read and kept by partitions, its ids in files that all of them share.

The stages are those of `local_text`, and so are their results, whatever the number of partitions and workers. This
process plans, decides and waits; `partitions` has what workers do. Large results stay where they are: workers add up
counts, and write tokens file by file. What this process holds is a few numbers for each document, and the words that
are frequent enough to matter.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import reduce
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics.dask_tasks import Tasks, check_shared, check_workers, connect
from driftword.basics.errors import OptionError
from driftword.basics.process import versions
from driftword.basics.progress import Progress
from driftword.corpus.slices import Slices
from driftword.preparing import pairs
from driftword.preparing.cluster import partitions
from driftword.preparing.cluster.partitions import Place, ReadingJob
from driftword.preparing.document_parts import DocumentParts
from driftword.preparing.id_stream import padded
from driftword.preparing.ingest import Ingestion
from driftword.preparing.languages import count_languages, sampling_step
from driftword.preparing.reading_tally import Tally
from driftword.preparing.text_stages import CountedWords, ReadingRequest, ReadText, TokenPlaces
from driftword.sources.dates import DateReader
from driftword.sources.file_formats import ANNOTATED, kind_of
from driftword.sources.opening import Input, Source
from driftword.sources.remote_files import RemoteFile, SourceFile, size_of, stamp_of
from driftword.storage import shards
from driftword.storage.atomic_writes import discard
from driftword.storage.store import Writer

#: Bytes of files that a partition has: a share of all of them, but neither so few that there is more to plan than to
#: do, nor so many that a worker takes long to read them.
LEAST_BYTES = 8 << 20
MOST_BYTES = 256 << 20
_SHARES: Final = 256
#: Different words, summed over partitions, that one task adds up.
BUCKET_WORDS = 4_000_000
#: What is kept of a partition has this form; it is read again where another driftword had another.
_FORMAT: Final = 1


def spool_folder(out: Path) -> Path:
    """Return the folder in which a preparation keeps what it has read, beside the place of the corpus."""
    target = Path(os.path.realpath(out))
    return target.parent / f".{target.name}.preparation"


def check_source(source: Source) -> None:
    """Refuse what workers cannot read."""
    if not source.files:
        raise OptionError(
            f"A source of the kind '{source.name}' is in the memory of this process, and a cluster reads files; "
            "save it as Parquet, or leave out `dask`"
        )


def remove_spool(out: Path) -> None:
    """Remove what was kept, now that the corpus is complete."""
    discard(spool_folder(out), Path(os.path.realpath(out)))


@contextlib.contextmanager
def open_cluster(dask: Any, *, out: Path, bar: Progress) -> Iterator[ClusterText]:
    """Yield a reader that works on a cluster; the caller holds the lock of `out`."""
    bar.stage("connecting")
    with connect(dask) as client:
        spool = spool_folder(out)
        spool.mkdir(exist_ok=True)
        try:
            check_workers(client)
            check_shared(client, spool)
            _sweep(spool)
            work = spool / f"work-{secrets.token_hex(4)}"
            work.mkdir()
            tasks = Tasks(client, bar)
            try:
                yield ClusterText(spool, work, tasks, bar)
            except BaseException:
                tasks.cancel()
                raise
            finally:
                discard(work, work)
        finally:
            with contextlib.suppress(OSError):
                spool.rmdir()  # if nothing was kept


def _sweep(spool: Path) -> None:
    """Remove what was left by tasks that were interrupted."""
    for path in spool.iterdir():
        if not re.fullmatch(r"(partition|keys)-\d+", path.name):
            discard(path, path)


def plan(files: Sequence[SourceFile]) -> list[tuple[SourceFile, ...]]:
    """Divide files into partitions, in order: the same ones on any cluster, so that a later run finds them."""
    sizes = [size_of(file) for file in files]
    wanted = min(max(sum(sizes) // _SHARES, LEAST_BYTES), MOST_BYTES)
    groups: list[tuple[SourceFile, ...]] = []
    filled = wanted
    for file, size in zip(files, sizes, strict=True):
        if filled + size / 2 > wanted:
            groups.append(())
            filled = 0
        groups[-1] += (file,)
        filled += size
    return groups


class ClusterText:
    """A source that is read on a cluster; see `text_stages`."""

    def __init__(self, spool: Path, work: Path, tasks: Tasks, bar: Progress) -> None:
        self.spool, self.work, self.tasks, self.bar = spool, work, tasks, bar
        self.places: list[Place] = []
        self._read: list[Mapping[str, Any]] = []  # the facts of each partition that was read

    # -- reading -------------------------------------------------------------------------

    def read(self, source: Source, request: ReadingRequest) -> ReadText:
        """Read all rows; raise `SourceError` if they cannot make a corpus."""
        noticed = Ingestion(self.work, request)
        noticed.look(source)
        if noticed.text:
            request = replace(request, text=noticed.text, time=noticed.time, rule=noticed.rule)
        jobs = self._jobs(source, request, settled=bool(noticed.text))
        if kind_of(source.files[0]) in ("json", *ANNOTATED):
            jobs = self._with_keys(jobs)
        self.bar.stage("reading", total=len(jobs))
        self._read = self.tasks.map(partitions.read_partition, [(job,) for job in jobs])
        tally = sum((Tally.from_dict(facts["tally"]) for facts in self._read), Tally())
        tally.check(DateReader(noticed.time, request.time_format), request, named_files=source.named_files)
        report = tally.report()
        if request.language is None:
            report = replace(report, language_sample=self._sampled_languages(tally.documents))
        self.bar.stage("looking at documents", total=len(jobs))
        files = [(job.folder, facts["documents"]) for job, facts in zip(jobs, self._read, strict=True)]
        seen = self.tasks.map(partitions.look_at_documents, files)
        self._documents = DocumentParts(
            [folder / part for folder, parts in files for part in parts],
            [number for numbers, _ in seen for number in numbers],
            [schema for _, schemas in seen for schema in schemas],
            text_bytes=sum(facts["text_bytes"] for facts in self._read),
        )
        days, lengths = (
            np.concatenate([np.load(job.folder / name) for job in jobs]) for name in ("days.npy", "lengths.npy")
        )
        return ReadText(noticed.text, noticed.time, noticed.rule, report, days, lengths, self._documents.columns)

    def store_documents(self, writer: Writer, slices: Slices, inside: npt.NDArray[np.bool_]) -> Callable[[], None]:
        """Begin to store the documents inside the slices; return a function that waits until they are stored.

        Workers do it when they have nothing else to do, as while this process looks for copies.
        """
        tables = self._documents.divide(slices, inside)
        begun = self.tasks.begin(
            partitions.write_documents, [(writer.folder, self.work, table) for table in tables], priority=-1
        )

        def wait() -> None:
            self.bar.stage("storing documents", total=len(tables))
            writer.sealed |= dict(zip((table.name for table in tables), self.tasks.finish(begun), strict=True))

        return wait

    def _jobs(self, source: Source, request: ReadingRequest, *, settled: bool) -> list[ReadingJob]:
        files = [Path(os.path.abspath(file)) if isinstance(file, Path) else file for file in source.files]  # noqa: PTH100
        root = source.root if isinstance(source.files[0], RemoteFile) else os.path.abspath(source.root)  # noqa: PTH100
        several = len(files) > 1
        asked = asdict(request)
        for options in (asked, asked["files"]):  # a partition without anything bad is the same with and without these
            for name in [name for name in options if name.startswith("skip_")]:
                del options[name]
        common = {"format": _FORMAT, "versions": versions(), "root": root, "several": several, "request": asked}
        return [
            ReadingJob(
                folder=self._folder(number),
                files=group,
                name=source.name,
                root=root,
                several=several,
                request=request,
                settled=settled,
                identity={**common, "files": [[str(file), size_of(file), stamp_of(file)] for file in group]},
            )
            for number, group in enumerate(plan(files))
        ]

    def _with_keys(self, jobs: Sequence[ReadingJob]) -> list[ReadingJob]:
        """Tell each partition which keys of JSON objects come before it, as one process would know from reading on."""
        self.bar.stage("looking at keys", total=len(jobs))
        known: dict[str, None] = {}
        told = []
        for job, keys in zip(jobs, self.tasks.map(partitions.read_keys, [(job,) for job in jobs]), strict=True):
            told.append(replace(job, keys=tuple(known)))
            known.update(dict.fromkeys(keys))
        return told

    def _folder(self, number: int) -> Path:
        return self.spool / f"partition-{number:05}"

    def _sampled_languages(self, n_documents: int) -> dict[str, int]:
        """Return the languages of a sample of the documents, the same that one process would look at."""
        step, jobs, before = sampling_step(n_documents), [], 0
        for i, facts in enumerate(self._read):
            here = facts["tally"]["documents"]
            if (first := -before % step) < here:
                jobs.append((self._folder(i), facts["documents"], first, step))
            before += here
        self.bar.stage("looking at languages", total=len(jobs))
        found = self.tasks.map(partitions.sample_texts, jobs)
        return count_languages([text for texts in found for text in texts])

    def inputs(self) -> tuple[Input, ...]:
        """Return the names of what was read, with hashes."""
        return tuple(Input(*entry) for facts in self._read for entry in facts["inputs"])

    # -- words ---------------------------------------------------------------------------

    def count_words(
        self,
        slices: Slices,
        inside: npt.NDArray[np.bool_],  # noqa: ARG002 - workers find that out from the dates
        *,
        least: Callable[[int], int],
        needed: Collection[str],
    ) -> CountedWords:
        """Count the words of documents inside the slices; those too rare to matter share an id."""
        n_partitions = len(self._read)
        self.places = [Place(self._folder(i), self.work, i, slices) for i in range(n_partitions)]
        n_buckets = 1 + sum(facts["words"] for facts in self._read) // BUCKET_WORDS
        self.bar.stage("counting words", total=2 * n_partitions + n_buckets)
        counted = self.map(partitions.count_words, n_buckets)
        n_numbers, n_tokens = (sum(numbers) for numbers in zip(*counted, strict=True))
        jobs = [(self.work, n_partitions, bucket, least(n_tokens), tuple(needed)) for bucket in range(n_buckets)]
        rare = self.tasks.map(partitions.merge_bucket, jobs)
        words, counts = self._number_words(n_buckets)
        counts[0], counts[partitions.RARE] = n_numbers, sum(tokens for _, tokens in rare)
        self.map(partitions.map_words)
        return CountedWords(ClusterIds(self, 0, counts), words, n_numbers, sum(different for different, _ in rare))

    def _number_words(self, n_buckets: int) -> tuple[list[str], npt.NDArray[np.int64]]:
        """Give ids to the words that matter, and write these for the workers; return the words and their counts."""
        paths = [self.work / f"bucket-{bucket:05}" for bucket in range(n_buckets)]
        found = pl.read_parquet(paths, glob=False)
        wholes = found.group_by("whole").agg(pl.col("count").sum()).sort("whole")
        wholes = wholes.with_row_index("id", offset=partitions.RARE + 1)
        numbered = found.select("word", "whole").join(wholes.select("whole", "id"), on="whole")
        with partitions.complete(self.work / "words") as path:
            numbered.select("word", "id").sort("word").write_parquet(path)
        counts = np.concatenate([np.zeros(partitions.RARE + 1, dtype=np.int64), wholes["count"].to_numpy()])
        return ["", "", *wholes["whole"].to_list()], counts

    # -- what the ids of all stages share ------------------------------------------------

    def map(self, task: Callable[..., Any], *options: Any) -> list[Any]:
        """Return the result of a task for each partition."""
        return self.tasks.map(task, [(place, *options) for place in self.places])

    def add(self, task: Callable[..., Any], add_up: Callable[[Sequence[Any]], Any], *options: Any) -> Any:
        """Return Dask's promise of the sum of a task's results for all partitions."""
        return self.tasks.add(task, [(place, *options) for place in self.places], add_up)

    def share(self, name: str, **arrays: npt.ArrayLike) -> Path:
        """Write arrays for all workers; return their file."""
        with partitions.complete(self.work / name) as path, path.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        return self.work / name


class ClusterIds:
    """Word ids in files of partitions, after some joining of phrases."""

    def __init__(self, text: ClusterText, stage: int, counts: npt.NDArray[np.int64]) -> None:
        self._text, self._stage, self._counts = text, stage, counts

    def stage(self, name: str, passes: int) -> None:
        """Begin a stage that reads the ids `passes` times."""
        self._text.bar.stage(name, total=passes * len(self._text.places))

    def counts(self, n_ids: int) -> npt.NDArray[np.int64]:
        """Count how often each id occurs."""
        return padded(self._counts, n_ids)

    def count_pairs(self, shape: pairs.PairShape, floor: int) -> pairs.PairCounts:
        """Count the pairs that may occur at least `floor` times."""
        text, shared = self._text, self._share(shape)
        sketch = text.add(partitions.bound_pairs, pairs.add_sketches, self._stage, shared)
        counted = text.add(partitions.count_pairs, pairs.add_pairs, self._stage, shared, floor, sketch)
        found: pairs.PairCounts = text.tasks.get(counted)
        return found

    def join(self, shape: pairs.PairShape, joins: pairs.Joins) -> ClusterIds:
        """Return the ids with pairs joined into phrases, and close these."""
        text = self._text
        shared = text.share(f"joins-{self._stage}", **joins._asdict())
        n_words = max(len(shape.role), int(joins.phrase_id.max(initial=0)) + 1)
        counted = text.add(partitions.join_pairs, add_arrays, self._stage, self._share(shape), shared, n_words)
        joined = ClusterIds(text, self._stage + 1, text.tasks.get(counted))
        for place in text.places:
            place.remove(self._stage)
        return joined

    def _share(self, shape: pairs.PairShape) -> Path:
        return self._text.share(f"shape-{self._stage}", **shape._asdict())

    def vocabulary_words(self, new_id: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Count the words of the vocabulary in each document, and all of its words."""
        counted = self._text.map(partitions.vocabulary_words, self._stage, self._share_vocabulary(new_id))
        self._documents = [len(lengths) for lengths, _ in counted]
        lengths, all_words = zip(*counted, strict=True)
        return np.concatenate(lengths), np.concatenate(all_words)

    def write_tokens(self, writer: Writer, new_id: npt.NDArray[np.int32], places: TokenPlaces) -> npt.NDArray[np.int32]:
        """Write the tokens of the vocabulary by slices; return how often each word occurs in each.

        Every partition has its tokens by slices in a file; each file of the corpus is then written by one task from
        pieces of them. So no file has two writers, which some shared storage cannot handle.
        """
        text = self._text
        counted = text.add(
            partitions.sort_tokens, add_arrays, self._stage, self._share_vocabulary(new_id), places.n_words
        )
        borders = np.r_[0, np.cumsum(self._documents)]
        sizes = np.array([places.of_documents(*ends).sizes() for ends in pairwise(borders)])  # (partitions, slices)
        lengths = shards.shard_sizes(places.n_tokens)
        names = [f"{name}.npy" for name in shards.shard_names("tokens", len(lengths))]
        jobs = []
        for name, ends in zip(names, pairwise(accumulate(lengths, initial=0)), strict=True):
            listed = text.work / f"pieces-{name}"
            partitions.save_array(listed, pieces_between(sizes, *ends))
            jobs.append((writer.folder / name, text.work, places.dtype.str, listed))
        text.bar.stage("writing files", total=len(jobs))
        writer.sealed |= dict(zip(names, text.tasks.map(partitions.write_shard, jobs), strict=True))
        counts: npt.NDArray[np.int32] = text.tasks.get(counted)
        return counts

    def _share_vocabulary(self, new_id: npt.NDArray[np.int32]) -> Path:
        path = self._text.work / "vocabulary"
        partitions.save_array(path, new_id)
        return path


def pieces_between(sizes: npt.NDArray[np.int64], first: int, last: int) -> npt.NDArray[np.int64]:
    """Return the pieces that a range of tokens is made of: partition, beginning there, and length, ``(3, pieces)``.

    Tokens are in order of slices, and within a slice in order of partitions; `sizes` tells how many tokens partitions
    have in slices, ``(partitions, slices)``. The first and the last piece may be cut.
    """
    partition = np.broadcast_to(np.arange(len(sizes))[:, None], sizes.shape).T.ravel()
    begin = (np.cumsum(sizes, axis=1) - sizes).T.ravel()
    before = np.r_[0, np.cumsum(sizes.T.ravel())]  # tokens before each piece
    low, high = np.maximum(before[:-1], first), np.minimum(before[1:], last)
    inside = np.flatnonzero(high > low)
    return np.stack([partition, begin + low - before[:-1], high - low])[:, inside]


def add_arrays(arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the sum of arrays of one shape."""
    return reduce(np.add, arrays)
