"""Threads of preparation: results in order, few in memory, errors told, and the same corpus whatever their number."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import driftword as dw
from driftword.basics.workers import Workers
from driftword.preparing import id_stream, ingest


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_results_come_in_order_and_few_items_are_taken_early(threads: int) -> None:
    taken: list[int] = []

    def items() -> object:
        for i in range(50):
            taken.append(i)
            yield i

    def task(i: int) -> int:
        time.sleep(0.002 * (i % 3))
        return i * i

    with Workers(threads) as workers:
        for n, result in enumerate(workers.map(task, items())):  # type: ignore[arg-type]
            assert result == n * n
            assert len(taken) <= n + 1 + threads


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_thread_is_that_of_the_caller(threads: int) -> None:
    def task(i: int) -> int:
        if i == 5:
            raise ValueError("five")
        return i

    with Workers(threads) as workers:
        with pytest.raises(ValueError, match="five"):
            list(workers.map(task, range(20)))
        with pytest.raises(ValueError, match="five"):
            workers.submit(task, 5).result()


def documents(n: int = 150) -> pl.DataFrame:
    """Return texts in no order of dates, with phrases, broken words, numbers and letters of other alphabets."""
    random = np.random.default_rng(3)
    words = ["harbour", "Harbour", "ship", "of", "the", "security", "council", "naïve", "1914", "ein-\nbruch", "Größe"]
    rows = []
    for i in range(n):
        text = [words[j] for j in random.integers(0, len(words), 80)]
        text[10:13] = ["united", "nations", "charter"]
        rows.append(
            {"text": " ".join([*text, f"w{i % 37}"]), "year": int(random.integers(1950, 1960)), "by": f"s{i % 5}"}
        )
    return pl.DataFrame(rows)


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "meta.json"}


@pytest.mark.slow
def test_the_corpus_is_the_same_whatever_the_number_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_stream, "BATCH_TOKENS", 700)  # many batches, and many pieces of each
    monkeypatch.setattr(ingest, "_PIECE_BYTES", 3_000)
    made = {}
    for threads in (1, 2, 5):
        corpus = dw.prepare(documents(), out=tmp_path / f"{threads}.corpus", phrase_min_count=5, threads=threads)
        assert "united nations charter" in corpus.words
        made[threads] = (corpus.fingerprint, files(tmp_path / f"{threads}.corpus"))
    assert made[1] == made[2] == made[5]


def test_a_tokenizer_of_a_user_is_called_in_one_thread(tmp_path: Path) -> None:
    callers = set()

    def split(text: str) -> list[str]:
        callers.add(threading.get_ident())
        return text.split()

    dw.prepare(documents(), out=tmp_path / "c.corpus", tokens=split, threads=4)
    assert callers == {threading.get_ident()}


def test_a_process_that_may_use_one_core_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    assert Workers().threads == 1
    monkeypatch.delattr(os, "sched_getaffinity")
    assert Workers().threads == 16
