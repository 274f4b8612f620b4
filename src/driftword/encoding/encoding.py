"""Encoding the occurrences of words, in parts that stay when the work is interrupted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl
import xxhash

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.basics.progress import progress
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.encoding.encoder import Encoder
from driftword.models.usage import KIND, Encoding, Usage
from driftword.storage import atomic_writes, store
from driftword.uses.brought_vectors import of_corpus
from driftword.uses.drawn_occurrences import WIDTH, occurrences

CONTROLS: Final = 30
_PART: Final = 512  # occurrences that are lost, at most, by an interruption
_LARGEST: Final = 6e4  # number that half precision holds


def encode(
    corpus: Corpus | str | os.PathLike[str],
    words: str | Sequence[str],
    *,
    encoder: str | os.PathLike[str],
    n: int | None = 1_000,
    seed: int = 0,
    width: int = WIDTH,
    controls: int = CONTROLS,
    layers: int = 4,
    pool: str = "word",
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    device: str | None = None,
    threads: int | None = None,
    show_progress: bool | None = None,
) -> Usage:
    """Make vectors of the occurrences of words with an encoder, for `significance`, `senses`, `evidence` and others.

    Parameters
    ----------
    corpus
        A corpus, or its path.
    words
        A word of its vocabulary, or several.
    encoder
        The folder of an encoder in the format of Hugging Face, with safetensors and a tokenizer.json; or the name of
        one in its cache on this machine. Nothing is downloaded, and no code of an encoder is run.
    n
        Number of occurrences of each word, drawn at random; None for all.
    seed
        Seed of the choice.
    width
        Characters of text on either side of the word that the encoder sees.
    controls
        Number of other words, drawn at random, that are encoded as well: what all of them do at a time is no change of
        one. Without them, words may seem to change where the text as a whole does.
    layers
        The mean of so many of its last layers.
    pool
        ``"word"``: the vector is that of the word; ``"text"``: of all that the encoder sees.
    out
        Where to store the vectors; None keeps them in memory. An interrupted encoding goes on where it was if it is
        asked for again.
    overwrite
        Replace vectors at `out`.
    device
        Where it runs, such as ``"cuda:1"``; by default a GPU, where PyTorch sees one.
    threads
        Number of threads on a processor; by default as many as PyTorch takes.
    show_progress
        Show a progress bar; by default in a terminal only.
    """
    text, place = as_corpus(corpus), checks.optional(checks.path, "out", out)
    if place is not None:
        store.check_free(place, kind=KIND, overwrite=checks.flag("overwrite", overwrite))
    if not text.has_documents:
        raise OptionError("This corpus was made of ids, so it has no texts that an encoder could read")
    used = Encoder(
        encoder, layers=checks.whole("layers", layers, least=1), pool=pool,
        device=checks.optional(checks.text, "device", device),
        threads=checks.threads(threads),
    )  # fmt: skip
    with progress(show=checks.show_progress(show_progress)) as bar:
        bar.stage("reading the texts")
        table = occurrences(text, words, n=n, seed=seed, width=width, controls=controls)
        parts = _Parts(place, _name(text, table, used))
        bar.stage("encoding", total=table.height)
        vectors = [
            _encoded(table[first : first + _PART], first, used, parts, bar) for first in range(0, table.height, _PART)
        ]
    encoding: Encoding = {
        "encoder": used.name, "checksum": used.checksum, "layers": used.layers, "pool": used.pool,
    }  # fmt: skip
    made = of_corpus(table, np.concatenate(vectors), text, encoding)
    if place is None:
        return made
    stored = made.save(place, overwrite=overwrite)
    parts.remove()
    return stored


def _encoded(table: pl.DataFrame, first: int, encoder: Encoder, parts: _Parts, bar: Any) -> npt.NDArray[np.float16]:
    """Return the vectors of some occurrences, as they were kept or made now."""
    found = parts.read(first, table.height)
    if found is None:
        rows = encoder.encode(table["text"].to_list(), table["begin"].to_numpy(), table["end"].to_numpy())
        found = rows.clip(-_LARGEST, _LARGEST).astype(np.float16)
        parts.keep(first, found)
    bar.update(more=table.height)
    return found


class _Parts:
    """What was encoded so far, in a hidden folder beside its final place."""

    def __init__(self, place: Path | None, name: str) -> None:
        self._pattern = "" if place is None else f".{place.name}.*.parts"
        self._folder = None if place is None else place.absolute().parent / f".{place.name}.{name}.parts"

    def read(self, first: int, size: int) -> npt.NDArray[np.float16] | None:
        """Return a part, if it was kept and is whole."""
        if self._folder is None:
            return None
        try:
            found = np.load(self._folder / f"{first}.npy", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        whole = found.dtype == np.float16 and found.ndim == 2 and len(found) == size and np.isfinite(found).all()
        return found if whole else None

    def keep(self, first: int, rows: npt.NDArray[np.float16]) -> None:
        """Keep a part."""
        if self._folder is not None:
            with atomic_writes.writing(self._folder):
                self._folder.mkdir(parents=True, exist_ok=True)
                with atomic_writes.replacing(self._folder / f"{first}.npy") as partial, partial.open("wb") as file:
                    np.save(file, rows, allow_pickle=False)

    def remove(self) -> None:
        """Remove the parts, also of encodings that were given up."""
        if self._folder is not None:
            for folder in self._folder.parent.glob(self._pattern):
                shutil.rmtree(folder, ignore_errors=True)


def _name(corpus: Corpus, table: pl.DataFrame, encoder: Encoder) -> str:
    """Return a name that is the same for the same occurrences and the same encoder only."""
    facts = (corpus.fingerprint, encoder.checksum, encoder.layers, encoder.pool)
    sum_of = xxhash.xxh3_64(repr(facts).encode())
    for column in ("text", "begin", "position"):
        sum_of.update(repr(table[column].to_list()).encode())
    return sum_of.hexdigest()
