"""Stores that somebody changed together with their checksums: refused in a sentence, or answered, and nothing else."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftword as dw
from conftest import ROOT

sys.path.append(str(ROOT / "benchmarks"))

from torture.resealed import change_array, change_fact, change_table, read_meta, reseal


def copy(store: Any, folder: Path) -> Path:
    path = folder / "changed"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(str(store.path), path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("change", [change_fact, change_array, change_table])
def test_a_changed_store_is_refused_or_answers(
    change: Any, small: dw.Corpus, small_model: dw.Model, tmp_path: Path
) -> None:
    refused = 0
    for number in range(60):
        rng, is_model = random.Random(number), number % 2
        path = copy(small_model if is_model else small, tmp_path)
        done = change(path, rng)
        try:
            if is_model:
                model = dw.Model.open(path)
                model.summary()
                dw.neighbors(model, "ship")
                dw.drift(model, min_count=1, skip=0)
            else:
                corpus = dw.Corpus.open(path)
                corpus.summary()
                corpus.passages("ship", n=2)
                corpus.sample("train")
        except dw.DriftwordError:
            refused += 1
        except Exception as error:
            pytest.fail(f"{done}: {error!r}")
    assert refused > 10


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("tokens", lambda ids: np.where(np.arange(len(ids)) == 7, 60_000, ids).astype(ids.dtype)),
        ("tokens", lambda ids: ids.astype(np.float32)),
        ("offsets", lambda offsets: offsets[::-1].copy()),
        ("offsets", lambda offsets: np.where(np.arange(len(offsets)) == 1, -5, offsets)),
        ("chunk_slice", lambda slices: slices + 100),
    ],
)
def test_no_kernel_gets_a_position_beyond_its_arrays(name: str, change: Any, small: dw.Corpus, tmp_path: Path) -> None:
    path = copy(small, tmp_path)
    file = path / f"{name}.npy"
    np.save(file, change(np.load(file)))
    reseal(path, read_meta(path), file)
    with pytest.raises(dw.StoreError, match=rf"{name}.npy has other numbers than it should have"):
        dw.Corpus.open(path).sample("train", at="1850")
    with pytest.raises(dw.StoreError, match="is damaged"):
        dw.fit(path, dw.Spec(dim=4), passes=1)
