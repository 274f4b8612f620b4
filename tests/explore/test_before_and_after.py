"""From what to what words moved, beside a plain computation and on words whose movement is known."""

from __future__ import annotations

import numpy as np
import pytest

import driftword as dw
from conftest import random_model
from driftword import explore
from driftword.corpus.vocabulary import Vocabulary
from driftword.explore.before_and_after import SLICES
from driftword.explore.vectors import MIN_COUNT
from driftword.models.model import Provenance

WORDS = ["energy", "vigour", "zeal", "effort", "oil", "gas", "coal", "table"]
SLICE_COUNT = 10


def moving_model(*, change: int = 6, seed: int = 0) -> dw.Model:
    """Make a model in which "energy" goes from the words of zeal to those of fuel, and nothing else moves."""
    random = np.random.default_rng(seed)
    zeal, fuel, table = np.linalg.qr(random.normal(size=(12, 3)))[0].T
    base = np.array([zeal] * 4 + [fuel] * 3 + [table]) + 0.1 * random.normal(size=(len(WORDS), 12))
    rho = np.repeat(base[None], SLICE_COUNT, axis=0) + 0.02 * random.normal(size=(SLICE_COUNT, len(WORDS), 12))
    rho[change:, 0] = fuel + 0.05 * random.normal(size=12)
    counts = random.integers(10, 90, size=(SLICE_COUNT, len(WORDS)))
    slices = dw.Slices.from_labels(range(1900, 1900 + SLICE_COUNT))
    vocabulary = Vocabulary(tuple(WORDS), slices, counts, counts)
    rho = rho.astype(np.float32)
    return dw.Model(rho, rho[0], vocabulary=vocabulary, spec=dw.Spec(dim=12), provenance=Provenance("reference"))


def with_counts(model: dw.Model, counts: np.ndarray) -> dw.Model:
    """Return a copy of a model whose words occur so often."""
    vocabulary = Vocabulary(model.words, model.slices, counts, counts)
    return dw.Model(model.rho, model.alpha, vocabulary=vocabulary, spec=model.spec, provenance=model.provenance)


@pytest.mark.parametrize("change", [2, 6, 8])
def test_a_word_that_moved_has_other_neighbours_before_and_after(change: int) -> None:
    model = moving_model(change=change)
    row = explore.shifts(model, ["energy"]).row(0, named=True)
    assert set(row["before"]) == {"vigour", "zeal", "effort"}
    assert set(row["after"]) == {"oil", "gas", "coal"}
    assert row["change"] == str(1900 + change)
    assert row["slice_before"] < row["change"] <= row["slice_after"]
    assert (row["verdict"], row["change_low"]) == (None, None)  # nothing was tested


def test_the_best_attested_slices_on_either_side_are_shown() -> None:
    model = moving_model()
    counts = np.asarray(model.counts)[:, 0]
    first, before, after, last = (
        0, int(counts[:6].argmax()), 6 + int(counts[6:].argmax()), SLICE_COUNT - 1
    )  # fmt: skip
    assert explore.shift_slices(model, "energy") == sorted({first, before, after, last})


@pytest.mark.slow
def test_neighbours_are_those_of_a_plain_computation() -> None:
    """Rank by similarity summed slice by slice and word by word, as the docstring has it."""
    words = [f"w{i}" for i in range(40)]
    model = random_model(words, slices=7)
    for row in explore.shifts(model, words, n=5).to_dicts():
        v, change = model.word_id(row["word"]), model.slices.labels.index(row["change"])
        scores = {}
        for side, slices in (("before", range(change)), ("after", range(change, 7))):
            chosen = sorted(slices, key=lambda t: -int(model.counts[t, v]))[:SLICES]
            found = [dw.similarity(model, row["word"], other) for other in words if other != row["word"]]
            scores[side] = {table["other"][0]: np.mean([table["similarity"][t] for t in chosen]) for table in found}
        for side, other in (("before", "after"), ("after", "before")):
            nearest = sorted(scores[side], key=lambda name: -scores[side][name])[:15]
            expected = [name for name in nearest if scores[side][name] - max(scores[other][name], 0) > 0.05]
            assert row[side] == expected[:5]


def test_distances_are_from_the_first_attested_slice() -> None:
    model = moving_model()
    counts = np.array(model.counts)
    counts[:2, 0], counts[4, 0] = 0, 0
    rare = with_counts(model, counts)
    found = explore.shifts(rare, ["energy"])["distance"][0].to_list()
    for t, distance in enumerate(found):
        if not counts[t, 0]:
            assert distance is None
            continue
        one, other = (rare.rho[s, 0] - rare.rho[s][counts[s] >= MIN_COUNT].mean(axis=0) for s in (2, t))
        assert distance == pytest.approx(1 - one @ other / np.linalg.norm(one) / np.linalg.norm(other), abs=1e-5)
    assert max(value for value in found[:6] if value is not None) < 0.2 < min(found[6:])


def test_words_that_are_too_rare_are_not_named() -> None:
    model = moving_model()
    counts = np.array(model.counts)
    counts[:, WORDS.index("oil")] = MIN_COUNT - 1
    counts[:6, 0] = 0  # and "energy" itself occurs only after its change
    rare = with_counts(model, counts)
    row = explore.shifts(rare, ["energy"]).row(0, named=True)
    assert "oil" not in (row["before"] or []) + (row["after"] or [])


def test_two_slices_have_no_change_point() -> None:
    row = explore.shifts(random_model(["a", "b", "c"], slices=2), ["a"]).row(0, named=True)
    assert (row["change"], row["before"]) == (None, None)
    assert explore.shift_slices(random_model(["a", "b", "c"], slices=2), "a") == [0, 1]
