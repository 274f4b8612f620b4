"""Words whose change people have judged: files as the data sets have them, and scores as SciPy computes them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import driftword as dw
from benchmarking.test_suite import judged as planted_model
from conftest import run_here
from driftword.benchmarking.gold_sets import agreement, area_under_curve, drawn_spearman, spearman

USAGE_GRAPHS = "lemma\tgrouping\tchange_binary\tchange_graded\tCOMPARE\nEgg\t1_2\t1\t0.5\t2.5\nrev\t1_2\t0\t0.1\t3.5\n"
#: Files as the data sets have them (with other words), and what they say.
KNOWN = {
    "SemEval": ({"truth/graded.txt": "ship_nn\t0.5\ncourt_vb\t0\n", "truth/binary.txt": "court_vb\t0\nship_nn\t1\n"},
                None, [("ship_nn", 0.5, True), ("court_vb", 0.0, False)]),
    "SemEval, afterwards": ({"task2/english.txt": "ship_nn\t0.5\n", "task1/english.txt": "ship_nn\t1\n"},
                            None, [("ship_nn", 0.5, True)]),
    "DWUG": ({"stats/opt/stats_groupings.csv": USAGE_GRAPHS}, None, [("Egg", 0.5, True), ("rev", 0.1, False)]),
    "DWUG, another column": ({"stats/opt/stats_groupings.csv": USAGE_GRAPHS}, "compare",
                             [("Egg", -2.5, True), ("rev", -3.5, False)]),
    "NorDiaChange": ({"stats/stats_groupings.tsv": USAGE_GRAPHS}, None, [("Egg", 0.5, True), ("rev", 0.1, False)]),
    "RuShiftEval": ({"annotated_all.tsv": "век\t3.2\t3.25\t2.9\nблин\t3.2\t1.5\t2.5\n"}, "2",
                    [("век", -3.25, None), ("блин", -1.5, None)]),
    "RuSemShift": ({"testset.tsv": "word\tCOMPARE\tEARLIER\tLATER\tdelta_later\nвек\t3.15\t3.62\t3.55\t-0.07\n"}, None,
                   [("век", -3.15, None)]),
    "DURel": ({"testset.csv": "lemma\tPOS\ttype\tdescription\tearlier\tlater\tdelta_later\tcompare\tsource\n"
                              "Anstalt\tNN\tinno\t\"a\t2.0\t2.5\t0.5\t1.5\tx\n"}, None, [("Anstalt", -1.5, None)]),
    "GEMS": ({"gulordava.csv": 'word,first,mean\nship,1,"0,5"\ncourt,2,"1,25"\n'}, None,
             [("ship", 0.5, None), ("court", 1.25, None)]),
    "LiverpoolFC": ({"Dataset/annotated_words.csv": "id,word,shift_index,subject1\n1,ship,0.25,NA\n2,court,0.0,no\n"},
                    None, [("ship", 0.25, None), ("court", 0.0, None)]),
}  # fmt: skip


def laid_out(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", KNOWN)
def test_every_data_set_is_read(name: str, tmp_path: Path) -> None:
    files, column, expected = KNOWN[name]
    folder = laid_out(tmp_path, files)
    first = next(iter(files))
    assert dw.read_gold(folder / first, column=column).rows() == expected
    if name not in ("GEMS", "SemEval, afterwards"):  # which have no place of their own
        assert dw.read_gold(folder, column=column).rows() == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("ship\ncourt\n", "has a single column"),
        ("word,colour\nship,1\n", "no column of changes that is known; its columns are word, colour"),
        ("word,mean\nship,far\n", "has no word with a number"),
        ("ship\t1\t2\n", "has 2 columns of numbers; name one as `column`"),
    ],
)
def test_a_file_that_says_nothing_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "gold.tsv").write_text(text)
    with pytest.raises(dw.SourceError, match=message):
        dw.read_gold(tmp_path / "gold.tsv")


def test_a_place_without_judgements_is_refused(tmp_path: Path) -> None:
    with pytest.raises(dw.SourceError, match="does not exist"):
        dw.read_gold(tmp_path / "nowhere")
    with pytest.raises(
        dw.SourceError, match="has no truth/graded.txt, stats/opt/stats_groupings.csv or the like; name the file"
    ):
        dw.read_gold(tmp_path)
    (tmp_path / "gold.txt.gz").write_bytes(gzip.compress(b"ship\t1\ncourt\t2\n" * 999)[:40])
    with pytest.raises(dw.SourceError, match="cannot be read"):
        dw.read_gold(tmp_path / "gold.txt.gz")


few = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.booleans()), min_size=2, max_size=30)


@pytest.mark.slow
@given(few)
def test_correlation_and_area_are_those_of_scipy(rows: list[tuple[int, int, bool]]) -> None:
    one, other, changed = (np.array(column) for column in zip(*rows, strict=True))
    if len(set(one)) > 1 < len(set(other)):
        assert spearman(one, other) == pytest.approx(stats.spearmanr(one, other).statistic)
    else:
        assert np.isnan(spearman(one, other))
    if 0 < changed.sum() < len(changed):
        u = stats.mannwhitneyu(one[changed], one[~changed]).statistic
        assert area_under_curve(one, changed) == pytest.approx(u / changed.sum() / (~changed).sum())
    else:
        assert area_under_curve(one, changed) is None


def test_correlations_of_many_samples_are_those_of_each() -> None:
    random = np.random.default_rng(0)
    one, other = random.integers(0, 6, size=(2, 9))
    draws = np.vstack([random.integers(0, 9, size=(30, 9)), np.zeros((1, 9), dtype=int)])
    expected = [spearman(one[draw], other[draw]) for draw in draws]
    assert drawn_spearman(one, other, draws) == pytest.approx(expected, nan_ok=True)
    assert np.isnan(expected[-1])


@pytest.mark.slow
def test_the_interval_of_a_correlation_covers_it() -> None:
    random = np.random.default_rng(0)
    truth, covered = 0.5, 0  # of normal variables; Spearman's is 6 / pi * asin(truth / 2)
    expected = 6 / np.pi * np.arcsin(truth / 2)
    for _ in range(100):
        pairs = random.multivariate_normal([0, 0], [[1, truth], [truth, 1]], size=60)
        gold = pl.DataFrame({"change": pairs[:, 0], "changed": [None] * 60}, schema_overrides={"changed": pl.Boolean})
        found = agreement(pairs[:, 1], gold)
        covered += found["spearman_low"] <= expected <= found["spearman_high"]
    assert 80 <= covered <= 97


def test_a_model_is_compared_with_judgements(tmp_path: Path) -> None:
    model, _ = planted_model()  # words 0 and 1 exchange their places
    model.save(tmp_path / "m")
    rows = [f"w{v}_nn\t{0.9 - v / 100 if v < 2 else 0.1 + v / 1000}\t{int(v < 2)}" for v in range(20)] + ["ufo\t0.3\t0"]
    (tmp_path / "gold.tsv").write_text("lemma\tchange_graded\tchange_binary\n" + "\n".join(rows))
    table = dw.score_gold(model, tmp_path / "gold.tsv", metric=["cosine", "neighbors"])
    assert table["metric"].to_list() == ["cosine", "neighbors", "frequency change", "frequency"]
    cosine = table.row(0, named=True)
    assert (cosine["words"], cosine["missing"], cosine["AUC"]) == (20, 1, 1)
    moved = {
        row["word"]: row["drift"]
        for row in dw.drift(model, [f"w{v}" for v in range(20)], metric="cosine", n=None).to_dicts()
    }
    gold = [0.9 - v / 100 if v < 2 else 0.1 + v / 1000 for v in range(20)]
    assert cosine["spearman"] == pytest.approx(stats.spearmanr([moved[f"w{v}"] for v in range(20)], gold).statistic)
    assert cosine["spearman_low"] < cosine["spearman"] < cosine["spearman_high"]
    assert table["spearman"][2] is None  # every word is equally frequent
    assert table["AUC"][2] == 0.5
    done = run_here("gold", tmp_path / "m", tmp_path / "gold.tsv", "--metric", "cosine,neighbors")
    assert done.returncode == 0, done.stderr
    assert "neighbors" in done.stdout
    assert "AUC: chance that a changed word moved farther" in " ".join(done.stdout.split())
    (tmp_path / "none.tsv").write_text("ufo\t0.1\nyeti\t0.2\n")
    done = run_here("gold", tmp_path / "m", tmp_path / "none.tsv")
    assert done.returncode == 2
    assert "None of the 2 judged words is known here" in done.stderr
    assert dw.score_gold(model, tmp_path / "gold.tsv", metric=["cosine", "neighbors"]).equals(table)  # every time
    imported = dw.from_vectors({1990: {"w1": [1.0, 2.0], "w2": [1.0, 0.5]}, 1991: {"w1": [0.1, 1.0], "w2": [2.0, 0.1]}})
    assert dw.score_gold(imported, tmp_path / "gold.tsv")["metric"].to_list() == ["cosine"]  # no counts, no rules
    for wrong in ({"metric": []}, {"metric": "colour"}, {"between": ("2000", "1800")}, {"gold": pl.DataFrame()}):
        with pytest.raises(dw.DriftwordError):
            dw.score_gold(model, **{"gold": tmp_path / "gold.tsv", **wrong})


def test_texts_of_a_data_set_become_a_corpus_of_two_slices(tmp_path: Path) -> None:
    folder = tmp_path / "semeval2020_ulscd_eng"
    laid_out(folder, {"truth/graded.txt": "ship_nn\t0.5\nrare_nn\t0\n"})
    for name, lines in (("corpus1", "a ship_nn sail\n"), ("corpus2", "the ship_nn fly\n")):
        (folder / name / "lemma").mkdir(parents=True)
        (folder / name / "token").mkdir()
        (folder / name / "token" / "text.txt").write_text("not these\n" * 50)
        (folder / name / "lemma" / "text.txt.gz").write_bytes(gzip.compress((lines * 50 + "rare_nn\n\n").encode()))
    corpus = dw.prepare_gold(folder, out=tmp_path / "s.corpus")
    assert corpus.slices.labels == ("1810-1860", "1960-2010")
    assert {"ship_nn", "rare_nn", "sail", "fly"} <= set(corpus.words)
    assert "not" not in corpus.words
    counts = np.asarray(corpus.counts)[:, [corpus.word_id(word) for word in ("sail", "fly")]]
    assert counts.tolist() == [[50, 0], [0, 50]]
    done = run_here("prepare-gold", folder, "--periods", "1800-1850,1900-1950", "--out", tmp_path / "t.corpus")
    assert done.returncode == 0, done.stderr
    assert dw.Corpus.open(tmp_path / "t.corpus").slices.labels == ("1800-1850", "1900-1950")
    for periods in (["800-1000", "1100-1200"], ["1914-07-28 to 1918-11-11", "1939-09-01 to 1945-05-08"]):
        dated = dw.prepare_gold(folder, out=tmp_path / "d.corpus", periods=periods, overwrite=True)
        assert np.asarray(dated.counts).sum(axis=1).tolist() == np.asarray(corpus.counts).sum(axis=1).tolist()
    plain = folder.rename(tmp_path / "plain")
    with pytest.raises(dw.OptionError, match="The periods of these texts are unknown; give `periods`"):
        dw.prepare_gold(plain, out=tmp_path / "u.corpus")
    with pytest.raises(dw.OptionError, match="`periods` has 1 names"):
        dw.prepare_gold(plain, out=tmp_path / "u.corpus", periods=["1810-1860"])
    with pytest.raises(dw.SourceError, match="is not a folder"):
        dw.prepare_gold(tmp_path / "elsewhere", out=tmp_path / "u.corpus", periods=["1810-1860", "1960-2010"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(dw.SourceError, match="has no .txt files"):
        dw.prepare_gold(tmp_path / "empty", out=tmp_path / "u.corpus", periods=["1810-1860", "1960-2010"])
    assert not (tmp_path / "u.corpus").exists()
