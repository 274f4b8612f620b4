"""Groups of documents: prepared, fitted, asked about and compared."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import driftword as dw
from driftword.cli import app
from driftword.engines.cpu.engine import CpuEngine

SLICES, DOCUMENTS, LENGTH, TOPICS = 4, 320, 60, 6
EXCHANGED = ("t0w0", "t1w0")  # which take each other's places in the texts of one group


def texts(*, seed: int = 0) -> pl.DataFrame:
    """Return texts about topics by two parties, one of which exchanges two words, and by a few others."""
    random = np.random.default_rng(seed)
    exchange = dict(zip(EXCHANGED, EXCHANGED[::-1], strict=True))
    rows = []
    for d in range(DOCUMENTS):
        topic, party = int(random.integers(TOPICS)), ["left", "right"][d % 2]
        topics = np.where(random.random(LENGTH) < 0.8, topic, random.integers(TOPICS, size=LENGTH))
        words = [f"t{t}w{i}" for t, i in zip(topics, random.integers(0, 8, LENGTH), strict=True)]
        if party == "right":
            words = [exchange.get(word, word) for word in words]
        name = None if d >= DOCUMENTS - 4 else "alone" if d == 7 else party
        rows.append({"text": " ".join(words), "date": 1900 + d // 2 % SLICES, "party": name})
    return pl.DataFrame(rows)


OPTIONS: dict[str, Any] = {"slices": "1y", "numbers": True, "phrases": False, "min_count": 1}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dw.Corpus:
    return dw.prepare(texts(), out=tmp_path_factory.mktemp("groups") / "p.corpus", group="party", **OPTIONS)


@pytest.fixture(scope="module")
def model(corpus: dw.Corpus, tmp_path_factory: pytest.TempPathFactory) -> dw.Model:
    spec = dw.Spec(dim=12, context=4, learning_rate=0.8, group_precision=1)
    return dw.fit(corpus, spec, passes=12, patience=12, out=tmp_path_factory.mktemp("groups") / "p.model")


def test_documents_have_groups(corpus: dw.Corpus) -> None:
    assert corpus.groups == ("left", "right", "others")  # documents without a value, and one that is alone with its own
    assert corpus.group_sizes() == {"left": 158, "right": 157, "others": 5}
    assert corpus.info()["groups"] == corpus.group_sizes()
    parts = [corpus.of_group(name) for name in corpus.groups]
    np.testing.assert_array_equal(np.sum([part.counts for part in parts], axis=0), corpus.counts)
    np.testing.assert_array_equal(np.sum([part.train_counts for part in parts], axis=0), corpus.train_counts)
    assert parts[0].groups == ()
    shown = corpus.documents.collect()["party"].to_list()
    right = np.unique(parts[1].chunk_document)
    assert {shown[d] for d in right} == {"right"}


@pytest.mark.slow
def test_groups_are_chosen(tmp_path: Path) -> None:
    def groups(**options: Any) -> tuple[str, ...]:
        made = dw.prepare(texts(), out=tmp_path / "c", group="party", overwrite=True, **options, **OPTIONS)
        return made.groups

    assert groups(groups=["right"]) == ("right", "others")
    assert groups(groups=1) == ("left", "others")
    with pytest.raises(dw.SourceError, match="No document has 'up' in the column 'party'; the most frequent"):
        groups(groups=["up"])
    with pytest.raises(dw.SourceError, match="Only one document has 'alone'"):
        groups(groups=["alone", "left"])
    for wrong, message in (
        ({"groups": ["left"]}, "name the column with `group`"),
        ({"group": "part"}, "did you mean 'party'"),
        ({"group": "text_id"}, "no column"),
    ):
        with pytest.raises(dw.DriftwordError, match=message):
            dw.prepare(texts(), out=tmp_path / "d", **wrong, **OPTIONS)
    many = texts().with_columns(party=pl.int_range(DOCUMENTS) // 2)
    with pytest.raises(dw.SourceError, match="has 160 different values; name some of them with `groups`"):
        dw.prepare(many, out=tmp_path / "d", group="party", **OPTIONS)
    alike = texts().with_columns(party=pl.lit("all"))
    with pytest.raises(dw.SourceError, match="a single value"):
        dw.prepare(alike, out=tmp_path / "d", group="party", **OPTIONS)
    assert not (tmp_path / "d").exists()


def test_a_corpus_of_ids_has_groups(corpus: dw.Corpus, tmp_path: Path) -> None:
    arrays: dict[str, Any] = {
        name: getattr(corpus, name) for name in ("chunk_slice", "chunk_split", "chunk_document", "chunk_group")
    }
    options: dict[str, Any] = {"slices": corpus.slices, "groups": corpus.groups, **arrays}
    made = dw.Corpus.from_ids(corpus.words, corpus.tokens, corpus.offsets, out=tmp_path / "ids", **options)
    assert made.groups == corpus.groups
    np.testing.assert_array_equal(made.of_group("left").counts, corpus.of_group("left").counts)
    with pytest.raises(dw.OptionError, match="belong together"):
        dw.Corpus.from_ids(corpus.words, corpus.tokens, corpus.offsets, **{**options, "groups": ()})


def test_each_group_predicts_its_own_text_better(model: dw.Model) -> None:
    table = dw.evaluate(model, by="group", split="test")
    gains = dict(table.select("group", "over_all_text").iter_rows())
    assert gains["left"] > 0.005
    assert gains["right"] > 0.005
    whole = dw.evaluate(model)["L"][0]
    assert whole == pytest.approx(float(table["L"].dot(table["positions"]) / table["positions"].sum()), abs=1e-9)
    plain = dw.fit(model.open_corpus().of_group("left"), dw.Spec(dim=4, context=4), passes=2)  # type: ignore[union-attr]
    assert plain.groups == ()
    with pytest.raises(dw.OptionError, match="has no groups"):
        dw.evaluate(plain, corpus=model.open_corpus().of_group("left"), by="group")  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_comparison_shows_what_groups_gain(corpus: dw.Corpus) -> None:
    spec = dw.Spec(dim=12, learning_rate=0.8, group_precision=1)
    table = dw.compare(corpus, contexts=4, models=["static", "dynamic"], spec=spec, passes=8)
    assert table["model"].to_list() == ["static", "dynamic", "dynamic by groups"]
    assert table["over_dynamic"][2] > 0
    assert table["over_dynamic"][1] is None
    assert table["over_static"][2] > table["over_static"][1]


def test_tuning_does_not_fit_groups(corpus: dw.Corpus, monkeypatch: Any) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("groups are fitted")

    monkeypatch.setattr("driftword.fitting.group_fitting.continue_fit", refuse)
    assert dw.tune(corpus, dw.Spec(dim=4, context=4), candidates=2, passes=2).tried.height >= 2
    assert corpus.without_groups().groups == ()
    plain = corpus.without_groups()
    assert plain.without_groups() is plain


@pytest.mark.slow
def test_steps_of_groups_fall_to_the_last_piece_of_a_text_that_is_read_in_pieces(corpus: Any, monkeypatch: Any) -> None:
    rates, take = [], CpuEngine.round
    monkeypatch.setattr(CpuEngine, "capacity", lambda _: 400.0)
    monkeypatch.setattr(CpuEngine, "round", lambda self, part, step: (rates.append(step), take(self, part, step))[1])
    dw.fit(corpus, dw.Spec(dim=4, context=4, rounds=2, final_rate=0.1), passes=3, patience=9)
    of_groups = [step.learning_rate for step in rates if step.frozen]
    assert len(of_groups) > 20
    assert min(of_groups) > 0


def test_groups_that_do_not_fit_into_memory_are_refused(corpus: dw.Corpus, monkeypatch: Any) -> None:
    one = 4 * SLICES * len(corpus.words) * 13
    monkeypatch.setattr("driftword.fitting.job.available_memory", lambda: 6.5 * one)
    with pytest.raises(
        dw.OptionError, match="takes about 0.0 GB of memory, .* name at most 2 of its groups as `groups`"
    ):
        dw.fit(corpus, dw.Spec(dim=12), passes=2)
    monkeypatch.setattr("driftword.fitting.job.available_memory", lambda: one)
    with pytest.raises(dw.OptionError, match="are free; leave out `dynamic_context`"):
        dw.fit(corpus.without_groups(), dw.Spec(dim=12, dynamic_context=True), passes=2)
    with pytest.raises(dw.OptionError, match="are free; use longer slices"):
        dw.fit(corpus, dw.Spec(dim=12), passes=2)
    assert dw.fit(corpus, dw.Spec(dim=12, model="static"), passes=1).groups == ()
    monkeypatch.setattr("driftword.fitting.job.available_memory", lambda: float("inf"))  # where the system does not say
    assert dw.fit(corpus, dw.Spec(dim=4), passes=2).groups == corpus.groups


def test_groups_are_stored_with_the_model(model: dw.Model, tmp_path: Path) -> None:
    assert model.groups == ("left", "right", "others")
    opened = dw.Model.open(model.path).save(tmp_path / "copy.model")  # type: ignore[arg-type]
    assert opened.groups == model.groups
    np.testing.assert_array_equal(opened["t0w0", 1901, "left"], model.group("left")["t0w0", 1901])
    np.testing.assert_array_equal(opened.group("right").counts, model.group("right").counts)
    assert not np.array_equal(opened["t0w0", 1901, "left"], opened["t0w0", 1901])
    assert model.alpha is model.group("left").alpha or np.array_equal(model.alpha, model.group("left").alpha)
    with pytest.raises(dw.OptionError, match="There is no group 'up'; the groups are 'left', 'right', 'others'"):
        model.group("up")


def test_questions_about_a_group(model: dw.Model) -> None:
    for group, topic in (("left", "t0"), ("right", "t1")):
        near = dw.neighbors(model, "t0w0", at=1902, n=4, group=group)
        assert sum(word.startswith(topic) for word in near["word"]) >= 3
        assert near.equals(dw.neighbors(model.group(group), "t0w0", at=1902, n=4))
    for ask in (dw.trajectory, dw.changes, dw.frequency):
        assert ask(model, "t0w0", group="left").equals(ask(model.group("left"), "t0w0"))
    assert dw.drift(model, "t0w0", group="left").height == 1
    bands = dw.trajectory(model, "t0w0", group="left", intervals=True)
    assert (bands["position_low"] < bands["position_high"]).all()
    with pytest.raises(dw.OptionError, match="There are no groups"):
        dw.neighbors(model.group("left"), "t0w0", group="left")


def test_trajectories_of_groups_lie_along_one_line(model: dw.Model) -> None:
    table = dw.trajectory(model, ["t0w0", "t1w0"], groups=["left", "right"], intervals=True)
    assert table.columns[0] == "group"
    assert table.height == 2 * 2 * SLICES
    whole = dw.trajectory(model, "t0w0")["position"].to_numpy()
    rows = model["t0w0"].astype(np.float64)
    middle = rows.mean(axis=0)
    axis = np.linalg.svd(rows - middle)[2][0]
    axis *= np.sign(((rows - middle) @ axis) @ whole)
    for name in ("left", "right"):
        found = table.filter(pl.col("group") == name, pl.col("word") == "t0w0")
        np.testing.assert_allclose(found["position"], (model.group(name)["t0w0"] - middle) @ axis, atol=1e-6)
        assert found["count"].equals(dw.trajectory(model, "t0w0", group=name)["count"])
        assert (found["position_low"] < found["position"]).all()
    rare = dw.trajectory(model, "t0w0", groups="others", intervals=True)
    assert not rare["observed"].all()
    assert rare["position_low"].is_null().equals(~rare["observed"])  # no certainty from text that is not there
    with pytest.raises(dw.OptionError, match="leave out `group`, or `groups`"):
        dw.trajectory(model, "t0w0", group="left", groups=["left"])


@pytest.mark.slow
def test_charts_of_groups_show_what_the_tables_say(model: dw.Model) -> None:
    def rows(chart: Any, mark: str) -> list[dict[str, Any]]:
        drawn = chart.to_dict()
        layer = next(layer for layer in drawn["layer"] if layer["mark"]["type"] == mark)
        data: list[dict[str, Any]] = drawn["datasets"][layer.get("data", drawn.get("data"))["name"]]
        return data

    pair = ("left", "right")
    bands = dw.plot.trajectory(model, "t0w0", groups=pair, intervals=True)
    expected = dw.trajectory(model, "t0w0", groups=pair, intervals=True)
    assert [row["position_high"] for row in rows(bands, "area")] == expected["position_high"].to_list()
    assert "band: 90% interval over documents" in str(bands.to_dict()["title"]["subtitle"])
    both = dw.plot.contrast(model, "t0w0", groups=pair, intervals=True)
    table = dw.contrast(model, groups=pair, word="t0w0", intervals=True)
    for name in ("similarity", "similarity_low", "similarity_high"):
        assert [row[name] for row in rows(both, "area")] == table[name].to_list()
    assert "left and right" in both.to_dict()["title"]["text"]
    near = dw.plot.similarity(model, "t0w0", "t0w1", groups=pair, intervals=True)
    expected = dw.similarity(model, "t0w0", "t0w1", group="left", intervals=True)
    assert [row["similarity_low"] for row in rows(near, "area")][:SLICES] == expected["similarity_low"].to_list()


def test_a_group_is_exported(model: dw.Model, tmp_path: Path) -> None:
    with np.load(dw.export(model, out=tmp_path / "left.npz", format="numpy", group="left")) as found:
        np.testing.assert_array_equal(found["rho"], model.group("left").rho)
        np.testing.assert_array_equal(found["counts"], model.group("left").counts)
        np.testing.assert_array_equal(found["alpha"], model.alpha)
    with np.load(dw.export(model, out=tmp_path / "all.npz", format="numpy")) as found:
        np.testing.assert_array_equal(found["rho"], model.rho)
    with pytest.raises(dw.OptionError, match="There is no group 'up'"):
        dw.export(model, out=tmp_path / "up.npz", format="numpy", group="up")
    assert not (tmp_path / "up.npz").exists()


@pytest.mark.slow
def test_a_report_of_a_group_has_its_passages(model: dw.Model, tmp_path: Path) -> None:
    passages = {}
    for name, asked in (("all", model), ("left", model.group("left"))):
        page = dw.report(asked, out=tmp_path / f"{name}.html", words=["t0w0"], n=0).read_text()
        data = json.loads(page.split('id="data">')[1].split("</script>")[0])
        sources = " ".join(about for *_, about in data["pages"]["t0w0"]["passages"])
        passages[name] = set(re.findall(r"\b(left|right)\b", sources))
        assert 'class="interval s0"' in page
        assert ("<h2>By group</h2>" in page) == (name == "all")
        assert ("Mean log-likelihood" in page) == (name == "all")  # which is of all text
    assert passages == {"all": {"left", "right"}, "left": {"left"}}
    left = model.group("left")
    assert left.summary()["group"] == "left"
    assert "passes" not in left.summary()


def test_contrast_finds_the_exchanged_words_and_no_others(model: dw.Model, corpus: dw.Corpus) -> None:
    table = dw.contrast(model, groups=("left", "right"), n=100, corpus=corpus)
    assert table["word"][:2].sort().to_list() == list(EXCHANGED)
    called = table.filter(pl.col("q") <= 0.05)["word"].to_list()
    assert set(EXCHANGED) <= set(called)
    assert len(called) <= 5
    assert set(table.sort("difference", descending=True)["word"][:2]) == set(EXCHANGED)
    assert (table["count_first"] >= 5).all()
    assert dw.contrast(model, groups=["left", "right"], n=100, threads=1).equals(table)  # the two, and their corpus
    early = dw.contrast(model, groups=("left", "right"), at=(1900, 1901), n=4, permutations=99)
    assert early["documents"].max() < table["documents"].max()  # type: ignore[operator]


def test_a_difference_that_stays_is_no_change_over_time(model: dw.Model, corpus: dw.Corpus) -> None:
    table = dw.contrast(model, groups=("left", "right"), over_time=True, n=100, corpus=corpus)
    assert (table["q"] <= 0.05).sum() <= 1
    assert table.columns[:4] == ["word", "difference_early", "difference_late", "effect"]
    always = table.filter(pl.col("word").is_in(list(EXCHANGED)))
    assert always["p"].min() > 0.005  # type: ignore[operator]
    assert always.select("difference_early", "difference_late").min_horizontal().min() > 0.02  # type: ignore[operator]
    few = dw.contrast(model, list(EXCHANGED), groups=("left", "right"), over_time=True, at=(1900, 1902), corpus=corpus)
    assert few["q"].is_null().all()
    assert few["documents"].max() < table["documents"].max()  # type: ignore[operator]


@pytest.mark.slow
def test_groups_that_part_are_found(corpus: dw.Corpus) -> None:
    """The same words, exchanged by one group in the later half, and by the other in the earlier one."""
    assert corpus.chunk_group is not None
    exchange = np.arange(len(corpus.words))
    ids = [corpus.word_id(word) for word in EXCHANGED]
    exchange[ids] = ids[::-1]
    early = np.asarray(corpus.chunk_slice) < len(corpus.slices) // 2
    tokens = np.array(corpus.tokens, dtype=np.int64)
    here = np.repeat(early, np.diff(corpus.offsets))
    tokens[here] = exchange[tokens[here]]
    later = dw.Corpus.from_ids(
        corpus.words, tokens, corpus.offsets, chunk_slice=corpus.chunk_slice, chunk_split=corpus.chunk_split,
        chunk_document=corpus.chunk_document, slices=corpus.slices, groups=corpus.groups,
        chunk_group=corpus.chunk_group, subsample=None,
    )  # fmt: skip
    model = dw.fit(later, dw.Spec(dim=12, context=4), passes=4)
    table = dw.contrast(model, groups=("left", "right"), over_time=True, n=100, corpus=later)
    assert set(table["word"][:2]) == set(EXCHANGED)
    assert (table["q"][:2] <= 0.05).all()
    assert (table["q"][2:] > 0.05).all()


def test_contrast_of_a_word_through_time(model: dw.Model) -> None:
    table = dw.contrast(model, word="t0w0", groups=("left", "right"), n=4)
    assert table["slice"].to_list() == ["1900", "1901", "1902", "1903"]
    other = dw.contrast(model, word="t3w3", groups=("left", "right"))
    assert table["similarity"].max() < other["similarity"].min()  # type: ignore[operator]
    assert all(sum(w.startswith("t0") for w in words) >= 3 for words in table["first"])
    assert all(sum(w.startswith("t1") for w in words) >= 3 for words in table["second"])


def test_contrast_says_how_sure_it_is(model: dw.Model) -> None:
    alone = dw.contrast(model, "t0w0", groups=("left", "right"))
    assert alone["word"].to_list() == ["t0w0"]
    named = dw.contrast(model, ["t3w3", "t0w0"], groups=("left", "right"))
    assert named["word"].to_list() == ["t0w0", "t3w3"]
    assert named["p"][0] < 0.01 < named["p"][1]
    table = dw.contrast(model, word="t0w0", groups=("left", "right"), intervals=True)
    assert (table["similarity_low"] < table["similarity"]).all()
    assert (table["similarity"] < table["similarity_high"]).all()
    assert table["similarity_high"].max() <= 1  # type: ignore[operator]
    assert table.drop("similarity_low", "similarity_high").equals(
        dw.contrast(model, word="t0w0", groups=("left", "right"))
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": ("left", "left")}, "compared with itself"),
        ({"groups": ("left",)}, "name two groups"),
        ({"groups": ("left", "up")}, "There is no group 'up'"),
        ({"groups": ("left", "right"), "at": (1903, 1900)}, "give the first slice of a period first"),
        ({"groups": ("left", "right"), "at": (1900,)}, "give a slice, such as 1990"),
        ({"groups": ("left", "right"), "word": "t0w0", "at": 1900}, "leave out `at`, `words` and"),
        ({"groups": ("left", "right"), "word": "t0w0", "over_time": True}, "and `over_time`, or `word`"),
        ({"groups": ("left", "right"), "at": 1900, "over_time": True}, "give a longer period as `at`"),
        ({"groups": ("left", "right"), "min_count": 10**6}, "lower `min_count`"),
    ],
)
def test_a_wrong_contrast_is_answered_in_a_sentence(model: dw.Model, options: Any, message: str) -> None:
    with pytest.raises(dw.OptionError, match=message):
        dw.contrast(model, **options)


def test_a_model_of_one_group_is_no_model_of_groups(model: dw.Model, tmp_path: Path) -> None:
    left = model.group("left")
    with pytest.raises(dw.OptionError, match="The model is that of a group, 'left'; ask the one that has all groups"):
        dw.contrast(left)
    for one in (model, left):
        with pytest.raises(dw.OptionError, match="A model with groups cannot be extended"):
            dw.extend(one, [("t0w0 t0w1", 1904)], out=tmp_path / "longer")
    stored = left.save(tmp_path / "left.model")
    assert dw.neighbors(stored, "t0w0", at=1902).equals(dw.neighbors(model, "t0w0", at=1902, group="left"))


def test_a_model_without_groups_says_so(small_model: dw.Model) -> None:
    with pytest.raises(
        dw.OptionError, match="The model has no groups; name the column that says who speaks as `group`"
    ):
        dw.contrast(small_model)
    assert small_model.groups == ()
    assert "groups" not in small_model.summary()


@pytest.mark.slow
def test_on_the_command_line(tmp_path: Path) -> None:
    texts().write_parquet(tmp_path / "t.parquet")

    def run(*arguments: object, status: int = 0) -> str:
        done = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "140"})
        assert done.exit_code == status, done.output
        return done.output

    source, corpus, model = (tmp_path / name for name in ("t.parquet", "c", "m"))
    shown = run("prepare", source, "--group", "party", "--groups", "left,right", "--min-count", 1, "--out", corpus)
    assert "left (158), right (157), others (5)" in shown
    shown = run("fit", corpus, "--dim", 6, "--passes", 3, "--no-significance", "--out", model)
    assert "left, right, others" in shown
    assert "difference" in run("contrast", model, "--groups", "left,right", "--permutations", 19, "-n", 3)
    parted = run("contrast", model, "t0w0", "--groups", "left,right", "--permutations", 19, "--over-time")
    assert "difference_late" in parted
    shown = run("contrast", model, "t0w0", "--groups", "left,right", "-n", 3, "--permutations", 99)
    assert "Over all of the time, the difference is significant" in shown
    assert run("neighbors", model, "t0w0", "--group", "left") != run("neighbors", model, "t0w0")
    assert "There is no group 'up'" in run("neighbors", model, "t0w0", "--group", "up", status=2)
    assert "over_all_text" in run("evaluate", model, "--by", "group")
    shown = run("trajectory", model, "t0w0", "--groups", "left,right")
    assert shown.index("left") < shown.index("right")
    assert "moved most in all text" in shown
    figure = tmp_path / "f.svg"
    for options in (("--intervals",), ("--kind", "frequency"), ("--kind", "contrast", "--intervals")):
        run("plot", model, "t0w0", "--groups", "left,right", *options, "--out", figure)
        assert "right" in figure.read_text()
    run("plot", model, "t0w0", "t1w0", "--kind", "similarity", "--groups", "left", "--out", figure)
    run("plot", model, "t0w0", "--kind", "neighbors", "--group", "left", "--out", figure)
    assert "A figure of map has no --groups" in run(
        "plot", model, "t0w0", "--kind", "map", "--groups", "left", status=2
    )
    both = run("plot", model, "t0w0", "--group", "left", "--groups", "left", status=2)
    assert "leave out --group, or --groups" in both
    for name, group in (("left", ["--group", "left"]), ("whole", [])):
        run("export", model, "--format", "numpy", "--out", tmp_path / name, *group)
    assert (tmp_path / "left").read_bytes() != (tmp_path / "whole").read_bytes()
