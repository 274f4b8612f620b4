"""New slices for a fitted model: what was there stays as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import driftword as dw
from driftword.basics.workers import Workers
from driftword.cli import app
from driftword.corpus.phrases import PhraseRule
from driftword.preparing.id_stream import IdStream
from driftword.preparing.local_text import LocalIds
from driftword.preparing.phrases import find_and_join, join_known

TOPICS = 5


def texts(years: range, *, new_word: bool = False, seed: int = 0) -> pl.DataFrame:
    """Return texts about topics; in some a word occurs that was not there before."""
    random = np.random.default_rng(seed)
    rows = []
    for d in range(12 * len(years)):
        topic = int(random.integers(TOPICS))
        words = [f"t{topic}w{i}" for i in random.integers(0, 8, 60)]
        if new_word and topic == 0:
            words[::10] = ["covid"] * 6
        words[5:7] = ["health", "care"]
        rows.append({"words": " ".join(words), "when": years[d % len(years)], "author": f"a{d % 3}"})
    return pl.DataFrame(rows)


OPTIONS: dict[str, Any] = {"numbers": True, "min_count": 2, "phrase_min_count": 5, "text": "words", "time": "when"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("extending")


@pytest.fixture(scope="module")
def model(folder: Path) -> dw.Model:
    corpus = dw.prepare(texts(range(1990, 1998)), out=folder / "old.corpus", **OPTIONS)
    assert "health care" in corpus.words
    return dw.fit(corpus, dw.Spec(dim=8, context=4), passes=6, out=folder / "old.model")


@pytest.fixture(scope="module")
def longer(model: dw.Model, folder: Path) -> dw.Model:
    before = {file.name: file.read_bytes() for file in model.path.iterdir()}  # type: ignore[union-attr]
    extended = dw.extend(model, texts(range(1998, 2001), new_word=True, seed=1), out=folder / "new.model")
    assert {file.name: file.read_bytes() for file in model.path.iterdir()} == before  # type: ignore[union-attr]
    return extended


def test_what_was_there_stays(model: dw.Model, longer: dw.Model) -> None:
    n, v = len(model.slices), len(model.words)
    assert longer.slices.labels == (*model.slices.labels, "1998", "1999", "2000")
    assert longer.words[:v] == model.words
    for name in ("rho", "intercepts", "counts", "train_counts"):
        old, new = (getattr(one.vocabulary if "counts" in name else one, name) for one in (model, longer))
        np.testing.assert_array_equal(new[:n, :v], old, err_msg=name)
    assert longer.context_of.tolist() == [0] * n + [1] * 3
    np.testing.assert_array_equal(longer.alpha_at(n - 1)[:v], model.alpha)
    assert not np.array_equal(longer.alpha_at(n)[:v], model.alpha)
    assert dw.neighbors(longer, "t1w1", at=1995).equals(dw.neighbors(model, "t1w1", at=1995))
    assert [text.partition(" (")[0] for text in longer.provenance.extended] == ["1998 to 2000"]
    assert "(36 documents, driftword " in longer.provenance.extended[0]
    assert longer.history == model.history
    assert dw.plot.history(longer) is not None
    assert "1998 to 2000" in longer.summary()["extended"]


def test_the_corpus_is_longer(model: dw.Model, longer: dw.Model, folder: Path) -> None:
    old, new = model.open_corpus(), longer.open_corpus()
    assert old is not None
    assert new is not None
    assert new.path == folder / "new.corpus"
    n = len(old.tokens)
    np.testing.assert_array_equal(new.tokens[:n], old.tokens)
    chunks = len(old.chunk_slice)
    for name in ("chunk_slice", "chunk_split", "chunk_document"):
        np.testing.assert_array_equal(getattr(new, name)[:chunks], getattr(old, name), err_msg=name)
    assert new.counts.sum() == len(new.tokens)
    found = new.documents.collect()
    assert found.height == 11 * 12
    assert found["author"].null_count() == 0
    lines = new.passages("covid", n=100)
    assert len(lines) == new.counts[:, new.word_id("covid")].sum() > 5
    assert set(lines["keyword"]) == {"covid"}
    assert {str(day.year) for day in lines["date"]} == set(lines["slice"])
    assert "health care" in {new.words[i] for i in new.tokens[n:]}  # phrases are joined as before
    assert new.report.documents == 132


def test_new_words_join_and_find_their_place(model: dw.Model, longer: dw.Model) -> None:
    assert longer.words[len(model.words) :] == ("covid",)
    near = dw.neighbors(longer, "covid", at=2000, n=4)
    assert sum(word.startswith("t0") for word in near["word"]) >= 3
    assert not longer.vocabulary.observed[: len(model.slices), longer.word_id("covid")].any()


def test_new_slices_follow_their_text(longer: dw.Model, model: dw.Model) -> None:
    """They predict it better than the last old slice does."""
    corpus = longer.open_corpus()
    assert corpus is not None
    n = len(model.slices)
    rho, intercepts = longer.rho.copy(), longer.intercepts.copy()  # type: ignore[union-attr]
    rho[n:], intercepts[n:] = rho[n - 1], intercepts[n - 1]
    facts: dict[str, Any] = {name: getattr(longer, name) for name in ("vocabulary", "spec", "provenance")}
    still = dw.Model(rho, longer.alpha_at(0), intercepts, **facts)
    new = [dw.evaluate(one, corpus=corpus, by="slice").filter(pl.col("slice") >= "1998") for one in (longer, still)]
    scores = [float(table["L"].dot(table["positions"]) / table["positions"].sum()) for table in new]
    assert scores[0] > scores[1] + 0.01


def test_it_can_be_extended_again(longer: dw.Model, folder: Path) -> None:
    twice = dw.extend(longer, texts(range(2001, 2002), seed=2), out=folder / "twice.model", passes=2)
    assert [text.partition(" (")[0] for text in twice.provenance.extended] == ["1998 to 2000", "2001"]
    np.testing.assert_array_equal(twice.rho[:-1, : len(longer.words)], longer.rho)
    assert dw.drift(twice, n=2, skip=0).height == 2


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (texts(range(1997, 1999)), {}, "12 documents are dated 1997-12-31 or earlier"),
        (texts(range(1998, 1999)).rename({"words": "body"}), {}, "column"),
        (texts(range(1998, 1999)), {"corpus_out": "n.model"}, "would both be"),
        (texts(range(1998, 1999)).head(0), {}, "no rows"),
        (texts(range(1998, 1999)).with_columns(words=pl.lit("ein anderer Text")), {}, "Only 0% .* another language"),
    ],
)
def test_what_cannot_be_added_is_refused(
    model: dw.Model, tmp_path: Path, monkeypatch: Any, frame: pl.DataFrame, options: Any, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dw.DriftwordError, match=message):
        dw.extend(model, frame, out="n.model", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_model_with_drifting_contexts_is_extended_twice(model: dw.Model, tmp_path: Path) -> None:
    spec, corpus = dw.Spec(dim=4, context=4, dynamic_context=True), model.open_corpus()
    assert corpus is not None
    model = dw.fit(corpus, spec, passes=2, out=tmp_path / "0.model")
    first = dw.extend(model, texts(range(1998, 2000)), out=tmp_path / "1.model", passes=1)
    second = dw.extend(first, texts(range(2000, 2001)), out=tmp_path / "2.model", passes=1)
    assert second.context_of.tolist() == list(range(11))
    assert second.alpha.shape == (11, len(second.words), 4)
    np.testing.assert_array_equal(second.alpha[:8, : len(model.words)], model.alpha)
    np.testing.assert_array_equal(second.alpha[:10, : len(first.words)], first.alpha)
    assert dw.evaluate(second)["L"][0] < 0


@pytest.mark.slow
def test_documents_of_old_slices_are_added_where_these_are_fitted_again(model: dw.Model, tmp_path: Path) -> None:
    late = texts(range(1996, 1999), seed=3)
    with pytest.raises(dw.SourceError, match="24 documents are dated 1997-12-31 or earlier.*`refit_from='1996'`"):
        dw.extend(model, late, out=tmp_path / "m.model")
    with pytest.raises(dw.SourceError, match="12 documents are dated 1996-12-31 or earlier"):
        dw.extend(model, late, out=tmp_path / "m.model", refit_from=1997)
    with pytest.raises(dw.OptionError, match="No slice would stay as it is"):
        dw.extend(model, late, out=tmp_path / "m.model", refit_from=1990)
    assert list(tmp_path.iterdir()) == []
    longer = dw.extend(model, late, out=tmp_path / "m.model", refit_from=1996)
    n, v = 6, len(model.words)
    assert longer.slices.labels == (*model.slices.labels, "1998")
    np.testing.assert_array_equal(longer.rho[:n, :v], model.rho[:n])
    assert (longer.rho[n : n + 2, :v] != model.rho[n:]).any(axis=(1, 2)).all()
    assert longer.context_of.tolist() == [0] * n + [1] * 3
    assert "1996 to 1998 (36 documents, " in longer.provenance.extended[0]
    old, new = model.open_corpus(), longer.open_corpus()
    assert old is not None
    assert new is not None
    assert (np.diff(new.chunk_slice) >= 0).all()
    np.testing.assert_array_equal(new.counts[:n, :v], old.counts[:n])
    assert (new.counts[n : n + 2].sum(axis=1) > old.counts[n:].sum(axis=1) * 1.8).all()
    both = [np.asarray(c.counts).sum() for c in (old, dw.prepare(late, out=tmp_path / "late.corpus", **OPTIONS))]
    assert new.counts.sum() == pytest.approx(sum(both), rel=0.01)
    shown = [len(c.passages("health care", at=1996, n=100)) for c in (old, new)]
    assert shown[1] == 2 * shown[0] > 0
    again = dw.extend(longer, texts(range(1998, 1999), seed=4), out=tmp_path / "a.model", refit_from="1998")
    assert again.slices.labels == longer.slices.labels  # documents of an old slice alone
    assert again.context_of.tolist() == [0] * n + [1] * 2 + [2]


@pytest.mark.slow
@pytest.mark.usefixtures("longer")
def test_models_that_cannot_be_extended(model: dw.Model, folder: Path, tmp_path: Path, small_model: dw.Model) -> None:
    new = texts(range(1998, 1999))
    corpus = model.open_corpus()
    assert corpus is not None
    static = dw.fit(corpus, dw.Spec(model="static", dim=4, context=4), passes=1)
    with pytest.raises(dw.OptionError, match="Only a dynamic model can be extended"):
        dw.extend(static, new, out=tmp_path / "m")
    with pytest.raises(dw.OptionError, match="is the model itself"):
        dw.extend(model, new, out=folder / "old.model", overwrite=True)
    with pytest.raises(dw.OptionError, match="name another directory with `corpus_out`"):
        dw.extend(model, new, out=folder / "old.longer", overwrite=True)
    with pytest.raises(dw.ExistsError):
        dw.extend(model, new, out=folder / "new.model")
    shuffled = dw.fit(corpus.shuffle_dates(1), dw.Spec(dim=4, context=4), passes=2)
    with pytest.raises(dw.OptionError, match="were shuffled"):
        dw.extend(shuffled, new, out=tmp_path / "m")
    equal = dw.prepare(texts(range(1990, 1998)), out=tmp_path / "e.corpus", slices="equal:3", **OPTIONS)
    fitted = dw.fit(equal, dw.Spec(dim=4, context=4), passes=2)
    with pytest.raises(dw.OptionError, match="do not go on by themselves"):
        dw.extend(fitted, new, out=tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_an_interrupted_extension_leaves_nothing(model: dw.Model, tmp_path: Path, monkeypatch: Any) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("driftword.fitting.extending.continue_fit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        dw.extend(model, texts(range(1998, 1999)), out=tmp_path / "m.model")
    assert list(tmp_path.iterdir()) == []


def test_on_the_command_line(model: dw.Model, tmp_path: Path) -> None:
    texts(range(1998, 2000)).write_csv(tmp_path / "new.csv")
    arguments = ["extend", str(model.path), str(tmp_path / "new.csv"), "--passes", "1", "--out", str(tmp_path / "m")]
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "140"})
    assert done.exit_code == 0, done.output
    assert "1998 to 1999" in done.output
    assert dw.Model.open(tmp_path / "m").open_corpus() is not None


def test_known_phrases_are_joined_as_when_they_were_found(tmp_path: Path) -> None:
    """The same text gives the same words, whether its phrases are found or known."""
    random = np.random.default_rng(0)
    words = ["", "of", "the", *(f"w{i}" for i in range(20))]
    ids = random.integers(0, len(words), 4000)
    for at in random.integers(0, 3990, 300):
        ids[at : at + 2] = 5, 6
        ids[at + 3 : at + 6] = 7, 1, 8
        ids[at + 6 : at + 10] = 9, 1, 2, 10
    lengths = np.full(40, 100)
    rule = PhraseRule(threshold=0.3, min_count=20, connectors=("of", "the"))

    def stream() -> IdStream:
        made = IdStream(tmp_path)
        made.append(ids.astype(np.uint32), lengths)
        return made

    found_words, known_words = list(words), list(words)
    found, phrases = find_and_join(LocalIds(stream(), Workers(2)), found_words, rule)
    assert {len(row[1]) for row in phrases.rows} >= {2, 3}
    known = join_known(LocalIds(stream(), Workers(2)), known_words, phrases, rule.connectors)
    texts_of = [
        [names[i] for batch in joined.stream.batches() for i in batch.ids]
        for joined, names in ((found, found_words), (known, known_words))
    ]
    assert texts_of[0] == texts_of[1]
