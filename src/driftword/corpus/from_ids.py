"""Token ids prepared elsewhere, checked, as a corpus in memory or on disk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus.metadata import CorpusMetadata
from driftword.corpus.slices import Slices
from driftword.corpus.splits import SPLITS
from driftword.corpus.subsampling import choose_subsample
from driftword.corpus.tokenized_text import count_by_slice, write_facts
from driftword.sources.opening import Input
from driftword.storage import store

KIND: Final = "corpus"
_LARGEST: Final = 1 << 63  # beyond the numbers that an array of int64 holds


def id_type(n_words: int) -> type[np.uint16] | type[np.uint32]:
    """Return the smallest type that holds the ids of a vocabulary."""
    return np.uint16 if n_words <= 1 << 16 else np.uint32


def write_tables(
    writer: store.Writer,
    words: Sequence[str],
    raw_counts: npt.NDArray[np.int64],
    counts: npt.NDArray[Any],
    slices: Slices,
) -> None:
    """Write the vocabulary and the slices, with the counts that belong to them."""
    vocabulary = pl.DataFrame(
        {"word": list(words), "count": counts.sum(axis=0, dtype=np.int64), "raw_count": raw_counts},
        schema={"word": pl.String, "count": pl.Int64, "raw_count": pl.Int64},
    )
    vocabulary.write_parquet(writer.folder / "vocabulary.parquet")
    slices.table().write_parquet(writer.folder / "slices.parquet")
    writer.array("counts", counts)


@dataclass(frozen=True)
class CheckedIds:
    """Ids prepared elsewhere, checked to fit together: everything that a corpus is made of."""

    arrays: dict[str, npt.NDArray[Any]]
    words: list[str]
    slices: Slices
    metadata: CorpusMetadata

    def write(self, out: str | os.PathLike[str], *, overwrite: bool) -> None:
        """Store them as a corpus."""
        with store.create(out, kind=KIND, overwrite=overwrite) as writer:
            for name, array in self.arrays.items():
                if name not in ("tokens", "counts", "raw_counts"):
                    writer.array(name, array)
            writer.long_array("tokens", self.arrays["tokens"])
            write_tables(writer, self.words, self.arrays["raw_counts"], self.arrays["counts"], self.slices)
            write_facts(writer, self.metadata)


def check_ids(
    words: Sequence[str],
    ids: npt.ArrayLike,
    offsets: npt.ArrayLike,
    *,
    chunk_slice: npt.ArrayLike,
    chunk_split: Sequence[str] | npt.ArrayLike,
    slices: Slices | Sequence[str | int],
    chunk_document: npt.ArrayLike | None,
    groups: Sequence[str],
    chunk_group: npt.ArrayLike | None,
    raw_counts: npt.ArrayLike | None,
    subsample: float | str | None,
    seed: int,
) -> CheckedIds:
    """Check what `Corpus.from_ids` was given."""
    words = checks.word_list("words", words)
    slices = slices if isinstance(slices, Slices) else Slices.from_labels(slices)
    n_words, n_slices = len(words), len(slices)
    if n_words == 0 or n_slices == 0:
        raise OptionError("`words` or `slices` is empty; a corpus needs at least one word and one slice")
    if len(set(words)) < n_words:
        raise OptionError("`words` holds a word twice; every word must be different")
    tokens = _whole(ids, "ids", below=n_words).astype(id_type(n_words))
    borders = _whole(offsets, "offsets", below=len(tokens) + 1).astype(np.int64)
    if len(borders) == 0 or borders[0] != 0 or borders[-1] != len(tokens) or (np.diff(borders) < 0).any():
        raise OptionError(f"`offsets` must rise from 0 to the number of ids, {len(tokens)}")
    n_chunks = len(borders) - 1
    in_slice = _whole(chunk_slice, "chunk_slice", below=n_slices, length=n_chunks).astype(np.int32)
    in_split = _whole(_split_numbers(chunk_split), "chunk_split", below=len(SPLITS), length=n_chunks).astype(np.uint8)
    if chunk_document is None:
        document = np.arange(n_chunks, dtype=np.int64)
    else:
        document = _whole(chunk_document, "chunk_document", below=_LARGEST, length=n_chunks).astype(np.int64)

    counts = count_by_slice(tokens, borders, in_slice, (n_slices, n_words)).astype(np.int32)
    if raw_counts is None:
        raw = counts.sum(axis=0, dtype=np.int64)
    else:
        raw = _whole(raw_counts, "raw_counts", below=_LARGEST // n_words, length=n_words).astype(np.int64)
    names = () if isinstance(groups, tuple) and not groups else tuple(checks.words("groups", groups))
    if (chunk_group is not None) != bool(names):
        raise OptionError("`groups` and `chunk_group` belong together; give both, or none")
    metadata = CorpusMetadata(checks.seed(seed), choose_subsample(subsample, raw), (Input("ids"),), groups=names)
    arrays = {
        "tokens": tokens,
        "offsets": borders,
        "chunk_slice": in_slice,
        "chunk_split": in_split,
        "chunk_document": document,
        "counts": counts,
        "raw_counts": raw,
    }
    if chunk_group is not None:
        arrays["chunk_group"] = _whole(chunk_group, "chunk_group", below=len(names), length=n_chunks).astype(np.int32)
    for array in arrays.values():
        array.setflags(write=False)
    return CheckedIds(arrays, words, slices, metadata)


def _split_numbers(splits: Sequence[str] | npt.ArrayLike) -> npt.ArrayLike:
    values = _array(splits, "chunk_split")
    if values.dtype.kind not in "US":
        return values
    unknown = set(values.tolist()) - set(SPLITS)
    if unknown:
        shown = checks.shown(min(unknown))
        raise OptionError(f"`chunk_split` holds {shown}; the splits are train, valid and test")
    return np.array([SPLITS.index(value) for value in values.tolist()], dtype=np.uint8)


def _array(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """Check a one-dimensional array of anything."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):  # rows of different lengths
        array = np.zeros(())
    if array.ndim != 1:
        raise OptionError(f"`{name}` must be a one-dimensional array of whole numbers")
    return array


def _whole(
    values: npt.ArrayLike, name: str, *, below: int | None = None, length: int | None = None
) -> npt.NDArray[Any]:
    """Check a one-dimensional array of whole numbers from 0 up."""
    array = _array(values, name)
    if array.size and array.dtype.kind not in "iu":
        raise OptionError(f"`{name}` must be a one-dimensional array of whole numbers")
    if length is not None and len(array) != length:
        raise OptionError(f"`{name}` has {len(array)} entries; it must have {length}")
    if array.size and int(array.min()) < 0:
        raise OptionError(f"`{name}` holds {int(array.min())}; it must not hold negative numbers")
    if array.size and below is not None and int(array.max()) >= below:
        raise OptionError(f"`{name}` holds {int(array.max())}; the largest number allowed is {below - 1}")
    return array
