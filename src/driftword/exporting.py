"""Embeddings in other programs' formats, and back.

A folder of one file per slice (word2vec, projector) or a single file (parquet,
safetensors, numpy), written beside its place and then moved there: never half.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword import store
from driftword.corpus import Slices
from driftword.corpus.slices import At
from driftword.errors import OptionError, SourceError
from driftword.explore import vectors as space
from driftword.model import KIND, Model, Spec, write_model

FORMATS: Final = ("word2vec", "word2vec-binary", "projector", "parquet", "safetensors", "numpy")
_FOLDERS: Final = FORMATS[:3]
_LIST: Final = "export.json"  # names what else is in the folder, so that nothing else is ever replaced


def export(
    model: Model,
    out: str | os.PathLike[str],
    *,
    form: str = "word2vec",
    at: At | Sequence[At] | None = None,
    min_count: int = 0,
    overwrite: bool = False,
) -> Path:
    """Write a model's embeddings in another program's format.

    Parameters
    ----------
    model
        The model.
    out
        Folder (word2vec, projector) or file (the others) to write.
    form
        ``"word2vec"`` (text) or ``"word2vec-binary"``: one file per slice, as gensim loads them, spaces in phrases
        written as ``_``; ``"projector"``: TSV files for TensorFlow's Embedding Projector; ``"parquet"``: a tidy table
        of word, slice, count and vector; ``"safetensors"``; ``"numpy"``: one .npz with rho, alpha, words, slices
        and counts.
    at
        Slices to write; all by default.
    min_count
        Only words that occur so often in a slice; safetensors and numpy hold all words.
    overwrite
        Replace what is at `out`.
    """
    space.choose("format", form, FORMATS)
    target = Path(out)
    store.check_file(target)
    if (target.exists() or target.is_symlink()) and not overwrite:
        raise OptionError(f"'{target}' exists; choose another place or replace it with --overwrite")
    if target.is_dir() and (strange := sorted({p.name for p in target.iterdir()} - _written(target))):
        raise OptionError(f"'{target}' holds '{strange[0]}', which no export wrote; choose another place")
    space.not_negative(min_count=min_count)
    if min_count and form in ("safetensors", "numpy"):
        raise OptionError(f"{form} holds every word of a slice; leave min_count out, or choose another format")
    slices = space.slice_numbers(model, at)
    empty = [t for t in slices if not space.occurring(model, t, min_count).any()]
    if empty:
        raise OptionError(f"no word occurs {min_count} times in '{model.slices.labels[empty[0]]}'; lower min_count")
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    with store.writing(target), store.folders(target):
        try:
            if form in _FOLDERS:
                partial.mkdir()
            _WRITERS[form](model, partial, slices, min_count)
            if form in _FOLDERS:
                names = sorted(path.name for path in partial.iterdir())
                (partial / _LIST).write_text(json.dumps({"format": form, "files": names}, indent=1), encoding="utf-8")
            if target.is_dir() and not target.is_symlink():
                store.swap(partial, target)
            else:
                partial.replace(target)
        finally:
            shutil.rmtree(partial) if partial.is_dir() else partial.unlink(missing_ok=True)
    return target


def _written(folder: Path) -> set[str]:
    """Return the names of the files that an export put into a folder."""
    try:
        return {_LIST, *json.loads((folder / _LIST).read_text(encoding="utf-8"))["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _chosen(model: Model, t: int, min_count: int) -> tuple[list[str], npt.NDArray[np.float32]]:
    places = np.flatnonzero(space.occurring(model, t, min_count))
    return [model.words[v] for v in places], np.ascontiguousarray(space.vectors(model, t)[places])


def _word2vec(model: Model, out: Path, slices: list[int], min_count: int) -> None:
    for t in slices:
        words, vectors = _chosen(model, t, min_count)
        with (out / f"{_file_name(model, t)}.vec").open("w", encoding="utf-8") as file:
            file.write(f"{len(words)} {vectors.shape[1]}\n")
            for word, vector in zip(words, vectors, strict=True):
                file.write(f"{word.replace(' ', '_')} {' '.join(f'{x:.6g}' for x in vector)}\n")


def _word2vec_binary(model: Model, out: Path, slices: list[int], min_count: int) -> None:
    for t in slices:
        words, vectors = _chosen(model, t, min_count)
        with (out / f"{_file_name(model, t)}.bin").open("wb") as file:
            file.write(f"{len(words)} {vectors.shape[1]}\n".encode())
            for word, vector in zip(words, vectors, strict=True):
                file.write(word.replace(" ", "_").encode() + b" " + vector.astype("<f4").tobytes() + b"\n")


def _projector(model: Model, out: Path, slices: list[int], min_count: int) -> None:
    for t in slices:
        words, vectors = _chosen(model, t, min_count)
        np.savetxt(out / f"{_file_name(model, t)}.vectors.tsv", vectors, delimiter="\t", fmt="%.6g")
        counts = model.counts[t][[model.word_index[word] for word in words]]
        table = pl.DataFrame({"word": words, "count": np.asarray(counts, dtype=np.int64)})
        table.write_csv(out / f"{_file_name(model, t)}.metadata.tsv", separator="\t")


def _parquet(model: Model, out: Path, slices: list[int], min_count: int) -> None:
    parts = []
    for t in slices:
        words, vectors = _chosen(model, t, min_count)
        counts = model.counts[t][[model.word_index[word] for word in words]]
        parts.append(
            pl.DataFrame(
                {
                    "word": pl.Series(words, dtype=pl.String),
                    "slice": pl.Series([model.slices.labels[t]] * len(words), dtype=pl.String),
                    "count": np.asarray(counts, dtype=np.int64),
                    "vector": pl.Series(vectors, dtype=pl.Array(pl.Float32, vectors.shape[1])),
                }
            )
        )
    pl.concat(parts).write_parquet(out)


def _safetensors(model: Model, out: Path, slices: list[int], _: int) -> None:
    """Write the format by hand: the length of a JSON header, the header, the numbers."""
    labels = [model.slices.labels[t] for t in slices]
    words = json.dumps({"words": list(model.words), "slices": labels}, ensure_ascii=False)
    header: dict[str, Any] = {"__metadata__": {"driftword": words}}
    rows = slices if len(model.rho) > 1 else [0]
    end = 0
    for name, array, shape in (("rho", model.rho, (len(rows), *model.rho.shape[1:])),
                               ("alpha", model.alpha, model.alpha.shape)):  # fmt: skip
        kind = {"float32": "F32", "float16": "F16", "float64": "F64"}[str(array.dtype)]
        begin, end = end, end + int(np.prod(shape)) * array.itemsize
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with out.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for t in rows:  # slice by slice, so that a large model is never in memory as a whole
            file.write(np.ascontiguousarray(model.rho[t]).tobytes())
        file.write(np.ascontiguousarray(model.alpha).tobytes())


def _numpy(model: Model, out: Path, slices: list[int], _: int) -> None:
    arrays: dict[str, Any] = {
        "rho": model.rho[slices] if len(model.rho) > 1 else model.rho, "alpha": model.alpha,
        "counts": model.counts[slices], "words": np.array(model.words),
        "slices": np.array([model.slices.labels[t] for t in slices]),
    }  # fmt: skip
    with out.open("wb") as file:
        np.savez(file, **arrays)


_WRITERS: Final[dict[str, Callable[[Model, Path, list[int], int], None]]] = {
    "word2vec": _word2vec,
    "word2vec-binary": _word2vec_binary,
    "projector": _projector,
    "parquet": _parquet,
    "safetensors": _safetensors,
    "numpy": _numpy,
}


def _file_name(model: Model, t: int) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in model.slices.labels[t])


@dataclass(frozen=True)
class _Imported:
    words: Sequence[str]
    slices: Slices
    counts: npt.NDArray[np.int32]


def read_word2vec(
    files: Mapping[str | int, str | os.PathLike[str]],
    *,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> Model:
    """Make a model of word2vec files, one per slice, so that aligned embeddings made elsewhere can be explored.

    Parameters
    ----------
    files
        The file of each slice by its label (a year, month or day), in order of time: ``{1990: "1990.vec"}``.
        Text, or binary where the name ends in .bin.
    out
        Where to store the model; None keeps it in memory.
    overwrite
        Replace a model at `out`.

    Notes
    -----
    The files say which words occur in a slice, but not how often. A word that is there counts as often as the
    questions ask for by default (5); one that is not counts 0, and has the vector of the nearest slice that knows it.
    """
    if not files:
        raise OptionError("no files were given; name one for each slice")
    read = [_read_one(Path(path)) for path in files.values()]
    sizes = {vectors.shape[1] for _, vectors in read}
    if len(sizes) > 1:
        raise SourceError(f"the files hold vectors of different lengths ({', '.join(map(str, sorted(sizes)))})")
    words = list(dict.fromkeys(word for here, _ in read for word in here))
    index = {word: v for v, word in enumerate(words)}
    rho = np.zeros((len(read), len(words), sizes.pop()), dtype=np.float32)
    counts = np.zeros(rho.shape[:2], dtype=np.int32)
    for t, (here, vectors) in enumerate(read):
        places = [index[word] for word in here]
        rho[t, places], counts[t, places] = vectors, space.MIN_COUNT
    times = np.arange(len(read))
    for v in np.flatnonzero((counts == 0).any(axis=0)):
        known = times[counts[:, v] > 0]
        rho[:, v] = rho[known[np.abs(times[:, None] - known).argmin(axis=1)], v]
    spec = Spec(model="binned" if len(read) > 1 else "static", dim=rho.shape[2])
    unknown = dict.fromkeys(("corpus", "corpus_path", "citation", "seed", "passes", "threads"))
    made: dict[str, Any] = {**unknown, "engine": "imported", "versions": {}}
    meta: dict[str, Any] = {"spec": asdict(spec), "history": [], "best_pass": None, "provenance": made}
    held = _Imported(words, Slices.from_labels(list(files)), counts)
    alpha = np.zeros(rho.shape[1:], dtype=np.float32)
    if out is not None:
        with store.create(out, kind=KIND, overwrite=overwrite) as writer:
            write_model(writer, held, meta=meta, alpha=alpha, rho=rho)
        return Model.open(out)
    return Model(rho, alpha, corpus={"words": words, "slices": held.slices, "counts": counts}, meta=meta)


def _read_one(path: Path) -> tuple[list[str], npt.NDArray[np.float32]]:
    try:
        with path.open("rb") as file:
            head = file.readline(1 << 16).split()
            if len(head) != 2 or not all(number.isdigit() for number in head):
                raise ValueError("its first line must say how many words and dimensions it has (GloVe's files lack it)")
            count, dim = map(int, head)
            if count * dim > os.fstat(file.fileno()).st_size:
                raise ValueError(f"its first line promises {count:,} words of {dim:,} numbers, more than it can hold")
            read = _read_binary if path.suffix == ".bin" else _read_text
            words, vectors = read(file, count, dim)
    except OSError as error:
        raise SourceError(f"'{path}' cannot be read: {error.strerror or error}") from error
    except (ValueError, UnicodeDecodeError) as error:
        raise SourceError(f"'{path}' is not in word2vec's format: {error}") from error
    words = [word.replace("_", " ") for word in words]
    if len(set(words)) < len(words):
        raise SourceError(f"'{path}' holds a word twice (_ and a space are the same)")
    if not np.isfinite(vectors).all():
        raise SourceError(f"'{path}' holds numbers that are not finite, in the vector of "
                          f"'{words[int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])]}'")  # fmt: skip
    return words, vectors


def _read_text(file: BinaryIO, count: int, dim: int) -> tuple[list[str], npt.NDArray[np.float32]]:
    words, vectors = [], np.empty((count, dim), dtype=np.float32)
    for i in range(count):
        word, *numbers = file.readline().decode("utf-8").rstrip("\n").rsplit(" ", dim)
        if len(numbers) != dim:
            raise ValueError(f"line {i + 2} holds {len(numbers)} numbers and should hold {dim}")
        words.append(word)
        vectors[i] = [float(number) for number in numbers]
    return words, vectors


def _read_binary(file: BinaryIO, count: int, dim: int) -> tuple[list[str], npt.NDArray[np.float32]]:
    words, vectors = [], np.empty((count, dim), dtype=np.float32)
    for i in range(count):
        word = b""
        while (letter := file.read(1)) not in (b" ", b""):
            word += letter if letter != b"\n" else b""
        numbers = file.read(4 * dim)
        if len(numbers) < 4 * dim:
            raise ValueError(f"it ends in word {i + 1} of {count}")
        words.append(word.decode("utf-8"))
        vectors[i] = np.frombuffer(numbers, dtype="<f4")
    return words, vectors
