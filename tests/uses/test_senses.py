"""The senses of words, on text and on numbers in which they are known."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from fastapi.testclient import TestClient
from polars.testing import assert_frame_equal
from tests.uses.test_uses import CHANGE, TOPICS, corpus, is_new, model, sentence

import driftword as dw
from conftest import ROOT, run_here
from driftword.basics.errors import OptionError, SourceError, StoreError
from driftword.models.storing import NEW_SENSES
from driftword.pages import overview_content
from driftword.uses import share_test
from driftword.uses.sense_clusters import _Groups, find_senses
from driftword.uses.sense_shares import SenseCounts, shares_by_slice, smooth_shares
from driftword.uses.sense_space import sense_space
from driftword.uses.sense_words import Classifiers
from driftword.uses.usage_vectors import FAR
from driftword.uses.word_uses import find_uses
from driftword.web.app import make_app

sys.path.append(str(ROOT / "benchmarks"))

from torture.resealed import read_meta, reseal

__all__ = ["corpus", "model"]  # fixtures


def directions(*sizes: int, spread: float = 0.7, seed: int = 0) -> tuple[Any, Any]:
    """Return occurrences around directions that are at right angles, and the direction of each."""
    random = np.random.default_rng(seed)
    label = np.repeat(np.arange(len(sizes)), sizes)
    places = np.zeros((len(label), 30), dtype=np.float32)
    places[np.arange(len(label)), label] = 2.0
    places += random.normal(size=places.shape, scale=spread / 2).astype(np.float32)
    order = random.permutation(len(label))
    return places[order], label[order]


def documents(n: int) -> Any:
    return np.arange(n) // 3


@pytest.mark.parametrize("sizes", [(300,), (200, 100), (200, 100, 60), (400, 40)])
def test_groups_that_differ_as_words_do_are_senses(sizes: tuple[int, ...]) -> None:
    places, label = directions(*sizes)
    found = find_senses(places, documents(len(places)))
    assert len(found.alike) == len(sizes)
    assert np.bincount(found.sense).tolist() == sorted(sizes, reverse=True)
    assert len({(a, b) for a, b in zip(found.sense.tolist(), label.tolist(), strict=True)}) == len(sizes)
    np.testing.assert_allclose(found.alike[~np.eye(len(sizes), dtype=bool)], 0, atol=0.15)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(30, 30)))[0].astype(np.float32)
    np.testing.assert_array_equal(find_senses(places @ turn, documents(len(places))).sense, found.sense)


def test_groups_that_are_alike_rare_or_of_few_documents_are_no_senses() -> None:
    places, label = directions(200, 100)
    alike = places + 1.5 * np.eye(30)[5]  # both have most of what they have in common
    assert len(find_senses(alike, documents(300)).alike) == 1
    assert len(find_senses(alike, documents(300), n=2).alike) == 2
    rare, _ = directions(290, 10)
    assert len(find_senses(rare, documents(300)).alike) == 1
    four = np.where(label == 1, np.arange(300) % 4, 4 + np.arange(300))
    assert len(find_senses(places, four).alike) == 1
    assert len(find_senses(places, documents(300)).alike) == 2


def test_as_many_as_were_asked_for_and_merged() -> None:
    places, _ = directions(200, 100, 60)
    for n in range(1, 9):
        found = find_senses(places, documents(360), n=n)
        assert np.bincount(found.sense).tolist() == sorted(np.bincount(found.sense), reverse=True)
        assert len(found.alike) == n
    one = find_senses(places, documents(360), n=3)
    merged = find_senses(places, documents(360), n=3, merged=[[2, 3]])
    assert len(merged.alike) == 2
    np.testing.assert_array_equal(merged.sense == 0, one.sense == 0)


def test_groups_that_become_one_are_counted_as_if_they_always_had_been() -> None:
    places, _ = directions(50, 40, 30, 20)
    group = np.random.default_rng(0).integers(0, 5, len(places))
    groups = _Groups(places, documents(len(places)), group)
    for i, j in ((1, 3), (0, 2)):
        groups.join(i, j)
        anew = _Groups(places, documents(len(places)), groups.group)
        np.testing.assert_allclose(groups.cosines(), anew.cosines(), atol=1e-6)
        np.testing.assert_array_equal(groups.within, anew.within)


def test_words_near_an_occurrence_count_as_a_plain_loop_says() -> None:
    """Naive Bayes beside the same in plain Python: every document is told from the other folds."""
    random = np.random.default_rng(0)
    n, n_words, k = 60, 12, 2
    around = random.integers(-1, n_words, (n, 2 * FAR + 1))
    document = np.arange(n) // 2
    belongs = random.dirichlet([1, 1], n)
    near = around[:, FAR - 5 : FAR + 6].copy()
    near[:, 5] = -1
    found = Classifiers(directions(30, 30)[0], around, document)._of_words(belongs)
    for i in range(0, n, 7):
        others = document % 5 != document[i] % 5
        size = belongs[others].sum(axis=0)
        told = np.zeros(k)
        for w in near[i][near[i] >= 0]:
            counts = np.array([((near[others] == w).sum(axis=1) * belongs[others, j]).sum() for j in range(k)])
            if counts.sum() >= 2:
                rate = np.log((counts + 2 * counts.sum() / size.sum() + 1e-9) / (size + 2))
                told += rate - rate.mean()
        np.testing.assert_allclose(found[i], told, atol=1e-9)


def test_directions_count_as_the_formula_of_the_discriminant_says() -> None:
    """Every document is told from the other folds."""
    rows, _ = directions(40, 30, spread=0.7)
    document, belongs = np.arange(70) // 2, np.random.default_rng(0).dirichlet([1, 1, 1], 70)
    found = Classifiers(rows, np.full((70, 2 * FAR + 1), -1), document)._of_directions(belongs)
    for fold in range(5):
        others = document % 5 != fold
        x, b = rows[others], belongs[others]
        means = np.array([np.average(x, axis=0, weights=b[:, j]) for j in range(3)])
        spread = sum(b[i, j] * np.outer(x[i] - means[j], x[i] - means[j]) for i in range(len(x)) for j in range(3))
        spread = 0.3 * spread / len(x) + 0.7 * np.trace(spread / len(x)) / len(spread) * np.eye(len(spread))
        for i in np.flatnonzero(~others):
            told = [(rows[i] - mean / 2) @ np.linalg.inv(spread) @ mean for mean in means]
            np.testing.assert_allclose(found[i], told, atol=1e-5)


@pytest.mark.parametrize("telling", ["words", "directions"])
def test_classifiers_tell_of_groups_that_there_are_and_of_no_others(telling: str) -> None:
    """Half of the groups' entropy at least where words or directions are those of a group; nothing where any are."""
    random = np.random.default_rng(0)
    rows, label = (
        directions(200, 200) if telling == "directions" else (random.normal(size=(400, 30)), np.arange(400) % 2)
    )
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    around = np.full((400, 2 * FAR + 1), -1)
    kind = label if telling == "words" else random.permutation(label)
    around[:, FAR + 1 : FAR + 4] = kind[:, None] * 5 + random.integers(0, 5, (400, 3))
    classifiers = Classifiers(rows, around, random.permutation(documents(400)))
    told = classifiers.told(label), classifiers.told(random.permutation(label))
    assert told[0] > 0.5 * np.log(2)
    assert told[1] < 0.02


def test_words_move_occurrences_that_lie_between() -> None:
    places, label = directions(150, 150, spread=1.6)
    around = np.full((300, 2 * FAR + 1), -1)
    around[:, FAR + 1 : FAR + 4] = label[:, None] * 5 + np.random.default_rng(0).integers(0, 5, (300, 3))
    rows = places / np.linalg.norm(places, axis=1, keepdims=True)
    first = (rows[:, 1] > rows[:, 0]).astype(np.int64)
    after = Classifiers(rows, around, documents(300)).reassign(first).argmax(axis=1)
    assert (after == label).mean() > (first == label).mean() + 0.03
    assert (after == label).mean() > 0.97


def counted(share: Any, *, per_slice: int = 30, spread: float = 0.0, seed: int = 0) -> SenseCounts:
    """Return documents with 1 to 6 occurrences each, whose shares of the first sense vary around those given."""
    random = np.random.default_rng(seed)
    slice_of = np.repeat(np.arange(len(share)), per_slice)
    own = np.asarray(share)[slice_of]
    if spread:
        own = random.beta(own * (1 / spread - 1), (1 - own) * (1 / spread - 1))
    size = random.integers(1, 7, len(slice_of))
    first = random.binomial(size, own)
    return SenseCounts(np.c_[first, size - first].astype(float), slice_of, 365 * slice_of, np.arange(len(slice_of)))


@pytest.mark.parametrize("spread", [0.0, 0.4])
def test_intervals_of_shares_hold_them(spread: float) -> None:
    """90% of them, also where documents prefer one sense, so that occurrences are no evidence of their own."""
    share, held, sizes = np.linspace(0.2, 0.8, 8), [], []
    for seed in range(60):
        found = shares_by_slice(counted(share, spread=spread, seed=seed), 8)
        np.testing.assert_allclose(found.share.sum(axis=1), 1)
        held += ((found.low[:, 0] <= share) & (share <= found.high[:, 0])).tolist()
        sizes.append((found.high - found.low).mean())
    assert 0.85 < np.mean(held) < 0.97
    assert (np.mean(sizes) > 0.185) == (spread > 0)


def test_shares_are_not_drawn_to_the_middle_by_occurrences_that_say_little() -> None:
    """What an occurrence says is 2 to 1 to 20 to 1 for one sense, and it is right as often as that."""
    share, errors, plain, held = np.linspace(0.15, 0.85, 10), [], [], []
    for seed in range(20):
        random = np.random.default_rng(seed)
        slice_of = np.repeat(np.arange(10), 150)
        second = random.random(len(slice_of)) < share[slice_of]
        said = random.normal(np.where(second, 1.0, -1.0), 1.0)  # whose log likelihood ratio is twice as much
        likely = 1 / (1 + np.exp(-2 * np.c_[-said, said]))
        document = np.arange(len(slice_of)) // 2
        uses: Any = SimpleNamespace(
            slice_of=slice_of, document=document, day=365 * slice_of, corpus=SimpleNamespace(slices=range(10))
        )
        found = shares_by_slice(SenseCounts.estimate(uses, likely), 10)
        hard = shares_by_slice(SenseCounts.of(uses, np.eye(2)[likely.argmax(axis=1)]), 10)
        np.testing.assert_allclose(found.share.sum(axis=1), 1)
        errors += (found.share[:, 1] - share).tolist()
        plain += (hard.share[:, 1] - share).tolist()
        held += ((found.low[:, 1] <= share) & (share <= found.high[:, 1])).tolist()
    assert np.sqrt(np.mean(np.square(errors))) < 0.05 < 0.08 < np.sqrt(np.mean(np.square(plain)))
    assert abs(np.polyfit(np.tile(share, 20), errors, 1)[0]) < 0.07  # no pull to the middle
    assert 0.85 < np.mean(held) < 0.99


def test_of_two_sides_the_shares_are_most_likely_ones() -> None:
    random = np.random.default_rng(0)
    likely = random.dirichlet([0.5, 0.5], 400)
    side = np.repeat([0, 1], 200)
    uses: Any = SimpleNamespace(
        slice_of=side, document=np.arange(400), day=side, corpus=SimpleNamespace(slices=range(2))
    )
    found = SenseCounts.estimate(uses, likely, side)
    of_one = likely / likely.mean(axis=0)
    for k in (0, 1):
        grid = np.linspace(0.001, 0.999, 999)
        here = of_one[side == k]
        # As if one more occurrence were like the whole.
        usual = likely.mean(axis=0)[1]
        score = [
            np.log(g * here[:, 1] + (1 - g) * here[:, 0]).sum() + usual * np.log(g) + (1 - usual) * np.log1p(-g)
            for g in grid
        ]
        best = grid[int(np.argmax(score))]
        mean = (found.counts[side == k, 1].sum() + usual) / 201
        assert mean == pytest.approx(best, abs=0.01)


def test_shares_without_text_are_unknown_and_smooth_ones_are_inside() -> None:
    found = counted([0.2, 0.4, 0.5, 0.9])
    here = found.slice_of != 2
    found = SenseCounts(*(values[here] for values in found[:4]))
    plain, smooth = shares_by_slice(found, 6), smooth_shares(found, 6)
    assert np.isnan(plain.share[[2, 4, 5]]).all()
    assert np.isnan(smooth.share[4:]).all()
    assert np.isfinite(smooth.share[:4]).all()  # a gap is bridged
    assert (smooth.low[:4] <= smooth.share[:4]).all()
    assert (smooth.share[:4] <= smooth.high[:4]).all()


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 0.4])
def test_shares_that_do_not_change_seem_to_in_one_case_of_twenty(spread: float) -> None:
    time = np.arange(8)

    def p(share: Any, seed: int) -> float:
        found = counted(share, per_slice=10, spread=spread, seed=seed)
        result = share_test.run(found, time=time, strata=None, units=None, permutations=199, seed=0, v=seed)
        assert result is not None
        return result.p

    same = np.array([p(np.full(8, 0.4), seed) for seed in range(200)])
    assert 0.01 < (same <= 0.05).mean() < 0.1
    changed = np.array([p(np.where(time < 4, 0.2, 0.7), seed) for seed in range(40)])
    assert (changed <= 0.05).mean() > 0.9


@pytest.mark.slow
def test_occurrences_of_a_word_lie_together(model: dw.Model, corpus: dw.Corpus) -> None:
    space = sense_space(model, corpus)
    uses = {word: find_uses(model, corpus, word) for word in ("storm", "price")}
    rows = {word: space.of(found.around) for word, found in uses.items()}
    means = {word: places.mean(axis=0) / np.linalg.norm(places.mean(axis=0)) for word, places in rows.items()}
    for word, other in (("storm", "price"), ("price", "storm")):
        assert (rows[word] @ means[word] > rows[word] @ means[other]).mean() > 0.9


@pytest.mark.slow
def test_a_word_with_two_senses(model: dw.Model) -> None:
    table = dw.senses(model, "cell")
    assert table["sense"].to_list() == [1, 2]
    assert table["share"].sum() == pytest.approx(1)
    old, new = table.iter_rows(named=True)
    if set(new["collocates"]) & set(TOPICS["prison"]):
        old, new = new, old
    assert set(old["collocates"]) <= set(TOPICS["prison"])
    assert set(new["collocates"]) <= set(TOPICS["biology"])
    assert new["first"].year >= CHANGE
    assert new["p"] <= 0.01
    assert abs(new["change"].year - CHANGE) <= 2
    assert new["change_low"] <= new["change"] <= new["change_high"]
    assert new["share_before"] < 0.02
    assert abs(new["share_since"] - 0.7) < 0.1
    assert table["occurrences"].sum() == 800
    shares = dw.senses(model, "cell", by="slices")
    assert shares.filter(pl.col("all") > 0).group_by("slice").agg(pl.col("share").sum())["share"].is_close(1).all()
    inside = shares.filter((pl.col("sense") == new["sense"]) & (pl.col("slice") < str(CHANGE)))
    assert inside["share"].max() < 0.1  # type: ignore[operator]
    assert (shares["low"] <= shares["share"]).all()


@pytest.mark.slow
def test_occurrences_are_of_the_sense_of_their_sentence(model: dw.Model) -> None:
    table = dw.senses(model, "cell", by="occurrences", width=60)
    assert table.height == 800
    new = np.array([is_new(f"{row['left']} cell {row['right']}") for row in table.iter_rows(named=True)])
    sense = table["sense"].to_numpy()
    right = max((new == (sense == k)).mean() for k in (1, 2))
    assert right > 0.97
    passages = dw.senses(model, "cell", by="passages", passages=4, width=60)
    assert passages.group_by("sense").len()["len"].to_list() == [4, 4]
    topics = {row["sense"]: is_new(row["text"]) for row in passages.iter_rows(named=True)}
    assert set(topics.values()) == {True, False}
    assert all(is_new(row["text"]) == topics[row["sense"]] for row in passages.iter_rows(named=True))


@pytest.mark.slow
def test_many_words_at_once(model: dw.Model) -> None:
    every = dw.senses(model, permutations=9999)
    assert every["word"][0] == "cell"
    assert every["q"][0] <= 0.05
    assert every["senses"][0] == 2
    assert (every.filter(pl.col("word") != "cell")["q"].fill_null(1) > 0.05).all()
    named = dw.senses(model, ["cell", "storm", "unicorn"], threads=2)
    assert named["word"].to_list() == ["cell", "storm", "unicorn"]
    assert named["senses"].to_list() == [2, 1, None]  # unicorns occur in two documents
    assert named["q"].null_count() == 3  # no false discovery rate of words that were chosen
    assert dw.senses(model, ["cell", "storm", "unicorn"], threads=1).equals(named)
    between = dw.senses(model, "cell", between=((1900, 1935), (1945, 1975)))
    assert between["p"].max() <= 0.01  # type: ignore[operator]
    same = dw.senses(model, "cell", between=((1900, 1915), (1920, 1935)))
    assert same["p"].min() > 0.01  # type: ignore[operator]
    within = dw.senses(model, "cell", within="author")
    assert within["p"].max() <= 0.01  # type: ignore[operator]


def interrupted(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.slow
def test_words_with_a_new_sense_are_kept_and_shown(model: dw.Model, tmp_path: Path) -> None:
    kept = model.save(tmp_path / "kept.model")
    kept.keep_new_senses(pl.DataFrame(schema=NEW_SENSES))
    assert "sense" not in {row["kind"] for row in overview_content.start(kept)["kinds"]}
    found = dw.senses(kept, permutations=9999).filter(pl.col("q") <= 0.05)
    assert found["word"].to_list() == ["cell"]
    again = dw.Model.open(tmp_path / "kept.model")
    assert again.new_senses is not None
    assert again.new_senses.equals(found.select(again.new_senses.columns))
    copy = again.save(tmp_path / "copy.model").new_senses
    assert copy is not None
    assert copy.equals(again.new_senses)
    text = again.open_corpus()
    with TestClient(make_app(again, text), base_url="http://localhost") as reader:
        page = reader.get("/", params={"kind": "sense"}).text
        shares = found.select("share_before", "share_since").row(0)
        assert "Words with a new sense" in page
        assert f"</i> had {100 * shares[0]:.0f}% of its occurrences before about 19" in page
        assert f", and has {100 * shares[1]:.0f}% since then" in page
        assert "?kind=sense#changed" in reader.get("/").text
    again.keep_significance(again.significance)  # type: ignore[arg-type]
    forgotten = dw.Model.open(tmp_path / "kept.model").new_senses
    assert forgotten is not None
    assert forgotten.is_empty()
    for column, value in (("word", "nobody"), ("q", None)):
        wrong = copy.with_columns(pl.lit(value).cast(copy[column].dtype).alias(column))
        folder = shutil.copytree(tmp_path / "kept.model", tmp_path / column)
        wrong.write_parquet(folder / "new_senses.parquet")
        reseal(folder, read_meta(folder))
        with pytest.raises(StoreError):
            _ = dw.Model.open(folder).new_senses


@pytest.mark.slow
def test_names_are_kept_and_forgotten(model: dw.Model, tmp_path: Path) -> None:
    copy = model.save(tmp_path / "named.model")
    dw.name_senses(copy, "cell", {1: "gaol", 2: "organism"})
    for opened in (copy, dw.Model.open(tmp_path / "named.model")):
        assert dw.senses(opened, "cell", corpus=model.open_corpus())["name"].to_list() == ["gaol", "organism"]
    drawn = json.dumps(dw.plot.senses(copy, "cell").to_dict())
    assert "1 gaol" in drawn
    assert "2 organism" in drawn
    assert "1 gaol" not in json.dumps(dw.plot.senses(copy, "cell", n=3).to_dict())
    dw.name_senses(copy, "cell", {1: "everything"}, merge=[(1, 2)])
    assert dw.senses(copy, "cell")["name"].to_list() == ["everything"]
    for names, merge, message in (
        ({3: "third"}, [], "There are 2 senses of 'cell'; give other numbers"),
        ({1: "same", 2: "same"}, [], "Two senses have the same name"),
        ({1: "x" * 100}, [], "give one of 1 to 60 letters"),
        ({}, [(1,)], "give the numbers of senses that are one"),
        ({2: "second"}, [(1, 2)], "There are 2 senses of 'cell', 1 after merging"),
    ):
        with pytest.raises(OptionError, match=re.escape(message)):
            dw.name_senses(copy, "cell", names, merge=merge)
        assert dw.senses(copy, "cell")["name"].to_list() == ["everything"]  # what was kept is kept
    with pytest.MonkeyPatch.context() as patched:  # interrupted while it looks for senses
        patched.setattr("driftword.uses.sense_naming.find_word_senses", interrupted)
        with pytest.raises(KeyboardInterrupt):
            dw.name_senses(copy, "cell", {1: "other"})
    assert dw.Model.open(tmp_path / "named.model").sense_names["cell"]["names"] == {"1": "everything"}
    assert dw.name_senses(copy, "cell") == {}
    assert dw.senses(copy, "cell")["name"].to_list() == [None, None]


@pytest.mark.slow
def test_people_judge(model: dw.Model, tmp_path: Path) -> None:
    out = dw.export_uses(model, "cell", out=tmp_path / "cell.csv", n=60, width=60)
    table = pl.read_csv(out, separator="\t", quote_char=None, infer_schema=False)
    assert table.columns == ["lemma", "pos", "date", "grouping", "identifier", "context", "indexes_target_token"]
    assert table.height == 60
    for row in table.iter_rows(named=True):
        begin, end = map(int, row["indexes_target_token"].split(":"))
        assert row["context"][begin:end].casefold() == "cell"
    judged = table.with_columns(cluster=pl.col("context").map_elements(lambda text: str(int(is_new(text))), pl.String))
    score = dw.score_senses(model, "cell", judgements=judged)
    assert score["judged"] == 60
    assert score["rand_index"] > 0.85
    assert score["accuracy"] > 0.95
    judged.write_csv(tmp_path / "judged.csv", separator="\t", quote_style="never")
    assert dw.score_senses(model, "cell", judgements=tmp_path / "judged.csv") == score
    nothing = judged.with_columns(cluster=pl.lit("-1"))
    with pytest.raises(OptionError, match="No judgement is of an occurrence"):
        dw.score_senses(model, "cell", judgements=nothing)
    with pytest.raises(SourceError, match="identifier and cluster are needed"):
        dw.score_senses(model, "cell", judgements=judged.drop("cluster"))
    with pytest.raises(dw.ExistsError):
        dw.export_uses(model, "cell", out=out)


@pytest.mark.slow
def test_wrong_questions(model: dw.Model, tmp_path: Path) -> None:
    for word, options, message in (
        ("unicorn", {}, "senses need at least 20 occurrences in 8 documents"),
        ("cell", {"n": 9}, "`n` is 9; it must be from 1 to 8"),
        ("cell", {"by": "years"}, "by"),
        ("cell", {"within": "editor"}, "editor"),
    ):
        with pytest.raises(OptionError, match=re.escape(message)):
            dw.senses(model, word, **options)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="occurs in enough documents"):
        dw.senses(model, ["unicorn"], by="senses")
    untested = dw.Model(
        model.rho, model.alpha, model.intercepts, vocabulary=model.vocabulary, spec=model.spec,
        provenance=model.provenance,
    )  # fmt: skip
    with pytest.raises(OptionError, match="run `significance` first"):
        dw.senses(untested, corpus=model.open_corpus())


@pytest.mark.slow
def test_on_the_command_line(model: dw.Model, tmp_path: Path) -> None:
    assert model.location is not None
    stored = model.save(tmp_path / "cells.model").location
    shown = run_here("senses", stored, "cell").stdout
    assert "p = " in shown
    assert f"about {CHANGE}" in shown or f"about {CHANGE + 1}" in shown
    assert "One sense: however its occurrences are divided" in run_here("senses", stored, "storm").stdout
    assert "gained" in run_here("senses", stored).stdout
    assert "1 gaol, 2 organism" in run_here("name-senses", stored, "cell", "1=gaol", "2=organism").stdout
    assert "1 gaol" in run_here("senses", stored, "cell").stdout
    rows = json.loads(run_here("senses", stored, "cell", "--by", "slices", "--json").stdout)
    assert {row["name"] for row in rows} == {"gaol", "organism"}
    for wrong, message in (("1", "is not a number and a name"), ("x=y", "is not the number of a sense")):
        done = run_here("name-senses", stored, "cell", wrong)
        assert done.returncode == 2
        assert message in " ".join(done.stderr.split())
    out = tmp_path / "cell.csv"
    assert "score-senses" in run_here("export-uses", stored, "cell", "-o", out).stdout
    table = pl.read_csv(out, separator="\t", quote_char=None, infer_schema=False)
    table.with_columns(cluster=pl.lit("1")).write_csv(tmp_path / "judged.csv", separator="\t", quote_style="never")
    assert "accuracy" in run_here("score-senses", stored, "cell", tmp_path / "judged.csv").stdout


@pytest.mark.slow
def test_groups_that_mean_different_things(tmp_path: Path) -> None:
    """A cell is of an organism in one half of the texts of B, and in no other; a guard is the same to both."""
    random, rows = np.random.default_rng(0), []
    for d in range(240):
        author = "AB"[d % 2]
        lines = [sentence(random, str(random.choice(list(TOPICS))), None) for _ in range(5)]
        for _ in range(2):
            new = author == "B" and random.random() < 0.6
            lines.append(sentence(random, "biology" if new else "prison", "cell"))
        rows.append({"text": " ".join(lines), "date": 1900 + d // 40, "author": author})
    grouped = dw.prepare(
        pl.DataFrame(rows), out=tmp_path / "c", slices="1y", phrases=False, min_count=2, group="author", copies="keep"
    )
    fitted = dw.fit(grouped, dw.Spec(dim=16, context=6), passes=3)
    table = dw.senses(fitted, "cell", n=2, groups=("A", "B"), corpus=grouped)
    assert table["p"].max() <= 0.01  # type: ignore[operator]
    new = table.sort("share").row(0, named=True)
    assert new["share_before"] < 0.05
    assert new["share_since"] > 0.45
    assert new["change"] is None
    assert dw.senses(fitted, "cell", n=2, corpus=grouped)["p"].min() > 0.01  # type: ignore[operator]
    with pytest.raises(OptionError, match="leave out `between` and `within`"):
        dw.senses(fitted, "cell", groups=("A", "B"), between=(1900, 1901), corpus=grouped)
    with pytest.raises(dw.DriftwordError, match="group"):
        dw.senses(fitted, "cell", groups=("A", "C"), corpus=grouped)
    gained = dw.collocates(fitted, "cell", groups=("A", "B"), corpus=grouped)
    assert gained["side"].unique(maintain_order=True).to_list() == ["A", "B"]
    assert set(gained.filter(pl.col("side") == "B", pl.col("q") <= 0.05)["word"]) <= set(TOPICS["biology"])
    shown = dw.evidence(fitted, "cell", groups=("B", "A"), n=5, corpus=grouped)
    assert shown["side"].to_list() == ["B"] * 5 + ["A"] * 5
    assert shown.select((pl.col("author") == pl.col("side")).all()).item()
    assert all(any(word in text for word in TOPICS["biology"]) for text in shown["text"].head(5))
    # The same texts, dated by their authors, are two periods.
    dated = pl.DataFrame(rows).with_columns(date=pl.col("author").replace_strict({"A": 1900, "B": 1901}))
    later = dw.prepare(dated, out=tmp_path / "later", slices="1y", phrases=False, min_count=2, copies="keep")
    periods = dw.collocates(
        dw.fit(later, dw.Spec(dim=16, context=6), passes=1), "cell", between=(1900, 1901), corpus=later
    )
    same = ["word", "count", "count_other", "documents", "documents_other", "log_ratio", "association", "p", "q", "pmi"]
    assert_frame_equal(gained.select(same), periods.select(same), check_row_order=False)
    for ask in (dw.collocates, dw.evidence):
        with pytest.raises(OptionError, match="leave out `between`, or `groups`"):
            ask(fitted, "cell", groups=("A", "B"), between=(1900, 1901), corpus=grouped)


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        {"n": 10**9, "merged": [], "names": {}},
        {"n": 2, "merged": [[]], "names": {}},
        {"n": 2, "merged": [[1, 10**12]], "names": {}},
        {"n": 2, "merged": [], "names": {"1": "x" * 10_000}},
        {"n": "2", "merged": [], "names": {}},
        [],
    ],
)
def test_names_that_nobody_could_have_given_are_refused(model: dw.Model, tmp_path: Path, names: Any) -> None:
    path = Path(str(model.save(tmp_path / "strange.model").path))
    meta = read_meta(path)
    meta["senses"] = {"cell": names if isinstance(names, list) else names | {"seed": 0}}
    reseal(path, meta)
    with pytest.raises(dw.DriftwordError, match="senses"):
        dw.senses(dw.Model.open(path), "cell", corpus=model.open_corpus())


@pytest.mark.slow
def test_a_name_cannot_steer_a_terminal(model: dw.Model, tmp_path: Path) -> None:
    path = Path(str(model.save(tmp_path / "strange.model").path))
    meta = read_meta(path)
    meta["senses"] = {"cell": {"n": 2, "seed": 0, "merged": [], "names": {"1": "\x1b[31mred"}}}
    reseal(path, meta)
    for options in ((), ("--by", "passages")):
        shown = run_here("senses", path, "cell", *options).stdout
        assert "red" in shown
        assert "\x1b" not in shown
    done = run_here("name-senses", path, "cell", f"{'9' * 5000}=x")
    assert done.returncode == 2
    assert "is not the number of a sense" in " ".join(done.stderr.split())
