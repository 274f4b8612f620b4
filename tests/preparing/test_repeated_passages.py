"""Passages that documents share, beside a plain loop over all runs."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from driftword.preparing import repeated_passages
from driftword.preparing.repeated_passages import RUN, SHARED, share_repeated


def text(seed: int = 0) -> tuple[Any, ...]:
    """Return documents of two chunks each, some with the same passage of 30 words, in three slices."""
    random, formula = np.random.default_rng(seed), np.arange(900, 930)
    tokens, document, slice_of, sizes = [], [], [], []
    for d in range(60):
        for part in range(2):
            words = random.integers(0, 800, random.integers(5, 120))
            if part and d % 3 == 2 and d % 2:
                words = np.r_[words, formula]
            tokens.append(words)
            sizes.append(len(words))
            document.append(d)
            slice_of.append(d % 3)
    return np.concatenate(tokens), np.r_[0, np.cumsum(sizes)], np.array(document), np.array(slice_of)


def shares(tokens: Any, offsets: Any, document: Any, slice_of: Any, copies: Any = ()) -> dict[str, float]:
    return share_repeated(
        tokens, offsets, document=document, slice_of=slice_of, labels=["a", "b", "c"], copies=np.array(copies)
    )


@pytest.mark.parametrize("batch", [64, 1 << 22])
def test_all_runs_are_counted_as_a_plain_loop_counts_them(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_passages, "_BATCH", batch)
    tokens, offsets, document, slice_of = text()
    copies = np.array([4])
    found = shares(tokens, offsets, document, slice_of, copies)
    runs, where = [], defaultdict(set)
    for i, (begin, end) in enumerate(itertools.pairwise(offsets.tolist())):
        for at in range(begin, end - RUN + 1):
            if document[i] not in copies:
                run = tuple(tokens[at : at + RUN].tolist())
                runs.append((run, slice_of[i]))
                where[run].add(document[i])
    for t, label in enumerate("abc"):
        own = [len(where[run]) >= SHARED for run, s in runs if s == t]
        assert found[label] == pytest.approx(np.mean(own), abs=1e-4)
    assert found["a"] == found["b"] == 0
    assert found["c"] > 0.05


def test_a_sample_of_runs_says_nearly_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, offsets, document, slice_of = text()
    every = {}
    for rate in (1, 4):
        monkeypatch.setattr(repeated_passages, "_MOST", -(-len(tokens) // rate))
        every[rate] = shares(tokens, offsets, document, slice_of)["c"]
    assert every[4] == pytest.approx(every[1], abs=0.08)
    assert shares(tokens[:5], np.array([0, 5]), document[:1], slice_of[:1]) == {}
