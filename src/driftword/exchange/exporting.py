"""Embeddings in other programs' formats; `importing` reads them back.

A folder with a file for each slice (word2vec, projector) or a single file (parquet, safetensors, numpy), written beside
its place and then moved there, so that it is never incomplete.
"""

from __future__ import annotations

import functools
import json
import math
import os
import struct
from collections.abc import Callable, Iterator, Sequence
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
_SINGLE_FILES: Final = FORMATS[3:]
_LIST: Final = "export.json"  # names what else is in the folder, so that nothing else is ever replaced


def export(
    model: Model | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
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
        if format in _SINGLE_FILES:
            _WRITERS[format](model, partial, slices, min_count)
        else:
            partial.mkdir()
            _WRITERS[format](model, partial, slices, min_count)
            names = sorted(path.name for path in partial.iterdir())
            (partial / _LIST).write_text(json.dumps({"format": format, "files": names}, indent=1), encoding="utf-8")
        put_in_place(partial, lock.target)
    return target


def _check_free(target: Path, *, overwrite: bool) -> None:
    """Refuse to replace anything without being told to, and whatever no export wrote."""
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


def _each_slice(
    model: Model, slices: list[int], min_count: int
) -> Iterator[tuple[int, str, list[int], npt.NDArray[np.float32]]]:
    """Yield the number of each slice, a name for its file, its words as ids, and their vectors."""
    for t in slices:
        ids = np.flatnonzero(model.vocabulary.attested(t, min_count)).tolist()
        name = "".join(c if c.isalnum() or c in "-_." else "-" for c in model.slices.labels[t])
        yield t, name, ids, np.ascontiguousarray(vectors.slice_vectors(model, t)[ids])


def _word2vec(model: Model, out: Path, slices: list[int], min_count: int, *, binary: bool = False) -> None:
    for _, name, ids, rows in _each_slice(model, slices, min_count):
        with (out / f"{name}.{'bin' if binary else 'vec'}").open("wb") as file:
            file.write(f"{len(ids)} {rows.shape[1]}\n".encode())
            for v, vector in zip(ids, rows, strict=True):
                numbers = vector.astype("<f4").tobytes() if binary else " ".join(f"{x:.6g}" for x in vector).encode()
                file.write(model.words[v].replace(" ", "_").encode() + b" " + numbers + b"\n")


def _projector(model: Model, out: Path, slices: list[int], min_count: int) -> None:
    for t, name, ids, rows in _each_slice(model, slices, min_count):
        np.savetxt(out / f"{name}.vectors.tsv", rows, delimiter="\t", fmt="%.6g")
        columns = {"word": [model.words[v] for v in ids], "count": model.vocabulary.count(t, ids)}
        table = pl.DataFrame(columns, schema={"word": pl.String, "count": pl.Int64})
        table.write_csv(out / f"{name}.metadata.tsv", separator="\t")


def _parquet(model: Model, out: Path, slices: list[int], min_count: int) -> None:
    parts = []
    for t, _, ids, rows in _each_slice(model, slices, min_count):
        intercepts = _intercepts(model, [t])
        columns = {
            "word": [model.words[v] for v in ids],
            "slice": [model.slices.labels[t]] * len(ids),
            "count": model.vocabulary.count(t, ids),
            "intercept": [None] * len(ids) if intercepts is None else intercepts[0, ids],
            "vector": rows,
        }
        types = (pl.String, pl.String, pl.Int64, pl.Float32, pl.Array(pl.Float32, rows.shape[1]))
        parts.append(pl.DataFrame(columns, schema=dict(zip(columns, types, strict=True))))
    pl.concat(parts).write_parquet(out)


def _safetensors(model: Model, out: Path, slices: list[int], _: int) -> None:
    """Write the format by hand: the length of a JSON header, the header, the numbers."""
    rows = slices if model.moves else [0]
    others = _arrays(model, slices)
    shapes = {"rho": (len(rows), *model.rho.shape[1:])} | {name: array.shape for name, array in others.items()}
    facts = {"words": list(model.words), "slices": [model.slices.labels[t] for t in slices]}
    header: dict[str, Any] = {"__metadata__": {"driftword": json.dumps(facts, ensure_ascii=False)}}
    end = 0
    for name, shape in shapes.items():
        kind = others.get(name, model.rho).dtype
        begin, end = end, end + math.prod(shape) * kind.itemsize
        header[name] = {"dtype": f"F{8 * kind.itemsize}", "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with out.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for t in rows:  # slice by slice, so that a large model is never in memory as a whole
            file.write(np.ascontiguousarray(model.rho[t]).tobytes())
        for array in others.values():
            file.write(np.ascontiguousarray(array).tobytes())


def _numpy(model: Model, out: Path, slices: list[int], _: int) -> None:
    others: dict[str, Any] = _arrays(model, slices)
    with out.open("wb") as file:
        np.savez(
            file,
            rho=model.rho[slices] if model.moves else model.rho,
            alpha=others.pop("alpha"),
            counts=model.counts[slices],
            words=np.array(model.words),
            slices=np.array([model.slices.labels[t] for t in slices]),
            **others,
        )


def _arrays(model: Model, slices: list[int]) -> dict[str, npt.NDArray[Any]]:
    """Return the context vectors, one set per slice where they differ between slices, and the intercepts, if any."""
    alpha = model.alpha if model.alpha.ndim == 2 else model.alpha[model.context_of[slices]]
    intercepts = _intercepts(model, slices)
    return {"alpha": alpha} | ({} if intercepts is None else {"intercepts": intercepts})


def _intercepts(model: Model, slices: list[int]) -> npt.NDArray[Any] | None:
    """Return the intercepts of some slices, of which a static model has one row for all."""
    if model.intercepts is None:
        return None
    return model.intercepts[slices if len(model.intercepts) == len(model.slices) else [0]]


_WRITERS: Final[dict[str, Callable[[Model, Path, list[int], int], None]]] = {
    "word2vec": _word2vec,
    "word2vec-binary": functools.partial(_word2vec, binary=True),
    "projector": _projector,
    "parquet": _parquet,
    "safetensors": _safetensors,
    "numpy": _numpy,
}
