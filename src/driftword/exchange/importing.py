"""Models from embeddings made elsewhere, on which every question, figure and page then works."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt

from driftword.basics import checks, system_calls
from driftword.basics.errors import OptionError, SourceError
from driftword.corpus import Slices
from driftword.corpus.vocabulary import UNKNOWN, Vocabulary
from driftword.models.model import Model
from driftword.models.provenance import Provenance
from driftword.models.spec import Spec

_BY_SLICE: Final = "give the vectors of each slice by its label, such as {1990: keyed_vectors}"
_LONGEST: Final = 10_000  # bytes of a word
_LONGEST_NUMBER: Final = 50
_Vectors = tuple[list[str], npt.NDArray[np.float32]]


def read_word2vec(
    files: Mapping[str | int, str | os.PathLike[str]],
    *,
    align: bool = False,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> Model:
    """Make a model of word2vec files, one per slice, so that embeddings made elsewhere can be explored.

    Parameters
    ----------
    files
        The file of each slice by its label, in order of time: ``{"1990-1999": "1990s.vec", "2000-2009": "2000s.vec"}``.
        A label is a year, a range of years, a decade, a month or a day. Files are text, or binary where the name ends
        in .bin.
    align
        Rotate the vectors of each slice onto those of the one before. Needed where slices were fitted on their own.
    out, overwrite
        Where to store the model, and whether to replace one that is there; by default it is kept in memory.

    Returns
    -------
    The model. The files say which words occur in a slice, but not how often, so its counts are unknown: tables show
    them as null, and a word that is in a file counts as attested. A word that is missing from a file has the vector
    of the nearest slice that has it, and is marked as interpolated there.
    """
    if not isinstance(files, Mapping):
        raise OptionError(
            f"`files` is {checks.shown(files)}; name the file of each slice, such as {{1990: '1990.vec'}}"
        )
    if not files:
        raise OptionError("`files` is empty; name a file for each slice")
    paths = [checks.path("files", path) for path in files.values()]
    slices = Slices.from_labels(list(files))
    return _model(slices, [_read_one(path) for path in paths], align=align, out=out, overwrite=overwrite)


def from_vectors(
    vectors: Mapping[str | int, Any],
    *,
    align: bool = False,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> Model:
    """Make a model of vectors in memory, such as gensim's `KeyedVectors` of several slices.

    Parameters
    ----------
    vectors
        The vectors of each slice by its label, in order of time: gensim's `KeyedVectors`, a fitted `Word2Vec` or
        `FastText`, or a dictionary from words to vectors.
    align, out, overwrite
        As in `read_word2vec`.

    Returns
    -------
    The model. As with `read_word2vec`, its counts are unknown.
    """
    if not isinstance(vectors, Mapping) or not vectors:
        raise OptionError(f"`vectors` is {checks.shown(vectors)}; {_BY_SLICE}")
    slices = Slices.from_labels(list(vectors))
    contents = [_from_memory(label, given) for label, given in zip(slices.labels, vectors.values(), strict=True)]
    return _model(slices, contents, align=align, out=out, overwrite=overwrite)


def _model(slices: Slices, contents: list[_Vectors], *, align: Any, out: Any, overwrite: Any) -> Model:
    """Put the vectors of all slices together."""
    out = checks.optional(checks.path, "out", out)
    align, overwrite = checks.flag("align", align), checks.flag("overwrite", overwrite)
    sizes = {rows.shape[1] for _, rows in contents}
    if len(sizes) > 1:
        raise SourceError(f"The slices have vectors of different lengths ({', '.join(map(str, sorted(sizes)))})")
    words = list(dict.fromkeys(word for names, _ in contents for word in names))
    index = {word: v for v, word in enumerate(words)}
    rho = np.zeros((len(contents), len(words), sizes.pop()), dtype=np.float32)
    counts = np.zeros(rho.shape[:2], dtype=np.int32)
    for t, (names, rows) in enumerate(contents):
        ids = [index[word] for word in names]
        rho[t, ids], counts[t, ids] = rows, UNKNOWN
    if align:
        from driftword.baselines.aligned_slices import aligned

        rho = aligned(rho, counts != 0)
    times = np.arange(len(contents))
    for v in np.flatnonzero((counts == 0).any(axis=0)):
        present = times[counts[:, v] != 0]
        rho[:, v] = rho[present[np.abs(times[:, None] - present).argmin(axis=1)], v]
    model = Model(
        rho,
        np.zeros(rho.shape[1:], dtype=np.float32),
        vocabulary=Vocabulary(tuple(words), slices, counts, counts),
        spec=Spec(model="binned" if len(contents) > 1 else "static", dim=rho.shape[2]),
        provenance=Provenance(engine="imported"),
    )
    return model if out is None else model.save(out, overwrite=overwrite)


def _from_memory(label: str, given: Any) -> _Vectors:
    """Return words and vectors of gensim's objects, or of a dictionary."""
    given = getattr(given, "wv", given)
    where = f"`vectors` of {checks.quoted(label)}"
    if isinstance(given, Mapping):
        names, rows = list(given), list(given.values())
    elif hasattr(given, "index_to_key") and hasattr(given, "vectors"):
        names, rows = list(given.index_to_key), given.vectors
    else:
        raise OptionError(f"{where} is {checks.shown(given)}; give gensim's KeyedVectors, or a dictionary")
    try:
        matrix = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{where} holds something other than vectors of one length") from error
    if matrix.ndim != 2 or not matrix.size or len(matrix) != len(names):
        raise OptionError(f"{where} holds no vectors, or not one for each word")
    return _cleaned(where, [checks.text("words", name) for name in names], matrix)


def _cleaned(where: str, words: list[str], vectors: npt.NDArray[np.float32]) -> _Vectors:
    """Return words with spaces in phrases, each once, and vectors that are numbers."""
    words = [word.replace("_", " ") for word in words]
    if len(set(words)) < len(words):
        raise SourceError(f"{where} holds a word twice (_ and a space are the same)")
    if not np.isfinite(vectors).all():
        first = words[int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])]
        raise SourceError(f"{where} holds numbers that are not finite, in the vector of {checks.quoted(first)}")
    return words, vectors


def _read_one(path: Path) -> _Vectors:
    try:
        with open(path, "rb", opener=system_calls.open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("it is not a file")
            head = file.readline(1 << 16).split()
            if len(head) != 2 or not all(number.isdigit() for number in head):
                raise ValueError("its first line must say how many words and dimensions it has (GloVe's files lack it)")
            count, dim = map(int, head)
            if count * (dim + 1) > os.fstat(file.fileno()).st_size:
                raise ValueError(f"its first line promises {count:,} words of {dim:,} numbers, more than it can hold")
            read = _read_binary if path.suffix == ".bin" else _read_text
            vectors = np.empty((count, dim), dtype=np.float32)
            words = [read(file, vectors, i) for i in range(count)]
    except OSError as error:
        raise SourceError(f"'{path}' cannot be read: {error.strerror or error}") from error
    except (ValueError, UnicodeDecodeError) as error:
        raise SourceError(f"'{path}' is not in word2vec's format: {error}") from error
    return _cleaned(f"'{path}'", words, vectors)


def _read_text(file: BinaryIO, vectors: npt.NDArray[np.float32], i: int) -> str:
    """Read a line into a row, and return its word."""
    dim = vectors.shape[1]
    line = file.readline(_LONGEST + _LONGEST_NUMBER * dim)
    word, *numbers = line.decode("utf-8").rstrip("\n").rsplit(" ", dim)
    if len(numbers) != dim:
        raise ValueError(f"line {i + 2} holds {len(numbers)} numbers and should hold {dim}")
    vectors[i] = [float(number) for number in numbers]
    return word


def _read_binary(file: BinaryIO, vectors: npt.NDArray[np.float32], i: int) -> str:
    word = bytearray()
    while (letter := file.read(1)) not in (b" ", b""):
        word += letter if letter != b"\n" else b""
        if len(word) > _LONGEST:
            raise ValueError(f"word {i + 1} is longer than {_LONGEST:,} letters")
    numbers = file.read(vectors[i].nbytes)
    if len(numbers) < vectors[i].nbytes:
        raise ValueError(f"it ends in word {i + 1} of {len(vectors)}")
    vectors[i] = np.frombuffer(numbers, dtype="<f4")
    return word.decode("utf-8")
