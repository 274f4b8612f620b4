"""Baselines: models like others, the same twice, and each step beside a plain computation."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftword as dw
from driftword.baselines.aligned_slices import aligned, left_factors, mutual_information
from driftword.baselines.assembling import EXPONENT, RATES, Task
from driftword.baselines.shared_space import fit_slice
from driftword.basics import randomness
from explore.test_planted import WORDS_IN_GROUP, plant

METHODS = dw.baselines.__all__
SMALL = {"dim": 8, "context": 4}


def task(corpus: dw.Corpus, **options: Any) -> Task:
    given = {"dim": 6, "context": 4, "passes": 2, "seed": 3, "threads": 1, "out": None, "overwrite": False,
             "show_progress": False, **options}  # fmt: skip
    return Task("compass", corpus, **given)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_question_can_be_asked_of_a_baseline(method: str, small: dw.Corpus, tmp_path: Path) -> None:
    fit = getattr(dw.baselines, method)
    model = fit(small, **SMALL, out=tmp_path / "m")
    assert np.array_equal(model.rho, dw.Model.open(tmp_path / "m").rho)
    assert model.rho.shape == (10, len(small.words), 8)
    assert np.linalg.norm(model.rho, axis=2) == pytest.approx(1, abs=1e-5)
    assert (model.method, model.predicts) == (method, False)
    near = dw.neighbors(model, "ship", at=1855, n=3)
    assert near["slice"].to_list() == ["1855"] * 3
    for table in (
        dw.drift(model, min_count=1, skip=0), dw.changes(model, "ship"), dw.trajectory(model, "ship"),
        dw.equivalents(model, "ship", at=1850, min_count=0), dw.similarity(model, "ship", ["wheat"]),
    ):  # fmt: skip
        assert not table.is_empty()
    assert method in dw.plot.trajectory(model, "ship").to_json()
    assert dw.significance(model, corpus=small, permutations=39)["word"].len() == len(small.words)
    page = dw.report(model, out=tmp_path / "r.html", words=["ship"], n=2, min_count=1, skip=0).read_text()
    assert f"Embeddings of &#39;{method}&#39;" in page
    assert 'path class="interval' not in page
    assert method in model.summary()["model"]
    assert method in repr(model)
    for refused in (
        lambda: dw.evaluate(model, corpus=small),
        lambda: dw.neighbors(model, "ship", at=1855, intervals=True),
        lambda: dw.trajectory(model, "ship", intervals=True),
    ):
        with pytest.raises(dw.OptionError, match=f"Embeddings of '{method}' give no probabilities"):
            refused()
    with pytest.raises(dw.ExistsError):
        fit(small, **SMALL, out=tmp_path / "m")


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_embeddings_on_any_number_of_threads(method: str, small: dw.Corpus) -> None:
    fit = getattr(dw.baselines, method)
    threads = {} if method == "incremental" else {"threads": 3}
    once, again, other = fit(small, **SMALL, **threads), fit(small, **SMALL), fit(small, **SMALL, seed=1)
    assert np.array_equal(once.rho, again.rho)
    if method != "ppmi":  # which finds the same factors, whatever it begins with
        assert not np.allclose(once.rho, other.rho)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_exchanged_words_move_to_the_topic_of_their_partners(method: str) -> None:
    corpus, _, exchanged = plant(exchange=True)
    # The compass needs more passes to leave the vectors of all text.
    model = getattr(dw.baselines, method)(corpus, dim=50, context=4, **({"passes": 20} if method == "compass" else {}))
    often = [v for v in exchanged if np.asarray(corpus.train_counts)[[0, -1], v].min() >= 10]
    partner = dict(zip(exchanged, np.roll(exchanged, 10), strict=True))

    def in_topic(word: int, topic: int, at: int) -> float:
        near = dw.neighbors(model, f"w{word}", at=at, n=5)["word"]
        return float(np.mean([int(name[1:]) // WORDS_IN_GROUP == topic // WORDS_IN_GROUP for name in near]))

    before, after = (np.mean([in_topic(v, partner[v], at) for v in often]) for at in (2000, 2007))
    kept, lost = (np.mean([in_topic(v, v, at) for v in often]) for at in (2000, 2007))
    assert len(often) >= 5
    assert after > before + 0.3
    assert kept > lost + 0.3


def test_slices_are_rotated_onto_those_before() -> None:
    random = np.random.default_rng(0)
    space = random.normal(size=(50, 6)).astype(np.float32)
    turns = [np.linalg.qr(random.normal(size=(6, 6)))[0].astype(np.float32) for _ in range(4)]
    present = random.random((4, 50)) < 0.7
    found = np.stack([space @ turn * here[:, None] for turn, here in zip(turns, present, strict=True)])
    found[2] = 0  # a slice without any text
    present[2] = False
    rotated = aligned(found.copy(), present)
    for t in (1, 3):
        assert rotated[t][present[t]] == pytest.approx((space @ turns[0])[present[t]], abs=1e-4)
    assert not rotated[2].any()


def test_words_that_do_not_occur_keep_the_vector_that_they_had() -> None:
    ids = np.array([0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 2, 3] * 20)
    corpus = dw.Corpus.from_ids(
        ["a", "b", "c", "d"], ids.reshape(-1, 4).ravel(), np.arange(0, len(ids) + 1, 4),
        chunk_slice=np.arange(60) % 3, chunk_split=np.zeros(60, dtype=int), slices=[2000, 2001, 2002], subsample=None,
    )  # fmt: skip
    model = dw.baselines.procrustes(corpus, dim=3, context=2)
    assert np.array_equal(model["a", 2001], model["a", 2000])
    assert np.array_equal(model["c", 2000], model["c", 2001])
    assert not np.array_equal(model["a", 2002], model["a", 2001])


def test_mutual_information_is_that_of_a_plain_computation(small: dw.Corpus) -> None:
    asked = task(small)
    ids, offsets = asked.ids(4, 1)
    pairs: Counter[tuple[int, int]] = Counter()
    for begin, end in pairwise(offsets):
        for i in range(begin, end):
            for j in range(max(begin, i - 2), min(end, i + 3)):
                if i != j:
                    pairs[int(ids[i]), int(ids[j])] += 1.0 if abs(i - j) == 1 else 0.5  # type: ignore[assignment]
    of_word: Counter[int] = Counter()
    for (one, _), weight in pairs.items():
        of_word[one] += weight
    smoothed = {word: weight**EXPONENT for word, weight in of_word.items()}
    found = mutual_information(asked, 4).toarray()
    for one in range(len(small.words)):
        for other in range(len(small.words)):
            expected = of_word[one] * smoothed.get(other, 0) / sum(smoothed.values())
            weight = pairs[one, other]
            assert found[one, other] == pytest.approx(max(log(weight / expected), 0) if weight else 0)


def test_the_largest_factors_are_found() -> None:
    from scipy.sparse import csr_array

    random = np.random.default_rng(0)
    matrix = random.random((60, 60)) * (random.random((60, 60)) < 0.3)
    found = left_factors(csr_array(matrix), 5, np.random.default_rng(1))
    exact = np.linalg.svd(matrix)[0][:, :5]
    first = abs(found[:, 0] @ exact[:, 0])
    assert first == pytest.approx(1, abs=1e-4)
    assert np.linalg.norm(found.T @ matrix) == pytest.approx(np.linalg.norm(exact.T @ matrix), rel=0.01)


@pytest.mark.slow
def test_fixed_targets_are_fitted_as_in_a_plain_computation(small: dw.Corpus) -> None:
    asked, t = task(small), 2
    random = np.random.default_rng(0)
    inputs, targets = (random.normal(size=(len(small.words), 6)).astype(np.float32) for _ in range(2))
    counts = np.asarray(small.train_counts)[t]
    chances = np.cumsum(counts.astype(np.float64) ** EXPONENT)
    chances /= chances[-1]
    expected = inputs.astype(np.float64)
    rates = np.linspace(*RATES, 3)
    for number in range(2):
        ids, offsets = asked.ids(t, number + 1)
        key, draw = randomness.key(3, "baseline", t, number), 0
        for begin, end in pairwise(offsets):
            for i in range(begin, end):
                rate = rates[number] + (rates[number + 1] - rates[number]) * i / len(ids)
                draw += 1
                reach = 1 + randomness.mix(key ^ draw) % 2
                around = [int(ids[j]) for j in range(max(begin, i - reach), min(end, i + reach + 1)) if j != i]
                hidden, step = expected[around].mean(axis=0), np.zeros(6)
                for n in range(asked.spec.negatives + 1):
                    word = int(ids[i])
                    if n:
                        draw += 1
                        word = int(np.searchsorted(chances, (randomness.mix(key ^ draw) >> 11) / 2**53))
                        if word == ids[i]:
                            continue
                    step += rate * ((n == 0) - 1 / (1 + np.exp(-hidden @ targets[word]))) * targets[word]
                for word in around:
                    expected[word] += step
    assert fit_slice(asked, t, inputs, targets) == pytest.approx(expected, abs=1e-4)


def test_what_is_missing_is_said(small: dw.Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(dw.OptionError, match=r"install gensim: pip install 'driftword\[baselines\]'"):
        dw.baselines.compass(small)
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(dw.OptionError, match=r"install SciPy: pip install 'driftword\[baselines\]'"):
        dw.baselines.ppmi(small, dim=5)
    with pytest.raises(dw.OptionError, match=r"words are too few for 100 factors; give a smaller `dim`"):
        dw.baselines.ppmi(small)


def test_shuffled_dates_are_on_the_record(small: dw.Corpus) -> None:
    model = dw.baselines.ppmi(small.shuffle_dates(5), dim=5)
    assert model.provenance.shuffled_dates == 5
    assert "shuffled" in model.summary()["dates"]
