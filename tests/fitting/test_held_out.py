from __future__ import annotations

import numpy as np
import pytest

import driftword as dw
from driftword.engines import make_engine
from driftword.engines.parameters import initial_parameters
from driftword.fitting.held_out import HeldOut, Scores, mean_and_error, measure_contexts


@pytest.fixture(scope="module")
def scores(small: dw.Corpus) -> Scores:
    held_out = HeldOut(small, "test")
    parameters = initial_parameters(len(small.words), 8, seed=0, initial_scale=0.1, initial_accumulator=0.01)
    return held_out.score(make_engine("cpu", parameters, held_out.sampler, threads=1), context=4)


def test_standard_errors_are_over_documents() -> None:
    random = np.random.default_rng(0)
    errors, means = [], []
    for _ in range(400):
        effect = random.normal(size=40)
        document = np.repeat(np.arange(40), random.integers(5, 60, 40))
        values = effect[document] + 0.1 * random.normal(size=len(document))
        mean, error = mean_and_error(values, document)
        means.append(mean)
        errors.append(error)
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.15)
    assert np.isnan(mean_and_error(np.ones(3), np.zeros(3, dtype=int))[1])


def test_a_summary_is_of_all_positions_or_of_some(scores: Scores) -> None:
    whole = scores.summary()
    assert whole["L"] == pytest.approx((scores.positive + scores.negative).mean())
    assert whole["positions"] == len(scores.word)
    assert whole["documents"] == len(np.unique(scores.document))
    for name, values in (("L_pos", scores.positive), ("L_neg", scores.negative)):
        assert (whole[name], whole[f"{name}_se"]) == pytest.approx(mean_and_error(values, scores.document))
    assert scores.summary(np.ones(len(scores.word), dtype=bool)) == whole
    some = scores.slice_of == 3
    part = scores.summary(some)
    assert part["L_pos"] == pytest.approx(scores.positive[some].mean())
    assert part["documents"] == len(np.unique(scores.document[some])) < whole["documents"]
    assert np.isnan(scores.summary(np.zeros(len(scores.word), dtype=bool))["L"])


def test_every_model_is_scored_against_the_same_negatives(small: dw.Corpus) -> None:
    """With embeddings that do not depend on the word, the negatives cannot matter; with others they repeat."""
    held_out = HeldOut(small, "test")
    flat = initial_parameters(len(small.words), 8, seed=0, initial_scale=0.1, initial_accumulator=0.01)
    flat.rho[:] = 0
    found = held_out.score(make_engine("cpu", flat, held_out.sampler, threads=1), context=4)
    np.testing.assert_allclose(found.positive, np.log(0.5), rtol=1e-6)
    np.testing.assert_allclose(found.negative, 20 * np.log(0.5), rtol=1e-6)
    other = HeldOut(small, "test")
    assert (other.key, other.text.position.tolist()) == (held_out.key, held_out.text.position.tolist())


@pytest.mark.parametrize("half_window", [1, 3])
def test_contexts_are_as_long_as_they_are_on_average(half_window: int) -> None:
    lengths = [1, 2, 3, 9, 40]
    corpus = dw.Corpus.from_ids(
        ["a", "b"], [0] * sum(lengths), np.r_[0, np.cumsum(lengths)], chunk_slice=[0] * 5, chunk_split=["train"] * 5,
        slices=[1900],
    )  # fmt: skip
    sizes = [sum(0 < abs(i - j) <= half_window for j in range(length)) for length in lengths for i in range(length)]
    found = measure_contexts(corpus, half_window)
    assert found.size == pytest.approx(np.mean(sizes))
    assert found.frequencies.sum() == pytest.approx(1)


def test_of_a_long_split_whole_documents_are_scored(sotu: dw.Corpus) -> None:
    whole, part = HeldOut(sotu, "valid"), HeldOut(sotu, "valid", most=40_000)
    assert 20_000 < len(part.text.ids) < 60_000 < len(whole.text.ids)
    chosen, every = (set(sotu.chunk_document[text.text.chunk].tolist()) for text in (part, whole))
    assert chosen < every
    in_chosen = np.isin(sotu.chunk_document[whole.text.chunk], sorted(chosen))
    np.testing.assert_array_equal(part.text.ids, whole.text.select(in_chosen).ids)
    np.testing.assert_array_equal(HeldOut(sotu, "valid", most=1e9).text.ids, whole.text.ids)
