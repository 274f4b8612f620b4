"""Which words changed by more than chance: planted changes, shuffled dates, and what is kept with a model."""

from __future__ import annotations

import re
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from distributed import Client, LocalCluster
from fastapi.testclient import TestClient

import driftword as dw
from driftword.basics import shared_arrays
from driftword.basics.errors import DriftwordWarning, OptionError
from driftword.basics.progress import Progress
from driftword.explore import rank_drift
from driftword.inference import word_tests
from driftword.inference.significance import takes_less_than
from driftword.models.significance_table import SCHEMA, SignificanceTable, ranked, with_written_dates
from driftword.pages import content, overview_content
from driftword.storage import store
from driftword.web.app import make_app

SLICES, DOCUMENTS, LENGTH, TOPICS = 6, 300, 60, 6
WORDS = [f"t{t}w{i}" for t in range(TOPICS) for i in range(8)]
CHANGED = ("t0w0", "t1w0")  # which take each other's places


def rows(*, seed: int = 0) -> list[dict[str, Any]]:
    """Return texts about topics, in which two words exchange their places halfway, and one becomes rare."""
    random = np.random.default_rng(seed)
    exchange = dict(zip(CHANGED, CHANGED[::-1], strict=True))
    texts = []
    for d in range(DOCUMENTS):
        year, topic = 1900 + d % SLICES, int(random.integers(TOPICS))
        topics = np.where(random.random(LENGTH) < 0.8, topic, random.integers(TOPICS, size=LENGTH))
        words = [f"t{t}w{i}" for t, i in zip(topics, random.integers(0, 8, LENGTH), strict=True)]
        if year >= 1900 + SLICES // 2:
            words = [exchange.get(word, word) for word in words]
            words = [word for word in words if word != "t2w0" or random.random() < 0.3]
        texts.append({"text": " ".join(words), "date": year, "speaker": "ab"[d % 2], "text_id": d})
    return texts


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dw.Corpus:
    out = tmp_path_factory.mktemp("corpora") / "planted.corpus"
    return dw.prepare(pl.DataFrame(rows()), out=out, slices="1y", numbers=True, phrases=False, min_count=1)


@pytest.fixture(scope="module")
def model(corpus: dw.Corpus) -> dw.Model:
    return dw.fit(corpus, dw.Spec(dim=12, context=4), passes=6)


@pytest.fixture(scope="module")
def table(model: dw.Model, corpus: dw.Corpus) -> pl.DataFrame:
    return dw.significance(model, corpus=corpus)


def with_table(model: dw.Model, *changed: Any) -> dw.Model:
    """Return a copy of a tested model, in which some columns of what the test found are others."""
    other = dw.Model(
        model.rho, model.alpha, model.intercepts, vocabulary=model.vocabulary, spec=model.spec,
        provenance=model.provenance,
    )  # fmt: skip
    assert model.significance is not None
    other.keep_significance(SignificanceTable(model.significance.table.with_columns(*changed), 1000, 0))
    return other


def test_the_exchanged_words_are_found_and_no_others(table: pl.DataFrame) -> None:
    assert table.schema == pl.Schema(SCHEMA)
    called = set(table.filter(pl.col("q") <= 0.05)["word"])
    assert set(CHANGED) <= called
    assert len(called) <= len(CHANGED) + 3  # words beside them change a little, too
    assert table["word"][:2].sort().to_list() == list(CHANGED)
    assert "t2w0" not in called  # which has become rare
    found = {row["word"]: row for row in table.iter_rows(named=True)}
    assert all(found[word]["low"] > 0.05 for word in CHANGED)
    for word in CHANGED:
        row = found[word]
        assert row["change"] == date(1903, 1, 1)
        assert row["last_before"] == date(1902, 1, 1)
        assert date(1902, 1, 1) < row["change_low"] <= row["change"] <= row["change_high"] <= date(1904, 1, 1)
        assert (row["change_begin"] is None) == (row["gradual"] <= 0.5)
    assert table.filter(pl.col("q") > 0.05)["change"].is_null().all()
    assert (table["p"] >= 1 / 1001).all()
    assert (table["low"] < table["effect"]).all()
    assert (table["effect"] < table["high"]).all()
    assert set(table["slices"]) == {SLICES}


@pytest.mark.slow
def test_nothing_is_found_where_dates_are_shuffled(corpus: dw.Corpus) -> None:
    shuffled = corpus.shuffle_dates(1)
    assert shuffled.fingerprint != corpus.fingerprint
    np.testing.assert_array_equal(shuffled.counts.sum(axis=0), corpus.counts.sum(axis=0))
    assert shuffled.shuffle_dates(0).shuffled == 0
    assert corpus.shuffled is None
    model = dw.fit(shuffled, dw.Spec(dim=12, context=4), passes=6)
    table = dw.significance(model, corpus=shuffled)
    assert (table["q"] <= 0.05).sum() == 0
    assert 0 <= (table["p"] <= 0.05).mean() < 0.2
    assert "Of 48 words that were tested, none changed its use by more than chance." in rank_drift(model).describe()


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_table(model: dw.Model, corpus: dw.Corpus, table: pl.DataFrame) -> None:
    fresh = dw.fit(corpus, dw.Spec(dim=12, context=4), passes=6)
    for threads in (1, 3):
        fresh._significance = None
        assert dw.significance(fresh, corpus=corpus, threads=threads).equals(table)
    assert not dw.significance(fresh, corpus=corpus, seed=1).equals(table)


@pytest.mark.slow
def test_a_few_words_are_tested_as_among_all(corpus: dw.Corpus, table: pl.DataFrame) -> None:
    fresh = dw.fit(corpus, dw.Spec(dim=12, context=4), passes=6)
    few = dw.significance(fresh, ["t3w1", "t0w0"], corpus=corpus)
    assert few["word"].to_list() == ["t3w1", "t0w0"]
    expected = few.select("word").join(table, on="word", how="left", maintain_order="left")
    of_all = ("q", "kind", "strength")  # what is known only once the whole vocabulary is tested
    assert few.drop(of_all).equals(expected.drop(of_all))
    assert fresh.significance is None  # only a test of all words is kept
    dw.significance(fresh, corpus=corpus)
    assert dw.significance(fresh, "t3w1", corpus=corpus)["q"][0] == expected["q"][0]  # that over the whole vocabulary


def test_a_word_comes_second_as_in_every_question(model: dw.Model, table: pl.DataFrame) -> None:
    found = dw.significance(model, "t0w0", permutations=19)  # a test of its own, not the one that is kept
    assert found["word"].to_list() == ["t0w0"]
    assert found["p"].to_list() == [1 / 20]
    assert dw.significance(model, "t0w0").equals(table.filter(pl.col("word") == "t0w0"))
    with pytest.raises(TypeError, match="positional"):
        dw.significance(model, None, model.open_corpus())  # type: ignore[misc]


def test_two_periods_are_compared(model: dw.Model, corpus: dw.Corpus) -> None:
    words = [*CHANGED, "t3w1", "t4w2"]
    across = dw.significance(model, words, corpus=corpus, between=((1900, 1902), (1903, 1905)))
    assert across["p"][:2].max() < 0.01 < across["p"][2:].min()
    before = dw.significance(model, words, corpus=corpus, between=(1900, 1902))
    assert before["p"].min() > 0.01
    assert across["change"].is_null().all()
    assert set(before["slices"]) == {2}
    assert before["documents"].max() <= DOCUMENTS // 3


def test_the_best_border_is_found(model: dw.Model, corpus: dw.Corpus) -> None:
    kept = model.significance
    table = dw.significance(model, corpus=corpus, between="best", permutations=499)
    assert table.schema == pl.Schema(SCHEMA)
    assert set(CHANGED) == set(table["word"][:2])
    first = table[:2]
    assert first["q"].max() <= 0.05  # type: ignore[operator]
    assert first["change"].to_list() == [date(1903, 1, 1)] * 2
    assert first["last_before"].to_list() == [date(1902, 1, 1)] * 2
    assert (first["documents_before"] + first["documents_since"]).equals(first["documents"].rename("documents_before"))
    assert first.select("change_low", "gradual", "lasting").null_count().row(0) == (2, 2, 2)
    assert table.filter(pl.col("q") > 0.05)["change"].is_null().all()
    assert model.significance is kept  # another question than the one that is kept
    for options in ({"within": "speaker"}, {"clusters": "text_id"}):
        few = dw.significance(model, ["t3w1", *CHANGED], corpus=corpus, between="best", **options)  # type: ignore[arg-type]
        assert few["p"][1:].max() < 0.01 < few["p"][0]  # type: ignore[operator]
        assert few["change"].is_null().to_list() == [True, False, False]


@pytest.mark.slow
def test_within_a_column(model: dw.Model, corpus: dw.Corpus) -> None:
    """Texts of the second half are by other speakers: nobody changed how they speak."""
    same = dw.significance(model, [*CHANGED, "t3w1"], corpus=corpus, within="speaker")
    assert same["p"][:2].max() < 0.01 < same["p"][2]
    frame = pl.DataFrame(rows()).with_columns(speaker=pl.col("date") >= 1903)
    other = dw.prepare(frame, out=Path(corpus.path).parent / "o.corpus", slices="1y", numbers=True, min_count=1)  # type: ignore[arg-type]
    fitted = dw.fit(other, dw.Spec(dim=12, context=4), passes=6)
    assert dw.significance(fitted, list(CHANGED), corpus=other)["p"].max() < 0.01
    assert dw.significance(fitted, list(CHANGED), corpus=other, within="speaker")["p"].min() > 0.01


@pytest.mark.slow
def test_it_is_kept_with_the_model(model: dw.Model, corpus: dw.Corpus, table: pl.DataFrame, tmp_path: Path) -> None:
    stored = dw.fit(corpus, dw.Spec(dim=12, context=4), passes=6, out=tmp_path / "a.model")
    dw.significance(tmp_path / "a.model", permutations=99)
    stored = dw.Model.open(tmp_path / "a.model")
    assert stored.significance is not None
    assert stored.significance.permutations == 99
    assert {"significance.parquet", "rho.npy", "meta.json"} <= {file.name for file in (tmp_path / "a.model").iterdir()}
    dw.significance(stored)
    stored.check_current()  # it is the model on the disk
    again = dw.Model.open(tmp_path / "a.model")
    assert again.significance is not None
    assert ranked(again.significance.table).equals(table)
    copy = again.save(tmp_path / "b.model")
    assert copy.significance is not None
    assert copy.significance.table.equals(again.significance.table)
    np.testing.assert_array_equal(copy.rho, model.rho)
    assert [path.name for path in sorted(tmp_path.iterdir()) if path.name.startswith(".")] == []
    refitted = dw.fit(corpus, dw.Spec(dim=12, context=4), passes=2, out=tmp_path / "a.model", overwrite=True)
    assert refitted.significance is None  # the test was of another model


def test_a_result_that_cannot_be_kept_is_not_lost(corpus: dw.Corpus, tmp_path: Path, monkeypatch: Any) -> None:
    model = dw.fit(corpus, dw.Spec(dim=4, context=4), passes=2, out=tmp_path / "a.model")

    def full(*_: Any, **__: Any) -> None:
        raise dw.StoreError("Cannot write: the disk is full")

    monkeypatch.setattr(store, "amend", full)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DriftwordWarning)
        table = dw.significance(model, permutations=19)
    assert [str(one.message).partition(":")[0] for one in caught] == [
        "The static fit is not kept with the model", "The result is not kept with what was tested",
    ]  # fmt: skip
    assert len(table) == len(WORDS)
    assert dw.Model.open(tmp_path / "a.model").significance is None


@pytest.mark.slow
def test_it_is_not_kept_with_another_model(corpus: dw.Corpus, tmp_path: Path) -> None:
    model = dw.fit(corpus, dw.Spec(dim=4, context=4), passes=2, out=tmp_path / "a.model")
    dw.fit(corpus, dw.Spec(dim=5, context=4), passes=2, out=tmp_path / "a.model", overwrite=True)
    with pytest.warns(DriftwordWarning, match="has been replaced"):
        dw.significance(model, corpus=corpus, permutations=19)
    replaced = dw.Model.open(tmp_path / "a.model")
    assert replaced.significance is None
    assert replaced.spec.dim == 5


@pytest.mark.slow
def test_a_damaged_table_is_noticed(corpus: dw.Corpus, tmp_path: Path) -> None:
    model = dw.fit(corpus, dw.Spec(dim=4, context=4), passes=2, out=tmp_path / "a.model")
    dw.significance(model, permutations=19)
    file = tmp_path / "a.model" / "significance.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(dw.StoreError, match=r"significance\.parquet"):
        dw.Model.open(tmp_path / "a.model")


def test_drift_and_changes_show_it(model: dw.Model, table: pl.DataFrame) -> None:
    drift = dw.drift(model, n=None, skip=0)
    assert set(drift["word"][:2]) == set(CHANGED)
    both = drift.join(table.select("word", "effect", "q"), on="word", suffix="_tested")
    assert both["effect"].equals(both["effect_tested"].rename("effect"))
    order = drift["q"] <= 0.05
    assert order.to_list() == sorted(order, reverse=True)
    by_drift = dw.drift(model, n=None, skip=0, metric="absolute")["drift"]
    assert by_drift.is_sorted(descending=True)
    assert dw.drift(model, n=None, skip=0, between=(1901, 1903))["drift"].is_sorted(descending=True)
    other = with_table(model, pl.when(pl.col("word") == "t0w0").then(pl.lit(date(1902, 1, 1))).alias("change"))
    assert dw.changes(other, "t0w0")["slice"][0] == "1902"  # the documents' date goes before the trajectory's
    points = dw.changes(model, n=4)
    assert set(points["word"][:2]) == set(CHANGED)
    assert points["slice"][:2].to_list() == ["1903", "1903"]
    assert dw.changes(model, "t3w1")["q"].drop_nulls().min() > 0.05  # type: ignore[operator]


@pytest.mark.slow
def test_pages_say_whether_a_word_changed(model: dw.Model, table: pl.DataFrame, tmp_path: Path) -> None:
    found = ("effect", "low", "high", "p", "q")
    shown = with_table(model, *(pl.when(pl.col("word") != "t5w5").then(name).alias(name) for name in found))
    tested = shown.significance.table  # type: ignore[union-attr]
    words = ["t0w0", "t3w1", "t5w5"]
    html = dw.report(shown, out=tmp_path / "r.html", words=words, n=1, passages=False).read_text()
    pages = dict(zip(words, html.split("<h1>")[-len(words) :], strict=True))
    told = re.search(
        r"changed</b> from (.*?) \(as in [^)]*\) to (.*?) \(as in [^)]*\), significant at a false discovery rate of 5%",
        pages["t0w0"],
    )
    assert told is not None
    before, after = ({name[:2] for name in re.findall(r"t\dw\d", side)} for side in told.groups())
    assert (before, after) == ({"t0"}, {"t1"})  # it takes the place of a word of the other topic
    row = tested.filter(pl.col("word") == "t0w0").row(0, named=True)
    how = "with the middle about" if row["change_begin"] else "the documents of the new use begin with"
    assert f"{how} <b>1903</b>" in pages["t0w0"]
    assert "<b>not distinguishable from chance</b>" in pages["t3w1"]
    assert "so neither are its change points" in pages["t3w1"]
    assert "too few documents" in pages["t5w5"]
    assert overview_content.start(shown)["table"][0]["verdict"] == "significant at a false discovery rate of 5%"
    reader = TestClient(make_app(shown), base_url="http://127.0.0.1")
    listed = "".join(reader.get(f"/words?like=t{topic}*").text for topic in (0, 1, 3, 5))
    lines = {re.findall(r">(t\dw\d)</a>", line)[0]: line for line in listed.split("<li>")[1:]}
    assert "with the clearest break at 1903" in lines["t0w0"]
    assert "(significant" in lines["t0w0"]
    assert "t3w1</a>: a change is not distinguishable from chance." in lines["t3w1"]
    assert "t5w5</a>: too few documents to tell whether it changed." in lines["t5w5"]
    assert {name for name, line in lines.items() if "change-mark" in line} == {
        name for name, q in zip(tested["word"], tested["q"], strict=True) if q is not None and q <= 0.05
    } & set(lines)  # no date where there may be no change


def test_without_a_test_there_is_nothing_to_show(small_model: dw.Model) -> None:
    assert {row["verdict"] for row in overview_content.start(small_model)["table"]} == {None}
    assert content.word(small_model, "ship")["significance"] is None
    for table in (dw.drift(small_model), dw.changes(small_model)):
        assert table["effect"].is_null().all()
        assert table["q"].is_null().all()


@pytest.mark.slow
def test_a_static_model_can_be_tested(corpus: dw.Corpus) -> None:
    static = dw.fit(corpus, dw.Spec(model="static", dim=12, context=4), passes=4)
    assert dw.significance(static, list(CHANGED), corpus=corpus)["p"].max() < 0.01


def test_rare_words_are_not_tested() -> None:
    random = np.random.default_rng(0)
    ids = random.integers(0, 5, 400)
    ids[::80] = 5  # in five documents
    corpus = dw.Corpus.from_ids(
        list("abcdef"), ids, np.arange(0, 401, 20), chunk_slice=np.arange(20) // 5, chunk_split=np.zeros(20, int),
        slices=[1, 2, 3, 4], subsample=None,
    )  # fmt: skip
    with warnings.catch_warnings(action="ignore"):
        model = dw.fit(corpus, dw.Spec(dim=3, context=2), passes=2)
    table = dw.significance(model, corpus=corpus, permutations=50)
    assert table["word"][-1] == "f"
    assert table.row(-1)[1:6] == (None,) * 5
    assert table["documents"][-1] == 5
    assert model.significance is not None
    assert model.significance.verdict(5) == "too few documents to tell"


@pytest.mark.slow
def test_words_chosen_on_one_half_are_tested_on_the_other(
    model: dw.Model, corpus: dw.Corpus, table: pl.DataFrame
) -> None:
    before = model.significance
    found = dw.significance(model, corpus=corpus, holdout=True, permutations=499)
    assert set(CHANGED) <= set(found["word"])
    assert len(found) <= len(CHANGED) + 4
    confirmed = found.filter(pl.col("q") <= 0.05)
    assert set(CHANGED) <= set(confirmed["word"])
    assert confirmed["change"].is_not_null().all()
    both = found.join(table, on="word", suffix="_all")
    assert ((both["documents"] / both["documents_all"]).is_between(0.3, 0.7)).all()
    assert model.significance is before  # nothing of it is kept
    shuffled = corpus.shuffle_dates(seed=3)
    chance = dw.fit(shuffled, dw.Spec(dim=12, context=4), passes=2)
    assert (dw.significance(chance, corpus=shuffled, holdout=True, permutations=99)["q"] <= 0.05).sum() == 0
    with pytest.raises(OptionError, match="chooses the words"):
        dw.significance(model, "t0w0", corpus=corpus, holdout=True)


@pytest.mark.slow
def test_what_pytorch_has_fitted_says_the_same(model: dw.Model, corpus: dw.Corpus) -> None:
    """The engine decides who makes the fit that a test begins with."""
    fresh = dw.fit(corpus, dw.Spec(dim=12, context=4), passes=6)
    found = dw.significance(fresh, corpus=corpus, engine="torch", device="cpu")
    both = found.join(dw.significance(model, corpus=corpus), on="word", suffix="_cpu")
    for name in ("effect", "low", "high"):
        assert (both[name] - both[f"{name}_cpu"]).abs().max() < 0.02  # type: ignore[operator]
    assert found["word"][:2].sort().to_list() == list(CHANGED)
    fresh._significance = None
    assert dw.significance(fresh, corpus=corpus, engine="torch", device="cpu").equals(found)


@pytest.mark.slow
def test_processes_find_the_same(model: dw.Model, corpus: dw.Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    words = model.words[:100]
    threads = dw.significance(model, words, corpus=corpus, permutations=99, threads=1)
    monkeypatch.setattr(word_tests, "_WORTH_PROCESSES", 1)
    monkeypatch.setattr(word_tests, "BATCH", 7)
    assert dw.significance(model, words, corpus=corpus, permutations=99, threads=2).equals(threads)


def test_text_that_does_not_fit_into_memory_is_tested_all_the_same(
    model: dw.Model, corpus: dw.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = word_tests.TestDesign(np.arange(len(model.slices)), permutations=99, seed=0, dated=True)
    found = []
    for memory in (float("inf"), 0.0):
        monkeypatch.setattr(shared_arrays, "available_memory", lambda memory=memory: memory)
        scores = word_tests.score_documents(model, corpus, design, threads=2, bar=Progress())
        assert isinstance(scores.text.by_word[0].base, np.memmap) == (memory == 0)
        results = word_tests.run_tests(scores, np.arange(20), design, threads=2, bar=Progress())
        found.append(word_tests.results_table(model, results, of_all=True))
    assert found[0].equals(found[1])


def test_wrong_questions(model: dw.Model, corpus: dw.Corpus, small: dw.Corpus) -> None:
    def refused(**options: Any) -> str:
        with pytest.raises(dw.DriftwordError) as error:
            dw.significance(model, **{"corpus": corpus, **options})
        return str(error.value)

    assert "is not the corpus that the model was fitted to" in refused(corpus=small)
    assert "no column 'speeker'; did you mean 'speaker'" in refused(within="speeker")
    assert "All documents with the same value in the column 'text_id' are in one slice" in refused(within="text_id")
    assert "the earlier one first" in refused(between=(1903, 1900))
    assert "the earlier one first" in refused(between=((1900, 1903), (1902, 1905)))
    assert "two slices" in refused(between=(1900,))
    assert 'or "best"' in refused(between="worst")
    assert "`permutations` is 5" in refused(permutations=5)
    assert "There is no device 'foo'" in refused(device="foo")
    assert "is an option of the torch engine" in refused(engine="cpu", device="cuda")
    one = dw.Corpus.from_ids(["a"], [0] * 40, [0, 40], chunk_slice=[0], chunk_split=[0], slices=[1], subsample=None)
    with pytest.raises(dw.OptionError, match="a single slice"):
        dw.significance(dw.fit(one, dw.Spec(dim=2), passes=1), corpus=one)
    elsewhere = type(model.provenance)("imported")
    imported = dw.Model(model.rho, model.alpha, vocabulary=model.vocabulary, spec=model.spec, provenance=elsewhere)
    with pytest.raises(dw.OptionError, match="have no corpus"):
        dw.significance(imported)
    ids = dw.Corpus.from_ids(
        ["a", "b"], [0, 1] * 20, np.arange(0, 41, 2), chunk_slice=np.arange(20) % 2, chunk_split=np.zeros(20, int),
        slices=[1, 2], subsample=None,
    )  # fmt: skip
    with warnings.catch_warnings(action="ignore"), pytest.raises(dw.OptionError, match="made of ids"):
        dw.significance(dw.fit(ids, dw.Spec(dim=2, context=2), passes=1), corpus=ids, within="speaker")


def test_how_long_it_takes_is_known_before(model: dw.Model, corpus: dw.Corpus) -> None:
    assert takes_less_than(1e6, model, corpus)
    assert not takes_less_than(0, model, corpus)
    assert not takes_less_than(0.02, model, corpus, threads=1)


def test_a_model_of_shuffled_dates_finds_its_corpus(corpus: dw.Corpus, tmp_path: Path) -> None:
    dw.fit(corpus.shuffle_dates(7), dw.Spec(dim=4, context=4), passes=2, out=tmp_path / "chance.model")
    model = dw.Model.open(tmp_path / "chance.model")
    again = model.open_corpus()
    assert again is not None
    assert again.shuffled == 7
    assert model.title.endswith("with shuffled dates")
    assert "shuffled, seed 7" in model.summary()["dates"]
    assert dw.significance(model, permutations=19).height == len(WORDS)
    assert dw.significance(model, "t3w1", corpus=corpus.path, permutations=20).height == 1  # named, and shuffled again


def test_workers_of_a_cluster_find_the_same(model: dw.Model, corpus: dw.Corpus, tmp_path: Path) -> None:
    stored = model.save(tmp_path / "planted.model")
    words = ["t0w0", *CHANGED, "t2w0"]
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0") as workers,
        Client(workers, set_as_default=False) as client,
    ):
        found = dw.significance(stored, words, corpus=corpus, dask=client, permutations=99)
        assert found.equals(dw.significance(stored, words, corpus=corpus, engine="cpu", permutations=99))
        with pytest.raises(OptionError, match="store the model first"):
            dw.significance(model, words, corpus=corpus, dask=client, permutations=99)
        with pytest.raises(OptionError, match="leave out `engine` and `device`"):
            dw.significance(stored, words, corpus=corpus, dask=client, permutations=99, device="cpu")
    with pytest.raises(OptionError, match="`dask` is 3; give the address of a scheduler"):
        dw.significance(stored, words, corpus=corpus, dask=3, permutations=99)


def test_dates_are_written_as_exactly_as_they_are_known() -> None:
    def row(low: date, high: date) -> dict[str, Any]:
        known = {"word": "w", "change": high, "change_low": low, "change_high": high, "last_before": low}
        return {name: known.get(name) for name in SCHEMA}

    days = [row(date(1900, 5, 7), date(1930, 1, 9)), row(date(1930, 1, 9), date(1930, 9, 9))]
    days += [row(date(1930, 1, 9), date(1930, 1, 12)), dict.fromkeys(SCHEMA)]
    written = with_written_dates(pl.DataFrame(days, schema=SCHEMA))
    assert written["change"].to_list() == ["1930", "1930-09", "1930-01-12", None]
    years = with_written_dates(pl.DataFrame([row(date(1900, 1, 1), date(1901, 1, 1))], schema=SCHEMA))
    assert years["last_before"].to_list() == ["1900"]


@pytest.mark.slow
def test_words_can_be_left_out_of_contexts(tmp_path: Path) -> None:
    """A word beside others that change gets other company; without these, it has not changed."""
    random, texts = np.random.default_rng(0), []
    for d in range(240):
        year = 1900 + d % 6
        lines = []
        for _ in range(12):
            near = ("old1", "old2") if year < 1903 else ("new1", "new2")
            lines += [*random.choice(["a1", "a2", "a3", "a4"], 3), str(random.choice(near)), "friend"]
            lines += list(random.choice(["b1", "b2", "b3", "b4", "other"], 5))
        texts.append({"text": " ".join(lines), "date": year})
    corpus = dw.prepare(
        pl.DataFrame(texts), out=tmp_path / "c", slices="1y", numbers=True, phrases=False, min_count=1, subsample=None,
        copies="keep",
    )  # fmt: skip
    fitted = dw.fit(corpus, dw.Spec(dim=8, context=2), passes=3)
    fellows = ["old1", "old2", "new1", "new2"]
    assert dw.significance(fitted, "friend", corpus=corpus)["p"][0] <= 0.01
    assert dw.significance(fitted, "friend", corpus=corpus, without=fellows)["p"][0] > 0.05
    dw.significance(fitted, corpus=corpus, without=fellows, permutations=19)
    assert fitted.significance is None  # such a table is not that of the model
    with pytest.raises(dw.DriftwordError, match="'foe' is not in the vocabulary"):
        dw.significance(fitted, "friend", corpus=corpus, without="foe")
