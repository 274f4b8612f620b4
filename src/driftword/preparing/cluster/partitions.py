"""What one worker of a cluster does with one partition of a source.

A partition is some files, in order. It is read once, and what was read is kept as a store, so that an interrupted
preparation need not read it again. Everything else that tasks write is thrown away in the end; each file appears
complete or not at all, under the same name with the same content however many times its task is tried.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import polars as pl
import xxhash

from driftword.basics.errors import SourceError, StoreError
from driftword.basics.polars_faults import as_source_errors
from driftword.corpus.slices import Slices
from driftword.corpus.tokens import BREAK, mend
from driftword.preparing.document_parts import DocumentTable, look_at
from driftword.preparing.id_stream import IdStream
from driftword.preparing.ingest import Ingestion
from driftword.preparing.languages import SAMPLED_CHARACTERS
from driftword.preparing.local_text import LocalIds
from driftword.preparing.pairs import Joins, PairCounts, PairShape, Sketch
from driftword.preparing.text_stages import ReadingRequest, TokenPlaces
from driftword.sources.opening import Source, inputs_of, open_files
from driftword.sources.remote_files import SourceFile
from driftword.storage import store
from driftword.storage.atomic_writes import discard, scratch_folder
from driftword.storage.checksums import sealed_json, unseal_json
from driftword.storage.shards import write_header
from driftword.storage.store import seal_file

KIND: Final = "partition"
#: The id of all words that are too rare to have one of their own.
RARE: Final = 1
_BLOCK: Final = 1 << 22  # values that are copied at a time


# -- reading -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ReadingJob:
    """A partition to be read."""

    folder: Path  # where to keep what was read
    files: tuple[SourceFile, ...]
    name: str  # of the source that the files are a part of; see `open_files`
    root: str
    several: bool
    request: ReadingRequest
    settled: bool  # whether the request says what was noticed at the beginning of the source; see `Ingestion`
    identity: Mapping[str, Any]  # what must be equal for a partition that was kept to be used again
    keys: tuple[str, ...] = ()  # of JSON objects in earlier partitions: these documents have their columns as well

    def open(self) -> Source:
        """Return the files as a source; refuse those that are not here: they are not bad, but elsewhere."""
        for file in self.files:
            if isinstance(file, Path) and not file.exists():
                raise SourceError(
                    f"'{file}' is not on the machine {socket.gethostname()}, where a worker should read it; put the "
                    "source on storage that this process and all workers share, under the same path"
                )
        source = open_files(self.files, self.request.files, root=self.root, name=self.name, several=self.several)
        source.state.keys.update(dict.fromkeys(self.keys))
        return source

    @property
    def skips(self) -> dict[str, bool]:
        """What is to be left out, by the names under which a tally counts it."""
        files = self.request.files
        return {
            "bad_dates": self.request.skip_bad_dates,
            "bad_rows": files.skip_bad_rows,
            "bad_files": files.skip_bad_files,
        }

    def is_own(self, meta: Mapping[str, Any]) -> bool:
        """Tell whether what was kept of a partition is of this very one, read in the same way."""
        return bool(meta.get("identity") == json.loads(json.dumps(self.identity)) and meta.get("keys") == [*self.keys])

    def is_as_asked(self, meta: Mapping[str, Any]) -> bool:
        """Tell whether what was kept leaves out what is to be left out, or had nothing of the kind."""
        kept, tally = meta["skips"], meta["tally"]
        return all(kept[name] == wanted or not tally[name] for name, wanted in self.skips.items())


def read_keys(job: ReadingJob) -> list[str]:
    """Return the keys of the JSON objects of a partition in order of appearance, and keep them."""
    kept = job.folder.with_name(job.folder.name.replace("partition", "keys"))
    with contextlib.suppress(OSError, ValueError):
        facts = unseal_json(kept.read_bytes())
        if job.is_own(facts):
            return list(facts["found"])
    source = job.open()
    with as_source_errors():
        deque(source.frames, maxlen=0)
    with complete(kept) as path:
        path.write_bytes(sealed_json({"identity": job.identity, "keys": job.keys, "found": list(source.state.keys)}))
    return list(source.state.keys)


def read_partition(job: ReadingJob) -> Mapping[str, Any]:
    """Read a partition, unless it was read before, and keep what was read; return the facts in its store."""
    if (kept := _kept(job)) is not None:
        return kept
    source = job.open()
    made = job.folder.with_name(f"{job.folder.name}.{secrets.token_hex(4)}")  # as others may try the same
    with store.create(made, kind=KIND) as writer, as_source_errors():
        read = Ingestion(writer.folder, job.request, settled=job.settled)
        tally = read.read_rows(source)
        read.stream.save(writer.folder / "ids.bin")
        writer.array("lengths", read.stream.lengths)
        writer.array("days", read.days)
        words = pl.DataFrame({"word": read.words}, schema={"word": pl.String})
        words.write_parquet(writer.folder / "words.parquet")
        writer.meta = {
            "identity": job.identity,
            "keys": list(job.keys),
            "skips": job.skips,
            "tally": tally.to_dict(),
            "documents": [path.name for path in read.document_files],
            "text_bytes": read.text_bytes,
            "words": len(read.words),
            "inputs": [[entry.name, entry.sha256] for entry in inputs_of(source, read.digest)],
        }
    with contextlib.suppress(OSError):  # another try of the same task was quicker
        made.rename(job.folder)
    if made.exists():
        discard(made, job.folder)
    return writer.meta


def _kept(job: ReadingJob) -> dict[str, Any] | None:
    """Return the facts of a partition that was read before in the same way; remove one that is of no use."""
    if not job.folder.exists():
        return None
    with contextlib.suppress(StoreError):
        kept = store.open_store(job.folder, kind=KIND)
        if job.is_own(kept.meta) and job.is_as_asked(kept.meta):
            kept.verify()
            return kept.meta
    discard(job.folder, job.folder)
    return None


def sample_texts(folder: Path, parts: Collection[str], first: int, step: int) -> list[str]:
    """Return the beginnings of every `step`-th text of a partition."""
    found: list[str] = []
    for part in parts:
        texts = pl.scan_parquet(folder / part, glob=False).select(pl.col("text").str.slice(0, SAMPLED_CHARACTERS))
        height = int(texts.select(pl.len()).collect().item())
        if first < height:  # of a large source, most files have no text of the sample
            found += texts.collect()["text"].gather_every(step, first).to_list()
        first = (first - height) % step if first < height else first - height
    return found


# -- documents ---------------------------------------------------------------------------


def look_at_documents(folder: Path, parts: Collection[str]) -> tuple[list[int], list[pl.Schema]]:
    """Return how many documents the files of a partition have, and every schema that some of them have."""
    return look_at([folder / part for part in parts])


def write_documents(folder: Path, work: Path, table: DocumentTable) -> dict[str, Any]:
    """Write one file of documents; return its size and checksums."""
    with complete(folder / table.name, work) as path:
        table.write(path)
        return seal_file(path)


# -- the files of the later stages -------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where one partition is: what was read of it, and its files of the later stages."""

    folder: Path  # its store
    work: Path  # a folder for all partitions, whose files are thrown away in the end
    number: int
    slices: Slices  # documents outside them are left out

    def file(self, name: str) -> Path:
        """Return the place of a file of this partition."""
        return self.work / f"{name}-{self.number:05}"

    def slice_of(self) -> npt.NDArray[np.int32]:
        """Return the slice of each document that was read; -1 for those outside."""
        return self.slices.find(np.load(self.folder / "days.npy"))

    @contextlib.contextmanager
    def ids_read(self) -> Iterator[IdStream]:
        """Yield the ids of the documents inside the slices, numbered as the partition numbers its words."""
        with _open_stream(self.folder / "ids.bin", self.folder / "lengths.npy") as stream:
            yield stream.select(self.slice_of() >= 0)

    @contextlib.contextmanager
    def ids(self, stage: int) -> Iterator[LocalIds]:
        """Yield the ids of a stage, numbered as all partitions number their words."""
        with _open_stream(self.file(f"ids-{stage}"), self.file(f"lengths-{stage}")) as stream:
            yield LocalIds(stream)

    def save(self, stream: IdStream, stage: int) -> None:
        """Keep the ids of a stage."""
        save_array(self.file(f"lengths-{stage}"), stream.lengths)
        with complete(self.file(f"ids-{stage}")) as path:
            stream.save(path)

    def remove(self, stage: int) -> None:
        """Remove the ids of a stage, once there is a later one."""
        self.file(f"ids-{stage}").unlink(missing_ok=True)
        self.file(f"lengths-{stage}").unlink(missing_ok=True)


@contextlib.contextmanager
def _open_stream(ids: Path, lengths: Path) -> Iterator[IdStream]:
    with scratch_folder() as scratch:
        stream = IdStream(scratch, ids, np.load(lengths))
        yield stream
        stream.close()


@contextlib.contextmanager
def complete(target: Path, work: Path | None = None) -> Iterator[Path]:
    """Yield a path to write to, in `work`, which then replaces `target`, even if another task writes the same file."""
    partial = (work or target.parent) / f"{target.name}.{secrets.token_hex(4)}"
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def save_array(target: Path, values: npt.NDArray[Any]) -> None:
    """Write an array to a file, whose name is kept as it is."""
    with complete(target) as path, path.open("wb") as file:
        np.save(file, values)


def read_shared(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return arrays that the client wrote for all workers."""
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


# -- words -------------------------------------------------------------------------------


def count_words(place: Place, n_buckets: int) -> tuple[int, int]:
    """Count the words of a partition into a file; return how many tokens are dropped, and how many are words.

    The words are dealt out to buckets in such a way that all forms of a word that is broken at line ends, or written
    with and without hyphens, are in the same one.
    """
    words = pl.read_parquet(place.folder / "words.parquet", glob=False)["word"]
    with place.ids_read() as stream:
        counts = stream.counts(len(words))
    table = pl.DataFrame({"word": words, "count": counts})[1:].filter(pl.col("count") > 0)
    buckets = [_bucket(word, n_buckets) for word in table["word"]] if n_buckets > 1 else [0] * table.height
    table = table.with_columns(pl.Series("bucket", buckets, dtype=pl.UInt32)).sort("bucket", "word")
    with complete(place.file("words")) as path:
        table.write_parquet(path, row_group_size=max(table.height // n_buckets, 1 << 12))
    return int(counts[0]), int(counts[1:].sum())


def _bucket(word: str, n_buckets: int) -> int:
    return xxhash.xxh3_64_intdigest(word.replace(BREAK, "").replace("-", "").encode()) % n_buckets


def merge_bucket(work: Path, n_partitions: int, bucket: int, least: int, needed: Collection[str]) -> tuple[int, int]:
    """Add up the counts of the words of one bucket into a file, and mend those that were broken at line ends.

    The file holds the words that need an id, in all their forms: those that occur at least `least` times, or are
    `needed`. Return how many different words it does not hold, and how many tokens these are.
    """
    paths = [work / f"words-{number:05}" for number in range(n_partitions)]
    found = pl.scan_parquet(paths, glob=False).filter(pl.col("bucket") == bucket)
    table = found.group_by("word").agg(pl.col("count").sum()).collect(engine="streaming")
    broken = table.filter(pl.col("word").str.contains(BREAK, literal=True))["word"].to_list()
    forms = {word.replace(BREAK, joint) for word in broken for joint in ("", "-")}
    counts = Counter(dict(table.filter(pl.col("word").is_in(list(forms))).iter_rows()))
    whole = {word: mend(word, counts.__getitem__) for word in broken}
    table = table.with_columns(pl.col("word").replace(whole).alias("whole"))
    total = pl.col("count").sum().over("whole")
    # A word with a space may also arise as a phrase, however rare it is itself.
    kept = (total >= least) | pl.col("whole").is_in(list(needed)) | pl.col("whole").str.contains(" ", literal=True)
    table = table.with_columns(kept.alias("kept"))
    with complete(work / f"bucket-{bucket:05}") as path:
        table.filter("kept").select("word", "whole", "count").sort("word").write_parquet(path)
    rare = table.filter(~pl.col("kept"))
    return rare["whole"].n_unique(), int(rare["count"].sum())


def map_words(place: Place) -> None:
    """Give the words of a partition the ids that all partitions give them, from the file that the client wrote."""
    words = pl.read_parquet(place.folder / "words.parquet", glob=False)
    known = words.join(pl.read_parquet(place.work / "words", glob=False), on="word", how="left", maintain_order="left")
    new_id = known["id"].fill_null(RARE).to_numpy().astype(np.uint32)
    new_id[0] = 0
    with place.ids_read() as stream:
        place.save(stream.map(new_id), 0)


# -- phrases -----------------------------------------------------------------------------


def _shape(path: Path) -> PairShape:
    arrays = read_shared(path)
    return PairShape(arrays["role"], int(arrays["n_connectors"]))


def bound_pairs(place: Place, stage: int, shape: Path) -> Sketch:
    """Return an upper bound for the count of each pair of a partition."""
    with place.ids(stage) as ids:
        return ids.bound_pairs(_shape(shape))


def count_pairs(place: Place, stage: int, shape: Path, floor: int, sketch: Sketch) -> PairCounts:
    """Count the pairs of a partition whose upper bound reaches `floor`."""
    with place.ids(stage) as ids:
        return ids.count_likely_pairs(_shape(shape), floor, sketch)


def join_pairs(place: Place, stage: int, shape: Path, joins: Path, n_words: int) -> npt.NDArray[np.int64]:
    """Join pairs into phrases; return how often each word then occurs in the partition."""
    with place.ids(stage) as ids:
        joined = ids.join(_shape(shape), Joins(**read_shared(joins))).stream
        place.save(joined, stage + 1)
        return joined.counts(n_words)


# -- tokens ------------------------------------------------------------------------------


def vocabulary_words(place: Place, stage: int, new_id: Path) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Count the words of the vocabulary in each document, and all of its words."""
    with place.ids(stage) as ids:
        lengths, all_words = ids.vocabulary_words(np.load(new_id))
    save_array(place.file("known"), lengths)
    return lengths, all_words


def sort_tokens(place: Place, stage: int, new_id: Path, n_words: int) -> npt.NDArray[np.int32]:
    """Write the tokens of a partition by slices; return how often each word occurs in each slice."""
    slice_of = place.slice_of()
    places = TokenPlaces(slice_of[slice_of >= 0], np.load(place.file("known")), len(place.slices), n_words)
    with place.ids(stage) as ids, complete(place.file("tokens")) as path, path.open("wb") as file:

        def write(position: int, values: npt.NDArray[Any]) -> None:
            file.seek(position * places.dtype.itemsize)
            file.write(values.data)

        return ids.sort_tokens(np.load(new_id), places, write)


def write_shard(target: Path, work: Path, dtype: str, pieces: Path) -> dict[str, Any]:
    """Write one file of tokens, from pieces of the files of partitions; return its size and checksums."""
    with complete(target, work) as path:
        with path.open("wb") as file:
            _copy_pieces(file, work, np.dtype(dtype), np.load(pieces))
        return seal_file(path)


def _copy_pieces(file: BinaryIO, work: Path, kind: np.dtype[Any], pieces: npt.NDArray[np.int64]) -> None:
    partition, begins, lengths = pieces
    write_header(file, kind, int(lengths.sum()))
    for number, begin, length in zip(partition.tolist(), begins.tolist(), lengths.tolist(), strict=True):
        with (work / f"tokens-{number:05}").open("rb") as source:
            source.seek(begin * kind.itemsize)
            for size in (min(_BLOCK, length - done) for done in range(0, length, _BLOCK)):
                data = source.read(size * kind.itemsize)
                if len(data) < size * kind.itemsize:
                    raise OSError(f"{source.name} ends too early")
                file.write(data)
