"""Would a change have been found? Simulated changes, beside what planted ones show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.inference.test_significance import SLICES, rows

import driftword as dw
from driftword.basics.progress import Progress
from driftword.inference import word_tests
from driftword.inference.power import SCHEMA, Simulation


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dw.Corpus:
    out = tmp_path_factory.mktemp("power") / "planted.corpus"
    return dw.prepare(pl.DataFrame(rows()), out=out, slices="1y", numbers=True, phrases=False, min_count=1)


@pytest.fixture(scope="module")
def model(corpus: dw.Corpus) -> dw.Model:
    return dw.fit(corpus, dw.Spec(dim=12, context=4), passes=2)


def simulation(model: dw.Model, corpus: dw.Corpus, **options: Any) -> Simulation:
    design = word_tests.TestDesign(np.arange(SLICES), 99, 0, **options)
    scores = word_tests.score_documents(model, corpus, design, threads=1, bar=Progress())
    return Simulation.of(scores, design, model.word_id("t3w1"), np.diff(scores.text.by_word[1]), None)


@pytest.mark.slow
def test_larger_changes_are_found_more_often(model: dw.Model, corpus: dw.Corpus) -> None:
    shares = (0.0, 0.3, 1.0)
    table = dw.power(model, ["t3w1", "t0w0"], share=shares, corpus=corpus, simulations=60)
    assert table.schema == pl.Schema(SCHEMA)
    assert table["word"].to_list() == ["t3w1"] * 3 + ["t0w0"] * 3
    for word in ("t3w1", "t0w0"):  # the second one has changed, which is no matter
        nothing, some, every = table.filter(pl.col("word") == word)["power"]
        assert nothing < 0.15
        assert nothing <= some <= every
        assert every > 0.7  # some partners are of the same topic
        none, part, all_of_it = table.filter(pl.col("word") == word)["effect"]
        assert abs(none) < 0.02
        assert none < part < all_of_it
    assert set(table["since"]) == {"1903"}
    tested = dw.significance(model, "t3w1", corpus=corpus, permutations=19)["documents"][0]
    assert (table["documents_before"] + table["documents_since"])[0] == tested
    strict = dw.power(model, "t3w1", share=0.3, corpus=corpus, simulations=60, level=0.01)["power"][0]
    assert strict <= table["power"][1]


@pytest.mark.slow
def test_it_does_not_depend_on_threads_or_company(model: dw.Model, corpus: dw.Corpus) -> None:
    options: Any = {"corpus": corpus, "simulations": 20, "permutations": 99}
    both = dw.power(model, ["t3w1", "t4w2"], threads=2, **options)
    alone = dw.power(model, "t4w2", threads=1, **options)
    assert both[1:].equals(alone)
    assert alone["share"].to_list() == [1 / 3]


def test_a_change_leaves_dates_and_other_documents_alone(model: dw.Model, corpus: dw.Corpus) -> None:
    made = simulation(model, corpus)
    nothing, every = (made.changed(share, 0) for share in (0.0, 1.0))
    for word in (nothing, every):
        np.testing.assert_array_equal(word.time, made.word.time)
        np.testing.assert_array_equal(word.scores.document, made.word.scores.document)
    np.testing.assert_allclose(nothing.scores.weights, made.word.scores.weights, rtol=1e-4)
    before = made.word.scores.slice_of < made.border
    np.testing.assert_array_equal(nothing.scores.contexts[before], every.scores.contexts[before])
    assert not np.isclose(nothing.scores.contexts[~before], every.scores.contexts[~before]).all(axis=1).any()
    # Apart from signs, what a document says is what it says; and all have nothing in common.
    weight = made.word.scores.weights[:, None].astype(np.float64)
    expected = weight * made.expected.mean[made.word.scores.slice_of]
    own = made.word.scores.contexts - expected
    own -= weight * own.sum(axis=0) / weight.sum()
    np.testing.assert_allclose(np.abs(nothing.scores.contexts - expected), np.abs(own), atol=1e-4)


def test_units_have_one_sign(model: dw.Model, corpus: dw.Corpus) -> None:
    units = np.arange(int(corpus.chunk_document.max()) + 1) // 3
    made = simulation(model, corpus, clusters=units)
    unit = made.word.units
    assert unit is not None
    assert sum(made.documents_per_side) == made.word.number == len(np.unique(unit))
    assert (made.power(1.0, 20, 0.05)[0] or 0) > 0.7


def test_where_it_cannot_be_told(model: dw.Model, corpus: dw.Corpus) -> None:
    first = dw.power(model, "t3w1", since=1900, corpus=corpus, simulations=5)  # nothing is before it
    assert first["power"].to_list() == [None]
    assert first["documents_before"].to_list() == [0]


def test_wrong_questions(model: dw.Model, corpus: dw.Corpus, tmp_path: Path) -> None:
    def refused(**options: Any) -> str:
        with pytest.raises(dw.DriftwordError) as error:
            dw.power(model, **{"words": "t3w1", "corpus": corpus, **options})
        return str(error.value)

    assert "`share` is 2" in refused(share=2)
    assert "such as 0.3" in refused(share="half")
    assert "`share` is empty" in refused(share=[])
    assert "give more `permutations`" in refused(level=0.001)
    assert "1950" in refused(since=1950)
