"""The text of a corpus on this machine: read in one go, its ids in one stream; `cluster` does the same on many."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import numpy.typing as npt

from driftword.basics.progress import Progress
from driftword.corpus.slices import Slices
from driftword.corpus.tokens import BREAK, mend
from driftword.preparing import pairs
from driftword.preparing.id_stream import IdStream
from driftword.preparing.ingest import Ingestion
from driftword.preparing.languages import LanguageFilter
from driftword.preparing.text_stages import CountedWords, ReadingRequest, ReadText
from driftword.preparing.token_writer import TokenPlaces, count_vocabulary_words, write_by_slice
from driftword.preparing.workers import Workers
from driftword.sources.opening import Input, Source, inputs_of
from driftword.storage.shards import ShardWriter


class LocalText:
    """A source that is read on this machine; see `text_stages`."""

    def __init__(self, spool: Path, workers: Workers, bar: Progress) -> None:
        self._spool, self._workers, self._bar = spool, workers, bar

    def read(self, source: Source, request: ReadingRequest) -> ReadText:
        """Read all rows; raise `SourceError` if they cannot make a corpus."""
        language = None if request.language is None else LanguageFilter(request.language)
        self._source = source
        self._ingestion = ingestion = Ingestion(
            self._spool, request.rule, time_format=request.time_format, language=language, workers=self._workers,
            bar=self._bar,
        )  # fmt: skip
        report = ingestion.read(source, request.text, request.time, skip_bad_dates=request.skip_bad_dates)
        return ReadText(
            ingestion.text, ingestion.time, ingestion.rule, report, ingestion.days, ingestion.stream.lengths,
            ingestion.documents,
        )  # fmt: skip

    def count_words(
        self,
        slices: Slices,  # noqa: ARG002 - where the text is elsewhere, they are laid there
        inside: npt.NDArray[np.bool_],
        *,
        least: Callable[[int], int],  # noqa: ARG002 - all words fit into the memory of the machine that read them
        needed: Collection[str],  # noqa: ARG002
    ) -> CountedWords:
        """Count the words of documents inside the slices; every one has an id."""
        stream, words = self._ingestion.stream, self._ingestion.words
        stream = stream if inside.all() else stream.select(inside)
        n_numbers = int(stream.counts(len(words))[0])
        stream = mend_line_breaks(stream, words)
        return CountedWords(LocalIds(stream, self._workers, self._bar), words, n_numbers)

    def inputs(self) -> tuple[Input, ...]:
        """Name what was read, with hashes."""
        return inputs_of(self._source, self._ingestion.digest)


def mend_line_breaks(stream: IdStream, words: list[str]) -> IdStream:
    """Give words that were broken at the end of a line the id of the whole word."""
    broken = [number for number, word in enumerate(words) if BREAK in word]
    if not broken:
        return stream
    counts = dict(zip(words, stream.counts(len(words)).tolist(), strict=True))
    ids = {word: number for number, word in enumerate(words)}
    new_id = np.arange(len(words), dtype=np.uint32)
    for number in broken:
        whole = mend(words[number], counts)
        if whole not in ids:
            ids[whole] = number
            words[number] = whole
        else:
            new_id[number] = ids[whole]
    return stream.map(new_id)


class LocalIds:
    """A stream of word ids, the threads that work on it, and a bar that shows how far they are."""

    def __init__(self, stream: IdStream, workers: Workers, bar: Progress | None = None) -> None:
        self.stream, self._workers, self._bar = stream, workers, bar or Progress()

    def stage(self, name: str, passes: int) -> None:
        """Begin a stage that reads the stream so many times."""
        self._bar.stage(name, total=passes * max(int(self.stream.lengths.sum()), 1))

    def _progress(self, read: int) -> None:
        self._bar.update(more=read)

    def counts(self, n_ids: int) -> npt.NDArray[np.int64]:
        """Count how often each id occurs."""
        return self.stream.counts(n_ids)

    def count_pairs(self, shape: pairs.PairShape, floor: int) -> pairs.PairCounts:
        """Count the pairs that may occur at least `floor` times."""
        sketch = pairs.bound_pairs(self.stream, shape, workers=self._workers, progress=self._progress)
        return pairs.count_pairs(self.stream, shape, sketch, floor, workers=self._workers, progress=self._progress)

    def join(self, shape: pairs.PairShape, joins: pairs.Joins) -> LocalIds:
        """Return the ids with pairs joined into phrases; these are closed."""
        joined = pairs.join_pairs(self.stream, shape, joins, workers=self._workers, progress=self._progress)
        return LocalIds(joined, self._workers, self._bar)

    def vocabulary_words(self, new_id: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Count the words of the vocabulary in each document, and tell which documents have any word at all."""
        return count_vocabulary_words(self.stream, new_id, workers=self._workers, progress=self._progress)

    def write_tokens(self, folder: Path, new_id: npt.NDArray[np.int32], places: TokenPlaces) -> npt.NDArray[np.int32]:
        """Write the tokens of the vocabulary by slices into a folder; return how often each word occurs in each."""
        with ShardWriter(folder, "tokens", places.dtype, places.n_tokens) as file:
            return write_by_slice(
                self.stream, new_id, places, file.write, workers=self._workers, progress=self._progress
            )
