"""Scores of documents and expected contexts, beside a slow twin."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from twin import Twin

import driftword as dw
from driftword.basics.randomness import bits, key, uniform
from driftword.fitting.static_fit import static_vectors
from driftword.inference import document_scores
from driftword.inference.document_scores import DocumentScores, background_positions, expected_context, smooth
from driftword.inference.occurrences import read_documents
from driftword.models.static_vectors import StaticVectors


@pytest.fixture(scope="module")
def text(small: dw.Corpus) -> Any:
    return read_documents(small, 2)


@pytest.fixture(scope="module")
def vectors(small: dw.Corpus, small_model: dw.Model) -> StaticVectors:
    return static_vectors(small_model, small, threads=2)


@pytest.fixture(scope="module")
def twin(small: dw.Corpus, vectors: StaticVectors, small_model: dw.Model) -> Twin:
    return Twin(small, vectors, small_model.spec.context // 2)


@pytest.fixture(scope="module")
def scores(vectors: StaticVectors, small_model: dw.Model, text: Any) -> DocumentScores:
    with ThreadPoolExecutor(2) as pool:
        half = small_model.spec.context // 2
        return DocumentScores(vectors, text, half_window=half, seed=0, pool=pool, threads=2)


def test_the_text_is_what_a_pass_sees(sotu: dw.Corpus) -> None:
    text = read_documents(sotu, 2)
    parts = [sotu.sample(split, pass_number=1) for split in ("train", "valid", "test")]
    chunks = np.concatenate([part[2] for part in parts])
    lengths = np.concatenate([np.diff(part[1]) for part in parts])
    assert len(text.ids) == sum(len(part[0]) for part in parts)
    by_document = np.bincount(sotu.chunk_document[chunks], weights=lengths)
    np.testing.assert_array_equal(text.sizes, by_document[text.document])
    np.testing.assert_array_equal(
        np.bincount(text.ids, minlength=len(sotu.words)),
        np.bincount(np.concatenate([part[0] for part in parts]), minlength=len(sotu.words)),
    )
    order, begin = text.by_word
    for v in (0, 17, 4_000):
        np.testing.assert_array_equal(order[begin[v] : begin[v + 1]], np.flatnonzero(text.ids == v))


def test_a_document_in_two_slices_counts_in_each() -> None:
    corpus = dw.Corpus.from_ids(
        ["a", "b"], [0, 1, 0, 1, 0, 1], [0, 2, 4, 6], chunk_slice=[0, 1, 1], chunk_split=[0, 0, 0],
        slices=[1900, 1901], chunk_document=[5, 5, 6], subsample=None,
    )  # fmt: skip
    text = read_documents(corpus, 1)
    assert text.document.tolist() == [5, 5, 6]
    assert text.slice_of.tolist() == [0, 1, 1]
    assert text.documents_per_slice.tolist() == [1, 2]


def test_scores_equal_those_of_the_twin(scores: DocumentScores, twin: Twin, text: Any) -> None:
    for v in (0, 5, 20):
        found = scores.of_word(v)
        documents, sums, weights = twin.scores(v)
        np.testing.assert_array_equal(text.document[found.document], documents)
        np.testing.assert_allclose(found.weights, weights, rtol=1e-4)
        # Eigenvectors have either sign.
        np.testing.assert_allclose(np.abs(found.contexts), np.abs(sums), atol=1e-4 * np.abs(sums).max())


def test_expected_contexts_equal_those_of_the_twin(scores: DocumentScores, twin: Twin, text: Any) -> None:
    positions, groups = background_positions(text, 0)
    assert len(positions) == len(text.ids)  # so small a text is read as a whole
    # The twin reads chunks in the order of the corpus, and the text is sorted by document.
    corpus_position = np.lexsort((np.arange(len(twin.document)), twin.slice_of, twin.document))
    words = np.array([0, 5, 20])
    for v, found in zip(words, scores.expected(words), strict=True):
        sums, chances = np.zeros((2, text.n_slices, scores.dim)), np.zeros((2, text.n_slices))
        counts = np.zeros((2, text.n_slices), dtype=int)
        for g in range(2 * text.n_slices):
            here = corpus_position[positions[groups == g]]
            sums[g % 2, g // 2], chances[g % 2, g // 2] = twin.group_sums(int(v), here)
            counts[g % 2, g // 2] = len(here)
        expected = expected_context(sums, chances, counts, scores.smoothing)
        scale = np.abs(expected.mean).max()
        np.testing.assert_allclose(np.abs(found.mean), np.abs(expected.mean), atol=1e-4 * scale)
        np.testing.assert_allclose(found.chances, expected.chances, rtol=1e-4)
        np.testing.assert_allclose(
            np.abs(found.noise), np.abs(expected.noise), atol=1e-3 * np.abs(expected.noise).max()
        )


def test_rare_words_use_a_sample_of_the_background(scores: DocumentScores) -> None:
    words = np.array([3, 4])
    for all_of_it, part in zip(scores.expected(words), scores.expected(words, frequent=False), strict=True):
        assert not np.array_equal(all_of_it.mean, part.mean)
        assert np.corrcoef(all_of_it.mean.ravel(), part.mean.ravel())[0, 1] > 0.9


def test_a_word_does_not_depend_on_those_beside_it(scores: DocumentScores) -> None:
    together = scores.expected(np.arange(20))[7]
    alone = scores.expected(np.array([7]))[0]
    np.testing.assert_array_equal(together.mean, alone.mean)
    np.testing.assert_array_equal(together.noise, alone.noise)


def test_background_positions_are_drawn_from_their_slices(text: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_scores, "BACKGROUND", 400)
    positions, groups = background_positions(text, 3)
    assert len(positions) == 400
    document = np.searchsorted(text.document_offsets, positions, side="right") - 1
    np.testing.assert_array_equal(text.slice_of[document], groups // 2)
    assert (np.diff(groups) >= 0).all()
    halves = dict(zip(document.tolist(), (groups % 2).tolist(), strict=True))
    assert all(halves[d] == g % 2 for d, g in zip(document.tolist(), groups.tolist(), strict=True))


def test_slices_with_little_text_lean_on_others() -> None:
    few, many = smooth(np.full(20, 5)), smooth(np.full(20, 5_000))
    np.testing.assert_allclose(few.weights.sum(axis=1), 1)
    assert few.weights[2, 2] < 0.5 < many.weights[2, 2]
    assert few.prior.min() > 1 > many.prior.max()
    empty = smooth(np.array([0, 10, 0]))
    assert np.isfinite(empty.weights).all()
    assert empty.weights[:, 1].min() > 0.99


def test_sampling_is_that_of_the_corpus() -> None:
    positions = np.arange(1000)
    fractions = uniform(key(3, "subsample", 1), positions)
    np.testing.assert_array_equal(fractions, (bits(key(3, "subsample", 1), positions) >> np.uint64(11)) * 2.0**-53)
