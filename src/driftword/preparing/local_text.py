"""The text of a corpus on this machine: read in one go, its ids in one stream; `cluster` does the same on many."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from driftword.basics.progress import Progress
from driftword.basics.workers import Workers
from driftword.corpus.slices import Slices
from driftword.corpus.tokens import BREAK, mend
from driftword.preparing import pairs
from driftword.preparing.document_parts import DocumentParts, look_at
from driftword.preparing.id_stream import Batch, Documents, IdStream
from driftword.preparing.ingest import Ingestion
from driftword.preparing.text_stages import CountedWords, ReadingRequest, ReadText, TokenPlaces
from driftword.sources.opening import Input, Source, inputs_of
from driftword.storage.shards import ShardWriter
from driftword.storage.store import Writer

Result = TypeVar("Result")
State = TypeVar("State")


class LocalText:
    """A source that is read on this machine; see `text_stages`."""

    def __init__(self, spool: Path, workers: Workers, bar: Progress) -> None:
        self._spool, self._workers, self._bar = spool, workers, bar

    def read(self, source: Source, request: ReadingRequest) -> ReadText:
        """Read all rows; raise `SourceError` if they cannot make a corpus."""
        self._source = source
        self._ingestion = read = Ingestion(self._spool, request, workers=self._workers, bar=self._bar)
        report = read.read(source)
        self._documents = DocumentParts(read.document_files, *look_at(read.document_files), text_bytes=read.text_bytes)
        return ReadText(
            read.text, read.time, read.rule, report, read.days, read.stream.lengths, self._documents.columns
        )

    def store_documents(self, writer: Writer, slices: Slices, inside: npt.NDArray[np.bool_]) -> Callable[[], None]:
        """Begin to store the documents inside the slices; return a function that waits until they are stored."""

        def store() -> None:
            for table in self._documents.divide(slices, inside):
                table.write(writer.folder / table.name)

        return self._workers.submit(store).result

    def count_words(self, slices: Slices, inside: npt.NDArray[np.bool_], **_least_and_needed: Any) -> CountedWords:  # noqa: ARG002
        """Count the words of documents inside the slices; here, where all of them fit into memory, each has an id."""
        words = self._ingestion.words
        stream = self._ingestion.stream.select(inside)
        n_numbers = int(stream.counts(len(words))[0])
        return CountedWords(LocalIds(mend_line_breaks(stream, words), self._workers, self._bar), words, n_numbers)

    def inputs(self) -> tuple[Input, ...]:
        """Return the names of what was read, with hashes."""
        return inputs_of(self._source, self._ingestion.digest)


def mend_line_breaks(stream: IdStream, words: list[str]) -> IdStream:
    """Give words that were broken at the end of a line the id of the whole word."""
    broken = [number for number, word in enumerate(words) if BREAK in word]
    if not broken:
        return stream
    counts = Counter(dict(zip(words, stream.counts(len(words)).tolist(), strict=True)))
    ids = {word: number for number, word in enumerate(words)}
    new_id = np.arange(len(words), dtype=np.uint32)
    for number in broken:
        whole = mend(words[number], counts.__getitem__)
        if whole not in ids:
            ids[whole] = number
            words[number] = whole
        else:
            new_id[number] = ids[whole]
    return stream.map(new_id)


class LocalIds:
    """A stream of word ids, the threads that work on its batches, and a bar that shows how far they are."""

    def __init__(self, stream: IdStream, workers: Workers | None = None, bar: Progress | None = None) -> None:
        self.stream, self._workers, self._bar = stream, workers or Workers(1), bar or Progress()

    def stage(self, name: str, passes: int) -> None:
        """Begin a stage that reads the stream `passes` times."""
        self._bar.stage(name, total=passes * max(int(self.stream.lengths.sum()), 1))

    def _each(self, task: Callable[[Batch], Result]) -> Iterator[Result]:
        """Yield the result of a task for each batch, in order."""
        for read, result in self._workers.map(lambda batch: (len(batch.ids), task(batch)), self.stream.batches()):
            yield result
            self._bar.update(more=read)

    def _gather(self, make: Callable[[], State], add: Callable[[State, Batch], None]) -> list[State]:
        """Return what the threads have gathered from all batches, each of them in a state of its own."""
        free: SimpleQueue[State] = SimpleQueue()
        for _ in range(self._workers.threads):
            free.put(make())

        def task(batch: Batch) -> None:
            own = free.get()
            try:
                add(own, batch)
            finally:
                free.put(own)

        deque(self._each(task), maxlen=0)
        return [free.get() for _ in range(self._workers.threads)]

    # -- phrases -------------------------------------------------------------------------

    def counts(self, n_ids: int) -> npt.NDArray[np.int64]:
        """Count how often each id occurs."""
        return self.stream.counts(n_ids)

    def count_pairs(self, shape: pairs.PairShape, floor: int) -> pairs.PairCounts:
        """Count the pairs that may occur at least `floor` times."""
        return self.count_likely_pairs(shape, floor, self.bound_pairs(shape))

    def bound_pairs(self, shape: pairs.PairShape) -> pairs.Sketch:
        """Count pairs by hash alone: an upper bound for each of them."""
        from driftword.preparing import phrase_kernels as kernels  # Numba loads only where it is used

        sketches = self._gather(
            lambda: np.zeros(1 << pairs.SKETCH_BITS, dtype=np.uint32),
            lambda sketch, batch: kernels.sketch_pairs(batch, shape, sketch),
        )
        return pairs.add_sketches(sketches)

    def count_likely_pairs(self, shape: pairs.PairShape, floor: int, sketch: pairs.Sketch) -> pairs.PairCounts:
        """Count the pairs whose upper bound reaches `floor`."""
        counters = self._gather(
            pairs.PairCounter, lambda counter, batch: counter.add(batch, shape, sketch=sketch, floor=floor)
        )
        return pairs.add_pairs([counter.counts() for counter in counters])

    def join(self, shape: pairs.PairShape, joins: pairs.Joins) -> LocalIds:
        """Return the ids with pairs joined into phrases, and close these."""
        from driftword.preparing import phrase_kernels as kernels

        n = len(joins.pair)
        table = pairs.HashTable.make(1 << max(4, (2 * n).bit_length()), joins.pair, np.arange(n))

        def join(batch: Batch) -> Documents:
            ids, ends = np.empty_like(batch.ids), np.empty_like(batch.ends)
            written = kernels.join_pairs(batch, shape, table, joins, ids, ends)
            return ids[:written], np.diff(ends, prepend=0)

        return LocalIds(self.stream.replace(self._each(join)), self._workers, self._bar)

    # -- tokens --------------------------------------------------------------------------

    def vocabulary_words(self, new_id: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Count the words of the vocabulary in each document, and all of its words."""
        from driftword.corpus import token_kernels as kernels

        lengths = np.empty(len(self.stream.lengths), dtype=np.int64)
        all_words = np.empty(len(lengths), dtype=np.int64)

        def count(batch: Batch) -> None:
            here = slice(batch.first, batch.first + len(batch.ends))
            kernels.words_of_documents(batch, new_id, lengths[here], all_words[here])

        deque(self._each(count), maxlen=0)
        return lengths, all_words

    def write_tokens(self, writer: Writer, new_id: npt.NDArray[np.int32], places: TokenPlaces) -> npt.NDArray[np.int32]:
        """Write the tokens of the vocabulary by slices; return how often each word occurs in each."""
        with ShardWriter(writer.folder, "tokens", places.dtype, places.n_tokens) as file:
            return self.sort_tokens(new_id, places, file.write)

    def sort_tokens(
        self, new_id: npt.NDArray[np.int32], places: TokenPlaces, write: Callable[[int, npt.NDArray[Any]], None]
    ) -> npt.NDArray[np.int32]:
        """Write the tokens by slices; `write` takes a position and tokens. Return the counts of words in slices."""
        from driftword.corpus import token_kernels as kernels

        def sort(batch: Batch) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
            """Return the words of a batch by slices, and where each slice begins."""
            here = places.of_documents(batch.first, batch.first + len(batch.ends))
            begin = np.r_[0, np.cumsum(here.sizes())]
            words = np.empty(begin[-1], dtype=places.dtype)
            kernels.sort_by_slice(batch, here.slice_of, new_id, begin[:-1].copy(), words)
            return words, begin

        counts = np.zeros((places.n_slices, places.n_words), dtype=np.int32)
        cursor = np.r_[0, np.cumsum(places.sizes())]  # behind what was written of each slice
        for words, begin in self._each(sort):
            for t in np.flatnonzero(np.diff(begin)):
                part = words[begin[t] : begin[t + 1]]
                kernels.add_counts(part, counts[t])
                write(int(cursor[t]), part)
                cursor[t] += len(part)
        return counts
