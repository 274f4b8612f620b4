"""Embeddings in other programs' formats; `importing` has the way back.

A folder of one file per slice (word2vec, projector) or a single file (parquet,
safetensors, numpy), written beside its place and then moved there: never half.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import ExistsError, OptionError
from driftword.corpus.slices import At
from driftword.explore import vectors
from driftword.models.model import Model, as_model
from driftword.storage.atomic_writes import already_exists, check_file, partial_path, put_in_place, reserved, writing

FORMATS: Final = ("word2vec", "word2vec-binary", "projector", "parquet", "safetensors", "numpy")
_FOLDERS: Final = FORMATS[:3]
_LIST: Final = "export.json"  # names what else is in the folder, so that nothing else is ever replaced


def export(
    model: Model | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    format: str = "word2vec",
    at: At | Sequence[At] | None = None,
    min_count: int = 0,
    group: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a model's embeddings in another program's format.

    Parameters
    ----------
    model
        A model, or its path.
    out
        Folder (word2vec, projector) or file (the other formats) to write.
    format
        ``"word2vec"`` (text) or ``"word2vec-binary"``: one file per slice, as gensim loads them, with spaces in phrases
        written as ``_``; ``"projector"``: TSV files for TensorFlow's Embedding Projector; ``"parquet"``: a tidy table
        of word, slice, count, intercept and vector; ``"safetensors"``: rho, alpha and intercepts; ``"numpy"``: one .npz
        file with those, words, slices and counts. Models without intercepts have none to write.
    at
        Slices to write; all by default.
    min_count
        Only words that occur at least this often in the training text of a slice; safetensors and numpy always hold
        all words.
    group
        Write the embeddings and counts of this group, where the model has groups; by default those of all text. Groups
        share one space, so the files of several can be compared.
    overwrite
        Replace what is at `out`.

    Returns
    -------
    The path that was written.
    """
    model = as_model(model, group)
    format, overwrite = checks.one_of("format", format, FORMATS), checks.flag("overwrite", overwrite)
    target, min_count = checks.path("out", out), checks.whole("min_count", min_count)
    _check_free(target, overwrite=overwrite)
    if min_count and format in ("safetensors", "numpy"):
        raise OptionError(f"The format {format} holds every word of a slice; leave `min_count` out, or choose another")
    slices = vectors.slice_numbers(model, at)
    empty = [t for t in slices if not model.vocabulary.attested(t, min_count).any()]
    if empty:
        label = model.slices.labels[empty[0]]
        raise OptionError(f"No word occurs at least {min_count} times in '{label}'; use a smaller `min_count`")
    with writing(target), reserved(target) as lock, partial_path(lock.target) as partial:
        _check_free(target, overwrite=overwrite)
        if format in _FOLDERS:
            partial.mkdir()
        _WRITERS[format](model, partial, slices, min_count)
        if format in _FOLDERS:
            names = sorted(path.name for path in partial.iterdir())
            (partial / _LIST).write_text(json.dumps({"format": format, "files": names}, indent=1), encoding="utf-8")
        put_in_place(partial, lock.target)
    return target


def _check_free(target: Path, *, overwrite: bool) -> None:
    """Refuse to replace what is not to be replaced, or what no export wrote."""
    check_file(target)
    if (target.exists() or target.is_symlink()) and not overwrite:
        raise already_exists(target)
    if target.is_dir() and (strange := sorted({p.name for p in target.iterdir()} - _exported_files(target))):
        raise ExistsError(f"'{target}' holds '{strange[0]}', which no export wrote; give another `out`")


def _exported_files(folder: Path) -> set[str]:
    """Return the names of the files that an export put into a folder."""
    try:
        return {_LIST, *json.loads((folder / _LIST).read_text(encoding="utf-8"))["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _attested_vectors(model: Model, t: int, min_count: int) -> tuple[list[str], npt.NDArray[np.float32]]:
    words = np.flatnonzero(model.vocabulary.attested(t, min_count))
    return [model.words[v] for v in words], np.ascontiguousarray(vectors.slice_vectors(model, t)[words])


def _word2vec(model: Model, out: Path, slices: list[int], min_count: int) -> None:
    for t in slices:
        words, rows = _attested_vectors(model, t, min_count)
        with (out / f"{_file_name(model, t)}.vec").open("w", encoding="utf-8") as file:
            file.write(f"{len(words)} {rows.shape[1]}\n")
            for word, vector in zip(words, rows, strict=True):
                file.write(f"{word.replace(' ', '_')} {' '.join(f'{x:.6g}' for x in vector)}\n")


def _word2vec_binary(model: Model, out: Path, slices: list[int], min_count: int) -> None:
    for t in slices:
        words, rows = _attested_vectors(model, t, min_count)
        with (out / f"{_file_name(model, t)}.bin").open("wb") as file:
            file.write(f"{len(words)} {rows.shape[1]}\n".encode())
            for word, vector in zip(words, rows, strict=True):
                file.write(word.replace(" ", "_").encode() + b" " + vector.astype("<f4").tobytes() + b"\n")


def _projector(model: Model, out: Path, slices: list[int], min_count: int) -> None:
    for t in slices:
        words, rows = _attested_vectors(model, t, min_count)
        np.savetxt(out / f"{_file_name(model, t)}.vectors.tsv", rows, delimiter="\t", fmt="%.6g")
        ids = [model.word_index[word] for word in words]
        counts = model.vocabulary.count(t, ids)
        table = pl.DataFrame({"word": words, "count": counts}, schema={"word": pl.String, "count": pl.Int64})
        table.write_csv(out / f"{_file_name(model, t)}.metadata.tsv", separator="\t")


def _parquet(model: Model, out: Path, slices: list[int], min_count: int) -> None:
    parts = []
    for t in slices:
        words, rows = _attested_vectors(model, t, min_count)
        ids = [model.word_index[word] for word in words]
        counts = model.vocabulary.count(t, ids)
        intercepts = _intercepts(model, [t])
        parts.append(
            pl.DataFrame(
                {
                    "word": pl.Series(words, dtype=pl.String),
                    "slice": pl.Series([model.slices.labels[t]] * len(words), dtype=pl.String),
                    "count": pl.Series(counts, dtype=pl.Int64),
                    "intercept": pl.Series(
                        [None] * len(words) if intercepts is None else intercepts[0, ids], dtype=pl.Float32
                    ),
                    "vector": pl.Series(rows, dtype=pl.Array(pl.Float32, rows.shape[1])),
                }
            )
        )
    pl.concat(parts).write_parquet(out)


def _safetensors(model: Model, out: Path, slices: list[int], _: int) -> None:
    """Write the format by hand: the length of a JSON header, the header, the numbers."""
    labels = [model.slices.labels[t] for t in slices]
    words = json.dumps({"words": list(model.words), "slices": labels}, ensure_ascii=False)
    header: dict[str, Any] = {"__metadata__": {"driftword": words}}
    rows = slices if model.moves else [0]
    intercepts = _intercepts(model, slices)
    end = 0
    alpha = _alpha(model, slices)
    arrays = [("rho", model.rho, (len(rows), *model.rho.shape[1:])), ("alpha", alpha, alpha.shape)]
    if intercepts is not None:
        arrays.append(("intercepts", intercepts, intercepts.shape))
    for name, array, shape in arrays:
        kind = {"float32": "F32", "float16": "F16", "float64": "F64"}[str(array.dtype)]
        begin, end = end, end + int(np.prod(shape)) * array.itemsize
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with out.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for t in rows:  # slice by slice, so that a large model is never in memory as a whole
            file.write(np.ascontiguousarray(model.rho[t]).tobytes())
        file.write(np.ascontiguousarray(alpha).tobytes())
        if intercepts is not None:
            file.write(np.ascontiguousarray(intercepts).tobytes())


def _alpha(model: Model, slices: list[int]) -> npt.NDArray[Any]:
    """Return the context vectors, those of every slice where not all have the same."""
    return model.alpha if model.alpha.ndim == 2 else model.alpha[model.context_of[slices]]


def _numpy(model: Model, out: Path, slices: list[int], _: int) -> None:
    arrays: dict[str, Any] = {
        "rho": model.rho[slices] if model.moves else model.rho, "alpha": _alpha(model, slices),
        "counts": model.counts[slices], "words": np.array(model.words),
        "slices": np.array([model.slices.labels[t] for t in slices]),
    }  # fmt: skip
    intercepts = _intercepts(model, slices)
    if intercepts is not None:
        arrays["intercepts"] = intercepts
    with out.open("wb") as file:
        np.savez(file, **arrays)


def _intercepts(model: Model, slices: list[int]) -> npt.NDArray[Any] | None:
    """Return the intercepts of some slices, of which a static model has one row for all."""
    if model.intercepts is None:
        return None
    return model.intercepts[slices if len(model.intercepts) == len(model.slices) else [0]]


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
