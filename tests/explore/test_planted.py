"""Changes that were planted in a synthetic text: of meaning, which drift finds, and of frequency, which it ignores."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import driftword as dw

SLICES, GROUPS, WORDS_IN_GROUP, CHUNKS, LENGTH = 8, 40, 10, 1600, 100
WORDS = GROUPS * WORDS_IN_GROUP


def plant(*, exchange: bool) -> tuple[dw.Corpus, npt.NDArray[Any], npt.NDArray[Any]]:
    """Return a text in which some words become rarer, and others take each other's places if so asked."""
    random = np.random.default_rng(0)
    slices = np.sort(random.integers(0, SLICES, CHUNKS))
    topic = random.random((CHUNKS, LENGTH)) < 0.7
    group = np.where(topic, random.integers(0, GROUPS, (CHUNKS, 1)), random.integers(0, GROUPS, (CHUNKS, LENGTH)))
    ids = group * WORDS_IN_GROUP + np.minimum(random.zipf(1.3, group.shape) - 1, WORDS_IN_GROUP - 1)
    chosen = random.permutation(WORDS)[:40]
    thinned, one, other = chosen[:20], chosen[20:30], chosen[30:]
    share = (slices / (SLICES - 1))[:, None]  # of the way, in each slice
    if exchange:
        partner = np.arange(WORDS)
        partner[one], partner[other] = other, one
        ids = np.where(random.random(ids.shape) < share, partner[ids], ids)
    keep = ~(np.isin(ids, thinned) & (random.random(ids.shape) < 0.9 * share))
    corpus = dw.Corpus.from_ids(
        [f"w{i}" for i in range(WORDS)],
        ids[keep],
        np.r_[0, np.cumsum(keep.sum(axis=1))],
        chunk_slice=slices,
        chunk_split=random.choice(3, CHUNKS, p=[0.8, 0.1, 0.1]),
        slices=list(range(2000, 2000 + SLICES)),
    )
    return corpus, thinned, chosen[20:]


def average_precision(table: Any, wanted: npt.NDArray[Any]) -> float:
    hit = np.isin([int(word[1:]) for word in table["word"]], wanted)
    return float((np.cumsum(hit) / np.arange(1, len(hit) + 1))[hit].mean())


@pytest.mark.slow
@pytest.mark.parametrize("exchange", [False, True])
def test_drift_is_of_meaning_and_not_of_frequency(exchange: bool) -> None:
    corpus, thinned, exchanged = plant(exchange=exchange)
    model = dw.fit(corpus, dw.Spec(dim=16, context=4), passes=5)
    rarer = np.asarray(model.intercepts)[-1, thinned] - np.asarray(model.intercepts)[0, thinned]
    assert (rarer < -0.5).mean() > 0.8  # this is where the change of frequency is
    for metric in ("relative", "absolute", "cosine"):
        table = dw.drift(model, metric=metric, between=(2000, 2007), n=WORDS, min_count=0, skip=0)
        chance = len(thinned) / WORDS
        assert average_precision(table, thinned) < 2 * chance, metric
        found = average_precision(table, exchanged)
        assert found > 0.7 if exchange else found < 3 * chance, metric
    first = dw.drift(model, n=20)["word"].to_list()
    assert len(set(first) & {f"w{i}" for i in thinned}) <= 2  # of twenty; one is chance
