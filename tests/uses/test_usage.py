"""Vectors of occurrences in the place of a model: what is found in them, and what is refused."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import driftword as dw
from conftest import letters, run_here
from driftword.basics.errors import DriftwordError, OptionError, SourceError, StoreError, UnknownWordError
from driftword.inference.usage_scores import UsageScores

YEARS = range(1900, 1940)
CHANGE = 1921
WIDTH = 12


def made(
    *, changed: Sequence[str] = (), words: int = 16, controls: int = 0, shift: float = 0.0, seed: int = 0
) -> dw.Usage:
    """Make vectors of words in two documents a year; `changed` words differ since 1921, and all of them by a shift."""
    random = np.random.default_rng(seed)
    names = [f"w{i}" for i in range(words)] + [f"control{i}" for i in range(controls)]
    rows, vectors = [], []
    together = random.normal(size=WIDTH)
    for name in names:
        mean, way = random.normal(size=(2, WIDTH))
        for document in range(2 * len(YEARS)):
            year = YEARS[document // 2]
            since = year >= CHANGE
            for _ in range(random.integers(1, 3)):
                own = way * (name in changed) * since + shift * together * since
                vectors.append(mean + own + random.normal(size=WIDTH))
                rows.append((name, document, date(year, 1, 1), name.startswith("control")))
    table = pl.DataFrame(rows, schema=["word", "document", "date", "control"], orient="row")
    return dw.usage(table, np.array(vectors), slices="5y")


def topic_usage(corpus: dw.Corpus, word: str = "the") -> dw.Usage:
    """Make vectors of a word that lie by the topic of its document, of which every third has the same."""
    table = dw.occurrences(corpus, [word, "ship"])
    random = np.random.default_rng(0)
    topics = np.eye(3, WIDTH)
    rows = topics[table["document"].to_numpy() % 3] * 4 + random.normal(size=(table.height, WIDTH)) * 0.5
    return dw.usage(table, rows, corpus=corpus)


def test_occurrences_show_their_word(small: dw.Corpus) -> None:
    table = dw.occurrences(small, ["ship", "court"], width=30, controls=2)
    for row in table.iter_rows(named=True):
        assert row["text"][row["begin"] : row["end"]].lower() == row["word"]
        assert small.words[small.tokens[row["position"]]] == row["word"]
    asked = table.filter(~pl.col("control"))
    counts = np.asarray(small.counts).sum(axis=0)
    assert asked.height == counts[small.word_id("ship")] + counts[small.word_id("court")]
    assert table.filter("control")["word"].n_unique() == 2
    few = dw.occurrences(small, "ship", n=7, seed=1)
    assert few.height == 7
    assert few["position"].is_sorted()
    assert few["position"].to_list() != dw.occurrences(small, "ship", n=7, seed=2)["position"].to_list()
    assert set(few["position"]) < set(asked["position"])


def test_changed_words_are_found_dated_and_no_others() -> None:
    changed = ["w0", "w1", "w2", "w3"]
    table = dw.significance(made(changed=changed, words=40))
    found = table.filter(pl.col("q") <= 0.05)
    assert set(found["word"]) >= set(changed)
    assert found.height <= 6
    rows = found.filter(pl.col("word").is_in(changed))
    day = date(CHANGE, 1, 1)
    assert ((rows["change_low"] <= day) & (day <= rows["change_high"])).sum() >= 3
    assert (table.filter(~pl.col("word").is_in(changed))["p"] <= 0.05).mean() <= 0.15  # type: ignore[operator]


@pytest.mark.slow
def test_where_nothing_changes_few_words_seem_to() -> None:
    p = np.concatenate([dw.significance(made(words=40, controls=10, seed=seed))["p"].to_numpy() for seed in range(5)])
    assert 0.015 <= (p <= 0.05).mean() <= 0.09


def test_what_all_words_do_is_no_change_of_one() -> None:
    alone, beside = (dw.significance(made(changed=["w0"], shift=0.5, controls=n)) for n in (0, 20))
    assert (alone["q"] <= 0.05).mean() > 0.8  # type: ignore[operator]
    assert beside["word"][0] == "w0"
    assert (beside["q"] <= 0.05).sum() <= 3


def test_scores_are_those_of_a_plain_computation() -> None:
    usage = made(changed=["w1"], words=3, controls=2)
    scores = UsageScores(usage, seed=0)
    v = usage.word_id("w1")
    rows = [i for i, name in enumerate(usage.occurrences["word"]) if name == "w1"]
    mean = usage.places[rows].mean(axis=0)
    own = scores.of_word(v)
    for number, unit in enumerate(own.document.tolist()):
        document = int(scores.text.document[unit])
        here = [i for i in rows if usage.document[i] == document]
        np.testing.assert_allclose(own.contexts[number], (usage.places[here] - mean).sum(axis=0), atol=1e-4)
        assert own.weights[number] == len(here)
    assert len(own.document) == 2 * len(YEARS)


def test_turning_vectors_changes_nothing() -> None:
    usage = made(changed=["w0"], words=6, controls=3)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(WIDTH, WIDTH)))[0]
    turned = dw.usage(usage.occurrences, usage.vectors @ turn, slices="5y")
    one, other = (dw.significance(u).sort("word") for u in (usage, turned))
    np.testing.assert_allclose(one["effect"].to_numpy(), other["effect"].to_numpy(), atol=1e-3)
    for metric in ("apd", "prt", "raw_apd", "raw_prt"):
        one, other = (dw.drift(u, metric=metric).sort("word") for u in (usage, turned))
        np.testing.assert_allclose(one["drift"].to_numpy(), other["drift"].to_numpy(), atol=1e-4)


def test_distances_are_those_of_all_pairs() -> None:
    usage = made(changed=["w0"], words=3)
    rows = np.asarray(usage.vectors[usage.rows(1)], dtype=float)
    later = usage.slice_of[usage.rows(1)] >= len(usage.slices) // 2
    first, last = ([row / np.linalg.norm(row) for row in rows[side]] for side in (~later, later))
    pairs = 1 - np.mean([a @ b for a in first for b in last])
    sums = sum(first), sum(last)
    prototypes = 1 - sums[0] @ sums[1] / np.linalg.norm(sums[0]) / np.linalg.norm(sums[1])
    assert dw.drift(usage, "w1", metric="raw_apd")["drift"][0] == pytest.approx(pairs, abs=1e-6)
    assert dw.drift(usage, "w1", metric="raw_prt")["drift"][0] == pytest.approx(prototypes, abs=1e-6)
    for metric in ("apd", "prt"):
        table = dw.drift(usage, metric=metric).sort("z", descending=True)
        assert table["word"][0] == "w0"
        assert table["p"][0] == 0.001
        assert (table["p"][1:] > 0.01).all()
    periods = dw.drift(usage, "w0", between=((1900, 1910), (1930, 1939)))
    assert periods.row(0)[4:6] == ("1900-1904 to 1910-1914", "1930-1934 to 1935-1939")


def test_senses_passages_and_company_come_from_vectors(small: dw.Corpus) -> None:
    usage = topic_usage(small)
    senses = dw.senses(usage, "the")
    assert senses.height == 3
    found = dw.senses(usage, "the", by="occurrences")
    assert found.group_by("sense").agg((pl.col("document") % 3).n_unique())["document"].to_list() == [1, 1, 1]
    near = {word for words in senses["collocates"] for word in words}
    assert near & {"ship", "harbour", "sailor"}
    assert near & {"court", "judge", "verdict"}
    assert set(dw.senses(usage)["word"]) == {"the", "ship"}
    passages = dw.evidence(usage, "the", n=2)
    assert passages["side"].to_list() == ["before", "before", "after", "after"]
    dw.significance(usage)
    assert dw.describe(usage, "the")["sentence"][0].startswith("the: ")
    assert "word" in dw.collocates(usage, "the").columns


def test_they_are_stored_with_their_test(small: dw.Corpus, tmp_path: Path) -> None:
    usage = topic_usage(small)
    stored = usage.save(tmp_path / "a.usage")
    tested = dw.significance(stored)
    again = dw.Usage.open(tmp_path / "a.usage")
    assert again.significance is not None
    assert again.significance.table.sort("word").equals(tested.sort("word"))
    assert again.occurrences.equals(stored.occurrences)
    np.testing.assert_array_equal(again.vectors, np.asarray(usage.vectors, dtype=np.float32))
    assert again.corpus is not None
    assert "of 2 words" in repr(again)
    assert again._repr_html_().startswith("<table><caption>Usage</caption>")
    with pytest.raises(StoreError, match="is a usage, but a model is needed"):
        dw.neighbors(tmp_path / "a.usage", "ship")
    with pytest.raises(StoreError, match="already exists"):
        usage.save(tmp_path / "a.usage")


def test_what_a_stranger_wrote_is_checked(small: dw.Corpus, tmp_path: Path) -> None:
    usage = topic_usage(small)
    for number, (column, value, message) in enumerate([
        ("position", 10**12, "not in the corpus that it names"),
        ("position", -7, "documents, or positions, below 0"),
        ("document", -3, "documents, or positions, below 0"),
        ("slice", "1066", "numbers, or slices, that nothing of ours wrote"),
        ("word", "unheard-of", "not in the corpus that it names"),
    ]):  # fmt: skip
        wrong = usage.occurrences.with_columns(pl.lit(value, dtype=usage.occurrences.schema[column]).alias(column))
        with contextlib.suppress(DriftwordError):  # it opens what it wrote
            dw.Usage(wrong, usage.vectors, usage.slices, corpus=small).save(tmp_path / f"{number}.usage")
        with pytest.raises(StoreError, match=message):
            dw.Usage.open(tmp_path / f"{number}.usage")
    bad = np.asarray(usage.vectors).copy()
    bad[0, 0] = np.inf
    with pytest.raises(StoreError, match="numbers, or slices, that nothing"):
        dw.Usage(usage.occurrences, bad, usage.slices, corpus=small).save(tmp_path / "bad.usage")
    far = made(words=2).occurrences.with_columns(document=pl.col("document") * 10**15)
    stored = dw.Usage(far, made(words=2).vectors, made(words=2).slices).save(tmp_path / "far.usage")
    assert dw.significance(stored).height == 2


def test_vectors_without_a_corpus_are_tested_within_their_own_columns() -> None:
    usage = made(changed=["w0"], words=4)
    table = usage.occurrences.with_columns(paper=pl.col("document") % 2)
    within = dw.usage(table, usage.vectors, slices="5y")
    assert dw.significance(within, "w0", within="paper")["p"][0] <= 0.01
    assert dw.significance(within, "w0", clusters="date")["documents"][0] == len(YEARS)
    with pytest.raises(OptionError, match="no column 'country'"):
        dw.significance(within, "w0", within="country")
    with pytest.raises(OptionError, match="have no corpus, so the words around them are not known"):
        dw.senses(within, "w0")


@pytest.mark.parametrize("kind", ["array", "npy", "npz"])
def test_tables_and_arrays_are_read_from_files(tmp_path: Path, kind: str) -> None:
    table = pl.DataFrame({"word": ["bank"] * 6, "document": list("abcdef"), "date": ["1900", "1901-05", "1902"] * 2})
    rows = np.arange(12.0).reshape(6, 2)
    table.write_csv(tmp_path / "uses.csv")
    given: Any = rows
    if kind == "npy":
        np.save(given := tmp_path / "rows.npy", rows)
    elif kind == "npz":
        np.savez(given := tmp_path / "rows.npz", rows=rows)
    usage = dw.usage(tmp_path / "uses.csv", given)
    np.testing.assert_array_equal(usage.vectors, rows)
    assert usage.words == ("bank",)
    assert usage.occurrences["date"].to_list()[:2] == [date(1900, 1, 1), date(1901, 5, 1)]


def test_what_does_not_fit_is_refused(small: dw.Corpus, tmp_path: Path) -> None:
    table = dw.occurrences(small, "ship", n=5)
    good = np.ones((5, 2))
    with pytest.raises(OptionError, match="5 occurrences and 4 vectors"):
        dw.usage(table, good[:4], corpus=small)
    bad = good.copy()
    bad[3, 1] = np.nan
    with pytest.raises(OptionError, match="1 vectors have numbers that are not finite, the first that of row 3"):
        dw.usage(table, bad, corpus=small)
    with pytest.raises(OptionError, match="not all of one length"):
        dw.usage(table, [[1.0, 2.0], [1.0]], corpus=small)
    moved = table.with_columns(pl.col("position") + 1)
    with pytest.raises(OptionError, match="Row 0 of the occurrences, of 'ship', is not at its position"):
        dw.usage(moved, good, corpus=small)
    with pytest.raises(OptionError, match="no column of positions"):
        dw.usage(table.drop("position"), good, corpus=small)
    with pytest.raises(OptionError, match="no column document"):
        dw.usage(table.drop("document"), good)
    with pytest.raises(OptionError, match="'yesterday' is not a date or a year"):
        dw.usage(table.with_columns(date=pl.lit("yesterday")), good)
    with pytest.raises(UnknownWordError, match="'court' has no vectors here"):
        dw.usage(table, good, corpus=small).word_id("court")
    np.savez(tmp_path / "two.npz", a=good, b=good)
    with pytest.raises(OptionError, match="holds 2 arrays"):
        dw.usage(table, tmp_path / "two.npz", corpus=small)
    (tmp_path / "no.npy").write_bytes(b"nonsense")
    with pytest.raises(SourceError, match="cannot be read as an array"):
        dw.usage(table, tmp_path / "no.npy", corpus=small)
    np.save(tmp_path / "objects.npy", np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(SourceError, match="cannot be read as an array"):
        dw.usage(table, tmp_path / "objects.npy", corpus=small)
    with pytest.raises(OptionError, match="leave out `without`, `holdout`, `dask` and `device`"):
        dw.significance(dw.usage(table, good, corpus=small), holdout=True)
    with pytest.raises(OptionError, match="only `words`, `n`, `metric` and `between`"):
        dw.drift(dw.usage(table, good, corpus=small), intervals=True)


def test_on_the_command_line(small: dw.Corpus, small_model: dw.Model, tmp_path: Path) -> None:
    path = topic_usage(small).save(tmp_path / "a.usage").path
    assert "2 words that were tested" in run_here("significance", path).stdout
    assert "raw_prt" not in run_here("drift", path, "--metric", "raw_prt").stderr
    assert "harbour" in run_here("senses", path, "the").stdout
    assert "before" in run_here("evidence", path, "the").stdout
    own = small_model.save(tmp_path / "own.model").path  # a test keeps something with the model
    both = run_here("significance", path, "the", "ship", "--beside", own, "--csv").stdout
    assert both.splitlines()[0] == "word,p,q,p_1,p_2"
    assert len(both.splitlines()) == 3
    refused = run_here("neighbors", path, "ship")
    assert refused.returncode == 2
    assert "is a usage, but a model is needed here" in refused.stderr


def test_two_tests_become_one() -> None:
    one = pl.DataFrame({"word": ["a", "b", "c"], "p": [0.01, 1.0, 0.5]})
    other = pl.DataFrame({"word": ["b", "a", "d"], "p": [0.02, 0.01, 0.1]})
    table = dw.combine([one, other])
    assert table["word"].to_list() == ["a", "b"]
    assert table["p"][0] == pytest.approx(0.01)
    assert table["p"][1] > 0.05  # one test that says no outweighs one that is barely sure
    random = np.random.default_rng(0)
    n = 20_000
    shared = random.normal(size=n)
    from statistics import NormalDist

    tail = np.vectorize(NormalDist().cdf)
    for weight in (0.0, 0.7, 1.0):  # however the tests depend on each other
        z = [weight * shared + np.sqrt(1 - weight**2) * random.normal(size=n) for _ in range(2)]
        tables = [pl.DataFrame({"word": [str(i) for i in range(n)], "p": tail(values)}) for values in z]
        assert 0.035 <= (dw.combine(tables)["p"] <= 0.05).mean() <= 0.056  # type: ignore[operator]
    with pytest.raises(OptionError, match="No word was tested in all tables"):
        dw.combine([one, other.filter(pl.col("word") == "d")])


def test_groups_are_compared_and_reports_show_vectors(tmp_path: Path) -> None:
    rows = [{"text": text, "date": day, "by": "AB"[i % 2]} for i, (text, day) in enumerate(letters(80))]
    corpus = dw.prepare(pl.DataFrame(rows), out=tmp_path / "c", slices="5y", group="by", subsample=None)
    table = dw.occurrences(corpus, ["the", "of"])
    random, by_a = np.random.default_rng(0), table["by"].to_numpy() == "A"
    vectors = random.normal(size=(table.height, WIDTH))
    vectors[by_a & (table["word"].to_numpy() == "the"), 0] += 2.0
    usage = dw.usage(table, vectors, corpus=corpus)
    compared = dw.contrast(usage)
    assert compared["word"].to_list() == ["the", "of"]
    assert compared["p"][0] <= 0.01
    assert compared["p"][1] > 0.05
    assert dw.contrast(usage, "the", over_time=True)["p"][0] > 0.05
    groups = dw.senses(usage, "the", n=2, groups=("A", "B"))
    assert groups["p"].min() <= 0.01  # type: ignore[operator]
    path = usage.save(tmp_path / "c.usage").path
    assert run_here("contrast", path, "--csv").stdout.splitlines()[1].startswith("the,")
    with pytest.raises(OptionError, match="leave out `word`"):
        dw.contrast(usage, word="the")

    model = dw.fit(corpus, dw.Spec(dim=4, context=4, rounds=1), passes=2, out=tmp_path / "m")
    made_by = dw.Usage(
        usage.occurrences, usage.vectors, usage.slices, corpus=corpus,
        encoding={"encoder": "tiny", "checksum": "", "layers": 1, "pool": "word"},
    )  # fmt: skip
    report = dw.report(model, ["the"], out=tmp_path / "r.html", n=0, usage=made_by).read_text()
    assert "the vectors of tiny" in report
    assert "the vectors of tiny" not in dw.report(model, ["the"], out=tmp_path / "s.html", n=0).read_text()
